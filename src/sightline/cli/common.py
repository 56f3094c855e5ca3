"""What the verbs share: options, opening the collection, and ways to print."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sightline.errors import NoCollection
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection

FIX_PERMISSIONS = "sightline store verify --fix-permissions"
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


def compute_option(command: F) -> F:
    """Add the choice of where to compute."""
    said = "local, ray, or HOST:PORT or ray://HOST:PORT of a Ray cluster."
    return click.option("--compute", help=f"Where to compute: {said}")(command)


def output_options(command: F) -> F:
    """Add the choice of output for programs."""
    for option in (
        click.option("--csv", "as_csv", is_flag=True, help="Print CSV."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ):
        command = option(command)
    return command


def engine_option(command: F) -> F:
    """Add the choice of what searches vectors and scores."""
    names = "flat|faiss|milvus://HOST:PORT"
    return click.option("--engine", metavar=names, help="What searches vectors and scores.")(
        command
    )


def wait_option(command: F) -> F:
    """Add the option of verbs that need the store to themselves."""
    return click.option("--wait", type=float, help="Seconds to wait for another writer.")(command)


def open_collection(
    collection: str | None, store: str | None, *, writes: bool = False, **flags: Any
) -> Collection:
    """Open the collection that is meant: the one named, or the one we stand in.

    Verbs that only read also take the only collection there is. A store that was named is used,
    whatever else there may be.
    """
    from sightline.collection import Collection
    from sightline.collection.discovery import collection_around, only_collection, root_of_store

    outer = click.get_current_context().find_root().obj or {}
    folder = collection or outer.get("collection") or os.environ.get("SIGHTLINE_COLLECTION")
    place = store or outer.get("store") or os.environ.get("SIGHTLINE_STORE")
    if folder is not None:
        return Collection.open(folder, place, **flags)
    if place is not None:
        root = root_of_store(Path(place)) or _around(place)
        return Collection.open(root, place, **flags)
    found = collection_around(os.fsencode(os.getcwd()))
    if found is None and not writes:
        found = only_collection()
    if found is None:
        raise NoCollection(
            "Which collection? None is here. Name it with -C FOLDER, "
            "or make this folder one: sightline index ."
        )
    return Collection.open(found[0], found[1], **flags)


def _around(store: str) -> bytes:
    """Return the folder for a store that does not tell: only the collection we stand in will do."""
    from sightline.collection.discovery import collection_around

    found = collection_around(os.fsencode(os.getcwd()))
    if found is None:
        raise NoCollection(f"Which folder is {store} for? Name it with -C FOLDER.")
    return found[0]


def counted(n: int, one: str, more: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "list"), counted(2, "query", "queries")
    ('1 list', '2 queries')
    """
    return f"{n} {one if n == 1 else more or one + 's'}"


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
