#!/usr/bin/env python3
"""Time one training step of the NKN on MNIST images in PyTorch.

28 x 28 nodes x at half-pixel centres with neighbours closer than `radius`, in pixels;
d = 16 and one kernel for all samples and layers. One of the `depth` layers is

    h(x) += dt (mean_y K(x, y) (h(y) - h(x)) - R(x) h(x) + c),    dt = 1 / depth,

where the mean counts x. The head averages u = Q h + q over 2 x 2 nodes and applies
dense layers to 128, ReLU and 10. K and R are evaluated once per step. All formulations
gather the terms with h(x) in one matrix per node, and differ in the sum over y:

    unfold  the neighbours of a node side by side in memory, one product per node;
    edges   a product per edge, then index_add;
    shift   as unfold, but each row of neighbours is read in place, with its own backward.

A step is forward, cross entropy, backward and one fused Adam update, in float32.
Prints one JSON object per depth and formulation: bench, case, formulation,
seconds (best of the repeats).
"""

import math

import torch
from torch import nn
from torch.nn import functional

from darcy_torch import mlp
from timing import keep_freed_memory, options, report, start, time_classifier

SIDE = 28
NODES = SIDE * SIDE
WIDTH = 16
HEAD = 128
CLASSES = 10
PARAMETERS = 422_442
EDGES = {2: 6_724, 3: 17_956, 4: 31_356}  # with self
FORMULATIONS = ["unfold", "edges", "shift"]


def image_data(batch, seed=0):
    """Return images [batch, nodes] and classes [batch], random."""
    gen = torch.Generator().manual_seed(seed)
    images = torch.rand(batch, NODES, generator=gen)
    return images, torch.randint(CLASSES, (batch,), generator=gen)


class Grid:
    """The nodes in rows of `line` columns, of which the last line - SIDE are empty.

    Slot [node, offset] is the neighbour there. Slots outside the ball or the image, and
    all of an empty node, have weight 0. So has the node itself, as it adds nothing.
    """

    def __init__(self, radius, empty=False):
        reach = math.ceil(radius) - 1
        self.reach, self.span, self.line = reach, 2 * reach + 1, SIDE + empty * reach
        steps = torch.arange(-reach, reach + 1)
        offsets = torch.cartesian_prod(steps, steps)
        if not empty:
            offsets = offsets[offsets.double().norm(dim=1) < radius]
        ball = offsets.double().norm(dim=1) < radius
        self.centre = len(offsets) // 2

        cells = torch.cartesian_prod(torch.arange(SIDE), torch.arange(self.line))
        real = cells[:, 1] < SIDE
        neighbours = cells[:, None] + offsets
        inside = ((neighbours >= 0) & (neighbours < SIDE)).all(-1) & real[:, None] & ball
        weight = inside / inside.sum(1, keepdim=True).clamp(min=1)
        weight[:, self.centre] = 0.0

        self.slots = len(offsets)
        self.real, self.inside, self.weight = real, inside, weight
        self.nodes = real.nonzero()[:, 0]
        self.x = cells + 0.5
        self.y = neighbours.clamp(0, SIDE - 1) + 0.5
        flat = neighbours[..., 0] * self.line + neighbours[..., 1]
        self.neighbour = torch.where(inside, flat, 0)
        # Where y, as a neighbour of x, has the matrix from y to x: at x, in the slot of the
        # opposite offset. Slot 0 of node 0 is outside the image: its matrix is zero.
        opposite = flat * self.slots + torch.arange(self.slots - 1, -1, -1)
        self.opposite = torch.where(inside, opposite, 0).flatten()


class Shift(torch.autograd.Function):
    """All layers, on a grid with empty columns: h <- sum over slots of A h(y), plus shift.

    With empty nodes on all sides (`padded`), the neighbours of node i in one row of the
    stencil are consecutive, and begin one node later than those of node i - 1. So the
    matrices of a batched product overlap in memory and nothing is copied.
    """

    @staticmethod
    def forward(ctx, h, a_t, shift, grid, depth):
        states = []
        for _ in range(depth):
            states.append(padded(grid, h))
            h = shift.expand_as(h).contiguous()
            for matrix, some in zip(stencil_rows(grid, a_t), windows(grid, states[-1])):
                h.baddbmm_(matrix.transpose(1, 2), some)
        ctx.save_for_backward(a_t)
        ctx.grid, ctx.states = grid, states
        return h

    @staticmethod
    def backward(ctx, g):
        grid, (a_t,) = ctx.grid, ctx.saved_tensors
        opposite = a_t.view(-1, WIDTH * WIDTH).index_select(0, grid.opposite)
        b_t = opposite.view(-1, WIDTH, WIDTH).transpose(1, 2).reshape(a_t.shape)

        # One tensor each: a batched product into a part of a tensor would be a loop over the nodes.
        g_a = [torch.zeros_like(part) for part in stencil_rows(grid, a_t)]
        g_shift = 0
        for state in reversed(ctx.states):
            g_shift = g_shift + g.sum(2, keepdim=True)
            for out, some in zip(g_a, windows(grid, state)):
                out.baddbmm_(some, g.transpose(1, 2))
            pad = padded(grid, g)
            g = torch.zeros_like(g)
            for matrix, some in zip(stencil_rows(grid, b_t), windows(grid, pad)):
                g.baddbmm_(matrix.transpose(1, 2), some)
        return g, torch.cat(g_a, 1), g_shift, None, None


def padded(grid, h):
    """Return h with empty nodes before and after, enough for every offset."""
    before = grid.reach * grid.line + grid.reach
    return functional.pad(h, (0, 0, 0, 0, before, before))


def windows(grid, h):
    """Yield, per row of the stencil, [nodes, span * WIDTH, batch]: views of a padded h."""
    batch = h.shape[2]
    for row in range(grid.span):
        shape = SIDE * grid.line, grid.span * WIDTH, batch
        yield h.as_strided(shape, h.stride(), row * grid.line * h.stride(0))


def stencil_rows(grid, a_t):
    """Return A^T per row of the stencil: [nodes, span * WIDTH, WIDTH]."""
    return a_t.split(grid.span * WIDTH, 1)


class Nkn(nn.Module):
    """Nonlocal kernel network with a dense head, for images of SIDE x SIDE pixels."""

    def __init__(self, radius, depth, formulation):
        super().__init__()
        self.depth, self.formulation = depth, formulation
        self.lift = nn.Linear(3, WIDTH)
        self.kernel = mlp(4, 32, 32, WIDTH * WIDTH)
        self.reaction = mlp(2, 32, 32, WIDTH * WIDTH)
        self.source = nn.Parameter(torch.zeros(WIDTH))
        self.project = nn.Linear(WIDTH, WIDTH)
        self.dense = nn.Linear(NODES // 4 * WIDTH, HEAD)
        self.classes = nn.Linear(HEAD, CLASSES)

        self.grid = grid = Grid(radius, empty=formulation == "shift")
        used = grid.weight > 0 if formulation == "edges" else torch.ones_like(grid.inside)
        self.target, slot = used.nonzero(as_tuple=True)
        self.neighbour = grid.neighbour[self.target, slot]
        self.rows = torch.cat([grid.x[self.target], grid.y[self.target, slot]], 1)
        self.weight = grid.weight[self.target, slot][:, None] / depth
        self.eye = grid.real[:, None, None] * torch.eye(WIDTH)

    def forward(self, images):
        """Map images [batch, nodes] to the scores [batch, CLASSES]."""
        h = self.layers(self.lifted(images.t()))
        batch = h.shape[2]
        if self.formulation == "shift":
            h = h.view(SIDE, self.grid.line, WIDTH, batch)[:, :SIDE]
        # Q is linear, so it can follow the average.
        h = h.reshape(SIDE // 2, 2, SIDE // 2, 2, WIDTH, batch).mean((1, 3)).flatten(0, 1)
        u = torch.matmul(self.project.weight, h) + self.project.bias[:, None]
        hidden = torch.relu(self.dense(u.flatten(0, 1).t()))
        return self.classes(hidden)

    def lifted(self, images):
        """Return h [nodes, WIDTH, batch] from images [nodes, batch]."""
        grid = self.grid
        if self.formulation == "shift":
            images = functional.pad(images.view(SIDE, SIDE, -1), (0, 0, 0, grid.reach)).flatten(0, 1)
        w = self.lift.weight
        at_x = functional.linear(grid.x, w[:, :2], self.lift.bias) * grid.real[:, None]
        return torch.addcmul(at_x[:, :, None], images[:, None, :], w[None, :, 2:])

    def layers(self, h):
        """Apply all layers to h [nodes, WIDTH, batch]."""
        grid, dt = self.grid, 1.0 / self.depth
        k_t = self.kernel_t()
        reaction = self.reaction(grid.x).view(-1, WIDTH, WIDTH)
        shift = dt * self.source[:, None] * grid.real[:, None, None]

        if self.formulation == "edges":
            near = torch.zeros_like(reaction).index_add_(0, self.target, k_t.transpose(1, 2))
            own = self.eye - near - dt * reaction
            for _ in range(self.depth):
                there = h.index_select(0, self.neighbour)
                messages = torch.einsum("eji,ejb->eib", k_t, there)
                now = torch.baddbmm(shift, own, h)
                h = now.index_add(0, self.target, messages)
            return h

        k_t = k_t.view(-1, grid.slots, WIDTH, WIDTH)
        own = grid.real[:, None, None] * (self.eye - dt * reaction)
        k_t[:, grid.centre] += own.transpose(1, 2) - k_t.sum(1)
        a_t = k_t.view(-1, grid.slots * WIDTH, WIDTH)
        if self.formulation == "shift":
            return Shift.apply(h, a_t, shift, grid, self.depth)
        for _ in range(self.depth):
            there = h.index_select(0, self.neighbour).view(NODES, grid.slots * WIDTH, -1)
            h = torch.baddbmm(shift, a_t.transpose(1, 2), there)
        return h

    def kernel_t(self):
        """Return dt times weight times K(x, y)^T [rows, WIDTH, WIDTH].

        The last layer is transposed and its input weighted, which is less than doing
        that to its output.
        """
        *hidden, last = self.kernel
        weight = last.weight.view(WIDTH, WIDTH, -1).transpose(0, 1).reshape(WIDTH * WIDTH, -1)
        bias = last.bias.view(WIDTH, WIDTH).t().reshape(WIDTH * WIDTH, 1)
        value = self.rows
        for layer in hidden:
            value = layer(value)
        value = torch.cat([value * self.weight, self.weight], 1)
        k_t = torch.mm(value, torch.cat([weight, bias], 1).t())
        return k_t.view(-1, WIDTH, WIDTH)


def reference(model, radius, images):
    """Return the scores as the formulas are written, node by node."""
    axis = torch.arange(SIDE) + 0.5
    x = torch.cartesian_prod(axis, axis).to(images)
    h = model.lift(torch.cat([x.expand(len(images), -1, 2), images[..., None]], -1))
    reaction = model.reaction(x).view(-1, WIDTH, WIDTH)
    kernels = []
    for node in range(NODES):
        distance = (x - x[node]).norm(dim=1)
        ball = (distance < radius).nonzero()[:, 0]
        rows = torch.cat([x[node].expand(len(ball), 2), x[ball]], 1)
        kernels.append((ball, model.kernel(rows).view(-1, WIDTH, WIDTH)))
    for _ in range(model.depth):
        change = torch.empty_like(h)
        for node, (ball, k) in enumerate(kernels):
            difference = h[:, ball] - h[:, node : node + 1]
            mean = torch.einsum("nij,bnj->bi", k, difference) / len(ball)
            change[:, node] = mean - h[:, node] @ reaction[node].t() + model.source
        h = h + change / model.depth
    u = model.project(h).view(-1, SIDE // 2, 2, SIDE // 2, 2, WIDTH).mean((2, 4))
    return model.classes(torch.relu(model.dense(u.flatten(1))))


def build(radius, depth, formulation):
    """Return a model whose parameters depend on the seed only."""
    torch.manual_seed(0)
    return Nkn(radius, depth, formulation)


def agree(radius, depth, formulations, images):
    """Assert that the formulations give the same scores."""
    with torch.no_grad():
        scores = [build(radius, depth, name)(images) for name in formulations]
    for some in scores:
        torch.testing.assert_close(some, scores[0], rtol=1e-3, atol=1e-4)


def check():
    """Check the counts, and scores and gradients of all formulations against the formulas."""
    torch.set_default_dtype(torch.float64)
    images, classes = image_data(3)
    for radius, depth in [(2, 1), (3, 2), (4, 3)]:
        grid = Grid(radius)
        assert grid.inside.sum() == EDGES[radius], (radius, grid.inside.sum())
        results = []
        for name in ["formulas", *FORMULATIONS]:
            model = build(radius, depth, FORMULATIONS[0] if name == "formulas" else name)
            assert sum(p.numel() for p in model.parameters()) == PARAMETERS
            scores = reference(model, radius, images) if name == "formulas" else model(images)
            functional.cross_entropy(scores, classes).backward()
            results.append([scores, *(p.grad for p in model.parameters())])
        for some in results[1:]:
            for value, expected in zip(some, results[0]):
                torch.testing.assert_close(value, expected, rtol=1e-9, atol=1e-11)
    print(f"{PARAMETERS} parameters; scores and gradients agree: {', '.join(FORMULATIONS)}")


def main():
    parser = options(__doc__, repeats=10, warmup=2)
    parser.add_argument("--radius", type=float, default=3.0, help="in pixels")
    parser.add_argument("--depth", type=int, nargs="+", default=[2])
    parser.add_argument("--batch", type=int, default=128, help="images")
    parser.add_argument("--mode", choices=["train"], default="train", help="accepted for symmetry")
    parser.add_argument("--formulation", nargs="+", choices=FORMULATIONS, default=FORMULATIONS)
    parser.add_argument("--check", action="store_true", help="check the model instead")
    args = start(parser)
    keep_freed_memory()
    if args.check:
        return check()
    images, classes = image_data(args.batch)
    for depth in args.depth:
        agree(args.radius, depth, args.formulation, images)
        case = f"radius={args.radius:g} depth={depth} batch={args.batch} mode=train"
        for name in args.formulation:
            seconds = time_classifier(build(args.radius, depth, name), images, classes, args)
            report("mnist", case, seconds, formulation=name)


if __name__ == "__main__":
    main()
