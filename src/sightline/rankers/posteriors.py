"""P(class | row): the space in which semantic matching compares queries and documents.

Three models. "logistic" is softmax regression on standardised columns. "chi2-svm" has a support
vector machine for each class, over the kernel exp(-chi2 / s) of counts, "chi2-ridge" the least
squares machine over the same kernel, which is solved once for all classes; the decisions g that
either gives to rows it was not fitted to are calibrated by softmax regression,

    P(c | x) = exp(w_c . g(x) + b_c) / sum over classes

where "scale" has one number in place of a row w_c for each class: w_c . g is a g_c. That leaves out
which classes are confused, which a ranker over the probabilities can learn itself.

Decisions for training rows come from five folds, of "chi2-ridge" from leaving out each row by
itself, which its inverse gives in closed form: g_i - alpha_i / (K + ridge I)^-1_ii.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Ints
from sightline.errors import DataError, MissingExtra, ParameterError
from sightline.similarity.kernels import bandwidth, gram
from sightline.validation import check_shape
from sightline.vectors import standardize

Model = Literal["logistic", "chi2-svm", "chi2-ridge"]
MODELS: tuple[str, ...] = get_args(Model)
Calibration = Literal["rows", "scale"]
CALIBRATIONS: tuple[str, ...] = get_args(Calibration)
_FOLDS = 5
# Of the softmax regression that calibrates decisions, for each row.
_CALIBRATION = 1e-4
# Bounds of the logarithm of one scale for all decisions.
_SCALES = (-7.0, 7.0)


class Posteriors:
    """Class probabilities of rows.

    Parameters
    ----------
    model : {"logistic", "chi2-svm", "chi2-ridge"}
        One of `MODELS`.
    strength : float, default=1.0
        How little is regularised, greater than 0: C of logistic regression and of machines, 1 /
        ridge of least squares.
    factor : float, default=1.0
        The kernel's bandwidth, as a share of the mean distance of rows.
    calibration : {"rows", "scale"}, default="rows"
        Of the decisions of kernels, "rows" of weights or one "scale" for all.

    Attributes
    ----------
    held_out_ : ndarray
        Probabilities of training rows, each by a model that was not fitted to it.
    """

    def __init__(
        self,
        model: Model,
        strength: float = 1.0,
        factor: float = 1.0,
        calibration: Calibration = "rows",
    ) -> None:
        if model not in MODELS:
            raise ParameterError.of("model", "semantic matching", f"one of {MODELS}", model)
        if not strength > 0 or not factor > 0:
            raise ParameterError.of(
                "strength", "semantic matching", "greater than 0, as 'factor' must", strength
            )
        if calibration not in CALIBRATIONS:
            raise ParameterError.of(
                "calibration", "semantic matching", f"one of {CALIBRATIONS}", calibration
            )
        self.model, self.strength, self.factor = model, float(strength), float(factor)
        self.calibration = calibration

    def fit(self, X: Any, classes: Ints, n_classes: int, targets: Doubles | None = None) -> Self:
        """Learn from rows and the number of each one's class.

        Parameters
        ----------
        targets : ndarray of shape (rows, classes), optional
            What "chi2-ridge" is fitted to in place of 1 for the class and 0 for the others, such as
            the mean of these and of a better model's predictions.
        """
        rows = _dense(X)
        present = np.bincount(classes, minlength=n_classes)
        if len(classes) != len(rows) or not (present >= 2).all():
            raise DataError(
                f"{len(rows)} rows need as many classes, and every class two rows. Got "
                f"{len(classes)}, the smallest of {int(present.min())}."
            )
        if targets is not None and (
            self.model != "chi2-ridge" or np.shape(targets) != (len(rows), n_classes)
        ):
            raise DataError(
                f"Targets are for 'chi2-ridge', of shape {(len(rows), n_classes)} here. Got "
                f"{np.shape(targets)} for {self.model!r}."
            )
        if self.model == "logistic":
            return self._fit_logistic(rows, classes, n_classes)
        self._rows = rows
        self._bandwidth = bandwidth(rows, "chi2", factor=self.factor, statistic="mean")
        K = gram(rows, kernel="chi2", bandwidth=self._bandwidth).astype(np.float64)
        if self.model == "chi2-ridge":
            onehot = np.eye(n_classes)[classes] if targets is None else targets
            self._coef, self._offset, held_out = _ridge(K, onehot, 1 / self.strength)
        else:
            self._coef, self._offset, held_out = _machines(K, classes, n_classes, self.strength)
        if self.calibration == "scale":
            self._W, self._b = scaled_softmax(held_out, classes, n_classes)
        else:
            self._W, self._b = softmax_regression(held_out, classes, n_classes, _CALIBRATION)
        self.held_out_ = softmax(held_out @ self._W.T + self._b)
        return self

    def _fit_logistic(self, rows: Doubles, classes: Ints, n_classes: int) -> Self:
        X, self._mean, self._scale = standardize(rows)
        l2 = 1.0 / (self.strength * len(X))
        self.held_out_ = np.empty((len(X), n_classes))
        for inside, outside in _folds(classes):
            W, b = softmax_regression(X[inside], classes[inside], n_classes, l2)
            self.held_out_[outside] = softmax(X[outside] @ W.T + b)
        self._W, self._b = softmax_regression(X, classes, n_classes, l2)
        return self

    @property
    def n_features(self) -> int:
        """Number of columns that rows had in `fit`."""
        return len(self._mean) if self.model == "logistic" else int(self._rows.shape[1])

    def predict(self, X: Any) -> Doubles:
        """Return probabilities, (rows, classes)."""
        rows = _dense(X)
        check_shape(rows.shape, type(self).__name__, n_features=self.n_features)
        if self.model == "logistic":
            return softmax((rows - self._mean) / self._scale @ self._W.T + self._b)
        K = gram(rows, self._rows, kernel="chi2", bandwidth=self._bandwidth).astype(np.float64)
        return softmax((K @ self._coef + self._offset) @ self._W.T + self._b)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that `predict` needs."""
        shared = {"model": np.array(MODELS.index(self.model)), "W": self._W, "b": self._b}
        if self.model == "logistic":
            return {**shared, "mean": self._mean, "scale": self._scale}
        return {
            **shared, "rows": self._rows, "coef": self._coef, "offset": self._offset,
            "bandwidth": np.array(self._bandwidth),
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a model that predicts the same."""
        model = cls(MODELS[int(arrays["model"])])  # type: ignore[arg-type]
        model._W, model._b = arrays["W"], arrays["b"]
        if model.model == "logistic":
            model._mean, model._scale = arrays["mean"], arrays["scale"]
        else:
            model._rows, model._coef = arrays["rows"], arrays["coef"]
            model._offset, model._bandwidth = arrays["offset"], float(arrays["bandwidth"])
        return model


def softmax(decisions: Doubles) -> Doubles:
    """Return exp of decisions, of sum 1 along rows."""
    raised = np.exp(decisions - decisions.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def softmax_regression(
    X: Any, classes: Ints | Doubles, n_classes: int, l2: float
) -> tuple[Doubles, Doubles]:
    """Return W and b that minimise the mean log loss + l2 / 2 ||W||^2.

    X is dense or scipy's sparse. `classes` has the class of each row, or the share that each class
    has in it, (rows, classes).

    >>> W, b = softmax_regression(np.array([[1.0], [-1.0]]), np.array([0, 1]), 2, 0.1)
    >>> bool(W[0, 0] > 0 > W[1, 0])
    True
    """
    from scipy.optimize import minimize

    n, columns = X.shape
    shares = np.eye(n_classes)[classes] if classes.ndim == 1 else classes

    def cost(flat: Doubles) -> tuple[float, Doubles]:
        W, b = flat[:-n_classes].reshape(n_classes, columns), flat[-n_classes:]
        P = softmax(X @ W.T + b)
        loss = -np.sum(shares * np.log(np.maximum(P, 1e-300))) / n
        error = (P - shares) / n
        slope = np.concatenate([(error.T @ X + l2 * W).ravel(), error.sum(axis=0)])
        return float(loss + l2 / 2 * np.sum(W * W)), slope

    start = np.zeros(n_classes * (columns + 1))
    fitted = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    return fitted[:-n_classes].reshape(n_classes, columns), fitted[-n_classes:]


def scaled_softmax(X: Doubles, classes: Ints, n_classes: int) -> tuple[Doubles, Doubles]:
    """Return a I and b that minimise the mean log loss; X has a column for each class.

    >>> decisions, classes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 1, 1])
    >>> W, b = scaled_softmax(decisions, classes, 2)
    >>> softmax(decisions @ W.T + b)[:, 1].round(2).tolist()
    [0.5, 1.0, 0.5]
    """
    from scipy.optimize import minimize

    n = len(X)
    onehot = np.eye(n_classes)[classes]

    def cost(flat: Doubles) -> tuple[float, Doubles]:
        a = float(np.exp(flat[0]))
        P = softmax(a * X + flat[1:])
        loss = -np.log(np.maximum(P[np.arange(n), classes], 1e-300)).mean()
        error = (P - onehot) / n
        return float(loss), np.concatenate([[a * np.sum(error * X)], error.sum(axis=0)])

    bounds = [_SCALES] + [(None, None)] * n_classes
    fitted = minimize(
        cost, np.zeros(n_classes + 1), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": 300},
    ).x  # fmt: skip
    return np.exp(fitted[0]) * np.eye(n_classes), fitted[1:]


def _ridge(K: Doubles, targets: Doubles, ridge: float) -> tuple[Doubles, Doubles, Doubles]:
    """Return coefficients, offset and left-out decisions of the least squares machine."""
    n = len(K)
    offset = targets.mean(axis=0)
    inverse = np.linalg.inv(K + ridge * np.eye(n))
    alpha = inverse @ (targets - offset)
    return alpha, offset, targets - alpha / np.diag(inverse)[:, None]


def _machines(
    K: Doubles, classes: Ints, n_classes: int, C: float
) -> tuple[Doubles, Doubles, Doubles]:
    """Return coefficients, offsets and left-out decisions of a machine for each class."""
    held_out = np.empty((len(K), n_classes))
    for inside, outside in _folds(classes):
        coef, offset = _machines_on(K[np.ix_(inside, inside)], classes[inside], n_classes, C)
        held_out[outside] = K[np.ix_(outside, inside)] @ coef + offset
    coef, offset = _machines_on(K, classes, n_classes, C)
    return coef, offset, held_out


def _machines_on(K: Doubles, classes: Ints, n_classes: int, C: float) -> tuple[Doubles, Doubles]:
    try:
        from sklearn.svm import SVC
    except ImportError as e:
        raise MissingExtra.of("A support vector machine", "baselines") from e
    coef, offset = np.zeros((len(K), n_classes)), np.empty(n_classes)
    for c in range(n_classes):
        machine = SVC(C=C, kernel="precomputed").fit(K, classes == c)
        coef[machine.support_, c] = machine.dual_coef_[0]
        offset[c] = machine.intercept_[0]
    return coef, offset


def _folds(classes: Ints) -> list[tuple[Ints, Ints]]:
    """Return (inside, outside) rows of folds that have their share of every class."""
    order = np.argsort(classes, kind="stable")
    fold = np.empty(len(classes), dtype=np.int64)
    fold[order] = np.arange(len(classes)) % _FOLDS
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(_FOLDS)]


def _dense(X: Any) -> Doubles:
    rows = np.asarray(X.toarray() if hasattr(X, "tocsr") else X, dtype=np.float64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise DataError(f"Rows must be a table of finite numbers. Got shape {rows.shape}.")
    return rows
