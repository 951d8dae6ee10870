#!/usr/bin/env python3
"""Time one full-batch training step of the 1D Poisson model in PyTorch.

A step is the forward pass (the kernel network is evaluated once, on every pair
of grid points, and shared by all layers), the backward pass and one fused Adam
update, in float32.

One layer is affine in h, h <- A h + dt c, with the same matrix A throughout:

    A = I + dt (K W - diag(K w) - diag(R)),    dt = 1 / depth,

so it is built once per step and applied as one matrix product per layer.
Prints one JSON object per depth: bench, case, seconds (best of the repeats).
"""

import math

import torch
from torch import nn

from timing import options, report, start, time_function


def poisson_data(samples, points, modes=100, seed=0):
    """Return x [points], f and u [samples, points] with -u'' = f."""
    gen = torch.Generator().manual_seed(seed)
    x = torch.linspace(0.0, 1.0, points, dtype=torch.float64)
    k = torch.arange(1, modes + 1, dtype=torch.float64)
    coef = torch.rand(samples, modes, generator=gen, dtype=torch.float64) * torch.exp(-0.1 * k**2)
    cosines = torch.cos(2.0 * math.pi * k[:, None] * x[None, :])
    u = coef @ cosines - coef.sum(1, keepdim=True)
    f = (coef * (2.0 * math.pi * k) ** 2) @ cosines
    return x.float(), f.float(), u.float()


class Nkn(nn.Module):
    """Nonlocal kernel network with hidden dimension one."""

    def __init__(self, x, depth):
        super().__init__()
        n = x.numel()
        self.depth = depth
        self.lift = nn.Linear(2, 1)
        self.kernel = nn.Sequential(
            nn.Linear(2, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1)
        )
        self.reaction = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Linear(64, 1))
        self.source = nn.Parameter(torch.zeros(1))
        self.project = nn.Linear(1, 1)

        weights = torch.full((n,), 1.0 / (n - 1))
        weights[[0, -1]] *= 0.5
        self.register_buffer("x", x)
        self.register_buffer("weights", weights)
        self.register_buffer("pairs", torch.cartesian_prod(x, x))
        self.register_buffer("eye", torch.eye(n))

    def forward(self, f):
        """Map f [samples, points] to u [samples, points]."""
        n, dt = self.x.numel(), 1.0 / self.depth
        kw = self.kernel(self.pairs).view(n, n) * self.weights
        diagonal = kw.sum(1) + self.reaction(self.x[:, None])[:, 0]
        a = self.eye + dt * (kw - torch.diag(diagonal))
        a_t, shift = a.t(), dt * self.source.expand(n)

        w = self.lift.weight[0]
        h = w[0] * self.x + self.lift.bias + w[1] * f
        for _ in range(self.depth):
            h = torch.addmm(shift, h, a_t)
        return self.project.weight[0] * h + self.project.bias


def main():
    parser = options(__doc__, repeats=30, warmup=5)
    parser.add_argument("--depth", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--points", type=int, default=101)
    args = start(parser)
    for depth in args.depth:
        torch.manual_seed(0)
        x, f, u = poisson_data(args.samples, args.points)
        report("poisson", f"depth={depth}", time_function(Nkn(x, depth), f, u, args))


if __name__ == "__main__":
    main()
