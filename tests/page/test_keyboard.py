"""The keyboard alone reaches everything, and one always sees where one is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.factories.servers import Served, running
from tests.factories.tagged_collections import copied
from tests.page.visit import Page, Visitor, Visits, expect

# Marks what a mouse can use, and tells how much of it there is.
MARK = """() => {
  const kinds = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  const scope = document.querySelector("dialog[open]") ?? document;
  let n = 0;
  for (const e of scope.querySelectorAll(kinds)) {
    if (e.disabled || e.closest("[hidden]") || !e.checkVisibility() || e.tabIndex < 0) continue;
    e.dataset.stop = String(n++);
  }
  return n;
}"""
# What has the focus, and whether that can be seen.
STOP = """() => {
  const e = document.activeElement;
  const at = document.getElementById(e.getAttribute("aria-activedescendant"));
  const told = e.tagName === "INPUT" ? null : at;
  const shown = e.id === "file" ? e.nextElementSibling : told ?? e;
  const style = getComputedStyle(shown);
  const box = shown.getBoundingClientRect();
  const header = document.querySelector("header").getBoundingClientRect().bottom;
  const within = e.closest("header, dialog, .skip") !== null || box.bottom > header;
  return {
    stop: e.dataset.stop ?? null, what: e.outerHTML.slice(0, 160),
    seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    inside: box.width > 0 && box.top < innerHeight && box.bottom > 0 && within,
  };
}"""


@pytest.fixture(scope="module")
def used(rich: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a collection in which somebody judged."""
    with running(copied(rich, tmp_path_factory.mktemp("used"))) as s:
        session = s.client.begin("cow").session
        s.client.judge(session, [1], [2])
        yield s


def stops(page: Page) -> list[dict[str, Any]]:
    """Go through a page by Tab until it begins again; return where one came by."""
    found: list[dict[str, Any]] = []
    for _ in range(300):
        page.keyboard.press("Tab")
        now = page.evaluate(STOP)
        if found and now["stop"] == found[0]["stop"]:
            return found
        if now["stop"] is not None:
            found.append(now)
    raise AssertionError("There is no way out.")


def check(page: Page) -> None:
    """See that all there is can be come to, and that one sees it."""
    n = page.evaluate(MARK)
    page.evaluate("() => { document.activeElement?.blur(); scrollTo(0, 0); }")
    found = stops(page)
    assert {s["stop"] for s in found} == {str(i) for i in range(n)}
    assert [s["what"] for s in found if not s["seen"]] == []
    assert [s["what"] for s in found if not s["inside"]] == []


@pytest.mark.parametrize(
    ("place", "shows"),
    [
        ("#/search", ".notice .chip"), ("#/search?q=cow%20mooo", ".tile img"),
        ("#/review", "#review-question"), ("#/sessions", "#sessions li"),
        ("#/scenes", ".strip img"), ("#/topics", ".chip"), ("#/train", "#versions table"),
    ],
)  # fmt: skip
def test_tab_comes_by_everything(visit: Visits, used: Served, place: str, shows: str) -> None:
    page = visit(used).go(place)
    expect(page.locator(shows).first).to_be_visible()
    page.evaluate("() => document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    check(page)


def opened(visit: Visits, used: Served) -> Visitor:
    """Search, and open a picture."""
    visitor = visit(used)
    page = visitor.go("#/search?q=cow")
    expect(visitor.tiles.first).to_be_visible()
    visitor.grid.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").locator(".strip img").first).to_be_visible()
    expect(page.get_by_role("dialog").locator(".why button").first).to_be_visible()
    return visitor


def test_tab_stays_in_a_dialog_and_comes_by_all_of_it(visit: Visits, used: Served) -> None:
    visitor = opened(visit, used)
    check(visitor.page)
    visitor.page.keyboard.press("Escape")
    expect(visitor.page.get_by_role("dialog")).to_have_count(0)
    expect(visitor.grid).to_be_focused()


def test_the_first_stop_skips_to_the_content(visit: Visits, used: Served) -> None:
    page = visit(used).go("#/scenes")
    expect(page.locator(".strip img").first).to_be_visible()
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="To the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
