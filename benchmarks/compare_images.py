#!/usr/bin/env python3
"""Run our image benchmarks and the PyTorch ones alternately; print the best of each.

Times one training step of the NKN on MNIST, for every combination of radius, depth and
batch, and of the ResNet for CIFAR-10, for every batch. The PyTorch programs time several
formulations; the fastest counts, and is named. Writes one CSV row per case.
"""

import itertools

from compare import HERE, alternate, options, tabulate

COLUMNS = ["bench", "radius", "depth", "batch", "threads", "rounds", "ours_seconds"]
COLUMNS += ["ours_share_of_peak", "torch_seconds", "torch_formulation", "torch_over_ours"]
PEERS = {"mnist": "nkn_image_torch.py", "preresnet": "preresnet_torch.py"}


def rows(args):
    """Measure case by case."""
    cases = {
        "mnist": itertools.product(["mnist"], args.radius, args.depth, args.batch),
        "preresnet": itertools.product(["preresnet"], [""], [""], args.batch),
    }
    for bench, radius, depth, batch in itertools.chain(*(cases[bench] for bench in args.bench)):
        given = ["--json", "--batch", batch, "--mode", "train"]
        given += ["--repeats", args.repeats, "--threads", args.threads]
        if bench == "mnist":
            given += ["--radius", radius, "--depth", depth]
        ours = [args.binary, "bench", bench, *given]
        torch = [args.python, HERE / PEERS[bench], *given]
        ours, torch = alternate(args.rounds, ours, torch)
        yield [bench, radius, depth, batch, args.threads, args.rounds,
               ours["seconds"], ours["share_of_peak"],
               torch["seconds"], torch["formulation"], torch["seconds"] / ours["seconds"]]


def main():
    parser = options(__doc__, rounds=3)
    parser.add_argument("--repeats", type=int, default=5, help="of each case in a round")
    parser.add_argument("--bench", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--radius", type=int, nargs="+", default=[3], help="of mnist, in pixels")
    parser.add_argument("--depth", type=int, nargs="+", default=[2], help="of mnist")
    parser.add_argument("--batch", type=int, nargs="+", default=[128])
    parser.add_argument("--csv", default="compare_images.csv", help="where to write the results")
    args = parser.parse_args()
    tabulate(args.csv, COLUMNS, rows(args))


if __name__ == "__main__":
    main()
