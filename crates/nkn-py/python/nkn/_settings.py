"""Settings: flat keywords of Python, dotted names of the configuration."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

#: Keywords of the `[model]` table.
MODEL = frozenset(
    "width kernel reaction time stability integrator activate_last modes head fields kernel_fields radius neighbours "
    "inclusive quadrature normalise_input normalise_output reference dropout block affinity".split()
)
#: Keywords of the `[train.schedule]` table; its kind is called `schedule`.
SCHEDULE = frozenset("warm_up every factor patience floor by_step".split())
#: Keywords that are none of the configuration.
OTHERS = frozenset("run resume verbose".split())


def key(name: str) -> str:
    """The name of a keyword in the configuration."""
    if name == "schedule":
        return "train.schedule.kind"
    table = "model" if name in MODEL else "train.schedule" if name in SCHEDULE else "train"
    return f"{table}.{name}"


def settings(parameters: Mapping[str, Any]) -> str:
    """What is given, as the JSON object that the extension takes; what is None is left out."""
    given = {name: value for name, value in parameters.items() if value is not None and name not in OTHERS}
    return json.dumps({key(name): _plain(name, value) for name, value in given.items()})


def _plain(name: str, value: Any) -> Any:
    """The value in words of JSON."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{key(name)}: expected a finite number, got {value}\n  hint: None takes the usual value")
        return value
    if isinstance(value, list | tuple | range):
        return [_plain(name, one) for one in value]
    raise ValueError(
        f"{key(name)}: expected a number, a word or a list of them, got {type(value).__name__}\n"
        "  hint: see the documentation of the class for its settings"
    )
