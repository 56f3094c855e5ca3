"""What the page shows when there is nothing, and when something is gone."""

from __future__ import annotations

import re
from pathlib import Path

from sightline.collection import Collection
from tests.factories.photos import make_photos
from tests.factories.servers import Served, painted, running
from tests.page.visit import VIEWS, Visits, expect


def test_an_empty_collection_says_what_to_do_and_is_indexed_from_the_page(
    visit: Visits, tmp_path: Path
) -> None:
    (tmp_path / "photos").mkdir()
    c = Collection.open(tmp_path / "photos", store=tmp_path / "store")
    with running(c) as s:
        visitor = visit(s)
        visitor.watch.expect("status of 409")
        page = visitor.go()
        for view in VIEWS:
            visitor.go(f"#/{view}")
            expect(page.get_by_role("main")).to_contain_text(
                re.compile("no picture is indexed yet", re.IGNORECASE)
            )
        make_photos(tmp_path / "photos")
        visitor.go()
        page.get_by_role("link", name="Index the folder").click()
        page.get_by_role("form", name="Index").get_by_role("button", name="Index").click()
        expect(page.get_by_role("list", name="Jobs")).to_contain_text("8 new")
        visitor.go()
        visitor.search("snow")
        expect(visitor.tiles).to_have_count(2)


def test_a_server_that_ended_is_told_of(visit: Visits, tmp_path: Path) -> None:
    with running(painted(tmp_path, train=False, n=12)) as s:
        visitor = visit(s)
        page = visitor.go()
        visitor.search("red")
        expect(visitor.tiles.first).to_be_visible()
    visitor.watch.expect("ERR_CONNECTION_REFUSED")
    page.get_by_role("combobox", name="Words to search for").fill("blue")
    page.keyboard.press("Enter")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("The server does not answer")
    expect(alert).to_contain_text("sightline serve")


def test_judging_while_the_server_is_gone_says_so_and_marks_nothing(
    visit: Visits, tmp_path: Path
) -> None:
    with running(painted(tmp_path, train=False, n=12)) as s:
        visitor = visit(s)
        visitor.go()
        visitor.search("red")
        expect(visitor.tiles.first).to_be_visible()
    visitor.watch.expect("ERR_CONNECTION_REFUSED")
    visitor.grid.focus()
    visitor.page.keyboard.press("y")
    visitor.said("The server does not answer")
    expect(visitor.grid.locator(".fits")).to_have_count(0)


def test_an_unknown_picture_and_session_are_told_in_the_page(visit: Visits, own: Served) -> None:
    visitor = visit(own)
    visitor.watch.expect("status of 404")
    page = visitor.go("#/search?session=0123456789")
    expect(page.get_by_role("alert")).to_be_visible()
    visitor.go("#/search?like=999999")
    expect(page.get_by_role("alert")).to_contain_text("999999")
