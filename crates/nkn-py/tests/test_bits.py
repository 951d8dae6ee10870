"""The same bits from Python as from the command: whole, killed and resumed, in threads, after a fork."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import ROOT, same, small

import nkn

#: The settings of configs/quickstart.toml.
QUICKSTART = dict(
    kernel=[128, 128],
    depths=[1, 2, 4],
    optimiser="soap",
    learning_rate=[1e-2, 1e-2, 7e-3],
    betas=[0.95, 0.95],
    evaluate_every=20,
    schedule="cosine",
    warm_up=20,
    fields=["f"],
    verbose=0,
)
#: Fewer epochs than there, so that the test takes seconds.
EPOCHS = [6, 5, 4]


@pytest.fixture(scope="module")
def run_of_command(command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("command") / "run"
    config = ROOT / "configs/quickstart.toml"
    call = [command, "train", str(config), "--out", str(run), "--set", f"train.epochs={EPOCHS}"]
    subprocess.run(call, check=True, capture_output=True)
    return run


@pytest.fixture(scope="module")
def quickstart() -> tuple[nkn.Samples, nkn.Samples]:
    return nkn.problems.poisson(500), nkn.problems.poisson(100, first=500)


def test_fit_gives_the_commands_file(run_of_command: Path, quickstart, tmp_path: Path) -> None:
    train, test = quickstart
    model = nkn.NKN(**QUICKSTART, epochs=EPOCHS).fit(train["f"], train["u"], test=(test["f"], test["u"]))
    model.save(tmp_path / "m.safetensors")
    expected = (run_of_command / "model.safetensors").read_bytes()
    assert (tmp_path / "m.safetensors").read_bytes() == expected
    # What the command has written down is what Python has heard.
    rows = (run_of_command / "metrics.csv").read_text().splitlines()[1:]
    assert [float(row.rsplit(",", 1)[1]) for row in rows] == model.history_["value"]
    assert same(nkn.load(run_of_command).predict(test["f"]), model.predict(test["f"]))


KILLED = """
import sys, nkn
train = nkn.problems.poisson(500)
settings = eval(sys.argv[2])
nkn.NKN(**settings, run=sys.argv[1], resume=True, checkpoint_seconds=0.0).fit(train)
"""


def test_killed_and_resumed_gives_the_same_bits(quickstart, tmp_path: Path) -> None:
    train, _ = quickstart
    settings = {**QUICKSTART, "epochs": [8, 8, 8]}
    whole = nkn.NKN(**settings).fit(train)
    run = tmp_path / "run"
    kills = 0
    while True:
        child = subprocess.Popen([sys.executable, "-c", KILLED, str(run), repr(settings)])
        checkpoint = run / "checkpoint/state.safetensors"
        before = checkpoint.stat().st_mtime_ns if checkpoint.is_file() else 0
        while child.poll() is None and kills < 3:
            if checkpoint.is_file() and checkpoint.stat().st_mtime_ns > before:
                time.sleep(0.02 * kills)
                child.send_signal(signal.SIGKILL)
            time.sleep(0.01)
        if child.wait() == 0:
            break
        kills += 1
    assert kills == 3
    resumed = nkn.NKN(**settings, run=run, resume=True, checkpoint_seconds=0.0).fit(train)
    assert resumed.model_.to_bytes() == whole.model_.to_bytes()
    assert resumed.history_ == whole.history_


def test_two_threads_at_once(poisson: nkn.Samples) -> None:
    alone = [small(seed=seed, epochs=60).fit(poisson).model_.to_bytes() for seed in range(2)]
    together: list[bytes] = [b"", b""]

    def fit(seed: int) -> None:
        together[seed] = small(seed=seed, epochs=60).fit(poisson).model_.to_bytes()

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in range(2)]
    [thread.start() for thread in threads]
    [thread.join(120) for thread in threads]
    assert together == alone and alone[0] != alone[1]


def test_the_number_of_threads_does_not_matter(poisson: nkn.Samples) -> None:
    usual = nkn.num_threads()
    found = []
    for count in (1, 3):
        nkn.set_num_threads(count)
        assert nkn.num_threads() == count
        found.append(small().fit(poisson).model_.to_bytes())
    nkn.set_num_threads(None)
    assert found[0] == found[1] and nkn.num_threads() == usual
    for wrong in (0, -1, 10**6):
        with pytest.raises(ValueError, match="expected 1 to 4096"):
            nkn.set_num_threads(wrong)


def test_start_from(poisson: nkn.Samples) -> None:
    first = small(depths=[1]).fit(poisson)
    second = small(depths=[1], epochs=1).fit(poisson, start_from=first)
    assert second.error(poisson) <= first.error(poisson)
