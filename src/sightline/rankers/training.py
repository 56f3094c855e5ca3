"""Training of a linear ranker: triplets in blocks, validation, and the best weights kept.

Weights are a table of words by features, of which training holds up to three at once, so their
memory is checked before any of it is allocated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats, Ints
from sightline.contracts import Progress
from sightline.errors import DataError
from sightline.measures.many import Others, measure_queries, untrained_average_precision
from sightline.measures.ranked import Ties
from sightline.measures.ranking import ndcg_at
from sightline.rankers import _pamir_fast
from sightline.solvers.pa_step import N_OUTCOMES
from sightline.solvers.rows import RowBlocks, SparseMatrix
from sightline.solvers.targets import Targets
from sightline.solvers.triplets import Triplets, TripletSampler

Rows = SparseMatrix | Floats
MOST_BYTES = 2 << 30
# Bytes of weights beyond which blocks are drawn together, and how many.
_CACHED_WEIGHTS, _ROUNDS = 16 << 20, 16
# Bytes of rows beyond which a portion of triplets has pictures of its own, and their bytes; but at
# least `_FEWEST_AMONG` pictures, or there would be few others to learn from.
_CACHED_ROWS, _PORTION_ROWS, _FEWEST_AMONG = 4 << 20, 1 << 20, 2_048
# Bytes of rows that are read at a time, where they do not stay in memory.
_READ_BYTES = 32 << 20
_NONE: Doubles = np.zeros(0)


@dataclass(slots=True, eq=False)
class Weights:
    """Weights during training: `U` holds what averaging needs; without averaging it has no rows.

    `n_triplets` counts triplets, `counts` their outcomes (`solvers.pa_step`).
    """

    W: Floats
    U: NDArray[np.float64]
    n_triplets: int = 0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(N_OUTCOMES, dtype=np.int64))

    @classmethod
    def zeros(cls, n_words: int, n_features: int, averaged: bool) -> Self:
        """Return weights of zeros."""
        W = np.zeros((n_words, n_features), dtype=np.float32)
        return cls(W, np.zeros(W.shape if averaged else (0, 0)))

    def copy(self) -> Weights:
        """Return a copy."""
        return Weights(self.W.copy(), self.U.copy(), self.n_triplets, self.counts.copy())

    def served(self) -> Floats:
        """Return the weights that rank pictures: W, or the mean of all W so far."""
        if not len(self.U):
            return self.W
        return (self.W - self.U / max(self.n_triplets, 1)).astype(np.float32)


def bytes_of_weights(n_words: int, n_features: int, averaged: bool, judged: bool) -> int:
    """Return the most that weights take at once.

    W has 4 bytes a number, and averaging 8 more. With held-out pictures there are three: the
    present weights, the best ones and a copy that may become the best. Working out the mean of
    averaged weights takes 20.

    >>> bytes_of_weights(100_000, 1000, averaged=False, judged=True)
    1200000000
    """
    each, served = (12, 20) if averaged else (4, 0)
    return n_words * n_features * (each * (3 if judged else 1) + served)


def check_bytes(
    n_words: int, n_features: int, averaged: bool, judged: bool, most: int, owner: str
) -> None:
    """Raise DataError where weights would take more memory than the limit."""
    needed = bytes_of_weights(n_words, n_features, averaged, judged)
    if needed > most:
        raise DataError(
            f"The weights of {n_words:,} words over {n_features:,} features would take "
            f"{needed:,} bytes, and {owner} may take {most:,}. Learn fewer words, use shorter "
            "features, or raise 'max_bytes'."
        )


def rounds_of(targets: Targets, weights: Weights) -> int:
    """Return how many blocks of triplets are drawn at once: several where weights are large.

    The weights of a word then serve many triplets before others take their place in the cache.
    Queries of several words share weights, so that their order counts; they keep it.
    """
    return _ROUNDS if _of_words(targets) and weights.W.nbytes > _CACHED_WEIGHTS else 1


def _of_words(targets: Targets) -> bool:
    return bool((np.diff(targets.queries.start) <= 1).all())


def pictures_in_cache(rows: Rows, targets: Targets) -> int:
    """Return how many pictures to learn from at a time, 0 for all: fewer where rows are large.

    Queries of several words learn from all: .01 of AvgP was lost where they did not.
    """
    if not _of_words(targets):
        return 0
    if isinstance(rows, SparseMatrix):
        size = rows.values.nbytes + rows.indices.nbytes
    else:
        size = rows.nbytes
    n = rows.shape[0]
    if size <= _CACHED_ROWS:
        return 0
    among = max(_FEWEST_AMONG, n * _PORTION_ROWS // size)
    return among if n > 2 * among else 0


class Loop:
    """Learns from triplets of one sampler, block by block.

    Where the targets have grades, a triplet's margin is the difference of its pictures' gains.
    `shares` then returns, for triplets and the current weights, the factors of C.
    """

    def __init__(
        self,
        rows: Rows,
        sampler: TripletSampler,
        weights: Weights,
        C: float,
        variant: int,
        shares: Callable[[Triplets, Floats], Doubles] | None = None,
    ) -> None:
        self.sampler, self.weights = sampler, weights
        self._shares, self._graded = shares, sampler.targets.graded
        queries = sampler.targets.queries
        owner = np.repeat(np.arange(len(queries)), np.diff(queries.start))
        squares = queries.weight.astype(np.float64) ** 2
        lengths = np.bincount(owner, squares, minlength=len(queries))
        self._queries = (queries.start, queries.term, queries.weight, lengths)
        self._how = (C, variant, np.zeros(rows.shape[1], dtype=np.float32), weights.counts)
        self._learn: Callable[..., None]
        self._pictures: tuple[NDArray[np.generic], ...]
        if isinstance(rows, SparseMatrix):
            norms = _pamir_fast.squared_lengths(rows.start, rows.values)
            self._pictures = (rows.start, rows.indices, rows.values, norms)
        else:
            self._pictures = (rows,)
        self._learn = self._kernel(isinstance(rows, SparseMatrix))

    @property
    def state(self) -> NDArray[np.uint64]:
        """The state of all random numbers, to go on from."""
        return self.sampler.state

    @state.setter
    def state(self, state: NDArray[np.uint64]) -> None:
        self.sampler.state = state.copy()

    def run(self, n: int, progress: Progress) -> None:
        """Learn from n more triplets."""
        weights = self.weights
        for drawn in self._portions(n):
            more = self._required(drawn)
            self._learn(
                weights.W,
                weights.U,
                weights.n_triplets,
                *self._pictures,
                *self._queries,
                *drawn,
                *more,
                *self._how,
            )
            weights.n_triplets += len(drawn[0])
            progress.advance(len(drawn[0]))

    def _portions(self, n: int) -> Iterator[Triplets]:
        """Yield n triplets to learn from, some at a time."""
        return self.sampler.portions(n)

    def _kernel(self, sparse: bool) -> Callable[..., None]:
        if self._graded is None:
            return _pamir_fast.learn_sparse if sparse else _pamir_fast.learn_dense
        return _pamir_fast.learn_sparse_by if sparse else _pamir_fast.learn_dense_by

    def _required(self, drawn: Triplets) -> tuple[object, ...]:
        """Return the kernel's further inputs for these triplets."""
        if self._graded is None:
            return ()
        rho = self._graded.gains[drawn[1]] - self._graded.gains[drawn[2]]
        return rho, _NONE if self._shares is None else self._shares(drawn, self.weights.W)


class BlockLoop(Loop):
    """Learns from rows that are read in blocks: those of a portion while it learns from another.

    Nothing in memory grows with the pictures but what they are relevant to.
    """

    def __init__(
        self, rows: RowBlocks, sampler: TripletSampler, weights: Weights, C: float, variant: int
    ) -> None:
        super().__init__(np.empty((0, rows.shape[1]), np.float32), sampler, weights, C, variant)
        self._rows = rows

    def run(self, n: int, progress: Progress) -> None:
        """Learn from n more triplets."""
        with ThreadPoolExecutor(1) as reader:
            coming: tuple[Triplets, Future[Floats]] | None = None
            for pictures, drawn in self._divided(n):
                before, coming = coming, (drawn, reader.submit(self._rows.read, pictures))
                self._learn_from(before, progress)
            self._learn_from(coming, progress)

    def _divided(self, n: int) -> Iterator[tuple[Ints, Triplets]]:
        if self.sampler.among:
            yield from self.sampler.divided(n)
        else:
            yield np.arange(self._rows.shape[0]), self.sampler.draw(n)

    def _learn_from(
        self, portion: tuple[Triplets, Future[Floats]] | None, progress: Progress
    ) -> None:
        if portion is None:
            return
        drawn, weights = portion[0], self.weights
        rows = portion[1].result()
        self._learn(
            weights.W, weights.U, weights.n_triplets, rows, *self._queries, *drawn, *self._how
        )
        weights.n_triplets += len(drawn[0])
        progress.advance(len(drawn[0]))


def pictures_of_a_block(rows: RowBlocks) -> int:
    """Return how many pictures are read at a time."""
    return max(_FEWEST_AMONG, _READ_BYTES // (4 * rows.shape[1]))


@dataclass(frozen=True, slots=True, eq=False)
class ValidationSet:
    """Validation pictures and queries: they select the weights that are kept."""

    rows: Rows
    targets: Targets

    def mean_avgp(self, W: Floats) -> float:
        """Return the mean AvgP; a query of unknown words counts what a random order would."""
        queries = self.targets.queries
        start = self.targets.negative_start
        others = Others(start, self.targets.negative) if len(start) else None
        avgp = measure_queries(word_scores(self.rows, W), queries, others).avgp
        unknown = np.diff(queries.start) == 0
        if unknown.any():
            n_fit, n_other = (
                np.diff(queries.relevant_start)[unknown],
                self.targets.n_negative[unknown],
            )
            avgp[unknown] = [
                untrained_average_precision(fit, fit + other)
                for fit, other in zip(n_fit, n_other, strict=True)
            ]
        known = avgp[~np.isnan(avgp)]
        return float(known.mean()) if known.size else math.nan

    def quality(self, W: Floats) -> float:
        """Return the validation measure: the mean AvgP, or with grades the mean NDCG."""
        return self.mean_avgp(W) if self.targets.graded is None else self._mean_ndcg(W)

    def _mean_ndcg(self, W: Floats) -> float:
        pairs, queries = self.targets.graded, self.targets.queries
        assert pairs is not None
        scores = judged_scores(self.rows, W, self.targets)
        values = []
        for i in range(len(queries)):
            rows = np.sort(pairs.lower[pairs.lower_start[i] : pairs.lower_start[i + 1]])
            ties: Ties = "id" if len(queries.terms_of(i)) else "mean"
            values.append(ndcg_at(scores[rows], pairs.grades[rows], ties=ties))
        known = np.array([value for value in values if not math.isnan(value)])
        return float(known.mean()) if known.size else math.nan


class Trainer(Protocol):
    """What is trained on triplets: a `Loop`, or shards of one."""

    weights: Weights

    def run(self, n: int, progress: Progress) -> None:
        """Learn from n more triplets."""
        ...


def train_until_best(
    loop: Trainer, n: int, every: int, patience: int, held: ValidationSet, progress: Progress
) -> tuple[Weights, list[tuple[int, float]]]:
    """Train until `patience` validations are no better; return the best weights and the history."""
    best, best_score, worse = loop.weights.copy(), -math.inf, 0
    history: list[tuple[int, float]] = []
    for done in range(0, n, every):
        loop.run(min(every, n - done), progress)
        score = held.quality(loop.weights.served())
        history.append((loop.weights.n_triplets, score))
        if score > best_score:
            best, best_score, worse = loop.weights.copy(), score, 0
        else:
            worse += 1
            if worse >= patience:
                break
    return best, history


def word_scores(rows: Rows, W: Floats) -> Floats:
    """Return the score of each picture for each word."""
    if isinstance(rows, SparseMatrix):
        scores = np.empty((rows.shape[0], len(W)), dtype=np.float32)
        _pamir_fast.score_sparse(W, rows.start, rows.indices, rows.values, scores)
        return scores
    product: Floats = rows @ W.T
    return product


def judged_scores(rows: Rows, W: Floats, targets: Targets) -> Floats:
    """Return the score of each row for the query it is judged for."""
    assert targets.graded is not None
    q, scores = targets.queries, np.empty(rows.shape[0], dtype=np.float32)
    judged = (q.start, q.term, q.weight, targets.graded.lower_start, targets.graded.lower)
    if isinstance(rows, SparseMatrix):
        _pamir_fast.score_judged_sparse(W, rows.start, rows.indices, rows.values, *judged, scores)
    else:
        _pamir_fast.score_judged_dense(W, rows, *judged, scores)
    return scores
