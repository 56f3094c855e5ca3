"""One server of several collections: each hit is of its collection, and no client names a path."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sightline.collection import Collection
from sightline.federation import Collections, Member
from sightline.web.federated_service import FederatedService
from sightline.web.remote import RemoteMember
from tests.factories.photos import paint
from tests.factories.servers import Served, grow, listening, painted, running
from tests.factories.traversal_paths import payloads
from tests.waiting import LIMIT
from tests.web.test_remote import HIT, answered, sending


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = tmp_path_factory.mktemp("work")
    (folder / "work").mkdir()
    paint(folder / "work", 18, True, 7, start=300)
    c = Collection.open(folder / "work", store=folder / "store", workers=1)
    from sightline.compute.inline import InlineCompute

    c.index(features=["color", "edges"], compute=InlineCompute())
    return c


@pytest.fixture(scope="module")
def several(taught: Collection, work: Collection) -> Iterator[Served]:
    """Serve two collections of this machine, and a third by its own server."""
    with running(work) as other:
        far = RemoteMember(other.address.url, other.service.token, LIMIT)
        members: dict[str, Collection | Member] = {"family": taught, "work": work, "far:1": far}
        with listening(FederatedService(Collections(members))) as served:
            yield served


def search(served: Served, query: str, **more: object) -> dict[str, Any]:
    reply = served.post("/v1/search", {"query": query, **more})
    assert reply.status == 200, reply.body
    return dict(reply.json)


def test_hits_name_their_collection_and_lead_to_its_pictures(
    several: Served, taught: Collection, work: Collection
) -> None:
    answer = search(several, "red", k=60)
    hits = answer["hits"]
    assert {h["collection"] for h in hits} == {"family", "work", "far:1"} and answer["complete"]
    assert hits[0]["match"] == "exact" and hits[-1]["match"] == "predicted"
    for name, c in (("family", taught), ("work", work), ("far:1", work)):
        h = next(h for h in hits if h["collection"] == name)
        picture = int(str(h["id"]))
        (small,) = c.pictures.thumbnails([picture])
        reply = several.ask("GET", str(h["thumbnail"]))
        assert reply.status == 200 and reply.body == small
        assert reply.headers["content-type"] == "image/webp"
        again = several.ask(
            "GET", str(h["thumbnail"]), headers={"If-None-Match": reply.headers["etag"]}
        )
        assert again.status == 304
        if name == "far:1":
            assert h["original"] is None and str(h["server"]).startswith("http://127.0.0.1:")
            at = f"/v1/collections/{name}/pictures/{picture}/original"
            assert several.ask("GET", at).code == "no-collection"
            continue
        file, facts = c.pictures.open(picture)
        with file:
            assert several.ask("GET", str(h["original"])).body == file.read()
        assert h["path"] == facts.path.decode()
    text = json.dumps(answer)
    assert taught.root.decode() not in text and str(taught.store_folder.path) not in text


def test_pages_by_cursor_make_up_the_list(several: Served) -> None:
    whole = search(several, "red", k=200, cut=False)
    hits: list[Any] = []
    cursor = None
    while True:
        page = search(several, "red", k=13, cut=False, cursor=cursor)
        hits += page["hits"]
        cursor = page["next"]
        if cursor is None:
            break
    assert hits == whole["hits"] and whole["next"] is None
    offset = search(several, "red", k=5, cut=False, offset=7)
    assert offset["hits"] == hits[7:12]


def test_a_cursor_of_another_version_is_rejected(taught: Collection, tmp_path: Path) -> None:
    own = painted(tmp_path, train=False, n=24)
    with listening(FederatedService(Collections({"a": taught, "b": own}))) as served:
        cursor = search(served, "red", k=3)["next"]
        assert search(served, "red", k=3, cursor=cursor)["hits"]
        grow(own)
        assert served.post("/v1/search", {"query": "red", "cursor": cursor}).code == "changed"


def test_a_picture_is_uploaded_and_compared_by_one_feature(
    several: Served, taught: Collection
) -> None:
    (first, *_) = taught.search("red", 1)
    kind = {"Content-Type": "image/png"}
    at = "/v1/search/picture?feature=color&k=40"
    reply = several.ask("POST", at, first.file.read_bytes(), kind)
    assert reply.status == 200
    hits = reply.json["hits"]
    assert hits[0]["id"] == first.picture and hits[0]["match"] == "similar"
    assert {h["collection"] for h in hits} == {"family", "work", "far:1"}
    assert reply.json["complete"]
    assert several.ask("POST", at, b"no picture", kind).status == 422


def test_nothing_is_shown_without_the_token(several: Served) -> None:
    nobody = {"Authorization": ""}
    for path in ("/", "/v1", "/v1/collections", "/v1/collections/family/pictures/1/thumbnail",
                 "/v1/collections/family/pictures/1/original"):  # fmt: skip
        assert several.ask("GET", path, headers=nobody).code == "token"
        assert several.ask("GET", path, headers={"Host": "evil.test"}).code == "host"
    assert several.ask("POST", "/v1/search", b"{}", nobody).code == "token"
    entered = several.ask("GET", f"/login?code={several.service.code}", headers=nobody)
    assert entered.status == 303 and "httponly" in entered.headers["set-cookie"]


@pytest.mark.parametrize("name", ["..", ".", "family%2F..", "%2e%2e", "nobody", "fa mily", "-", ""])
def test_names_are_looked_up_and_nothing_else(several: Served, name: str) -> None:
    for what in ("thumbnail", "original"):
        reply = several.ask("GET", f"/v1/collections/{name}/pictures/1/{what}".replace(" ", "%20"))
        assert reply.status in (404, 422) and b"/photos" not in reply.body


def test_paths_lead_nowhere(several: Served, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("this is the secret")
    paths = payloads(secret)
    requests = [
        ("/v1/collections/" + at.format(quote(path, safe="%/")), None)
        for path in paths[:: len(paths) // 150]
        for at in ("family/pictures/{}/original", "{}/pictures/1/original")
    ]
    for (at, _), (status, body) in zip(requests, several.ask_many(requests, "GET"), strict=True):
        assert b"secret" not in body and status in (400, 404, 405, 422), at


def test_ids_are_of_one_collection(several: Served, work: Collection) -> None:
    # The shared collection has a picture 100, the other one ends before it.
    assert several.ask("GET", "/v1/collections/family/pictures/100/thumbnail").status == 200
    for what in ("thumbnail", "original"):
        at = f"/v1/collections/work/pictures/100/{what}"
        assert several.ask("GET", at).code == "no-picture"
        assert several.ask("GET", f"/v1/collections/work/pictures/0/{what}").status == 422


def test_what_is_of_one_collection_is_not_there(several: Served) -> None:
    assert several.post("/v1/jobs", {"verb": "index"}).code == "no-route"
    assert several.post("/v1/sessions", {"query": "red"}).code == "no-route"
    assert several.ask("GET", "/v1/pictures/1/thumbnail").code == "no-route"
    assert several.post("/v1/search", {"query": ""}).code == "query"
    assert several.post("/v1/search", {"query": "./a.jpg"}).code == "path"
    assert (
        several.post("/v1/search", {"query": "red", "filters": {"folder": "x"}}).code == "invalid"
    )
    assert several.post("/v1/search", {"query": "red", "offset": 10_000}).code == "invalid"


def test_a_collection_that_fails_is_named_without_paths(taught: Collection, tmp_path: Path) -> None:
    gone = Collection.open(tmp_path / "gone", store=tmp_path / "gone-store")
    with listening(FederatedService(Collections({"a": taught, "gone": gone}))) as served:
        answer = search(served, "red")
        states = {c["name"]: c for c in answer["collections"]}
        assert states["gone"]["problem"] and not answer["complete"]
        listed = served.ask("GET", "/v1/collections").json["collections"]
        assert [c["pictures"] for c in listed] == [102, None] and listed[1]["problem"]
        assert str(tmp_path) not in json.dumps([answer, listed])
    with listening(FederatedService(Collections({"gone": gone}))) as served:
        reply = served.post("/v1/search", {"query": "red"})
        assert reply.status == 409 and str(tmp_path).encode() not in reply.body


def test_a_server_of_several_is_no_member_of_another(several: Served, taught: Collection) -> None:
    far = RemoteMember(several.address.url, several.service.token, LIMIT)
    results = Collections({"a": taught, "far": far}).search("red", 5)
    assert "itself searches several" in results.members[1].problem


def test_a_hostile_member_reaches_no_browser(taught: Collection) -> None:
    row = {**HIT, "path": "<img onerror=alert(1)>\x00", "thumbnail": "javascript:alert(1)"}
    body = json.dumps({"version": 3, "hits": [row], "next": None, "predicted": True})
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(sending(lambda s: s.sendall(answered(body.encode()))))
        members: dict[str, Collection | Member] = {
            "a": taught,
            "evil": RemoteMember(url, "t", LIMIT),
        }
        served = stack.enter_context(listening(FederatedService(Collections(members))))
        hits = served.post("/v1/search", {"query": "red", "k": 100}).json["hits"]
        (evil,) = [h for h in hits if h["collection"] == "evil"]
        assert evil["thumbnail"] == "/v1/collections/evil/pictures/1/thumbnail"
        assert evil["path"].isprintable() and evil["original"] is None
        reply = served.ask("GET", evil["thumbnail"])
        assert reply.status == 502 and reply.code == "member"


def test_the_page_is_that_of_several_collections(several: Served) -> None:
    assert b"collections.js" in several.ask("GET", "/").body
    assert several.ask("GET", "/page/collections.js").status == 200
    assert several.ask("GET", "/v1").json["collections"] == ["family", "work", "far:1"]
    assert several.ask("GET", "/openapi.json").status == 200
