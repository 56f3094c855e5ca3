"""The real server, killed at any moment: no judgement that it acknowledged is lost."""

from __future__ import annotations

import http.client
import os
import random
import threading
from pathlib import Path

from sightline.collection import Collection
from sightline.collection.sessions.once import mark_name
from sightline.errors import SightlineError
from sightline.web.client import ServiceError
from tests.served import Process, painted
from tests.sessions_made import events_of
from tests.waiting import LIMIT

# The whole 200 take minutes: SIGHTLINE_KILLS=200.
KILLS = int(os.environ.get("SIGHTLINE_KILLS", "40")) // 10
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
    found = [p.what for p in c.verify().problems]
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
    for seed in range(KILLS):
        acknowledged = judge_until_killed(Process(c), chance.randrange(1, 60), seed)
        assert problems_after(c, acknowledged) == []
        said += len(acknowledged)
    assert said > 10 * KILLS
    # It starts again without further ado, and what was judged still stands.
    again = Process(c)
    assert len(again.client.get("/v1/sessions?limit=1000")["sessions"]) >= KILLS
    again.kill()


def test_the_harness_reports_a_server_that_says_yes_too_soon(tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=24)
    said = judge_until_killed(Process(c, HASTY), 5, 0)
    assert "lost" in problems_after(c, said)[0]
