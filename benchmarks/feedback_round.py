"""feedback-round: one round of relevance feedback over a million rows of 128 numbers, one thread.

A round learns 100 passive-aggressive draws from judged pictures and ranks all rows by the new
weights: by a scan, or as a server does by rows rounded to a byte a number, which bound every score.
Beside both the least that reading the rows costs (numpy's sum of the same bytes). What the rounded
rows miss of the exact 20 best is counted over a thousand sessions: of real pictures where data is
given, else of Gaussian rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks import stores
from benchmarks.bench import Bench
from benchmarks.real_sessions import real_sessions
from benchmarks.rows import Goal, Row, alone, compared
from benchmarks.timing import Cost, clocked, cpus, interleaved
from sightline.feedback.passive_aggressive import PassiveAggressive
from sightline.records import DenseQuery
from sightline.store.snapshot import Snapshot

NAME = "feedback-round"
ROWS = ("feedback-round/exact", "feedback-round/shortlist", "feedback-round/missed")
_K = 20
_ROUNDS = 3  # a repetition is the sum of so many rounds of feedback
_SESSIONS = 1_000
_EXACT, _SHORT, _MISSED = Goal("ratio", 1.05), Goal("ratio", 0.35), Goal("value", 0.01)

Matrix = NDArray[np.float32]


def measure(bench: Bench) -> list[Row]:
    """Learn and rank by a scan, by rounded rows, and read the bytes once, in turn."""
    store_folder, n = stores.vectors(bench), bench.sizes.vectors
    matrix = np.concatenate([rows for _, rows in stores.blocks(n)])
    with store_folder.reader() as reader, stores.served(store_folder) as rounded:
        snapshot = reader.snapshot
        sides: list[Callable[[], Cost]] = [
            lambda: clocked(lambda: [_top(snapshot, _learnt(matrix, i)) for i in range(_ROUNDS)]),
            lambda: clocked(lambda: [_top(rounded, _learnt(matrix, i)) for i in range(_ROUNDS)]),
            lambda: clocked(lambda: [_read(snapshot) for _ in range(_ROUNDS)]),
        ]
        taken = interleaved(bench.sizes.repetitions, sides)
    exact, short, read = ([1e3 * s / _ROUNDS for s in cpus(c)] for c in taken)
    beside, note = "CPU ms sum of the same bytes", f"{n} rows; 100 draws and the {_K} best"
    missed, said = _missed(bench, matrix)
    return [
        compared(ROWS[0], "CPU ms", exact, beside, read, _EXACT, note),
        compared(ROWS[1], "CPU ms", short, beside, read, _SHORT, note),
        alone(ROWS[2], "share", [missed], _MISSED, said),
    ]


def _learnt(matrix: Matrix, number: int) -> NDArray[np.float64]:
    """Return the weights of a session after its first round."""
    random = np.random.default_rng([29, number])
    judged = random.integers(len(matrix), size=_K)
    learner = PassiveAggressive(random_state=number).start(matrix[judged[0]])
    w = learner.partial_fit(matrix[judged], np.where(np.arange(_K) % 2, -1, 1)).w_
    return np.zeros(matrix.shape[1]) if w is None else w


def _top(snapshot: Snapshot, w: NDArray[np.float64]) -> NDArray[np.int64]:
    return snapshot.top(DenseQuery(stores.FEATURE, w.astype(np.float32)), _K).ids


def _read(snapshot: Snapshot) -> list[np.float32]:
    return [np.add.reduce(np.asarray(s.features[stores.FEATURE]).reshape(-1))
            for s in snapshot.segments]  # fmt: skip


def _missed(bench: Bench, matrix: Matrix) -> tuple[float, str]:
    """Return the share of the exact best that rounded rows do not have, and over what."""
    real = None if bench.data is None else real_sessions(bench.data, _SESSIONS)
    n = min(_SESSIONS, len(matrix))
    if real is not None:
        matrix, n = real.repeated(len(matrix)), len(real)
    n_hits = 0
    with stores.served(stores.of_rows(bench.fresh("sessions"), matrix)) as rounded:
        before = _answered(rounded)
        for number in range(n):
            w = _learnt(matrix, number) if real is None else real.weights(number)
            scores = matrix @ w.astype(np.float32)
            exact = np.argpartition(-scores, _K)[:_K]
            n_hits += len(np.intersect1d(exact, _top(rounded, w) - 1))
        answered = _answered(rounded) - before
    what = "Gaussian rows" if real is None else "rows of Caltech-101 (CEDD) and copies of them"
    note = f"{n} sessions over {len(matrix)} {what}, {answered} answered by rounded rows"
    return 1.0 - n_hits / (n * _K), note


def _answered(snapshot: Snapshot) -> int:
    return 0 if snapshot.quantised is None else snapshot.quantised.n_answers
