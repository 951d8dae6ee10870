#!/usr/bin/env python3
"""Run our benchmark and the PyTorch one alternately; print the best of each.

Both commands print one JSON object per line with at least `seconds`. The other
programs of this folder compare in the same way, and write a CSV row per case too.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def options(text, rounds):
    """Return a parser with the options that all comparisons have; `text` is the program's documentation."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--binary", default=str(HERE.parent / "target/release/nkn"))
    parser.add_argument("--python", default=sys.executable, help="interpreter that has torch")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--threads", type=int, default=2, help="threads of both sides")
    return parser


def fastest(command):
    """Run a command and return the JSON line with the smallest `seconds`."""
    command = [str(part) for part in command]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    if not lines:
        sys.exit(f"no JSON line from: {' '.join(command)}")
    return min(lines, key=lambda line: line["seconds"])


def alternate(rounds, *commands):
    """Run commands in turn, some rounds, and return the fastest line of each."""
    lines = [[fastest(command) for command in commands] for _ in range(rounds)]
    return [min(column, key=lambda line: line["seconds"]) for column in zip(*lines)]


def tabulate(path, columns, rows):
    """Write rows to a CSV file and print them, each as soon as it is there; floats get six digits."""
    # Opened first: a path that cannot be written should fail before the measurement.
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        print(*columns, flush=True)
        for row in rows:
            row = [f"{value:.6f}" if isinstance(value, float) else str(value) for value in row]
            table.writerow(row)
            file.flush()
            print(*(f"{value:>{len(name)}}" for value, name in zip(row, columns)), flush=True)


def main():
    parser = options(__doc__, rounds=5)
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 32])
    args = parser.parse_args()

    for depth in args.depths:
        ours = [args.binary, "bench", "poisson", "--depth", depth, "--json"]
        torch = [args.python, HERE / "poisson_torch.py", "--depth", depth, "--threads", args.threads]
        ours, torch = (line["seconds"] for line in alternate(args.rounds, ours, torch))
        print(
            f"depth {depth:3}: ours {ours * 1e3:8.2f} ms   "
            f"torch {torch * 1e3:8.2f} ms   torch/ours {torch / ours:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
