"""Milvus killed and restarted under load: nothing wrong is answered, and no judgement is lost.

SIGHTLINE_MILVUS_KILLS says how often it is killed; a nightly run takes 30.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from sightline.collection import Collection
from sightline.collection.similarity import candidates
from sightline.errors import EngineAway, EngineError
from sightline.store.engines import milvus_engine
from sightline.store.engines.milvus_engine import RETRY, MilvusEngine, Served, find_table
from sightline.store.engines.milvus_tables import TOKEN, Tables
from sightline.store.engines.tables import EngineTable, Published
from sightline.testing.milvus import MilvusProcess, is_installed
from tests.factories.engine_stores import WITHOUT_MILVUS, a_server
from tests.factories.servers import painted
from tests.waiting import LIMIT, until

KILLS = int(os.environ.get("SIGHTLINE_MILVUS_KILLS", "1"))
# Looks a second apart that may still be in vain once Milvus has its tables again.
IN_VAIN = 10
_SERVED = 50  # answers that Milvus gives before it is killed again


@dataclass
class Load:
    """What several threads asked and were told while Milvus came and went."""

    expected: dict[str, Any]
    answers: int = 0
    degraded: int = 0
    wrong: list[str] = field(default_factory=list)
    marked: list[tuple[str, int]] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def served(self) -> int:
        """How many answers came from Milvus."""
        return self.answers - self.degraded

    def told(self, what: str, got: Any, served: str) -> None:
        with self.lock:
            self.answers += 1
            self.degraded += bool(served)
            if served and "Answered from the local rows" not in served:
                self.wrong.append(f"{what}: {served}")
            if got != self.expected[what]:
                self.wrong.append(f"{what}: {got}")


def asked(c: Collection, what: str) -> tuple[Any, str]:
    """Return one answer, as far as it must always be the same, and what was said of it."""
    found = c.similar(3, k=12) if what == "similar" else c.search(what, 60)
    return [(h.picture, h.score) for h in found.hits], found.served


def searching(c: Collection, load: Load) -> None:
    while not load.stop.is_set():
        for what in load.expected:
            try:
                load.told(what, *asked(c, what))
            except Exception as e:
                load.wrong.append(f"{what}: {e!r}")


def judging(c: Collection, load: Load) -> None:
    number = 0
    while not load.stop.is_set():
        session = c.judge(pictures=[1 + number % 60])
        hits = session.next(4).hits
        session.mark([h.picture for h in hits[:2]])
        load.marked += [(session.id, h.picture) for h in hits[:2]]
        session.close()
        number += 1


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusProcess]:
    if not is_installed():
        pytest.skip(WITHOUT_MILVUS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(TOKEN, "root:Milvus")
        yield from a_server(tmp_path_factory.mktemp("killed"), password=True)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory, server: MilvusProcess) -> Collection:
    made = painted(tmp_path_factory.mktemp("painted"), train=False, features=["color"])
    made.train(rankers=["cca"])
    made.engines.load_milvus(server.uri)
    return made


@pytest.fixture
def c(loaded: Collection, server: MilvusProcess, monkeypatch: pytest.MonkeyPatch) -> Collection:
    """Return the collection as Milvus serves it."""
    monkeypatch.setattr(candidates, "ALL", 10)
    return Collection.open(loaded.root, store=loaded.store_folder.path, engine=server.uri)


class Looks:
    """Counts how often the engine looks in vain for the table that words are searched in."""

    def __init__(self) -> None:
        self.failed = 0
        self._last: tuple[str, Published, EngineTable] | None = None

    def __call__(self, tables: Tables, store: str, p: Published, table: EngineTable) -> Served:
        if table.by != "words":
            return find_table(tables, store, p, table)
        self._last = store, p, table
        try:
            return find_table(tables, store, p, table)
        except EngineError:
            self.failed += 1
            raise

    def would_find(self, uri: str) -> bool:
        """Say whether somebody who looks now finds the table whole."""
        try:
            tables = Tables(uri)
        except EngineError:
            return False
        try:
            return self._last is None or bool(find_table(tables, *self._last))
        except EngineError:
            return False
        finally:
            tables.close()


def test_milvus_is_killed_and_comes_back_under_load(
    c: Collection, server: MilvusProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    flat = Collection.open(c.root, store=c.store_folder.path)
    load = Load({what: asked(flat, what)[0] for what in ("red", "cold blue", "similar")})
    c.store_folder.fast = True
    threads = [threading.Thread(target=searching, args=(c, load)) for _ in range(2)]
    threads.append(threading.Thread(target=judging, args=(c, load)))
    for t in threads:
        t.start()
    looks = Looks()
    monkeypatch.setattr(milvus_engine, "find_table", looks)
    recovered = []
    try:
        for _ in range(KILLS):
            least = load.served + _SERVED
            until(lambda n=least: not asked(c, "red")[1] and load.served > n, "serving")
            before = load.degraded
            server.kill()
            assert "does not answer" in asked(c, "red")[1] or load.degraded > before
            state = c.engines.status()
            assert state is not None and not state.serves and "degraded" in state.message
            server.start()
            until(lambda: looks.would_find(server.uri), "a server with its tables")
            before = looks.failed
            until(lambda: not asked(c, "red")[1], "recovery")
            recovered.append(looks.failed - before)
            sys.stderr.write(f"\nkill {len(recovered)}: back after {recovered[-1]} looks in vain")
    finally:
        load.stop.set()
        for t in threads:
            t.join(LIMIT)
    assert load.wrong == [] and load.degraded >= KILLS and load.served >= _SERVED * KILLS
    assert max(recovered) <= IN_VAIN, recovered
    kept = {s: set(flat.judge(resume=s).judged) for s in {s for s, _ in load.marked}}
    assert load.marked and all(p in kept[s] for s, p in load.marked)
    state = c.engines.status()
    assert state is not None and state.serves and flat.store.verify().sound
    sys.stderr.write(
        f"\n{KILLS} kills, {load.answers} answers, {load.degraded} of them from store_folder, "
        f"{len(load.wrong)} wrong, {len(load.marked)} judgements, all kept; "
        f"back after {max(recovered)} looks in vain at most\n"
    )


def test_a_milvus_lets_nobody_in_without_the_password(
    c: Collection, server: MilvusProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    until(lambda: not asked(c, "red")[1], "serving")
    expected = asked(c, "red")[0]
    for token in ("", "root:wrong"):
        monkeypatch.setenv(TOKEN, token)
        other = Collection.open(c.root, store=c.store_folder.path, engine=server.uri)
        got, said = asked(other, "red")
        assert got == expected and f"NAME:PASSWORD or a key in {TOKEN}" in said
        assert "wrong" not in said
        with pytest.raises(EngineAway, match="NAME:PASSWORD"):
            other.engines.load_milvus()


def noted(real: Any, waits: list[str]) -> Any:
    """Return what all that is asked of Milvus goes through, counting how often it is."""

    def failures(self: Tables) -> Any:
        waits.append(self.uri)
        return real(self)

    return failures


@pytest.mark.parametrize("known", [True, False])
def test_a_milvus_that_hangs_is_given_up_on(
    c: Collection, server: MilvusProcess, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    monkeypatch.setattr("sightline.store.engines.milvus_tables.REQUEST_SECONDS", 1.0)
    monkeypatch.setattr("sightline.store.engines.milvus_tables._CONNECT_SECONDS", 1.0)
    flat = Collection.open(c.root, store=c.store_folder.path)
    expected = asked(flat, "red")[0]
    until(lambda: not asked(c, "red")[1], "serving")
    engine = c.store_folder.searcher()
    assert isinstance(engine, MilvusEngine) and engine._served
    if not known:
        engine._served.clear()
    waits: list[str] = []
    monkeypatch.setattr(Tables, "failures", noted(Tables.failures, waits))
    # No time passes between two questions, however busy the machine is.
    now = engine._clock()
    monkeypatch.setattr(engine, "_clock", lambda: now)
    server.pause()
    try:
        got, said = asked(c, "red")
        assert got == expected and "does not answer" in said
        # It was waited for once, for a second, and once or twice more to let go of it.
        assert 1 <= len(waits) <= 3
        assert asked(c, "red")[0] == expected
        # Known to hang, it is not waited for again at once.
        assert len(waits) <= 3
    finally:
        server.resume()
    monkeypatch.setattr(engine, "_clock", lambda: now + RETRY)
    until(lambda: asked(c, "red") == (expected, ""), "recovery")
