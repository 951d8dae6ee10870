"""Samples of functions: what networks learn from and answer about."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from . import _nkn
from ._arrays import numbers

#: The values of a function: an array, or a list of arrays where every sample has its own points.
Values = Any
#: What a function of several samples comes back as.
Found = Union[npt.NDArray[np.float64], list[npt.NDArray[np.float64]]]
#: The keywords that say where values are.
PLACES = ("points", "offsets", "weights", "mask", "measure", "lower", "upper", "periodic")


class Samples:
    """Functions sampled at the same nodes: inputs, and outputs where there is something to learn or to compare with.

    Parameters
    ----------
    inputs : array or dict of arrays
        Samples first, then the nodes of a grid (n x s, n x s x s, …) or the points (n x M), then the components of a
        vector. An array alone is called ``f``.
    outputs : array or dict of arrays, optional
        The same of the outputs. An array alone is called ``u``.
    points : array or list of arrays, optional
        M x dim; n x M x dim, or a list of arrays M_i x dim, where every sample has its own. Without points the values
        are on a regular grid.
    offsets : array, optional
        Where stacked samples begin: points and values are then those of all samples, one after the other.
    weights : array, optional
        The length, area or volume that each point stands for.
    mask : array, optional
        0 where a node does not exist.
    measure : float, optional
        The measure of the domain that the points fill.
    lower, upper : sequence of float, optional
        The corners of the box: of a grid the unit box if left out.
    periodic : sequence of bool, optional
        Which axes are periodic; a grid has no nodes at the upper end of such an axis.

    Examples
    --------
    >>> import numpy as np, nkn
    >>> rng = np.random.default_rng(0)
    >>> xy = rng.random((30, 2))
    >>> samples = nkn.Samples({"b": rng.random((5, 30)), "q": rng.random((5, 30, 2))}, rng.random((5, 30)), points=xy)
    >>> samples
    Samples(5 samples, 30 points in 2 dimensions, inputs: b, q (2 components), outputs: u)
    >>> samples["q"].shape, samples[:2].count
    ((5, 30, 2), 2)
    """

    _raw: _nkn.Samples

    def __init__(
        self,
        inputs: Values | Mapping[str, Values],
        outputs: Values | Mapping[str, Values] | None = None,
        *,
        points: Values | None = None,
        offsets: Values | None = None,
        weights: Values | None = None,
        mask: Values | None = None,
        measure: float | None = None,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        periodic: npt.ArrayLike | None = None,
    ) -> None:
        fields, known = _named("f", inputs), _named("u", outputs)
        if not fields:
            raise ValueError("X: expected functions to learn from, got none\n  hint: give an array, or a dict of arrays")
        for name in [*fields, *known]:
            if name in PLACES:
                hint = f"give it as a keyword, {name}=…, or rename it"
                raise ValueError(f"field {name!r}: the name is taken\n  hint: {hint}")
        again = [name for name in fields if name in known]
        if again:
            raise ValueError(f"field {again[0]!r}: is an input and an output\n  hint: rename one of them")
        given = dict(
            points=points, offsets=offsets, weights=weights, mask=mask, measure=measure,
            lower=lower, upper=upper, periodic=periodic,
        )  # fmt: skip
        places = {name: value for name, value in given.items() if value is not None}
        values = {**places, **fields, **known}
        if _is_list_of_arrays(points):
            values = _stacked(values)
        arrays = [(name, np.atleast_1d(numbers(name, value))) for name, value in values.items()]
        self._raw = _nkn.Samples(arrays, list(known))

    @classmethod
    def _of(cls, raw: _nkn.Samples) -> Samples:
        samples = cls.__new__(cls)
        samples._raw = raw
        return samples

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], outputs: list[str] | None = None, *, needs_output: bool = True
    ) -> Samples:
        """Read a data set: .npz, HDF5, MATLAB, VTK meshes, or a folder of them.

        Arrays of these names are outputs; without names, ``u`` is.
        """
        return cls._of(_nkn.Samples.read(os.fspath(path), list(outputs or []), needs_output))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the samples as an .npz file, or as HDF5 where the path ends with .h5."""
        self._raw.save(os.fspath(path))

    @property
    def count(self) -> int:
        """The number of samples."""
        return self._raw.count

    @property
    def dim(self) -> int:
        """The number of space dimensions."""
        return self._raw.dim

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of samples, and the axes of their nodes where all have the same."""
        return (self.count, *(self._raw.shape or ()))

    @property
    def is_grid(self) -> bool:
        """Whether the nodes are those of a regular grid."""
        return self._raw.is_grid

    @property
    def inputs(self) -> dict[str, int]:
        """The names of the input functions and their components."""
        return dict(self._raw.fields)

    @property
    def outputs(self) -> dict[str, int]:
        """The names of the output functions and their components."""
        return dict(self._raw.outputs)

    @property
    def points(self) -> Found:
        """The coordinates of the nodes, M x dim; a list of such arrays where every sample has its own."""
        points = self._raw.points()
        return points if self._raw.shape is not None else np.split(points, self._raw.offsets[1:-1])

    def coarsen(self, resolution: int) -> Samples:
        """Every n-th node of a grid, so that its first axis has so many.

        >>> import nkn
        >>> nkn.problems.poisson(2, 33).coarsen(9)["f"].shape
        (2, 9)
        """
        return self._of(self._raw.coarsen(resolution))

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, key: Any) -> Any:
        """A function by its name; or some of the samples."""
        if isinstance(key, str):
            components = {**self.inputs, **self.outputs}
            if key not in components:
                raise KeyError(f"{key!r}: there are {', '.join(components)}")
            return self._shaped(self._raw.values(key), components[key])
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]
        return self._of(self._raw.select(np.atleast_1d(np.arange(self.count)[key]).tolist()))

    def _shaped(self, values: npt.NDArray[np.float64], components: int) -> Found:
        """Values of all nodes, one sample after the other, in the shape in which they were given."""
        tail = (components,) if components > 1 else ()
        if self._raw.shape is not None:
            return values.reshape(self.shape + tail)
        return np.split(values.reshape((-1, *tail)), self._raw.offsets[1:-1])

    def __repr__(self) -> str:
        def named(functions: dict[str, int]) -> str:
            return ", ".join(name if k == 1 else f"{name} ({k} components)" for name, k in functions.items())

        shape = self._raw.shape
        if self.is_grid:
            where = " x ".join(map(str, shape or ())) + " nodes"
        else:
            where = f"{shape[0]} points" if shape else "points of their own"
            where += f" in {self.dim} dimension{'s' if self.dim > 1 else ''}"
        known = f", outputs: {named(self.outputs)}" if self.outputs else ""
        return f"Samples({self.count} samples, {where}, inputs: {named(self.inputs)}{known})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._raw.arrays(), list(self.outputs))


def _again(arrays: list[tuple[str, npt.NDArray[np.float64]]], outputs: list[str]) -> Samples:
    return Samples._of(_nkn.Samples(arrays, outputs))


def _named(name: str, values: Any) -> dict[str, Any]:
    if values is None:
        return {}
    return {str(key): value for key, value in values.items()} if isinstance(values, Mapping) else {name: values}


def _is_list_of_arrays(points: Any) -> bool:
    return isinstance(points, (list, tuple)) and len(points) > 0 and np.ndim(points[0]) == 2


def _stacked(values: dict[str, Any]) -> dict[str, Any]:
    """Lists with an array for every sample, one after the other, and where each begins."""
    lengths = [len(points) for points in values["points"]]

    def together(name: str, each: Any) -> Any:
        if name in ("measure", "lower", "upper", "periodic"):
            return each
        parts = [numbers(name, part) for part in each]
        found = [len(part) if part.ndim else 0 for part in parts]
        if found != lengths:
            raise ValueError(
                f"{name}: expected an array for each sample with its {lengths} points, got {found}\n"
                "  hint: give points and values as lists of equal length, sample by sample"
            )
        return np.concatenate(parts)

    stacked = {name: together(name, each) for name, each in values.items()}
    return {**stacked, "offsets": np.cumsum([0, *lengths])}


def samples_of(X: Any, y: Any = None, **places: Any) -> Samples:
    """What was given for samples: samples already, or arrays."""
    if not isinstance(X, Samples):
        return Samples(X, y, **places)
    given = [name for name, value in {"y": y, **places}.items() if value is not None]
    if given:
        hint = "leave it out, or give arrays in place of Samples"
        raise ValueError(f"{given[0]}: samples say this themselves\n  hint: {hint}")
    return X
