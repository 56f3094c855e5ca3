"""Triplets whose query is a picture: of two others, the first should be more similar to it.

The order comes from classes or tags of pictures, or from judgements. The paper takes, for each
query, all relevant pictures and a sample of the others (Wan et al., 2015, section 5.1); that is
law="pairs": every pair of a query and a relevant picture comes as often as any other, give or take
one, each time with a newly drawn other picture. law="queries" draws queries uniformly, so that
pictures of large classes do not dominate.

A triplet of which two pictures are equal carries no information; it is left out and counted. Of
judgements that contradict each other the last one wins; those before it are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Ints
from sightline.errors import DataError, ParameterError
from sightline.solvers.graded import graded

Law = Literal["pairs", "queries"]
_BLOCK = 256


@dataclass(frozen=True, slots=True, eq=False)
class PictureTriplets:
    """Pictures by position: `first[i]` before `second[i]` for `query[i]` where y[i] is 1.

    Attributes
    ----------
    query, first, second, y : ndarray of int64 or ndarray
        Of each triplet; where y is -1 the second comes before the first.
    n_equal : int
        Triplets left out since two of their pictures are equal.
    n_contradicted : int
        Judgements left out since a later one contradicts them.
    n_dropped : int
        Queries never drawn, for want of a relevant or an other picture.

    Examples
    --------
    >>> triplets = PictureTriplets.of([0, 0], [1, 2], [2, 2], [-1, 1])
    >>> len(triplets), triplets.n_equal
    (1, 1)
    >>> [part.tolist() for part in triplets.lists()]
    [[0, 0], [1, 2], [0, 1]]
    """

    query: Ints
    first: Ints
    second: Ints
    y: NDArray[np.int8]
    n_equal: int = 0
    n_contradicted: int = 0
    n_dropped: int = 0

    def __len__(self) -> int:
        return len(self.query)

    @classmethod
    def of(
        cls,
        query: Any,
        first: Any,
        second: Any,
        y: Any = None,
        *,
        copies: Any = None,
        n_contradicted: int = 0,
        n_dropped: int = 0,
    ) -> PictureTriplets:
        """Return triplets without those of which two pictures are equal.

        `copies` gives each picture of the collection a number, the same for pictures of the same
        content; by default only a picture and itself are equal.
        """
        q, a, b = (_positions(v) for v in (query, first, second))
        signs = np.ones(len(q), np.int8) if y is None else np.asarray(y)
        if not len(q) == len(a) == len(b) == len(signs):
            sizes = f"{len(q)}, {len(a)}, {len(b)} and {len(signs)}"
            raise DataError(f"Every triplet has a query, two pictures and a sign. Got {sizes}.")
        if not np.isin(signs, (-1, 1)).all():
            wrong = signs[~np.isin(signs, (-1, 1))][0]
            raise DataError(f"The sign y of a triplet must be 1 or -1. Got {wrong}.")
        of_content = (
            (q, a, b) if copies is None else tuple(np.asarray(copies)[v] for v in (q, a, b))
        )
        x, p, o = of_content
        distinct = (p != o) & (x != p) & (x != o)
        n_equal = int(len(q) - np.count_nonzero(distinct))
        parts = q[distinct], a[distinct], b[distinct], signs[distinct].astype(np.int8)
        return cls(*parts, n_equal, n_contradicted, n_dropped)

    def lists(self) -> tuple[Ints, Ints, Ints]:
        """Return the same as lists: queries, pictures, and 1 for those that come first more often.

        Sorted by query, then by picture; the third part is 0 for all other pictures.
        """
        n = int(max(self.first.max(initial=0), self.second.max(initial=0))) + 1
        keys = np.concatenate((self.query * n + self.first, self.query * n + self.second))
        signs = np.concatenate((self.y, -self.y)).astype(np.float64)
        pairs, where = np.unique(keys, return_inverse=True)
        wins = np.bincount(where, signs, minlength=len(pairs))
        return pairs // n, pairs % n, (wins > 0).astype(np.int64)


def of_classes(
    classes: Any,
    n: int | None = None,
    *,
    queries: Any = None,
    pictures: Any = None,
    copies: Any = None,
    law: Law = "pairs",
    random_state: int = 0,
) -> PictureTriplets:
    """Return triplets of pictures with one class each; those of the query's class come first.

    Parameters
    ----------
    classes : array-like
        The class of each picture, a number or a string.
    n : int, optional
        How many triplets to draw; by default as many as there are pairs of a query and a relevant
        picture. Those left out as equal count.
    queries, pictures : array-like, optional
        Positions of the pictures that may be queries, and that may be ranked; all by default.
    copies : array-like, optional
        See `PictureTriplets.of`.
    law : {"pairs", "queries"}, default="pairs"
        "pairs" or "queries".
    random_state : int, default=0
        Seed of the draws.

    Examples
    --------
    >>> triplets = of_classes(["cat", "dog", "cat", "dog"], 100)
    >>> len(triplets), sorted(set(zip(triplets.query.tolist(), triplets.first.tolist())))
    (100, [(0, 2), (1, 3), (2, 0), (3, 1)])
    """
    labels = np.unique(np.asarray(classes), return_inverse=True)[1].reshape(-1)
    query_ids, pool = _chosen(queries, len(labels)), _chosen(pictures, len(labels))
    order = pool[np.argsort(labels[pool], kind="stable")]
    sizes = np.bincount(labels[pool], minlength=labels.max(initial=0) + 1)
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    position_in_order = np.full(len(labels), -1, dtype=np.int64)
    position_in_order[order] = np.arange(len(order))
    c = labels[query_ids]
    n_other = len(pool) - sizes[c]

    def relevant(which: Ints, k: Ints) -> Ints:
        place = start[c[which]] + k
        self_place = position_in_order[query_ids[which]]
        return np.asarray(order[place + ((self_place >= 0) & (place >= self_place))])

    def other(which: Ints, k: Ints) -> Ints:
        return np.asarray(order[k + np.where(k >= start[c[which]], sizes[c[which]], 0)])

    n_relevant = sizes[c] - (position_in_order[query_ids] >= 0)
    return _drawn(query_ids, n_relevant, n_other, relevant, other, n, law, copies, random_state)


def of_tags(
    tags: Any,
    n: int | None = None,
    *,
    least: int = 1,
    queries: Any = None,
    pictures: Any = None,
    copies: Any = None,
    law: Law = "pairs",
    random_state: int = 0,
) -> PictureTriplets:
    """Return triplets of pictures with tags; those that share enough with the query come first.

    Parameters
    ----------
    tags : array-like
        (pictures, tags), 1 where a picture has a tag; dense or scipy's sparse.
    least : int, default=1
        Number of shared tags that makes a picture relevant; a negative one shares none.
    n : int, optional
        As for `of_classes`.
    queries : array-like, optional
        As for `of_classes`.
    pictures : array-like, optional
        As for `of_classes`.
    copies : array-like, optional
        As for `of_classes`.
    law : {"pairs", "queries"}, default="pairs"
        As for `of_classes`.
    random_state : int, default=0
        As for `of_classes`.

    Examples
    --------
    >>> triplets = of_tags([[1, 0], [1, 1], [0, 1], [0, 0]], 50)
    >>> sorted(set(zip(triplets.query.tolist(), triplets.first.tolist())))
    [(0, 1), (1, 0), (1, 2), (2, 1)]
    """
    from scipy.sparse import csr_matrix

    if isinstance(least, bool) or not isinstance(least, int | np.integer) or least < 1:
        raise ParameterError.of("least", "of_tags", "a whole number of at least 1", least)
    table = csr_matrix(tags).astype(bool).astype(np.int32)
    query_ids, pool = _chosen(queries, table.shape[0]), _chosen(pictures, table.shape[0])
    across = table[pool].T.tocsr()

    def shared(which: Ints) -> NDArray[np.int32]:
        n_shared = np.asarray((table[query_ids[which]] @ across).toarray())
        # A query is not ranked for itself.
        n_shared[pool[None, :] == query_ids[which][:, None]] = -1
        return n_shared

    n_relevant, n_other = np.zeros((2, len(query_ids)), dtype=np.int64)
    for begin in range(0, len(query_ids), _BLOCK):
        which = np.arange(begin, min(begin + _BLOCK, len(query_ids)))
        n_shared = shared(which)
        n_relevant[which] = np.count_nonzero(n_shared >= least, axis=1)
        n_other[which] = np.count_nonzero(n_shared == 0, axis=1)

    def picker(
        fits: Callable[[NDArray[np.int32]], NDArray[np.bool_]],
    ) -> Callable[[Ints, Ints], Ints]:
        def pick(which: Ints, k: Ints) -> Ints:
            out = np.empty(len(which), dtype=np.int64)
            order = np.argsort(which, kind="stable")
            begins = np.flatnonzero(np.diff(which[order], prepend=-1))
            for drawn in np.split(order, begins[1:]) if len(order) else []:
                row = fits(shared(which[drawn[:1]])[0])
                out[drawn] = pool[np.flatnonzero(row)[k[drawn]]]
            return out

        return pick

    relevant, other = picker(lambda row: row >= least), picker(lambda row: row == 0)
    return _drawn(query_ids, n_relevant, n_other, relevant, other, n, law, copies, random_state)


def of_judgements(
    query: Any,
    picture: Any,
    relevance: Any,
    n: int | None = None,
    *,
    copies: Any = None,
    random_state: int = 0,
) -> PictureTriplets:
    """Return triplets of judged pictures; of two with different grades the higher comes first.

    Parameters
    ----------
    query, picture, relevance : array-like
        Of each judgement, in the order in which they were made.
    n : int, optional
        The most to draw; all pairs there are by default, and no pair twice.
    copies : array-like, optional
        As for `of_classes`.
    random_state : int, default=0
        As for `of_classes`.

    Examples
    --------
    >>> triplets = of_judgements([0, 0, 0, 0], [1, 2, 3, 1], [1, 0, 0, 0])
    >>> len(triplets), triplets.n_contradicted
    (0, 1)
    """
    q, p = _positions(query), _positions(picture)
    grades = np.asarray(relevance, dtype=np.float64)
    if not len(q) == len(p) == len(grades):
        raise DataError(
            "Every judgement has a query, a picture and a relevance. "
            f"Got {len(q)}, {len(p)} and {len(grades)}."
        )
    if not np.isfinite(grades).all():
        raise DataError("Every relevance must be finite.")
    last, n_contradicted = _last_ones(q, p, grades)
    q, p, grades = q[last], p[last], grades[last]
    which = np.unique(q, return_inverse=True)[1].reshape(-1)
    n_queries = int(which.max(initial=-1)) + 1
    pairs = graded(grades, which, n_queries, "linear")
    ends = pairs.pair_ends
    total = int(ends[-1]) if len(ends) else 0
    random = np.random.default_rng(random_state)
    chosen = _spread_out(total, total if n is None else min(_whole(n), total), random)
    at = np.searchsorted(ends, chosen, side="right")
    upper = pairs.upper[at]
    below = chosen - (ends[at] - pairs.n_lower[upper])
    lower = pairs.lower[pairs.lower_start[which[upper]] + below]
    return PictureTriplets.of(
        q[upper],
        p[upper],
        p[lower],
        copies=copies,
        n_contradicted=n_contradicted,
        n_dropped=int(np.count_nonzero(pairs.n_pairs == 0)),
    )


def _drawn(
    query_ids: Ints,
    n_relevant: Ints,
    n_other: Ints,
    relevant: Callable[[Ints, Ints], Ints],
    other: Callable[[Ints, Ints], Ints],
    n: int | None,
    law: Law,
    copies: Any,
    random_state: int,
) -> PictureTriplets:
    """Draw by how many pictures each query has; `relevant` and `other` find the k-th of them."""
    if law not in ("pairs", "queries"):
        raise ParameterError.of("law", "triplets", "'pairs' or 'queries'", law)
    usable = np.flatnonzero((n_relevant > 0) & (n_other > 0))
    if not len(usable):
        raise DataError(
            f"None of the {len(query_ids)} queries has both a picture that is relevant and one "
            "that is not, so there is nothing to learn. Give more pictures."
        )
    ends = np.cumsum(n_relevant[usable])
    total = int(ends[-1])
    size = total if n is None else _whole(n)
    random = np.random.default_rng(random_state)
    if law == "pairs":
        pair = _spread_out(total, size, random)
        at = np.searchsorted(ends, pair, side="right")
        which = usable[at]
        k = pair - (ends[at] - n_relevant[which])
    else:
        which = usable[random.integers(len(usable), size=size)]
        k = random.integers(n_relevant[which])
    away = other(which, random.integers(n_other[which]))
    return PictureTriplets.of(
        query_ids[which],
        relevant(which, k),
        away,
        copies=copies,
        n_dropped=len(query_ids) - len(usable),
    )


def _spread_out(total: int, n: int, random: np.random.Generator) -> Ints:
    """Return n of the numbers below `total` in random order, each as often as any, but for one."""
    if not total:
        return np.zeros(0, dtype=np.int64)
    some = random.choice(total, n % total, replace=False)
    if n < total:
        return some
    return random.permutation(np.concatenate((np.tile(np.arange(total), n // total), some)))


def _last_ones(query: Ints, picture: Ints, grades: NDArray[np.float64]) -> tuple[Ints, int]:
    """Return where the last judgement of each pair is, and how many earlier ones contradict it."""
    keys = query * (int(picture.max(initial=0)) + 1) + picture
    _, backwards, where = np.unique(keys[::-1], return_index=True, return_inverse=True)
    last = len(keys) - 1 - backwards
    differs = grades[::-1] != grades[last][where.reshape(-1)]
    return np.sort(last), int(np.count_nonzero(differs))


def _chosen(positions: Any, n: int) -> Ints:
    if positions is None:
        return np.arange(n)
    chosen = _positions(positions)
    if len(chosen) and not chosen.max() < n:
        raise DataError(f"There are {n} pictures. Got position {chosen.max()}.")
    return np.unique(chosen)


def _positions(values: Any) -> Ints:
    positions = np.asarray(values)
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
        raise DataError(f"Pictures must be whole numbers in one row. Got {positions.dtype}.")
    if positions.size and positions.min() < 0:
        raise DataError(f"A picture's position must not be negative. Got {positions.min()}.")
    return positions.astype(np.int64)


def _whole(n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ParameterError.of("n", "triplets", "a whole number of at least 1", n)
    return int(n)
