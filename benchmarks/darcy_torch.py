#!/usr/bin/env python3
"""Time a training step or a prediction of the 2D Darcy model in PyTorch.

The samples of a batch form one graph, as in the published graph-network code:
each has its own edges, because the kernel sees its coefficient b. With d = 64
and K(x, y) = kernel(x, y, b(x), b(y)), one of the `depth` layers is

    h(x) += dt (mean_y K(x, y) (h(y) - h(x)) - R(x) h(x) + c),    dt = 1 / depth.

`--kernel once` evaluates K once and keeps it for all layers, `--kernel layer`
evaluates it in every layer, as the published code does. A training step is
forward, backward and one fused Adam update, in float32. A batch larger than
`--split` is worked off in parts: one training step each, or one prediction each.
Prints one JSON object per depth: bench, case, seconds (best of the repeats).
"""

import math

import torch
from torch import nn

from timing import best_of, keep_freed_memory, options, report, start

WIDTH = 64
RADIUS = 0.1
CHUNK = 4096  # edges whose kernels a prediction evaluates at a time


def edges(resolution):
    """Return target, source [edges]: the grid nodes closer than RADIUS, sorted by target."""
    reach = math.floor(RADIUS * (resolution - 1) * (1.0 + 1e-9))
    limit = RADIUS * (resolution - 1) * (1.0 - 1e-9)
    steps = torch.arange(-reach, reach + 1)
    offsets = torch.cartesian_prod(steps, steps)
    length = offsets.double().norm(dim=1)
    offsets = offsets[(length < limit) & (length > 0)]

    axis = torch.arange(resolution)
    neighbours = torch.cartesian_prod(axis, axis)[:, None] + offsets
    inside = ((neighbours >= 0) & (neighbours < resolution)).all(-1)
    target = inside.nonzero()[:, 0]
    source = (neighbours[..., 0] * resolution + neighbours[..., 1])[inside]
    return target, source


def darcy_data(samples, resolution, modes=8, seed=0):
    """Return fields [nodes, samples, 4] = (b, b_eps, b_eps_x, b_eps_y), normalised, and u [nodes, samples].

    The values only resemble the data set (b is two-valued, u vanishes on the
    boundary); the time does not depend on them.
    """
    gen = torch.Generator().manual_seed(seed)
    x = torch.linspace(0.0, 1.0, resolution)
    k = torch.arange(modes)
    cosines = torch.cos(math.pi * k[:, None] * x[None, :])
    decay = 1.0 / (math.pi**2 * (k[:, None] ** 2 + k[None, :] ** 2) + 9.0)
    coef = torch.randn(samples, modes, modes, generator=gen) * decay
    coef[:, 0, 0] = 0.0
    field = cosines.t() @ coef @ cosines
    b = torch.where(field >= 0, 12.0, 3.0)
    b_eps = 7.5 + 4.5 * torch.tanh(field / (0.5 * field.std()))
    b_x, b_y = torch.gradient(b_eps, spacing=1.0 / (resolution - 1), dim=(1, 2))
    bump = torch.sin(math.pi * x)
    u = 0.1 * bump[:, None] * bump[None, :] / b_eps

    fields = torch.stack([(f - f.mean()) / f.std() for f in (b, b_eps, b_x, b_y)], -1)
    return fields.flatten(1, 2).transpose(0, 1).contiguous(), u.flatten(1).t().contiguous()


class Graph:
    """The edges of several samples on one grid; sample s of node i is row i * samples + s."""

    def __init__(self, resolution, fields, u):
        nodes, samples = u.shape
        axis = torch.linspace(0.0, 1.0, resolution)
        target, source = edges(resolution)
        row = torch.arange(samples)
        self.x = torch.cartesian_prod(axis, axis)
        self.weight = (1.0 / (1.0 + torch.bincount(target, minlength=nodes)))[:, None, None]
        self.target = (target[:, None] * samples + row).flatten()
        self.source = (source[:, None] * samples + row).flatten()

        x = self.x[:, None].expand(nodes, samples, 2)
        self.nodes = torch.cat([x, fields], -1).flatten(0, 1)
        x, b = self.nodes[:, :2], self.nodes[:, 2:3]
        t, s = self.target, self.source
        self.rows = torch.cat([x[t], x[s], b[t], b[s]], 1)
        self.u, self.norm = u, u.norm(dim=0)


def mlp(*widths):
    """Return linear layers of these widths with ReLU between them."""
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


class Nkn(nn.Module):
    """Nonlocal kernel network for b on a grid of the unit square."""

    def __init__(self, depth, kernel, memory, mean, std):
        super().__init__()
        self.depth, self.kernel_mode, self.memory = depth, kernel, memory
        self.mean, self.std = mean, std
        self.lift = nn.Linear(6, WIDTH)
        self.kernel = mlp(6, 512, 1024, WIDTH * WIDTH)
        self.reaction = mlp(2, 512, 1024, WIDTH * WIDTH)
        self.source = nn.Parameter(torch.zeros(WIDTH))
        self.project = nn.Linear(WIDTH, 1)

    def forward(self, graph, reaction=None):
        """Return u [nodes, samples]; R can be given, as it is the same for all samples."""
        dt, shape = 1.0 / self.depth, (len(graph.x), -1, WIDTH)
        reaction = self.reaction(graph.x) if reaction is None else reaction
        reaction_t = reaction.view(-1, WIDTH, WIDTH).transpose(1, 2)
        keep = self.kernel_mode == "once" and (
            torch.is_grad_enabled() or 4 * WIDTH * WIDTH * len(graph.rows) <= self.memory
        )
        kernel = self.whole_kernel(graph.rows) if keep else None

        h = self.lift(graph.nodes)
        for _ in range(self.depth):
            total = torch.zeros_like(h)
            for part, k in self.kernel_parts(graph.rows, kernel):
                target, source = graph.target[part], graph.source[part]
                difference = h.index_select(0, source) - h.index_select(0, target)
                total.index_add_(0, target, product(k, difference))
            now = h.view(shape)
            change = total.view(shape) * graph.weight - torch.bmm(now, reaction_t) + self.source
            h = torch.add(now, change, alpha=dt).flatten(0, 1)
        return self.project(h).view(shape[:2]) * self.std + self.mean

    def whole_kernel(self, rows):
        """Return K [edges, WIDTH, WIDTH]; without gradients the hidden values stay small."""
        if torch.is_grad_enabled():
            return self.kernel(rows).view(-1, WIDTH, WIDTH)
        *hidden, last = self.kernel
        k = rows.new_empty(len(rows), WIDTH * WIDTH)
        for some, out in zip(rows.split(CHUNK), k.split(CHUNK)):
            for layer in hidden:
                some = layer(some)
            torch.addmm(last.bias, some, last.weight.t(), out=out)
        return k.view(-1, WIDTH, WIDTH)

    def kernel_parts(self, rows, kernel):
        """Yield (slice of edges, K of these edges): the given kernel, or a fresh one in parts."""
        if kernel is not None:
            yield slice(None), kernel
            return
        size = len(rows) if torch.is_grad_enabled() else CHUNK
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            yield part, self.kernel(rows[part]).view(-1, WIDTH, WIDTH)


def product(k, h):
    """Return K h for each edge; as a row times K^T where no gradient is needed, which is faster."""
    if torch.is_grad_enabled():
        return torch.bmm(k, h[:, :, None])[:, :, 0]
    return torch.bmm(h[:, None, :], k.transpose(1, 2))[:, 0]


def relative_l2(model, graph):
    """Return the mean relative error of the samples."""
    return ((model(graph) - graph.u).norm(dim=0) / graph.norm).mean()


def build(resolution, depth, batch, split, kernel, memory):
    """Return a model and the graphs, of at most `split` samples each, that make up the batch."""
    torch.manual_seed(0)
    fields, u = darcy_data(batch, resolution)
    model = Nkn(depth, kernel, memory, u.mean().item(), u.std().item())
    parts = zip(fields.split(split, 1), u.split(split, 1))
    return model, [Graph(resolution, f, u) for f, u in parts]


def time_case(model, graphs, args):
    """Return the best seconds for one pass over the graphs."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)

    def train():
        for graph in graphs:
            optimizer.zero_grad(set_to_none=True)
            relative_l2(model, graph).backward()
            optimizer.step()

    @torch.inference_mode()
    def predict():
        reaction = model.reaction(graphs[0].x)
        for graph in graphs:
            model(graph, reaction)

    return best_of(train if args.mode == "train" else predict, args)


def check():
    """Check the counts, and that all ways to evaluate the kernel agree."""
    for resolution, count in [(16, 1860), (31, 21240), (61, 369080)]:
        assert len(edges(resolution)[0]) == count, (resolution, len(edges(resolution)[0]))

    losses, gradients = [], []
    for kernel, memory in [("once", math.inf), ("once", 0), ("layer", 0)]:
        model, [graph] = build(16, 2, 2, 2, kernel, memory)
        assert sum(p.numel() for p in model.parameters()) == 9_453_121
        with torch.no_grad():
            losses.append(relative_l2(model, graph))
        losses.append(relative_l2(model, graph))
        losses[-1].backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    for loss in losses:
        torch.testing.assert_close(loss, losses[0])
    for gradient in gradients:
        assert (gradient - gradients[0]).norm() < 1e-4 * gradients[0].norm()
    print(f"9453121 parameters; loss {losses[0].item():.6f} in every mode; gradients agree")


def main():
    parser = options(__doc__, repeats=5, warmup=1)
    parser.add_argument("--resolution", type=int, default=16)
    parser.add_argument("--depth", type=int, nargs="+", default=[16])
    parser.add_argument("--batch", type=int, default=10, help="samples")
    parser.add_argument("--split", type=int, help="samples at a time [train: 10, predict: 1]")
    parser.add_argument("--mode", choices=["train", "predict"], default="train")
    parser.add_argument("--kernel", choices=["once", "layer"], default="once")
    parser.add_argument("--memory", type=float, default=8.0, metavar="GB",
                        help="a prediction keeps K for all layers if it fits [default: 8]")
    parser.add_argument("--check", action="store_true", help="check the model instead")
    args = start(parser)
    keep_freed_memory()
    if args.check:
        return check()
    split = args.split or (10 if args.mode == "train" else 1)
    for depth in args.depth:
        model, graphs = build(
            args.resolution, depth, args.batch, split, args.kernel, args.memory * 1e9
        )
        case = f"resolution={args.resolution} depth={depth} batch={args.batch} "
        case += f"mode={args.mode} kernel={args.kernel}"
        report("darcy", case, time_case(model, graphs, args))


if __name__ == "__main__":
    main()
