"""Whatever holds numbers, as arrays that the library reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def array(name: str, values: Any) -> npt.NDArray[Any]:
    """Any array of anything, without a copy where none is needed."""
    if not hasattr(values, "__array__") and hasattr(values, "__dlpack__"):
        return np.from_dlpack(values)
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{name}: expected an array of numbers, got {type(values).__name__} ({error})\n"
            "  hint: all samples have one shape; points that differ by sample are given as a list, points=[…]"
        ) from None


def number(name: str, value: Any) -> float:
    """A setting that is a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected a number, got {value!r}\n  hint: for example {name}=10.0") from None


def numbers(name: str, values: Any) -> npt.NDArray[Any]:
    """An array of float32 or float64 in any order of memory."""
    found = array(name, values)
    if np.ma.is_masked(values):
        # What is not there is not a number, which the library refuses by sample and node.
        found = np.ma.asarray(values, dtype=np.float64).filled(np.nan)
    if found.dtype in (np.float64, np.float32):
        return found
    if found.dtype.kind in "biuf":
        return found.astype(np.float64)
    raise ValueError(
        f"{name}: expected an array of real numbers, got one of {found.dtype}\n"
        f"  hint: convert it, for example numpy.asarray({name}, dtype=float)"
    )
