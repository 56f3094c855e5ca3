"""Similarity measures of two pictures by one descriptor, by name.

Of two rows x, y, where s is the mean of the same distance over training pairs:

    cosine         x.y / (|x| |y|)                                 0 where a row is all zero
    exp-l1         exp(-sum_k |x_k - y_k| / s)
    exp-l2         exp(-sum_k (x_k - y_k)^2 / s)
    exp-chi2       exp(-sum_k (x_k - y_k)^2 / (x_k + y_k) / s)     of counts
    intersection   sum_k min(x_k, y_k)                             of counts
    minus-l2       -|x - y|

Wan, Wu, Hoi, Zhao, Gao, Wang, Zhang and Li, "Online learning to rank for content-based image
retrieval", 2015, use four without naming them; the first four are used here. Where all training
pairs are equal, s is 0 and every pair has similarity 1.

Counts are not negative. A descriptor with negative values in training is scaled to [0, 1] by the
least and largest value of each column there, and clipped (`Range`).

Sums that are no matrix product are in float32, a third of the time of float64: phi has float32's
precision as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sightline._typing import Doubles, Floats, Ints
from sightline.errors import ParameterError
from sightline.similarity.formulas import Rows, inner_products, squared_distances, squared_norms

# Numbers that are gathered at a time for listed pairs.
_GATHERED = 1 << 20


@dataclass(frozen=True, slots=True)
class PairMeasure:
    """A similarity or distance of two rows.

    Attributes
    ----------
    compare : callable
        From two blocks of dense float32 rows to an array of (rows, rows).
    of_pairs : callable
        From two blocks and the positions of pairs in them to one number for each pair.
    falls : bool
        `compare` gives a distance, and the similarity is exp(-distance / scale).
    counts : bool
        Rows must not be negative.
    """

    compare: Callable[[Floats, Floats], Doubles]
    of_pairs: Callable[[Floats, Floats, Ints, Ints], Doubles]
    falls: bool = False
    counts: bool = False

    def similarities(self, compared: Doubles, scale: float) -> Doubles:
        """Return similarities from the output of `compare`; may write over it.

        >>> MEASURES["exp-l1"].similarities(np.array([0.0, 2.0]), 2.0).round(3).tolist()
        [1.0, 0.368]
        >>> MEASURES["exp-l1"].similarities(np.array([0.0, 2.0]), 0.0).tolist()
        [1.0, 1.0]
        """
        if not self.falls:
            return compared
        if not scale > 0:
            return np.ones_like(compared)
        compared *= -1.0 / scale
        return np.exp(compared, out=compared)


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """The scaling of a descriptor to counts, which are not negative.

    `low` and `width` have a number for each of the descriptor's, or none where training rows were
    counts already.

    >>> signed = Range.of(np.array([[-1.0, 3.0], [1.0, 3.0]], dtype=np.float32))
    >>> signed(np.array([[0.0, 3.0], [9.0, 4.0]], dtype=np.float32)).tolist()
    [[0.5, 0.0], [1.0, 0.0]]
    """

    low: Floats
    width: Floats

    @classmethod
    def of(cls, rows: Floats) -> Range:
        """Learn the range of each number from training rows."""
        low = rows.min(axis=0)
        if not (low < 0).any():
            none = np.zeros(0, dtype=np.float32)
            return cls(none, none)
        return cls(low, rows.max(axis=0) - low)

    def __call__(self, rows: Floats) -> Floats:
        """Return rows that are not negative; a constant column becomes 0."""
        if not len(self.low):
            return np.maximum(rows, np.float32(0.0))
        out = rows - self.low
        out /= np.where(self.width > 0, self.width, np.float32(1.0))
        out[:, self.width <= 0] = 0.0
        return np.clip(out, np.float32(0.0), np.float32(1.0), out=out)


def check_measures(kinds: tuple[str, ...], owner: str) -> None:
    """Raise ParameterError unless all kinds are names in `MEASURES`."""
    if not kinds:
        raise ParameterError.of("kinds", owner, f"some of {sorted(MEASURES)}", kinds)
    for kind in kinds:
        if kind not in MEASURES:
            raise ParameterError.of("kinds", owner, f"some of {sorted(MEASURES)}", kind)


def dense(rows: Rows) -> Floats:
    """Return rows of `formulas.as_rows` in full."""
    return np.asarray(rows.toarray() if hasattr(rows, "tocsr") else rows)


def _cosines(a: Floats, b: Floats) -> Doubles:
    cosines = inner_products(a, b)
    cosines *= _inverse_lengths(a)[:, None]
    cosines *= _inverse_lengths(b)[None, :]
    return np.clip(cosines, -1.0, 1.0, out=cosines)


def _inverse_lengths(rows: Floats) -> Doubles:
    lengths = np.sqrt(squared_norms(rows))
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def _minus_distances(a: Floats, b: Floats) -> Doubles:
    distances = squared_distances(a, b)
    np.sqrt(distances, out=distances)
    return np.negative(distances, out=distances)


def _l1(a: Floats, b: Floats) -> Doubles:
    from sightline.similarity._distances_fast import l1_distances

    out = np.empty((len(a), len(b)), dtype=np.float32)
    l1_distances(a, np.ascontiguousarray(b.T), out)
    return out.astype(np.float64)


def _chi2(a: Floats, b: Floats) -> Doubles:
    from sightline.similarity._distances_fast import chi2_distances

    out = np.empty((len(a), len(b)), dtype=np.float32)
    chi2_distances(a, np.ascontiguousarray(b.T), out)
    return out.astype(np.float64)


def _shared(a: Floats, b: Floats) -> Doubles:
    # min(x, y) = (x + y - |x - y|) / 2
    shared = _l1(a, b)
    shared *= -0.5
    shared += 0.5 * a.sum(axis=1, dtype=np.float64)[:, None]
    shared += 0.5 * b.sum(axis=1, dtype=np.float64)[None, :]
    return np.maximum(shared, 0.0, out=shared)


def _in_parts(
    of_rows: Callable[[Doubles, Doubles], Doubles],
) -> Callable[[Floats, Floats, Ints, Ints], Doubles]:
    """Return a comparison of listed pairs that gathers some rows at a time."""

    def of_pairs(a: Floats, b: Floats, left: Ints, right: Ints) -> Doubles:
        out = np.empty(len(left))
        step = max(1, _GATHERED // max(1, a.shape[1]))
        for start in range(0, len(left), step):
            part = slice(start, start + step)
            x, y = a[left[part]].astype(np.float64), b[right[part]].astype(np.float64)
            out[part] = of_rows(x, y)
        return out

    return of_pairs


def _cosine_of_rows(x: Doubles, y: Doubles) -> Doubles:
    products = np.einsum("ij,ij->i", x, y)
    lengths = np.sqrt(np.einsum("ij,ij->i", x, x) * np.einsum("ij,ij->i", y, y))
    out = np.divide(products, lengths, out=np.zeros(len(x)), where=lengths > 0)
    return np.asarray(np.clip(out, -1.0, 1.0, out=out))


def _squared_of_rows(x: Doubles, y: Doubles) -> Doubles:
    x -= y
    return np.asarray(np.einsum("ij,ij->i", x, x))


def _minus_of_rows(x: Doubles, y: Doubles) -> Doubles:
    return np.asarray(-np.sqrt(_squared_of_rows(x, y)))


def _shared_of_rows(x: Doubles, y: Doubles) -> Doubles:
    return np.asarray(np.minimum(x, y).sum(axis=1))


def _l1_of_pairs(a: Floats, b: Floats, left: Ints, right: Ints) -> Doubles:
    from sightline.similarity._distances_fast import l1_of_pairs

    out = np.zeros(len(left), dtype=np.float32)
    l1_of_pairs(a, b, left, right, out)
    return out.astype(np.float64)


def _chi2_of_pairs(a: Floats, b: Floats, left: Ints, right: Ints) -> Doubles:
    from sightline.similarity._distances_fast import chi2_of_pairs

    out = np.zeros(len(left), dtype=np.float32)
    chi2_of_pairs(a, b, left, right, out)
    return out.astype(np.float64)


MEASURES = {
    "cosine": PairMeasure(_cosines, _in_parts(_cosine_of_rows)),
    "exp-l1": PairMeasure(_l1, _l1_of_pairs, falls=True),
    "exp-l2": PairMeasure(squared_distances, _in_parts(_squared_of_rows), falls=True),
    "exp-chi2": PairMeasure(_chi2, _chi2_of_pairs, falls=True, counts=True),
    "intersection": PairMeasure(_shared, _in_parts(_shared_of_rows), counts=True),
    "minus-l2": PairMeasure(_minus_distances, _in_parts(_minus_of_rows)),
}
"""The measures by name; a further one needs a line here and a test."""
FOUR = ("cosine", "exp-l1", "exp-l2", "exp-chi2")
"""The measures used for the paper's four."""
