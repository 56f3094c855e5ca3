"""No path is taken from a client: whatever it sends, nothing outside the collection is read."""

from __future__ import annotations

import itertools
import os
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest

from sightline.collection import Collection
from sightline.store.locks import Lock
from tests.served import Served, painted, running

SECRET = b"the secret of another folder"
_UP = ("../", "..\\", "%2e%2e%2f", "%2e%2e/", "..%2f", "%252e%252e%252f", "..%c0%af", "....//",
       "..;/", "\\..\\/", "%uff0e%uff0e/", ".%00./")  # fmt: skip


def payloads(secret: Path) -> list[str]:
    """Return ways to write a path that leads out of where one is."""
    at = str(secret)
    names = [at, at.lstrip("/"), f"etc/passwd{quote(chr(0))}.jpg", "etc/passwd", secret.name]
    ups = [u * n + name for u, n, name in itertools.product(_UP, (1, 8), names)]
    more = [
        f"file://{at}",
        f"/proc/self/root{at}",
        "~root",
        "-rf",
        "%",
        "\\\\host\\share",
        ".",
        "..",
    ]
    return [*names, *ups, *more]


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """Return a file that lies beside the collection, under a name that begins like it."""
    secret = tmp_path / "photos-of-others" / "secret.jpg"
    secret.parent.mkdir()
    secret.write_bytes(SECRET)
    return secret


def test_no_way_to_write_a_path_leads_out(tmp_path: Path, beside: Path) -> None:
    c = painted(tmp_path, train=False, n=6)
    templates = (
        "/v1/pictures/{}", "/v1/pictures/{}/thumbnail", "/v1/pictures/{}/original", "/{}",
        "/v1/pictures/1/{}", "/v1/jobs/{}", "/v1/jobs/{}/events", "/v1/sessions/{}",
        "/v1/sessions/{}/hits", "/v1/topics/near?word={}", "/login?code={}",
        "/v1/folders?cursor={}",
    )  # fmt: skip
    sent = payloads(beside)
    assert len(sent) > 120
    with running(c) as s:
        for template, payload in itertools.product(templates, sent):
            plain = quote(payload, safe="/%~\\;:.")
            reply = s.ask("GET", template.format(plain.replace("\\", "%5C")))
            assert SECRET not in reply.body and b"root:" not in reply.body
            assert 400 <= reply.status < 500, (template, payload, reply.status)


def test_no_body_names_a_file(tmp_path: Path, beside: Path) -> None:
    c = painted(tmp_path, train=False, n=6)
    with running(c) as s:
        for payload in payloads(beside):
            for path, body in (
                ("/v1/search", {"query": payload}),
                ("/v1/search", {"query": "red", "filters": {"folder": payload}}),
                ("/v1/similar", {"like": [payload]}),
                ("/v1/sessions", {"query": payload}),
                ("/v1/sessions", {"like": [payload]}),
                ("/v1/jobs", {"verb": "index", "words": [payload]}),
                ("/v1/jobs", {"verb": "index", "features": [payload]}),
                ("/collections/pictures/points/query", {"query": payload}),
                ("/collections/pictures/points/query",
                 {"query": {"relevance_feedback": {"target": payload}}}),
                ("/rank/words", {"items": [{"id": payload}], "fields": []}),
                ("/rank/words", {"items": [{"id": "1"}],
                                 "fields": [{"name": "query", "value": payload}]}),
            ):  # fmt: skip
                reply = s.post(path, body)
                assert SECRET not in reply.body
                # Words may be made of anything; nothing else is taken.
                if reply.status < 300:
                    assert "query" in str(body) and "folder" not in str(body), (path, payload)
        for picture in (f"./{beside}", str(beside), f"./../{beside.parent.name}/secret.jpg"):
            reply = s.post("/v1/search", {"query": picture})
            assert (reply.status, reply.code) == (400, "path")
    assert c.sessions() == []


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
        (late,) = [p for p in c.folders() if p.path == b"late"]
        inside = next(p for p, f in c.facts(range(1, 40)).items() if f.path.startswith(b"late/"))
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
    bomb = Path(__file__).parent.parent / "pictures" / "fixtures"
    assert bomb.is_dir()
    for data in (b"", b"GIF89a", b"<svg onload='x'/>", b"\xff\xd8\xff" + bytes(999), picture[:60]):
        reply = served.ask("POST", "/v1/search/picture", data, {"Content-Type": "image/x"})
        assert 400 <= reply.status < 500, data[:8]


def test_nothing_that_was_sent_stays(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for data in (b"no picture", b"\x89PNG\r\n"):
        served.ask("POST", "/v1/search/picture", data, {"Content-Type": "image/png"})
    event = {"event": "ranking", "id": "r", "items": [{"id": "1"}], "fields": []}
    served.post("/feedback", [event])
    assert list(tmp_path.iterdir()) == []


def test_no_problem_names_a_folder_of_this_machine(tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=12)
    with running(c) as s:
        said = [s.ask("POST", "/v1/search/picture", b"no picture", {"Content-Type": "image/jpeg"})]
        with Lock(c.home.folder, "index", 0):
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
