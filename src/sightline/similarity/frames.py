"""Frames: how rows of a descriptor are laid out before they are compared, learnt from pictures.

    plain      as they are
    unit       of length 1
    root       signed square roots, of length 1
    standard   each number less its mean, by its deviation, within 3 deviations
    ranks      each number by the share of training pictures that have a smaller one
    damped     centred, strong directions damped (`whitening`), of length 1
    rooted     as root, and then damped
    reduced    of length 1, centred, the 128 directions in which training pictures differ most, of
               length 1; of shorter descriptors half of the directions
    compact    the same with 256 directions, strong ones damped as `whitening` does: what feedback
               learns best from of a network's activations

Which one is best differs between descriptors, and is decided by whoever has queries to decide by.
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
    """A kind of frame.

    `learn` makes arrays of the rows of training pictures; `lay_out` lays rows out by them; `sides`
    are those of the arrays, "d" where a side is as long as a row.
    """

    learn: Callable[[Floats], dict[str, Any]]
    lay_out: Callable[[Floats, Arrays], Floats]
    sides: Mapping[str, tuple[str, ...]]


def _nothing(train: Floats) -> dict[str, Any]:
    return {}


def _unit(rows: Floats, arrays: Arrays) -> Floats:
    return np.asarray(l2_normalize(rows, l2_norms(rows, np.float64).astype(np.float32)))


def _root(rows: Floats, arrays: Arrays) -> Floats:
    return _unit(np.sign(rows) * np.sqrt(np.abs(rows)), arrays)


def _learn_standard(train: Floats) -> dict[str, Any]:
    mean, spread = train.mean(axis=0), train.std(axis=0)
    # Rounding of a number that never differs is no spread.
    known = spread > 1e-6 * np.abs(train).max(axis=0)
    return {"mean": mean, "factor": known / np.where(known, spread, 1.0)}


def _standard(rows: Floats, arrays: Arrays) -> Floats:
    found = (rows - arrays["mean"]) * arrays["factor"]
    out: Floats = np.clip(found, -_WIDEST, _WIDEST).astype(np.float32)
    return out


def _learn_ranks(train: Floats) -> dict[str, Any]:
    return {"sorted": np.ascontiguousarray(np.sort(train, axis=0).T)}


def _ranks(rows: Floats, arrays: Arrays) -> Floats:
    out = np.empty(rows.shape, dtype=np.float32)
    for k, column in enumerate(arrays["sorted"]):
        out[:, k] = np.searchsorted(column, rows[:, k]) / len(column)
    return out


def _learn_damped(train: Floats) -> dict[str, Any]:
    w = Whitening.of(train)
    return {"mean": w.mean, "matrix": w.matrix}


def _damped(rows: Floats, arrays: Arrays) -> Floats:
    return np.asarray(Whitening(arrays["mean"], arrays["matrix"])(rows), np.float32)


def _learn_rooted(train: Floats) -> dict[str, Any]:
    return _learn_damped(_root(train, {}))


def _rooted(rows: Floats, arrays: Arrays) -> Floats:
    return _damped(_root(rows, {}), arrays)


def _learn_reduced(train: Floats, most: int = DIRECTIONS, damping: float = 0.0) -> dict[str, Any]:
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


def _learn_compact(train: Floats) -> dict[str, Any]:
    return _learn_reduced(train, MORE_DIRECTIONS, _DAMPING)


def _reduced(rows: Floats, arrays: Arrays) -> Floats:
    return _unit((_unit(rows, {}) - arrays["mean"]) @ arrays["directions"], {})


_KINDS: dict[str, _Kind] = {
    PLAIN: _Kind(_nothing, lambda rows, arrays: rows, {}),
    "unit": _Kind(_nothing, _unit, {}),
    "root": _Kind(_nothing, _root, {}),
    "standard": _Kind(_learn_standard, _standard, {"mean": ("d",), "factor": ("d",)}),
    "ranks": _Kind(_learn_ranks, _ranks, {"sorted": ("d", "n")}),
    "damped": _Kind(_learn_damped, _damped, {"mean": ("d",), "matrix": ("d", "d")}),
    "rooted": _Kind(_learn_rooted, _rooted, {"mean": ("d",), "matrix": ("d", "d")}),
    "reduced": _Kind(_learn_reduced, _reduced, {"mean": ("d",), "directions": ("d", "n")}),
    COMPACT: _Kind(_learn_compact, _reduced, {"mean": ("d",), "directions": ("d", "n")}),
}

KINDS = tuple(_KINDS)
"""The frames by name."""

FRAMES = tuple(kind for kind in KINDS if kind != COMPACT)
"""Those that are tried where likeness is learnt."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """How rows of one descriptor are laid out; frozen once it has learnt.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    length : int
        How many numbers rows have before.
    arrays : mapping
        What was learnt.

    Examples
    --------
    >>> rows = np.array([[3, 4], [0, 2], [0, 0]], dtype=np.float32)
    >>> Frame.of("unit", rows)(rows)
    array([[0.6, 0.8],
           [0. , 1. ],
           [0. , 0. ]], dtype=float32)
    >>> Frame.of("ranks", rows)(rows).round(2)
    array([[0.67, 0.67],
           [0.  , 0.33],
           [0.  , 0.  ]], dtype=float32)
    """

    kind: str
    length: int
    arrays: Arrays

    @classmethod
    def of(cls, kind: str, train: Any) -> Frame:
        """Learn from the rows of training pictures, dense or, for `plain` alone, sparse."""
        if kind not in _KINDS:
            raise ParameterError.of("kind", "Frame", f"one of {', '.join(KINDS)}", kind)
        rows = as_rows(train)
        if not rows.shape[0]:
            raise DataError("There is no picture to learn a frame from. Give at least one.")
        learnt = {} if kind == PLAIN else _KINDS[kind].learn(dense(rows))
        return cls(kind, int(rows.shape[1]), learnt)

    @classmethod
    def from_arrays(cls, kind: str, length: int, arrays: Arrays) -> Frame:
        """Make a frame again from what it had learnt."""
        if kind not in _KINDS:
            raise DataError(f"There is no frame {kind!r}. Known: {', '.join(KINDS)}.")
        sides = _KINDS[kind].sides
        got = {name: np.shape(a) for name, a in arrays.items()}
        if got.keys() != sides.keys() or not all(
            len(got[name]) == len(of)
            and all(n == length or s != "d" for n, s in zip(got[name], of, strict=True))
            for name, of in sides.items()
        ):
            raise DataError(f"A frame {kind!r} of {length} numbers cannot have arrays {got}.")
        return cls(kind, length, arrays)

    @property
    def framed_length(self) -> int:
        """How many numbers rows have once they are laid out."""
        return int(self.arrays["directions"].shape[1]) if self._shorter else self.length

    @property
    def _shorter(self) -> bool:
        return "directions" in self.arrays

    def __call__(self, rows: Any) -> Rows:
        """Return rows as they are to be compared."""
        given = as_rows(rows)
        if given.shape[1] != self.length:
            raise DataError(f"Rows must be of length {self.length}. Got {given.shape[1]}.")
        if self.kind == PLAIN:
            return given
        return _KINDS[self.kind].lay_out(dense(given), self.arrays)
