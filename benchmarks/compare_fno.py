#!/usr/bin/env python3
"""Run our FNO benchmark and the PyTorch one alternately; print the best of each.

Times one training step of the 2D model. Writes one CSV row per case. Every
combination of the given options is a case.
"""

import itertools

from compare import HERE, alternate, options, tabulate

COLUMNS = ["resolution", "depth", "batch", "threads", "rounds"]
COLUMNS += ["ours_seconds", "torch_seconds", "torch_over_ours"]


def rows(args):
    """Measure case by case."""
    for resolution, depth, batch in itertools.product(args.resolution, args.depth, args.batch):
        given = ["--json", "--resolution", resolution, "--depth", depth, "--batch", batch]
        given += ["--repeats", args.repeats, "--threads", args.threads]
        ours = [args.binary, "bench", "fno", *given]
        torch = [args.python, HERE / "fno_torch.py", *given]
        ours, torch = (line["seconds"] for line in alternate(args.rounds, ours, torch))
        yield [resolution, depth, batch, args.threads, args.rounds, ours, torch, torch / ours]


def main():
    parser = options(__doc__, rounds=5)
    parser.add_argument("--repeats", type=int, default=20, help="of each case in a round")
    parser.add_argument("--resolution", type=int, nargs="+", default=[16, 31])
    parser.add_argument("--depth", type=int, nargs="+", default=[4])
    parser.add_argument("--batch", type=int, nargs="+", default=[20])
    parser.add_argument("--csv", default="compare_fno.csv", help="where to write the results")
    args = parser.parse_args()
    tabulate(args.csv, COLUMNS, rows(args))


if __name__ == "__main__":
    main()
