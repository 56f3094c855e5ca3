"""One support vector machine for each word over pictures that all words share.

With m_i = y_i (f(p_i) + b), y_i = 1 on pictures that have the word and -1 on the others,

    hinge           min  |f|^2 / 2 + C sum_i w_i max(0, 1 - m_i)
    squared_hinge   min  |f|^2 / 2 + C sum_i w_i max(0, 1 - m_i)^2

The second is, in the dual, a machine without slack for the kernel K + diag(1 / (2 C w_i)) (Cortes
and Vapnik, "Support-vector networks", 1995), so that one solver and one Gram matrix serve both. Up
to some thousands of pictures that is also many times faster than a linear solver on
the rows, where these are dense.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from sightline.errors import MissingExtra

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.similarity.formulas import Rows
    from sightline.similarity.kernels import MeanKernel

Loss = Literal["hinge", "squared_hinge"]
ClassWeight = Literal["balanced"] | None

# Alphas of a machine without slack have no bound; this one is never met.
_NO_SLACK = 1e9
_MOST_EPOCHS = 5000


class Solver(Protocol):
    """Fixed pictures, on which any word can be learned with any C.

    Scores of pictures are a table times the coefficients, plus the offset: a table of kernel values
    with the fixed pictures, or of the features themselves.
    """

    n_coefficients: int

    def fit(self, y: NDArray[np.bool_], C: float) -> tuple[NDArray[np.float64], float]:
        """Return coefficients and offset of a word that some of the pictures have, not all."""
        ...


class TrainingPictures(Protocol):
    """Training pictures, of which some are fitted and others predicted."""

    def solver(self, training: NDArray[np.int64]) -> Solver:
        """Return what learns from some of them."""
        ...

    def table(self, held: NDArray[np.int64], training: NDArray[np.int64]) -> Any:
        """Return some pictures as inputs of coefficients learned from others."""
        ...

    def table_of(self, views: tuple[Rows, ...]) -> Any:
        """Return other pictures as inputs of coefficients learned from all."""
        ...

    def weights(self, coefficients: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return coefficients learned from all as weights over features, (words, features)."""
        ...


class InGram:
    """Pictures by their kernel with each other; a coefficient for each picture learned from."""

    def __init__(
        self, kernel: MeanKernel, views: tuple[Rows, ...], loss: Loss, class_weight: ClassWeight
    ) -> None:
        self.kernel, self.views, self.K = kernel, views, kernel(views)
        self.loss, self.class_weight = loss, class_weight

    def solver(self, training: NDArray[np.int64]) -> Solver:
        K = self.K if len(training) == len(self.K) else self.K[np.ix_(training, training)]
        return _OnGram(K.astype(np.float64), self.loss, self.class_weight)

    def table(self, held: NDArray[np.int64], training: NDArray[np.int64]) -> Any:
        return self.K[np.ix_(held, training)]

    def table_of(self, views: tuple[Rows, ...]) -> Any:
        return self.kernel(views, self.views)

    def weights(self, coefficients: NDArray[np.float64]) -> NDArray[np.float32]:
        return np.ascontiguousarray((self.views[0].T @ coefficients).T, dtype=np.float32)


class InRows:
    """Pictures by their features; a coefficient for each feature."""

    def __init__(
        self, rows: Rows, loss: Loss, class_weight: ClassWeight, random_state: int
    ) -> None:
        self.rows, self.loss = rows, loss
        self.class_weight, self.random_state = class_weight, random_state

    def solver(self, training: NDArray[np.int64]) -> Solver:
        rows = self.rows if len(training) == self.rows.shape[0] else self.rows[training]
        return _OnRows(rows.astype(np.float64), self.loss, self.class_weight, self.random_state)

    def table(self, held: NDArray[np.int64], training: NDArray[np.int64]) -> Any:
        return self.rows[held]

    def table_of(self, views: tuple[Rows, ...]) -> Any:
        return views[0]

    def weights(self, coefficients: NDArray[np.float64]) -> NDArray[np.float32]:
        return np.ascontiguousarray(coefficients.T, dtype=np.float32)


class _OnGram:
    """The diagonal of K is written to while a word is learned, so K must not be shared."""

    def __init__(self, K: NDArray[np.float64], loss: Loss, class_weight: ClassWeight) -> None:
        self.K, self.loss, self.class_weight = K, loss, class_weight
        self.diagonal = K.diagonal().copy()
        self.n_coefficients = len(K)

    def fit(self, y: NDArray[np.bool_], C: float) -> tuple[NDArray[np.float64], float]:
        svc = sklearn_part("svm").SVC
        if self.loss == "hinge":
            np.fill_diagonal(self.K, self.diagonal)
            machine = svc(C=C, kernel="precomputed", class_weight=self.class_weight)
        else:
            weight = _weights(y, self.class_weight)
            np.fill_diagonal(self.K, self.diagonal + 0.5 / (C * weight))
            machine = svc(C=_NO_SLACK, kernel="precomputed")
        machine.fit(self.K, y.astype(np.int64))
        dual = np.zeros(self.n_coefficients)
        dual[machine.support_] = machine.dual_coef_[0]
        return dual, float(machine.intercept_[0])


class _OnRows:
    def __init__(
        self, rows: Rows, loss: Loss, class_weight: ClassWeight, random_state: int
    ) -> None:
        self.rows, self.loss = rows, loss
        self.class_weight, self.random_state = class_weight, random_state
        self.n_coefficients = int(rows.shape[1])

    def fit(self, y: NDArray[np.bool_], C: float) -> tuple[NDArray[np.float64], float]:
        machine = sklearn_part("svm").LinearSVC(
            C=C,
            loss=self.loss,
            dual="auto",
            class_weight=self.class_weight,
            max_iter=_MOST_EPOCHS,
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            # After so many epochs the order of pictures has long settled.
            warnings.simplefilter("ignore", sklearn_part("exceptions").ConvergenceWarning)
            machine.fit(self.rows, y.astype(np.int64))
        return np.asarray(machine.coef_[0], dtype=np.float64), float(machine.intercept_[0])


def sklearn_part(name: str = "") -> Any:
    """Return scikit-learn or a part of it; raise MissingExtra where it is not installed."""
    from importlib import import_module

    try:
        return import_module(f"sklearn.{name}" if name else "sklearn")
    except ImportError as error:
        raise MissingExtra.of("The ranker 'svm'", "baselines") from error


def fit_words(
    solver: Solver, Y: NDArray[np.bool_], C: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coefficients (coefficients, words) and offsets; 0 for words without a machine.

    Words whose C is NaN, and those on no picture or on all, get no machine.
    """
    coefficients, offsets = np.zeros((solver.n_coefficients, Y.shape[1])), np.zeros(Y.shape[1])
    # Checking what is the same for every word would take as long as learning a rare one.
    with sklearn_part().config_context(assume_finite=True, skip_parameter_validation=True):
        for t in np.flatnonzero(learnable(Y) & ~np.isnan(C)):
            coefficients[:, t], offsets[t] = solver.fit(Y[:, t], float(C[t]))
    return coefficients, offsets


def learnable(Y: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return of each word whether some pictures have it and some do not."""
    return np.asarray(Y.any(axis=0) & ~Y.all(axis=0))


def _weights(y: NDArray[np.bool_], class_weight: ClassWeight) -> NDArray[np.float64]:
    if class_weight is None:
        return np.ones(len(y))
    n_tagged = np.count_nonzero(y)
    return np.where(y, len(y) / (2.0 * n_tagged), len(y) / (2.0 * (len(y) - n_tagged)))
