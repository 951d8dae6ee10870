"""Nonlocal kernel networks: learn the map from one function to another, at any depth and any resolution.

>>> import nkn
>>> train, test = nkn.problems.poisson(40, 33), nkn.problems.poisson(10, 33, first=40)
>>> model = nkn.NKN(kernel=[32, 32], depths=[1, 2], epochs=60, learning_rate=1e-2, verbose=0)
>>> model.fit(train["f"], train["u"]).score(test["f"], test["u"]) > 0.5
True
>>> finer = nkn.problems.poisson(10, 65, first=40)      # the same functions at another resolution
>>> model.predict(finer["f"]).shape
(10, 65)

`NKN`, `GKN` and `FNO` learn functions from functions, `NKNClassifier`, `CNN`, `MultiscaleCNN`, `NNN` and `PreResNet`
the classes of images; `auto` finds its settings itself. All of them have the manners of scikit-learn, which need not
be there.
"""

from . import problems
from ._auto import Auto, auto
from ._estimator import NotFittedError
from ._functions import FNO, GKN, NKN, Spectrum
from ._images import CNN, NNN, MultiscaleCNN, NKNClassifier, PreResNet
from ._load import from_torch, load
from ._nkn import __version__, num_threads, set_num_threads
from ._samples import Samples

__all__ = [
    "CNN",
    "FNO",
    "GKN",
    "NKN",
    "NNN",
    "Auto",
    "MultiscaleCNN",
    "NKNClassifier",
    "NotFittedError",
    "PreResNet",
    "Samples",
    "Spectrum",
    "__version__",
    "auto",
    "from_torch",
    "load",
    "num_threads",
    "problems",
    "set_num_threads",
]
