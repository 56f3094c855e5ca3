"""A simulation of online learning: each query is ranked, its first 50 pictures are judged.

A query ranks all other pictures by the current weights, and NDCG@50 of this ranking is measured.
Then the first 50 are judged by their class, and online learners are updated with the difference of
every relevant and irrelevant picture among them. They begin with equal weights, as the uniform
combination. RankSVM keeps all differences, up to a limit, and is fitted to them again after every
so many queries (the paper: a reservoir).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats, Ints
from sightline.combiners.online import OnlineCombiner
from sightline.contracts import Progress
from sightline.errors import MissingExtra
from sightline.measures import ndcg_at
from sightline_experiments.online.methods import METHODS
from sightline_experiments.online.protocol import Task
from sightline_experiments.tuning import Settings

JUDGED = 50
UNIFORM = "Uni-Con"
_AT_ONCE = 16
_MOST_KEPT = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """The results of each method, query by query.

    Attributes
    ----------
    ndcg : NDCG@50 of each query, by method; `Uni-Con` is not trained.
    seconds : CPU seconds of training up to each query.
    """

    ndcg: dict[str, Doubles]
    seconds: dict[str, Doubles]

    def gains(self, name: str) -> Doubles:
        """Return the mean gain in NDCG@50 over the uniform combination, up to each query."""
        gain = self.ndcg[name] - self.ndcg[UNIFORM]
        return np.asarray(np.cumsum(gain) / np.arange(1, len(gain) + 1))


def simulate(
    task: Task,
    chosen: Mapping[str, Settings],
    n: int,
    refit: int,
    progress: Progress,
    seed: int = 0,
) -> Simulated:
    """Simulate n training pictures as queries, in random order.

    Parameters
    ----------
    chosen : settings of the methods; only those that learn from differences take part.
    refit : queries between two fits of a batch method.
    """
    learners: dict[str, Any] = {}
    for name, settings in chosen.items():
        method = METHODS[name]
        if method.kind == "online":
            learners[name] = _Going(equal_start(method.combiner(settings), task.phi.n_components))
        elif method.form == "differences":
            learners[name] = _Again(method.combiner(settings), task.phi.n_components, refit)
    random = np.random.default_rng(seed)
    queries = random.permutation(task.fold.train)[:n]
    ndcg = {name: np.zeros(len(queries)) for name in (UNIFORM, *learners)}
    seconds = {name: np.zeros(len(queries)) for name in learners}
    progress.start("queries one by one", len(queries))
    for at, (phi, fits) in enumerate(_answers(task, queries)):
        ndcg[UNIFORM][at] = ndcg_at(phi.sum(axis=1), fits, k=JUDGED)
        for name, learner in learners.items():
            scores = phi @ learner.w.astype(np.float32)
            ndcg[name][at] = ndcg_at(scores, fits, k=JUDGED)
            first = np.argsort(-scores, kind="stable")[:JUDGED]
            begun = time.process_time()
            learner.take(_differences(phi[first], fits[first], random))
            seconds[name][at] = time.process_time() - begun
        progress.advance()
    progress.finish()
    return Simulated(ndcg, {name: np.cumsum(spent) for name, spent in seconds.items()})


def equal_start(learner: OnlineCombiner, n: int) -> OnlineCombiner:
    """Return the learner with equal weights that sum to 1, otherwise in its initial state."""
    learner.partial_fit(np.zeros((1, n), dtype=np.float32))
    arrays = learner.to_arrays() | {"now": np.full(n, 1.0 / n)}
    started = type(learner).from_arrays(arrays)
    started.set_params(**learner.get_params())
    return started


def _answers(task: Task, queries: Ints) -> Any:
    """Yield phi of each query with all other pictures, and which of them are relevant."""
    for begin in range(0, len(queries), _AT_ONCE):
        some = queries[begin : begin + _AT_ONCE]
        lists = task.lists(some)
        for a, b in pairwise(lists.start.tolist()):
            yield lists.rows[a:b], lists.relevance[a:b] > 0


def _differences(rows: Floats, fits: NDArray[np.bool_], random: np.random.Generator) -> Floats:
    """Return phi of every relevant picture minus that of every irrelevant one, in random order."""
    differences = (rows[fits][:, None, :] - rows[~fits][None, :, :]).reshape(-1, rows.shape[1])
    return np.asarray(differences[random.permutation(len(differences))])


class _Going:
    """An online learner, which is updated."""

    def __init__(self, learner: OnlineCombiner) -> None:
        self._learner = learner

    @property
    def w(self) -> Doubles:
        return self._learner.w_

    def take(self, rows: Floats) -> None:
        self._learner.partial_fit(rows)


class _Again:
    """A batch learner, which is fitted again to all differences it keeps."""

    def __init__(self, learner: Any, n_components: int, refit: int) -> None:
        self._learner, self._refit = learner, refit
        self._kept: list[Floats] = []
        self._n_kept = self._taken = 0
        self.w: Doubles = np.full(n_components, 1.0 / n_components)

    def take(self, rows: Floats) -> None:
        if self._n_kept < _MOST_KEPT:
            self._kept.append(rows)
            self._n_kept += len(rows)
        self._taken += 1
        if self._taken % self._refit == 0 and self._n_kept:
            try:
                self.w = self._learner.fit(np.concatenate(self._kept)).w_
            except MissingExtra:
                self._refit = 1 << 62  # It keeps its initial weights.
