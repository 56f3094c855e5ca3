"""Somebody who came in by the address that was printed, and looks at the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.factories.servers import Served
from tests.page.browser import Browser
from tests.page.watch import Watch
from tests.waiting import LIMIT

from playwright.sync_api import Locator, Page, StorageState, expect  # isort: skip

expect.set_options(timeout=1000 * LIMIT)
VIEWS = ("search", "review", "sessions", "scenes", "topics", "train")

__all__ = ["VIEWS", "Locator", "Page", "Visitor", "Visits", "expect"]


@dataclass(frozen=True)
class Visitor:
    """A page that is open, and what is noticed of it."""

    served: Served
    page: Page
    watch: Watch

    def go(self, to: str = "#/search") -> Page:
        """Go to a view."""
        self.page.goto(f"{self.served.address.url}/{to}")
        return self.page

    def search(self, words: str) -> Locator:
        """Search for words; return the tiles of what was found."""
        self.page.get_by_role("combobox", name="Words to search for").fill(words)
        with self.page.expect_response(lambda r: "/v1/search" in r.url):
            self.page.keyboard.press("Enter")
        return self.tiles

    @property
    def grid(self) -> Locator:
        """The pictures found."""
        return self.page.get_by_role("listbox", name="Pictures found")

    @property
    def tiles(self) -> Locator:
        """Those of them that are in the document."""
        return self.grid.get_by_role("option")

    def said(self, text: str) -> None:
        """Wait for something to be said."""
        expect(self.page.locator("#said")).to_contain_text(text)


class Visits:
    """Contexts of a browser, a new one for each visit; all of them are watched."""

    def __init__(self, browser: Browser, entered: dict[str, StorageState]) -> None:
        self._browser, self._entered = browser, entered
        self._made: list[Visitor] = []

    def __call__(self, served: Served, *, enter: bool = True, **options: Any) -> Visitor:
        """Open a page of a server; options are those of a browser context."""
        login = served.address.login
        kept = self._entered.get(login) if enter else None
        context = self._browser.new_context(storage_state=kept, **options)
        context.set_default_timeout(1000 * LIMIT)
        watch = Watch(urlsplit(served.address.url).netloc).over(context)
        visitor = Visitor(served, context.new_page(), watch)
        self._made.append(visitor)
        if enter and kept is None:
            # The address is good once, so what it gave is kept for others who visit this server.
            visitor.page.goto(login)
            self._entered[login] = context.storage_state()
        return visitor

    def end(self) -> list[str]:
        """Close all of them; return what nobody expected."""
        found = [c for v in self._made for c in v.watch.verdict()]
        for v in self._made:
            v.page.context.close()
        return found
