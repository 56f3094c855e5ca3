"""The browser that tests look through; without one they are left out and say how to run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from benchmarks.chromium import EVIL, HOW, executable, launched
from sightline.testing import watchdog
from tests.waiting import LIMIT

pytest.importorskip("playwright", reason=f"no Playwright here: {HOW}")
from playwright.sync_api import Browser, sync_playwright

__all__ = ["EVIL", "Browser", "leave_out", "started"]


def leave_out(reason: str) -> NoReturn:
    """Skip a test for want of something, or fail where nothing may be left out."""
    if os.environ.get("SIGHTLINE_PAGE_TESTS") == "all":
        pytest.fail(reason)
    pytest.skip(reason)


@contextlib.contextmanager
def started(home: Path) -> Iterator[Browser]:
    """Run a browser while tests look through it."""
    found = executable()
    if found is None:
        leave_out(f"no browser here: {HOW}")
    watchdog.watched()
    with sync_playwright() as playwright:
        browser = launched(playwright, found, home, LIMIT)
        try:
            yield browser
        finally:
            browser.close()
