"""The same network in PyTorch: outputs, gradients by the inputs, and the way back."""

from __future__ import annotations

import numpy as np
import pytest

import nkn

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

POISSON = nkn.problems.poisson(12, 17)
DARCY = nkn.problems.darcy(6, 9, fine=33)
RANDOM = np.random.default_rng(0)
POINTS = RANDOM.random((30, 2))
CLOUD = {"q": RANDOM.random((5, 30, 2)), "c": RANDOM.random((5, 30))}
USUAL = {"epochs": 15, "learning_rate": 1e-2, "verbose": 0}
ON_POINTS = {"v": CLOUD["q"] + 1.0, "w": CLOUD["c"] + 0.5}

CASES = {
    "nkn": (nkn.NKN(width=3, kernel=[16], depths=[1, 3], **USUAL), POISSON["f"], POISSON["u"], {}),
    "gkn": (
        nkn.GKN(width=8, kernel=[16], depths=[2], radius=0.3, normalise_input="scalar", activate_last=False, **USUAL),
        POISSON["f"],
        POISSON["u"],
        {},
    ),
    "fno": (
        nkn.FNO(width=6, modes=4, head=8, depths=[3], normalise_input="scalar", **USUAL),
        POISSON["f"],
        POISSON["u"],
        {},
    ),
    "periodic": (
        nkn.NKN(width=2, kernel=[8], radius=0.2, depths=[2], **USUAL),
        POISSON["f"][:, :-1] / 100.0,
        POISSON["u"][:, :-1],
        {"lower": [0.0], "upper": [2.0], "periodic": [True]},
    ),
    "dissipative": (
        nkn.NKN(width=3, kernel=[16], depths=[2], radius=0.3, stability="dissipative", integrator="heun", **USUAL),
        POISSON["f"],
        POISSON["u"],
        {},
    ),
    "dissipative, one feature": (
        nkn.NKN(width=1, kernel=[16], depths=[3], stability="dissipative", **USUAL),
        POISSON["f"],
        POISSON["u"],
        {},
    ),
    "dissipative, one feature, darcy": (
        nkn.NKN(width=1, kernel=[16], kernel_fields=["b"], radius=0.3, depths=[2], stability="dissipative", **USUAL),
        {name: DARCY[name] for name in DARCY.inputs},
        DARCY["u"],
        {},
    ),
    "dissipative, darcy": (
        nkn.NKN(width=2, kernel=[16], kernel_fields=["b"], radius=0.3, depths=[2], stability="dissipative",
                integrator="rk4", normalise_input="scalar", **USUAL),
        {name: DARCY[name] for name in DARCY.inputs},
        DARCY["u"],
        {},
    ),
    "nkn, darcy": (
        nkn.NKN(width=3, kernel=[16], kernel_fields=["b"], radius=0.3, depths=[2], normalise_input="scalar",
                normalise_output="scalar", **USUAL),
        {name: DARCY[name] for name in DARCY.inputs},
        DARCY["u"],
        {},
    ),
    "fno, darcy": (
        nkn.FNO(width=4, modes=3, head=8, depths=[2], normalise_input="pointwise", normalise_output="pointwise",
                **USUAL),
        {"b": DARCY["b"]},
        DARCY["u"],
        {},
    ),
    "points": (
        nkn.NKN(width=3, kernel=[16], kernel_fields=["q"], neighbours=8, depths=[2], normalise_input="scalar",
                normalise_output="pointwise", **USUAL),
        CLOUD,
        ON_POINTS,
        {"points": POINTS},
    ),
}  # fmt: skip


def fitted(case: str):
    network, X, y, places = CASES[case]
    if not hasattr(network, "model_"):
        network.fit(X, y, **places)
    fields = X if isinstance(X, dict) else {"f": X}
    return network, fields, {name: value for name, value in places.items() if name == "points"}


def together(found) -> np.ndarray:
    """One output, or several beside each other."""
    parts = found.values() if isinstance(found, dict) else [found]
    parts = [part.detach().numpy() if hasattr(part, "detach") else part for part in parts]
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() <= 1e-5 * np.abs(b).max()) and bool(np.abs(b).max() > 0)


@pytest.mark.parametrize("case", CASES)
def test_outputs(case: str) -> None:
    model, fields, places = fitted(case)
    module = model.to_torch()
    tensors = {name: torch.tensor(value) for name, value in fields.items()}
    assert close(together(module(tensors, **places)), together(model.predict(fields, **places)))
    double = model.to_torch().double()
    exact = together(model.predict(fields, double=True, **places))
    assert np.abs(together(double(tensors, **places)) - exact).max() <= 1e-9 * np.abs(exact).max()


def test_another_resolution() -> None:
    model, _, _ = fitted("fno")
    finer = nkn.problems.poisson(3, 33)["f"]
    assert close(together(model.to_torch()(torch.tensor(finer))), model.predict(finer))


@pytest.mark.parametrize("case", CASES)
def test_gradients_by_the_inputs(case: str) -> None:
    """The derivative of a weighted sum of the outputs along a direction, against differences of predictions."""
    model, fields, places = fitted(case)
    module = model.to_torch().double()
    one = {name: value[:1] for name, value in fields.items()}
    weights = np.random.default_rng(1).standard_normal(together(model.predict(one, **places)).shape)
    direction = {name: np.random.default_rng(2).standard_normal(value.shape) for name, value in one.items()}
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in one.items()}
    found = module(tensors, **places)
    parts = found.values() if isinstance(found, dict) else [found]
    flat = torch.cat([part.reshape(1, -1) for part in parts], dim=1)
    (flat * torch.tensor(weights)).sum().backward()
    terms = [(tensors[name].grad * torch.tensor(direction[name])).ravel() for name in one]
    slope, size = float(torch.cat(terms).sum()), float(torch.cat(terms).abs().sum())

    def value(step: float) -> float:
        moved = {name: one[name] + step * direction[name] for name in one}
        return float((together(model.predict(moved, double=True, **places)) * weights).sum())

    step = 1e-6
    expected = (value(step) - value(-step)) / (2 * step)
    assert abs(slope - expected) <= 1e-5 * size and slope != 0.0


@pytest.mark.parametrize("case", CASES)
def test_the_way_back(case: str) -> None:
    model, fields, places = fitted(case)
    module = model.to_torch()
    assert nkn.from_torch(module.state_dict(), module.config).model_.to_bytes() == model.model_.to_bytes()
    # Trained on in PyTorch.
    tensors = {name: torch.tensor(value) for name, value in fields.items()}
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-2)
    for _ in range(2):
        optimiser.zero_grad()
        found = module(tensors, **places)
        sum((part**2).mean() for part in (found.values() if isinstance(found, dict) else [found])).backward()
        optimiser.step()
    again = nkn.from_torch(module.state_dict(), module.config)
    assert close(together(again.predict(fields, **places)), together(module(tensors, **places)))
    assert again.model_.to_bytes() != model.model_.to_bytes()


def test_what_does_not_fit_is_refused() -> None:
    model, _, _ = fitted("nkn")
    state = dict(model.to_torch().state_dict())
    del state["lift.weight"]
    with pytest.raises(ValueError, match="lift.weight"):
        nkn.from_torch(state, model.config_)
    solved = nkn.NKN(kernel=[4], epochs=1, integrator="implicit", verbose=0).fit(POISSON)
    with pytest.raises(ValueError, match="expected one of the integrators euler, heun, rk4, got implicit"):
        solved.to_torch()
    with pytest.raises(ValueError, match="header"):
        nkn.from_torch({}, {"depth": 1})
