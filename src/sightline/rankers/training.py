"""How a linear ranker is trained: triplets in blocks, looks at held-out pictures, the best kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Progress
from sightline.measures.many import Others, measure_queries, untrained_average_precision
from sightline.rankers import _pamir_fast
from sightline.solvers.pa_step import N_OUTCOMES
from sightline.solvers.rows import SparseMatrix
from sightline.solvers.targets import Targets
from sightline.solvers.triplets import TripletSampler

Floats = NDArray[np.float32]
Rows = SparseMatrix | Floats


@dataclass(slots=True, eq=False)
class Weights:
    """Weights on their way: `U` holds what averaging needs, and has no rows where it is not wanted.

    `seen` counts triplets, `counts` what became of them (`solvers.pa_step`).
    """

    W: Floats
    U: NDArray[np.float64]
    seen: int = 0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(N_OUTCOMES, dtype=np.int64))

    @classmethod
    def zeros(cls, n_words: int, n_features: int, averaged: bool) -> Self:
        """Return weights that know nothing yet."""
        W = np.zeros((n_words, n_features), dtype=np.float32)
        return cls(W, np.zeros(W.shape if averaged else (0, 0)))

    def copy(self) -> Weights:
        """Return weights that do not change with these."""
        return Weights(self.W.copy(), self.U.copy(), self.seen, self.counts.copy())

    def served(self) -> Floats:
        """Return what ranks pictures: W, or the mean of all W so far."""
        if not len(self.U):
            return self.W
        return (self.W - self.U / max(self.seen, 1)).astype(np.float32)


class Loop:
    """Learns from triplets of one sampler, block by block."""

    def __init__(
        self, rows: Rows, sampler: TripletSampler, weights: Weights, C: float, variant: int
    ) -> None:
        self.sampler, self.weights = sampler, weights
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
            self._learn = _pamir_fast.learn_sparse
        else:
            self._pictures, self._learn = (rows,), _pamir_fast.learn_dense

    def run(self, n: int, progress: Progress) -> None:
        """Learn from n more triplets."""
        now = self.weights
        for drawn in self.sampler.portions(n):
            self._learn(now.W, now.U, now.seen, *self._pictures, *self._queries, *drawn, *self._how)
            now.seen += len(drawn[0])
            progress.advance(len(drawn[0]))


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Pictures and queries that training is judged by."""

    rows: Rows
    targets: Targets

    def mean_avgp(self, W: Floats) -> float:
        """Return the mean AvgP; a query of unknown words counts what a random order would."""
        queries = self.targets.queries
        start = self.targets.other_start
        others = Others(start, self.targets.other) if len(start) else None
        avgp = measure_queries(word_scores(self.rows, W), queries, others).avgp
        unknown = np.diff(queries.start) == 0
        if unknown.any():
            n_fit, n_other = np.diff(queries.fit_start)[unknown], self.targets.n_other[unknown]
            avgp[unknown] = [
                untrained_average_precision(fit, fit + other)
                for fit, other in zip(n_fit, n_other, strict=True)
            ]
        known = avgp[~np.isnan(avgp)]
        return float(known.mean()) if known.size else math.nan


def train_until_best(
    loop: Loop, n: int, every: int, patience: int, held: HeldOut, progress: Progress
) -> tuple[Weights, list[tuple[int, float]]]:
    """Train until `patience` looks in a row find nothing better; return the best, and all looks."""
    best, best_score, worse = loop.weights.copy(), -math.inf, 0
    looks: list[tuple[int, float]] = []
    for done in range(0, n, every):
        loop.run(min(every, n - done), progress)
        score = held.mean_avgp(loop.weights.served())
        looks.append((loop.weights.seen, score))
        if score > best_score:
            best, best_score, worse = loop.weights.copy(), score, 0
        else:
            worse += 1
            if worse >= patience:
                break
    return best, looks


def word_scores(rows: Rows, W: Floats) -> Floats:
    """Return the score of each picture for each word."""
    if isinstance(rows, SparseMatrix):
        scores = np.empty((rows.shape[0], len(W)), dtype=np.float32)
        _pamir_fast.score_sparse(W, rows.start, rows.indices, rows.values, scores)
        return scores
    product: Floats = rows @ W.T
    return product
