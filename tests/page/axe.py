"""Accessibility, judged by axe-core in the page itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.page.browser import leave_out
from tests.page.visit import Page

AXE = Path(__file__).parents[2] / ".node" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = (1280, 360)


def source() -> str:
    """Return axe's own code."""
    if not AXE.exists():
        leave_out("no axe-core here: apt-get install npm; make .node/ready")
    return AXE.read_text(encoding="utf-8")


def violations(page: Page, *rules: str) -> list[str]:
    """Return what a page does wrong, with the element that does it; by all rules, or some."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(source())
    only = {"runOnly": {"type": "rule", "values": rules}} if rules else {}
    options = json.dumps({"resultTypes": ["violations"], **only})
    found: dict[str, Any] = page.evaluate(f"() => axe.run(document, {options})")
    return [
        f"{v['id']}: {node['html'][:200]} {node['failureSummary']}"
        for v in found["violations"]
        for node in v["nodes"]
    ]


def faults(page: Page) -> list[str]:
    """Return what is wrong with what is shown now, light and dark, wide and narrow."""
    wrong = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        settled(page)
        over = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        if over > 0:
            wrong.append(f"{width}: the document is {over} pixels too wide")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            # All but colours is the same in the dark.
            rules = () if scheme == "light" else ("color-contrast",)
            wrong += [f"{width} {scheme} {v}" for v in violations(page, *rules)]
    page.set_viewport_size({"width": 1280, "height": 800})
    return wrong


def settled(page: Page) -> None:
    """Wait until what follows from another size of the window was drawn."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
