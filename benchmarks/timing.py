"""Timing shared by the PyTorch benchmarks."""

import math
import time

import torch
from torch.nn import functional


def best_of(run, repeats, warmup):
    """Return the seconds of the fastest of some calls, after some that do not count."""
    for _ in range(warmup):
        run()
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def time_step(model, images, classes, repeats, warmup):
    """Return the best seconds per training step of a classifier."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        functional.cross_entropy(model(images), classes).backward()
        optimizer.step()

    return best_of(step, repeats, warmup)
