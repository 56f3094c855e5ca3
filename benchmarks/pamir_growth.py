"""pamir-growth: what one step of PAMIR costs, as pictures and as words become ten times as many.

Every word has 19 visterms of 10,000 that tell it, and a picture has those of its four words: how
well it learns does not matter here. Steps are timed after a million others, when few of them move
the weights: shares of updates that differ between sizes would be costs that differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.bench import FULL, Bench
from benchmarks.rows import BenchmarkError, Goal, Row, curve
from benchmarks.timing import Cost, clocked, cpus, interleaved
from sightline.rankers.pamir import PAMIR
from sightline.solvers.targets import Targets, from_indicator

NAME = "pamir-growth"
ROWS = ("pamir-growth/pictures", "pamir-growth/words")
_GOAL = Goal("ratio", 1.1)
_PICTURES, _WORDS, _STEPS = 4_000, 179, 400_000
_BEFORE = 1_000_000
_TIMES = (1, 3, 10)
_VISTERMS, _TELLING, _WORDS_EACH = 10_000, 19, 4
_MOST_UPDATES = 0.05


def measure(bench: Bench) -> list[Row]:
    """Return the cost of a step at the largest size beside the smallest."""
    steps = _STEPS if bench.sizes == FULL else _STEPS // 10
    out = []
    for name, what, grow in zip(ROWS, ("pictures", "words"), ((1, 0), (0, 1)), strict=True):
        sizes = [
            (_PICTURES * (t if grow[0] else 1), _WORDS * (t if grow[1] else 1)) for t in _TIMES
        ]
        runs = [_training(n, words, steps) for n, words in sizes]
        taken = interleaved(bench.sizes.repetitions, runs)
        each = [[1e6 * s / steps for s in cpus(costs)] for costs in taken]
        grown = [s[0] if grow[0] else s[1] for s in sizes]
        out.append(curve(name, "CPU µs/step", grown, what, each, _GOAL))
    return out


def _collection(n: int, n_words: int) -> tuple[Any, Targets]:
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    telling = np.stack([rng.permutation(_VISTERMS)[:_TELLING] for _ in range(n_words)])
    words = rng.integers(0, n_words, (n, _WORDS_EACH))
    columns = telling[words].reshape(n, -1)
    length = columns.shape[1]
    values = np.full(columns.size, length**-0.5, np.float32)
    start = np.arange(0, n * length + 1, length)
    X = sp.csr_matrix((values, columns.ravel(), start), shape=(n, _VISTERMS))
    X.sum_duplicates()
    rows = np.repeat(np.arange(n), _WORDS_EACH)
    y = sp.csr_matrix((np.ones(rows.size, np.float32), (rows, words.ravel())), (n, n_words))
    y.data[:] = 1
    return X, from_indicator(y, n, 1)


def _training(n: int, n_words: int, steps: int) -> Callable[[], Cost]:
    X, targets = _collection(n, n_words)
    learnt = PAMIR(C=0.1).fit(X, queries=targets.queries, n_words=n_words, n_iter=_BEFORE)

    def run() -> None:
        before = learnt.n_updates_
        learnt.partial_fit(X, queries=targets.queries, n_iter=steps)
        if (share := (learnt.n_updates_ - before) / steps) > _MOST_UPDATES:
            raise BenchmarkError(f"PAMIR moved in {share:.0%} of {steps:,} steps: they differ.")

    return lambda: clocked(run)
