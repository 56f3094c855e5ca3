"""Accessibility, judged by axe-core in the page itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.page.browser import leave_out

AXE = Path(__file__).parents[2] / ".node" / "node_modules" / "axe-core" / "axe.min.js"
# What is judged: all of axe's rules, best practices among them.
_RUN = "() => axe.run(document, { resultTypes: ['violations', 'incomplete'] })"


def source() -> str:
    """Return axe's own code."""
    if not AXE.exists():
        leave_out("no axe-core here: apt-get install npm; make .node/ready")
    return AXE.read_text(encoding="utf-8")


def violations(page: Page) -> list[str]:
    """Return what a page does wrong, with the element that does it."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(source())
    found: dict[str, Any] = page.evaluate(_RUN)
    return [
        f"{v['id']}: {node['html'][:200]} {node['failureSummary']}"
        for v in found["violations"]
        for node in v["nodes"]
    ]
