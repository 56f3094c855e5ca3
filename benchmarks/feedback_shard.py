"""feedback-shard: a round of feedback over 100 million rows of 32 bytes, by one shard of them.

A hundredth of the data, a million rows, is ranked by rows of bytes on one core; a shard a
core is how it would be spread, so that a round takes as long as the slowest shard. What all shards
take one after the other on a single core is computed from it, and stands beside what Exquisitor
says of itself: .3 s a round over 100 million pictures, on one core, with less than 7 GB, by an
index that looks at a small part of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks import stores
from benchmarks.bench import Bench
from benchmarks.real_sessions import real_sessions
from benchmarks.rows import Goal, Row, alone, compared
from benchmarks.timing import clocked, interleaved, walls
from sightline.feedback.passive_aggressive import PassiveAggressive
from sightline.records import DenseQuery
from sightline.store.snapshot import Snapshot

NAME = "feedback-shard"
ROWS = ("feedback-shard/round", "feedback-shard/one-core", "feedback-shard/memory")
_LENGTH = 32
_PICTURES = 100_000_000
_K = 20
_ROUNDS = 3
_EXQUISITOR, _GIGABYTES = 0.3, 7.0

Matrix = NDArray[np.float32]


def measure(bench: Bench) -> list[Row]:
    """Learn and rank on one shard, and compute what all of them take."""
    rows, what = _rows(bench)
    shards = _PICTURES / len(rows)
    with stores.served(stores.of_rows(bench.fresh("shard"), rows)) as rounded:
        taken = interleaved(
            bench.sizes.repetitions,
            [
                lambda: clocked(lambda: [_round(rounded, rows, i) for i in range(_ROUNDS)]),
                lambda: clocked(lambda: [_learnt(rows, i) for i in range(_ROUNDS)]),
            ],
        )
        kept = 0 if rounded.quantised is None else rounded.quantised.n_bytes
    whole, learning = ([s / _ROUNDS for s in walls(t)] for t in taken)
    published = [_EXQUISITOR] * len(whole)
    note = f"{len(rows)} {what}, 1/{shards:.0f} of 100M; so many cores, a shard each"
    # Learning happens once a round, however many shards there are.
    one = [a + (shards - 1) * max(0.0, a - b) for a, b in zip(whole, learning, strict=True)]
    size = kept / len(rows) * _PICTURES / 1e9
    baseline = "s Exquisitor (published), 100M on one core"
    computed = f"computed: {shards:.0f} shards in turn; every row is looked at, none is skipped"
    return [
        compared(ROWS[0], "s", whole, baseline, published, Goal("ratio", 1.0), note),
        compared(ROWS[1], "s", one, baseline, published, note=computed),
        alone(ROWS[2], "GB", [size], Goal("value", _GIGABYTES),
              "computed for 100M: a byte a number and 16 bytes a row; the exact rows stay on disk"),
    ]  # fmt: skip


def _round(rounded: Snapshot, rows: Matrix, number: int) -> object:
    weights = _learnt(rows, number).astype(np.float32)
    return rounded.top(DenseQuery(stores.FEATURE, weights), _K)


def _learnt(rows: Matrix, number: int) -> NDArray[np.float64]:
    """Return the weights of a session after a round of 20 judgements."""
    random = np.random.default_rng([29, number])
    judged = random.integers(len(rows), size=_K)
    learner = PassiveAggressive(random_state=number).start(rows[judged[0]])
    w = learner.partial_fit(rows[judged], np.where(np.arange(_K) % 2, -1, 1)).w_
    return np.zeros(rows.shape[1]) if w is None else w


def _rows(bench: Bench) -> tuple[Matrix, str]:
    """Return rows of 32 numbers: the first principal ones of real rows, or Gaussian ones."""
    n = bench.sizes.vectors
    real = None if bench.data is None else real_sessions(bench.data, 200)
    if real is None:
        random = np.random.default_rng(7)
        return random.standard_normal((n, _LENGTH), dtype=np.float32), "Gaussian rows of 32 numbers"
    centred = real.rows - real.rows.mean(axis=0)
    axes = np.linalg.svd(centred[:4_000], full_matrices=False)[2][:_LENGTH]
    rows = np.ascontiguousarray(real.repeated(n) @ axes.T, np.float32)
    return rows, "rows of Caltech-101 (CEDD), tiled and perturbed, on 32 axes"
