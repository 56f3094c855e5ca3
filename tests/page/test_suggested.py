"""Hits that a network suggests say so, and never look like tags of the owner."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from PIL import Image

from tests.factories.servers import running
from tests.factories.starting_words import EACH, collection, rows_of
from tests.page.axe import violations
from tests.page.visit import Visits, expect


def test_suggested_hits_say_so_and_are_no_tags(visit: Visits, tmp_path: Path) -> None:
    c = collection(tmp_path, rows_of(np.repeat([151, 340], EACH).tolist()))
    for file in (tmp_path / "photos").iterdir():
        Image.new("RGB", (64, 48), (90, 90, 120)).save(file)
    with running(c) as served:
        visitor = visit(served)
        visitor.watch.expect("/v1/where")
        visitor.watch.expect("/words")
        page = visitor.go()
        expect(page.get_by_text("A network suggests pictures for nouns")).to_be_visible()
        tiles = visitor.search("dog")
        expect(tiles.first).to_have_class(re.compile(r"\bsuggested\b"))
        expect(tiles.first).to_have_attribute("aria-label", re.compile(r", suggested \d+ %$"))
        expect(tiles.first).to_contain_text(re.compile(r"^◌ suggested \d+ %$"))
        expect(visitor.grid.locator(".exact, .predicted")).to_have_count(0)
        expect(page.locator(".told .suggested")).to_contain_text(
            "suggested by the network, not by your words: dog"
        )
        expect(page.locator(".cutoff")).to_contain_text("probably do not fit")
        assert violations(page) == []
        visitor.grid.focus()
        # Complaints come after the dialog: the test must not end before them.
        with (
            page.expect_console_message(lambda m: "/v1/where" in m.location["url"]),
            page.expect_console_message(lambda m: "/words" in m.location["url"]),
        ):
            page.keyboard.press("Enter")
        why = page.get_by_role("dialog").locator(".why")
        expect(why).to_contain_text("Suggested by the network")
        expect(why.get_by_role("table")).to_have_count(0)
