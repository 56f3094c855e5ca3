"""Words as a file: as the command writes it, a few at a time, with nothing left behind."""

from __future__ import annotations

import gc
import io
import socket
import threading
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.web.limits import Limits
from sightline.web.routes.export import _Blocks
from tests.factories.servers import Served, running
from tests.factories.tagged_collections import copied
from tests.waiting import until


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "temporary"
    found.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(found))
    return found


@pytest.mark.parametrize(
    ("form", "name"), [("csv", "words.csv"), ("json", "words.jsonl"), ("coco", "words.json")]
)
@pytest.mark.parametrize("only", [(), ("tagged",), ("accepted", "tagged"), ("carried",)])
def test_the_file_is_that_of_the_command(
    served: Served, taught: Collection, tmp_path: Path, temporary: Path, form: str, name: str,
    only: tuple[str, ...],
) -> None:  # fmt: skip
    asked = "".join(f"&only={o}" for o in only)
    reply = served.ask("GET", f"/v1/export?format={form}{asked}")
    taught.export(form, tmp_path / name, only=only)
    assert reply.status == 200 and reply.body == (tmp_path / name).read_bytes()
    assert reply.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert reply.headers["sightline-version"] == str(taught.store.version())
    assert served.client.export(form, only) == reply.body
    assert str(taught.root, "utf-8").encode() not in reply.body
    assert list(temporary.iterdir()) == []


def test_proposed_words_go_out(tagged: Path, tmp_path: Path) -> None:
    with running(copied(tagged, tmp_path / "cut")) as s:
        body = s.ask("GET", "/v1/export?format=json&only=proposed").body.decode()
    assert '"proposed"' in body


def test_what_cannot_be_exported(served: Served) -> None:
    for query in ("", "?format=xmp", "?format=csv&only=all", "?format=csv&only=x&only=carried"):
        assert served.ask("GET", f"/v1/export{query}").status == 422, query
    # After a failure the place is free again.
    for _ in range(4):
        reply = served.ask("GET", "/v1/export?format=csv&only=proposed")
        assert reply.status in (400, 409) and reply.code != "exports"


def test_only_a_few_at_a_time(taught: Collection, temporary: Path) -> None:
    with running(taught, Limits(exports=1)) as s:
        place = s.service.exports
        assert place.acquire(blocking=False)
        busy = s.ask("GET", "/v1/export?format=csv")
        assert (busy.status, busy.code) == (429, "exports") and busy.headers["retry-after"]
        place.release()
        for _ in range(3):
            assert s.ask("GET", "/v1/export?format=csv").status == 200


def test_clients_that_go_away_take_no_place(taught: Collection, temporary: Path) -> None:
    with running(taught, Limits(exports=1)) as s:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", s.port)) as c:
                host = f"Host: 127.0.0.1:{s.port}\r\nAuthorization: Bearer {s.service.token}"
                c.sendall(f"GET /v1/export?format=coco HTTP/1.1\r\n{host}\r\n\r\n".encode())
        until(lambda: s.ask("GET", "/v1/export?format=csv").status == 200, "a free place")
    assert list(temporary.iterdir()) == []


def test_a_file_that_nobody_reads_is_let_go() -> None:
    place = threading.BoundedSemaphore(1)
    for read in (False, True):
        assert place.acquire(blocking=False)
        file = io.BytesIO(b"x" * 10)
        blocks = _Blocks(file, place)
        assert not read or list(blocks) == [b"x" * 10]
        del blocks
        gc.collect()
        assert file.closed and place.acquire(blocking=False)
        place.release()
