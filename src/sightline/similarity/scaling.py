"""Feature scaling before pictures are compared, fitted on training pictures.

    plain      not scaled
    unit       L2-normalised
    root       signed square roots, L2-normalised
    standard   standardised, clipped to 3 standard deviations
    ranks      each number replaced by the share of training pictures with a smaller one
    damped     centred, strong directions damped (`whitening`), L2-normalised
    rooted     as root, then damped
    reduced    L2-normalised, centred, reduced to the 128 principal directions of training pictures
               and L2-normalised again; shorter features keep half of their directions
    compact    the same with 256 directions, strong ones damped as `whitening` does: the best for
               relevance feedback with a network's activations

Which one is best differs between features; it is selected by validation queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sightline._typing import Floats
from sightline.errors import DataError, ParameterError
from sightline.similarity.distances import dense
from sightline.similarity.formulas import Rows, as_rows
from sightline.similarity.whitening import Whitening
from sightline.vectors import l2_normalize, l2_norms

PLAIN = "plain"
COMPACT = "compact"
DIRECTIONS, MORE_DIRECTIONS = 128, 256
_WIDEST = 3.0
_DAMPING, _FLOOR = 0.15, 1e-3

Arrays = Mapping[str, Any]


class _Kind(NamedTuple):
    """A kind of scaling.

    `fit` returns arrays from the rows of training pictures, `transform` scales rows by them.
    `sides` are those of the arrays, "d" where a side is as long as a row.
    """

    fit: Callable[[Floats], dict[str, Any]]
    transform: Callable[[Floats, Arrays], Floats]
    sides: Mapping[str, tuple[str, ...]]


def _fit_plain(train: Floats) -> dict[str, Any]:
    return {}


def _unit(rows: Floats, arrays: Arrays) -> Floats:
    return np.asarray(l2_normalize(rows, l2_norms(rows, np.float64).astype(np.float32)))


def _root(rows: Floats, arrays: Arrays) -> Floats:
    return _unit(np.sign(rows) * np.sqrt(np.abs(rows)), arrays)


def _fit_standard(train: Floats) -> dict[str, Any]:
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    # A column that never differs has a deviation of rounding alone, so the limit is not 0.
    varies = deviation > 1e-6 * np.abs(train).max(axis=0)
    return {"mean": mean, "factor": varies / np.where(varies, deviation, 1.0)}


def _standard(rows: Floats, arrays: Arrays) -> Floats:
    standardised = (rows - arrays["mean"]) * arrays["factor"]
    out: Floats = np.clip(standardised, -_WIDEST, _WIDEST).astype(np.float32)
    return out


def _fit_ranks(train: Floats) -> dict[str, Any]:
    return {"sorted": np.ascontiguousarray(np.sort(train, axis=0).T)}


def _ranks(rows: Floats, arrays: Arrays) -> Floats:
    out = np.empty(rows.shape, dtype=np.float32)
    for k, column in enumerate(arrays["sorted"]):
        out[:, k] = np.searchsorted(column, rows[:, k]) / len(column)
    return out


def _fit_damped(train: Floats) -> dict[str, Any]:
    w = Whitening.of(train)
    return {"mean": w.mean, "matrix": w.matrix}


def _damped(rows: Floats, arrays: Arrays) -> Floats:
    return np.asarray(Whitening(arrays["mean"], arrays["matrix"])(rows), np.float32)


def _fit_rooted(train: Floats) -> dict[str, Any]:
    return _fit_damped(_root(train, {}))


def _rooted(rows: Floats, arrays: Arrays) -> Floats:
    return _damped(_root(rows, {}), arrays)


def _fit_reduced(train: Floats, most: int = DIRECTIONS, damping: float = 0.0) -> dict[str, Any]:
    from scipy.linalg import eigh

    units = _unit(train, {})
    mean = units.mean(axis=0, dtype=np.float64)
    centred = units - mean
    d = train.shape[1]
    kept = min(most, (d + 1) // 2)
    values, V = eigh(centred.T @ centred, subset_by_index=(d - kept, d - 1))
    values, V = values[::-1], V[:, ::-1]
    # A library may return either sign of a direction.
    V = V * np.sign(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])])
    if damping and values[0] > 0:
        # The strongest direction stays as it is; lengths are brought to 1 anyway.
        V = V * (np.maximum(values, 0.0) / values[0] + _FLOOR) ** -damping
    return {"mean": mean.astype(np.float32), "directions": V.astype(np.float32)}


def _fit_compact(train: Floats) -> dict[str, Any]:
    return _fit_reduced(train, MORE_DIRECTIONS, _DAMPING)


def _reduced(rows: Floats, arrays: Arrays) -> Floats:
    return _unit((_unit(rows, {}) - arrays["mean"]) @ arrays["directions"], {})


_KINDS: dict[str, _Kind] = {
    PLAIN: _Kind(_fit_plain, lambda rows, arrays: rows, {}),
    "unit": _Kind(_fit_plain, _unit, {}),
    "root": _Kind(_fit_plain, _root, {}),
    "standard": _Kind(_fit_standard, _standard, {"mean": ("d",), "factor": ("d",)}),
    "ranks": _Kind(_fit_ranks, _ranks, {"sorted": ("d", "n")}),
    "damped": _Kind(_fit_damped, _damped, {"mean": ("d",), "matrix": ("d", "d")}),
    "rooted": _Kind(_fit_rooted, _rooted, {"mean": ("d",), "matrix": ("d", "d")}),
    "reduced": _Kind(_fit_reduced, _reduced, {"mean": ("d",), "directions": ("d", "n")}),
    COMPACT: _Kind(_fit_compact, _reduced, {"mean": ("d",), "directions": ("d", "n")}),
}

KINDS = tuple(_KINDS)
"""The scalings by name."""

SCALINGS = tuple(kind for kind in KINDS if kind != COMPACT)
"""Those in the grid of similarity models."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureScaling:
    """The scaling of one feature, fitted on training pictures.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    length : int
        Number of columns before scaling.
    arrays : mapping
        What was fitted.

    Examples
    --------
    >>> rows = np.array([[3, 4], [0, 2], [0, 0]], dtype=np.float32)
    >>> FeatureScaling.of("unit", rows)(rows)
    array([[0.6, 0.8],
           [0. , 1. ],
           [0. , 0. ]], dtype=float32)
    >>> FeatureScaling.of("ranks", rows)(rows).round(2)
    array([[0.67, 0.67],
           [0.  , 0.33],
           [0.  , 0.  ]], dtype=float32)
    """

    kind: str
    length: int
    arrays: Arrays

    @classmethod
    def of(cls, kind: str, train: Any) -> FeatureScaling:
        """Fit to the rows of training pictures, dense or, for `plain` alone, sparse."""
        if kind not in _KINDS:
            raise ParameterError.of("kind", "FeatureScaling", f"one of {', '.join(KINDS)}", kind)
        rows = as_rows(train)
        if not rows.shape[0]:
            raise DataError("There is no picture to fit a scaling to. Give at least one.")
        fitted = {} if kind == PLAIN else _KINDS[kind].fit(dense(rows))
        return cls(kind, int(rows.shape[1]), fitted)

    @classmethod
    def from_arrays(cls, kind: str, length: int, arrays: Arrays) -> FeatureScaling:
        """Return the scaling that these arrays are of."""
        if kind not in _KINDS:
            raise DataError(f"There is no feature scaling {kind!r}. Known: {', '.join(KINDS)}.")
        sides = _KINDS[kind].sides
        got = {name: np.shape(a) for name, a in arrays.items()}
        if got.keys() != sides.keys() or not all(
            len(got[name]) == len(of)
            and all(n == length or s != "d" for n, s in zip(got[name], of, strict=True))
            for name, of in sides.items()
        ):
            raise DataError(f"A scaling {kind!r} of {length} numbers cannot have arrays {got}.")
        return cls(kind, length, arrays)

    @property
    def scaled_length(self) -> int:
        """Number of columns after scaling."""
        return int(self.arrays["directions"].shape[1]) if self._shorter else self.length

    @property
    def _shorter(self) -> bool:
        return "directions" in self.arrays

    def __call__(self, rows: Any) -> Rows:
        """Return rows scaled."""
        table = as_rows(rows)
        if table.shape[1] != self.length:
            raise DataError(f"Rows must be of length {self.length}. Got {table.shape[1]}.")
        if self.kind == PLAIN:
            return table
        return _KINDS[self.kind].transform(dense(table), self.arrays)
