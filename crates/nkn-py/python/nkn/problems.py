"""The paper's problems: samples that are generated, and sets of images."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _nkn
from ._arrays import numbers
from ._samples import Samples

__all__ = ["cifar10", "darcy", "fashion_mnist", "mnist", "poisson", "solve_darcy"]

#: Images and classes to train with, images and classes to test with.
Sets = tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], npt.NDArray[np.uint8], npt.NDArray[np.uint8]]


def poisson(count: int = 500, points: int = 101, *, seed: int = 0, first: int = 0) -> Samples:
    """Loads f and solutions u of -u'' = f on [0, 1], u = 0 at both ends.

    Parameters
    ----------
    count : int
        The number of samples; sample i of a seed is the same function at every resolution.
    points : int
        Nodes of the grid, both ends included.
    seed, first : int
        Which random functions, and the number of the first.

    Examples
    --------
    >>> import nkn
    >>> nkn.problems.poisson(3, 17)
    Samples(3 samples, 17 nodes, inputs: f, outputs: u)
    """
    _check(count=count, points=points, seed=seed, first=first)
    return Samples._of(_nkn.poisson(count, points, seed, first))


def darcy(
    count: int = 100,
    resolution: int | None = None,
    *,
    fine: int = 241,
    smoothing: float | None = None,
    flux: bool = False,
    seed: int = 0,
    first: int = 0,
) -> Samples:
    """Coefficients b and solutions u of -div(b grad u) = 1 on the unit square, with b smoothed and its gradient.

    Parameters
    ----------
    count : int
        The number of samples.
    resolution : int, optional
        Nodes along a side, every n-th of the fine grid; left out: all of them.
    fine : int
        Nodes along a side of the grid on which the equation is solved.
    smoothing : float, optional
        How far b is smoothed, in cells of the fine grid [the square root of 5].
    flux : bool
        Whether the flux v = -b grad u, a vector, is an output too.
    seed, first : int
        Which random coefficients, and the number of the first.

    Examples
    --------
    >>> import nkn
    >>> nkn.problems.darcy(2, 11, fine=41).shape
    (2, 11, 11)
    """
    _check(count=count, fine=fine, seed=seed, first=first)
    samples = Samples._of(_nkn.darcy(count, fine, seed, first, smoothing, flux))
    return samples if resolution is None else samples.coarsen(resolution)


def solve_darcy(b: npt.ArrayLike, *, smoothing: float | None = None, flux: bool = False) -> Samples:
    """The solutions for coefficients of your own, samples x side x side and positive; the rest as in `darcy`.

    Examples
    --------
    >>> import numpy as np, nkn
    >>> float(nkn.problems.solve_darcy(np.ones((1, 33, 33)))["u"].max().round(3))
    0.074
    """
    values = numbers("b", b)
    if values.ndim != 3:
        raise ValueError(f"b: expected samples x side x side, got shape {values.shape}\n  hint: the samples come first")
    return Samples._of(_nkn.solve_darcy(values.astype(np.float64, copy=False), smoothing, flux))


def _check(**numbers: int) -> None:
    """Refuse what is below zero, and no samples."""
    for name, value in numbers.items():
        least = int(name == "count")
        if value < least:
            raise ValueError(f"{name}: expected {least} or more, got {value}\n  hint: give a whole number")


def _images(name: str, folder: str | os.PathLike[str] | None) -> Sets:
    def part(pixels: Any, classes: Any, channels: int, side: int) -> tuple[Any, Any]:
        images = pixels.reshape(-1, channels, side, side)
        return (images[:, 0] if channels == 1 else np.moveaxis(images, 1, -1)), classes

    training, testing = _nkn.image_set(name, os.path.join("data", name) if folder is None else os.fspath(folder))
    return (*part(*training), *part(*testing))


def mnist(folder: str | os.PathLike[str] | None = None) -> Sets:
    """Handwritten digits from a folder [data/mnist], where ``nkn data mnist`` puts them."""
    return _images("mnist", folder)


def fashion_mnist(folder: str | os.PathLike[str] | None = None) -> Sets:
    """Pieces of clothing from a folder [data/fashion-mnist], where ``nkn data fashion-mnist`` puts them."""
    return _images("fashion-mnist", folder)


def cifar10(folder: str | os.PathLike[str] | None = None) -> Sets:
    """Animals and vehicles from a folder [data/cifar10], where ``nkn data cifar10`` puts them."""
    return _images("cifar10", folder)
