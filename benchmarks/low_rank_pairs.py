"""low-rank-pairs: steps of a low-rank ranker over pairs of sparse rows, by number of dimensions.

Queries and documents have 20 numbers each, of 5,000 and 1,000 columns. SSI learns from pairs it
draws itself; nearly all of them move the factors. The baseline is one epoch of LightFM's BPR over
as many pairs, with the same rows as features, one thread: it also keeps AdaGrad's sums and biases,
so its work is not the same.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.bench import FULL, Bench
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.timing import clocked, cpus, interleaved
from sightline.rankers.ssi import Pairs
from sightline.solvers.oracles import CandidateLists

NAME = "low-rank-pairs"
_DIMENSIONS = {10: 0.1, 32: 0.05, 100: 0.05}
ROWS = tuple(f"low-rank-pairs/{k}" for k in _DIMENSIONS)
_ROWS, _NUMBERS, _CANDIDATES, _PAIRS = 2000, 20, 40, 200_000
_UNIT = "CPU µs/pair"
_LEAST_UPDATES = 0.5


def measure(bench: Bench) -> list[Row]:
    """Learn from pairs, in turn with the baseline, for each number of dimensions."""
    n = _PAIRS if bench.sizes == FULL else _PAIRS // 20
    rng = np.random.default_rng(0)
    Q, D = _made(rng, 5000), _made(rng, 1000)
    candidates = rng.integers(0, _ROWS, (_ROWS, _CANDIDATES))
    lists = CandidateLists.of(candidates, np.arange(_CANDIDATES) < np.full((_ROWS, 1), 10))
    return [_row(bench, k, n, Q, D, lists) for k in _DIMENSIONS]


def _row(bench: Bench, k: int, n: int, Q: Any, D: Any, lists: CandidateLists) -> Row:
    name, goal = f"low-rank-pairs/{k}", Goal("ratio", _DIMENSIONS[k])
    pairs = Pairs(Q, D, lists, per_query=8, seed=0)
    rng = np.random.default_rng(1)
    A, B = ((rng.normal(size=(s.shape[1], k)) / 50).astype(np.float32) for s in (Q, D))
    moved = [0]

    def ours() -> None:
        moved[0] = pairs.learn(A, B, n, 1e-5)

    sides = [lambda: clocked(ours)]
    has_lightfm = importlib.util.find_spec("lightfm") is not None
    if has_lightfm:
        baseline = _LightFM(k, n, Q, D, lists)
        sides.append(lambda: clocked(baseline.learn))
    taken = [
        [1e6 * s / n for s in cpus(costs)] for costs in interleaved(bench.sizes.repetitions, sides)
    ]
    if moved[0] < _LEAST_UPDATES * n:
        raise BenchmarkError(f"Only {moved[0]:,} of {n:,} pairs moved the factors.")
    note = f"{n:,} pairs, {moved[0] / n:.0%} moved the factors"
    if not has_lightfm:
        return alone(name, _UNIT, taken[0], note=f"{note}; lightfm is not installed")
    return compared(name, _UNIT, taken[0], f"{_UNIT}, LightFM BPR", taken[1], goal, note)


class _LightFM:
    """LightFM over as many positive pairs of the same lists."""

    def __init__(self, k: int, n: int, Q: Any, D: Any, lists: CandidateLists) -> None:
        from lightfm import LightFM

        rng = np.random.default_rng(2)
        owner = np.repeat(lists.query, np.diff(lists.start))[lists.relevant]
        chosen = rng.integers(0, len(owner), n)
        pairs = (owner[chosen], lists.candidate[lists.relevant][chosen])
        ones = np.ones(n, dtype=np.float32)
        # Pairs that are drawn twice count twice: entries are not summed.
        self._interactions = sparse.coo_matrix((ones, pairs), shape=(Q.shape[0], D.shape[0]))
        self._sides = {"user_features": Q, "item_features": D}
        self._model = LightFM(no_components=k, loss="bpr", random_state=0)

    def learn(self) -> None:
        self._model.fit_partial(self._interactions, epochs=1, num_threads=1, **self._sides)


def _made(rng: np.random.Generator, columns: int) -> Any:
    values = rng.random((_ROWS, _NUMBERS), dtype=np.float32) / np.sqrt(_NUMBERS)
    places = np.sort(rng.integers(0, columns, (_ROWS, _NUMBERS)), axis=1)
    start = np.arange(_ROWS + 1) * _NUMBERS
    made = sparse.csr_matrix((values.ravel(), places.ravel(), start), shape=(_ROWS, columns))
    made.sum_duplicates()
    return made
