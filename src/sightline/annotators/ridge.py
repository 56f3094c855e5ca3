"""Kernel ridge: for each word a score that is 1 on pictures that have it and 0 on the others.

For every word t, over functions f_t of the kernel k,

    min  sum_i (y_it - f_t(p_i))^2 + alpha |f_t|^2        f_t(p) = sum_i c_it k(p_i, p),
                                                          c_t = (K + alpha I)^-1 y_t

(Saunders, Gammerman and Vovk, "Ridge regression learning algorithm in dual variables", 1998). One
factorisation serves all words, and the scores that the training pictures would get if each had been
left out follow from it in closed form (Allen's PRESS, 1974), so that alpha is chosen, and scores
are calibrated, on scores of unseen pictures without fitting twice.

Departures: squared error is an unusual loss for classification, but on few pictures the
regularisation matters more than the loss; all words share one alpha. Above some thousands of
pictures the kernel is expanded on landmarks, a seeded sample (Williams and Seeger, "Using the
Nyström method to speed up kernel machines", 2001). There is no intercept: what few pictures have
is near 0 anyway, and adding one changed no ranking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from sightline.annotators._alpha import MOST_JUDGED, Criterion, best_alpha, rankable_words, sample
from sightline.annotators._balance import balanced
from sightline.annotators._smoothers import (
    Decomposed,
    Primal,
    Retargetable,
    Revise,
    Smoother,
    solved,
)
from sightline.annotators._weights import best_weights
from sightline.annotators.targets import as_targets, mean_average_precision
from sightline.annotators.unlabelled import fit_without, likely_positive
from sightline.annotators.wrong_tags import without_wrong_tags
from sightline.contracts import PersistentEstimator
from sightline.errors import ParameterError
from sightline.similarity.grams import LANDMARKS, MOST_PICTURES
from sightline.similarity.kernels import (
    MeanKernel,
    as_views,
    check_columns,
    gram,
    input_kinds,
)
from sightline.similarity.landmark_kernel import LandmarkKernel
from sightline.similarity.serialization import (
    kernel_from_arrays,
    kernel_to_arrays,
    rows_from_arrays,
    rows_to_arrays,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.records import QuerySet
    from sightline.similarity.formulas import Rows
    from sightline.similarity.kernels import Statistic

_LONGEST_PRIMAL = 4096
_BLOCK = 1024
# The most pictures and words that weights of views are chosen on, and alpha if not yet chosen.
_WEIGHED_PICTURES = 1500
_WEIGHED_WORDS = 500
_WEIGHED_ALPHA = 0.2

# Scores are summed in float64 where that costs little, for few landmarks, and where float32 is not
# enough, since large coefficients cancel each other.
_FEW, _LARGE = 1_500, 1_000.0


class KernelRidge(PersistentEstimator):
    """Scores of all words for a picture, from pictures that have words.

    Parameters
    ----------
    kernel : str or tuple of str, default="rbf"
        Name in `sightline.similarity.formulas.KERNELS`, or one for each view.
    factor : float or tuple of float, default=0.7
        Of the median distance, which is the bandwidth; or one for each view. At the default the rbf
        kernel of two pictures at the median distance is 1/e.
    weights : tuple of float or {"auto"}, optional
        How much each view counts; equal by default. "auto" chooses it on leave-one-out scores:
        worth its time where some views may be of little use, not where all were well chosen.
    statistic : {"median", "mean"}, default="median"
        "median" or "mean" distance.
    alpha : float or {"auto"}, default="auto"
        Strength of the regulariser, in units of the mean k(p, p); "auto" chooses it.
    balance : float, default=0.0
        0 lets all pictures count equally; with b, those that have a word count (n- / n+)^b as much
        as the others. On the collections tried this ranked neither better nor worse. It needs all
        pictures as landmarks, and alpha is chosen as if it were 0.
    wrong_tags : {"kept", "excluded"}, default="kept"
        "excluded" fits again without the tags that left-out scores show to be wrong
        (`annotators.wrong_tags`), by the same factorisation. It does not go with a balance.
    criterion : {"AvgP", "error"}, default="error"
        What "auto" optimises, on leave-one-out scores: the least squared "error", or the largest
        mean "AvgP" over words, which takes longer and at the default factor ranked no better.
    landmarks : int, optional
        Number of landmarks of the kernel; None takes all up to 6,000 and 4,000 of more. With
        a linear kernel of up to 4,096 features and more pictures than landmarks, weights over the
        features are found instead, exactly.
    random_state : int, default=0
        Seed of landmarks, of the pairs that give the bandwidth and of the words alpha is chosen on.

    Attributes
    ----------
    classes_ : ndarray of shape (words,)
        The label of each word; its position, where y was a table.
    landmarks_ : tuple of ndarray
        The views' rows of the landmarks.
    dual_ : ndarray
        Coefficients c, (landmarks, words), float32.
    leave_one_out_ : ndarray
        Scores of the training pictures as if unseen, (pictures, words), float32.
    alpha_ : float
        As chosen; a fit with `alpha=alpha_` gives the same, faster.
    bandwidths_ : tuple of float
        As chosen; a fit with `alpha=alpha_` gives the same, faster.
    kernel_ : MeanKernel
        As chosen; a fit with `alpha=alpha_` gives the same, faster.
    W_ : ndarray
        Weights over the features, (words, features), of one view with a linear kernel.

    Examples
    --------
    >>> X = np.array([[0.0], [0.2], [1.0], [1.1], [0.9]], dtype=np.float32)
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1]])
    >>> ridge = KernelRidge(alpha=0.1).fit(X, Y)
    >>> ridge.decision_function([[0.1], [1.0]]).round(1)
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    >>> ridge.score(X, Y)
    1.0
    """

    _saved = ("classes_",)

    def __init__(
        self,
        *,
        kernel: str | tuple[str, ...] = "rbf",
        factor: float | tuple[float, ...] = 0.7,
        weights: tuple[float, ...] | Literal["auto"] | None = None,
        statistic: Statistic = "median",
        alpha: float | Literal["auto"] = "auto",
        balance: float = 0.0,
        wrong_tags: Literal["kept", "excluded"] = "kept",
        criterion: Criterion = "error",
        landmarks: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.factor = factor
        self.weights = weights
        self.statistic = statistic
        self.alpha = alpha
        self.balance = balance
        self.wrong_tags = wrong_tags
        self.criterion = criterion
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        queries: QuerySet | None = None,
        unlabelled: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Learn from pictures X, a matrix or a tuple of views, and the words y they have, 0 or 1.

        y may also be one label for each picture, which is then a word.

        Queries are not used: this model learns each word independently. Of the cells of y that are
        `unlabelled`, those that score as high as a word's own pictures are left out
        (`annotators.unlabelled`); that needs all pictures as landmarks.
        """
        self._check()
        inputs = X if isinstance(X, tuple) else (X,)
        names = self.kernel if isinstance(self.kernel, tuple) else (self.kernel,) * len(inputs)
        views = as_views(inputs, names)
        targets, self.classes_ = as_targets(y, views[0].shape[0], type(self).__name__)
        factors = self.factor if isinstance(self.factor, tuple) else (self.factor,) * len(views)
        self.kernel_ = MeanKernel.of(
            views,
            names,
            factors=factors,
            weights=None if self.weights == "auto" else self.weights,
            statistic=self.statistic,
            random_state=self.random_state,
        )
        self.bandwidths_ = self.kernel_.bandwidths
        if self.weights == "auto":
            self.kernel_ = replace(self.kernel_, weights=self._best_weights(views, targets))
        self._fit(views, targets, unlabelled)
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns that X had in `fit`, of all views."""
        return sum(int(rows.shape[1]) for rows in self.landmarks_)

    def decision_function(
        self, X: Any, words: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return scores of shape (pictures, words), of all words or of those at some positions."""
        self._check_fitted()
        views = as_views(X if isinstance(X, tuple) else (X,), self.kernel_.names)
        check_columns(views, self.n_features_in_, type(self).__name__)
        dual = np.ascontiguousarray(self.dual_ if words is None else self.dual_[:, words])
        exact = len(dual) < _FEW or np.abs(dual).max(initial=0.0) > _LARGE
        dual = dual.astype(np.float64) if exact else dual
        similarities = LandmarkKernel(self.kernel_, self.landmarks_)
        out = np.empty((views[0].shape[0], dual.shape[1]), dtype=np.float32)
        for rows in _slices(len(out)):
            part = tuple(v[rows] for v in views)
            K = self.kernel_(part, self.landmarks_) if exact else similarities(part)
            out[rows] = K @ dual
        return out

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: what the kernels of `kernel` take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.positive_only = input_kinds(self.kernel)
        return tags

    def score(self, X: Any, y: Any) -> float:
        """Return the mean AvgP over the words that some picture of X has."""
        scores = self.decision_function(X)
        targets, _ = as_targets(y, len(scores), type(self).__name__, self.classes_)
        return mean_average_precision(scores, targets)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs; `from_arrays` makes a ridge that scores the same."""
        self._check_fitted()
        arrays = {"dual": self.dual_, **kernel_to_arrays(self.kernel_)}
        for i, rows in enumerate(self.landmarks_):
            arrays |= rows_to_arrays(f"landmarks.{i}", rows)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted ridge as far as scoring goes."""
        kernel = kernel_from_arrays(arrays)
        n = len(kernel.bandwidths)
        landmarks = tuple(rows_from_arrays(f"landmarks.{i}", arrays) for i in range(n))
        return cls.of_coefficients(kernel, landmarks, arrays["dual"])

    @classmethod
    def of_coefficients(
        cls, kernel: MeanKernel, landmarks: tuple[Rows, ...], dual: NDArray[np.float32]
    ) -> Self:
        """Return a ridge of known coefficients, as far as scoring goes."""
        ridge = cls()
        ridge.kernel_, ridge.landmarks_, ridge.dual_ = kernel, landmarks, dual
        ridge.bandwidths_ = kernel.bandwidths
        ridge.classes_ = np.arange(dual.shape[1])
        return ridge

    def _check(self) -> None:
        name = type(self).__name__
        fixed = self.alpha != "auto"
        if fixed and not (_is_number(self.alpha) and 0 < float(self.alpha) < np.inf):
            raise ParameterError.of("alpha", name, "greater than 0, or 'auto'", self.alpha)
        if not (_is_number(self.balance) and 0 <= self.balance <= 1):
            raise ParameterError.of("balance", name, "from 0 to 1", self.balance)
        if isinstance(self.weights, str) and self.weights != "auto":
            raise ParameterError.of("weights", name, "numbers, None or 'auto'", self.weights)
        if self.wrong_tags not in ("kept", "excluded"):
            raise ParameterError.of("wrong_tags", name, "'kept' or 'excluded'", self.wrong_tags)
        if self.balance and self.wrong_tags == "excluded":
            raise ParameterError.of("wrong_tags", name, "'kept' with a balance", self.wrong_tags)
        if self.criterion not in ("AvgP", "error"):
            raise ParameterError.of("criterion", name, "'AvgP' or 'error'", self.criterion)
        if self.landmarks is not None and not (
            isinstance(self.landmarks, int | np.integer) and self.landmarks >= 1
        ):
            raise ParameterError.of("landmarks", name, "at least 1, or None", self.landmarks)

    def _best_weights(self, views: tuple[Rows, ...], Y: NDArray[np.float32]) -> tuple[float, ...]:
        pictures = sample(np.arange(len(Y)), _WEIGHED_PICTURES, self.random_state)
        some = Y[pictures]
        words = sample(rankable_words(some), _WEIGHED_WORDS, self.random_state)
        grams = [
            gram(v[pictures], kernel=name, bandwidth=s)
            for v, name, s in zip(views, self.kernel_.names, self.bandwidths_, strict=True)
        ]
        alpha = _WEIGHED_ALPHA if self.alpha == "auto" else float(self.alpha)
        return best_weights(grams, some[:, words], alpha)

    def _fit(
        self,
        views: tuple[Rows, ...],
        Y: NDArray[np.float32],
        unlabelled: NDArray[np.bool_] | None,
    ) -> None:
        chosen = self._chosen(len(Y))
        apart = self.balance or self.wrong_tags != "kept"
        if unlabelled is not None and (len(chosen) < len(Y) or apart):
            raise ParameterError.of(
                "unlabelled", type(self).__name__,
                "None with a balance or without wrong tags, and where "
                f"{len(chosen)} landmarks stand for {len(Y)} pictures",
                f"a table of shape {unlabelled.shape}",
            )  # fmt: skip
        if self.balance and len(chosen) < len(Y):
            raise ParameterError.of(
                "balance",
                type(self).__name__,
                f"0 where {len(chosen)} landmarks stand for {len(Y)} pictures",
                self.balance,
            )
        if self._is_linear() and len(chosen) < len(Y) and views[0].shape[1] <= _LONGEST_PRIMAL:
            self._fit_weights(views[0], Y)
            return
        landmarks = views if len(chosen) == len(Y) else tuple(v[chosen] for v in views)
        K = self.kernel_(landmarks)
        scale = float(K.diagonal().mean(dtype=np.float64)) or 1.0
        self.landmarks_ = landmarks
        if len(chosen) < len(Y):
            self._fit_landmarks(views, K, Y, scale)
        elif self.alpha != "auto":
            self.alpha_ = float(self.alpha)
            dual, self.leave_one_out_ = solved(K, Y, self.alpha_ * scale, self._revise())
            self.dual_ = dual.astype(np.float32)
        else:
            self.dual_ = self._settle(Decomposed(K, Y), scale).astype(np.float32)
        if unlabelled is not None:
            self._pass_over(K, Y, scale, unlabelled)
        if self.balance:
            dual, self.leave_one_out_ = balanced(K, Y, self.alpha_ * scale, self.balance)
            self.dual_ = dual.astype(np.float32)
        if self._is_linear():
            self.W_ = np.ascontiguousarray((landmarks[0].T @ self.dual_).T, dtype=np.float32)

    def _pass_over(
        self,
        K: NDArray[np.float32],
        Y: NDArray[np.float32],
        scale: float,
        unlabelled: NDArray[np.bool_],
    ) -> None:
        """Refit without unlabelled pictures that likely have a word."""
        likely = likely_positive(self.leave_one_out_, Y, unlabelled)
        fitted = (self.dual_.astype(np.float64), self.leave_one_out_)
        dual, self.leave_one_out_ = fit_without(K, Y, self.alpha_ * scale, likely, *fitted)
        self.dual_ = dual.astype(np.float32)

    def _fit_landmarks(
        self, views: tuple[Rows, ...], K: NDArray[np.float32], Y: NDArray[np.float32], scale: float
    ) -> None:
        root = inverse_root(K)

        def blocks() -> Iterator[tuple[slice, NDArray[np.float64]]]:
            for rows in _slices(len(Y)):
                yield rows, self.kernel_(tuple(v[rows] for v in views), self.landmarks_) @ root

        self.dual_ = (root @ self._settle(Primal(blocks, Y), scale)).astype(np.float32)

    def _fit_weights(self, rows: Rows, Y: NDArray[np.float32]) -> None:
        def blocks() -> Iterator[tuple[slice, NDArray[np.float64]]]:
            for block in _slices(len(Y)):
                part = rows[block]
                yield block, (part.toarray() if hasattr(part, "tocsr") else part).astype(np.float64)

        scale = sum(float(np.square(Z).sum()) for _, Z in blocks()) / len(Y) or 1.0
        W = self._settle(Primal(blocks, Y), scale)
        # Unit vectors as landmarks: k(p, e_j) = p_j, so that all forms are scored the same way.
        self.landmarks_ = (np.eye(len(W), dtype=np.float32),)
        self.dual_ = W.astype(np.float32)
        self.W_ = np.ascontiguousarray(self.dual_.T)

    def _settle(self, smoother: Retargetable, scale: float) -> NDArray[np.float64]:
        if self.alpha == "auto":
            judged = sample(np.arange(len(smoother.Y)), MOST_JUDGED, self.random_state)
            some = smoother.some(judged)
            self.alpha_ = best_alpha(some, scale, self.criterion, self.random_state)
        else:
            self.alpha_ = float(self.alpha)
        alpha, revise = self.alpha_ * scale, self._revise()
        self.leave_one_out_ = smoother.left_out(alpha)
        if revise is None:
            return smoother.coefficients(alpha)
        other: Smoother = smoother.retargeted(revise(self.leave_one_out_, smoother.Y))
        self.leave_one_out_ = other.left_out(alpha)
        return other.coefficients(alpha)

    def _revise(self) -> Revise | None:
        return without_wrong_tags if self.wrong_tags == "excluded" else None

    def _chosen(self, n: int) -> NDArray[np.int64]:
        n_landmarks = self.landmarks or (n if n <= MOST_PICTURES else LANDMARKS)
        return sample(np.arange(n), n_landmarks, self.random_state)

    def _is_linear(self) -> bool:
        return self.kernel_.names == ("linear",)


def inverse_root(K: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return a table R with R R' the inverse of a kernel, but for directions of rounding."""
    from scipy.linalg import eigh

    values, vectors = eigh(K.astype(np.float64, order="F"), driver="evd", overwrite_a=True)
    # Directions of float32 rounding errors would be amplified.
    significant = values > values[-1] * len(values) * np.finfo(np.float32).eps * 1e-3
    root: NDArray[np.float64] = vectors[:, significant] / np.sqrt(values[significant])
    return root


def _slices(n: int) -> Iterator[slice]:
    for start in range(0, n, _BLOCK):
        yield slice(start, min(start + _BLOCK, n))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
