#!/usr/bin/env python3
"""Time one training step of the Fourier neural operator in PyTorch.

The model of the 2021 scripts: a linear lift of (b, x, y) in 2D or (b, x) in 1D,
`depth` layers

    v <- relu(F^-1(W F v) + C v),    without relu after the last,

with complex matrices W for the lowest frequencies only and a 1x1 convolution C,
and a head of two linear layers with relu between them. In 2D W has one block for
the first frequencies of the first axis and one for the last. Where they overlap
(9 + 9 of the 16 frequencies at resolution 16) the second is assigned later, and counts.

A step is forward, relative L2 loss, backward and one fused Adam update, in float32.
Prints one JSON object per depth: bench, case, seconds (best of the repeats).
"""

import torch
from torch import nn

from timing import options, report, start, time_function

WIDTH = {1: 64, 2: 32}
MODES = {1: 16, 2: 9}
HEAD = 128
PARAMETERS = {(1, 1): 78_337, (1, 2): 148_033, (2, 1): 171_425, (2, 2): 338_369}


def fno_data(samples, resolution, dim, seed=0):
    """Return inputs [samples, *grid, 1 + dim] = (b, coordinates) and u [samples, *grid], random."""
    gen = torch.Generator().manual_seed(seed)
    grid = [resolution] * dim
    axis = torch.linspace(0.0, 1.0, resolution)
    x = torch.stack(torch.meshgrid(*[axis] * dim, indexing="ij"), -1)
    b = torch.randn(samples, *grid, 1, generator=gen)
    u = torch.randn(samples, *grid, generator=gen)
    return torch.cat([b, x.expand(samples, *grid, dim)], -1), u


class Spectral(nn.Module):
    """Multiplies the lowest frequencies of [samples, width, *grid] by matrices, drops the others."""

    def __init__(self, width, modes, dim):
        super().__init__()
        first, last = slice(modes), slice(-modes, None)
        self.axes = tuple(range(-dim, 0))
        self.blocks = [(..., first)] if dim == 1 else [(..., first, first), (..., last, first)]
        # The real and imaginary parts, because fused Adam takes no complex parameters.
        shape = len(self.blocks), width, width, *[modes] * dim, 2
        self.weights = nn.Parameter(torch.rand(shape) / width**2)

    def forward(self, v):
        v_hat = torch.fft.rfftn(v, dim=self.axes)
        out = torch.zeros_like(v_hat)
        for block, weight in zip(self.blocks, torch.view_as_complex(self.weights)):
            out[block] = torch.einsum("bi...,io...->bo...", v_hat[block], weight)
        return torch.fft.irfftn(out, s=v.shape[2:], dim=self.axes)


class Fno(nn.Module):
    """Fourier neural operator on a grid of the unit interval or square."""

    def __init__(self, depth, dim):
        super().__init__()
        width, conv = WIDTH[dim], nn.Conv1d if dim == 1 else nn.Conv2d
        self.lift = nn.Linear(1 + dim, width)
        self.spectral = nn.ModuleList(Spectral(width, MODES[dim], dim) for _ in range(depth))
        self.local = nn.ModuleList(conv(width, width, 1) for _ in range(depth))
        self.head = nn.Sequential(nn.Linear(width, HEAD), nn.ReLU(), nn.Linear(HEAD, 1))

    def forward(self, inputs):
        """Map inputs [samples, *grid, 1 + dim] to u [samples, *grid]."""
        v = self.lift(inputs).movedim(-1, 1)
        for layer, (spectral, local) in enumerate(zip(self.spectral, self.local), 1):
            v = spectral(v) + local(v)
            if layer < len(self.local):
                v = torch.relu(v)
        return self.head(v.movedim(1, -1))[..., 0]

    def count(self):
        """Return the number of parameters, a complex one counted once."""
        total = sum(p.numel() for p in self.parameters())
        return total - sum(s.weights.numel() // 2 for s in self.spectral)


def check():
    """Check the parameter counts, and the spectral layer against a sum over the frequencies."""
    for (dim, depth), count in PARAMETERS.items():
        assert Fno(depth, dim).count() == count, (dim, depth, Fno(depth, dim).count())

    torch.manual_seed(0)
    for dim, resolution in [(1, 33), (1, 40), (2, 16), (2, 21), (2, 31)]:
        modes = MODES[dim]
        layer = Spectral(3, modes, dim).double()
        blocks = torch.view_as_complex(layer.weights)
        v = torch.randn(2, 3, *[resolution] * dim, dtype=torch.float64)
        v_hat = torch.fft.fftn(v, dim=layer.axes)
        point = torch.arange(resolution)
        wave = torch.exp(2j * torch.pi / resolution * (point[:, None] * point).double())
        total = torch.zeros_like(v)
        for last in range(modes):
            # A frequency and its conjugate; alone where it is its own.
            twice = 1 if 2 * last % resolution == 0 else 2
            for row in range(resolution) if dim == 2 else [None]:
                if dim == 1:
                    term = (v_hat[..., last] @ blocks[0, ..., last])[..., None] * wave[last]
                else:
                    if row >= resolution - modes:
                        weight = blocks[1, ..., row - (resolution - modes), last]
                    elif row < modes:
                        weight = blocks[0, ..., row, last]
                    else:
                        continue
                    term = (v_hat[..., row, last] @ weight)[..., None, None]
                    term = term * wave[row][:, None] * wave[last]
                total += twice * term.real
        torch.testing.assert_close(layer(v), total / resolution**dim)
    print("parameters", *PARAMETERS.values(), "as expected; the spectral layer agrees with its sum")


def main():
    parser = options(__doc__, repeats=20, warmup=3)
    parser.add_argument("--dim", type=int, choices=[1, 2], default=2)
    parser.add_argument("--resolution", type=int, help="points per side [1D: 101, 2D: 16]")
    parser.add_argument("--depth", type=int, nargs="+", default=[4])
    parser.add_argument("--batch", type=int, default=20, help="samples")
    parser.add_argument("--check", action="store_true", help="check the model instead")
    args = start(parser)
    if args.check:
        return check()
    resolution = args.resolution or (101 if args.dim == 1 else 16)
    least = 2 * MODES[args.dim] - 2
    if resolution < least:
        parser.error(f"--resolution: {MODES[args.dim]} modes need {least} points or more")
    for depth in args.depth:
        torch.manual_seed(0)
        inputs, u = fno_data(args.batch, resolution, args.dim)
        case = f"dim={args.dim} resolution={resolution} depth={depth} batch={args.batch} mode=train"
        report("fno", case, time_function(Fno(depth, args.dim), inputs, u, args))


if __name__ == "__main__":
    main()
