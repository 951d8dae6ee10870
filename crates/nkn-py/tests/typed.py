"""A user's program, for mypy --strict."""

import numpy as np
import numpy.typing as npt

import nkn


def learn(f: npt.NDArray[np.float64], u: npt.NDArray[np.float64]) -> nkn.NKN:
    model = nkn.NKN(width=16, radius=0.1, depths=[1, 2, 4], epochs=500, learning_rate=[1e-2, 1e-2, 5e-3])
    return model.fit(f, u)


def ask(model: nkn.NKN, f: npt.NDArray[np.float64], u: npt.NDArray[np.float64]) -> float:
    spectrum: nkn.Spectrum = model.spectrum()
    rows: int = len(model.history_["value"])
    return model.score(f, u) + spectrum.amplification + rows


def classify(X: npt.NDArray[np.uint8], y: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    return nkn.CNN(width=4).fit(X, y).predict_proba(X)


def search(samples: nkn.Samples) -> list[str]:
    why: list[str] = nkn.auto(minutes=1.0).fit(samples).choices_["why"]
    return why
