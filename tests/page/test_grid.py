"""The grid: however long a list is, only what can be seen is in the document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.bench import Bench
from benchmarks.stores import pictured
from sightline.collection import Collection
from tests.factories.servers import Served, running
from tests.page.visit import Visitor, Visits, expect

# `python -m benchmarks --only page` looks at 100,000.
N = 4_000
MOST = 300
# The place of the picture in the middle of the window, once it is drawn.
SEEN = """() => {
  const tile = [...document.querySelectorAll(".tile")].find((t) => {
    const { top, bottom } = t.getBoundingClientRect();
    return top < innerHeight / 2 && bottom > innerHeight / 2 - 20;
  });
  return tile?.querySelector("img")?.complete ? tile.dataset.at : null;
}"""
ELEMENTS = "() => document.getElementsByTagName('*').length"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a collection of which all pictures have one word."""
    folder: Path = tmp_path_factory.mktemp("many")
    root, store_folder = pictured(Bench(folder), N, taught=False)
    with running(Collection.open(root, store=store_folder.path)) as found:
        yield found


@pytest.fixture
def looking(visit: Visits, many: Served) -> Visitor:
    """Look at all of them."""
    visitor = visit(many)
    visitor.go("#/search?q=any")
    expect(visitor.tiles.first).to_be_visible()
    return visitor


def active(visitor: Visitor) -> str:
    """Return the place of the tile that arrows are at."""
    return visitor.grid.locator(".active").get_attribute("data-at") or ""


def test_few_elements_stand_for_many_pictures(looking: Visitor) -> None:
    page = looking.page
    expect(page.locator(".told").first).to_contain_text(f"{N:,} pictures")
    expect(looking.tiles.first).to_have_attribute("aria-setsize", str(N))
    height = page.evaluate("() => document.documentElement.scrollHeight")
    assert height > N * 30
    # Anywhere in the list, and on the way there.
    for share in (0, 0.2, 0.5, 0.501, 0.8, 1):
        page.evaluate("(y) => scrollTo(0, y)", share * height)
        seen = page.wait_for_function(SEEN).json_value()
        assert abs(int(seen) / N - share) < 0.02
        assert page.evaluate(ELEMENTS) <= MOST


def test_end_reaches_the_last_picture_and_home_the_first(looking: Visitor) -> None:
    page = looking.page
    looking.grid.focus()
    page.keyboard.press("End")
    last = looking.grid.locator(f"[data-at='{N - 1}']")
    expect(last).to_be_in_viewport()
    expect(last.locator("img")).to_have_js_property("complete", True)
    expect(last).to_have_attribute("aria-posinset", str(N))
    expect(looking.grid).to_have_attribute("aria-activedescendant", last.get_attribute("id") or "")
    assert page.evaluate(ELEMENTS) <= MOST
    page.keyboard.press("ArrowRight")
    assert active(looking) == str(N - 1)
    page.keyboard.press("Home")
    expect(looking.grid.locator("[data-at='0']")).to_be_in_viewport()
    page.keyboard.press("ArrowLeft")
    assert active(looking) == "0"


def test_arrows_go_by_rows_and_keep_what_they_are_at_in_sight(looking: Visitor) -> None:
    page = looking.page
    looking.grid.focus()
    page.keyboard.press("ArrowDown")
    columns = int(active(looking))
    assert columns >= 3
    for _ in range(9):
        page.keyboard.press("ArrowDown")
    assert active(looking) == str(10 * columns)
    expect(looking.grid.locator(".active")).to_be_in_viewport(ratio=0.9)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert active(looking) == str(9 * columns + 1)
    page.keyboard.press("PageDown")
    assert int(active(looking)) > 10 * columns
    expect(looking.grid.locator(".active")).to_be_in_viewport(ratio=0.9)


def test_pictures_are_selected_by_keyboard_and_mouse(looking: Visitor) -> None:
    page = looking.page
    selected = looking.grid.locator("[aria-selected='true']")
    looking.grid.focus()
    page.keyboard.press("Space")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    expect(selected).to_have_count(4)
    page.keyboard.press("ArrowRight")
    expect(selected).to_have_count(0)
    looking.grid.locator("[data-at='1']").click()
    looking.grid.locator("[data-at='6']").click(modifiers=["Shift"])
    expect(selected).to_have_count(6)
    looking.grid.locator("[data-at='3']").click(modifiers=["ControlOrMeta"])
    expect(selected).to_have_count(5)


def test_a_window_that_changes_keeps_the_list_whole(looking: Visitor) -> None:
    page = looking.page
    for width in (360, 1900):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("(w) => document.documentElement.scrollWidth <= w", arg=width)
        expect(looking.tiles.nth(3)).to_be_visible()
        assert page.evaluate(ELEMENTS) <= MOST
