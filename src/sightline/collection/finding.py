"""Finding things by what people type: collections, folders of one, dates."""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.errors import SightlineError, UsageError
from sightline.records import shown
from sightline.settings import data_folder, default_store

if TYPE_CHECKING:
    from sightline.store.catalogue import Where


def inside(place: Path, root: bytes) -> bool:
    """Say whether a path lies inside a collection."""
    real = os.path.realpath(os.fsencode(place))
    return real == root or real.startswith(root.rstrip(b"/") + b"/")


def root_of_store(store: Path) -> bytes | None:
    """Return the folder a store was last indexed for; None where it does not tell."""
    from sightline.store.catalogue import Catalogue

    path = store / "catalogue.sqlite3"
    if not path.exists():
        return None
    try:
        catalogue = Catalogue(path, write=False)
    except SightlineError:
        return None  # Damaged or of another release; whoever opens it in earnest will say so.
    try:
        root = catalogue.meta("root")
    except SightlineError:
        return None
    finally:
        catalogue.close()
    return os.fsencode(json.loads(root)) if root else None


def collection_around(start: bytes) -> tuple[bytes, Path] | None:
    """Return the collection a folder lies in, by the place its store has, sound or damaged."""
    here = os.path.realpath(start)
    while True:
        store = default_store(here)
        if (store / "events.sqlite3").exists() or (store / "catalogue.sqlite3").exists():
            return here, store
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def only_collection() -> tuple[bytes, Path] | None:
    """Return the one collection that has a store in the user's data folder, if it is the only."""
    base = data_folder()
    stores = sorted(p.parent for p in base.glob("*/catalogue.sqlite3")) if base.is_dir() else []
    if len(stores) != 1:
        return None
    root = root_of_store(stores[0])
    return (root, stores[0]) if root is not None else None


def below_root(folder: bytes, root: bytes) -> bytes | None:
    """Return a folder as a path inside the collection; None for the whole collection.

    It may be given from the collection, absolute, or from where the user stands.
    """
    plain = os.path.normpath(folder.strip(b"/") or b".")
    for candidate in (os.path.join(root, plain), os.path.realpath(folder)):
        real = os.path.realpath(candidate)
        if os.path.isdir(real) and (real == root or real.startswith(root.rstrip(b"/") + b"/")):
            found = os.path.relpath(real, root)
            return None if found == b"." else found
    raise UsageError(f"There is no folder {shown(folder)} in the collection {shown(root)}.")


def seconds_of(when: int | str | None, name: str) -> int | None:
    """Read a date such as 2024, 2024-06 or 2024-06-30 as its first second.

    >>> seconds_of("1970-01-02", "after")
    86400
    """
    if when is None or isinstance(when, int):
        return when
    for form in ("%Y-%m-%d", "%Y-%m", "%Y", "%Y-%m-%dT%H:%M:%S"):
        try:
            found = datetime.datetime.strptime(when, form)
        except ValueError:
            continue
        return int(found.replace(tzinfo=datetime.UTC).timestamp())
    raise UsageError(f"{name} must be a date such as 2024, 2024-06 or 2024-06-30. Got {when!r}.")


def filter_of(
    root: bytes,
    *,
    folder: str | bytes | None = None,
    after: int | str | None = None,
    before: int | str | None = None,
    min_side: int | None = None,
    max_side: int | None = None,
    min_bytes: int | None = None,
    max_bytes: int | None = None,
    tagged: bool = False,
) -> Where:
    """Return the filter that people mean; see `Collection.search`."""
    from sightline.store.catalogue import Where

    below = None if folder is None else below_root(os.fsencode(folder), root)
    times = seconds_of(after, "after"), seconds_of(before, "before")
    return Where(below, *times, min_side, max_side, min_bytes, max_bytes, tagged or None)


def refuse_both(where: Where, untagged: bool) -> None:
    """Refuse to look for pictures that carry words and at once carry none."""
    if where.tagged and untagged:
        raise UsageError("No picture is both tagged and untagged. Name one of the two.")
