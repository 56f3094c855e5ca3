"""feedback-session: a round of a judging session, from the answers to the next hits.

Nine rounds of twenty judgements each, over pictures with a descriptor of 512 numbers drawn around
200 centres; a picture fits if its centre is that of the picture the session began with. A round is
what a person waits for: the judgements go to the disk, all rounds are learnt anew from the log, and
every picture is ranked. Wall time in one process that keeps the session, as a server does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

from benchmarks.bench import FULL, Bench
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.stores import DESCRIPTORS, SEED, described
from sightline.collection import Collection
from sightline.collection.sessions.session import Session
from sightline.records import FeatureRows
from sightline.store.folder import StoreFolder

NAME = "feedback-session"
ROWS = ("feedback-session/p95", "feedback-session/read")
# The time in which people feel that an answer is there at once.
_GOAL = Goal("value", 300.0)
_ROUNDS, _TOP, _LENGTH = 9, 20, 512
FEATURE = f"bench{_LENGTH}-000000000000"


def measure(bench: Bench) -> list[Row]:
    """Go through sessions of nine rounds, and beside them read the same rows once."""
    n = bench.sizes.queries[-1]
    sessions = 20 if bench.sizes == FULL else 3
    root, store_folder = described(bench, n)
    c = Collection.open(os.fspath(root), store=store_folder.path)
    c.store_folder.fast = True
    fits = _truth(store_folder)
    starts = np.random.default_rng(2).choice(n, sessions + 1, replace=False) + 1
    taken: list[float] = []
    middle, read = [], []
    for i, picture in enumerate(starts.tolist()):
        rounds = _rounds(c.judge(pictures=picture, feature=f"bench{_LENGTH}"), picture, fits)
        if i:  # The first session compiles, and brings the rows into memory.
            taken += rounds
            middle.append(float(np.median(rounds)))
            read.append(_reading(store_folder))
    note = f"{n:,} pictures of {_LENGTH} numbers, {sessions} sessions of {_ROUNDS} rounds"
    return [
        alone(ROWS[0], "wall ms a round", [float(np.percentile(taken, 95))], _GOAL, note),
        compared(ROWS[1], "wall ms a round, p50", middle, "wall ms, numpy's sum of the rows", read,
                 note="the log, nine rounds of learning and the paths of the hits included"),
    ]  # fmt: skip


def _rounds(session: Session, picture: int, fits: Callable[[int, int], bool]) -> list[float]:
    """Judge the hits of each round; return how long each took."""
    hits = session.next(_TOP, hide_judged=True).hits
    taken = []
    for _ in range(_ROUNDS):
        good = [h for h in hits if fits(picture, h.picture)]
        others = [h for h in hits if h not in good]
        begun = time.perf_counter()
        session.mark(positive=good, negative=others)
        hits = session.next(_TOP, hide_judged=True).hits
        taken.append(1e3 * (time.perf_counter() - begun))
    if len(session.judged) != _ROUNDS * _TOP or len(hits) != _TOP:
        raise BenchmarkError(f"{len(session.judged)} pictures were judged in {_ROUNDS} rounds.")
    return taken


def _truth(store_folder: StoreFolder) -> Callable[[int, int], bool]:
    """Return what says whether two pictures were drawn around the same centre."""
    rng = np.random.default_rng(SEED)
    centres = {m: rng.random((200, m), dtype=np.float32) for m in DESCRIPTORS}[_LENGTH]
    with store_folder.reader() as reader:
        snapshot = reader.snapshot

    def centre(picture: int) -> int:
        found = snapshot.rows(FEATURE, np.array([picture], np.int64))
        if not isinstance(found, FeatureRows):
            raise BenchmarkError("The rows are not dense.")
        # The noise has a mean of one half.
        return int(np.argmin(((found.rows[0] - 0.5 - centres) ** 2).sum(axis=1)))

    return lambda query, picture: centre(query) == centre(picture)


def _reading(store_folder: StoreFolder) -> float:
    """Return how long it takes to add up all rows."""
    with store_folder.reader() as reader:
        parts = [s.features[FEATURE] for s in reader.snapshot.segments]
    begun = time.perf_counter()
    total = sum(float(np.asarray(p).sum()) for p in parts)
    if not np.isfinite(total):
        raise BenchmarkError("The rows are not finite.")
    return 1e3 * (time.perf_counter() - begun)
