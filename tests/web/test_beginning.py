"""From nothing: a folder that was never indexed, one without pictures, words that nobody learnt."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.web.client import Client
from tests.factories.photos import paint
from tests.factories.servers import Served, painted, running
from tests.waiting import LIMIT

# All that a page asks, with what each needs besides an index.
ASKED: tuple[tuple[str, str, object, str], ...] = (
    ("GET", "/v1/report", None, ""), ("GET", "/v1/words?prefix=r", None, ""),
    ("GET", "/v1/folders", None, ""), ("GET", "/v1/skipped", None, ""),
    ("GET", "/v1/models", None, ""), ("GET", "/v1/sessions", None, ""),
    ("GET", "/v1/export?format=csv", None, ""),
    ("POST", "/v1/search", {"query": "red", "count": True}, ""),
    ("POST", "/v1/why", {"query": "red", "limit": 1, "blocks": 1}, ""),
    ("POST", "/v1/sessions", {"query": "red"}, ""),
    ("GET", "/v1/topics", None, "no-space"),
    ("GET", "/v1/topics/near?word=red", None, "no-space"),
    ("POST", "/v1/search/text", {"text": "red"}, "no-model"),
    ("POST", "/v1/tags", {}, "no-regions"), ("POST", "/v1/where", {"query": "red"}, "no-regions"),
    ("POST", "/v1/tags/suspected", {}, "no-model"),
    ("GET", "/v1/scenes", None, "no-features"),
    ("GET", "/v1/export?format=csv&only=proposed", None, "no-regions"),
)  # fmt: skip
OF_A_PICTURE: tuple[tuple[str, str, object, str], ...] = (
    ("GET", "/v1/pictures/1", None, ""), ("GET", "/v1/pictures/1/words", None, "no-model"),
    ("GET", "/v1/pictures/1/texts", None, "no-space"),
    ("POST", "/v1/similar", {"like": [1]}, "no-features"),
    ("POST", "/v1/sessions", {"like": [1]}, "no-features"),
    ("POST", "/v1/search", {"query": "red", "like": [1]}, "no-features"),
)  # fmt: skip


@pytest.fixture
def new(tmp_path: Path) -> Iterator[Served]:
    """Serve a folder without pictures that was never indexed."""
    (tmp_path / "photos").mkdir()
    c = Collection.open(tmp_path / "photos", store=tmp_path / "store", workers=1)
    with running(c) as s:
        yield s


def check(s: Served, asked: tuple[tuple[str, str, object, str], ...], all_: str = "") -> None:
    """Ask everything, and see that what is missing is named, with what to do."""
    for method, path, body, needs in asked:
        reply = s.ask(method, path, b"" if body is None else json.dumps(body).encode())
        if wanted := all_ or needs:
            assert (reply.status, reply.code) == (409, wanted), (path, reply.body)
            assert "sightline index" in (said := reply.json["detail"]) or "train" in said
            # Features have names that only the owner can choose among.
            assert wanted == "no-features" or "POST /v1/jobs {" in said
        else:
            assert reply.status in (200, 201), (path, reply.body)


def test_a_folder_that_was_never_indexed(new: Served, tmp_path: Path) -> None:
    check(new, ASKED, "nothing-indexed")
    check(new, (("GET", "/v1/health", None, ""), *OF_A_PICTURE), "nothing-indexed")
    rollback = new.post("/v1/models/rollback", {})
    assert rollback.code == "nothing-indexed" and "version" not in rollback.json
    assert new.client.get("/v1/jobs") == {"version": 0, "jobs": []}
    assert new.ask("GET", "/v1/metrics").status == 200
    # Asking made no store.
    assert not (tmp_path / "store").exists()


def test_from_nothing_to_hits(new: Served, tmp_path: Path) -> None:
    assert new.client.finish(new.client.start("index").id).state == "done"
    health = new.ask("GET", "/v1/health")
    assert (health.status, health.code) == (409, "no-pictures")
    check(new, ASKED)
    assert new.ask("GET", "/v1/pictures/1").code == "no-picture"
    paint(tmp_path / "photos", 12, False, 0)
    assert new.client.finish(new.client.start("index").id).report["added"] == 12
    assert new.client.get("/v1/health")["pictures"] == 12
    check(new, (*ASKED, *OF_A_PICTURE))
    report = new.client.get("/v1/report")
    assert (report["pictures"], report["with_words"], report["learnt"]) == (12, 0, "")
    trained = new.client.finish(new.client.start("train", features=["color"]).id)
    assert trained.state == "failed" and "has a word" in trained.detail
    paint(tmp_path / "photos", 12, True, 0)
    assert new.client.finish(new.client.start("index").id).state == "done"
    assert len(new.client.search("red").hits) == 2 and new.client.words("r")


def test_a_model_without_a_shared_space(tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=40)
    c.train(rankers=["ridge"], force=True)
    with running(c) as s:
        for method, path, body in (
            ("GET", "/v1/topics", b""), ("GET", "/v1/pictures/1/texts", b""),
        ):  # fmt: skip
            reply = s.ask(method, path, body)
            assert (reply.status, reply.code) == (409, "no-space"), path
            assert '"text": true' in reply.json["detail"]
        answered = s.ask("POST", "/v1/search/text", b'{"text": "red"}').json
        assert answered["hits"] and answered["text_answer"]["model"] == "words"
        no_words = b'{"verb": "train", "similar": true, "search": 60}'
        assert s.ask("POST", "/v1/jobs", no_words).status == 400
        negative = b'{"verb": "train", "search": -1}'
        assert s.ask("POST", "/v1/jobs", negative).status in (400, 422)
        two = s.ask("POST", "/v1/jobs", b'{"verb": "train", "text": true, "regions": true}')
        assert (two.status, two.code) == (400, "usage")
        assert s.ask("GET", "/v1/pictures/1/words").status == 200


def test_the_command_serves_what_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    paint(tmp_path / "photos", 4, True, 0)
    command = [sys.executable, "-m", "sightline", "serve", "--port", "0", "--json"]
    server = subprocess.Popen(
        [*command, "-C", str(tmp_path / "photos"), "--store", str(tmp_path / "store")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert server.stdout is not None and server.stderr is not None
        at = json.loads(server.stdout.readline())
        client = Client(at["url"], at["token"], LIMIT)
        assert client.finish(client.start("index").id).state == "done"
        assert client.get("/v1/health")["pictures"] == 4
    finally:
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=LIMIT)
    assert b"Nothing is indexed yet" in said
    wrong = [*command, "-C", str(tmp_path / "nowhere"), "--store", str(tmp_path / "other")]
    ran = subprocess.run(wrong, capture_output=True, timeout=LIMIT)
    assert ran.returncode == 1 and b"is no folder" in ran.stderr
