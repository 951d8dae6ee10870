#!/usr/bin/env python3
"""Run our FNO benchmark and the PyTorch one alternately; print the best of each.

Times one training step of the 2D model. Writes one CSV row per case. Every
combination of the given options is a case.
"""

import argparse
import csv
import itertools
import sys

from compare import HERE, run

COLUMNS = ["resolution", "depth", "batch", "threads", "rounds"]
COLUMNS += ["ours_seconds", "torch_seconds", "torch_over_ours"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(HERE.parent / "target/release/nkn"))
    parser.add_argument("--python", default=sys.executable, help="interpreter that has torch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=20, help="of each case in a round")
    parser.add_argument("--resolution", type=int, nargs="+", default=[16, 31])
    parser.add_argument("--depth", type=int, nargs="+", default=[4])
    parser.add_argument("--batch", type=int, nargs="+", default=[20])
    parser.add_argument("--threads", type=int, default=2, help="threads of both sides")
    parser.add_argument("--csv", default="compare_fno.csv", help="where to write the results")
    args = parser.parse_args()

    # Opened first: a path that cannot be written should fail before the measurement.
    with open(args.csv, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        print(f"{'resolution':>10} {'depth':>5} {'batch':>5} "
              f"{'ours s':>9} {'torch s':>9} {'torch/ours':>10}", flush=True)
        for resolution, depth, batch in itertools.product(
            args.resolution, args.depth, args.batch
        ):
            options = ["--json", "--resolution", resolution, "--depth", depth, "--batch", batch]
            options += ["--repeats", args.repeats, "--threads", args.threads]
            options = [str(option) for option in options]
            ours = [args.binary, "bench", "fno", *options]
            torch = [args.python, str(HERE / "fno_torch.py"), *options]
            pairs = [(run(ours), run(torch)) for _ in range(args.rounds)]
            best_ours, best_torch = (min(column) for column in zip(*pairs))
            ratio = best_torch / best_ours
            table.writerow([resolution, depth, batch, args.threads, args.rounds,
                            f"{best_ours:.6f}", f"{best_torch:.6f}", f"{ratio:.3f}"])
            file.flush()
            print(f"{resolution:10} {depth:5} {batch:5} "
                  f"{best_ours:9.4f} {best_torch:9.4f} {ratio:10.2f}", flush=True)


if __name__ == "__main__":
    main()
