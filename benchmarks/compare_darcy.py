#!/usr/bin/env python3
"""Run our Darcy benchmark and the PyTorch one alternately; print the best of each.

Writes one CSV row per case. Every combination of the given options is a case.
"""

import itertools

from compare import HERE, alternate, options, tabulate

COLUMNS = ["resolution", "depth", "batch", "mode", "kernel", "threads", "rounds"]
COLUMNS += ["ours_seconds", "torch_seconds", "torch_over_ours"]


def rows(args):
    """Measure case by case."""
    for case in itertools.product(args.resolution, args.depth, args.batch, args.mode):
        resolution, depth, batch, mode = case
        given = ["--json", "--resolution", resolution, "--depth", depth, "--batch", batch]
        given += ["--mode", mode, "--repeats", args.repeats, "--threads", args.threads]
        torch = [args.python, HERE / "darcy_torch.py", *given, "--kernel"]
        peers = [[*torch, kernel] for kernel in args.kernel]
        ours, *best = alternate(args.rounds, [args.binary, "bench", "darcy", *given], *peers)
        for kernel, line in zip(args.kernel, best):
            seconds = ours["seconds"], line["seconds"], line["seconds"] / ours["seconds"]
            yield [*case, kernel, args.threads, args.rounds, *seconds]


def main():
    parser = options(__doc__, rounds=3)
    parser.add_argument("--repeats", type=int, default=3, help="of each case in a round")
    parser.add_argument("--resolution", type=int, nargs="+", default=[16])
    parser.add_argument("--depth", type=int, nargs="+", default=[16])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--mode", nargs="+", choices=["train", "predict"],
                        default=["train", "predict"])
    parser.add_argument("--kernel", nargs="+", choices=["once", "layer"], default=["once"],
                        help="how the PyTorch side evaluates the kernel")
    parser.add_argument("--csv", default="compare_darcy.csv", help="where to write the results")
    args = parser.parse_args()
    tabulate(args.csv, COLUMNS, rows(args))


if __name__ == "__main__":
    main()
