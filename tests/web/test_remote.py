"""Another server as a member: what it sends is checked, and what it fails to send is named."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.errors import CollectionError, UsageError
from sightline.federation import Collections, LocalMember, Member
from sightline.federation.members import VectorRequest
from sightline.web.remote import RemoteMember, token_of
from tests.factories.servers import Served, painted, running
from tests.waiting import LIMIT, joined

HIT = {"id": 1, "path": "a.jpg", "score": 0.5, "match": "predicted", "probability": 0.5}
NO_MATCHES: tuple[object, ...] = ("best", None, [], {}, "similar")
NO_PROBABILITIES: tuple[object, ...] = (1.1, -0.1, "1", [])
ANSWER = {"version": 3, "hits": [HIT], "next": None, "predicted": True}


def answered(body: bytes, status: str = "200 OK", head: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


def received(connection: socket.socket) -> bool:
    """Read a whole request; what is left unread would have the answer thrown away."""
    data = b""
    while block := connection.recv(65536):
        data += block
        head, end, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        if end and len(body) >= int(length[1] if length else 0):
            return True
    return False


@contextlib.contextmanager
def sending(send: Callable[[socket.socket], None]) -> Iterator[str]:
    """Run a server that reads a request and then does what `send` does; yield its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ended = threading.Event()

        def serve() -> None:
            while not ended.is_set():
                connection, _ = listening.accept()
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(LIMIT)
                    if not ended.is_set() and received(connection):
                        send(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            yield url
        finally:
            ended.set()
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", listening.getsockname()[1])).close()
            assert joined(thread)


def problem(url: str, taught: Collection, seconds: float = LIMIT) -> str:
    """Search a collection and a server; return why the server is missing in the answer."""
    both = Collections({"here": taught, "there": RemoteMember(url, "t", seconds)})
    results = both.search("red", 5)
    assert {h.collection for h in results} == {"here"} and len(results) == 5
    here, there = results.members
    assert here.answered and not there.answered and not results.is_complete
    return there.problem


def fixed(body: object) -> Callable[[socket.socket], None]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda s: s.sendall(answered(data))


def test_a_server_is_a_member(taught: Collection, tmp_path: Path) -> None:
    other = painted(tmp_path, train=False, n=24)
    with running(other) as served:
        remote = RemoteMember(served.address.url, served.service.token, LIMIT)
        there: Member = remote
        both = Collections({"here": taught, "there": there})
        local = Collections({"here": taught, "there": other})
        for query in ("red", "warm cold", "red -warm"):
            far, near = both.search(query, 50), local.search(query, 50)
            named = [[(h.collection, h.hit.picture) for h in r] for r in (far, near)]
            # The same pictures as if the store were here, but contents that are not known.
            assert [n for n in named[0] if n in named[1]] == named[1]
            assert all(h.also_in == () and h.content == "" for h in far if h.server)
        assert "there is no word model yet" in " ".join(both.search("red").lines())
        assert both.sizes() == local.sizes()
        (first,) = both.search("red", 1).hits[:1]
        assert remote.thumbnail(first.hit.picture)[:4] == b"RIFF"
        late = both.search("red", 50, filters=Filters(tagged=True, after=0, min_side=1))
        assert {h.collection for h in late} == {"here", "there"}
        assert "folder" in both.search("red", 5, filters=Filters(folder="late")).members[1].problem
        wrong = RemoteMember(served.address.url, "wrong", LIMIT)
        results = Collections({"here": taught, "there": wrong}).search("red", 5)
        assert "(token, 401)" in results.members[1].problem
    assert "cannot be reached" in problem(served.address.url, taught)


def test_predictions_of_a_server_are_merged_by_probability(
    served: Served, taught: Collection
) -> None:
    remote = RemoteMember(served.address.url, served.service.token, LIMIT)
    alone = Collections({"there": remote})
    whole = taught.search("red", 200, cut=False)
    merged = alone.search("red", 200, cut=False)
    assert [(h.hit.picture, h.hit.match, h.hit.probability) for h in merged] == [
        (h.picture, h.match, h.probability) for h in whole
    ]
    pages = [h for o in range(0, 102, 10) for h in alone.search("red", 10, offset=o, cut=False)]
    assert pages == list(merged)


def test_a_server_is_searched_by_a_vector(
    served: Served, taught: Collection, tmp_path: Path
) -> None:
    other = painted(tmp_path, train=False, n=24)
    remote = RemoteMember(served.address.url, served.service.token, LIMIT)
    far = Collections({"a": other, "b": remote})
    near = Collections({"a": other, "b": taught})
    (first, *_) = taught.search("red", 1)
    assert set(remote.features()) == set(LocalMember(taught).features())
    for offset in (0, 30):
        lists = [c.similar(first.file, 30, feature="color", offset=offset) for c in (far, near)]
        keys = [[(h.collection, h.hit.picture, round(h.hit.score, 5)) for h in r] for r in lists]
        # Files that both have are known as one only where both are here.
        assert {k for k in keys[1] if k[0] == "b"} & set(keys[0])
        assert [k[2] for k in keys[0]] == sorted((k[2] for k in keys[0]), reverse=True)
    alone = Collections({"b": remote}).similar([0.5] * 81, 200, feature="color")
    here = Collections({"b": taught}).similar([0.5] * 81, 200, feature="color")
    assert [h.hit.picture for h in alone] == [h.hit.picture for h in here] and len(here) == 102
    with pytest.raises(CollectionError, match="numbers is needed"):
        Collections({"b": remote}).similar([0.5] * 3, feature="color")


@pytest.mark.parametrize("score", [1.5, -2])
def test_a_cosine_beyond_1_is_none(score: float) -> None:
    row = {**HIT, "match": "similar", "probability": None, "score": score}
    with sending(fixed({**ANSWER, "hits": [row]})) as url:
        request = VectorRequest("color-1", np.ones(3, np.float32))
        with pytest.raises(CollectionError, match="larger than 1"):
            RemoteMember(url, "t", LIMIT).nearest(request, 5)


def test_vectors_that_are_none_are_rejected(served: Served) -> None:
    (feature, *_) = served.client.get("/v1/search/vector")["features"]
    ok = {"feature": feature, "vector": [1.0, 2.0]}
    assert "numbers is needed" in served.post("/v1/search/vector", ok).json["detail"]
    wrong: tuple[dict[str, object], ...] = (
        {"vector": []}, {"vector": ["a"]}, {"vector": [1e40]}, {"vector": [0.0, 0.0]},
        {"feature": "../x"}, {"vector": [1.0] * 20_000}, {"k": 0},
    )  # fmt: skip
    for bad in wrong:
        assert served.post("/v1/search/vector", {**ok, **bad}).status in (400, 422), bad
    assert served.post("/v1/search/vector", {**ok, "feature": "x-1"}).code == "not-ready"


def test_a_server_that_hangs_is_named_within_its_time(taught: Collection) -> None:
    release = threading.Event()

    def hang(s: socket.socket) -> None:
        release.wait(LIMIT)

    with sending(hang) as url:
        try:
            assert "no answer within 0.2 seconds" in problem(url, taught, 0.2)
        finally:
            release.set()


def test_a_silent_server_is_left_alone_for_a_while(taught: Collection) -> None:
    release = threading.Event()
    requests = []

    def hang(s: socket.socket) -> None:
        requests.append(1)
        release.wait(LIMIT)

    with sending(hang) as url:
        remote = RemoteMember(url, "t", 0.2)
        both = Collections({"here": taught, "there": remote})
        try:
            assert "no answer" in both.search("red", 5).members[1].problem
            with pytest.raises(CollectionError, match=r"no answer|a moment ago"):
                remote.thumbnail(1)
            remote._silent_until = float("inf")
            n = len(requests)
            assert "a moment ago" in both.search("red", 5).members[1].problem
            with pytest.raises(CollectionError, match="a moment ago"):
                remote.thumbnail(1)
            assert len(requests) == n
        finally:
            release.set()


def test_a_server_that_sends_a_byte_at_a_time_is_named_within_its_time(taught: Collection) -> None:
    stopped = threading.Event()

    def trickle(s: socket.socket) -> None:
        s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not stopped.wait(0.01):
            s.sendall(b" ")

    with sending(trickle) as url:
        try:
            assert "no answer within 0.3 seconds" in problem(url, taught, 0.3)
            # The connection is closed too: no thread is left waiting for the rest.
            with pytest.raises(CollectionError, match="no answer within"):
                RemoteMember(url, "t", 0.3).size()
        finally:
            stopped.set()


def test_a_server_that_dies_in_the_middle_is_named(taught: Collection) -> None:
    for sent in (b"", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{"):
        with sending(lambda s, sent=sent: s.sendall(sent)) as url:  # type: ignore[misc]
            assert problem(url, taught)


def test_a_server_that_sends_too_much_is_named(taught: Collection) -> None:
    def flood(s: socket.socket) -> None:
        s.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(200):
            s.sendall(b" " * 100_000)

    with sending(flood) as url:
        assert "larger than" in problem(url, taught)


def without(name: str) -> dict[str, Any]:
    return {k: v for k, v in HIT.items() if k != name}


@pytest.mark.parametrize(
    "hits",
    [
        None, {}, "hits", [1], [[]], [{}], [HIT] * 7, [without("path")], [without("score")],
        *([{**HIT, "id": i}] for i in (0, -1, 1.5, True, "1", 10**30)),
        *([{**HIT, "path": p}] for p in (None, 7, ["a"])),
        *([{**HIT, "score": s}] for s in ("1", None, 10**400, -1e300, True)),
        *([{**HIT, "match": m}] for m in NO_MATCHES),
        *([{**HIT, "probability": p}] for p in NO_PROBABILITIES),
        [HIT, {**HIT, "probability": 0.9}],
        [{**HIT, "proven": "yes"}],
        [HIT, {**HIT, "match": "exact"}],
    ],
)  # fmt: skip
def test_hits_that_are_none_are_rejected_as_a_whole(hits: object, taught: Collection) -> None:
    with sending(fixed({**ANSWER, "hits": hits})) as url:
        assert problem(url, taught)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"garbage", b"\xff\xfe\x00", b"[]", b"null", b"[" * 100_000, b'{"hits": [NaN]}',
        b'{"version": NaN, "hits": []}', {**ANSWER, "version": "3"}, {"hits": []},
        {**ANSWER, "corrections": [{"typed": 3}]}, {**ANSWER, "unknown": [{"near": []}]},
        {**ANSWER, "collections": []},
    ],
)  # fmt: skip
def test_answers_that_are_none_are_rejected(body: object, taught: Collection) -> None:
    with sending(fixed(body)) as url:
        assert problem(url, taught)


def test_problems_are_named_in_words_that_can_be_printed(taught: Collection) -> None:
    detail = "\x1b[31m\u202e<b>" + "x" * 10_000
    body = json.dumps({"code": "no\n", "detail": detail}).encode()
    for head in ("", "Retry-After: \xb2\r\n", "Retry-After: " + "9" * 5_000 + "\r\n"):
        data = answered(body, "500 Broken").replace(
            b"\r\n\r\n", b"\r\n" + head.encode("latin-1") + b"\r\n", 1
        )
        with sending(lambda s, data=data: s.sendall(data)) as url:  # type: ignore[misc]
            text = problem(url, taught)
            assert text.isprintable() and len(text) <= 300 and "xxx" in text
    deep = answered(b"[" * 100_000, "500 Broken")
    with sending(lambda s: s.sendall(deep)) as url:
        assert "unknown" in problem(url, taught)


def test_texts_of_hits_are_printable_and_links_of_the_server_are_not_used() -> None:
    row = {**HIT, "path": "../\ud800\x1b]0;\n\u202e.jpg" + "y" * 9_000, "thumbnail": "http://evil"}
    said = {"said": ["\x1b[2J" * 200] * 500, "unknown": [{"word": "\x07" * 900}] * 500}
    with sending(fixed({**ANSWER, **said, "hits": [row]})) as url:
        results = Collections({"s": RemoteMember(url, "t", LIMIT)}).search("red", 5)
    (hit,) = results
    assert hit.path.isprintable() and len(hit.path) <= 4_096
    assert "evil" not in json.dumps(results.to_dict())
    assert all(line.isprintable() and len(line) < 400 for line in results.lines())
    assert len(results.lines()) < 200


def test_predictions_of_an_older_server_are_left_out_and_named() -> None:
    rows = [{**HIT, "match": "exact", "probability": None}, without("probability")]
    with sending(fixed({**ANSWER, "hits": rows})) as url:
        results = Collections({"s": RemoteMember(url, "t", LIMIT)}).search("red", 5)
    assert [h.hit.match for h in results] == ["exact"]
    assert "1 predictions without a probability were left out" in results.lines()[0]


def test_unproven_predictions_of_a_server_are_shown_as_such() -> None:
    rows = [{**HIT, "probability": None, "proven": False}]
    with sending(fixed({**ANSWER, "hits": rows})) as url:
        (hit,) = Collections({"s": RemoteMember(url, "t", LIMIT)}).search("red", 5)
    assert hit.hit.label == "not yet proven"


def test_a_list_without_end_is_not_followed(taught: Collection) -> None:
    with sending(fixed({**ANSWER, "next": "more", "hits": []})) as url:
        assert "have a file" in problem(url, taught)


@pytest.mark.parametrize(
    "data", [b"", b"<svg onload=alert(1)>", b"GIF89a", b"\xff\xd8\xff" * 400_000]
)
def test_thumbnails_that_are_none_are_not_passed_on(data: bytes) -> None:
    reply = answered(data, head="Content-Type: image/jpeg\r\n")
    with sending(lambda s: s.sendall(reply)) as url, pytest.raises(CollectionError):
        RemoteMember(url, "t", LIMIT).thumbnail(1)


def test_redirects_are_not_followed(served: Served, taught: Collection) -> None:
    head = f"Location: {served.address.url}/v1/search\r\n"
    with sending(lambda s: s.sendall(answered(b"", "307 Moved", head))) as url:
        assert problem(url, taught)


def test_tokens_are_read_from_files(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("abc\n")
    assert token_of(file) == "abc"
    for text in ("", "two words", "a\x00b", "é"):
        file.write_text(text)
        with pytest.raises(UsageError, match="no token"):
            token_of(file)
    with pytest.raises(UsageError, match="cannot be read"):
        token_of(tmp_path / "none")
    with pytest.raises(UsageError, match="begins with http"):
        RemoteMember("ftp://x", "t")
