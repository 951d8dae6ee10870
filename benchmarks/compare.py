#!/usr/bin/env python3
"""Run our benchmark and the PyTorch one alternately; print the best of each.

Both commands print one JSON object per line with at least `seconds`.
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(command):
    """Run a command and return the smallest `seconds` it reports."""
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds = [json.loads(line)["seconds"] for line in out.splitlines() if line.startswith("{")]
    if not seconds:
        sys.exit(f"no JSON line from: {' '.join(command)}")
    return min(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(HERE.parent / "target/release/nkn"))
    parser.add_argument("--python", default=sys.executable, help="interpreter that has torch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--threads", type=int, default=2, help="threads of the PyTorch side")
    args = parser.parse_args()

    for depth in args.depths:
        ours = [args.binary, "bench", "poisson", "--depth", str(depth), "--json"]
        torch = [args.python, str(HERE / "poisson_torch.py"), "--depth", str(depth)]
        torch += ["--threads", str(args.threads)]
        pairs = [(run(ours), run(torch)) for _ in range(args.rounds)]
        best_ours, best_torch = (min(column) for column in zip(*pairs))
        print(
            f"depth {depth:3}: ours {best_ours * 1e3:8.2f} ms   "
            f"torch {best_torch * 1e3:8.2f} ms   torch/ours {best_torch / best_ours:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
