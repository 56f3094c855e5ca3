"""No path is taken from a client: whatever it sends, nothing outside the collection is read."""

from __future__ import annotations

import os
import resource
import socket
import tempfile
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from sightline.collection import Collection
from sightline.store.locks import Lock
from sightline.web.guard import UPLOADS
from tests.factories.picture_files import EPS, SVG, bomb_png, huge_png, raw_png
from tests.factories.servers import Served, painted, running
from tests.factories.traversal_paths import LEAST, payloads, some_payloads
from tests.waiting import until

SECRET = b"the secret of another folder"
# The whole list of some 29,000 takes minutes: SIGHTLINE_TRAVERSALS=30000.
TRAVERSALS = int(os.environ.get("SIGHTLINE_TRAVERSALS", "30"))
# Of the whole list, as many are tried where no file is near: ids of jobs, cursors, dates.
ELSEWHERE = min(TRAVERSALS, 1_000)
# Every string that a path or a query of the service takes; the first lead to files.
TEMPLATES = (
    "/v1/pictures/{}/original", "/v1/pictures/{}/thumbnail", "/{}", "/v1/pictures/{}",
    "/v1/pictures/1/{}", "/v1/pictures/{}/words", "/v1/pictures/{}/texts", "/v1/jobs/{}",
    "/v1/jobs/{}/events", "/v1/sessions/{}", "/v1/sessions/{}/hits", "/v1/topics/near?word={}",
    "/login?code={}", "/v1/folders?cursor={}", "/v1/sessions?cursor={}",
)  # fmt: skip
NEAR_FILES = 3
LISTS = ("/", "/v1/folders", "/v1/sessions")


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """Return a file that lies beside the collection, under a name that begins like it."""
    secret = tmp_path / "photos-of-others" / "secret.jpg"
    secret.parent.mkdir()
    secret.write_bytes(SECRET)
    return secret


def bodies(payload: str) -> list[tuple[str, object]]:
    """Return requests that have a text in the place of every string that a body takes."""
    item, words = [{"id": "1"}], [{"name": "query", "value": payload}]
    ranking = {"event": "ranking", "id": payload, "items": item}
    return [
        ("/v1/search", {"query": payload}),
        ("/v1/search", {"query": "red", "filters": {"folder": payload}}),
        ("/v1/jobs", {"verb": "index", "features": [payload]}),
        ("/v1/search/text", {"text": payload}),
        ("/v1/sessions", {"query": payload}),
        ("/collections/pictures/points/query", {"query": payload}),
        ("/rank/words", {"items": item, "fields": words}),
        ("/feedback", {**ranking, "fields": [{"name": "query", "value": "red"}]}),
        ("/v1/search", {"query": "red", "filters": {"after": payload}}),
        ("/v1/search", {"query": "red", "cursor": payload}),
        ("/v1/similar", {"like": [payload]}),
        ("/v1/sessions", {"like": [payload]}),
        ("/v1/jobs", {"verb": payload}),
        ("/v1/jobs", {"verb": "index", "words": [payload]}),
        ("/v1/jobs", {"verb": "train", "rankers": [payload]}),
        ("/v1/models/rollback", {"version": payload}),
        ("/collections/pictures/points/query",
         {"query": {"relevance_feedback": {"target": payload}}}),
        ("/rank/words", {"items": [{"id": payload}], "fields": []}),
        ("/feedback", {"event": "interaction", "ranking": payload + "x", "item": "1"}),
        ("/feedback", {"event": "interaction", "ranking": "x", "item": payload}),
    ]  # fmt: skip


# Those of them that take words, or a name that is the sender's own.
WORDS = frozenset((0, 3, 4, 5, 6, 7, 16))


def written(template: str, payload: str) -> set[str]:
    """Return a path as it is, as far as HTTP can say it, and with all of it quoted."""
    plain = quote(payload, safe="/%~;:.?#=&$@!*()+,'")
    return {template.format(x) for x in (plain, quote(payload, safe=""))}


def test_the_list_is_as_long_as_it_should_be(beside: Path) -> None:
    found = payloads(beside)
    assert len(found) == len(set(found)) >= LEAST
    # It can hurt: read as paths, hundreds of them lead to the secret or to files of the system.
    photos = beside.parent.parent / "photos" / "late"
    photos.mkdir(parents=True)
    plain = [p for p in found if "\0" not in p and len(p) < 4_000]
    leads = [p for p in plain if os.path.isfile(os.path.join(photos, unquote(p).replace("\0", "")))]
    assert len(leads) > 300


def test_no_way_to_write_a_path_leads_out(tmp_path: Path, beside: Path) -> None:
    c = painted(tmp_path, train=False, n=6)
    with running(c) as s:
        for i, template in enumerate(TEMPLATES):
            sent = some_payloads(beside, TRAVERSALS if i < NEAR_FILES else ELSEWHERE, i)
            targets = [t for payload in sent for t in written(template, payload)]
            replies = s.ask_many(((t, None) for t in targets), "GET")
            for target, (status, body) in zip(targets, replies, strict=True):
                assert SECRET not in body and b"root:" not in body, target
                assert str(tmp_path).encode() not in body, target
                # Behind a question mark anything is let through, where it is no part of the path.
                assert 400 <= status < 500 or path_of(target) in LISTS, (target, status)


def path_of(target: str) -> str:
    return unquote(target.partition("?")[0])


def test_no_body_names_a_file(tmp_path: Path, beside: Path) -> None:
    c = painted(tmp_path, train=False, n=6)
    with running(c) as s:
        for i in range(len(bodies(""))):
            near = i < NEAR_FILES
            sent = some_payloads(beside, TRAVERSALS if near else ELSEWHERE, i)
            asked = [bodies(payload)[i] for payload in sent]
            replies = zip(sent, asked, s.ask_many(asked), strict=True)
            for payload, (path, body), (status, said) in replies:
                assert SECRET not in said and b"root:" not in said, body
                assert str(tmp_path).encode() not in said, body
                assert status < 500, (path, body)
                # Words may be made of anything; else a name is taken, which is no path.
                assert status >= 400 or i in WORDS or payload.isalnum(), (path, body)
        for picture in (f"./{beside}", str(beside), f"./../{beside.parent.name}/secret.jpg"):
            reply = s.post("/v1/search", {"query": picture})
            assert (reply.status, reply.code) == (400, "path")
    # Nothing was judged; what stands are rankings under names of their senders' own.
    assert all(x.lists == 1 and x.positive == x.negative == 0 for x in c.sessions.all())


def test_a_link_that_took_the_place_of_a_picture_is_not_followed(
    tmp_path: Path, beside: Path
) -> None:
    c = painted(tmp_path, train=False, n=6)
    with running(c) as s:
        file = Path(os.fsdecode(c.root), "000_x.png")
        assert s.ask("GET", "/v1/pictures/1/original").status == 200
        file.unlink()
        file.symlink_to(beside)
        reply = s.ask("GET", "/v1/pictures/1/original")
        assert reply.status == 409 and SECRET not in reply.body
        file.unlink()
        os.mkfifo(file)
        assert s.ask("GET", "/v1/pictures/1/original").status == 409
        file.unlink()
        assert s.ask("GET", "/v1/pictures/1/original").status == 409
        folder = Path(os.fsdecode(c.root), "late")
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
        (late,) = [p for p in c.pictures.folders() if p.path == b"late"]
        inside = next(
            p for p, f in c.pictures.facts(range(1, 40)).items() if f.path.startswith(b"late/")
        )
        assert late.pictures == 12
        assert s.ask("GET", f"/v1/pictures/{inside}/original").status == 409


def test_pictures_that_are_sent_are_decoded_by_a_limited_worker_alone(
    served: Served, taught: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*args: object, **kwargs: object) -> None:
        raise AssertionError("a picture was decoded in the server")

    monkeypatch.setattr("sightline.pictures.decode.decode", never)
    monkeypatch.setattr("sightline.pictures.reading.decode", never)
    monkeypatch.setattr("PIL.Image.open", never)
    picture = Path(os.fsdecode(taught.root), "000_x.png").read_bytes()
    assert served.client.similar_to(picture, 1).hits[0].id == 1
    bombs = [bomb_png(), raw_png(10_001, 10_000, zlib.compress(bytes(1000)))]
    large = huge_png(6_000, 6_000)
    before = peak_memory()
    for data in (
        large, *bombs, b"", b"GIF89a", SVG, EPS, b"\xff\xd8\xff" + bytes(999), picture[:60],
    ):  # fmt: skip
        reply = served.ask("POST", "/v1/search/picture", data, {"Content-Type": "image/x"})
        assert reply.status == 200 if data == large else 400 <= reply.status < 500, data[:8]
        if data in bombs:
            assert "megapixels" in reply.json["detail"]
    # 36 million pixels of three bytes each were nowhere in this process.
    assert peak_memory() - before < 60
    assert served.client.similar_to(picture, 1).hits[0].id == 1


def peak_memory() -> float:
    """Return the most that this process ever had in memory, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def test_nothing_that_was_sent_stays(
    own: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    real = tempfile.mkdtemp

    def noted(*given: Any, **named: Any) -> str:
        made.append(real(*given, **named))
        return made[-1]

    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr("tempfile.mkdtemp", noted)
    picture = Path(os.fsdecode(own.service.collection.root), "000_x.png").read_bytes()
    kind = {"Content-Type": "image/png"}
    for path in UPLOADS:
        for data in (picture, b"no picture", b"\x89PNG\r\n"):
            own.ask("POST", f"{path}?query=red", data, kind)
    # Each was in a folder of its own, which is gone.
    assert len(made) >= 6 and list(folder.iterdir()) == []
    events = [
        {"event": "ranking", "id": "r", "items": [{"id": "1"}, {"id": "2"}],
         "fields": [{"name": "query", "value": "red"}]},
        {"event": "interaction", "ranking": "r", "item": "1", "type": "click"},
    ]  # fmt: skip
    assert own.post("/feedback", events).json["updated"] == 1
    whole = f"Content-Type: image/png\r\nContent-Length: {len(picture)}\r\n\r\n"
    head = (
        f"POST /v1/search/picture HTTP/1.1\r\nHost: 127.0.0.1:{own.port}\r\n"
        f"Authorization: Bearer {own.service.token}\r\n{whole}"
    ).encode()
    for i in range(100):
        # Some go away in the midst of the picture, some before they are answered.
        with socket.create_connection(("127.0.0.1", own.port)) as gone:
            gone.sendall(head + (picture[:40] if i % 2 else picture))
    until(lambda: own.ask("POST", "/v1/search/picture", picture, kind).status == 200)
    assert list(folder.iterdir()) == []


def test_no_problem_names_a_folder_of_this_machine(tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=12)
    with running(c) as s:
        said = [s.ask("POST", "/v1/search/picture", b"no picture", {"Content-Type": "image/jpeg"})]
        with Lock(c.store_folder.path, "index", 0):
            said.append(s.post("/v1/models/rollback", {"version": 1}))
        os.rename(os.fsdecode(c.root), tmp_path / "elsewhere")
        said.append(s.post("/v1/search", {"query": "red"}))
        job = s.client.finish(s.client.start("index").id)
        os.rename(tmp_path / "elsewhere", os.fsdecode(c.root))
    assert job.state == "failed" and job.detail
    for text in (*(r.body.decode() for r in said if r.status >= 400), job.detail):
        assert str(tmp_path) not in text and tempfile.gettempdir() not in text, text
        assert "process " not in text
    assert sum(r.status >= 400 for r in said) >= 2
