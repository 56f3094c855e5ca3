"""`python -m tests.page.screenshots`: the pictures of the page that the documents show.

They are taken of the demo collection, which `make demo` leaves in `.demo`, and written to `docs`.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from sightline.collection import Collection
from tests.factories.servers import running
from tests.page.browser import started
from tests.page.visit import Visitor, Visits, expect

# A picture of the documents is small enough to be kept.
MOST_BYTES = 150_000
WIDE = {"width": 1180, "height": 760}


def found(visitor: Visitor) -> None:
    """A search after two rounds of feedback."""
    page = visitor.go("#/search?q=sad%20face")
    expect(visitor.tiles.first).to_be_visible()
    visitor.grid.focus()
    for key in "yyyynn":
        page.keyboard.press(key)
    expect(page.get_by_text("6 answers are new")).to_be_visible()
    page.keyboard.press("r")
    expect(page.locator(".judgebar")).to_contain_text("Round 1.")
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "y", "y"):
        page.keyboard.press(key)
    expect(page.get_by_text("2 answers are new")).to_be_visible()
    page.keyboard.press("r")
    expect(page.locator(".judgebar")).to_contain_text("Round 2.")


def why(visitor: Visitor) -> None:
    """A picture that was never tagged, with the heat map of the word."""
    visitor.watch.expect("/v1/where")
    page = visitor.go("#/search?q=red%20fruit")
    page.get_by_text("Filters", exact=True).click()
    with page.expect_response(lambda r: "/v1/search" in r.url):
        page.get_by_role("combobox", name="Words", exact=True).select_option("Without any word")
    expect(visitor.tiles.first).to_be_visible()
    visitor.grid.focus()
    page.keyboard.press("Enter")
    button = page.get_by_role("dialog").locator(".why").get_by_role("button").first
    button.click()
    expect(page.get_by_role("dialog").locator(".strip img").first).to_be_visible()


def train(visitor: Visitor) -> None:
    """The report on held-out pictures."""
    client = visitor.served.client
    client.finish(client.start("evaluate").id)
    page = visitor.go("#/train")
    report = page.locator(".evaluation")
    expect(report.get_by_role("img").first).to_be_visible()
    page.set_viewport_size({"width": 1180, "height": 900})
    page.locator("#jobs").evaluate(
        "(e) => scrollTo(0, e.getBoundingClientRect().top + scrollY - 110)"
    )


SHOTS: dict[str, Callable[[Visitor], None]] = {
    "page-search": found, "page-why": why, "page-learn": train,
}  # fmt: skip


def main() -> None:
    """Take all of them, or some."""
    parser = argparse.ArgumentParser(prog="python -m tests.page.screenshots", description=__doc__)
    parser.add_argument("--demo", type=Path, default=Path(".demo"), help="where the demo was built")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="the folder to write to")
    parser.add_argument("shots", nargs="*", help=f"some of: {', '.join(SHOTS)}")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as browser:
        c = Collection.open(given.demo / "emoji", store=given.demo / "store")
        visits = Visits(browser, {})
        with running(c) as served:
            for name in given.shots or SHOTS:
                visitor = visits(served, viewport=WIDE, color_scheme="light")
                SHOTS[name](visitor)
                _keep(visitor.page.screenshot(), given.out / f"{name}.webp")
        complaints = visits.end()
    if complaints:
        raise SystemExit("\n".join(complaints))


def _keep(png: bytes, target: Path) -> None:
    Image.open(io.BytesIO(png)).convert("RGB").save(target, "WEBP", quality=85, method=6)
    if target.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{target} has {target.stat().st_size} bytes; at most {MOST_BYTES}.")


if __name__ == "__main__":
    main()
