"""What the verbs share: options, opening the collection, and ways to print."""

from __future__ import annotations

import csv
import datetime
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sightline.errors import UsageError
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection

F = TypeVar("F", bound=Callable[..., Any])


def common_options(command: F) -> F:
    """Add the options every verb takes."""
    for option in (
        click.option("--debug", is_flag=True, help="Show a traceback when something fails."),
        click.option("--store", type=click.Path(), help="Where what is known is kept."),
        click.option("-C", "--collection", type=click.Path(), help="The folder of pictures."),
    ):
        command = option(command)
    return command


def output_options(command: F) -> F:
    """Add the choice of output for programs."""
    for option in (
        click.option("--csv", "as_csv", is_flag=True, help="Print CSV."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ):
        command = option(command)
    return command


def open_collection(collection: str | None, store: str | None, **flags: Any) -> Collection:
    """Open the collection that is meant: the one named, the one we stand in, or the only one."""
    from sightline.collection import Collection, find_collection

    outer = click.get_current_context().find_root().obj or {}
    folder = collection or outer.get("collection") or os.environ.get("SIGHTLINE_COLLECTION")
    place = store or outer.get("store") or os.environ.get("SIGHTLINE_STORE")
    if folder is None and place is not None:
        folder = _root_of(place)
    if folder is None:
        found = find_collection(os.fsencode(os.getcwd()))
        if found is None:
            raise UsageError(
                "Which collection? Go into its folder, name it with -C FOLDER, "
                "or make one: sightline index FOLDER"
            )
        folder, place = os.fsdecode(found[0]), str(found[1])
    return Collection.open(folder, place, **flags)


def _root_of(store: str) -> str | None:
    """Return the folder a store belongs to, as it was when last indexed."""
    from pathlib import Path

    from sightline.store.catalogue import Catalogue

    path = Path(store) / "catalogue.sqlite3"
    if not path.exists():
        return None
    catalogue = Catalogue(path, write=False)
    try:
        return catalogue.meta("root")
    finally:
        catalogue.close()


def print_json(value: object) -> None:
    """Print one JSON value; names that are not UTF-8 come out as escapes and can be read back."""
    click.echo(json.dumps(value, indent=2))


def print_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table for other programs."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)


def text_of(path: bytes) -> str:
    """Return a path for JSON and CSV; `os.fsencode` gives the same bytes back."""
    return os.fsdecode(path)


def print_skipped(skipped: Sequence[Any], limit: int) -> None:
    """Name the files that were skipped, on stderr."""
    for s in skipped[:limit]:
        click.echo(f"skipped {shown(s.path)}: {s.reason}", err=True)
    if len(skipped) > limit:
        more = len(skipped) - limit
        click.echo(f"… and {more} more; sightline doctor --skipped lists all", err=True)


def seconds_of(text: str | None, flag: str) -> int | None:
    """Read a date such as 2024, 2024-06 or 2024-06-30 as its first second."""
    if text is None:
        return None
    for form in ("%Y-%m-%d", "%Y-%m", "%Y", "%Y-%m-%dT%H:%M:%S"):
        try:
            when = datetime.datetime.strptime(text, form)
        except ValueError:
            continue
        return int(when.replace(tzinfo=datetime.UTC).timestamp())
    raise UsageError(f"{flag} must be a date such as 2024, 2024-06 or 2024-06-30. Got {text!r}.")
