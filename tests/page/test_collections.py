"""The page of several collections: hits name theirs, and hostile servers draw nothing."""

from __future__ import annotations

import json
from pathlib import Path

from sightline.collection import Collection
from sightline.federation import Collections, Member
from sightline.web.federated_service import FederatedService
from sightline.web.remote import RemoteMember
from tests.factories.servers import listening, painted
from tests.page.visit import Visits, expect
from tests.waiting import LIMIT
from tests.web.test_remote import HIT, answered, sending

MARKUP = "<img src=x onerror=alert(1)>.jpg"


def test_hits_of_several_collections_are_named_and_none_is_markup(
    visit: Visits, taught: Collection, tmp_path: Path
) -> None:
    gone = Collection.open(tmp_path / "gone", store=tmp_path / "gone-store")
    work = painted(tmp_path / "w", train=False, n=12)
    row = {**HIT, "match": "exact", "probability": None, "path": MARKUP}
    remarks = {"said": ["<b>said</b>"], "predicted": True}
    body = json.dumps({"version": 3, "hits": [row], "next": None, **remarks}).encode()
    with sending(lambda s: s.sendall(answered(body))) as url:
        members: dict[str, Collection | Member] = {
            "family": taught, "far": RemoteMember(url, "t", LIMIT), "work": work, "gone": gone,
        }  # fmt: skip
        with listening(FederatedService(Collections(members))) as served:
            visitor = visit(served)
            # What the server sends as a thumbnail is no JPEG.
            visitor.watch.expect(r"502 .*/v1/collections/far/pictures/1/thumbnail")
            page = visitor.go("")
            expect(page.get_by_text("family: 102 pictures")).to_be_visible()
            expect(page.get_by_text("gone does not answer")).to_be_visible()
            page.get_by_label("Words").fill("red")
            page.keyboard.press("Enter")
            tiles = page.get_by_role("list", name="Hits").get_by_role("listitem")
            expect(tiles.first).to_contain_text("exact family, also in work")
            expect(page.get_by_text(MARKUP)).to_be_visible()
            expect(page.get_by_text("far: <b>said</b>")).to_be_visible()
            expect(page.get_by_text("gone did not answer")).to_be_visible()
            assert tiles.first.locator("img").evaluate("(i) => i.naturalWidth") > 0
            assert page.locator("img[src='x']").count() == 0
            page.get_by_label("Only likely predictions").uncheck()
            page.get_by_role("button", name="Search").click()
            expect(tiles).to_have_count(40)
            page.get_by_role("button", name="More").click()
            expect(tiles).to_have_count(80)
