"""Exact search by scanning: blocked matrix products for vectors, posting lists for words.

A scan of a million 128-d rows costs about as much as reading their bytes once, so nothing faster is
needed below that. Ties are broken by picture id, ascending, so that an order never depends on how
pictures are distributed over segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Ints
from sightline.errors import ParameterError, StoreError
from sightline.records import DenseQuery, SparseQuery, Top
from sightline.store.matrices import Matrix, StoredSparseMatrix, spans
from sightline.store.segments import OpenSegment

BLOCK_BYTES = 16 << 20
_MIN_BLOCK_ROWS = 128  # fewest rows of a block
_SELECTIVE = 0.1
_LONG_ROW = 128

By = Literal["product", "cosine", "distance"]


def dense_top(
    segments: Sequence[OpenSegment], query: DenseQuery, k: int, where: Ints | None
) -> Top:
    """Return the k best pictures for weights over one feature."""
    best = Best(k)
    weights = np.ascontiguousarray(query.weights, np.float32)
    selected = _SelectedRows(best, weights, query.by)
    for s, matrix in _with_feature(segments, query):
        rows = None if where is None else s.rows_of(where)
        if rows is not None and len(rows) < _SELECTIVE * len(matrix):
            selected.add(s.ids, rows, matrix)
            continue
        keep = None if rows is None else _only(rows, len(matrix))
        if rows is None and len(s.dead):
            keep = s.alive()
        _scan(best, s, matrix, weights, keep, query.by)
    selected.offer()
    return best.top()


def dense_scores(segments: Sequence[OpenSegment], query: DenseQuery) -> tuple[Ints, Floats]:
    """Return all live pictures that have a feature, in storage order, and the score of each."""
    ids, scores_by_segment = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
    weights = np.ascontiguousarray(query.weights, np.float32)
    for s, matrix in _with_feature(segments, query):
        scores = np.empty(len(matrix), np.float32)
        step = max(_MIN_BLOCK_ROWS, BLOCK_BYTES // (4 * matrix.shape[1]))
        for i in range(0, len(matrix), step):
            block = matrix[i : i + step]
            scores[i : i + step] = _scores(block, weights, query.by)
        alive = s.alive() if len(s.dead) else slice(None)
        ids.append(s.ids[alive])
        scores_by_segment.append(scores[alive])
    return np.concatenate(ids), np.concatenate(scores_by_segment)


def ids_with(segments: Sequence[OpenSegment], feature: str) -> Ints:
    """Return the ids that `dense_scores` scores, in the same order, without reading a row."""
    ids = [s.ids[s.alive()] for s in segments if s.matrix(feature) is not None]
    return np.concatenate([*ids, np.zeros(0, np.int64)])


def row_lengths(segments: Sequence[OpenSegment], feature: str) -> Floats:
    """Return the length of each row that `dense_scores` scores, in the same order."""
    norms = [np.zeros(0, np.float32)]
    for s in segments:
        if (matrix := s.matrix(feature)) is not None:
            step = max(_MIN_BLOCK_ROWS, BLOCK_BYTES // (4 * matrix.shape[1]))
            parts = [_squares(matrix[i : i + step]) for i in range(0, len(matrix), step)]
            squares = np.concatenate([*parts, np.zeros(0, np.float32)])
            norms.append(np.sqrt(squares[s.alive()] if len(s.dead) else squares))
    return np.concatenate(norms)


def _with_feature(
    segments: Sequence[OpenSegment], query: DenseQuery
) -> list[tuple[OpenSegment, Matrix]]:
    """Return the segments that have a feature, with its rows; at least one must have it."""
    matrices = [(s, m) for s in segments if (m := s.matrix(query.feature)) is not None]
    if segments and not matrices:
        features = ", ".join(sorted({f for s in segments for f in s.features})) or "none"
        raise StoreError(
            f"The feature {query.feature!r} is not in the store (it has: {features}). "
            "Run: sightline index"
        )
    for _, matrix in matrices:
        if query.weights.shape != (matrix.shape[1],):
            must_be = f"of length {matrix.shape[1]}"
            raise ParameterError.of("weights", "top", must_be, query.weights.shape)
    return matrices


def _only(rows: Ints, n: int) -> NDArray[np.bool_]:
    out = np.zeros(n, bool)
    out[rows] = True
    return out


def _products(matrix: Matrix, weights: Floats, out: Floats | None = None) -> Floats:
    """Return the inner product of each row with the weights.

    Row by row is faster for long rows (they stream), and gives a row the same score in any block;
    for short rows the cost of a call for each row outweighs that.
    """
    if isinstance(matrix, StoredSparseMatrix):
        return matrix.dot(weights)
    if len(weights) >= _LONG_ROW:
        return np.vecdot(matrix, weights, out=out)
    return np.matmul(matrix, weights, out=out)


def _scores(matrix: Matrix, weights: Floats, by: By, out: Floats | None = None) -> Floats:
    """Return the score of each row: inner product, cosine, or negative squared distance.

    Constants that are the same for all rows are left out.
    """
    scores = _products(matrix, weights, out)
    if by == "product":
        return scores
    squares = _squares(matrix)
    if by == "distance":
        scores *= np.float32(2.0)
        scores -= squares
        return scores
    np.sqrt(squares, out=squares)
    return np.divide(scores, squares, out=scores, where=squares > 0)


def _squares(matrix: Matrix) -> Floats:
    """Return the squared length of each row."""
    if isinstance(matrix, StoredSparseMatrix):
        return matrix.squares()
    return np.asarray(np.vecdot(matrix, matrix), np.float32)


def _scan(
    best: Best,
    s: OpenSegment,
    matrix: Matrix,
    weights: Floats,
    keep: NDArray[np.bool_] | None,
    by: By,
) -> None:
    step = max(_MIN_BLOCK_ROWS, BLOCK_BYTES // (4 * matrix.shape[1]))
    ids = s.ids
    # One buffer for all blocks: fresh memory would cost a page fault for every 1,024 scores.
    buffer = np.empty(min(step, len(matrix)), np.float32)
    for i in range(0, len(matrix), step):
        block = matrix[i : i + step]
        scores = _scores(block, weights, by, buffer[: len(block)])
        if keep is not None:
            scores[~keep[i : i + step]] = -np.inf
        rows = above(scores, best.threshold)
        best.offer(ids[i + rows], scores[rows])


def above(scores: Floats, threshold: float) -> Ints:
    """Return where scores reach a threshold; -inf, which marks excluded rows, never does.

    The comparison is inverted (`not below`) so that NaN passes and is reported later.
    """
    if threshold == -np.inf:
        return np.flatnonzero(scores != -np.inf)
    return np.flatnonzero(~(scores < threshold))


class Best:
    """The k best offers so far."""

    def __init__(self, k: int) -> None:
        if k < 1:
            raise ParameterError.of("k", "top", "at least 1", k)
        self.k = k
        self.ids = np.zeros(0, np.int64)
        self.scores = np.zeros(0, np.float32)
        self.threshold = -np.inf

    def offer(self, ids: Ints, scores: Floats) -> None:
        """Add pictures with their scores; only those among the k best are kept."""
        if not len(ids):
            return
        if np.isnan(scores).any():
            raise StoreError(
                f"The score of picture {int(ids[np.isnan(scores).argmax()])} is not a number. "
                "Run: sightline store verify"
            )
        self.ids = np.concatenate([self.ids, ids])
        self.scores = np.concatenate([self.scores, scores.astype(np.float32, copy=False)])
        if len(self.ids) > self.k:
            cut = np.partition(self.scores, len(self.scores) - self.k)[len(self.scores) - self.k]
            keep = self.scores >= cut
            self.ids, self.scores = self.ids[keep], self.scores[keep]
            self.threshold = float(cut)
            if len(self.ids) > 4 * self.k + 1024:
                self._trim()

    def _trim(self) -> None:
        order = np.lexsort((self.ids, -self.scores))[: self.k]
        self.ids, self.scores = self.ids[order], self.scores[order]

    def top(self) -> Top:
        """Return the best, the highest score first."""
        self._trim()
        return Top(self.ids, self.scores)


class _SelectedRows:
    """Selected rows of many segments, scored a block at a time: a call for each would cost more."""

    def __init__(self, best: Best, weights: Floats, by: By) -> None:
        self.best, self.weights, self.by = best, weights, by
        self.ids: list[Ints] = []
        self.rows: list[Floats] = []
        self.bytes = 0

    def add(self, ids: Ints, rows: Ints, matrix: Matrix) -> None:
        if not len(rows):
            return
        if isinstance(matrix, StoredSparseMatrix):
            self.best.offer(ids[rows], _scores(matrix[rows], self.weights, self.by))
            return
        self.ids.append(ids[rows])
        self.rows.append(matrix[rows])
        self.bytes += self.rows[-1].nbytes
        if self.bytes > BLOCK_BYTES:
            self.offer()

    def offer(self) -> None:
        if self.ids:
            scores = _scores(np.concatenate(self.rows), self.weights, self.by)
            self.best.offer(np.concatenate(self.ids), scores)
        self.ids, self.rows, self.bytes = [], [], 0


def sparse_top(
    segments: Sequence[OpenSegment],
    query: SparseQuery,
    idf: dict[int, float],
    all_idf: tuple[Ints, NDArray[np.float64]],
    k: int,
    where: Ints | None,
) -> Top:
    """Return the k pictures whose words are most similar to weighted words, by cosine.

    A picture's vector is the L2-normalised idf of its words. Pictures that have none of the words
    of the query have no score and never appear.
    """
    best = Best(k)
    for s in segments:
        rows, scores = _word_scores(s, query, idf)
        keep = ~np.isin(rows, s.dead) if len(s.dead) else np.ones(len(rows), bool)
        if where is not None:
            keep &= _among(s.ids[rows], where)
        rows, scores = rows[keep], scores[keep]
        if len(rows):
            best.offer(s.ids[rows], (scores / _norms(s, rows, all_idf)).astype(np.float32))
    return best.top()


def _among(ids: Ints, where: Ints) -> NDArray[np.bool_]:
    """Return for each id whether it is one of `where`, which is ascending."""
    if not len(where):
        return np.zeros(len(ids), bool)
    is_in: NDArray[np.bool_] = where[np.searchsorted(where[:-1], ids)] == ids
    return is_in


def _word_scores(
    s: OpenSegment, query: SparseQuery, idf: dict[int, float]
) -> tuple[Ints, NDArray[np.float64]]:
    dense = np.zeros(len(s.base["ids"]))
    hit = np.zeros(len(dense), bool)
    words = zip(query.terms.tolist(), query.weights.tolist(), query.groups, strict=True)
    for term, weight, forms in words:
        tagged = s.postings_of(forms)
        dense[tagged] += weight * idf.get(term, 0.0)
        hit[tagged] = True
    rows = np.flatnonzero(hit)
    return rows, dense[rows]


def _norms(
    s: OpenSegment, rows: Ints, all_idf: tuple[Ints, NDArray[np.float64]]
) -> NDArray[np.float64]:
    terms, values = all_idf
    squared = np.square(values[np.searchsorted(terms, s.base["terms"])])
    start = s.base["word_start"]
    length = start[rows + 1] - start[rows]
    each = squared[s.base["word"][spans(start, rows)]]
    sums = np.add.reduceat(each, np.cumsum(length) - length)
    out: NDArray[np.float64] = np.sqrt(sums)
    return out
