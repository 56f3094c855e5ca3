"""A collection served by Milvus and by faiss: the same answers as by the flat scan, and what is
said when Milvus is away."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from sightline.collection import Collection, Filters
from sightline.collection.similarity import candidates
from sightline.errors import EngineAway, StoreBusy, UsageError
from sightline.progress import NoProgress
from sightline.records import Hit
from sightline.store.engines.milvus_tables import Tables, alias_of
from sightline.store.identity import identity
from sightline.testing.milvus import MilvusProcess
from tests.cli.test_commands import Shell
from tests.factories.servers import painted, running
from tests.waiting import LIMIT


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a collection that was trained, and its store."""
    folder = tmp_path_factory.mktemp("painted")
    c = painted(folder, train=False, features=["color"])
    c.train(rankers=["cca"])
    return folder


@pytest.fixture(autouse=True)
def _shortlists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `similar` ask for candidates, as it does in large collections."""
    monkeypatch.setattr(candidates, "ALL", 10)


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], place: Path) -> Shell:
    return Shell(capfd, place / "photos", place / "store")


def opened(place: Path, engine: str = "flat", **more: Any) -> Collection:
    return Collection.open(place / "photos", store=place / "store", engine=engine, **more)


class Answer(Protocol):
    """What every verb that searches returns."""

    @property
    def hits(self) -> Sequence[Hit]: ...
    @property
    def served(self) -> str: ...


class Score(float):
    """A score that equals another within the rounding of sums in another order."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and abs(float(self) - float(other)) < 1e-5

    def __hash__(self) -> int:
        raise TypeError("Scores that are nearly equal have no common hash.")


class Asking:
    """Asks a collection, and sees to it that its engine answered, if it has one."""

    def __init__(self, c: Collection) -> None:
        self.engine: Any = c.store_folder.searcher()
        self.found: list[Any] = []

    def asked(self) -> int:
        return 0 if self.engine is None else int(self.engine.n_requests)

    def take(self, ask: Callable[[], Answer]) -> Answer:
        before = self.asked()
        got = ask()
        # Those that have a word come first, by what they have; no engine is needed for them.
        by_engine = self.engine is not None and not all(h.tagged for h in got.hits)
        assert got.served == "" and (self.asked() > before or not by_engine)
        self.found.append([(h.picture, Score(h.score), h.learned) for h in got.hits])
        return got


def answers(c: Collection) -> list[Any]:
    """Return what every verb that searches finds, with and without filters."""
    half = Filters(min_bytes=1, max_bytes=10**9)
    asking = Asking(c)
    for q in ("red", "warm blue", "+yellow warm"):
        for filters in (Filters(), half, Filters(untagged=True)):
            asking.take(partial(c.search, q, 30, filters=filters))
    for filters in (Filters(), half):
        asking.take(partial(c.similar, 3, k=15, filters=filters))
    session = c.judge(pictures=[5])
    for _ in range(2):
        hits = asking.take(partial(session.next, 12)).hits
        session.mark([h.picture for h in hits[:3]], [h.picture for h in hits[9:11]])
    session.close()
    return asking.found


def test_milvus_answers_as_the_flat_scan_does(
    place: Path, shell: Shell, milvus: MilvusProcess
) -> None:
    dry = shell("export", "milvus", "--uri", milvus.uri, "--dry-run", "--json")
    planned = json.loads(dry.out)["tables"]
    assert {t["state"] for t in planned} == {"new"}
    assert {t["by"] for t in planned} == {"cosine", "distance", "product", "words"}
    assert not (place / "store" / "identity").exists()
    ran = shell("export", "milvus", "--uri", milvus.uri)
    assert ran.code == 0 and f"{milvus.uri} serves version" in ran.out
    flat, served = opened(place), opened(place, milvus.uri)
    assert answers(served) == answers(flat)
    state = served.engines.status()
    assert state is not None and state.serves and "tables" in state.message
    ran = shell("store", "verify", "--engine", milvus.uri)
    assert ran.code == 0 and "holds the same rows" in ran.out
    ran = shell("export", "milvus", "--uri", milvus.uri, "--json")
    assert {t["state"] for t in json.loads(ran.out)["tables"]} == {"kept"}
    ran = shell("search", "red", "--json", "--engine", milvus.uri)
    assert ran.code == 0 and json.loads(ran.out)["served"] == ""


def test_going_back_to_an_older_model_and_loading_that_again(
    tmp_path: Path, milvus: MilvusProcess
) -> None:
    c = painted(tmp_path, train=False, features=["color"], n=48)
    c.train(rankers=["cca"])
    first = c.engines.load_milvus(milvus.uri)
    before = c.store.version()
    c.train(rankers=["ridge"])
    assert "words" in {
        t.table.by for t in c.engines.load_milvus(milvus.uri).tables if t.state == "new"
    }
    c.store.rollback(before)
    again = c.engines.load_milvus(milvus.uri)
    words = [t for t in again.tables if t.table.by == "words"]
    assert {t.name for t in words} <= {t.name for t in first.tables}
    assert [(t.state, t.loaded) for t in words] == [("resumed", 0)]
    served = Collection.open(c.root, store=c.store_folder.path, engine=milvus.uri)
    assert served.search("red").hits == c.search("red").hits and not served.search("red").served
    # Versions that cannot be gone back to leave neither a table nor an alias.
    c.store.purge([1], [])
    left = c.engines.load_milvus(milvus.uri).tables
    tables = Tables(milvus.uri)
    mine = [n for n in tables.names() if identity(c.store_folder.path) in n]
    assert len(mine) == len(left)
    assert tables.aliased(alias_of(identity(c.store_folder.path), words[0].table)) is None
    tables.close()


def test_one_load_at_a_time(place: Path, milvus: MilvusProcess) -> None:
    c, begun, go_on = opened(place), threading.Event(), threading.Event()

    class Held(NoProgress):
        def start(self, what: str, total: int | None) -> None:
            begun.set()
            assert go_on.wait(LIMIT)

    loading = threading.Thread(target=lambda: c.engines.load_milvus(milvus.uri, progress=Held()))
    loading.start()
    try:
        assert begun.wait(LIMIT)
        with pytest.raises(StoreBusy, match="export milvus"):
            opened(place).engines.load_milvus(milvus.uri)
        assert {t.state for t in c.engines.load_milvus(milvus.uri, dry_run=True).tables}
    finally:
        go_on.set()
        loading.join()
    assert {t.state for t in c.engines.load_milvus(milvus.uri).tables} == {"kept"}


def test_hits_whose_files_are_gone_are_made_up_for(tmp_path: Path) -> None:
    pytest.importorskip("faiss", reason="needs pip install 'sightline[faiss]', then make test")
    c = painted(tmp_path, train=False, features=["color"], n=240)
    served = Collection.open(c.root, store=c.store_folder.path, engine="faiss", ivf_rows=50)
    served.engines.build_faiss()
    # More of the best than an engine is asked for lose their files.
    nearest = [h.path for h in c.judge(pictures=[5]).next(160).hits]
    for path in nearest:
        os.unlink(os.path.join(c.root, path))
    left = [h.picture for h in c.judge(pictures=[5]).next(8).hits]
    assert len(left) == 8
    assert [h.picture for h in served.judge(pictures=[5]).next(8).hits] == left


def test_a_milvus_that_is_away_is_said_in_every_answer(place: Path, shell: Shell) -> None:
    away = "milvus://127.0.0.1:1"
    flat, c = opened(place), opened(place, away)
    said = "Milvus at milvus://127.0.0.1:1 does not answer"
    assert c.search("red", 30).hits == flat.search("red", 30).hits
    assert said in c.search("red", 30).served and said in c.similar(3).served
    session = c.judge(pictures=[5])
    first = session.next(5)
    assert said in first.served and session.mark([h.picture for h in first.hits[:2]]) == 2
    session.close()
    assert len(flat.judge(resume=session.id).judged) == 2
    state = c.engines.status()
    assert state is not None and not state.serves and said in state.message
    ran = shell("search", "red", "-t", "30", "--engine", away)
    assert ran.code == 0 and said in ran.err and "Answered from the local rows" in ran.err
    ran = shell("store", "verify", "--engine", away)
    assert ran.code == 1 and said in ran.out
    assert said in shell("doctor", "--engine", away).out
    with pytest.raises(EngineAway, match="does not answer"):
        c.engines.load_milvus()
    ran = shell("export", "milvus")
    assert ran.code == 2 and "--uri milvus://HOST:PORT" in ran.err
    assert shell("export", "milvus", "target", "--uri", away).code == 2
    with pytest.raises(UsageError, match="flat, faiss or milvus"):
        opened(place, "lucene")
    with running(c) as web:
        health = web.client.get("/v1/health")
        assert health["status"] == "degraded" and said in health["said"]
        assert said in web.client.post("/v1/search", {"query": "red", "limit": 30})["said"][0]


def test_faiss_answers_as_the_flat_scan_does(place: Path, shell: Shell) -> None:
    pytest.importorskip("faiss", reason="needs pip install 'sightline[faiss]', then make test")
    ran = shell("export", "faiss")
    assert ran.code == 0 and "No table is large enough" in ran.out
    c = opened(place, "faiss", ivf_rows=50)
    degraded = c.engines.status()
    assert degraded is not None and not degraded.serves and "export faiss" in degraded.message
    assert {b.state for b in c.engines.build_faiss(dry_run=True)} == {"new"}
    assert all(b.probes.recall >= 0.95 for b in c.engines.build_faiss())
    assert {b.state for b in c.engines.build_faiss()} == {"kept"}
    flat = opened(place)
    for q in ("red", "warm blue"):
        assert c.search(q, 30).hits == flat.search(q, 30).hits
    near, exact = c.similar(3, k=10), flat.similar(3, k=10)
    assert len({h.picture for h in near.hits} & {h.picture for h in exact.hits}) >= 9
    engine: Any = c.store_folder.searcher()
    assert engine.n_requests > 0 and near.served == ""
    state = c.engines.status()
    assert state is not None and state.serves
    assert c.store.verify().sound and not c.store.verify().strays
