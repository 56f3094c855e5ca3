"""The real server, killed at any moment: no judgement that it acknowledged is lost."""

from __future__ import annotations

import http.client
import random
import threading
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.sessions.log import mark_name
from sightline.errors import SightlineError
from sightline.web.client import ServiceError
from tests.factories.failing_disks import KILLS
from tests.factories.judging_collections import events_of
from tests.factories.servers import Process, painted
from tests.waiting import LIMIT

# A server takes seconds to start.
SERVERS_KILLED = max(3, KILLS // 10)
# A server that says yes before anything is on the disk.
HASTY = """
import threading
from sightline.collection.sessions.session import Session
real, late = Session._append, threading.Event()
def hasty(self, events):
    threading.Thread(target=lambda: late.wait() and real(self, events), daemon=True).start()
Session._append = hasty
"""


def judge_until_killed(server: Process, after: int, seed: int) -> list[tuple[str, str, int]]:
    """Have three clients judge, kill the server, and return what it had acknowledged."""
    said: list[tuple[str, str, int]] = []
    enough = threading.Semaphore(0)

    def judge(who: int) -> None:
        chance = random.Random(seed + who)
        try:
            session = server.client.begin("red").session
            for i in range(10_000):
                key, picture = f"{seed}-{who}-{i}", chance.randrange(1, 25)
                server.client.post(
                    f"/v1/sessions/{session}/judgements", {"relevant": [picture]}, key
                )
                said.append((session, key, picture))
                enough.release()
        except (OSError, http.client.HTTPException, ServiceError):
            return

    clients = [threading.Thread(target=judge, args=(w,)) for w in range(3)]
    for t in clients:
        t.start()
    for _ in range(after):
        assert enough.acquire(timeout=LIMIT)
    server.kill()
    for t in clients:
        t.join()
    return said


def problems_after(c: Collection, said: list[tuple[str, str, int]]) -> list[str]:
    found = [p.what for p in c.store.verify().problems]
    kept = {(e.session, e.body.get("mark"), e.picture) for e in events_of(c, "judged")}
    lost = [s for s in said if (s[0], mark_name(s[0], s[1]), s[2]) not in kept]
    if lost:
        return [*found, f"{len(lost)} of {len(said)} acknowledged judgements are lost"]
    if len(kept) != len(events_of(c, "judged")):
        found.append("some are there twice")
    for session in {s[0] for s in said}:
        try:
            c.judge(resume=session).next(5)
        except SightlineError as e:
            found.append(f"the session {session} cannot go on: {e}")
    return found


def test_no_acknowledged_judgement_is_lost(tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=24)
    chance, said = random.Random(9), 0
    for seed in range(SERVERS_KILLED):
        acknowledged = judge_until_killed(Process(c), chance.randrange(1, 60), seed)
        assert problems_after(c, acknowledged) == []
        said += len(acknowledged)
    assert said > 10 * SERVERS_KILLED
    # It starts again without further ado, and what was judged still stands.
    again = Process(c)
    assert len(again.client.get("/v1/sessions?limit=1000")["sessions"]) >= SERVERS_KILLED
    again.kill()


def test_the_harness_reports_a_server_that_says_yes_too_soon(tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=24)
    said = judge_until_killed(Process(c, HASTY), 5, 0)
    assert "lost" in problems_after(c, said)[0]


# A server that dies after a judgement is on the disk and before anybody is told.
SILENT = """
import os
from sightline.collection.sessions.session import Session
real = Session.mark
def silent(self, *given, **more):
    real(self, *given, **more)
    os.kill(os.getpid(), 9)
Session.mark = silent
"""


def first_judgement(server: Process, session: str) -> dict[str, object]:
    sent = server.client.post(f"/v1/sessions/{session}/judgements", {"relevant": [1]}, "first")
    return dict(sent)


@pytest.mark.parametrize("before", ["", SILENT], ids=["not written", "written"])
def test_a_first_judgement_sent_again_after_a_restart_counts_once(
    tmp_path: Path, before: str
) -> None:
    """The server ends before the first judgement of a session is answered; the client asks on."""
    c = painted(tmp_path, train=False, n=24)
    with Process(c, before) as server:
        begun = server.client.begin("red", limit=5)
        if before:
            with pytest.raises((OSError, http.client.HTTPException, ServiceError)):
                first_judgement(server, begun.session)
        server.kill()
    answers = []
    for _ in range(2):
        with Process(c) as server:
            answers += [first_judgement(server, begun.session) for _ in range(2)]
            hits = server.client.hits(begun.session, 5)
            assert hits.hits[0].id == 1 and hits.round == 1
    assert answers == [
        {"version": c.store.version(), "session": begun.session, "judgements": 1, "judged": 1}
    ] * 4  # fmt: skip
    assert len(events_of(c, "judged")) == 1 and len(events_of(c, "session-started")) == 1
    (state,) = c.sessions.all()
    assert (state.id, state.positive) == (begun.session, 1) and c.store.verify().sound


def test_sessions_in_which_nothing_was_judged_are_hidden_reverted_and_purged(
    tmp_path: Path,
) -> None:
    c = painted(tmp_path, train=False, n=24)
    with Process(c) as server:
        names = [server.client.begin("red").session for _ in range(3)]
        assert server.client.get("/v1/sessions")["sessions"] == []
        state = server.client.get(f"/v1/sessions/{names[0]}")
        assert (state["relevant"], state["other"], state["marks"]["relevant"]) == (0, 0, [])
        assert server.client.revert(names[1])
        with pytest.raises(ServiceError, match="was reverted"):
            server.client.judge(names[1], [1])
    assert c.sessions.all() == [] and {s.id for s in c.sessions.all(empty=True)} == {*names}
    assert c.store.purge(sessions=names[1:2]) >= 1
    assert {s.id for s in c.sessions.all(empty=True)} == {names[0], names[2]}
    resumed = c.judge(resume=names[2])
    resumed.mark(positive=[1])
    resumed.close()
    assert [s.id for s in c.sessions.all()] == [names[2]]
    assert c.sessions.revert(names[0]) and c.store.verify().sound
