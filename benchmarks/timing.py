"""What the PyTorch benchmarks share: options, timing, and the line that each case prints."""

import argparse
import ctypes
import json
import math
import time

import torch
from torch.nn import functional


def options(text, repeats, warmup):
    """Return a parser with the options that all of them have; `text` is the program's documentation."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=repeats)
    parser.add_argument("--warmup", type=int, default=warmup)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="accepted for symmetry; always so")
    return parser


def start(parser):
    """Return the options that were given, and prepare PyTorch for them."""
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    return args


def keep_freed_memory():
    """Let glibc reuse large blocks, which saves zeroing fresh pages in every layer."""
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    m_trim_threshold, m_mmap_max = -1, -4
    mallopt(m_mmap_max, 0)
    mallopt(m_trim_threshold, -1)


def best_of(run, args):
    """Return the seconds of the fastest of some calls, after some that do not count."""
    for _ in range(args.warmup):
        run()
    best = math.inf
    for _ in range(args.repeats):
        began = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - began)
    return best


def time_step(model, loss, args):
    """Return the best seconds per training step: forward, backward, one fused Adam update."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()

    return best_of(step, args)


def time_function(model, inputs, u, args):
    """Return the best seconds per training step with the relative L2 loss."""
    norm = u.flatten(1).norm(dim=1)
    return time_step(model, lambda: ((model(inputs) - u).flatten(1).norm(dim=1) / norm).mean(), args)


def time_classifier(model, images, classes, args):
    """Return the best seconds per training step with the cross entropy."""
    return time_step(model, lambda: functional.cross_entropy(model(images), classes), args)


def report(bench, case, seconds, **more):
    """Print what was measured as one line of JSON."""
    print(json.dumps({"bench": bench, "case": case, **more, "seconds": seconds}), flush=True)
