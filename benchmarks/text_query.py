"""text-query: the 10 best of a million pictures for three words a model has scored, on one thread.

Beside it the least anybody can do, one pass over the rows of the three words (numpy's sum, and its
maximum, which reads faster), and the same answer in plain numpy: gather the rows, put the known
numbers in, multiply, argpartition. A server answers by the compiled loop, a command by numpy with
its buffers; both give the same bits. CPU time, because all of them are one thread's work; much of
plain numpy's goes into fresh memory for what lies between the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import Bench
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.timing import Cost, clocked, cpus, interleaved
from sightline.progress import NoProgress
from sightline.records import Batch, Top, WordQuery
from sightline.store.folder import StoreFolder
from sightline.store.models import save_model
from sightline.store.scores import Scores
from sightline.store.segments import MERGED_ROWS, OpenSegment
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, Writer

NAME = "text-query"
ROWS = ("text-query/kernel", "text-query/fastest-read", "text-query/numpy", "text-query/cli")
_K, _WORDS = 10, 3
_SCORED = 64  # words with a row, of twice as many on pictures, one each
_ROUNDS = 12  # a repetition is the sum of so many queries, each another one
_KERNEL, _NUMPY, _CLI = Goal("ratio", 1.1), Goal("ratio", 0.125), Goal("value", 3.0)

Float = NDArray[np.float32]
Int = NDArray[np.int64]


def measure(bench: Bench) -> list[Row]:
    """Search both ways, read the rows once, and search in plain numpy, in turn."""
    n = bench.sizes.vectors
    store_folder = bench.once(f"scored-{n}", lambda folder: _store(folder, n))
    queries = _queries()
    with store_folder.reader() as server, store_folder.reader() as command:
        fast, plain = server.snapshot, command.snapshot
        fast.fast = True
        ids = np.concatenate([s.ids for s in plain.segments])
        _check(fast, plain, ids, queries)
        sides: list[Callable[[], Cost]] = [
            lambda: clocked(lambda: [fast.top(q, _K) for q in queries]),
            lambda: clocked(lambda: [_read_once(fast, q, np.add) for q in queries]),
            lambda: clocked(lambda: [_read_once(fast, q, np.maximum) for q in queries]),
            lambda: clocked(lambda: [_in_plain_numpy(plain, ids, q) for q in queries]),
            lambda: clocked(lambda: [plain.top(q, _K) for q in queries]),
        ]
        taken = interleaved(bench.sizes.repetitions, sides)
        tagged = sum(len(s.postings(int(t))) for s in fast.segments for t in queries[0].terms)
    kernel, read, fastest, numpy, command_ms = (
        [1e3 * s / _ROUNDS for s in cpus(costs)] for costs in taken
    )
    note = f"{n} pictures in {len(fast.segments)} segments, {_WORDS} words with {tagged} tags"
    return [
        compared(ROWS[0], "CPU ms", kernel, "CPU ms sum of the same rows", read, _KERNEL, note),
        compared(ROWS[1], "CPU ms", kernel, "CPU ms maximum of the same rows", fastest),
        compared(ROWS[2], "CPU ms", kernel, "CPU ms numpy with argpartition", numpy, _NUMPY),
        alone(ROWS[3], "CPU ms", command_ms, _CLI, "without start-up; same bits as the kernel's"),
    ]


class _Scorer:
    """Gives pictures seeded numbers like those of a model that multiplies probabilities."""

    def __init__(self, store_folder: StoreFolder) -> None:
        terms = np.arange(1, _SCORED + 1, dtype=np.int64)
        self.model = save_model(store_folder.models, "words", {}, {"terms": terms})
        self.terms = terms

    def scores(self, segment: OpenSegment) -> Scores:
        rng = np.random.default_rng(int(segment.ids[0]))
        x = rng.standard_normal((_SCORED, len(segment.ids)), dtype=np.float32)
        return Scores(self.model, self.terms, -np.logaddexp(np.float32(0.0), 3.0 - x))


def _store(folder: Path, n: int) -> StoreFolder:
    store_folder = StoreFolder(folder)
    rng = np.random.default_rng(4_711)
    with Writer(store_folder, "bench") as writer:
        for first in range(0, n, MERGED_ROWS):
            ids = np.arange(first, min(first + MERGED_ROWS, n), dtype=np.int64) + 1
            words = rng.integers(1, 2 * _SCORED + 1, len(ids)).tolist()
            batch = Batch(ids, tuple((w,) for w in words), (b"",) * len(ids))
            writer.publish(Change(batches=[batch]), finished=False)
        writer.publish_model(_Scorer(store_folder), "bench", NoProgress())
    return store_folder


def _queries() -> list[WordQuery]:
    """Return queries of different words; half have weights of one, as a product has."""
    rng = np.random.default_rng(11)
    out = []
    for i in range(_ROUNDS):
        terms = np.sort(rng.choice(_SCORED, _WORDS, replace=False)).astype(np.int64) + 1
        weights = np.ones(_WORDS) if i % 2 else rng.uniform(0.2, 1.0, _WORDS)
        known = np.full(_WORDS, -1.0, np.float32)
        out.append(WordQuery(terms, weights.astype(np.float32), known))
    return out


def _places(s: OpenSegment, query: WordQuery) -> tuple[Float, Int]:
    if s.scores is None:
        raise BenchmarkError("A segment of the store has no scores.")
    return s.scores.rows, np.searchsorted(s.scores.terms, query.terms)


def _read_once(snapshot: Snapshot, query: WordQuery, how: np.ufunc) -> list[Any]:
    out = []
    for s in snapshot.segments:
        rows, at = _places(s, query)
        out += [how.reduce(rows[i]) for i in at.tolist()]
    return out


def _in_plain_numpy(snapshot: Snapshot, ids: Int, query: WordQuery) -> Top:
    parts = []
    for s in snapshot.segments:
        rows, at = _places(s, query)
        mine = rows[at]
        for i, term in enumerate(query.terms.tolist()):
            mine[i, s.postings(term)] = query.known[i]
        parts.append(query.weights @ mine)
    scores = np.concatenate(parts)
    best = np.argpartition(-scores, _K)[:_K]
    order = best[np.lexsort((ids[best], -scores[best]))]
    return Top(ids[order], scores[order])


def _check(fast: Snapshot, plain: Snapshot, ids: Int, queries: Sequence[WordQuery]) -> None:
    """Both ways must give the same bits, and the answer of plain numpy but for rounding."""
    for q in queries:
        a, b, c = fast.top(q, _K), plain.top(q, _K), _in_plain_numpy(plain, ids, q)
        if not np.array_equal(a.ids, b.ids) or a.scores.tobytes() != b.scores.tobytes():
            raise BenchmarkError(f"The two ways differ: {a.ids} and {b.ids}.")
        if not np.allclose(a.scores, c.scores, rtol=1e-5):
            raise BenchmarkError(f"The best scores differ: {a.scores} and {c.scores}.")
