"""phi(q, p): the similarities of two pictures, by every descriptor and every measure.

Component v K + k is the k-th of K measures (`distances`) on the v-th descriptor, or *view*, of the
two pictures, standardised over training pairs; nine descriptors and four measures are 36 numbers
(Wan et al., "Online learning to rank for content-based image retrieval", 2015, section 5.1). A
component that is the same for all training pairs is 0.

All of it is fitted to a seeded sample of training pairs of different pictures: the scales of
measures, the ranges of signed descriptors, means and variances.

Departure: the paper leaves open which measures are used and how components are scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightline._typing import Doubles, Floats, Ints
from sightline.errors import DataError, ParameterError
from sightline.similarity.distances import FOUR, MEASURES, Range, check_measures, dense
from sightline.similarity.formulas import Rows, as_rows
from sightline.similarity.serialization import names_from_array, names_to_array

Views = tuple[Rows, ...]
BUDGET = 64 << 20
# A spread below this share of the largest value is rounding.
_NO_SPREAD = 1e-6
_LARGEST_SIDE = 2048


@dataclass(frozen=True, slots=True, eq=False)
class Phi:
    """The comparison of pictures by all views and measures, learned from training pairs.

    Attributes
    ----------
    kinds : tuple of str
        Measures, by name.
    lengths : tuple of int
        Of each view.
    scales : ndarray of shape (views, measures)
        The mean distance, 0 where a measure needs none.
    ranges : tuple of Range
        The scaling of each view to counts.
    mean, factor : ndarray of float64
        Of each component; `factor` is 1 / deviation, 0 for a constant one.

    Examples
    --------
    >>> colours = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32)
    >>> phi = Phi.of((colours,), kinds=("cosine", "exp-l1"))
    >>> found = phi((colours[:1],), (colours,))
    >>> found.shape
    (1, 3, 2)
    >>> found[0].round(2)
    array([[ 1.59,  5.2 ],
           [-1.41, -1.41],
           [ 0.71,  0.71]], dtype=float32)
    >>> phi.names(("colours",))
    ('colours cosine', 'colours exp-l1')
    """

    kinds: tuple[str, ...]
    lengths: tuple[int, ...]
    scales: Doubles
    ranges: tuple[Range, ...]
    mean: Doubles
    factor: Doubles

    @classmethod
    def of(
        cls,
        views: Views,
        kinds: tuple[str, ...] = FOUR,
        pairs: int | Any = 20_000,
        random_state: int = 0,
    ) -> Phi:
        """Learn from the views of training pictures.

        Parameters
        ----------
        views : tuple of array-like
            One matrix for each descriptor, dense or scipy's sparse, a row for each picture.
        kinds : tuple of str, default=('cosine', 'exp-l1', 'exp-l2', 'exp-chi2')
            Names in `distances.MEASURES`.
        pairs : int or tuple of array-like, default=20000
            How many pairs of different pictures to draw, or the pairs themselves, (n, 2). All there
            are, where that is not more.
        random_state : int, default=0
            Seed of the draws.
        """
        check_measures(kinds, "Phi")
        matrices = _views(views)
        left, right = _training_pairs(pairs, matrices[0].shape[0], random_state)
        ranges = tuple(Range.of(dense(v)) for v in matrices)
        scales = np.zeros((len(matrices), len(kinds)))
        n = len(matrices) * len(kinds)
        mean, factor = np.zeros(n), np.zeros(n)
        for v, rows in enumerate(matrices):
            for k, kind in enumerate(kinds):
                measure = MEASURES[kind]
                compared = _compare_pairs(kind, ranges[v], rows, rows, left, right)
                if measure.falls:
                    scales[v, k] = compared.mean()
                values = measure.similarities(compared, scales[v, k])
                at = v * len(kinds) + k
                mean[at], factor[at] = values.mean(), _inverse_spread(values)
        lengths = tuple(int(v.shape[1]) for v in matrices)
        return cls(tuple(kinds), lengths, scales, ranges, mean, factor)

    @property
    def n_components(self) -> int:
        """How many numbers phi(q, p) has."""
        return len(self.mean)

    def names(self, views: tuple[str, ...]) -> tuple[str, ...]:
        """Return what each component is called, given what the views are."""
        if len(views) != len(self.lengths):
            raise DataError(f"There are {len(self.lengths)} views to name. Got {len(views)} names.")
        return tuple(f"{view} {kind}" for view in views for kind in self.kinds)

    def __call__(self, queries: Views, pictures: Views, *, budget: int = BUDGET) -> Floats:
        """Return phi of every query with every picture, (queries, pictures, components).

        Apart from the result, memory stays within about `budget` bytes.
        """
        n, m = self._check(queries)[0].shape[0], self._check(pictures)[0].shape[0]
        out = np.empty((n, m, self.n_components), dtype=np.float32)
        for rows, columns, block in self.blocks(queries, pictures, budget=budget):
            out[rows, columns] = block
        return out

    def blocks(
        self, queries: Views, pictures: Views, *, budget: int = BUDGET
    ) -> Iterator[tuple[slice, slice, Floats]]:
        """Yield phi block by block: which queries, which pictures, and the block."""
        query_views, picture_views = self._check(queries), self._check(pictures)
        n, m = query_views[0].shape[0], picture_views[0].shape[0]
        side, depth = self._sides(budget)
        for columns in _slices(m, side):
            right = tuple(dense(v[columns]) for v in picture_views)
            for rows in _slices(n, depth):
                left = tuple(dense(v[rows]) for v in query_views)
                yield rows, columns, self._block(left, right)

    def scores(
        self,
        queries: Views,
        pictures: Views,
        score: Callable[[Floats], Any],
        *,
        budget: int = BUDGET,
    ) -> Floats:
        """Return what a combiner makes of phi, (queries, pictures), without keeping phi itself.

        >>> rows = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32)
        >>> phi = Phi.of((rows,), kinds=("cosine",))
        >>> phi.scores((rows,), (rows,), lambda block: block.sum(axis=-1)).shape
        (3, 3)
        """
        n, m = self._check(queries)[0].shape[0], self._check(pictures)[0].shape[0]
        out = np.empty((n, m), dtype=np.float32)
        for rows, columns, block in self.blocks(queries, pictures, budget=budget):
            out[rows, columns] = score(block)
        return out

    def of_pairs(self, queries: Views, pictures: Views, left: Any, right: Any) -> Floats:
        """Return phi of listed pairs, (pairs, components): query left[i] with picture right[i]."""
        query_views, picture_views = self._check(queries), self._check(pictures)
        q = _places(left, query_views[0].shape[0], "left")
        p = _places(right, picture_views[0].shape[0], "right")
        if len(q) != len(p):
            raise DataError(f"Every pair has two pictures. Got {len(q)} and {len(p)}.")
        out = np.empty((len(q), self.n_components), dtype=np.float32)
        for v, (a, b) in enumerate(zip(query_views, picture_views, strict=True)):
            for k, kind in enumerate(self.kinds):
                compared = _compare_pairs(kind, self.ranges[v], a, b, q, p)
                self._fill(out, v, k, compared)
        return out

    def over(self, views: Views) -> PairsOf:
        """Return phi of pictures that are named by their rows in these views."""
        return PairsOf(self, self._check(views))

    def to_arrays(self) -> dict[str, Any]:
        """Return the fitted arrays; `from_arrays` makes the same phi."""
        arrays = {
            "kinds": names_to_array(self.kinds),
            "lengths": np.array(self.lengths, dtype=np.int64),
            "scales": self.scales,
            "mean": self.mean,
            "factor": self.factor,
        }
        for v, r in enumerate(self.ranges):
            arrays |= {f"low.{v}": r.low, f"width.{v}": r.width}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Phi:
        """Return phi as it was when `to_arrays` was called."""
        lengths = tuple(int(n) for n in arrays["lengths"])
        ranges = tuple(Range(arrays[f"low.{v}"], arrays[f"width.{v}"]) for v in range(len(lengths)))
        kinds = names_from_array(arrays["kinds"])
        return cls(kinds, lengths, arrays["scales"], ranges, arrays["mean"], arrays["factor"])

    def _block(self, left: tuple[Floats, ...], right: tuple[Floats, ...]) -> Floats:
        out = np.empty((len(left[0]), len(right[0]), self.n_components), dtype=np.float32)
        for v, (a, b) in enumerate(zip(left, right, strict=True)):
            counts: tuple[Floats, Floats] | None = None
            for k, kind in enumerate(self.kinds):
                measure = MEASURES[kind]
                if measure.counts and counts is None:
                    counts = self.ranges[v](a), self.ranges[v](b)
                x, y = counts if measure.counts and counts is not None else (a, b)
                self._fill(out, v, k, measure.compare(x, y))
        return out

    def _fill(self, out: Floats, view: int, kind: int, compared: Doubles) -> None:
        at = view * len(self.kinds) + kind
        values = MEASURES[self.kinds[kind]].similarities(compared, float(self.scales[view, kind]))
        values -= self.mean[at]
        values *= self.factor[at]
        out[..., at] = values

    def _sides(self, budget: int) -> tuple[int, int]:
        # A side's rows lie there as they are, as counts, transposed and in float64.
        side = int(budget / 3 / (20 * sum(self.lengths)))
        side = min(max(side, 1), _LARGEST_SIDE)
        depth = int(budget / 3 / (side * (24 + 4 * self.n_components)))
        return side, min(max(depth, 1), side)

    def _check(self, views: Views) -> Views:
        matrices = _views(views)
        lengths = tuple(int(v.shape[1]) for v in matrices)
        if lengths != self.lengths:
            raise DataError(f"Views must have the lengths {self.lengths}. Got {lengths}.")
        return matrices


@dataclass(frozen=True, slots=True, eq=False)
class PairsOf:
    """phi of pictures by their rows: what combiners learn from where triplets name pictures.

    >>> rows = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32)
    >>> source = Phi.of((rows,), kinds=("cosine",)).over((rows,))
    >>> source.differences([0], [2], [1], [1]).round(2)
    array([[2.12]], dtype=float32)
    """

    phi: Phi
    views: Views

    @property
    def n_components(self) -> int:
        """How many numbers phi(q, p) has."""
        return self.phi.n_components

    def rows(self, query: Any, picture: Any) -> Floats:
        """Return phi(query[i], picture[i]), (pairs, components)."""
        return self.phi.of_pairs(self.views, self.views, query, picture)

    def differences(self, query: Any, first: Any, second: Any, y: Any) -> Floats:
        """Return y (phi(query, first) - phi(query, second)) of each triplet.

        A pair that several triplets share is compared once.
        """
        return differences_of(self.rows, int(self.views[0].shape[0]), query, first, second, y)


def differences_of(
    rows: Callable[[Any, Any], Floats], n: int, query: Any, first: Any, second: Any, y: Any
) -> Floats:
    """Return differences of triplets of n pictures, given what makes rows of pairs."""
    q, one, two = (_places(v, n, "triplets") for v in (query, first, second))
    signs = np.asarray(y, dtype=np.float32)
    if not len(q) == len(one) == len(two) == len(signs):
        sizes = f"{len(q)}, {len(one)}, {len(two)} and {len(signs)}"
        raise DataError(f"Every triplet has a query, two pictures and a sign. Got {sizes}.")
    keys, where = np.unique(np.concatenate((q * n + one, q * n + two)), return_inverse=True)
    compared = rows(keys // n, keys % n)
    out = compared[where[: len(q)]]
    out -= compared[where[len(q) :]]
    out *= signs[:, None]
    return out


def _views(views: Any) -> Views:
    if not isinstance(views, tuple) or not views:
        raise DataError("Views must be a tuple of matrices, one for each descriptor.")
    matrices = tuple(as_rows(v) for v in views)
    n_rows = [int(v.shape[0]) for v in matrices]
    if len(set(n_rows)) != 1:
        raise DataError(f"Views must have one row for each picture. Got {n_rows} rows.")
    if not all(v.shape[1] for v in matrices):
        raise DataError("Every view must have at least one column. Got one without any.")
    return matrices


def _compare_pairs(kind: str, of_view: Range, a: Rows, b: Rows, left: Ints, right: Ints) -> Doubles:
    measure, x, y = MEASURES[kind], dense(a), dense(b)
    if measure.counts:
        x = of_view(x)
        y = x if b is a else of_view(y)
    return measure.of_pairs(x, y, left, right)


def _training_pairs(pairs: int | Any, n: int, random_state: int) -> tuple[Ints, Ints]:
    if n < 2:
        raise DataError(f"Phi compares pictures, and needs at least 2 of them. Got {n}.")
    if not isinstance(pairs, int | np.integer):
        listed = np.asarray(pairs)
        if listed.ndim != 2 or listed.shape[1] != 2 or not len(listed):
            raise DataError(f"Pairs must be a table of two columns. Got shape {listed.shape}.")
        return _places(listed[:, 0], n, "pairs"), _places(listed[:, 1], n, "pairs")
    if isinstance(pairs, bool) or pairs < 1:
        raise ParameterError.of("pairs", "Phi", "at least 1, or a table of pairs", pairs)
    if n * (n - 1) // 2 <= pairs:
        left, right = np.triu_indices(n, 1)
        return left.astype(np.int64), right.astype(np.int64)
    random = np.random.default_rng(random_state)
    first = random.integers(n, size=pairs)
    return first, (first + random.integers(1, n, size=pairs)) % n


def _inverse_spread(values: Doubles) -> float:
    spread = float(values.std())
    return 1.0 / spread if spread > _NO_SPREAD * float(np.abs(values).max()) else 0.0


def _places(values: Any, n: int, what: str) -> Ints:
    places = np.asarray(values)
    if places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
        raise DataError(f"{what} must be whole numbers in one row. Got {places.dtype}.")
    if places.size and not (places.min() >= 0 and places.max() < n):
        wrong = int(places.min() if places.min() < 0 else places.max())
        raise DataError(f"{what} name picture {wrong}, but there are {n}.")
    return places.astype(np.int64)


def _slices(n: int, side: int) -> Iterator[slice]:
    for start in range(0, n, side):
        yield slice(start, min(start + side, n))
