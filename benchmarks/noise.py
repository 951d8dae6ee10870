#!/usr/bin/env python3
"""Noise on the inputs of a data set, or on the weights of a run. Needs numpy.

    nkn data darcy --first 100 --samples 40 --smoothing 9 --resolution 16 -o test.npz
    python3 benchmarks/noise.py inputs test.npz noisy.npz 0.05
    nkn eval dissipative --data noisy.npz --depths 16,32,infinite
    python3 benchmarks/noise.py weights dissipative perturbed 0.01
    nkn eval perturbed --data test.npz

Inputs: a share of each field's standard deviation is added. Weights: each is multiplied by 1 + share times noise.
"""

import argparse
import json
import shutil
import struct
from pathlib import Path

import numpy as np

NOT_INPUTS = ("u", "points", "weights", "lower", "upper")


def noisy_inputs(source, out, share, generator):
    data = dict(np.load(source))
    for name, values in data.items():
        if name not in NOT_INPUTS:
            data[name] = values + share * values.std() * generator.standard_normal(values.shape)
    np.savez(out, **data)


def noisy_weights(source, out, share, generator):
    shutil.copytree(source, out)
    for path in sorted(Path(out).rglob("*.safetensors")):
        if "checkpoint" in path.parts:
            continue
        raw = path.read_bytes()
        (length,) = struct.unpack("<Q", raw[:8])
        body = bytearray(raw[8 + length :])
        for name, entry in json.loads(raw[8 : 8 + length]).items():
            if name == "__metadata__" or name.startswith("normaliser") or entry["dtype"] != "F32":
                continue
            start, end = entry["data_offsets"]
            weights = np.frombuffer(bytes(body[start:end]), dtype="<f4")
            factors = 1 + share * generator.standard_normal(weights.shape)
            body[start:end] = (weights * factors).astype("<f4").tobytes()
        path.write_bytes(raw[: 8 + length] + bytes(body))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["inputs", "weights"])
    parser.add_argument("source", help="a data set (.npz), or the folder of a run")
    parser.add_argument("out", help="the new data set or folder")
    parser.add_argument("share", type=float)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    change = noisy_inputs if options.what == "inputs" else noisy_weights
    change(options.source, options.out, options.share, np.random.default_rng(options.seed))


if __name__ == "__main__":
    main()
