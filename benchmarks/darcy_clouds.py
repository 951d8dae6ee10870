"""Darcy samples on random points, another set for every sample.

    nkn data darcy --samples 100 --resolution 241 --out fine.npz
    python benchmarks/darcy_clouds.py fine.npz clouds.npz --points 400 --seed 0

The points are nodes of the fine grid, drawn without repetition, so that all values are the solver's own.
"""

import argparse

import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fine", help="a data set on a regular grid (.npz)")
    parser.add_argument("clouds", help="the data set to write")
    parser.add_argument("--points", type=int, default=400, help="points of each sample")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    data = dict(np.load(options.fine))
    lower, upper = data.pop("lower"), data.pop("upper")
    count, *shape = data["u"].shape
    axes = [np.linspace(low, high, side) for low, high, side in zip(lower, upper, shape)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(shape))
    generator = np.random.default_rng(options.seed)
    chosen = np.stack([generator.choice(len(nodes), options.points, replace=False) for _ in range(count)])
    fields = {name: np.take_along_axis(values.reshape(count, -1), chosen, axis=1) for name, values in data.items()}
    np.savez(options.clouds, points=nodes[chosen], **fields)
    print(f"{options.clouds}: {count} samples on {options.points} points each")


if __name__ == "__main__":
    main()
