"""online-ranking: one pass of OPAR-I over three million triplets of 36 similarities, on one thread.

Differences of phi are drawn at random with a part that tells the order, so that about three in ten
move the weights. They are pre-differenced and in memory, as after `Phi.over(views).differences`.
Beside the pass: numpy's sum of the same bytes, and one epoch of scikit-learn's SGD with the hinge
loss over the same rows, half of them with their sign turned, since it wants two classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench import FULL, Bench
from benchmarks.rows import BenchmarkError, Goal, Row, compared
from benchmarks.timing import clocked, cpus, interleaved
from sightline.combiners.opar import OPARI

NAME = "online-ranking"
ROWS = ("online-ranking/read", "online-ranking/sgd")
_READ, _SGD = Goal("ratio", 1.4), Goal("ratio", 0.125)
_TRIPLETS, _COMPONENTS = 3_000_000, 36
_LEAST_UPDATES, _MOST_UPDATES = 0.2, 0.4
_UNIT = "CPU ns/triplet"


def measure(bench: Bench) -> list[Row]:
    """Learn, sum the same bytes, and let the baseline learn, in turn."""
    n = _TRIPLETS if bench.sizes == FULL else _TRIPLETS // 10
    rng = np.random.default_rng(0)
    told = (rng.standard_normal(_COMPONENTS) / 4).astype(np.float32)
    rows = rng.standard_normal((n, _COMPONENTS), dtype=np.float32) + told
    signs = np.where(np.arange(n) % 2, 1, -1).astype(np.int64)
    turned = rows * signs[:, None].astype(np.float32)
    learner = OPARI(C=0.001)
    sides = [
        lambda: clocked(lambda: learner.fit(rows)),
        lambda: clocked(rows.sum),
        lambda: clocked(lambda: _sgd(turned, signs)),
    ]
    ours, read, sgd = (
        [1e9 * s / n for s in cpus(costs)] for costs in interleaved(bench.sizes.repetitions, sides)
    )
    share = learner.n_updates_ / n
    if not _LEAST_UPDATES < share < _MOST_UPDATES:
        raise BenchmarkError(f"OPAR-I moved in {share:.0%} of the steps, where 30 % are expected.")
    right, baseline_right = _right(learner.w_, rows), _right(_sgd(turned, signs), rows)
    if right < baseline_right - 0.01:
        raise BenchmarkError(
            f"OPAR-I orders {right:.1%} of the pairs, and the baseline {baseline_right:.1%}."
        )
    note = f"{n:,} triplets, {share:.0%} updates; {right:.1%} in order, {baseline_right:.1%} by SGD"
    return [
        compared(ROWS[0], _UNIT, ours, f"{_UNIT}, numpy's sum", read, _READ, note),
        compared(ROWS[1], _UNIT, ours, f"{_UNIT}, scikit-learn SGD, one epoch", sgd, _SGD, note),
    ]


def _sgd(rows: Any, signs: Any) -> Any:
    from sklearn.linear_model import SGDClassifier

    baseline = SGDClassifier(
        loss="hinge", alpha=1e-6, max_iter=1, tol=None, fit_intercept=False, shuffle=False
    )
    return baseline.fit(rows, signs).coef_[0]


def _right(w: Any, rows: Any) -> float:
    return float(np.mean(rows @ w > 0))
