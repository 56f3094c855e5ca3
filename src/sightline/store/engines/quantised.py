"""Exact search in a quarter of the bytes: rows rounded to a byte a number, with a bound.

A scan costs what reading costs. A process that lives long, as a server does, keeps the rows of the
features that it is asked for as whole numbers from -127 to 127 as well, beside the mean row m of
their segment and its direction u:

    x = m + s c + e,   s = max |x_k - m_k| / 127,   c_k = round((x_k - m_k) / s)

    w.x <= w.m + s (w.c) + (w.u) (e.u) + |w - (w.u) u| |e - (e.u) u|

where e.u and the last length are kept for each row. Most features are nowhere negative, so that
rows and weights lie around u, and what is left beside it is short. The weights are rounded too, to
16 bits, which the bound allows for. So one pass over c bounds the score of every row from above.
The rows with the highest bounds are
ranked by w.x itself. Whatever the k best of them leave possible is ranked as well: a row is left
out only if its bound is below the k best scores, so that the answer is that of the full scan, not
nearly so. Where too many rows are left possible, all are scanned.

Rounded rows are made segment by segment when they are first needed, at most some bytes for a query,
and stay until their segment leaves the version. They are not stored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats, Ints
from sightline.records import DenseQuery, Top
from sightline.store.engines import flat
from sightline.store.engines.candidates import SELECTIVE
from sightline.store.engines.tables import Published
from sightline.store.matrices import StoredSparseMatrix
from sightline.store.segments import OpenSegment
from sightline.vectors import l2_normalize, l2_norms

# Tables of fewer numbers are scanned in a moment.
LEAST_NUMBERS = 1 << 20
# How many numbers one query rounds; those of later segments are rounded by later queries.
ROUNDED_AT_ONCE = 64 << 20
# Rows ranked exactly at first: a multiple of those asked for, and some more.
_TIMES, _SPARE = 2, 256
# Where more than this share of the rows is left possible or asked for, all are scanned.
_MOST_SHARE = 1 / 8
# Of the largest score: what sums of float32 may differ by.
_TOLERANCE = 1e-4
_LARGEST = 127
# Besides its codes, a row has a scale and three lengths.
_BYTES_A_ROW = 16


@dataclass(frozen=True, slots=True, eq=False)
class QuantisedRows:
    """The rows of one segment and feature, rounded.

    Attributes
    ----------
    codes : ndarray of int8
        The rows as whole numbers.
    scale : ndarray of float32
        What one of them stands for, by row.
    length, along, error : ndarray of float32
        The length of each row, and of what rounding changed, e, the part along u and the length of
        the rest.
    mean, direction : ndarray of float32
        The mean row m, and its direction u; 0 if m is.

    Examples
    --------
    >>> q = QuantisedRows.of(np.array([[1.0, -0.5], [-1.0, 0.5]], np.float32))
    >>> q.codes.tolist(), (127 * q.scale).tolist()
    ([[127, -64], [-127, 64]], [1.0, 1.0])
    """

    codes: NDArray[np.int8]
    scale: Floats
    length: Floats
    along: Floats
    error: Floats
    mean: Floats
    direction: Floats

    @classmethod
    def of(cls, rows: Floats) -> QuantisedRows:
        """Round rows."""
        from sightline.store.engines import _quantised_fast

        # Of rows that are no numbers the mean is none: they are as far from it as can be.
        mean = np.nan_to_num(rows.mean(axis=0, dtype=np.float32))
        direction = np.asarray(l2_normalize(mean[None], l2_norms(mean[None]))[0], np.float32)
        scale, length, along, error = (np.empty(len(rows), np.float32) for _ in range(4))
        codes = np.empty(rows.shape, np.int8)
        arrays = codes, scale, length, along, error
        _quantised_fast.quantise(rows, mean, direction, *arrays)
        return cls(*arrays, mean, direction)

    @property
    def n_bytes(self) -> int:
        """The memory it takes, but for two rows."""
        return _bytes_of(self.codes)

    def of_weights(self, w: Doubles, unit: float, wrong: float) -> Floats:
        """Return what the scan needs of weights besides their whole numbers."""
        forward = float(w @ self.direction)
        sideward = float(np.linalg.norm(w - forward * self.direction))
        length = float(np.linalg.norm(self.mean.astype(np.float64)))
        numbers = unit, float(w @ self.mean), forward, sideward, wrong, length * wrong
        return np.array(numbers, np.float32)


class Quantised:
    """The rounded rows of a process, by the files that they are of.

    Parameters
    ----------
    most_bytes : int
        How much memory they may take. Features that are asked for when it is taken are scanned.
    least_numbers : int, default=1_048_576
        Tables of fewer numbers are scanned.

    Attributes
    ----------
    n_answers : int
        How many queries were answered.
    """

    def __init__(self, most_bytes: int, least_numbers: int = LEAST_NUMBERS) -> None:
        self.most_bytes, self.least_numbers = most_bytes, least_numbers
        self.n_answers = 0
        self._rounded: dict[str, QuantisedRows] = {}
        self._lock = threading.Lock()

    @property
    def n_bytes(self) -> int:
        """The memory that rounded rows take."""
        return sum(q.n_bytes for q in list(self._rounded.values()))

    def serves(self, p: Published, feature: str, k: int) -> bool:
        """Return whether queries of a feature for k pictures are answered, once rows are there."""
        parts = _parts(p, feature)
        matrices = [(name, _matrix(s, feature)) for s, name in parts]
        rows, numbers = sum(len(m) for _, m in matrices), sum(m.size for _, m in matrices)
        missing = sum(_bytes_of(m) for name, m in matrices if name not in self._rounded)
        fits = not missing or self._bytes_in(p) + missing <= self.most_bytes
        return self.least_numbers <= numbers and fits and k <= _MOST_SHARE * rows

    def _bytes_in(self, p: Published) -> int:
        """Return the memory that rounded rows of a version take."""
        return sum(q.n_bytes for name, q in list(self._rounded.items()) if name in _files(p))

    def top(self, p: Published, query: DenseQuery, k: int, where: Ints | None) -> Top | None:
        """Return the k best pictures as the flat scan ranks them; None where that must be asked.

        Parameters
        ----------
        where : ndarray of int64, optional
            The only ids that may appear, ascending.
        """
        segments = [s for s, _ in _parts(p, query.feature)]
        return self.top_by(p, query, k, where, lambda ids: flat.dense_top(segments, query, k, ids))

    def top_by(
        self,
        p: Published,
        query: DenseQuery,
        k: int,
        where: Ints | None,
        rank: Callable[[Ints], Top],
        added: Floats | None = None,
    ) -> Top | None:
        """Return the k best pictures by the score of a query and a number for each.

        Parameters
        ----------
        rank : callable
            Returns the best of some pictures, ids ascending, as they are to be ranked, k at most.
        added : ndarray of float32, optional
            What counts with the score of each row of the feature, in storage order.
        """
        weights = np.ascontiguousarray(query.weights, np.float32)
        if k < 1 or not np.isfinite(weights).all() or not self.serves(p, query.feature, k):
            return None
        parts = _parts(p, query.feature)
        rows = sum(len(s.ids) for s, _ in parts)
        short = where is not None and len(where) < SELECTIVE * rows
        if short or weights.shape != _matrix(parts[0][0], query.feature).shape[1:]:
            return None
        rounded = self._all(p, parts, query.feature)
        if rounded is None:
            return None
        segments = [s for s, _ in parts]
        room = _TIMES * k + _SPARE
        bounds = _Bounds(segments, rounded, weights, query.by, where, room, added)
        top = rank(bounds.first())
        least = _least(top, k)
        if bounds.rest == -np.inf or bounds.rest < least:
            self.n_answers += 1
            return top
        possible = bounds.from_(least)
        if len(possible) > _MOST_SHARE * rows:
            return None
        self.n_answers += 1
        return rank(possible)

    def _all(
        self, p: Published, parts: Sequence[tuple[OpenSegment, str]], feature: str
    ) -> list[QuantisedRows] | None:
        """Return the rounded rows of each part; None while they are not all there."""
        missing = [(s, name) for s, name in parts if name not in self._rounded]
        # While another query rounds rows, this one is answered by a scan.
        if missing and self._lock.acquire(blocking=False):
            try:
                self._round(p, missing, feature)
            finally:
                self._lock.release()
        rounded = [self._rounded.get(name) for _, name in parts]
        complete = [q for q in rounded if q is not None]
        return complete if len(complete) == len(rounded) else None

    def _round(
        self, p: Published, missing: Sequence[tuple[OpenSegment, str]], feature: str
    ) -> None:
        for name in self._rounded.keys() - _files(p):
            del self._rounded[name]
        numbers = 0
        for s, name in missing:
            matrix = _matrix(s, feature)
            numbers += matrix.size
            if numbers > ROUNDED_AT_ONCE and numbers > matrix.size:
                return
            self._rounded[name] = QuantisedRows.of(matrix)


class _Bounds:
    """The highest score that each row can have, and the rows where it is highest."""

    def __init__(
        self,
        segments: Sequence[OpenSegment],
        rounded: Sequence[QuantisedRows],
        weights: Floats,
        by: flat.By,
        where: Ints | None,
        n: int,
        added: Floats | None = None,
    ) -> None:
        from sightline.store.engines import _quantised_fast as fast

        kind = {"product": fast.PRODUCT, "cosine": fast.COSINE, "distance": fast.DISTANCE}[by]
        self._segments = segments
        self._start = np.concatenate([[0], np.cumsum([len(s.ids) for s in segments])])
        rows = int(self._start[-1])
        v, unit = whole_weights(weights)
        w = weights.astype(np.float64)
        wrong = float(np.linalg.norm(w - unit * v))
        self._upper = np.empty(rows, np.float32)
        best, place = np.empty(min(n, rows), np.float32), np.empty(min(n, rows), np.int64)
        n_best = 0
        for s, q, start in zip(segments, rounded, self._start[:-1].tolist(), strict=True):
            part = self._upper[start : start + len(s.ids)]
            more = _NOTHING if added is None else added[start : start + len(s.ids)]
            n_best = fast.scan(
                q.codes, q.scale, q.length, q.along, q.error, v, q.of_weights(w, unit, wrong),
                kind, more, _excluded(s, where), start, part, best, place, n_best,
            )  # fmt: skip
        self._place = np.sort(place[:n_best])
        # No row that is not among them can have a higher score.
        self.rest = float(best[0]) if n_best == len(best) < rows else -np.inf

    def first(self) -> Ints:
        """Return the pictures with the highest bounds, ascending."""
        return self._ids(self._place)

    def from_(self, least: float) -> Ints:
        """Return the pictures whose score may reach `least`, ascending."""
        return self._ids(flat.above(self._upper, least))

    def _ids(self, places: Ints) -> Ints:
        cuts = np.searchsorted(places, self._start)
        ids = [
            s.ids[places[cuts[i] : cuts[i + 1]] - self._start[i]]
            for i, s in enumerate(self._segments)
        ]
        return np.sort(np.concatenate(ids))


_NOTHING: Floats = np.zeros(0, np.float32)
_NONE_EXCLUDED: NDArray[np.bool_] = np.zeros(0, bool)


def _excluded(s: OpenSegment, where: Ints | None) -> NDArray[np.bool_]:
    """Return for each row of a segment whether it may not appear; empty if all may."""
    if where is None:
        return ~s.alive() if len(s.dead) else _NONE_EXCLUDED
    out = np.ones(len(s.ids), bool)
    out[s.rows_of(where)] = False
    return out


def _least(top: Top, k: int) -> float:
    """Return the score that a row must be able to reach to be among the k best."""
    if len(top.ids) < k:
        return -np.inf
    least, most = float(top.scores[-1]), float(top.scores[0])
    return least - _TOLERANCE * max(abs(least), abs(most))


def _parts(p: Published, feature: str) -> list[tuple[OpenSegment, str]]:
    """Return the segments that have dense rows of a feature, with the names of their files."""
    out = []
    for s, listed in zip(p.segments, p.listed, strict=True):
        for f in listed.features:
            if f.feature == feature and len(s.ids):
                if isinstance(s.features[feature], StoredSparseMatrix):
                    return []
                out.append((s, f.file.name))
    return out


def _files(p: Published) -> set[str]:
    """Return the names of all files of features in a version."""
    return {f.file.name for listed in p.listed for f in listed.features}


def _bytes_of(matrix: NDArray[Any]) -> int:
    """Return the memory that the rows of a matrix take when rounded."""
    return matrix.size + _BYTES_A_ROW * len(matrix)


def _matrix(s: OpenSegment, feature: str) -> Floats:
    return np.asarray(s.features[feature])


def whole_weights(w: Floats) -> tuple[NDArray[np.int16], float]:
    """Return weights as whole numbers, as large as sums of 32 bits allow, and what one stands for.

    >>> v, unit = whole_weights(np.array([0.5, -1.0], np.float32))
    >>> (v * unit).round(4).tolist()
    [0.5, -1.0]
    """
    largest = min(2**15 - 1, (2**31 - 1) // (_LARGEST * len(w)))
    longest = float(np.abs(w).max())
    unit = longest / largest
    if unit == 0.0:
        return np.zeros(len(w), np.int16), 0.0
    return np.rint(w.astype(np.float64) / unit).astype(np.int16), unit
