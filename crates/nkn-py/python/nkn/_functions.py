"""Networks that learn a function from a function."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Union

import numpy as np
import numpy.typing as npt

from . import _nkn
from ._arrays import number
from ._estimator import Configured, Estimator
from ._samples import PLACES, Found, Samples, samples_of

if TYPE_CHECKING:
    from .torch import Module

Self = TypeVar("Self", bound="Functions")

#: One output as it is, several by their names.
Prediction = Union[Found, dict[str, Found]]


@dataclasses.dataclass(frozen=True)
class Spectrum:
    """The eigenvalues of the operator behind the layers, and what they say of a step."""

    #: All eigenvalues, or those at the ends of the spectrum.
    eigenvalues: npt.NDArray[np.complex128]
    #: Whether these are all.
    complete: bool
    #: The length of a step, T / L.
    step: float
    #: What a step does to the worst eigenvector.
    amplification: float
    #: Whether no eigenvector grows in a step.
    is_stable: bool
    #: The smallest depth from which on steps are stable, if there is one.
    stable_from: int | None
    #: Of dissipative networks: the depth from which on it is proven that no state can grow.
    certified_from: int | None


def spectrum_of(model: _nkn.Model, examples: _nkn.Samples | _nkn.Images) -> Spectrum:
    """What the extension says of the spectrum."""
    found = model.spectrum(examples)
    values = found["real"] + 1j * found["imaginary"]
    rest = {field.name: found[field.name] for field in dataclasses.fields(Spectrum) if field.name != "eigenvalues"}
    return Spectrum(eigenvalues=values, **rest)


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Functions(Estimator):
    """What networks on functions can be asked."""

    def fit(
        self: Self, X: Any, y: Any = None, *, test: Any = None, start_from: Estimator | None = None, **places: Any
    ) -> Self:
        """Learn the map from inputs to outputs.

        Parameters
        ----------
        X : array, dict of arrays, or Samples
            The inputs: samples first, then the nodes, then the components of a vector.
        y : array or dict of arrays
            The outputs at the same nodes; left out where ``X`` is samples, which have them.
        test : Samples or (X, y), optional
            Samples whose error is followed, and decides nothing; arrays are at the places of the training.
        start_from : estimator, optional
            A trained network of the same shape whose weights are the beginning.
        **places
            Where the values are: ``points``, ``lower``, ``upper``, ``periodic``, … as for `Samples`.

        Returns
        -------
        self
        """
        _check_places("fit", places)
        train = samples_of(X, y, **places)
        if not train.outputs:
            raise ValueError("y: expected the outputs to learn, got none\n  hint: fit(X, y), or Samples with outputs")
        if test is not None and not isinstance(test, Samples):
            test = samples_of(*test, **places)
        self._train(train._raw, None if test is None else test._raw, start_from)
        return self

    def _learned(self, model: _nkn.Model, training: _nkn.Training | None) -> None:
        super()._learned(model, training)
        header = self.config_
        self._names_of_outputs = header["model"].get("outputs") or ["u"]
        self._components: dict[str, int] = header["model"].get("components", {})
        grid = (header.get("training") or {}).get("grid") or {}
        #: Where arrays without places are: on the box of the training.
        self._box = {name: grid[name] for name in ("lower", "upper") if name in grid}
        if any(grid.get("periodic", [])):
            self._box["periodic"] = grid["periodic"]

    def _samples(self, X: Any, y: Any = None, **places: Any) -> Samples:
        """Samples to ask about: arrays alone are on a grid in the training's box."""
        self._model()
        if isinstance(X, Samples):
            return samples_of(X, y, **places)
        inputs = X if isinstance(X, dict) else {self.config_["model"]["fields"][0]: X}
        if y is not None and not isinstance(y, dict):
            y = {self._names_of_outputs[0]: y}
        if places.get("points") is None or "periodic" in self._box:
            places = {**self._box, **{name: value for name, value in places.items() if value is not None}}
        return samples_of(inputs, y, **places)

    def predict(
        self,
        X: Any,
        *,
        quadrature: str | None = None,
        memory_gib: float = 4.0,
        double: bool = False,
        depth: int | str | None = None,
        tolerance: float | None = None,
        **places: Any,
    ) -> Any:
        """The outputs at any resolution and on any points.

        Parameters
        ----------
        X : array, dict of arrays, or Samples
            The inputs; arrays without places are on a regular grid in the box of the training.
        quadrature : str, optional
            Another rule for the integral than the training's.
        memory_gib : float
            Memory that may be taken.
        double : bool
            Whether to compute in double precision.
        depth : int or "infinite", optional
            Another depth than the training's, or the equation that the layers are steps of (NKN).
        tolerance : float, optional
            The relative error that may be left on the way to infinite depth; left out, what the precision allows.
        **places
            Where the values are: ``points`` and so on.

        Returns
        -------
        array, list of arrays, or dict
            float64 in the shape of the inputs; a list where every sample has its own points; by their names where
            there are several outputs.
        """
        model = self._model()
        _check_places("predict", places)
        samples = self._samples(X, **places)
        how = {
            "quadrature": quadrature,
            "memory_gib": number("memory_gib", memory_gib),
            "double": double,
            "depth": None if depth is None else str(depth),
            "tolerance": None if tolerance is None else number("tolerance", tolerance),
        }
        flat = model.predict(samples._raw, how)
        columns = [self._components.get(name, 1) for name in self._names_of_outputs]
        if len(columns) == 1:
            return samples._shaped(flat, columns[0])
        parts = np.split(flat.reshape(-1, sum(columns)), np.cumsum(columns)[:-1], axis=1)
        each = zip(self._names_of_outputs, columns, parts, strict=True)
        return {name: samples._shaped(np.ascontiguousarray(part).ravel(), k) for name, k, part in each}

    def error(self, X: Any, y: Any = None, **places: Any) -> float:
        """The mean over samples of ||û - u|| / ||u||, of several outputs the mean of theirs."""
        model = self._model()
        _check_places("error", places)
        samples = self._samples(X, y, **places)
        if not samples.outputs:
            hint = "give y, or Samples with outputs"
            raise ValueError(f"y: expected the outputs to compare with, got none\n  hint: {hint}")
        return model.measures(samples._raw)[0][3]

    def score(self, X: Any, y: Any = None, **places: Any) -> float:
        """One minus the relative error: 1 is perfect, 0 is as bad as predicting zero."""
        return 1.0 - self.error(X, y, **places)

    def spectrum(self, X: Any = None, **places: Any) -> Spectrum:
        """The eigenvalues of the operator behind the layers, on the first sample: of the training, if none is given."""
        self._model()
        if X is None:
            raw = self._known_training().examples
        else:
            raw = self._samples(X, **places)._raw
        return spectrum_of(self._model(), raw)

    def plot(self, X: Any = None, y: Any = None, *, sample: int = 0, ax: Any = None, **places: Any) -> Any:
        """Draw a prediction beside the truth, or without inputs the history of the training; needs matplotlib.

        Returns
        -------
        matplotlib Axes
            One, or one per picture.
        """
        from ._plot import plot_history, plot_prediction

        self._model()
        if X is None:
            return plot_history(self, ax)
        samples = self._samples(X, y, **places)[[sample]]
        return plot_prediction(samples, self.predict(samples), ax)

    def to_torch(self) -> Module:
        """The network as a `torch.nn.Module` with the same weights and outputs, differentiable; needs PyTorch.

        Its state dict has the names of the model file, and `nkn.from_torch` makes a network of it again.
        """
        from .torch import Module

        return Module(self)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        target = TargetTags(required=True, multi_output=True, single_output=False)
        inputs = InputTags(two_d_array=True, three_d_array=True)
        return Tags(
            estimator_type="regressor",
            target_tags=target,
            regressor_tags=RegressorTags(poor_score=True),
            input_tags=inputs,
        )


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class FunctionEstimator(Functions, Configured):
    """The settings of networks on functions."""

    #: The input fields that the lift sees; all of them.
    fields: Sequence[str] | None = None
    #: How inputs are normalised: "none", "scalar" or "pointwise".
    normalise_input: str | None = None
    #: How outputs are normalised.
    normalise_output: str | None = None
    #: "square": samples are turned and mirrored at random.
    augment: str | None = None
    #: Pairs of fields that are the components of a vector, for `augment`.
    vectors: Sequence[Sequence[str]] | None = None
    #: So many samples are not learned from but followed.
    validation: int | None = None


def _check_places(method: str, places: dict[str, Any]) -> None:
    for name in places:
        if name not in PLACES:
            raise TypeError(f"{method}() has no keyword {name!r}\n  hint: places are said with {', '.join(PLACES)}")


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class KernelEstimator(FunctionEstimator):
    """The settings of networks with a learned kernel."""

    #: Hidden widths of the kernel network.
    kernel: Sequence[int] | None = None
    #: The radius of the neighbourhood; None: every node is everybody's neighbour.
    radius: float | None = None
    #: So many nearest nodes in place of a radius.
    neighbours: int | None = None
    #: Whether nodes at distance exactly r are neighbours.
    inclusive: bool | None = None
    #: The rule for the integral: "trapezoid", "mean", "uniform" or "overlap"; None: by the domain.
    quadrature: str | None = None
    #: The input fields that the kernel sees at x and at y.
    kernel_fields: Sequence[str] | None = None


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class NKN(KernelEstimator):
    """A nonlocal kernel network on functions: layers are time steps of a nonlocal diffusion-reaction equation.

    Parameters
    ----------
    width : int
        Features of h at a node [1].
    radius : float
        Neighbours within this distance; None: all nodes.
    depths : list of int
        The ladder [1]: each depth starts from the weights of the one before.
    epochs : int or list of int
        Passes over the samples [1000], the same for all depths or one per depth.
    kernel, reaction : list of int
        Hidden widths of the kernel network [256, 256] and of the reaction network [64].
    time : float
        T: a network of depth L takes L steps of T / L [1.0].
    **settings
        The other keys of a configuration's ``[model]`` and ``[train]`` tables by their names.

    Attributes
    ----------
    history_ : dict of columns
        depth, epoch, split, resolution, metric, value: ``pandas.DataFrame(model.history_)``.
    errors_ : dict of columns
        The final errors of each depth.
    config_ : dict
        The configuration of the trained network.

    Examples
    --------
    >>> import nkn
    >>> train = nkn.problems.poisson(20, 17)
    >>> model = nkn.NKN(kernel=[16], depths=[1, 2], epochs=30, learning_rate=1e-2, verbose=0).fit(train)
    >>> model.predict(train["f"]).shape
    (20, 17)
    >>> bool(model.spectrum().step == 0.5)
    True
    """

    #: Hidden widths of the reaction network.
    reaction: Sequence[int] | None = None
    #: T: L layers are L steps of T / L.
    time: float | None = None
    #: "free", as in the paper, or "dissipative": kernel and reaction take energy out whatever the weights.
    stability: str | None = None
    #: The rule of a step: "euler", "heun", "rk4", "implicit" or "exponential".
    integrator: str | None = None
    #: Dissipative networks: after every step they are scaled, if they must be, so that no state can grow at this depth.
    certified: bool | None = None

    _kind = "nkn"


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class GKN(KernelEstimator):
    """A graph kernel network on functions; settings as those of `NKN` but for reaction, time and stability.

    Examples
    --------
    >>> import nkn
    >>> nkn.GKN(kernel=[8], epochs=2, verbose=0).fit(nkn.problems.poisson(4, 9)).model_.title
    'GKN, L = 1'
    """

    #: Whether the last layer is activated too.
    activate_last: bool | None = None

    _kind = "gkn"


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class FNO(FunctionEstimator):
    """A Fourier neural operator on functions on a regular grid.

    Examples
    --------
    >>> import nkn
    >>> model = nkn.FNO(width=4, modes=3, head=8, depths=[2], epochs=2, verbose=0).fit(nkn.problems.poisson(4, 9))
    >>> model.predict(nkn.problems.poisson(1, 33)["f"]).shape
    (1, 33)
    """

    #: Frequencies per axis and sign that a layer keeps.
    modes: int | None = None
    #: Hidden width of the output network.
    head: int | None = None

    _kind = "fno"
