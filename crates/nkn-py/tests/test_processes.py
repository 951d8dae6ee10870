"""Forks, Ctrl-C, and the command inside the package."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import python

import nkn

FORK = """
import multiprocessing, sys, nkn
def fit(seed):
    return nkn.NKN(kernel=[8], epochs=3, seed=seed, verbose=0).fit(nkn.problems.poisson(8, 9)).model_.to_bytes()
if __name__ == "__main__":
    here = [fit(seed) for seed in range(4)]      # the parent has its threads before it forks
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(fit, range(4)) == here
    assert fit(0) == here[0]
    print("same")
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes(method: str, tmp_path: Path) -> None:
    if method not in __import__("multiprocessing").get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    script = tmp_path / "script.py"
    script.write_text(FORK)
    done = subprocess.run([sys.executable, str(script), method], capture_output=True, text=True, timeout=120)
    assert done.stdout == "same\n", done.stderr


LONG = """
import signal, sys, nkn
signal.signal(signal.SIGINT, signal.default_int_handler)      # a shell's background jobs begin with it ignored
run = sys.argv[1] or None
try:
    print("begun", flush=True)
    nkn.NKN(width=8, kernel=[64, 64], epochs=100000, batch=10, verbose=0, run=run).fit(nkn.problems.poisson(200, 65))
except KeyboardInterrupt:
    print("interrupted")
    model = nkn.NKN(kernel=[8], epochs=1, verbose=0).fit(nkn.problems.poisson(4, 9))      # the interpreter lives
    print(model.depth_)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent another way")
@pytest.mark.parametrize("has_run", [True, False])
def test_ctrl_c(has_run: bool, tmp_path: Path) -> None:
    run = tmp_path / "run"
    child = subprocess.Popen(
        [sys.executable, "-c", LONG, str(run) if has_run else ""], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None and child.stdout.readline() == "begun\n"
        time.sleep(3)
        begun = time.monotonic()
        child.send_signal(signal.SIGINT)
        output = child.communicate(timeout=60)[0]
    finally:
        child.kill()
    assert output == "interrupted\n1\n"
    assert time.monotonic() - begun < 10
    assert (run / "checkpoint/state.safetensors").is_file() == has_run
    if has_run:
        with pytest.raises(ValueError, match="resume=True"):
            nkn.NKN(run=run, verbose=0).fit(nkn.problems.poisson(4, 9))


def test_the_command(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "nkn"]
    done = subprocess.run([*call, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"nkn {nkn.__version__}\n")
    data = tmp_path / "f.npz"
    subprocess.run([*call, "data", "poisson", "--samples", "3", "--points", "9", "--out", str(data)], check=True)
    assert nkn.Samples.read(data).shape == (3, 9)
    wrong = subprocess.run([*call, "eval", str(tmp_path)], capture_output=True, text=True)
    assert wrong.returncode == 2 and "not the folder of a run" in wrong.stderr
    assert subprocess.run([*call, "fly"], capture_output=True).returncode == 2


def test_importing_does_not_touch_signals() -> None:
    code = "import signal; a = signal.getsignal(2); import nkn; assert signal.getsignal(2) is a; print('well')"
    assert python(code).stdout == "well\n"
