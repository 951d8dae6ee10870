#!/usr/bin/env python3
"""Run our image benchmarks and the PyTorch ones alternately; print the best of each.

Times one training step of the NKN on MNIST, for every combination of radius, depth and
batch, and of the ResNet for CIFAR-10, for every batch. The PyTorch programs time several
formulations; the fastest counts, and is named. Writes one CSV row per case.
"""

import argparse
import csv
import itertools
import json
import subprocess
import sys

from compare import HERE

COLUMNS = ["bench", "radius", "depth", "batch", "threads", "rounds", "ours_seconds"]
COLUMNS += ["ours_share_of_peak", "torch_seconds", "torch_formulation", "torch_over_ours"]
PEERS = {"mnist": "nkn_image_torch.py", "preresnet": "preresnet_torch.py"}


def fastest(command):
    """Run a command and return the JSON line with the smallest `seconds`."""
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    if not lines:
        sys.exit(f"no JSON line from: {' '.join(command)}")
    return min(lines, key=lambda line: line["seconds"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(HERE.parent / "target/release/nkn"))
    parser.add_argument("--python", default=sys.executable, help="interpreter that has torch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5, help="of each case in a round")
    parser.add_argument("--bench", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--radius", type=int, nargs="+", default=[3], help="of mnist, in pixels")
    parser.add_argument("--depth", type=int, nargs="+", default=[2], help="of mnist")
    parser.add_argument("--batch", type=int, nargs="+", default=[128])
    parser.add_argument("--threads", type=int, default=2, help="threads of both sides")
    parser.add_argument("--csv", default="compare_images.csv", help="where to write the results")
    args = parser.parse_args()

    cases = []
    for bench in args.bench:
        mnist = bench == "mnist"
        cases += itertools.product([bench], args.radius if mnist else [""],
                                   args.depth if mnist else [""], args.batch)

    # Opened first: a path that cannot be written should fail before the measurement.
    with open(args.csv, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        print(f"{'bench':>9} {'radius':>6} {'depth':>5} {'batch':>5} {'ours s':>9} {'of peak':>7} "
              f"{'torch s':>9} {'formulation':>13} {'torch/ours':>10}", flush=True)
        for bench, radius, depth, batch in cases:
            options = ["--json", "--batch", batch, "--mode", "train"]
            options += ["--repeats", args.repeats, "--threads", args.threads]
            if bench == "mnist":
                options += ["--radius", radius, "--depth", depth]
            options = [str(option) for option in options]
            ours = [args.binary, "bench", bench, *options]
            torch = [args.python, str(HERE / PEERS[bench]), *options]
            pairs = [(fastest(ours), fastest(torch)) for _ in range(args.rounds)]
            best_ours, best_torch = (
                min(column, key=lambda line: line["seconds"]) for column in zip(*pairs)
            )
            seconds, share = best_ours["seconds"], best_ours["share_of_peak"]
            theirs, formulation = best_torch["seconds"], best_torch["formulation"]
            ratio = theirs / seconds
            table.writerow([bench, radius, depth, batch, args.threads, args.rounds,
                            f"{seconds:.6f}", f"{share:.3f}",
                            f"{theirs:.6f}", formulation, f"{ratio:.3f}"])
            file.flush()
            print(f"{bench:>9} {radius:>6} {depth:>5} {batch:5} {seconds:9.4f} {share:7.1%} "
                  f"{theirs:9.4f} {formulation:>13} {ratio:10.2f}", flush=True)


if __name__ == "__main__":
    main()
