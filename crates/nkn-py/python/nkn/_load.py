"""Trained networks from files and from PyTorch."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _nkn
from ._arrays import numbers
from ._estimator import Estimator
from ._functions import FNO, GKN, NKN
from ._images import CLASSES, CNN, NNN, Classifier, MultiscaleCNN, NKNClassifier, PreResNet

FUNCTIONS: dict[str, type[Any]] = {"nkn": NKN, "gkn": GKN, "fno": FNO}
IMAGES: dict[str, type[Any]] = {
    "nkn": NKNClassifier,
    "cnn": CNN,
    "multiscale_cnn": MultiscaleCNN,
    "nnn": NNN,
    "preresnet": PreResNet,
}


def load(path: str | os.PathLike[str]) -> Any:
    """The network of a model file, or of a run's folder: one of Python, of the command or of the library.

    Its settings are those of the network; those of its training are not in the file. The classes of a classifier are
    0 to 9.

    Examples
    --------
    >>> import nkn, os, tempfile
    >>> train = nkn.problems.poisson(4, 9)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "m.safetensors")
    ...     model = nkn.GKN(kernel=[8], epochs=1, verbose=0).fit(train)
    ...     model.save(path)
    ...     again = nkn.load(path)
    >>> again.kernel, again.depth_
    ([8], 1)
    >>> bool((again.predict(train["f"]) == model.predict(train["f"])).all())
    True
    """
    return _of(_nkn.Model.load(os.fspath(path)))


def from_torch(state_dict: Mapping[str, Any], config: Mapping[str, Any]) -> Any:
    """The network with the weights of a PyTorch module.

    Parameters
    ----------
    state_dict : mapping
        Tensors by the names of the model file: ``lift.weight``, ``kernel.0.weight``, … and, where fields are
        normalised, ``normaliser.f.mean``, ``normaliser.f.std``: what a module of `to_torch` has.
    config : mapping
        The configuration of the model file, as ``model.config_`` gives it: ``space``, ``depth``, ``model``, and
        ``training``, the domain of training, if there was one.

    Returns
    -------
    estimator
        A trained `NKN`, `GKN` or `FNO`.
    """
    header = json.dumps({"version": 4, **config})
    tensors = [(name, numbers(name, _detached(tensor))) for name, tensor in state_dict.items()]
    return _of(_nkn.Model.from_tensors(header, tensors))


def _detached(tensor: Any) -> Any:
    """The numbers of a tensor that may have a gradient or lie on another device."""
    return tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else tensor


def _of(model: _nkn.Model) -> Estimator:
    header = json.loads(model.header)
    kinds = FUNCTIONS if "functions" in header["space"] else IMAGES
    known = kinds[header["model"]["kind"]]
    settings = {name: value for name, value in header["model"].items() if name in known._names()}
    estimator: Estimator = known(**settings, depths=[header["depth"]])
    estimator._learned(model, None)
    if isinstance(estimator, Classifier):
        estimator.classes_ = np.arange(CLASSES)
    return estimator
