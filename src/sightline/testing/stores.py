"""The check that every store must pass: exact hits, filters and ties, compared with numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Ints
from sightline.contracts import Store
from sightline.records import Batch, DenseQuery, FeatureRows, SparseQuery, SparseRows, Top

FEATURE, SPARSE = "check-0", "check-1"
_LENGTH = 16

Fill = Callable[[Sequence[Batch], Sequence[int]], Store]


def check_store(fill: Fill, n: int = 700, recall: float = 1.0) -> None:
    """Check a store made by `fill(batches, deleted ids)`, whatever engine searches it.

    Dense queries, by product, distance and cosine, and sparse ones must give the exact best
    pictures in order of score, ties by id; a filter must give the exact best of what it lets
    through; deleted and replaced rows never show.

    Parameters
    ----------
    fill : callable
        Makes a store from batches, without the deleted ids.
    n : int, default=700
        How many pictures to make.
    recall : float, default=1.0
        The least average recall of dense queries whose filter leaves at least a tenth of the
        pictures; below 1 for an approximate index. Its hits must still have exact scores, be in
        order and pass the filter.
    """
    rng = np.random.default_rng(7)
    batches, rows, terms = _batches(rng, n)
    deleted = sorted(rng.choice(sorted(rows), n // 7, replace=False).tolist())
    store = fill(batches, deleted)
    for i in deleted:
        rows.pop(i), terms.pop(i)
    ids = np.array(sorted(rows), np.int64)
    _same(store.ids(), ids, "ids() are not the live pictures, ascending")
    matrix = np.stack([rows[int(i)] for i in ids])
    recalls: list[float] = []
    for k in (1, 10, len(ids) + 5):
        for where in (None, ids[::3], ids[5::20], ids[:2], ids[:0]):
            least = recall if where is None or len(where) * 10 >= len(ids) else 1.0
            recalls += _check_dense(store, rng, ids, matrix, k, where, least)
            _check_sparse(store, ids, terms, k, where)
    if np.mean(recalls) < recall:
        raise AssertionError(f"top() finds {np.mean(recalls):.3f} of the best, not {recall}")


def _batches(
    rng: np.random.Generator, n: int
) -> tuple[list[Batch], dict[int, NDArray[np.float32]], dict[int, tuple[int, ...]]]:
    """Make batches in which some pictures come twice, and the later row counts."""
    rows: dict[int, NDArray[np.float32]] = {}
    terms: dict[int, tuple[int, ...]] = {}
    batches = []
    for start in range(0, n, 100):
        again = rng.choice(start, 5, replace=False) + 1 if start else np.zeros(0, np.int64)
        ids = np.unique(np.concatenate([np.arange(start, start + 100) + 1, again]))
        # Few different values, so that many scores are equal and the tie rule is seen at work.
        matrix = rng.integers(-1, 2, (len(ids), _LENGTH)).astype(np.float32)
        words = [tuple(sorted(set(rng.integers(1, 12, rng.integers(0, 4)).tolist()))) for _ in ids]
        features = (FeatureRows(FEATURE, matrix), _sparse(matrix))
        batches.append(Batch(ids.astype(np.int64), tuple(words), (b"",) * len(ids), features))
        rows.update(zip(ids.tolist(), matrix, strict=True))
        terms.update(zip(ids.tolist(), words, strict=True))
    return batches, rows, terms


def _sparse(matrix: NDArray[np.float32]) -> SparseRows:
    row, index = np.nonzero(matrix)
    start = np.searchsorted(row, np.arange(len(matrix) + 1)).astype(np.int64)
    return SparseRows(SPARSE, _LENGTH, start, index.astype(np.int32), matrix[row, index])


def _check_dense(
    store: Store,
    rng: np.random.Generator,
    ids: Ints,
    matrix: NDArray[np.float32],
    k: int,
    where: Ints | None,
    recall: float,
) -> list[float]:
    weights = rng.integers(-2, 3, _LENGTH).astype(np.float32)
    products, squares = matrix @ weights, (matrix**2).sum(axis=1)
    lengths = np.where(squares > 0, np.sqrt(squares), 1)
    by_id = {
        "dense": dict(zip(ids.tolist(), products.tolist(), strict=True)),
        "distance": dict(zip(ids.tolist(), (2 * products - squares).tolist(), strict=True)),
        "cosine": dict(zip(ids.tolist(), (products / lengths).tolist(), strict=True)),
    }
    shares = []
    for feature in (FEATURE, SPARSE):
        queries = {
            "dense": DenseQuery(feature, weights),
            "distance": DenseQuery(feature, weights, "distance"),
            "cosine": DenseQuery(feature, weights, "cosine"),
        }
        for what, query in queries.items():
            top = store.top(query, k, where)
            shares.append(_check_top(top, by_id[what], k, where, what, recall))
    return shares


def _check_sparse(
    store: Store, ids: Ints, terms: dict[int, tuple[int, ...]], k: int, where: Ints | None
) -> None:
    expected = {2: 0.8, 5: 0.6}
    count = {t: sum(t in terms[int(i)] for i in ids) for t in range(1, 12)}
    idf = {t: np.log((1 + len(ids)) / (1 + c)) + 1 for t, c in count.items()}
    scores = {}
    for i in ids.tolist():
        if set(terms[i]) & set(expected):
            norm = np.sqrt(sum(idf[t] ** 2 for t in terms[i]))
            scores[i] = sum(expected.get(t, 0.0) * idf[t] for t in terms[i]) / norm
    query = SparseQuery(
        np.array(list(expected), np.int64), np.array(list(expected.values()), np.float32)
    )
    _check_top(store.top(query, k, where), scores, k, where, "sparse")


def _check_top(
    top: Top,
    scores: dict[int, float],
    k: int,
    where: Ints | None,
    what: str,
    recall: float = 1.0,
) -> float:
    """Check one answer; return how many of its scores are among the best, as a share."""
    allowed = scores if where is None else {i: s for i, s in scores.items() if i in set(where)}
    best = sorted(allowed.items(), key=lambda item: (-np.float32(item[1]), item[0]))[:k]
    got = list(zip(top.ids.tolist(), top.scores.tolist(), strict=True))
    expected = np.array([s for _, s in best])
    if len(got) != len(best):
        raise AssertionError(f"top() gives {len(got)} of {len(best)} for a {what} query")
    if recall >= 1 and not np.allclose([s for _, s in got], expected, atol=1e-5):
        raise AssertionError(f"top() gives wrong scores for a {what} query")
    for i, (picture, score) in enumerate(got):
        if picture not in allowed or abs(allowed[picture] - score) > 1e-5:
            raise AssertionError(f"top() gives picture {picture} a wrong {what} score")
        if i and got[i - 1][1] < score:
            raise AssertionError(f"top() does not order pictures by {what} score")
        if i and got[i - 1][1] == score and got[i - 1][0] > picture:
            raise AssertionError(f"top() does not order equal {what} scores by id")
    exact = recall >= 1 and what in ("dense", "distance")
    if exact and [p for p, _ in got] != [p for p, _ in best]:
        raise AssertionError("top() does not choose among equal scores by id")
    return sum(s >= expected[-1] - 1e-5 for _, s in got) / len(got) if got else 1.0


def _same(a: Ints, b: Ints, what: str) -> None:
    if not np.array_equal(a, b):
        raise AssertionError(what)
