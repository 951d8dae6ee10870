#!/usr/bin/env python3
"""Time a training step on a cloud of random points with PyTorch Geometric's NNConv.

One sample with a coefficient b on `--points` random points of the unit square, each with its `--neighbours` nearest
ones; the edge network 6-64-64-d^2 sees x, y, b(x), b(y) and is shared by all `--depth` layers, as in the graph kernel
network (Li et al., 2020): h <- relu(mean_y K(x, y) h(y) + R h + c). NNConv evaluates the edge network in every layer and
keeps K, edges x d x d numbers, of each for the backward pass. A step is forward, backward and one fused Adam update,
in float32. Without torch_geometric the same gather, batched product and scatter are written in plain PyTorch, and the
line says so ("layer").

Prints one JSON object per number of points: bench, case, layer, peak_rss_mb, seconds (best of the repeats), or
"error" where `--limit-gib` does not suffice. Give one number of points at a time to compare peaks.
"""

import resource

import torch
from torch import nn
from torch.nn import functional

from timing import options, report, start, time_step

try:
    from torch_geometric.nn import NNConv
except ImportError:
    NNConv = None


class PlainConv(nn.Module):
    """What NNConv computes, written out."""

    def __init__(self, width, _, network, aggr):
        super().__init__()
        assert aggr == "mean"
        self.network, self.width = network, width
        self.lin = nn.Linear(width, width, bias=False)
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, h, edges, inputs):
        """Return the next h."""
        source, target = edges
        kernel = self.network(inputs).view(-1, self.width, self.width)
        messages = torch.bmm(h[source].unsqueeze(1), kernel).squeeze(1)
        total = torch.zeros_like(h).index_add_(0, target, messages)
        count = torch.bincount(target, minlength=h.shape[0]).clamp(min=1).unsqueeze(1)
        return total / count + self.lin(h) + self.bias


class Gkn(nn.Module):
    """Lift, one layer applied `depth` times, project."""

    def __init__(self, width, depth):
        super().__init__()
        network = nn.Sequential(
            nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, width * width)
        )
        self.depth = depth
        self.lift = nn.Linear(3, width)
        self.layer = (NNConv or PlainConv)(width, width, network, aggr="mean")
        self.project = nn.Linear(width, 1)

    def forward(self, points, b, edges, inputs):
        """Map b [points] to u [points]."""
        h = self.lift(torch.cat([points, b[:, None]], 1))
        for _ in range(self.depth):
            h = functional.relu(self.layer(h, edges, inputs))
        return self.project(h)[:, 0]


def nearest(points, neighbours):
    """Return edges [2, points x neighbours] (source, target), by cells of a grid and their eight neighbours."""
    count = points.shape[0]
    # Wide enough that nine cells nearly always hold that many; a node with fewer takes the nearest of those it sees.
    cells = max(1, int((count / neighbours) ** 0.5))
    cell = (points * cells).long().clamp(max=cells - 1)
    order = torch.argsort(cell[:, 0] * cells + cell[:, 1])
    start = torch.searchsorted((cell[:, 0] * cells + cell[:, 1])[order].contiguous(), torch.arange(cells * cells + 1))
    sources, targets = [], []
    for i in range(cells):
        for j in range(cells):
            own = order[start[i * cells + j] : start[i * cells + j + 1]]
            around = [
                order[start[k * cells + m] : start[k * cells + m + 1]]
                for k in range(max(0, i - 1), min(cells, i + 2))
                for m in range(max(0, j - 1), min(cells, j + 2))
            ]
            around = torch.cat(around)
            if len(own) == 0 or len(around) < 2:
                continue
            some = min(neighbours + 1, len(around))
            found = torch.cdist(points[own], points[around]).topk(some, largest=False).indices
            sources.append(around[found].flatten())
            targets.append(own.repeat_interleave(some))
    source, target = torch.cat(sources), torch.cat(targets)
    other = source != target
    return torch.stack([source[other], target[other]])


def main():
    parser = options(__doc__, repeats=2, warmup=1)
    parser.add_argument("--points", type=int, nargs="+", default=[10_000])
    parser.add_argument("--neighbours", type=int, default=30)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--limit-gib", type=float, help="address space that may be taken; more is an error, not a killed machine")
    args = start(parser)
    if args.limit_gib:
        limit = int(args.limit_gib * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    layer = "NNConv" if NNConv else "plain"
    for count in args.points:
        torch.manual_seed(0)
        points, b = torch.rand(count, 2), torch.rand(count)
        edges = nearest(points, args.neighbours)
        source, target = edges
        inputs = torch.cat([points[target], points[source], b[target, None], b[source, None]], 1)
        u = torch.sin(6.0 * points[:, 0]) * b + 1.0
        model = Gkn(args.width, args.depth)
        case = f"points={count} edges={edges.shape[1]} width={args.width} depth={args.depth}"
        try:
            loss = lambda: (model(points, b, edges, inputs) - u).norm() / u.norm()  # noqa: E731
            seconds = time_step(model, loss, args)
        except (RuntimeError, MemoryError) as error:
            report("cloud", case, None, layer=layer, error=str(error).splitlines()[0], limit_gib=args.limit_gib)
            continue
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        report("cloud", case, seconds, layer=layer, peak_rss_mb=round(peak))


if __name__ == "__main__":
    main()
