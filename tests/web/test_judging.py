"""Judging over HTTP: rounds, undo, keys, words, revert; and the forms of other programs."""

from __future__ import annotations

import contextlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sightline.collection import Collection
from sightline.collection.clicks.deduplication import distinct_impressions
from sightline.store.events import EventLog
from tests.factories.servers import Served, painted, running


def judged_events(s: Served) -> int:
    log = EventLog(s.service.collection.store_folder.events, write=False)
    try:
        return sum(1 for _ in log.read(kinds=["judged"]))
    finally:
        log.close()


def test_a_session_from_beginning_to_end(own: Served) -> None:
    c, client = own.service.collection, own.client
    first = client.begin("red", limit=5)
    assert c.sessions.all() == [] and len(first.hits) == 5 and first.round == 0
    fit, unfit = first.hits[0].id, first.hits[1].id
    marked = client.judge(first.session, [fit], [unfit])
    assert (marked.judgements, marked.judged, marked.version) == (2, 2, c.store.version())
    second = client.hits(first.session, 40)
    assert second.hits[0].id == fit and second.round == 1
    assert second.hits[-1].id == unfit
    hidden = client.hits(first.session, 40, hide_judged=True)
    assert not {fit, unfit} & {h.id for h in hidden.hits}
    telling = client.get(f"/v1/sessions/{first.session}/hits?how=telling&limit=3")
    assert len(telling["hits"]) == 3
    client.judge(first.session, [hidden.hits[0].id])
    assert client.undo(first.session)["relevant"] == [hidden.hits[0].id]
    state = client.get(f"/v1/sessions/{first.session}")
    assert (state["relevant"], state["other"], state["undone"]) == (1, 1, 1)
    assert client.save_word(first.session, "found") == 1
    assert [h.id for h in client.search("found").hits] == [fit]
    assert client.revert(first.session) and not client.revert(first.session)
    assert client.search("found").hits == ()
    (listed,) = client.get("/v1/sessions")["sessions"]
    assert (listed["id"], listed["state"]) == (first.session, "reverted")
    path = f"/v1/sessions/{first.session}/judgements"
    assert own.post(path, {"relevant": [1]}).status == 400


def test_a_session_of_pictures_with_filters(own: Served) -> None:
    (late,) = own.client.get("/v1/folders")["folders"]
    body = {"like": [1], "filters": {"folder": late["id"]}, "limit": 30}
    found = own.post("/v1/sessions", body)
    assert found.status == 201
    assert {h["name"][:5] for h in found.json["hits"]} == {"late/"} and len(
        found.json["hits"]
    ) == 12
    for wrong in ({}, {"query": " "}, {"query": "red", "like": [1]}, {"like": [999]}):
        assert 400 <= own.post("/v1/sessions", wrong).status < 500
    for path in ("", "/hits"):
        assert own.ask("GET", f"/v1/sessions/0000000000{path}").code == "no-session"


def test_marks_are_there_after_a_reload(own: Served) -> None:
    session = own.client.begin("red").session
    state = f"/v1/sessions/{session}"
    own.client.judge(session, relevant=[7, 1], negative=[2])
    own.client.judge(session, relevant=[2], negative=[3])
    assert own.client.get(state)["marks"] == {
        "positive": [7, 1, 2], "negative": [3], "relevant": [7, 1, 2], "other": [3],
    }  # fmt: skip
    own.client.undo(session)
    assert own.client.get(state)["marks"] == {
        "positive": [7, 1], "negative": [2], "relevant": [7, 1], "other": [2],
    }  # fmt: skip
    own.service.sessions.close()
    found = own.client.get(state)
    assert (found["relevant"], found["other"]) == (2, 1)
    assert own.service.collection.sessions.judgements(session) == {7: True, 1: True, 2: False}


def test_what_is_sent_twice_counts_once(own: Served) -> None:
    session = own.client.begin("red").session
    path = f"/v1/sessions/{session}/judgements"
    body = {"relevant": [1], "other": [2, 3]}
    replies: list[int] = []

    def send() -> None:
        replies.append(own.post(path, body, Idempotency_Key="k-1").json["judged"])

    threads = [threading.Thread(target=send) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert replies == [3] * 8 and judged_events(own) == 3
    other = own.post(path, {"relevant": [4]}, Idempotency_Key="k-1")
    assert other.status == 400 and "was used for other judgements" in other.json["detail"]
    own.post(path, body)
    own.post(path, body)
    assert judged_events(own) == 9
    undo = f"/v1/sessions/{session}/undo"
    first, again = (own.post(undo, {}, Idempotency_Key="u").json for _ in range(2))
    assert first == again and own.client.get(f"/v1/sessions/{session}")["undone"] == 1
    for wrong in ("x" * 101, "a b", "\x01"):
        assert own.post(path, body, Idempotency_Key=wrong).status in (400, 422)


def test_relevance_feedback_as_qdrant_has_it(own: Served) -> None:
    c, path = own.service.collection, "/collections/pictures/points/query"
    feedback = [{"example": 2, "score": 0.9}, {"example": 3, "score": 0.1}]
    strategy = {"naive": {"a": 0.12, "b": 0.43, "c": 0.16}}
    query = {"relevance_feedback": {"target": 1, "feedback": feedback, "strategy": strategy}}
    answer = own.post(path, {"query": query, "limit": 6}).json
    points = answer["result"]["points"]
    expected = c.sessions.refine(pictures=1, positive=[2], negative=[3], k=6)
    assert [p["id"] for p in points] == [h.picture for h in expected] and answer["status"] == "ok"
    assert not {1, 2, 3} & {p["id"] for p in points}
    assert points[0]["payload"]["thumbnail"] == f"/v1/pictures/{points[0]['id']}/thumbnail"
    rest = own.post(path, {"query": query, "limit": 3, "offset": 3, "with_payload": False}).json
    assert [p["id"] for p in rest["result"]["points"]] == [p["id"] for p in points[3:]]
    words = {"relevance_feedback": {"target": "red", "feedback": feedback}}
    assert own.post(path, {"query": words}).json["result"]["points"]
    alike = own.post(path, {"query": {"nearest": 1}}).json["result"]["points"]
    assert alike == own.post(path, {"query": 1}).json["result"]["points"]
    both = {"recommend": {"positive": [1, 2], "negative": [3]}}
    recommended = own.post(path, {"query": both, "limit": 6}).json["result"]["points"]
    assert [p["id"] for p in recommended] == [p["id"] for p in points]
    assert c.sessions.all() == []
    assert own.post("/collections/other/points/query", {"query": 1}).code == "no-collection"


def test_rankings_and_clicks_as_metarank_has_them(own: Served) -> None:
    c = own.service.collection
    fields = [{"name": "query", "value": "red"}]
    body = {
        "id": "r1", "user": "u", "session": "s", "timestamp": 1, "fields": fields,
        "items": [{"id": "2"}, {"id": "1"}, {"id": "7"}],
    }  # fmt: skip
    ranked = own.post("/rank/words", body).json
    assert [i["item"] for i in ranked["items"]] == ["1", "7", "2"]
    assert ranked["items"][0]["score"] > ranked["items"][-1]["score"] == 0
    assert own.post("/rank/other", body).code == "no-model"
    click = {"event": "interaction", "id": "i1", "ranking": "r1", "item": "1", "type": "click",
             "timestamp": 2}  # fmt: skip
    events = [{"event": "ranking", **body}, click]
    first = own.post("/feedback", events).json
    assert (first["status"], first["accepted"], first["updated"]) == ("ok", 2, 1)
    assert own.post("/feedback", events).json["updated"] == 0
    (session,) = c.sessions.all()
    assert session.lists == 1 and session.query == "red"
    assert own.post("/feedback", {"event": "item", "id": "x"}).status == 422


def ranking(name: str, *items: int, query: str = "red") -> dict[str, Any]:
    return {
        "event": "ranking", "id": name, "items": [{"id": str(i)} for i in items],
        "fields": [{"name": "query", "value": query}],
    }  # fmt: skip


def click(name: str, item: int, kind: str = "click") -> dict[str, Any]:
    return {"event": "interaction", "ranking": name, "item": str(item), "type": kind}


def test_interactions_come_after_their_ranking_even_to_another_server(tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=24)
    with running(c) as s:
        shown = s.post("/feedback", ranking("r1", 2, 1, 7, 4)).json
        assert (shown["accepted"], shown["updated"]) == (1, 1)
        assert standing(c) == [("red", (2, 1, 7, 4), set())]
        assert s.post("/feedback", click("r1", 7)).json["updated"] == 1
        assert s.post("/feedback", click("r1", 7)).json["updated"] == 0
        # Of things that are no clicks, and on what was not shown, nothing is kept.
        for nothing in (click("r1", 3), click("r1", 4, "hover"), click("none", 4, "hover")):
            assert s.post("/feedback", nothing).json["updated"] == 0
    with running(c) as s:
        more = [click("r1", 1), ranking("r2", 5, 6, query="blue"), click("r2", 6)]
        assert s.post("/feedback", more).json["updated"] == 2
        reply = s.post("/feedback", [ranking("r3", 1), click("r4", 1), click("r1", 4)])
        assert (reply.status, reply.code) == (404, "no-ranking") and "1 of" in reply.json["detail"]
        assert s.post("/feedback", [ranking("r5", 999)]).status == 422
        assert s.post("/feedback", [ranking("r5", 1, query="?")]).status == 422
        assert s.post("/feedback", []).json["updated"] == 0
    # What was refused left nothing behind.
    assert standing(c) == [("blue", (5, 6), {6}), ("red", (2, 1, 7, 4), {1, 7})]
    assert sorted(x.lists for x in c.sessions.all()) == [1, 1]


def test_a_ranking_that_was_reverted_is_sent_again_to_be_clicked(own: Served) -> None:
    c = own.service.collection
    own.post("/feedback", [ranking("r1", 2, 1), click("r1", 1)])
    (session,) = c.sessions.all()
    c.sessions.revert(session.id)
    assert own.post("/feedback", click("r1", 2)).code == "no-ranking" and standing(c) == []
    assert own.post("/feedback", [ranking("r1", 2, 1), click("r1", 2)]).json["updated"] == 1
    assert standing(c) == [("red", (2, 1), {2})]
    assert own.post("/feedback", click("r1", 1)).json["updated"] == 1
    assert standing(c) == [("red", (2, 1), {1, 2})]


def test_the_same_ranking_from_a_file_counts_once(own: Served, tmp_path: Path) -> None:
    c, log = own.service.collection, tmp_path / "log.jsonl"
    events = [ranking("r1", 2, 1, 7), click("r1", 1)]
    log.write_text("".join(json.dumps(e) + "\n" for e in events))
    assert c.clicks.import_logs(log).added == 1
    assert own.post("/feedback", click("r1", 7)).code == "no-ranking"
    # It stands already, and is found by its id from now on.
    assert own.post("/feedback", events[0]).json["updated"] == 0
    assert own.post("/feedback", click("r1", 7)).json["updated"] == 1
    assert standing(c) == [("red", (2, 1, 7), {1, 7})]
    assert c.clicks.import_logs(log).added == 0


def test_clicks_that_come_at_once_are_all_kept(own: Served) -> None:
    items = range(1, 21)
    own.post("/feedback", ranking("r1", *items))
    with ThreadPoolExecutor(20) as at_once:
        replies = list(at_once.map(lambda i: own.post("/feedback", click("r1", i)), items))
    assert [r.status for r in replies] == [200] * 20
    assert standing(own.service.collection) == [("red", tuple(items), set(items))]


def standing(c: Collection) -> list[tuple[str, tuple[int, ...], set[int]]]:
    """Return the lists that training would learn from."""
    with contextlib.closing(EventLog(c.store_folder.events, write=False)) as log:
        return sorted((x.query, x.pictures, set(x.clicked)) for x in distinct_impressions(log))


def test_many_sessions_hold_few_files_and_little_memory(own: Served) -> None:
    sessions = [own.client.begin("red").session for _ in range(24)]
    for i, name in enumerate([*sessions, *sessions]):
        assert own.client.judge(name, [1 + i % 20]).judged == (1 if i < 24 else 2)
    awake = [s for s, _ in own.service.sessions._open.values() if s.awake]
    assert 1 <= len(awake) <= 17
    assert {s.id for s in own.service.collection.sessions.all()} == set(sessions)
