"""Timing shared by the PyTorch benchmarks."""

import math
import time


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
