"""Networks as estimators: what they keep, save, draw and say."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, python, same, small

import nkn
from nkn._settings import settings


def test_every_network_on_functions(poisson: nkn.Samples, tmp_path: Path) -> None:
    for network in (nkn.NKN, nkn.GKN, nkn.FNO):
        settings = {"modes": 3} if network is nkn.FNO else {"kernel": [8]}
        model = network(width=2, epochs=3, verbose=0, **settings).fit(poisson["f"], poisson["u"])
        assert model.predict(poisson["f"]).shape == (16, 17)
        assert model.score(poisson["f"], poisson["u"]) == 1.0 - model.error(poisson)
        model.save(tmp_path / "m.safetensors")
        again = nkn.load(tmp_path / "m.safetensors")
        assert type(again) is network and again.get_params()["width"] == 2
        assert same(again.predict(poisson["f"]), model.predict(poisson["f"]))
        assert "has not been" not in repr(again) and again.n_parameters_ == model.n_parameters_


def test_every_network_on_images(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = np.array(["disc", "square"])[np.arange(24) % 2]
    images = rng.integers(0, 60, (24, 12, 12), dtype=np.uint8)
    images[names == "square", 3:9, 3:9] += 150
    sizes = {"width": 2, "head": 4}
    for network, settings in [
        (nkn.NKNClassifier, {**sizes, "kernel": [4], "reaction": [4]}),
        (nkn.CNN, sizes),
        (nkn.MultiscaleCNN, sizes),
        (nkn.NNN, sizes),
        (nkn.PreResNet, {}),
    ]:
        model = network(epochs=3, batch=8, learning_rate=1e-2, verbose=0, **settings).fit(images, names)
        share = model.predict_proba(images)
        assert share.shape == (24, 2) and np.allclose(share.sum(1), 1.0), network
        assert set(model.predict(images)) <= {"disc", "square"} and 0.0 <= model.score(images, names) <= 1.0
        assert same(pickle.loads(pickle.dumps(model)).predict_proba(images), share)
        model.save(tmp_path / "m")
        assert nkn.load(tmp_path / "m").predict(images).dtype.kind == "i"
    learned = nkn.CNN(width=4, head=8, epochs=30, batch=8, learning_rate=1e-2, verbose=0).fit(images, names)
    assert learned.score(images, names) == 1.0
    nonlocal_one = nkn.NKNClassifier(kernel=[4], reaction=[4], width=2, epochs=1, verbose=0).fit(images, names)
    assert nonlocal_one.spectrum().complete


def keys(config: str) -> set[str]:
    """The keys of the `[model]` and `[train]` tables of a configuration that explains all of them."""
    tables = (ROOT / "configs" / config).read_text().split("[model]")[1]
    found = set(re.findall(r"^(?:# )?(\w+) = ", tables.replace("[train.schedule]\nkind", "schedule"), re.MULTILINE))
    return found - {"kind"}


def test_every_setting_of_a_configuration_is_a_keyword() -> None:
    def names(*networks: type) -> set[str]:
        return {name for network in networks for name in network().get_params()}

    others = {"run", "resume", "verbose"}
    functions, images = names(nkn.NKN, nkn.GKN, nkn.FNO), names(nkn.NKNClassifier, nkn.PreResNet)
    assert functions - others == keys("poisson.toml")
    assert keys("mnist.toml") <= images and images - others <= keys("mnist.toml") | keys("poisson.toml")
    given = settings(nkn.NKN(integrator="rk4", average=0.2, schedule="step", every=5).get_params())
    assert json.loads(given) == {
        "model.integrator": "rk4",
        "train.average": 0.2,
        "train.schedule.kind": "step",
        "train.schedule.every": 5,
    }


def test_history_and_errors(poisson: nkn.Samples) -> None:
    pandas = pytest.importorskip("pandas")
    model = small(record_every=1).fit(poisson, test=nkn.problems.poisson(4, 17, first=16))
    table = pandas.DataFrame(model.history_)
    assert list(table.columns) == ["depth", "epoch", "split", "resolution", "metric", "value"]
    assert len(table[(table.metric == "loss") & (table.depth == 2)]) == 5
    assert {"train", "test"} <= set(pandas.DataFrame(model.errors_).split)


def test_pictures_and_reports(poisson: nkn.Samples, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("agg")
    model = small().fit(poisson)
    assert "<iframe" in model._repr_html_() and "svg" in model._repr_html_()
    assert model.plot() and model.plot(poisson) and model.plot(poisson["f"])
    assert model.report(tmp_path / "report.html") == str(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Training" in page and "Spectrum and stability" in page
    plane = nkn.problems.darcy(3, 9, fine=17)
    assert len(small(radius=0.3, fields=["b"]).fit(plane).plot(plane)) == 6
    again = pickle.loads(pickle.dumps(model))
    assert "<table>" in again._repr_html_() and "NKN" in small()._repr_html_()
    with pytest.raises(ValueError, match="nkn report"):
        again.report(tmp_path / "again.html")


def test_spectrum(model: nkn.NKN, poisson: nkn.Samples) -> None:
    spectrum = model.spectrum()
    assert spectrum.complete and len(spectrum.eigenvalues) == 2 * 17 and spectrum.step == 0.5
    worst = np.abs(1 - spectrum.step * spectrum.eigenvalues).max()
    assert spectrum.amplification == pytest.approx(worst)
    assert np.allclose(model.spectrum(poisson["f"]).eigenvalues, spectrum.eigenvalues)
    assert spectrum.certified_from is None
    safe = small(stability="dissipative").fit(poisson)
    assert safe.spectrum().is_stable or safe.spectrum().certified_from > safe.depth_


def test_other_depths(model: nkn.NKN, poisson: nkn.Samples) -> None:
    f = poisson["f"]
    assert same(model.predict(f, depth=2), model.predict(f)) and not same(model.predict(f, depth=1), model.predict(f))
    limit = model.predict(f, depth="infinite")
    assert np.allclose(model.predict(f, depth=512), limit, rtol=1e-2, atol=1e-2 * np.abs(limit).max())
    with pytest.raises(ValueError, match="a positive number, or infinite"):
        model.predict(f, depth=0)


def test_auto_in_a_folder(tmp_path: Path, poisson: nkn.Samples) -> None:
    model = nkn.auto(minutes=0.02, kind="nkn", run=tmp_path / "run", verbose=0).fit(poisson["f"], poisson["u"])
    assert (tmp_path / "run/config.toml").is_file() and len(model.choices_["why"]) > 3
    again = nkn.auto(minutes=0.02, kind="nkn", run=tmp_path / "run", resume=True, verbose=0)
    again.fit(poisson["f"], poisson["u"])
    assert same(again.predict(poisson["f"]), model.predict(poisson["f"]))
    with pytest.raises(ValueError, match="resume=True"):
        nkn.auto(minutes=0.02, run=tmp_path / "run", verbose=0).fit(poisson["f"], poisson["u"])
    assert nkn.load(tmp_path / "run").depth_ == model.depth_


def test_progress(poisson: nkn.Samples, capfd: pytest.CaptureFixture[str]) -> None:
    small().fit(poisson)
    assert capfd.readouterr() == ("", "")
    small(verbose=1, epochs=40).fit(poisson)
    assert "L = 2" in capfd.readouterr().err
    # Without tqdm plain lines, and none for what is short.
    code = "import sys; sys.modules['tqdm'] = None; sys.modules['tqdm.auto'] = None\n"
    code += "import nkn; nkn._progress.INTERVAL = 0.0\n"
    code += "nkn.NKN(kernel=[8], epochs=300).fit(nkn.problems.poisson(50, 33))"
    assert "epoch" in python(code).stderr


def test_versions_are_in_step() -> None:
    manifest = (ROOT / "Cargo.toml").read_text()
    assert f'version = "{nkn.__version__}"' in manifest


def test_importing_brings_little() -> None:
    # What takes time is what is imported: benchmarks/python_overhead.py --start measures it.
    code = "import numpy, sys; before = set(sys.modules); import nkn; print(*(set(sys.modules) - before))"
    modules = {name.split(".")[0] for name in python(code).stdout.split()}
    assert modules <= {"__future__", "_json", "copy", "dataclasses", "json", "nkn", "numpy"}, modules
