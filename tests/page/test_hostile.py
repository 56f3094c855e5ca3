"""Hostile names, captions, metadata and queries are inert: shown as they are stored, no more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.factories.servers import Served, running
from tests.page.browser import Browser
from tests.page.hostile import ALIVE, BEFORE, texts
from tests.page.hostile_made import hostile_collection
from tests.page.site import hosting
from tests.page.visit import VIEWS, Page, Visits, expect
from tests.page.watch import Watch

TEXTS = texts()
# What stands in the document and is not ours.
INJECTED = r"""() => {
  const tags = "iframe frame object embed base marquee math video audio style template plaintext"
    .split(" ").concat("applet", "animate", "set", "portal");
  const ours = /^(#|\/(?!\/)|blob:http:\/\/127\.0\.0\.1)/;
  const links = ["href", "src", "action", "formaction", "data", "srcdoc", "poster", "xlink:href"];
  const found = [];
  for (const e of document.querySelectorAll("*")) {
    if (tags.includes(e.localName)) found.push(e.outerHTML);
    for (const { name, value } of e.attributes)
      if (name.startsWith("on") || (links.includes(name) && !ours.test(value)))
        found.push(e.outerHTML);
  }
  const scripts = [...document.scripts].map((s) => s.getAttribute("src"));
  if (String(scripts) !== "/page/main.js") found.push(`scripts: ${scripts}`);
  if (document.querySelectorAll("meta").length !== 3) found.push("meta");
  return found.map((text) => text.slice(0, 200));
}"""


@pytest.fixture(scope="module")
def hostile(rich: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a collection full of hostile texts."""
    with running(hostile_collection(rich, tmp_path_factory.mktemp("hostile"), TEXTS)) as found:
        yield found


def test_enough_texts_are_tried() -> None:
    assert len(TEXTS) >= 200 and len(set(TEXTS)) == len(TEXTS)
    assert all(any(a in t for t in TEXTS) for a in ALIVE)
    assert all(any(t.startswith(b) for t in TEXTS) for b in BEFORE)


def test_names_and_captions_are_shown_as_they_are_stored(visit: Visits, hostile: Served) -> None:
    visitor = visit(hostile)
    page = visitor.go("#/search?q=cow")
    expect(visitor.tiles.first).to_be_visible()
    visitor.grid.focus()
    for _ in range(12):
        assert page.evaluate(INJECTED) == []
        page.keyboard.press("PageDown")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    found = hostile.client.search("cow", limit=15).hits
    for hit in found:
        stored = hostile.client.get(f"/v1/pictures/{hit.id}")
        name = dialog.locator("#picture-name")
        expect(dialog.locator("dd").first).to_be_visible()
        expect(dialog.locator(".strip img").first).to_be_visible()
        assert name.evaluate("(e) => e.textContent") == stored["name"] == hit.name
        told = dialog.locator("dd").evaluate_all("(all) => all.map((e) => e.textContent)")
        for words in stored["words"]:
            assert ", ".join(t for t in (*words["tags"], words["text"]) if t) in told
        assert page.evaluate(INJECTED) == []
        page.keyboard.press("ArrowRight")


SHOWS = {
    "search": ".notice .chip", "review": "#review-question", "sessions": "#sessions li",
    "scenes": ".strip img", "topics": ".chip", "train": "#skipped",
}  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_takes_texts_for_markup(visit: Visits, hostile: Served, view: str) -> None:
    visitor = visit(hostile)
    page = visitor.go(f"#/{view}")
    expect(page.locator(SHOWS[view]).first).to_be_visible()
    page.evaluate("() => document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    if view == "train":
        expect(page.get_by_role("region", name="Skipped files", exact=True)).to_be_visible()
    assert page.evaluate(INJECTED) == []
    shown = page.get_by_role("main").inner_text()
    if view == "review":
        for _ in range(20):
            page.keyboard.press("s")
        assert page.evaluate(INJECTED) == []
    if view == "sessions":
        queries = [s["query"] for s in hostile.client.get("/v1/sessions")["sessions"][-25:]]
        assert len(queries) > 10
        flat = re.sub(r"\s+", " ", shown)
        assert [q for q in queries if re.sub(r"\s+", " ", q).strip() not in flat] == []
    if view == "train":
        assert "10 files were skipped" in shown and TEXTS[0].replace("/", "∕") in shown


def test_hostile_queries_are_only_looked_for(visit: Visits, hostile: Served) -> None:
    visitor = visit(hostile)
    # Some are no queries, or name files, and are refused.
    visitor.watch.expect("status of 400")
    page = visitor.go()
    box = page.get_by_role("combobox", name="Words to search for")
    expect(box).to_be_visible()
    for text in TEXTS[::5]:
        box.fill(text)
        expect(box).to_have_value(re.sub(r"[\r\n]", "", text))
        if not text.strip():
            continue
        with page.expect_response(re.compile("/v1/search$")):
            page.keyboard.press("Enter")
        assert page.evaluate(INJECTED) == []
    for text in TEXTS[1::12]:
        # In the address, as somebody else's link may have it.
        page.evaluate("(q) => { location.hash = `#/search?q=${encodeURIComponent(q)}`; }", text)
        expect(box).to_have_value(re.sub(r"[\r\n]", "", text))
        page.evaluate("(q) => { location.hash = `#/${q}`; }", text)
        page.evaluate("(q) => { location.hash = `#/sessions?session=${q}`; }", text)
    assert page.evaluate(INJECTED) == []


def test_the_texts_would_run_where_they_are_taken_for_markup(browser: Browser) -> None:
    """The same texts in a page that is not careful: the watch has much to complain of."""
    given = [t for t in TEXTS[:60] if "refresh" not in t]  # Which would lead away from here.
    script = f"""for (const text of {json.dumps(given)}) {{
      const box = document.createElement("div");
      document.body.append(box);
      box.innerHTML = text;
    }}"""
    page = "<!doctype html><html lang=en><title>x</title><body><script src=/x.js></script>"
    with hosting({"/": page, "/x.js": script}) as site:
        context = browser.new_context()
        watch = Watch(site.host).over(context)
        opened: Page = context.new_page()
        with opened.expect_event("dialog"):
            opened.goto(f"http://{site.host}/", wait_until="commit")
        opened.wait_for_load_state("load")
        found = opened.evaluate(INJECTED)
        context.close()
    assert len(found) > 15
    assert sum(c.startswith("dialog") for c in watch.complaints) >= 1
    assert any(c.startswith("request elsewhere") for c in watch.complaints)
