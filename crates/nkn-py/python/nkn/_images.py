"""Networks that learn the class of an image."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from . import _nkn
from ._arrays import array
from ._estimator import Configured, Estimator
from ._functions import Spectrum, spectrum_of

Self = TypeVar("Self", bound="Classifier")

#: The networks tell so many classes apart.
CLASSES = 10


def pixels_of(X: Any) -> npt.NDArray[np.uint8]:
    """Images x channels x side x side of whole numbers from 0 to 255."""
    values = array("X", X)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"X: expected pixels as numbers, got {values.dtype}\n  hint: convert them to numpy.uint8")
    if values.ndim == 3:
        values = values[:, None]
    elif values.ndim == 4 and values.shape[-1] in (1, 3) and values.shape[1] == values.shape[2]:
        values = np.moveaxis(values, -1, 1)
    shape = values.shape
    if values.ndim != 4 or shape[2] != shape[3] or shape[1] not in (1, 3) or 0 in shape:
        raise ValueError(
            f"X: expected square images, n x side x side or n x side x side x channels (1 or 3), got {np.shape(X)}\n"
            "  hint: reshape rows of pixels, for example X.reshape(-1, 28, 28)"
        )
    if values.dtype != np.uint8:
        if not np.isfinite(values).all() or (values < 0).any() or (values > 255).any() or (values % 1 != 0).any():
            raise ValueError(
                "X: expected whole numbers from 0 to 255\n"
                "  hint: of values between 0 and 1, give numpy.round(255 * X).astype(numpy.uint8)"
            )
        values = values.astype(np.uint8)
    return np.ascontiguousarray(values)


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Classifier(Configured):
    """The settings of networks on images, and what they can be asked."""

    #: Images are mirrored at random.
    flip: bool | None = None
    #: Images are moved at random by up to so many pixels.
    shift: int | None = None
    #: By fractions of a pixel too.
    subpixel: bool | None = None

    def fit(self: Self, X: Any, y: Any, *, test: Any = None, start_from: Estimator | None = None) -> Self:
        """Learn the classes of images.

        Parameters
        ----------
        X : array
            n x side x side, or n x side x side x channels: whole numbers from 0 (black) to 255.
        y : array
            The class of each image: at most ten different values.
        test : (X, y), optional
            Images whose error is followed, and decides nothing.
        start_from : estimator, optional
            A trained network of the same shape whose weights are the beginning.

        Returns
        -------
        self
        """
        labels = array("y", y)
        if labels.ndim != 1 or len(labels) == 0:
            raise ValueError(f"y: expected a class for each image, got shape {labels.shape}\n  hint: give n values")
        classes = np.unique(labels)
        if len(classes) > CLASSES:
            raise ValueError(f"y: expected at most {CLASSES} classes, got {len(classes)}\n  hint: is y continuous?")
        self.classes_ = classes
        train = self._images(X, y)
        self._train(train, None if test is None else self._images(*test), start_from)
        return self

    def _images(self, X: Any, y: Any = None) -> _nkn.Images:
        pixels = pixels_of(X)
        if y is None:
            return _nkn.Images(pixels, np.zeros(len(pixels), np.uint8))
        labels = array("y", y)
        if labels.shape != (len(pixels),):
            expected = f"a class for each of the {len(pixels)} images"
            raise ValueError(f"y: expected {expected}, got shape {labels.shape}\n  hint: give n values")
        numbers = np.searchsorted(self.classes_, labels).clip(0, len(self.classes_) - 1)
        if (self.classes_[numbers] != labels).any():
            raise ValueError("y: has classes that were not there in training\n  hint: leave those images out")
        return _nkn.Images(pixels, numbers.astype(np.uint8))

    def predict_proba(self, X: Any, *, resolution: int | None = None) -> npt.NDArray[np.float64]:
        """The probability of each of ``classes_``, images x classes.

        Parameters
        ----------
        X : array
            Images of any size.
        resolution : int, optional
            Pixels along a side to which the images are brought first.
        """
        model = self._model()
        images = self._images(X)
        found = model.probabilities(images, resolution or images.side).astype(np.float64)
        known: npt.NDArray[np.float64] = found.reshape(images.count, -1)[:, : len(self.classes_)]
        shares: npt.NDArray[np.float64] = known / known.sum(axis=1, keepdims=True)
        return shares

    def predict(self, X: Any, *, resolution: int | None = None) -> npt.NDArray[Any]:
        """The most probable class of each image."""
        found = self.predict_proba(X, resolution=resolution)
        most: npt.NDArray[Any] = self.classes_[found.argmax(axis=1)]
        return most

    def score(self, X: Any, y: Any) -> float:
        """The share of right answers."""
        return float(np.mean(self.predict(X) == array("y", y)))

    def plot(self, X: Any = None, y: Any = None, *, ax: Any = None) -> Any:
        """Draw some images with their answers, or without images the history of the training; needs matplotlib."""
        from ._plot import plot_history, plot_images

        self._model()
        if X is None:
            return plot_history(self, ax)
        return plot_images(pixels_of(X), self.predict(X), None if y is None else array("y", y), ax)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=False, three_d_array=True, positive_only=True),
        )


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class WithHead(Classifier):
    """The settings of networks with dense layers at the end."""

    #: Width of the dense layer.
    head: int | None = None
    #: Share of the dense layer's inputs that are left out at random in training.
    dropout: float | None = None


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class NKNClassifier(WithHead):
    """A nonlocal kernel network on images, trained at one resolution and asked at another.

    Examples
    --------
    >>> import numpy as np, nkn
    >>> images = np.random.default_rng(0).integers(0, 256, (20, 8, 8), dtype=np.uint8)
    >>> model = nkn.NKNClassifier(width=2, kernel=[4], reaction=[4], head=8, epochs=1, verbose=0)
    >>> model.fit(images, np.arange(20) % 2).predict_proba(images, resolution=16).shape
    (20, 2)
    """

    #: Hidden widths of the kernel network.
    kernel: Sequence[int] | None = None
    #: Hidden widths of the reaction network.
    reaction: Sequence[int] | None = None
    #: T: L layers are L steps of T / L.
    time: float | None = None
    #: The radius in pixels of the original images.
    radius: float | None = None
    #: The rule for the integral: "overlap" or "mean".
    quadrature: str | None = None
    #: Pixels along a side of the grid on which the output is averaged.
    reference: int | None = None

    _kind = "nkn"

    def spectrum(self) -> Spectrum:
        """The eigenvalues of the operator behind the layers at the resolution of the training."""
        side = self.config_["space"]["images"]["side"]
        channels = self.config_["space"]["images"]["channels"]
        images = _nkn.Images(np.zeros((1, channels, side, side), np.uint8), np.zeros(1, np.uint8))
        return spectrum_of(self._model(), images)


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class CNN(WithHead):
    """A convolutional network on images.

    Examples
    --------
    >>> import numpy as np, nkn
    >>> images = np.random.default_rng(0).integers(0, 256, (8, 8, 8, 3), dtype=np.uint8)
    >>> names = np.array(["cat", "dog"] * 4)
    >>> sorted(set(nkn.CNN(width=2, head=4, epochs=1, verbose=0).fit(images, names).classes_.tolist()))
    ['cat', 'dog']
    """

    _kind = "cnn"


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class MultiscaleCNN(WithHead):
    """A convolutional network whose filters are carried to other resolutions."""

    _kind = "multiscale_cnn"


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class NNN(WithHead):
    """A nonlocal neural network on images."""

    #: What two pixels' affinity is made of: "dot" or "cosine".
    affinity: str | None = None

    _kind = "nnn"


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class PreResNet(Classifier):
    """The pre-activation residual network of 20 layers on images, plain or with a nonlocal block."""

    #: What stands after the second residual block: "none", "nkn" or "nnn".
    block: str | None = None
    #: What two pixels' affinity is made of in an NNN block: "dot" or "cosine".
    affinity: str | None = None
    #: Hidden widths of a block's kernel network.
    kernel: Sequence[int] | None = None
    #: Hidden widths of a block's reaction network.
    reaction: Sequence[int] | None = None
    #: The radius of a block in pixels.
    radius: float | None = None
    #: The rule for a block's integral.
    quadrature: str | None = None

    _kind = "preresnet"
