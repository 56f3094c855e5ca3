"""Everything the page shows, judged by axe: light, dark, wide and narrow; 0 violations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.collection import Collection
from tests.factories.servers import Served, running
from tests.factories.tagged_collections import copied
from tests.page.axe import faults, violations
from tests.page.site import hosting
from tests.page.visit import VIEWS, Visitor, Visits, expect


@pytest.fixture(scope="module")
def used(rich: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a collection in which somebody judged, saved a word, and measured."""
    with running(copied(rich, tmp_path_factory.mktemp("used"))) as s:
        session = s.client.begin("cow").session
        s.client.judge(session, [1], [2])
        s.client.save_word(session, "moo")
        s.client.finish(s.client.start("evaluate").id)
        yield s


def at(visitor: Visitor, place: str, shows: str) -> None:
    """Go somewhere and wait for what is shown there."""
    visitor.go(place)
    expect(visitor.page.locator(shows).first).to_be_visible()


OPEN = "() => document.querySelectorAll('details').forEach((d) => { d.open = true; })"
PLACES = {
    "welcome": ("#/search", ".notice .chip"),
    "found": ("#/search?q=cow%20mooo", ".tile img"),
    "like": ("#/search?like=1&positive=2&negative=3", ".tile img"),
    "nothing": ("#/search?q=%2Bsky%20%2Bxyzzy", ".notice"),
    "review": ("#/review", "#review-question"),
    "sessions": ("#/sessions", "#sessions li"),
    "scenes": ("#/scenes", ".strip img"),
    "topics": ("#/topics", ".chip"),
    "train": ("#/train", ".evaluation"),
}


@pytest.mark.parametrize("place", PLACES)
def test_every_view(visit: Visits, used: Served, place: str) -> None:
    visitor = visit(used)
    at(visitor, *PLACES[place])
    assert faults(visitor.page) == []


def test_what_can_be_opened_in_views(visit: Visits, used: Served) -> None:
    visitor = visit(used)
    page = visitor.page
    at(visitor, *PLACES["found"])
    page.get_by_text("Filters", exact=True).click()
    page.get_by_role("combobox", name="Words to search for").fill("co")
    page.get_by_role("combobox", name="Words to search for").press("o")
    page.keyboard.press("Backspace")
    expect(page.locator("#suggestions li").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    assert faults(page) == []
    at(visitor, *PLACES["train"])
    page.evaluate(OPEN)
    assert faults(page) == []
    at(visitor, *PLACES["review"])
    page.evaluate(OPEN)
    assert faults(page) == []


def test_every_dialog(visit: Visits, used: Served) -> None:
    visitor = visit(used)
    page = visitor.page
    at(visitor, *PLACES["found"])
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("Escape")
    visitor.grid.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".strip img").first).to_be_visible()
    dialog.locator(".why").get_by_role("button").first.click()
    assert faults(page) == []
    page.keyboard.press("Escape")
    at(visitor, *PLACES["sessions"])
    page.get_by_role("button", name=re.compile("^Revert")).first.click()
    expect(dialog).to_be_visible()
    assert faults(page) == []


def test_judging(visit: Visits, used: Served) -> None:
    visitor = visit(used)
    at(visitor, *PLACES["found"])
    visitor.grid.focus()
    visitor.page.keyboard.press("y")
    visitor.said("Saved.")
    visitor.page.keyboard.press("n")
    visitor.said("does not fit. Saved.")
    visitor.page.keyboard.press("r")
    expect(visitor.page.locator(".judgebar")).to_contain_text("Round 1.")
    assert faults(visitor.page) == []


def test_a_collection_of_nothing(visit: Visits, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    with running(Collection.open(tmp_path / "photos", store=tmp_path / "store")) as s:
        visitor = visit(s)
        visitor.watch.expect("status of 4")
        for view in VIEWS:
            at(visitor, f"#/{view}", ".notice")
            assert faults(visitor.page) == [], view


def test_error_pages(visit: Visits, used: Served) -> None:
    visitor = visit(used)
    visitor.watch.expect("status of 404")
    at(visitor, "nothing", "h1")
    assert faults(visitor.page) == []
    stranger = visit(used, enter=False)
    stranger.watch.expect("status of 401")
    at(stranger, "", "h1")
    assert faults(stranger.page) == []


def test_a_notice_in_the_page(visit: Visits, used: Served) -> None:
    visitor = visit(used)
    visitor.watch.expect("status of 400")
    at(visitor, "#/search?q=%22cow", "[role=alert]")
    assert faults(visitor.page) == []


def test_faults_are_found(visit: Visits, used: Served) -> None:
    """A page with a picture that nobody described, and grey on grey, is complained of."""
    body = "<main><h1>x</h1><img src='/icon'><p style='color:#aaa;background:#bbb'>grey</p></main>"
    visitor = visit(used)
    visitor.watch.expect(".")
    with hosting(
        {"/": f"<!doctype html><html lang=en><title>x</title>{body}", "/icon": ""}
    ) as site:
        visitor.page.goto(f"http://{site.host}/")
        found = {v.partition(":")[0] for v in violations(visitor.page)}
    assert {"image-alt", "color-contrast"} <= found
