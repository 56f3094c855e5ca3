"""Concept SVMs: for each word a support vector machine that separates its pictures from the others.

Machine t gives picture p the score g_t(p) = f_t(p) + b_t (`_svm_solving` has the objective), its C
chosen for each word by the AvgP of validation pictures. A query is answered by the normalised
average over its words that have a machine,

    s(q, p) = mean_t z_t(p)        z_t = (g_t - mean_t) / std_t    over the pictures being ranked

as in the baseline of Grangier and Bengio, "A discriminative kernel-based model to rank images from
text queries", 2008, sections II-A and V-C. Words on no training picture, or on all, have no
machine.

Departures: slack counts squared by default, which ranks rare words better; `loss="hinge"` is
the usual machine. A word that no validation picture has takes the C that is best for the
others on average. Without validation pictures a fifth of the training ones take their place, and
the machines are then fitted again to all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sightline.annotators._svm_choice import Trials
from sightline.annotators._svm_solving import (
    ClassWeight,
    InGram,
    InRows,
    Loss,
    TrainingPictures,
    fit_words,
    learnable,
    sklearn_part,
)
from sightline.annotators.targets import as_targets, mean_average_precision
from sightline.contracts import PersistentEstimator
from sightline.errors import DataError, ParameterError
from sightline.similarity.kernels import MeanKernel, as_views, check_columns, input_kinds
from sightline.similarity.serialization import (
    kernel_from_arrays,
    kernel_to_arrays,
    rows_from_arrays,
    rows_to_arrays,
)
from sightline.validation import Classes
from sightline.words.combination import Combination

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.similarity.formulas import Rows
    from sightline.similarity.kernels import Statistic

# A Gram matrix of more pictures than this is not made.
_LIMIT = 6000
_BLOCK = 1024
_HELD_OUT = 0.2


class ConceptSVM(PersistentEstimator):
    """A support vector machine for each word.

    Parameters
    ----------
    kernel : str or tuple of str, default="linear"
        "linear", or another name in `sightline.similarity.formulas.KERNELS`, or one for each view.
        All but a single linear one take at most 6,000 pictures.
    factor : float or tuple of float, default=0.7
        Of the median distance, which is the bandwidth; or one for each view.
    weights : tuple of float, optional
        How much each view counts; equal by default.
    statistic : {"median", "mean"}, default="median"
        "median" or "mean" distance.
    C : float or tuple of float, default=(0.3, 1.0, 3.0, 10.0)
        How much slack costs; of several values each word takes the best on validation pictures.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        "squared_hinge" or "hinge".
    class_weight : {"balanced"}, optional
        "balanced" lets the pictures with a word count as much as those without; None lets all
        pictures count equally.
    random_state : int, default=0
        Seed of the pairs that give the bandwidth, of the pictures that are held out where no others
        are given, and of the linear solver.

    Attributes
    ----------
    classes_ : ndarray of shape (words,)
        The label of each word; its position, where y was a table.
    trained_ : ndarray
        Whether a word has a machine, (words,). Without one its score is 0.
    C_ : ndarray
        The C of each word; NaN without a machine.
    trials_ : ndarray
        AvgP on validation pictures, (values of C, words); NaN where it cannot be measured.
    W_ : ndarray
        Weights over the features, (words, features), float32, of one view with a linear kernel.
    landmarks_, dual_ : tuple of ndarray or ndarray
        Otherwise the views' rows of the landmarks, and their coefficients, (landmarks,
        words), float32.
    intercept_ : ndarray of shape (words,)
        In float32.

    Examples
    --------
    >>> X = np.array([[0.0], [0.2], [0.3], [1.0], [1.1], [0.9]], dtype=np.float32)
    >>> Y = np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]])
    >>> svm = ConceptSVM(kernel="rbf", C=10.0).fit(X, Y)
    >>> svm.trained_
    array([ True,  True, False])
    >>> scores = svm.decision_function(X)
    >>> int(np.argmax(svm.fuse(scores, [1, 2])))
    4
    """

    _saved = ("classes_",)

    def __init__(
        self,
        *,
        kernel: str | tuple[str, ...] = "linear",
        factor: float | tuple[float, ...] = 0.7,
        weights: tuple[float, ...] | None = None,
        statistic: Statistic = "median",
        C: float | tuple[float, ...] = (0.3, 1.0, 3.0, 10.0),
        loss: Loss = "squared_hinge",
        class_weight: ClassWeight = None,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.factor = factor
        self.weights = weights
        self.statistic = statistic
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any, validation: tuple[Any, Any] | None = None) -> Self:
        """Learn from pictures X, a matrix or a tuple of views, and the words y they have, 0 or 1.

        y may also be one label for each picture, which is then a word.

        `validation` are further pictures and their words, by which each word's C is chosen; they
        are not learned from.
        """
        self._check()
        sklearn_part("svm")
        inputs = X if isinstance(X, tuple) else (X,)
        names = self.kernel if isinstance(self.kernel, tuple) else (self.kernel,) * len(inputs)
        views = as_views(inputs, names)
        targets, self.classes_ = as_targets(y, views[0].shape[0], type(self).__name__)
        tagged = targets > 0
        judged = None if validation is None else _judged(validation, names, self.classes_)
        factors = self.factor if isinstance(self.factor, tuple) else (self.factor,) * len(views)
        self.kernel_ = MeanKernel.of(
            views,
            names,
            factors=factors,
            weights=self.weights,
            statistic=self.statistic,
            random_state=self.random_state,
        )
        self.trained_ = learnable(tagged)
        pictures = self._pictures(views)
        coefficients, offsets = self._settled(pictures, tagged, judged)
        self.intercept_ = offsets.astype(np.float32)
        if names == ("linear",):
            self.W_ = pictures.weights(coefficients)
        else:
            used = np.flatnonzero(coefficients.any(axis=1))
            self.landmarks_ = tuple(v[used] for v in views)
            self.dual_ = coefficients[used].astype(np.float32)
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns that X had in `fit`, of all views."""
        if self.kernel_.names == ("linear",):
            return int(self.W_.shape[1])
        return sum(int(rows.shape[1]) for rows in self.landmarks_)

    def decision_function(
        self, X: Any, words: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return scores, (pictures, words), of all words or of those at some positions."""
        self._check_fitted()
        linear = self.kernel_.names == ("linear",)
        views = as_views(X if isinstance(X, tuple) else (X,), self.kernel_.names)
        check_columns(views, self.n_features_in_, type(self).__name__)
        at = _positions(range(len(self.trained_)) if words is None else words, self.trained_)
        coefficients = (self.W_[at].T if linear else self.dual_[:, at]).astype(np.float64)
        out = np.empty((views[0].shape[0], len(at)), dtype=np.float32)
        for start in range(0, len(out), _BLOCK):
            rows = slice(start, start + _BLOCK)
            part = tuple(v[rows] for v in views)
            table = part[0] if linear else self.kernel_(part, self.landmarks_)
            out[rows] = table @ coefficients + self.intercept_[at]
        return out

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: what the kernels of `kernel` take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.positive_only = input_kinds(self.kernel)
        return tags

    def fuse(self, scores: Any, words: Any) -> NDArray[np.float64]:
        """Return the score of a query for each of the pictures being ranked.

        Parameters
        ----------
        scores : array-like
            Of these pictures, and no others, for all words, as `decision_function` gives.
        words : array-like
            Positions of the query's words; those without a machine are skipped, repeated ones count
            once.
        """
        self._check_fitted()
        table = np.asarray(scores, dtype=np.float32)
        if table.ndim != 2 or table.shape[1] != len(self.trained_):
            raise DataError(
                f"Scores must be of {len(self.trained_)} words. Got shape {table.shape}."
            )
        at = np.unique(_positions(words, self.trained_))
        at = at[self.trained_[at]]
        if not at.size:
            raise DataError("ConceptSVM has a machine for none of these words.")
        normal = Combination("average").fit(table[:, at])
        # In float64, lest near scores of a single word become equal.
        return np.asarray((table[:, at] * normal.slope_ + normal.offset_).mean(axis=1))

    def score(self, X: Any, y: Any) -> float:
        """Return the mean AvgP over the words that some picture of X has."""
        scores = self.decision_function(X)
        targets, _ = as_targets(y, len(scores), type(self).__name__, self.classes_)
        return mean_average_precision(scores, targets)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs; `from_arrays` makes the same scorer."""
        self._check_fitted()
        arrays: dict[str, NDArray[Any]] = {
            **kernel_to_arrays(self.kernel_),
            "trained": self.trained_.astype(np.uint8),
            # A word without a machine has no C, and only finite numbers are kept.
            "C": np.where(self.trained_, self.C_, 0.0),
            "intercept": self.intercept_,
        }
        if self.kernel_.names == ("linear",):
            return {**arrays, "W": self.W_}
        for at, rows in enumerate(self.landmarks_):
            arrays |= rows_to_arrays(f"landmarks.{at}", rows)
        return {**arrays, "dual": self.dual_}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a scorer as it was when `to_arrays` was called."""
        kernel = kernel_from_arrays(arrays)
        svm = cls(kernel=kernel.names)
        svm.kernel_ = kernel
        svm.trained_ = arrays["trained"] > 0
        svm.C_ = np.where(svm.trained_, arrays["C"], np.nan)
        svm.intercept_ = arrays["intercept"]
        svm.classes_ = np.arange(len(svm.intercept_))
        if kernel.names == ("linear",):
            svm.W_ = arrays["W"]
        else:
            n = len(kernel.names)
            landmarks = (rows_from_arrays(f"landmarks.{at}", arrays) for at in range(n))
            svm.landmarks_, svm.dual_ = tuple(landmarks), arrays["dual"]
        return svm

    def _check(self) -> None:
        name = type(self).__name__
        tried = self.C if isinstance(self.C, tuple) else (self.C,)
        if not tried or not all(_is_number(C) and 0 < C < np.inf for C in tried):
            raise ParameterError.of("C", name, "greater than 0, or several such values", self.C)
        if self.loss not in ("hinge", "squared_hinge"):
            raise ParameterError.of("loss", name, "'hinge' or 'squared_hinge'", self.loss)
        if self.class_weight not in (None, "balanced"):
            raise ParameterError.of("class_weight", name, "None or 'balanced'", self.class_weight)

    def _pictures(self, views: tuple[Rows, ...]) -> TrainingPictures:
        n = int(views[0].shape[0])
        if n <= _LIMIT:
            return InGram(self.kernel_, views, self.loss, self.class_weight)
        if self.kernel_.names == ("linear",):
            return InRows(views[0], self.loss, self.class_weight, self.random_state)
        # Once in float32 and once in float64, which the solver takes.
        raise DataError(
            f"A {self.kernel_.names[0]} SVM of {n:,} pictures needs {12 * n * n / 1e9:.1f} GB for "
            f"their kernel, and takes at most {_LIMIT:,}. Use kernel='linear', or KernelRidge, "
            "which takes any number, or fewer pictures."
        )

    def _settled(
        self,
        pictures: TrainingPictures,
        Y: NDArray[np.bool_],
        judged: tuple[tuple[Rows, ...], NDArray[np.bool_]] | None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Choose each word's C, and return coefficients and offsets."""
        tried = np.unique(np.atleast_1d(np.asarray(self.C, dtype=np.float64)))
        everything = np.arange(len(Y))
        self.trials_ = np.full((len(tried), Y.shape[1]), np.nan)
        if len(tried) == 1 or (judged is None and len(Y) < 2):
            C = np.full(Y.shape[1], tried[(len(tried) - 1) // 2])
        elif judged is None:
            fitted, held = _split(len(Y), self.random_state)
            solver, table = pictures.solver(fitted), pictures.table(held, fitted)
            trials = Trials(solver, Y[fitted], table, Y[held], tried)
            self.trials_, C = trials.avgp, trials.best()
        else:
            table = pictures.table_of(judged[0])
            trials = Trials(pictures.solver(everything), Y, table, judged[1], tried)
            self.trials_, C = trials.avgp, trials.best()
        self.C_ = np.where(self.trained_, C, np.nan)
        if judged is not None and len(tried) > 1:
            return trials.chosen(C)
        return fit_words(pictures.solver(everything), Y, C)


def _judged(
    validation: tuple[Any, Any], names: tuple[str, ...], classes: Classes
) -> tuple[tuple[Rows, ...], NDArray[np.bool_]]:
    if not isinstance(validation, tuple) or len(validation) != 2:
        raise ParameterError.of("validation", "fit", "(X, Y)", type(validation).__name__)
    X, Y = validation
    views = as_views(X if isinstance(X, tuple) else (X,), names)
    words = as_targets(Y, views[0].shape[0], "ConceptSVM", classes)[0] > 0
    if words.shape[1] != len(classes):
        raise DataError(
            f"Validation pictures must have {len(classes)} words, as in Y. Got {words.shape[1]}."
        )
    return views, words


def _split(n: int, random_state: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.random.default_rng(random_state).permutation(n)
    n_held = max(1, round(_HELD_OUT * n))
    return np.sort(order[n_held:]), np.sort(order[:n_held])


def _positions(words: Any, trained: NDArray[np.bool_]) -> NDArray[np.int64]:
    at = np.asarray(words, dtype=np.int64).reshape(-1)
    wrong = at[(at < 0) | (at >= len(trained))]
    if wrong.size:
        raise DataError(f"Words are positions from 0 to {len(trained) - 1}. Got {wrong[0]}.")
    return at


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
