"""`search --where`: regions of words as text, JSON and drawings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.errors import UsageError
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.tagging.localize import LocalizedHit, LocalizedHits


def folder_of(c: Collection, named: str | None) -> Path:
    """Return the folder to draw to: the one named, else `where` in the current folder."""
    folder = Path(named or "where")
    if c.contains(folder):
        raise UsageError(
            f"{folder} lies inside the collection, where nothing is ever written. "
            "Name a folder elsewhere with --where-to."
        )
    return folder


def say_unknown(localized: LocalizedHits) -> None:
    """Report words that were not learned, and hits without regions."""
    if localized.unknown:
        names = ", ".join(repr(w) for w in localized.unknown)
        click.echo(f"The region model has not learned {names}.", err=True)
    # If no word was learned, all hits have this problem.
    placed = any(h.words for h in localized.hits)
    for h in localized.hits:
        if h.problem and (placed or not localized.unknown):
            click.echo(f"No region of {shown(h.hit.path)}: {h.problem}.", err=True)


def lines(h: LocalizedHit) -> list[str]:
    """Return a line for each word of a hit."""
    texts = []
    for w in h.words:
        b = w.box
        box = f"{b.left:.2f},{b.top:.2f},{b.width:.2f},{b.height:.2f}"
        texts.append(f"{w.word}: {w.likely:.0%} likely{', tagged' * w.tagged}, in {box}")
    return texts


def draw(c: Collection, localized: LocalizedHits, folder: Path) -> None:
    """Draw overlays, and print the folder."""
    files = c.tagging.draw_regions(localized, folder)
    if files:
        click.echo(f"drew {len(files)} of {len(localized.hits)} hits into {folder}", err=True)
