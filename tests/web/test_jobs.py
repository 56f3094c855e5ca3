"""Jobs beside the server, started, listened to, cancelled; and versions that do not mix."""

from __future__ import annotations

import logging
import os
import queue
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from sightline.collection import Collection
from sightline.collection.pictures import Pictures
from sightline.web.client import Client, ServiceError
from sightline.web.jobs import ServerJob
from sightline.web.limits import Limits
from tests.factories.photos import paint
from tests.factories.servers import Served, grow, hold_trainings, painted, running
from tests.waiting import LIMIT

# The whole 1,000 take minutes: SIGHTLINE_PUBLISHES=1000.
PUBLISHES = int(os.environ.get("SIGHTLINE_PUBLISHES", "12"))


def test_an_index_runs_beside_and_tells_how_it_goes(own: Served) -> None:
    before = own.service.collection.store.version()
    paint(Path(own.service.collection.root.decode()), 3, True, 5, start=700)
    started = own.post("/v1/jobs", {"verb": "index"})
    assert started.status == 202 and started.headers["location"] == f"/v1/jobs/{started.json['id']}"
    job = started.json["id"]
    heard = list(own.client.follow(job))
    kinds = [kind for kind, _ in heard]
    assert kinds[0] == "queued" and kinds[-1] == "end" and "progress" in kinds
    assert heard[-1][1]["state"] == "done"
    assert any(data.get("what") for kind, data in heard if kind == "progress")
    done = own.client.job(job)
    assert done.state == "done" and done.report["added"] == 3
    assert own.service.collection.store.version() > before
    assert len(own.client.search("red", limit=100).hits) > 4
    # Whoever comes later hears the rest, after what was heard before.
    late = own.ask("GET", f"/v1/jobs/{job}/events", headers={"Last-Event-ID": "1"})
    assert late.headers["content-type"].startswith("text/event-stream")
    assert b"id: 1\n" not in late.body and late.body.rstrip().endswith(b'"detail": ""}')
    assert [j["id"] for j in own.client.get("/v1/jobs")["jobs"]] == [job]


def test_train_and_evaluate_give_their_reports(tmp_path: Path) -> None:
    with running(painted(tmp_path, train=False, n=60)) as s:
        trained = s.client.finish(s.client.start("train", rankers=["ridge"]).id)
        assert (
            trained.state == "done"
            and trained.report["version"] == s.service.collection.store.version()
        )
        assert 0 < trained.report["proof"]["candidate"] <= 1
        assert trained.report["held_out"]["avgp"] == trained.report["proof"]["AvgP"]
        assert trained.report["trials"] and trained.report["kind"] == "words"
        measured = s.client.finish(s.client.start("evaluate", curve=False).id)
        assert measured.state == "done" and measured.report["groups"][0]["n"] > 0
        (kept,) = s.client.get("/v1/models")["versions"][-1]["models"]
        assert kept["value"] == pytest.approx(trained.report["proof"]["candidate"])
        alike = s.client.finish(s.client.start("train", similar=True, dry_run=True).id)
        assert alike.state in ("done", "failed") and (alike.report or alike.detail)


def test_a_job_that_cannot_be_done_says_why(own: Served) -> None:
    ended = own.client.finish(own.client.start("evaluate").id)
    assert ended.state == "failed" and "There is no word model yet" in ended.detail
    unknown = own.client.finish(own.client.start("index", features=["nonsense"]).id)
    assert unknown.state == "failed" and "nonsense" in unknown.detail
    with pytest.raises(ServiceError) as e:
        own.client.job("0123456789")
    assert (e.value.status, e.value.code) == (404, "no-job")


BROKEN = """
from sightline.collection import Collection
from sightline.store.folder import StoreFolder
from sightline.web import work
def reader(self):
    raise KeyError("a whispered caption")
StoreFolder.reader = reader
work.main()
"""


@pytest.mark.parametrize(
    ("code", "logged", "told"),
    [(BROKEN, "KeyError at web/work.py:", "KeyError"),
     ("import os; os.kill(os.getpid(), 9)", "ended by itself, code -9", "code -9"),
     ("raise ValueError('whispered')", "ended by itself, code 1", "code 1")],
)  # fmt: skip
def test_a_job_that_dies_by_a_fault_leaves_a_trace_without_what_it_held(
    own: Served,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    code: str,
    logged: str,
    told: str,
) -> None:
    real = subprocess.Popen

    def popen(command: list[str], **more: Any) -> subprocess.Popen[bytes]:
        assert command[1:] == ["-m", "sightline.web.work"]
        return real([command[0], "-c", code], **more)

    monkeypatch.setattr(subprocess, "Popen", popen)
    with caplog.at_level("INFO", "sightline"):
        ended = own.client.finish(own.client.start("evaluate").id)
    assert ended.state == "failed"
    assert told in ended.detail and "log/sightline.log in the store" in ended.detail
    (line,) = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    assert line.startswith("job evaluate") and logged in line
    if code == BROKEN:
        # The way it took through our own files, down to where they end.
        assert re.search(
            r"web/work.py:\d+, collection/__init__.py:\d+, .*evaluation.py:\d+", line
        ), line
    assert "whispered" not in caplog.text + ended.detail
    assert str(own.service.collection.store_folder.path) not in line


def test_a_request_that_fails_by_a_fault_leaves_a_trace_too(
    own: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Collection) -> None:
        raise KeyError("a whispered caption")

    monkeypatch.setattr(Pictures, "skipped", broken)
    # The trace is written once the answer has gone, so it is waited for.
    written: queue.Queue[str] = queue.Queue()
    handler = logging.Handler(logging.ERROR)
    monkeypatch.setattr(handler, "emit", lambda record: written.put(record.getMessage()))
    logging.getLogger("sightline").addHandler(handler)
    try:
        reply = own.ask("GET", "/v1/skipped")
        line = written.get(timeout=LIMIT)
    finally:
        logging.getLogger("sightline").removeHandler(handler)
    assert (reply.status, reply.code) == (500, "internal")
    assert "log/sightline.log in the store" in reply.json["detail"]
    assert line.startswith("GET /v1/skipped failed: KeyError at web/guard.py:")
    assert "web/routes/report.py:" in line
    assert "whispered" not in line + reply.body.decode()


def test_jobs_are_cancelled_waiting_or_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold_trainings(monkeypatch)
    c = painted(tmp_path, train=False, n=20)
    with running(c, Limits(jobs=2)) as s:
        version = c.store.version()
        first = s.client.start("train")
        events = s.client.follow(first.id)
        while next(events)[0] != "progress":
            pass
        # It is at work, and searching goes on; two more wait, and a fourth is too many.
        assert s.client.search("red").hits and s.client.job(first.id).state == "running"
        waiting = [s.client.start("index").id for _ in range(2)]
        with pytest.raises(ServiceError) as e:
            s.client.start("index")
        assert (e.value.status, e.value.code) == (429, "jobs") and e.value.retry
        # One that waits is cancelled at once, and leaves its place, whatever is at work.
        assert s.client.cancel(waiting[0]).state == "cancelled"
        assert s.client.job(first.id).state == "running"
        waiting.append(s.client.start("index").id)
        for job in (*waiting, first.id):
            s.client.cancel(job)
        assert [s.client.finish(j).state for j in (first.id, *waiting)] == ["cancelled"] * 4
        assert c.store.version() == version and c.store.verify().sound
        assert s.client.cancel(first.id).state == "cancelled"
        # The lock is free, and the next one runs.
        assert s.client.finish(s.client.start("index").id).state == "done"


def test_a_server_that_ends_takes_its_jobs_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold_trainings(monkeypatch)
    c = painted(tmp_path, train=False, n=20)
    with running(c) as s:
        job: ServerJob = s.service.jobs.get(s.client.start("train").id)
        for kind, _ in s.client.follow(job.id):
            if kind == "progress":
                break
    assert job.process is not None and job.process.poll() is not None
    assert job.state == "cancelled"


def test_no_answer_mixes_versions_while_many_are_published(tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=20)
    # Each version gives one more picture the word, so the number of hits tells the version.
    first = c.store.version()
    expected = {first: 0}
    problems: list[object] = []
    stop = threading.Event()
    seen: dict[int, set[int]] = {}

    def ask(client: Client) -> None:
        while not stop.is_set():
            try:
                found = client.search("planted", limit=100)
                seen.setdefault(found.version, set()).add(len(found.hits))
                models = client.get("/v1/models")
                current = [v["version"] for v in models["versions"] if v["current"]]
                if current != [models["version"]]:
                    problems.append(models)
            except ServiceError as e:
                if e.code != "busy":
                    problems.append(e)

    with running(c) as s:
        askers = [threading.Thread(target=ask, args=(s.client,)) for _ in range(4)]
        for t in askers:
            t.start()
        for i in range(1, PUBLISHES + 1):
            session = s.client.begin("red").session
            s.client.judge(session, [1 + (i - 1) % 20])
            s.client.save_word(session, "planted")
            expected[c.store.version()] = min(i, 20)
        stop.set()
        for t in askers:
            t.join()
        found = s.client.search("planted", limit=100)
        seen.setdefault(found.version, set()).add(len(found.hits))
    assert problems == []
    assert len(seen) > 3
    known = {v: n for v, n in seen.items() if v in expected}
    assert known == {v: {expected[v]} for v in known}
    # Between two of ours, folding segments together publishes the same pictures again.
    assert all(len(n) == 1 for n in seen.values())


def test_models_are_listed_compared_and_rolled_back(tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=60)
    c.train(rankers=["ridge"])
    first = c.store.version()
    c.train(rankers=["pamir"], force=True)
    second = c.store.version()
    with running(c) as s:
        listed = s.client.get("/v1/models")
        assert listed["version"] == second
        assert [v["version"] for v in listed["versions"] if v["current"]] == [second]
        compared = s.client.get(f"/v1/models/compare?a={first}&b={second}")
        (words,) = compared["differences"]
        gain = words["after"]["value"] - words["before"]["value"]
        assert words["kind"] == "words" and words["gain"] == pytest.approx(gain)
        assert words["after"]["current"] is not None
        back = s.post("/v1/models/rollback", {"version": first}).json["version"]
        now = s.client.get("/v1/models")["versions"][-1]
        assert now["version"] == back > second
        assert now["models"][0]["model"] == words["before"]["model"]
        for wrong in (999, first - 100 if first > 100 else 998):
            assert s.post("/v1/models/rollback", {"version": wrong}).status == 400
            assert s.ask("GET", f"/v1/models/compare?a={wrong}&b={back}").status == 400


def test_growing_is_seen_by_who_asks_next(own: Served) -> None:
    before = own.client.search("red", limit=100)
    grow(own.service.collection, 504)
    after = own.client.search("red", limit=100)
    assert after.version > before.version and len(after.hits) == len(before.hits) + 1


def test_judging_waits_for_no_writer(own: Served, taught: Collection) -> None:
    from sightline.store.locks import Lock

    session = own.client.begin("red").session
    with Lock(own.service.collection.store_folder.path, "test"):
        assert own.client.judge(session, [1]).judgements == 1
        reply = own.post(f"/v1/sessions/{session}/word", {"word": "new"})
        assert (reply.status, reply.code, reply.headers["retry-after"]) == (409, "busy", "2")
        assert own.client.search("red").hits
