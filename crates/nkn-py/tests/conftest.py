"""What the tests share: a small problem, and the command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nkn

#: The workspace.
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def poisson() -> nkn.Samples:
    return nkn.problems.poisson(16, 17)


@pytest.fixture(scope="session")
def model(poisson: nkn.Samples) -> nkn.NKN:
    return small().fit(poisson["f"], poisson["u"])


def small(**settings: object) -> nkn.NKN:
    """A network that is trained in no time."""
    usual = {"width": 2, "kernel": [8], "epochs": 5, "depths": [1, 2], "verbose": 0}
    return nkn.NKN(**{**usual, **settings})


@pytest.fixture(scope="session")
def command() -> str:
    """The program, which the tests compare with."""
    found = os.environ.get("NKN_COMMAND") or shutil.which("nkn")
    if found is None or not Path(found).is_file():
        pytest.skip("the command nkn is not built: cargo build --release --workspace, NKN_COMMAND=target/release/nkn")
    return found


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs code in an interpreter of its own: it must come to an end."""
    call = [sys.executable, "-c", code, *arguments]
    return subprocess.run(call, capture_output=True, text=True, timeout=120)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """To the bit."""
    return a.shape == b.shape and bool((a == b).all())
