"""A network that finds its own settings."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from . import _nkn
from ._arrays import number
from ._estimator import Estimator, columns
from ._functions import Functions
from ._progress import Progress


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Auto(Functions):
    """The best network that the time allows, without settings: what ``nkn fit`` does.

    It looks at the samples, tries what cannot be told by looking, plans the depths so that the time lasts, and keeps
    what has the lowest error on samples that it has split off.

    Parameters
    ----------
    minutes : float
        The time for everything [10].
    kind : str
        "nkn", "gkn", "fno", or "auto": what fits the data better in the same time.
    seed : int
        Where all randomness comes from.
    run, resume, verbose
        As for every network.

    Attributes
    ----------
    choices_ : dict of columns
        what, chosen, why: every decision with its reason.

    Examples
    --------
    >>> import nkn
    >>> train = nkn.problems.poisson(40, 17)
    >>> model = nkn.auto(minutes=0.02, verbose=0).fit(train["f"], train["u"])
    >>> model.predict(train["f"]).shape
    (40, 17)
    >>> "network" in model.choices_["what"]
    True
    """

    #: The time for everything.
    minutes: float = 10.0
    #: "nkn", "gkn", "fno" or "auto".
    kind: str = "auto"

    def _train(self, train: Any, test: Any, start_from: Estimator | None) -> None:
        if start_from is not None:
            raise ValueError("start_from: a search begins anew\n  hint: fit a network with settings, such as nkn.NKN")
        import tempfile

        progress = Progress() if self.verbose else None
        # The search keeps its candidates in a folder.
        with tempfile.TemporaryDirectory(prefix="nkn-") as temporary:
            run = temporary if self.run is None else os.fspath(self.run)
            try:
                asked = (number("minutes", self.minutes), str(self.kind), int(self.seed or 0))
                found = _nkn.auto(*asked, train, test, run, bool(self.resume), progress)
            finally:
                if progress:
                    progress.close()
        self._learned(*found)

    def _learned(self, model: _nkn.Model, training: _nkn.Training | None) -> None:
        super()._learned(model, training)
        if training is not None:
            self.choices_ = columns(("what", "chosen", "why"), training.choices)


#: The short name, as in ``nkn.auto(minutes=10).fit(X, y)``.
auto = Auto
