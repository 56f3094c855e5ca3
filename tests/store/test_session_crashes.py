"""Judging sessions killed or without power at any step, and many at once: nothing said is lost."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.collection import Collection
from sightline.errors import SightlineError
from sightline.store.events import EventLog
from sightline.store.upkeep.verify import verify
from tests.factories.failing_disks import KILLS, Crash, Disk, cut_power, loaded_sqlite, run_child
from tests.factories.judging_collections import events_of, judged_collection

needs_sqlite = pytest.mark.skipif(
    loaded_sqlite() is None, reason="this Python has SQLite built in, where it cannot be watched"
)
# What a session says, one after another: pictures that fit and that do not, or None for an undo.
_ROUND: list[tuple[list[int], list[int]] | None] = [
    ([3, 5], [2]), ([7], []), None, ([], [4, 6]), ([2], [3]), None, ([8], [9, 10]), ([11], []),
]  # fmt: skip
SAID = _ROUND * 3


def states() -> list[dict[int, bool]]:
    """Return what is judged after each step of `SAID`, the empty beginning first."""
    marks: list[dict[int, bool]] = []
    out: list[dict[int, bool]] = [{}]
    for said in SAID:
        if said is None:
            marks.pop()
        else:
            marks.append({**dict.fromkeys(said[0], True), **dict.fromkeys(said[1], False)})
        out.append({p: fits for m in marks for p, fits in m.items()})
    return out


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """Return the folder of a collection whose store can be copied."""
    judged_collection(tmp_path / "made", n=12, kinds=3)
    return tmp_path / "made"


def judging(photos: Path, store: Path, disk: Disk) -> Callable[..., None]:
    """Return what a child does: judge, step by step, and say so after each."""

    def run(say: Callable[..., None]) -> None:
        # What was there before has long been on the disk.
        for path in (store.parent, store, *sorted(store.rglob("*"))):
            disk.flushed_path(str(path))
        session = Collection.open(photos, store=store).judge(pictures=1)
        say("session", session.id)
        for said in SAID:
            if said is None:
                session.undo()
            else:
                session.mark(positive=said[0], negative=said[1])
            say("said")
        session.close()

    return run


def crash_at(planted: Path, point: int, seed: int | None) -> tuple[list[str], Crash]:
    """Crash at one step (a power cut if there is a seed) and return the problems."""
    folder = planted.parent / f"run-{point}-{seed}"
    store, shadow = folder / "store", folder / "shadow"
    shutil.copytree(planted / "store", store)
    disk = Disk(store, shadow, point)
    crash = run_child(judging(planted / "photos", store, disk), disk)
    try:
        if seed is not None:
            cut_power(store, shadow, seed)
        return problems_after(Collection.open(planted / "photos", store=store), crash), crash
    except SightlineError as e:
        return [f"cannot be used: {e}"], crash
    finally:
        shutil.rmtree(folder)


def problems_after(c: Collection, crash: Crash) -> list[str]:
    found = [p.what for p in verify(c.store_folder).problems]
    names = [a[1] for a in crash.acks if a[0] == "session"]
    n = sum(a[0] == "said" for a in crash.acks)
    known = {s.id for s in c.sessions.all()} if not found else set()
    if n and names[0] not in known:
        return [*found, f"a session that said {n} things is lost"]
    judged = c.judge(resume=names[0]).judged if names and names[0] in known else {}
    # A step that was not acknowledged may have happened, as a whole, or not.
    if judged not in states()[n : n + 2]:
        found.append(f"after {n} acknowledged steps {judged} is judged")
    return found or problems_going_on(c, names[0] if judged else None, judged)


def problems_going_on(c: Collection, name: str | None, judged: dict[int, bool]) -> list[str]:
    """Go on where it ended: rank, judge more, take back, revert; return what is not as it was."""
    session = c.judge(resume=name) if name else c.judge(pictures=1)
    before = [(h.picture, h.score) for h in session.next(20)]
    if len(before) != 11:
        return [f"{len(before)} of 11 pictures are ranked"]
    session.mark(positive=[12], negative=[11])
    now = {**{p: fits for p, fits in judged.items() if p not in (11, 12)}, 12: True, 11: False}
    found = [] if session.judged == now else [f"{session.judged} is judged after one more answer"]
    session.undo()
    if session.judged != judged or [(h.picture, h.score) for h in session.next(20)] != before:
        found.append(f"{session.judged} is judged after the answer was taken back")
    session.mark(positive=[12])
    session.close()
    if len(taught(c)) != len({*judged, 12}):
        found.append(f"{taught(c)} is taught")
    c.sessions.revert(session.id)
    states = {s.id: s.state for s in c.sessions.all()}
    if states != {session.id: "reverted"}:
        found.append(f"after a revert sessions are {states}")
    if taught(c):
        found.append("a reverted session still teaches")
    return found + [p.what for p in verify(c.store_folder).problems]


def taught(c: Collection) -> set[int]:
    """Return the pictures of which a training is told."""
    with contextlib.closing(EventLog(c.store_folder.events, write=False)) as log:
        return {j.picture for j in log.similarity_judgements(sessions=True)}


def steps_of(planted: Path) -> int:
    """Return how many steps an undisturbed run has."""
    found, crash = crash_at(planted, 0, None)
    assert crash.finished and found == []
    return crash.steps


@needs_sqlite
@pytest.mark.parametrize("power", [False, True])
def test_no_acknowledged_judgement_is_lost(planted: Path, power: bool) -> None:
    steps = steps_of(planted)
    rng = random.Random(6)
    assert steps >= 200
    for point in sorted(rng.sample(range(1, steps + 1), KILLS // (4 if power else 1))):
        seed = rng.randrange(1 << 30) if power else None
        assert crash_at(planted, point, seed)[0] == [], f"at step {point}"


@needs_sqlite
def test_the_harness_reports_loss_where_commits_are_not_flushed(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def careless(*args: Any, **kwargs: Any) -> Any:
        return connect(*args, **{**kwargs, "factory": Careless})

    steps = steps_of(planted)
    monkeypatch.setattr(sqlite3, "connect", careless)
    assert any(crash_at(planted, point, point)[0] for point in range(20, steps, 25))


class Careless(sqlite3.Connection):
    """A connection that promises to flush and does not."""

    def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
        return super().execute(sql.replace("synchronous=FULL", "synchronous=OFF"), *rest)


def _judge_many(photos: str, store: str, writer: int, shared: str, n: int) -> None:
    c = Collection.open(photos, store=store)
    session = c.judge(resume=shared) if writer % 2 else c.judge("word0")
    for i in range(n):
        session.mark(positive=[1 + writer], negative=[20 + (writer + i) % 40])


def test_eight_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    c = judged_collection(tmp_path)
    shared = c.judge("word1")
    shared.mark(positive=[2])
    fork = multiprocessing.get_context("fork")
    args = [(os.fsdecode(c.root), str(c.store_folder.path), w, shared.id, 10) for w in range(8)]
    writers = [fork.Process(target=_judge_many, args=a) for a in args]
    for w in writers:
        w.start()
    for w in writers:
        w.join()
    assert [w.exitcode for w in writers] == [0] * 8
    judged = events_of(c, "judged")
    assert len(judged) == 1 + 8 * 10 * 2 and len({e.body["mark"] for e in judged}) == 81
    seqs = [e.seq for e in events_of(c)]
    assert seqs == list(range(1, len(seqs) + 1))
    states = {s.id: s for s in c.sessions.all()}
    assert len(states) == 5 and len(events_of(c, "session-started")) == 5
    # All of the shared session is there for whoever resumes it, in the order of the log.
    last = {e.picture: e.body["relevance"] > 0 for e in judged if e.session == shared.id}  # type: ignore[operator]
    assert c.judge(resume=shared.id).judged == last
    assert c.store.verify().sound
