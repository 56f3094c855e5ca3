"""Options, opening of the collection, and printing for all commands."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sightline import plugins
from sightline.errors import NoCollection, UsageError
from sightline.registry import FEATURE_SETS

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.pictures import PictureLike

FIX_PERMISSIONS = "sightline store verify --fix-permissions"
F = TypeVar("F", bound=Callable[..., Any])


def common_options(command: F) -> F:
    """Add the options of every command."""
    for option in (
        click.option("--debug", is_flag=True, help="Show a traceback when something fails."),
        click.option("--store", type=click.Path(), help="The folder of the store."),
        click.option("-C", "--collection", type=click.Path(), help="The folder of pictures."),
    ):
        command = option(command)
    return command


def compute_option(command: F) -> F:
    """Add the option of the compute backend."""
    choices = "local, ray, or HOST:PORT or ray://HOST:PORT of a Ray cluster."
    return click.option("--compute", help=f"Where to compute: {choices}")(command)


def output_options(command: F) -> F:
    """Add the options of output for programs."""
    for option in (
        click.option("--csv", "as_csv", is_flag=True, help="Print CSV."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ):
        command = option(command)
    return command


class ListingOption(click.Option):
    """An option whose help ends with a list that is made when it is shown, such as all rankers.

    The list names what plugins add; a plugin that fails is reported in its place.
    """

    def __init__(self, *names: Any, listing: Callable[[], str], **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self._text, self._listing = self.help or "", listing

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the names of the option, and its help with the list."""
        try:
            listed = self._listing()
        except UsageError as e:
            listed = str(e)
        self.help = f"{self._text} {listed}"
        return super().get_help_record(ctx)


def feature_names() -> str:
    """Return the names of all features and sets of features, for the help of an option."""
    return f"{', '.join(plugins.features())}; sets: {', '.join(FEATURE_SETS)}."


def engine_option(command: F) -> F:
    """Add the option of the search engine."""
    names = "flat|faiss|milvus://HOST:PORT"
    return click.option("--engine", metavar=names, help="The engine to search with.")(command)


def wait_option(command: F) -> F:
    """Add the option of commands that write to the store."""
    return click.option("--wait", type=float, help="Seconds to wait for another writer.")(command)


def open_collection(
    collection: str | None, store: str | None, *, writes: bool = False, **flags: Any
) -> Collection:
    """Open the named collection, or the one that contains the current folder.

    Commands that only read also open the only collection there is. A named store is always used.
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
    located = collection_around(os.fsencode(os.getcwd()))
    if located is None and not writes:
        located = only_collection()
    if located is None:
        raise NoCollection(
            "Which collection? None is here. Name it with -C FOLDER, "
            "or make this folder one: sightline index ."
        )
    return Collection.open(located[0], located[1], **flags)


def compute_features(
    c: Collection, examples: Sequence[PictureLike] = (), *, dense: bool = True
) -> None:
    """Compute what similar pictures and sessions need, if pictures lack it."""
    from sightline.progress import ProgressBar

    names = c.pictures.compute_features(examples, dense=dense, progress=ProgressBar())
    if names:
        click.echo(f"Computed once, to compare pictures by: {', '.join(names)}", err=True)


def _around(store: str) -> bytes:
    """Return the collection around the current folder, for a store that does not record its own."""
    from sightline.collection.discovery import collection_around

    located = collection_around(os.fsencode(os.getcwd()))
    if located is None:
        raise NoCollection(f"Which folder is {store} for? Name it with -C FOLDER.")
    return located[0]


def counted(n: int, one: str, more: str = "") -> str:
    """Return a number with its noun, in singular or plural.

    >>> counted(1, "list"), counted(2, "query", "queries")
    ('1 list', '2 queries')
    """
    return f"{n} {one if n == 1 else more or one + 's'}"


def print_json(value: object) -> None:
    """Print one JSON value; names that are not UTF-8 are escaped and can be read back."""
    click.echo(json.dumps(value, indent=2))


def print_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table as CSV."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)


def text_of(path: bytes) -> str:
    """Return a path for JSON and CSV; `os.fsencode` restores the bytes."""
    return os.fsdecode(path)
