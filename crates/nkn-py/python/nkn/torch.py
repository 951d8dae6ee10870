"""Networks as PyTorch modules: the paper's equations on the neighbours, weights and transforms of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from ._samples import Samples

if TYPE_CHECKING:
    from ._functions import Functions

__all__ = ["Module"]


#: The degree of the polynomial in the step that an integrator is.
DEGREES = {"euler": 1, "heun": 2, "rk4": 4}
#: The least reaction of a dissipative network of one feature.
_LEAST_REACTION = 0.01


class Module(nn.Module):
    """A trained `NKN`, `GKN` or `FNO` in PyTorch, with the names of the model file in its state dict.

    ``module(f)`` takes and gives what ``model.predict(f)`` does, as tensors with gradients: an array of samples x
    nodes (x components), or a dict of them; ``points=`` says where the values are if not on a grid in the box of the
    training. ``.double()`` and ``.to(device)`` work.
    """

    def __init__(self, model: Functions) -> None:
        super().__init__()
        raw = model._model()
        #: What `nkn.from_torch` wants besides the state dict.
        self.config: dict[str, Any] = model.config_
        self._settings: dict[str, Any] = self.config["model"]
        if self._settings["kind"] not in ("nkn", "gkn", "fno"):
            raise ValueError("to_torch: expected a network on functions\n  hint: NKN, GKN and FNO can be exported")
        integrator = self._settings.get("integrator", "euler")
        if integrator not in DEGREES:
            expected = f"one of the integrators {', '.join(DEGREES)}"
            raise ValueError(f"to_torch: expected {expected}, got {integrator}\n  hint: train with one of them")
        self._degree = DEGREES[integrator]
        self._is_dissipative = self._settings.get("stability", "free") == "dissipative"
        self._raw = raw
        self._box = model._box
        self._outputs: list[str] = model._names_of_outputs
        self._domains: dict[Any, dict[str, Any]] = {}
        for name, values in raw.tensors():
            if name.startswith("normaliser."):
                self._at(name).register_buffer(name.rsplit(".", 1)[1], torch.from_numpy(values))
            else:
                parameter = nn.Parameter(torch.from_numpy(values.astype(np.float32)))
                self._at(name).register_parameter(name.rsplit(".", 1)[-1], parameter)

    def _at(self, name: str) -> nn.Module:
        """The module that holds a tensor of this name."""
        owner: nn.Module = self
        for part in name.split(".")[:-1]:
            if part not in owner._modules:
                owner.add_module(part, nn.Module())
            owner = cast(nn.Module, owner._modules[part])
        return owner

    def _components(self, name: str) -> int:
        return int(self._settings.get("components", {}).get(name, 1))

    def forward(self, inputs: Tensor | dict[str, Tensor], points: Any = None) -> Any:
        """The outputs in physical units, in the shape of the inputs; by their names where there are several."""
        names: list[str] = self._settings["fields"]
        fields = inputs if isinstance(inputs, dict) else {names[0]: inputs}
        domain, shape = self._domain(fields, points)
        weight = self._tensor("lift.weight")
        encoded = []
        for name, (mean, std) in zip(names, domain["fields"], strict=True):
            values = fields[name].to(weight).reshape(fields[name].shape[0], -1, self._components(name))
            encoded.append(_normalised(values, mean.to(weight), std.to(weight)))
        b = torch.cat(encoded, 2)
        x = domain["points"].to(weight)
        h = self._linear("lift", torch.cat([x.expand(b.shape[0], -1, -1), b], 2))
        if self._settings["kind"] == "fno":
            output = self._fourier(h, domain)
        else:
            seen = [encoded[names.index(name)] for name in self._settings["kernel_fields"]]
            output = self._linear("project", self._evolve(h, x, torch.cat(seen, 2) if seen else None, domain))
        return self._decoded(output, domain, shape)

    def _domain(self, fields: dict[str, Tensor], points: Any) -> tuple[dict[str, Any], tuple[int, ...]]:
        """What the library says of the places of the values; remembered, for it takes longer than a small network."""
        place = None if points is None else np.asarray(points, dtype=np.float64)
        shapes = tuple((name, tuple(values.shape[1:])) for name, values in fields.items())
        key = (shapes, None if place is None else place.tobytes())
        if key not in self._domains:
            zeros = {name: np.zeros((1, *shape)) for name, shape in shapes}
            samples = Samples(zeros, points=place) if place is not None else Samples(zeros, **self._box)
            found = self._raw.exported(samples._raw)
            dim = samples.dim
            statistics: dict[str, Any] = {
                name: [(torch.from_numpy(mean), torch.from_numpy(std)) for mean, std in found[name]]
                for name in ("fields", "outputs")
            }
            plain: dict[str, Any] = {
                name: torch.from_numpy(np.asarray(found[name]).astype(np.int64))
                for name in ("targets", "sources", "places")
                if name in found
            }
            real: dict[str, Any] = {
                name: torch.from_numpy(found[name]) for name in ("weights", "transform", "gains") if name in found
            }
            ends = {"ends": torch.from_numpy(found["ends"].reshape(-1, 2 * dim))} if "ends" in found else {}
            nodes = torch.from_numpy(found["points"].reshape(-1, dim))
            self._domains[key] = {**statistics, **plain, **real, **ends, "points": nodes, "shape": samples.shape[1:]}
        domain = self._domains[key]
        return domain, cast(tuple[int, ...], domain["shape"])

    def _tensor(self, name: str) -> Tensor:
        owner = self._at(name)
        return cast(Tensor, getattr(owner, name.rsplit(".", 1)[-1]))

    def _linear(self, name: str, values: Tensor) -> Tensor:
        return nn.functional.linear(values, self._tensor(f"{name}.weight"), self._tensor(f"{name}.bias"))

    def _perceptron(self, name: str, values: Tensor) -> Tensor:
        count = len(cast(nn.Module, self._modules[name])._modules)
        for layer in range(count):
            values = self._linear(f"{name}.{layer}", values)
            values = torch.relu(values) if layer + 1 < count else values
        return values

    def _evolve(self, h: Tensor, x: Tensor, seen: Tensor | None, domain: dict[str, Any]) -> Tensor:
        """NKN: h + dt (∫ k (h(y) - h(x)) dy - R h + c) or more terms of its series; GKN: relu(R h + ∫ k h(y) dy + c)."""
        d, depth = self._settings["width"], int(self.config["depth"])
        targets, sources = domain["targets"].to(h.device), domain["sources"].to(h.device)
        ends, weights = domain["ends"].to(h), domain["weights"].to(h)
        if seen is not None:
            ends = torch.cat([ends.expand(h.shape[0], -1, -1), seen[:, targets], seen[:, sources]], 2)
        kernel = self._perceptron("kernel", ends)
        kernel = kernel.reshape(*kernel.shape[:-1], d, d)
        rest = None
        if self._is_dissipative:
            back = kernel[..., _way_back(targets, sources), :, :]
            mean = (kernel + back) / 2
            if d == 1 and seen is None:
                # Free, with |mean| in its place before h(x): the rest of that belongs to the reaction.
                rest = (mean.abs() - kernel) * weights[:, None, None]
            else:
                kernel = mean.abs() if d == 1 else _sector(mean)
        kernel = kernel * weights[:, None, None]

        def integral(values: Tensor) -> Tensor:
            products = torch.einsum("...eij,nej->nei" if kernel.dim() == 3 else "neij,nej->nei", kernel, values)
            return torch.zeros_like(h).index_add(1, targets, products)

        source = self._tensor("source")
        if self._settings["kind"] == "nkn":
            reaction = self._perceptron("reaction", x).reshape(-1, d, d)
            if self._is_dissipative:
                reaction = reaction**2 + _LEAST_REACTION if d == 1 else _sector(reaction)
            if rest is not None:
                reaction = reaction.index_add(0, targets, rest)
            step = self._settings["time"] / depth

            def slope(h: Tensor) -> Tensor:
                return integral(h[:, sources] - h[:, targets]) - torch.einsum("xij,nxj->nxi", reaction, h)

            for _ in range(depth):
                term = step * (slope(h) + source)
                h = h + term
                for k in range(2, self._degree + 1):
                    term = step / k * slope(term)
                    h = h + term
            return h
        root = self._tensor("root")
        for layer in range(depth):
            h = h @ root.T + integral(h[:, sources]) + source
            h = torch.relu(h) if layer + 1 < depth or self._settings["activate_last"] else h
        return h

    def _fourier(self, h: Tensor, domain: dict[str, Any]) -> Tensor:
        """relu(R h + F⁻¹(K F h) + c), and the head."""
        d, depth = self._settings["width"], int(self.config["depth"])
        gains, places = domain["gains"].to(h), domain["places"].to(h.device)
        transform = domain["transform"].to(h).reshape(len(gains), 2, -1)
        for layer in range(depth):
            matrices = self._tensor(f"spectral.{layer}.weight").reshape(-1, 2, d, d)[places]
            real, imaginary = torch.einsum("kpx,nxi->pnki", transform, h)
            a, b = matrices[:, 0], matrices[:, 1]
            product = "nki,kij->nkj"
            mixed = torch.stack([
                torch.einsum(product, real, a) - torch.einsum(product, imaginary, b),
                torch.einsum(product, real, b) + torch.einsum(product, imaginary, a),
            ])
            back = torch.einsum("kpx,pnkj->nxj", transform, mixed * gains[:, None])
            h = back + self._linear(f"pointwise.{layer}", h)
            h = torch.relu(h) if layer + 1 < depth else h
        return self._perceptron("head", h)

    def _decoded(self, output: Tensor, domain: dict[str, Any], shape: tuple[int, ...]) -> Any:
        found = {}
        columns = [self._components(name) for name in self._outputs]
        parts = torch.split(output, columns, 2)
        for name, part, k, (mean, std) in zip(self._outputs, parts, columns, domain["outputs"], strict=True):
            mean, std = _spread(mean.to(output), k), _spread(std.to(output), k)
            values = part * std + mean if mean.numel() else part
            found[name] = values.reshape(len(output), *shape, *((k,) if k > 1 else ()))
        return next(iter(found.values())) if len(found) == 1 else found


def _way_back(targets: Tensor, sources: Tensor) -> Tensor:
    """The edge from y to x for that from x to y; edges are in the order of x, then of y."""
    nodes = int(targets.max()) + 1
    return torch.searchsorted(targets * nodes + sources, sources * nodes + targets)


def _sector(numbers: Tensor) -> Tensor:
    """L (1 + Ω) Lᵀ: L is the lower triangle, Ω the rest minus its transpose."""
    lower, upper = numbers.tril(), numbers.triu(1)
    one = torch.eye(numbers.shape[-1], dtype=numbers.dtype, device=numbers.device)
    return lower @ (one + upper - upper.mT) @ lower.mT


def _spread(statistics: Tensor, components: int) -> Tensor:
    """Of none, of every component, or of every node and component: beside samples x nodes x components."""
    if statistics.numel() in (0, 1):
        return statistics
    return statistics.reshape(-1, components)


def _normalised(values: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    if not mean.numel():
        return values
    return (values - _spread(mean, values.shape[2])) / _spread(std, values.shape[2])
