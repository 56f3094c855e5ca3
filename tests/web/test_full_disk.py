"""A server whose disk is full answers every question, and says why it cannot keep an answer."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.web.app import build
from sightline.web.service import Service
from tests.factories.servers import Served, running
from tests.factories.small_disks import KINDS, SmallDisk, judge_and_die, judged_event, small_disk


@pytest.fixture(params=KINDS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(request.param, tmp_path / "disk") as found:
        yield found


@pytest.fixture
def moved(taught: Collection, disk: SmallDisk) -> Collection:
    """Return a trained collection whose store lies on the small disk."""
    shutil.copytree(taught.store_folder.path, disk.folder / "store")
    return Collection.open(taught.root, store=disk.folder / "store", workers=1)


@pytest.fixture
def crowded(disk: SmallDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no place for temporary files but the full disk, as where there is only one."""

    def no_place() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", no_place)


def questions(c: Collection, session: str) -> list[str]:
    """Return every path that can be asked for by GET and needs no job and no regions."""
    known = {"picture": "1", "session": session}
    more = {"/v1/export": "?format=csv", "/v1/topics/near": "?word=red"}
    left_out = ("job", "scenes", "login", "compare", "page", "collection")
    paths = [p for p, verbs in build(Service(c)).openapi()["paths"].items() if "get" in verbs]
    asked = [p for p in paths if not any(name in p for name in left_out)]
    assert len(asked) > 12
    return [p.format(**known) + more.get(p, "") for p in asked]


def ask_all(s: Served, session: str) -> None:
    c = s.service.collection
    for path in questions(c, session):
        assert s.ask("GET", path).status == 200, (path, s.ask("GET", path).body)
    assert s.post("/v1/search", {"query": "red"}).json["hits"]
    assert s.post("/v1/search/text", {"text": "a red evening"}).json["hits"]
    assert s.post("/v1/similar", {"like": [1]}).json["hits"]
    picture = Path(c.root.decode(), "000_x.png").read_bytes()
    kind = {"Content-Type": "image/png"}
    for path in ("/v1/search/picture", "/v1/describe/words"):
        assert s.ask("POST", path, picture, kind).status == 200, path


def test_a_full_disk_stops_no_question(disk: SmallDisk, moved: Collection, crowded: None) -> None:
    judge_and_die(moved.store_folder, [judged_event(4), judged_event(5)])
    with running(moved) as s:
        session = s.client.begin("red").session
        marks = {"relevant": [1, 7], "other": [2]}
        assert s.post(f"/v1/sessions/{session}/judgements", marks).status == 200
        disk.fill()
        ask_all(s, session)
    before = len(moved.sessions.all())
    os.sync()
    disk.fill()
    with running(moved) as s:
        ask_all(s, session)
        disk.fill()
        full = s.post(f"/v1/sessions/{session}/judgements", {"relevant": [13]})
        while full.status == 200:  # The log had room left in its last block.
            full = s.post(f"/v1/sessions/{session}/judgements", {"relevant": [13]})
        assert (full.status, full.code) == (507, "disk-full")
        assert "bytes free" in full.json["detail"] and "Free some space" in full.json["detail"]
        assert str(disk.folder) not in full.json["detail"]
        ask_all(s, session)
        assert moved.store.verify().problems == ()
        disk.empty()
        assert s.post(f"/v1/sessions/{session}/judgements", {"relevant": [19]}).status == 200
    assert len(moved.sessions.all()) == before
    assert 19 in moved.judge(resume=session).judged
    assert moved.store.verify().sound
