"""Pictures, for which matplotlib is asked when they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._samples import Samples

if TYPE_CHECKING:
    from ._estimator import Estimator


#: What is drawn of a history, and how.
LINES = (("train", "loss", "-"), ("validation", "relative_l2", ".:"), ("test", "relative_l2", ".--"))


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot needs matplotlib\n  hint: pip install matplotlib") from None
    return pyplot


def plot_history(model: Estimator, ax: Any) -> Any:
    """Losses and errors against the epochs, depth after depth."""
    ax = ax or _pyplot().subplots()[1]
    history = getattr(model, "history_", None)
    if history is None:
        raise ValueError("plot: a loaded network has no history\n  hint: give inputs to predict, plot(X, y)")
    rows = list(zip(*history.values(), strict=True))
    start = 0
    for depth in dict.fromkeys(history["depth"]):
        own = [row for row in rows if row[0] == depth]
        for split, metric, line in LINES:
            points = {row[1]: row[5] for row in own if (row[2], row[4]) == (split, metric)}
            if points:
                ax.plot([start + epoch for epoch in points], list(points.values()), line, label=f"{split}, L = {depth}")
        start += max(row[1] for row in own)
    ax.set(xlabel="epoch", ylabel="error", yscale="log")
    ax.legend()
    return ax


def plot_prediction(samples: Samples, prediction: Any, ax: Any) -> Any:
    """One sample: on a line as curves, with the inputs by an axis of their own; in the plane as pictures side by side."""
    outputs = prediction if isinstance(prediction, dict) else {next(iter(samples.outputs), "u"): prediction}
    inputs = {name: samples[name][0] for name in samples.inputs}
    functions = {}
    for name, value in outputs.items():
        if name in samples.outputs:
            functions[f"{name}, true"] = samples[name][0]
        functions[f"{name}, predicted"] = value[0]
    points = np.asarray(samples.points[0] if isinstance(samples.points, list) else samples.points)
    if samples.dim == 1:
        return _curves(points[:, 0], inputs, functions, ax)
    if samples.dim > 2:
        problem = "expected functions on a line or in the plane, got 3 dimensions"
        raise ValueError(f"plot: {problem}\n  hint: model.report draws them")
    functions = {**inputs, **functions}
    axes = np.atleast_1d(ax if ax is not None else _row(len(functions)))
    for one, (name, values) in zip(axes, functions.items(), strict=False):
        values = values.reshape(len(points), -1)
        size = values[:, 0] if values.shape[1] == 1 else np.linalg.norm(values, axis=1)
        if samples.is_grid:
            one.imshow(size.reshape(samples.shape[1:]).T, origin="lower")
        else:
            one.tripcolor(points[:, 0], points[:, 1], size)
        one.set_title(name if values.shape[1] == 1 else f"|{name}|")
        one.set(xticks=[], yticks=[], aspect="equal")
    return axes


def _row(count: int) -> Any:
    """Axes beside each other."""
    return _pyplot().subplots(1, count, squeeze=False, figsize=(2.4 * count, 2.7), layout="constrained")[1][0]


def _curves(x: npt.NDArray[np.float64], inputs: dict[str, Any], outputs: dict[str, Any], ax: Any) -> Any:
    ax = ax or _pyplot().subplots()[1]
    beside = ax.twinx()
    order = np.argsort(x)
    for one, functions, style in ((beside, inputs, {"color": "0.7"}), (ax, outputs, {})):
        for name, values in functions.items():
            line = "--" if name.endswith("predicted") else "-"
            one.plot(x[order], values.reshape(len(x), -1)[order], line, label=name, **style)
    ax.set(xlabel="x", ylabel=", ".join(dict.fromkeys(name.split(",")[0] for name in outputs)))
    beside.set(ylabel=", ".join(inputs))
    ax.set_zorder(beside.get_zorder() + 1)      # the outputs are drawn over the inputs
    ax.set_frame_on(False)
    ax.legend()
    return ax


def plot_images(pixels: npt.NDArray[np.uint8], answers: npt.NDArray[Any], truth: Any, ax: Any) -> Any:
    """The first images with their answers."""
    count = min(8, len(pixels))
    axes = np.atleast_1d(ax if ax is not None else _row(count))
    for at, one in enumerate(axes[:count]):
        image = np.moveaxis(pixels[at], 0, -1)
        one.imshow(image[..., 0] if image.shape[-1] == 1 else image, cmap="gray")
        one.set_title(str(answers[at]) if truth is None else f"{answers[at]} ({truth[at]})")
        one.axis("off")
    return axes
