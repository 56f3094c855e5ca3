"""page: the page in a real Chromium, over 100,000 pictures with a model.

Times are what a person waits for: from the key to the first thumbnail of another list, decoded and
about to be painted. Beside it stands a program that asks for the same list and its first thumbnail.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

from benchmarks.bench import Bench
from benchmarks.chromium import HOW, executable, launched
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.service import serving
from benchmarks.stores import pictured
from sightline.web.client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

NAME = "page"
ROWS = ("page/first-thumbnail", "page/round", "page/nodes", "page/weight", "page/requests")
_UNITS = ("wall ms, p50", "wall ms, p50", "elements at most", "KB", "requests")
_MOST = Goal("value", 300)
# From a key that is pressed until the first tile is another one, its picture decoded, and a frame
# was drawn.
_LISTEN = """(key) => {
  const old = document.querySelector(".tile[data-at='0'] img");
  window.took = 0;
  addEventListener("keydown", function pressed(e) {
    if (e.key !== key) return;
    removeEventListener("keydown", pressed, true);
    const begun = performance.now();
    const look = () => {
      const now = document.querySelector(".tile[data-at='0'] img");
      if (now && now !== old && now.complete && now.naturalWidth) window.took = performance.now() - begun;
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, true);
}"""  # noqa: E501
_ELEMENTS = "() => document.getElementsByTagName('*').length"


def measure(bench: Bench) -> list[Row]:
    """Look at the page; without a browser say how to get one."""
    browser = executable()
    if browser is None or find_spec("playwright") is None:
        pairs = zip(ROWS, _UNITS, strict=True)
        return [alone(r, u, [0.0], note=f"not measured, no browser here: {HOW}") for r, u in pairs]
    n = bench.sizes.queries[-1]
    root, store_folder = pictured(bench, n, taught=True)
    with serving(root, store_folder.path) as (client, _):
        return _looked(bench, browser, client, n)


def _looked(bench: Bench, browser: str, client: Client, n: int) -> list[Row]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = launched(playwright, browser, bench.fresh("browser"))
        try:
            context = running.new_context(
                viewport={"width": 1280, "height": 800},
                extra_http_headers=dict(client._headers()),
            )
            page = context.new_page()
            sizes: list[int] = []
            page.on("response", lambda r: sizes.append(int(r.headers.get("content-length", 0))))
            page.goto(client.url, wait_until="networkidle")
            weight, requests = sum(sizes) / 1e3, len(sizes)
            searches = [_search(page, client, f"cluster{k}") for k in range(1 + _times(bench))][1:]
            rounds = [t for k in range(3) for t in _rounds(page, f"cluster{20 + k}", k > 0)]
            nodes = _nodes(page, n)
        finally:
            running.close()
    note = f"{n:,} pictures, a window of 1280 × 800"
    return [
        compared(ROWS[0], _UNITS[0], [s[0] for s in searches], "wall ms, a program asks",
                 [s[1] for s in searches], note=note),
        alone(ROWS[1], _UNITS[1], rounds, note="from r to the first thumbnail of the new list"),
        alone(ROWS[2], _UNITS[2], [float(nodes)], _MOST, f"{n:,} hits, anywhere in the list"),
        alone(ROWS[3], _UNITS[3], [weight], note="all that the first look loads, uncompressed"),
        alone(ROWS[4], _UNITS[4], [float(requests)]),
    ]  # fmt: skip


def _times(bench: Bench) -> int:
    return 3 * bench.sizes.repetitions


def _search(page: Page, client: Client, words: str) -> tuple[float, float]:
    """Return how long a search takes on the page, and how long a program's takes."""
    page.get_by_role("combobox", name="Words to look for").fill(words)
    ours = _pressed(page, "Enter")
    begun = time.perf_counter()
    client.thumbnail(client.search(words, limit=100, count=True, cut=False).hits[0].id)
    return ours, 1e3 * (time.perf_counter() - begun)


def _pressed(page: Page, key: str) -> float:
    page.evaluate(_LISTEN, key)
    page.keyboard.press(key)
    return float(page.wait_for_function("() => window.took").json_value())


def _rounds(page: Page, words: str, counts: bool) -> list[float]:
    """Return how long three rounds of a session take; the first session warms up."""
    page.get_by_role("combobox", name="Words to look for").fill(words)
    _pressed(page, "Enter")
    grid = page.get_by_role("listbox", name="Pictures found")
    grid.focus()
    taken = []
    for k in range(3):
        for key in "yyn":
            page.keyboard.press(key)
        page.get_by_text("3 answers are new").wait_for()
        taken.append(_pressed(page, "r"))
        page.get_by_text(f"Round {k + 1}.").wait_for()
        for _ in range(4 * k + 4):
            page.keyboard.press("ArrowRight")
    return taken if counts else []


def _nodes(page: Page, n: int) -> int:
    """Return how many elements the document has at most, wherever one looks at n hits."""
    page.get_by_role("combobox", name="Words to look for").fill("any")
    _pressed(page, "Enter")
    page.get_by_text(f"{n:,} picture").first.wait_for()
    most = 0
    for share in (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1):
        page.evaluate("(s) => scrollTo(0, s * document.documentElement.scrollHeight)", share)
        page.wait_for_function(
            "() => [...document.querySelectorAll('.tile img')].every((i) => i.complete)"
        )
        most = max(most, int(page.evaluate(_ELEMENTS)))
    page.get_by_role("listbox", name="Pictures found").press("End")
    page.locator(f".tile[data-at='{n - 1}'] img").wait_for()
    most = max(most, int(page.evaluate(_ELEMENTS)))
    if most < 50:
        raise BenchmarkError(f"{most} elements are no page.")
    return most
