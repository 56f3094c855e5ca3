"""Options that filter pictures, and the output of hits."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

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
    ("--min-side", int, "Minimum length of the longer side, in pixels."),
    ("--max-side", int, "Maximum length of the longer side, in pixels."),
    ("--min-mb", float, "Minimum size of the file, in megabytes."),
    ("--max-mb", float, "Maximum size of the file, in megabytes."),
)


def filter_options(command: F) -> F:
    """Add the options that filter pictures."""
    for flag, some in (("--untagged", "without any word"), ("--tagged", "with at least one word")):
        text = f"Only pictures {some}."
        command = click.option(flag, is_flag=True, help=text)(command)
    for name, kind, text in reversed(_OPTIONS):
        command = click.option(name, type=kind, help=text)(command)
    return command


class FilterOptions(TypedDict, total=False):
    """The options that `filter_options` adds to a command."""

    folder: str | None
    after: str | None
    before: str | None
    min_side: int | None
    max_side: int | None
    min_mb: float | None
    max_mb: float | None
    tagged: bool
    untagged: bool


def filters_of(**options: Unpack[FilterOptions]) -> Filters:
    """Return the filters of these options."""
    min_mb, max_mb = options.get("min_mb"), options.get("max_mb")
    return Filters(
        folder=options.get("folder"), after=options.get("after"), before=options.get("before"),
        min_side=options.get("min_side"), max_side=options.get("max_side"),
        min_bytes=None if min_mb is None else int(min_mb * 1e6),
        max_bytes=None if max_mb is None else int(max_mb * 1e6),
        tagged=options.get("tagged", False), untagged=options.get("untagged", False),
    )  # fmt: skip


def full_path(c: Collection, path: bytes) -> bytes:
    """Return the full path of a picture of the collection."""
    return os.path.join(c.root, path)


def print_hit(c: Collection, h: Hit, *, filepath_only: bool = False, null: bool = False) -> None:
    """Print a hit as `label<TAB>path`, or only its path, unescaped."""
    if filepath_only or null:
        sys.stdout.buffer.write(full_path(c, h.path) + (b"\0" if null else b"\n"))
        return
    click.echo(f"{h.label}\t{shown(full_path(c, h.path))}")


def draw_sheet(c: Collection, results: Results, target: Path) -> None:
    """Draw hits with their labels; never inside the collection."""
    from sightline.pictures.thumbnails import contact_sheet

    check_png(c, target, "A contact sheet")
    if not results.hits:
        return
    thumbnails = c.pictures.thumbnails([h.picture for h in results.hits])
    titles = [f"{h.label} {shown(os.path.basename(h.path))}" for h in results.hits]
    contact_sheet(thumbnails, titles).save(target, "PNG")
    click.echo(f"drew {target}", err=True)


def check_png(c: Collection, target: Path, what: str) -> None:
    """Raise if a drawing is not a PNG or would be inside the collection."""
    if target.suffix.lower() != ".png":
        raise UsageError(f"{what} is a PNG file. Name it so, not {target.name!r}.")
    if c.contains(target):
        raise UsageError(f"{target} lies inside the collection, where nothing is ever written.")


def say_words(results: Results, query: str = "") -> None:
    """Report how the words of a query were taken, and those that the model has not learned."""
    from sightline.collection.corrections import correction_lines
    from sightline.collection.query import not_learned_lines, unproven_lines

    lines = [*correction_lines(results.corrections), *results.wording.lines()]
    lines += not_learned_lines(results.not_learned, results.predicted)
    lines += unproven_lines(results.unproven)
    for line in lines:
        click.echo(f"{query!r}: {line}" if query else line, err=True)


def say_constraints(results: Results) -> None:
    """Report what decided on words with a plus or a minus."""
    for constraint in results.constraints:
        click.echo(str(constraint), err=True)


def say_missing(results: Results) -> None:
    """Report hits whose files are missing, and why another engine answered."""
    if results.served:
        click.echo(results.served, err=True)
    if results.missing:
        click.echo(
            f"{results.missing} pictures are no longer where they were. Run: sightline index",
            err=True,
        )
