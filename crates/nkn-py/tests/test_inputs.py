"""Whatever holds numbers goes in; what cannot be used is refused with what to do, and the interpreter lives."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from conftest import same, small

import nkn


class OnlyArray:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self.values


class OnlyDLPack:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        np.ndarray.tolist,
        OnlyArray,
        OnlyDLPack,
        lambda f: np.repeat(f, 2, axis=0)[::2],
        lambda f: f[::-1][::-1],
        lambda f: np.lib.stride_tricks.as_strided(f, writeable=False),
    ],
)
def test_any_array_like(form, model: nkn.NKN, poisson: nkn.Samples) -> None:
    found = model.predict(form(poisson["f"]))
    assert same(found, model.predict(poisson["f"])) and found.dtype == np.float64
    assert same(nkn.Samples(form(poisson["f"]))["f"], poisson["f"])


def test_single_precision_and_integers(model: nkn.NKN, poisson: nkn.Samples) -> None:
    single = poisson["f"].astype(np.float32)
    assert same(model.predict(single), model.predict(single.astype(np.float64)))
    assert same(nkn.Samples(np.arange(6).reshape(2, 3))["f"], np.arange(6.0).reshape(2, 3))


def test_places_and_shapes() -> None:
    rng = np.random.default_rng(0)
    xy = rng.random((30, 2))
    X = {"b": rng.random((6, 30)), "q": rng.random((6, 30, 2))}
    y = {"p": rng.random((6, 30)) + 1, "v": rng.random((6, 30, 2)) + 1}
    model = small(depths=[1], normalise_input="scalar").fit(X, y, points=xy)
    found = model.predict({name: value[:2, :20] for name, value in X.items()}, points=xy[:20])
    assert found["p"].shape == (2, 20) and found["v"].shape == (2, 20, 2)
    # Every sample on points of its own.
    sizes = [20, 25, 30]
    points = [xy[:size] for size in sizes]
    parts = {name: [value[i, :size] for i, size in enumerate(sizes)] for name, value in X.items()}
    each = model.predict(parts, points=points)
    for i, size in enumerate(sizes):
        alone = model.predict({name: value[i : i + 1, :size] for name, value in X.items()}, points=points[i])
        assert np.allclose(each["p"][i], alone["p"][0], rtol=1e-4, atol=1e-5) and each["v"][i].shape == (size, 2)
    samples = nkn.Samples(parts, points=points)
    again = pickle.loads(pickle.dumps(samples))
    assert repr(again) == repr(samples) and all(same(a, b) for a, b in zip(again["q"], samples["q"], strict=True))
    assert [part.shape for part in samples.points] == [(size, 2) for size in sizes]


def test_periodic_axes_of_the_training_hold_for_points(poisson: nkn.Samples) -> None:
    """Where the network closes a circle, points near one end have neighbours at the other, however they are given."""
    f, u = poisson["f"][:, :-1], poisson["u"][:, :-1]
    model = nkn.NKN(width=2, kernel=[8], radius=0.3, epochs=2, verbose=0)
    model.fit(f, u, lower=[0.0], upper=[2.0], periodic=[True])
    points = np.arange(16)[:, None] / 8.0
    expected = model.predict(f, points=points, lower=[0.0], upper=[2.0], periodic=[True])
    assert same(model.predict(f, points=points), expected)
    samples = nkn.Samples(f, lower=[0.0], upper=[2.0])
    assert same(model.predict(samples), model.predict(f))


def test_the_box_of_the_training(poisson: nkn.Samples) -> None:
    model = small(depths=[1]).fit(poisson["f"], poisson["u"], lower=[-1.0], upper=[3.0])
    grid = np.linspace(-1.0, 3.0, 17)
    expected = model.predict(nkn.Samples(poisson["f"], lower=[-1.0], upper=[3.0]))
    assert same(model.predict(poisson["f"]), expected)
    assert nkn.Samples(poisson["f"], lower=[-1.0], upper=[3.0]).points[:, 0] == pytest.approx(grid)


f = np.ones((3, 9))
nan = f.copy()
nan[1, 4] = np.nan

REFUSED = {
    "shapes": (lambda: small().fit(f, np.ones((3, 8))), ValueError, ["samples x 8, got 3 x 9", "hint"]),
    "samples": (lambda: small().fit(f, np.ones((2, 9))), ValueError, ["2", "hint"]),
    "one axis": (lambda: small().fit(np.ones(9), np.ones(9)), ValueError, ["shape 9", "N x s"]),
    "objects": (lambda: small().fit(np.array([[object()]]), f), ValueError, ["object", "dtype=float"]),
    "words": (lambda: small().fit([["a", "b"]], f), ValueError, ["real numbers", "hint"]),
    "ragged": (lambda: small().fit([[1.0], [1.0, 2.0]], f), ValueError, ["one shape", "points=["]),
    "complex": (lambda: small().fit(f * 1j, f), ValueError, ["complex128", "hint"]),
    "nan": (lambda: small().fit(nan, f), ValueError, ["NaN", "sample 1, node 4", "repair or remove"]),
    "masked": (lambda: small().fit(np.ma.masked_invalid(nan), f), ValueError, ["sample 1, node 4"]),
    "infinite output": (lambda: small().fit(f, f * np.inf), ValueError, ["inf", "sample 0, node 0"]),
    "empty": (lambda: small().fit(np.ones((0, 9)), np.ones((0, 9))), ValueError, ["at least one sample"]),
    "points": (lambda: small().fit(f, f, points=np.ones((8, 2))), ValueError, ["points", "8 x 2", "9 x dim"]),
    "list of points": (
        lambda: small().fit([np.ones(3)], [np.ones(2)], points=[np.ones((3, 2))]),
        ValueError,
        ["u", "[3]", "[2]", "sample by sample"],
    ),
    "a word for a number": (lambda: small(width="many").fit(f, f), ValueError, ["model.width", "many", "hint"]),
    "a list for a number": (lambda: small(radius=[1, 2]).fit(f, f), ValueError, ["model.radius"]),
    "an object for a number": (lambda: small(seed={}).fit(f, f), ValueError, ["train.seed", "dict"]),
    "not finite": (lambda: small(learning_rate=np.nan).fit(f, f), ValueError, ["train.learning_rate", "finite"]),
    "negative": (lambda: small(width=-3).fit(f, f), ValueError, ["model.width"]),
    "impossible width": (lambda: small(width=10**8).fit(f, f), ValueError, ["model.width"]),
    "a word that is none": (lambda: small(optimiser="sgd").fit(f, f), ValueError, ["train.optimiser", "adam"]),
    "unknown keyword": (lambda: nkn.NKN(widht=3), TypeError, ["'widht'", "did you mean 'width'"]),
    "unknown parameter": (lambda: small().set_params(widht=3), ValueError, ["'widht'", "width"]),
    "unknown place": (lambda: small().fit(f, f, point=1), TypeError, ["'point'", "points"]),
    "no input": (lambda: small().fit(None, f), ValueError, ["X: expected functions", "hint"]),
    "no output": (lambda: small().fit(f), ValueError, ["fit(X, y)"]),
    "a taken name": (lambda: nkn.Samples({"points": f}), ValueError, ["keyword, points="]),
    "before fit": (lambda: small().predict(f), ValueError, ["call fit first"]),
    "before fit too": (lambda: small().save("m"), AttributeError, ["call fit first"]),
    "not there": (lambda: nkn.load("/nowhere/m.safetensors"), FileNotFoundError, ["/nowhere", "spelling"]),
    "not a model": (lambda: nkn.load(__file__), ValueError, ["not a readable safetensors file", "hint"]),
    "not a folder": (lambda: small(run="/proc/nkn").fit(f, f), OSError, ["/proc/nkn"]),
    "no samples": (lambda: nkn.problems.poisson(0), ValueError, ["count", "1 or more"]),
    "a negative seed": (lambda: nkn.problems.darcy(1, seed=-1), ValueError, ["seed", "0 or more", "hint"]),
    "minutes": (lambda: nkn.auto(minutes=-1, verbose=0).fit(f, f), ValueError, ["minutes", "positive"]),
    "a word for minutes": (lambda: nkn.auto(minutes="x", verbose=0).fit(f, f), ValueError, ["minutes", "a number", "'x'"]),
    "kind": (lambda: nkn.auto(kind="cnn", verbose=0).fit(f, f), ValueError, ["nkn, gkn, fno or auto"]),
    "pixels": (lambda: nkn.CNN(verbose=0).fit(np.ones((2, 8, 7)), [0, 1]), ValueError, ["square images"]),
    "fractions": (lambda: nkn.CNN(verbose=0).fit(np.full((2, 8, 8), 0.5), [0, 1]), ValueError, ["0 to 255", "255 *"]),
    "classes": (lambda: nkn.CNN(verbose=0).fit(np.zeros((11, 8, 8)), range(11)), ValueError, ["at most 10 classes"]),
    "labels": (lambda: nkn.CNN(verbose=0).fit(np.zeros((2, 8, 8)), [1]), ValueError, ["each of the 2 images"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused(case: str) -> None:
    wrong, kind, words = REFUSED[case]
    with pytest.raises(kind) as caught:
        wrong()
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_asking_a_trained_network_wrongly(model: nkn.NKN, poisson: nkn.Samples) -> None:
    for wrong, words in [
        (lambda: model.predict(np.ones((2, 5, 5))), ["components", "expected 1, got 5"]),
        (lambda: model.predict(nkn.problems.darcy(1, 5, fine=9)), ["dimension"]),
        (lambda: model.predict({"g": poisson["f"]}), ["a field named"]),
        (lambda: model.predict(poisson["f"], quadrature="simpson"), ["quadrature"]),
        (lambda: model.predict(poisson["f"], memory_gib="all"), ["memory_gib", "a number", "'all'"]),
        (lambda: model.error(poisson["f"]), ["y:"]),
        (lambda: model.predict(poisson, points=[[0.0]]), ["samples say this themselves"]),
        (lambda: nkn.load(__file__).predict(1), ["safetensors"]),
    ]:
        with pytest.raises(ValueError) as caught:
            wrong()
        assert all(word in str(caught.value) for word in words), str(caught.value)


def test_damaged_models(model: nkn.NKN, tmp_path: Path) -> None:
    data = model.model_.to_bytes()
    for length in (0, 7, 100, len(data) - 1):
        (tmp_path / "m").write_bytes(data[:length])
        with pytest.raises(ValueError):
            nkn.load(tmp_path / "m")
