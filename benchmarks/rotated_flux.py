#!/usr/bin/env python3
"""Errors of a network that has learned the flux of Darcy flow, on test samples and on the same samples rotated.

Rotated by a quarter turn a sample is as good a problem as before: b is moved, the flux moved and turned. A network that
was trained with symmetries must be as good on it. Prints a table: rotation, error of the flux and of each component, and
how far the rotated predictions are from the predictions of the rotated samples, in units of the flux. Needs numpy.

    nkn train configs/darcy_flux.toml
    python3 benchmarks/rotated_flux.py runs/darcy_flux --binary target/release/nkn
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np


def rotated(arrays, quarters):
    """Return the arrays of a data set after some quarter turns about the centre of the square."""
    turned = {}
    for name, values in arrays.items():
        turned[name] = np.rot90(values, quarters, axes=(1, 2)) if values.ndim > 2 else values
    for _ in range(quarters):
        x, y = turned["b_eps_x"], turned["b_eps_y"]
        turned["b_eps_x"], turned["b_eps_y"] = -y, x
        v = turned["v"]
        turned["v"] = np.stack([-v[..., 1], v[..., 0]], -1)
    return {name: np.ascontiguousarray(values) for name, values in turned.items()}


def relative(a, b):
    """Return the mean over samples of ||a - b|| / ||b||."""
    norm = lambda values: np.sqrt((values.reshape(len(values), -1) ** 2).sum(1))  # noqa: E731
    return (norm(a - b) / norm(b)).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the folder of a trained run")
    parser.add_argument("--binary", default="target/release/nkn")
    parser.add_argument("--first", type=int, default=100, help="number of the first test sample")
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--side", type=int, default=241)
    parser.add_argument("--resolution", type=int, default=16)
    args = parser.parse_args()
    nkn = lambda *words: subprocess.run([args.binary, *map(str, words)], check=True, capture_output=True)  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: Path(folder) / name  # noqa: E731
        nkn("data", "darcy", "--flux", "--first", args.first, "--samples", args.samples, "--side", args.side,
            "--resolution", args.resolution, "--out", path("test.npz"))
        test = dict(np.load(path("test.npz")))
        plain = None
        print("quarter turns, error, ratio, error of v.0, of v.1, between rotated predictions")
        for quarters in range(4):
            turned = rotated(test, quarters)
            np.savez(path("turned.npz"), **turned)
            nkn("predict", args.run, path("turned.npz"), "--out", path("predicted.npz"), "--force")
            v = np.load(path("predicted.npz"))["v"]
            # The predictions of the samples as they are, rotated; and the errors of each component.
            plain = plain or (v, relative(v, test["v"]))
            expected = rotated({**test, "v": plain[0]}, quarters)["v"]
            errors = [relative(v, turned["v"])]
            errors += [relative(v[..., component], turned["v"][..., component]) for component in (0, 1)]
            row = {"quarter_turns": quarters, "error": errors[0], "ratio": errors[0] / plain[1], "v.0": errors[1],
                   "v.1": errors[2], "between": relative(v, expected)}
            print(json.dumps({name: float(f"{value:.4g}") for name, value in row.items()}), flush=True)


if __name__ == "__main__":
    main()
