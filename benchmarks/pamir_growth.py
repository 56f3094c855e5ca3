"""pamir-growth: what one step of PAMIR costs, as pictures and as words become ten times as many.

Rows of 77 visterms among 10,000 and three or four words a picture, all drawn at random: how well
it learns does not matter here. The number of updates is that of a first pass, where nearly every
step moves the weights, and is the same share at every size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks.bench import FULL, Bench
from benchmarks.rows import BenchmarkError, Goal, Row, compared
from benchmarks.timing import Cost, clocked, cpus, interleaved
from sightline.rankers.pamir import PAMIR
from sightline.solvers.targets import Targets, from_indicator

NAME = "pamir-growth"
ROWS = ("pamir-growth/pictures", "pamir-growth/words")
_GOAL = Goal("ratio", 1.1)
_PICTURES, _WORDS, _STEPS = 4_000, 179, 200_000
_TIMES = (1, 3, 10)
_VISTERMS, _PER_PICTURE, _WORDS_EACH = 10_000, 77, 4


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
        out.append(_curve(name, what, [s[0] if grow[0] else s[1] for s in sizes], taken, steps))
    return out


def _collection(n: int, n_words: int) -> tuple[Any, Targets]:
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    # A picture's visterms step through the codebook by a stride of its own, so none comes twice.
    first, stride = rng.integers(0, _VISTERMS, n), 2 * rng.integers(1, 60, n) + 1
    columns = (first[:, None] + stride[:, None] * np.arange(_PER_PICTURE)) % _VISTERMS
    columns = np.sort(columns, axis=1).astype(np.int32)
    values = np.full(columns.shape, _PER_PICTURE**-0.5, np.float32)
    start = np.arange(0, n * _PER_PICTURE + 1, _PER_PICTURE)
    X = sp.csr_matrix((values.ravel(), columns.ravel(), start), shape=(n, _VISTERMS))
    words = rng.integers(0, n_words, (n, _WORDS_EACH))
    rows = np.repeat(np.arange(n), _WORDS_EACH)
    y = sp.csr_matrix((np.ones(rows.size, np.float32), (rows, words.ravel())), (n, n_words))
    y.data[:] = 1
    return X, from_indicator(y, n, 1)


def _training(n: int, n_words: int, steps: int) -> Callable[[], Cost]:
    X, targets = _collection(n, n_words)

    def run() -> None:
        ranker = PAMIR(0.1).fit(X, queries=targets.queries, n_words=n_words, n_iter=steps)
        if not 0 < ranker.n_updates_ <= steps:
            raise BenchmarkError(f"PAMIR made {ranker.n_updates_} updates in {steps} steps.")

    return lambda: clocked(run)


def _curve(name: str, what: str, sizes: Sequence[int], taken: list[list[Cost]], steps: int) -> Row:
    each = [[1e6 * s / steps for s in cpus(costs)] for costs in taken]
    points = [f"{n:,}: {median(e):.3g}" for n, e in zip(sizes, each, strict=True)]
    unit = "CPU µs/step"
    return compared(
        name,
        unit,
        each[-1],
        f"{unit} at {sizes[0]:,} {what}",
        each[0],
        _GOAL,
        f"{unit} at " + ", ".join(points) + f" {what}",
    )
