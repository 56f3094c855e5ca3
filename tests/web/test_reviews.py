"""Answers one by one over HTTP: one session, one version, each of them taken back by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.factories.servers import Served, running
from tests.factories.tagged_collections import copied


@pytest.fixture
def cut(tagged: Path, tmp_path: Path) -> Iterator[Served]:
    """Serve a collection whose regions were learnt, which a test may change."""
    with running(copied(tagged, tmp_path)) as found:
        yield found


def _answer(cut: Served, s: dict[str, Any], yes: bool, session: str | None) -> dict[str, Any]:
    answer = {"picture": s["picture"], "word": s["word"], "add": s["add"], "yes": yes}
    body = {"answers": [answer], "session": session, "apply": False}
    found: dict[str, Any] = cut.post("/v1/tags/answers", body).json
    return found


def _has_word(cut: Served, s: dict[str, Any]) -> bool:
    words = cut.service.collection.pictures.words(s["picture"])
    return s["word"] in [w for t in words for w in t.tags]


def test_single_answers_are_one_session_and_one_version(cut: Served) -> None:
    c = cut.service.collection
    first, second, third = cut.post("/v1/tags", {"untagged": True, "limit": 3}).json["suggestions"]
    before = c.store.version()
    told = _answer(cut, first, True, None)
    session = told["session"]
    assert (told["answered"], told["changed"]) == (1, None)
    for s in (second, third):
        assert _answer(cut, s, True, session)["session"] == session
    (state,) = c.sessions.all()
    assert (state.id, state.positive) == (session, 3)
    assert c.store.version() == before and not _has_word(cut, first)
    assert cut.post("/v1/tags/carry", {}).json["changed"] == len(
        {s["picture"] for s in (first, second, third)}
    )
    assert c.store.version() == before + 1 and _has_word(cut, first)
    assert cut.post("/v1/tags/carry", {}).json["changed"] == 0


def test_an_answer_is_taken_back_and_asked_again(cut: Served) -> None:
    c = cut.service.collection
    first, second = cut.post("/v1/tags", {"untagged": True, "limit": 2}).json["suggestions"]
    session = _answer(cut, first, True, None)["session"]
    _answer(cut, second, False, session)
    cut.post("/v1/tags/carry", {})
    assert _has_word(cut, first)
    back = {"session": session, "picture": first["picture"], "word": first["word"]}
    assert cut.post("/v1/tags/undo", back).json["stood"] is True
    assert cut.post("/v1/tags/undo", back).json["stood"] is False
    cut.post("/v1/tags/carry", {})
    assert not _has_word(cut, first)
    (state,) = c.sessions.all()
    assert (state.positive, state.negative, state.undone) == (0, 1, 1)
    asked = cut.post("/v1/tags", {"untagged": True, "limit": 1000}).json["suggestions"]
    pairs = {(s["picture"], s["word"]) for s in asked}
    assert (first["picture"], first["word"]) in pairs
    assert (second["picture"], second["word"]) not in pairs


def test_only_reviews_that_stand_go_on(cut: Served) -> None:
    (s,) = cut.post("/v1/tags", {"untagged": True, "limit": 1}).json["suggestions"]
    unknown = cut.post(
        "/v1/tags/answers",
        {"answers": [{"picture": s["picture"], "word": s["word"], "yes": True}], "session": "0a"},
    )
    assert (unknown.status, unknown.json["code"]) == (404, "no-session")
    talk = cut.client.begin("cow")
    cut.client.judge(talk.session, relevant=[talk.hits[0].id])
    back = {"session": talk.session, "picture": s["picture"], "word": s["word"]}
    assert cut.post("/v1/tags/undo", back).status == 400
    session = _answer(cut, s, True, None)["session"]
    cut.client.revert(session)
    assert cut.post("/v1/tags/undo", {**back, "session": session}).json["code"] == "reverted"
