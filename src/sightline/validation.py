"""Checks of the input of estimators, with the messages that users of scikit-learn know.

Every estimator converts its input for its own loops; these checks come before. None copies an array
that already has the right type, and finite numbers are checked in one pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sightline.errors import DataError, DataTypeError

Classes = NDArray[Any]


def dense_table(X: Any, dtype: DTypeLike, name: str = "X") -> NDArray[Any]:
    """Return a C-contiguous matrix of real numbers; without a copy if X already is one.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Input of the estimator.
    dtype : dtype
        Type of the numbers. Those beyond its range become infinite, which `check_finite` rejects.
    name : str, default="X"
        What an error calls the table.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        The table, in C order.

    Examples
    --------
    >>> dense_table([[1, 2]], np.float32).dtype
    dtype('float32')
    >>> dense_table([1, 2], np.float32)
    Traceback (most recent call last):
    sightline.errors.DataError: X must be a table with a row for each sample. Got shape (2,). \
Reshape your data: X.reshape(1, -1) is one sample.
    """
    try:
        values = np.asarray(X)
        if values.dtype.kind == "c":
            raise DataError(f"Complex data not supported: {name} must hold real numbers.")
        with np.errstate(over="ignore"):
            table = np.ascontiguousarray(values, dtype=dtype)
    except TypeError as error:
        raise DataTypeError(f"{name} must be a table of numbers: {error}.") from error
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{name} must be a table of numbers: {error}.") from error
    if values.ndim != 2:
        raise DataError(
            f"{name} must be a table with a row for each sample. Got shape {values.shape}. "
            f"Reshape your data: {name}.reshape(1, -1) is one sample."
        )
    return table


def check_shape(
    shape: tuple[int, ...],
    owner: str,
    *,
    n_features: int | None = None,
    min_samples: int = 0,
    name: str = "X",
) -> None:
    """Raise an error unless a matrix has enough rows, a column, and as many columns as in `fit`.

    Parameters
    ----------
    shape : tuple of int
        Shape of the table.
    owner : str
        The estimator that an error names.
    n_features : int, optional
        Number of columns that the estimator was fitted with.
    min_samples : int, default=0
        Minimum number of rows.
    name : str, default="X"
        What an error calls the table.

    Examples
    --------
    >>> check_shape((5, 2), "PAMIR", n_features=3)
    Traceback (most recent call last):
    sightline.errors.DataError: X has 2 features, but PAMIR is expecting 3 features as input.
    """
    for axis, what, least in ((0, "sample", min_samples), (1, "feature", 1)):
        if shape[axis] < least:
            raise DataError(
                f"Found array with {shape[axis]} {what}(s) (shape={shape}) while a minimum of "
                f"{least} is required by {owner}."
            )
    if n_features is not None and shape[1] != n_features:
        raise DataError(
            f"{name} has {shape[1]} features, but {owner} is expecting {n_features} features as "
            "input."
        )


def check_finite(values: NDArray[Any], owner: str, name: str = "X") -> None:
    """Raise an error if any number is NaN or infinite.

    Parameters
    ----------
    values : ndarray
        Numbers of any shape; of a sparse matrix, those it stores.
    owner : str
        The estimator that an error names.
    name : str, default="X"
        What an error calls the numbers.

    Examples
    --------
    >>> check_finite(np.array([1.0, np.nan]), "PAMIR")
    Traceback (most recent call last):
    sightline.errors.DataError: X must hold finite numbers. PAMIR got 1 that are NaN or inf.
    """
    wrong = values.size - np.count_nonzero(np.isfinite(values))
    if wrong:
        raise DataError(
            f"{name} must hold finite numbers. {owner} got {wrong} that are NaN or inf."
        )


def check_sparse(X: Any, name: str = "X") -> None:
    """Raise an error unless a sparse matrix is a table of real numbers."""
    if X.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {name} must hold real numbers.")
    if X.ndim != 2:
        raise DataError(
            f"{name} must be a table with a row for each sample. Got shape {X.shape}. "
            f"Reshape your data: {name}.reshape(1, -1) is one sample."
        )


def class_labels(y: Any, qid: Any, n_words: int) -> Classes:
    """Return the label of each word: y's labels, where it has one for each sample, else positions.

    >>> class_labels(["sea", "oak"], None, 2).tolist(), class_labels([[1, 0, 0]], None, 3).tolist()
    (['oak', 'sea'], [0, 1, 2])
    """
    if qid is None and y is not None and not hasattr(y, "tocsr") and np.ndim(y) == 1:
        return np.unique(np.asarray(y))
    return np.arange(n_words)


def check_labels(y: Any, classes: Classes) -> None:
    """Raise an error unless all labels are known."""
    labels = np.asarray(y)
    unknown = labels[~np.isin(labels, classes)]
    if unknown.size:
        raise DataError(
            f"{unknown[0]!r} is none of the labels of the first fit. Fit again to learn new labels."
        )


def as_indicator(y: Any, owner: str, classes: Classes | None = None) -> tuple[Any, Classes]:
    """Return targets as a table with a column for each word, and the label of each column.

    Parameters
    ----------
    y : array-like of shape (n_samples, n_words) or (n_samples,)
        A table with 1 where a word fits, dense or sparse, which is returned as it is; or one label
        for each sample, which is then a word of its own.
    owner : str
        The estimator that an error names.
    classes : ndarray of shape (n_words,), optional
        The labels that the estimator was fitted with. A sample with another label fits no word.

    Returns
    -------
    table : array-like of shape (n_samples, n_words)
        Zeros and ones; sparse, where y has a label for each sample.
    classes : ndarray of shape (n_words,)
        The label of each column; its position, where y is a table.

    Examples
    --------
    >>> table, classes = as_indicator(["sea", "oak", "sea"], "PAMIR")
    >>> table.toarray().tolist(), classes.tolist()
    ([[0, 1], [1, 0], [0, 1]], ['oak', 'sea'])
    """
    if y is None:
        raise DataError(f"{owner} requires y to be passed, but the target y is None.")
    if hasattr(y, "tocsr"):
        return y, np.arange(y.shape[1])
    labels = np.asarray(y)
    if labels.ndim != 1:
        return labels, np.arange(labels.shape[1] if labels.ndim == 2 else 0)
    if labels.dtype.kind == "f" and not (labels == np.floor(labels)).all():
        raise DataError(
            f"Unknown label type: y of {owner} must be a table of samples and words, or one label "
            f"for each sample. Got numbers such as {labels[labels != np.floor(labels)][0]}."
        )
    columns = np.unique(labels) if classes is None else classes
    return _one_hot(labels, columns), columns


def _one_hot(labels: NDArray[Any], classes: Classes) -> Any:
    from scipy.sparse import csr_array

    column = {label: at for at, label in enumerate(classes.tolist())}
    word = np.array([column.get(label, -1) for label in labels.tolist()], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(word >= 0)])
    parts = (np.ones(start[-1], np.int8), word[word >= 0], start)
    return csr_array(parts, shape=(len(labels), len(classes)))
