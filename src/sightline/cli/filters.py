"""What verbs that answer with pictures share: which pictures may appear, and how they are shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sightline.collection.filters import Filters
from sightline.errors import UsageError
from sightline.records import Hit, shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.results import Results

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: tuple[tuple[str, Any, str], ...] = (
    ("--folder", str, "Only pictures below this folder of the collection."),
    ("--after", str, "Only pictures taken on or after this date."),
    ("--before", str, "Only pictures taken before this date."),
    ("--min-side", int, "Only pictures with so many pixels on the longer side."),
    ("--max-side", int, "Only pictures with at most so many."),
    ("--min-mb", float, "Only files of at least so many megabytes."),
    ("--max-mb", float, "Only files of at most so many."),
)


def filter_options(command: F) -> F:
    """Add the options that say which pictures may appear."""
    for flag, some in (("--untagged", "no word at all"), ("--tagged", "some word")):
        text = f"Only pictures that carry {some}."
        command = click.option(flag, is_flag=True, help=text)(command)
    for name, kind, text in reversed(_OPTIONS):
        command = click.option(name, type=kind, help=text)(command)
    return command


def filters_of(
    *, min_mb: float | None = None, max_mb: float | None = None, **options: Any
) -> Filters:
    """Return the filters that these options mean."""
    sizes = (None if mb is None else int(mb * 1e6) for mb in (min_mb, max_mb))
    min_bytes, max_bytes = sizes
    return Filters(**options, min_bytes=min_bytes, max_bytes=max_bytes)


def full_path(c: Collection, path: bytes) -> bytes:
    """Return where a picture of the collection lies."""
    return os.path.join(c.root, path)


def print_hit(
    c: Collection, h: Hit, mark: str, *, filepath_only: bool = False, null: bool = False
) -> None:
    """Print a hit as `score<TAB>path<TAB>mark`, or its path alone, as it is."""
    if filepath_only or null:
        sys.stdout.buffer.write(full_path(c, h.path) + (b"\0" if null else b"\n"))
        return
    click.echo(f"{h.score:.4f}\t{shown(full_path(c, h.path))}\t{mark}")


def draw_sheet(
    c: Collection, results: Results, target: Path, mark: Callable[[Hit], str] | None = None
) -> None:
    """Draw hits with their scores; never inside the collection."""
    from sightline.pictures.thumbnails import contact_sheet

    check_png(c, target, "A contact sheet")
    if not results.hits:
        return
    say = mark or mark_of
    thumbnails = c.pictures.thumbnails([h.picture for h in results.hits])
    titles = [f"{h.score:.2f} {say(h)} {shown(os.path.basename(h.path))}" for h in results.hits]
    contact_sheet(thumbnails, titles).save(target, "PNG")
    click.echo(f"drew {target}", err=True)


def mark_of(h: Hit) -> str:
    """Say why a picture is among the hits for words."""
    return "carried" if h.tagged else "learnt" if h.learned else "some"


def similarity_mark(h: Hit) -> str:
    """Say whether what ranked a picture by likeness was learnt."""
    return "learnt" if h.learned else "alike"


def check_png(c: Collection, target: Path, what: str) -> None:
    """Refuse a drawing that is no PNG, or that would lie inside the collection."""
    if target.suffix.lower() != ".png":
        raise UsageError(f"{what} is a PNG file. Name it so, not {target.name!r}.")
    if c.contains(target):
        raise UsageError(f"{target} lies inside the collection, where nothing is ever written.")


def say_not_learned(results: Results) -> None:
    """Name the words of a query that the model has not learned, and say if nothing is predicted."""
    from sightline.collection.query import not_learned_lines

    for line in not_learned_lines(results.not_learned, results.predicted):
        click.echo(line, err=True)


def not_learned_json(results: Results) -> list[dict[str, object]]:
    """Return words that the model has not learned as plain values."""
    return [{"word": w.word, "pictures": w.pictures} for w in results.not_learned]


def say_missing(results: Results) -> None:
    """Say how many hits are no longer where they were, and why another engine answered."""
    if results.served:
        click.echo(results.served, err=True)
    if results.missing:
        click.echo(
            f"{results.missing} pictures are no longer where they were. Run: sightline index",
            err=True,
        )
