"""What all networks have in common: settings by keyword, scikit-learn's manners, a trained model inside."""

from __future__ import annotations

import abc
import dataclasses
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from . import _nkn
from ._progress import Progress
from ._settings import settings

Self = TypeVar("Self", bound="Estimator")

#: What makes a card of the report's page: table and picture side by side, without the words that explain them.
CARD = """<style>
main { display: flex; flex-wrap: wrap; gap: 0 2rem; padding: 0; max-width: none; font-size: .8rem; }
header { flex: 1 0 100%; }
section { flex: 1 1 18rem; min-width: 0; }
h1 { font-size: 1.1rem; margin: 0; }
h2, .kind, caption, figcaption, .errors.small { display: none; }
.summary { font-size: .8rem; margin: 0 0 .5rem; }
table { font-size: .8rem; }
figure { margin: 0; }
figure .scroll svg { width: 100%; min-width: 0; height: auto; }
</style>"""


class NotFittedError(ValueError, AttributeError):
    """A question to a network that has not learned anything yet."""


def not_fitted(name: str) -> Exception:
    """The error of scikit-learn where that is in use, else our own."""
    message = f"this {name} has not been fitted\n  hint: call fit first, or nkn.load a trained one"
    theirs = sys.modules.get("sklearn.exceptions")
    return cast(Exception, (theirs.NotFittedError if theirs else NotFittedError)(message))


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Estimator(abc.ABC):
    """What all networks have, with settings or without."""

    #: Where all randomness comes from.
    seed: int | None = None
    #: A folder to write the run into: configuration, checkpoints, models, tables.
    run: str | os.PathLike[str] | None = None
    #: Whether to continue the run in that folder, to the bit.
    resume: bool = False
    #: 0 is silent.
    verbose: int = 1

    def __new__(cls, *args: Any, **keywords: Any) -> Any:
        """Refuse keywords that are none, with a guess at what was meant."""
        known = cls._names()
        for name in keywords:
            if name not in known:
                import difflib

                near = difflib.get_close_matches(name, known, 1)
                meant = f"did you mean {near[0]!r}? " if near else ""
                raise TypeError(f"{cls.__name__} has no setting {name!r}\n  hint: {meant}It has {', '.join(known)}")
        return super().__new__(cls)

    @classmethod
    def _names(cls) -> list[str]:
        return [field.name for field in dataclasses.fields(cls)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by their names, as scikit-learn wants them."""
        return {name: getattr(self, name) for name in sorted(self._names())}

    def set_params(self: Self, **parameters: Any) -> Self:
        """Change settings by their names, as scikit-learn wants it."""
        for name, value in parameters.items():
            if name not in self._names():
                raise ValueError(
                    f"{type(self).__name__} has no setting {name!r}\n  hint: it has {', '.join(sorted(self._names()))}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        fields = dataclasses.fields(self)
        given = [f"{f.name}={getattr(self, f.name)!r}" for f in fields if not _is_default(self, f)]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the samples of the training, of which a report would be made."""
        return {name: value for name, value in vars(self).items() if name != "_training"}

    def _model(self) -> _nkn.Model:
        if not hasattr(self, "model_"):
            raise not_fitted(type(self).__name__)
        return self.model_

    @abc.abstractmethod
    def _train(self, train: Any, test: Any, start_from: Estimator | None) -> None:
        """Learn from samples of the extension, and keep what there is to know of it."""

    def _learned(self, model: _nkn.Model, training: _nkn.Training | None) -> None:
        self.model_ = model
        self._training = training
        if training is None:
            return
        names = ("depth", "epoch", "split", "resolution", "metric", "value")
        self.history_ = columns(names, training.records)
        self.errors_ = columns(("depth", "split", "resolution", "metric", "value"), training.errors)

    @property
    def config_(self) -> dict[str, Any]:
        """The configuration in the model's file: space, depth, ``model`` and the domain of training."""
        return cast(dict[str, Any], json.loads(self._model().header))

    @property
    def depth_(self) -> int:
        """L of the trained network."""
        return self._model().depth

    @property
    def n_parameters_(self) -> int:
        """The number of trained parameters."""
        return self._model().count

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network as one file, which ``nkn.load``, the command and the library read."""
        self._model().save(os.fspath(path))

    def report(self, path: str | os.PathLike[str]) -> str:
        """Write the report of the training, one HTML file, as ``nkn report`` does; its path."""
        self._known_training().report(os.fspath(path))
        return os.fspath(path)

    def _known_training(self) -> _nkn.Training:
        self._model()
        training: _nkn.Training | None = getattr(self, "_training", None)
        if training is None:
            raise ValueError(
                "this needs the training, and this network was loaded\n"
                "  hint: give spectrum its samples, X; write a report after fit, or of a run's folder with `nkn report RUN`"
            )
        return training

    def _repr_html_(self) -> str:
        """For notebooks: the network, its errors and how they came about."""
        import html

        training: _nkn.Training | None = getattr(self, "_training", None)
        if training is not None:
            page = html.escape(training.card().replace("</head>", CARD + "</head>", 1), quote=True)
            return f'<iframe srcdoc="{page}" style="width: 100%; height: 20em; border: 0"></iframe>'
        if not hasattr(self, "model_"):
            return f"<pre>{html.escape(repr(self))}</pre>"
        facts = {"network": self.model_.title, "parameters": f"{self.n_parameters_:,}"}
        rows = "".join(f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>" for name, value in facts.items())
        return f"<table>{rows}</table>"


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Configured(Estimator):
    """The settings of every training.

    A setting that is None has the value that is usual in configuration files, where ``configs/poisson.toml`` and
    ``configs/mnist.toml`` explain every one.
    """

    #: Features of h at a node.
    width: int | None = None
    #: The ladder: train at the first depth, then at the next from its weights.
    depths: Sequence[int] | None = None
    #: Where each depth after the first starts from: "shallow_to_deep", or "random".
    initialisation: str | None = None
    #: Passes over the samples: one number, or one per depth.
    epochs: int | Sequence[int] | None = None
    #: Samples per step; of functions, all of them.
    batch: int | None = None
    #: What is minimised: "relative_l2" or "mse"; of images "cross_entropy".
    loss: str | None = None
    #: Which weights a depth ends with: "best", "validation" or "last".
    keep: str | None = None
    #: "adam", "adamw" or "soap".
    optimiser: str | None = None
    #: The peak learning rate: one number, or one per depth.
    learning_rate: float | Sequence[float] | None = None
    #: Decay of the first and second moments.
    betas: Sequence[float] | None = None
    #: L2 regularisation (adam), or decoupled weight decay.
    weight_decay: float | None = None
    #: soap: steps between two updates of the eigenbases.
    basis_every: int | None = None
    #: The learning rate's shape: "cosine", "constant", "step", "plateau" or "milestones".
    schedule: str | None = None
    #: Epochs to rise to the peak.
    warm_up: int | None = None
    #: cosine: the last rate as a share of the peak.
    floor: float | None = None
    #: step: epochs between two reductions.
    every: int | None = None
    #: plateau: epochs to wait.
    patience: int | None = None
    #: step, plateau: the reduction.
    factor: float | None = None
    #: Whether the rate changes with every step.
    by_step: bool | None = None
    #: The largest norm of the gradient.
    clip: float | None = None
    #: The mean of the weights over this last share of a depth's steps is tested and kept.
    average: float | None = None
    #: Stop a depth after so many epochs without a better training error.
    stop_after: int | None = None
    #: What counts as better.
    stop_tolerance: float | None = None
    #: Epochs between two rows of the history.
    record_every: int | None = None
    #: Epochs between two evaluations of the test samples.
    evaluate_every: int | None = None
    #: Seconds between two checkpoints of a run's folder.
    checkpoint_seconds: float | None = None
    #: Memory that a step may take.
    memory_gib: float | None = None

    #: The name of the network in configuration files.
    _kind = ""

    def _train(self, train: Any, test: Any, start_from: Estimator | None) -> None:
        parameters = self.get_params()
        progress = Progress() if self.verbose else None
        asked = {
            "run": None if self.run is None else os.fspath(self.run),
            "resume": bool(self.resume),
            "start_from": None if start_from is None else start_from._model(),
            "tell": progress,
        }
        try:
            self._learned(*_nkn.fit(self._kind, settings(parameters), train, test, asked))
        finally:
            if progress:
                progress.close()


def _is_default(estimator: Estimator, field: dataclasses.Field[Any]) -> bool:
    value = getattr(estimator, field.name)
    return value is field.default or (isinstance(value, int | str) and bool(value == field.default))


def columns(names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """A table as a dict of columns, which pandas takes."""
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}
