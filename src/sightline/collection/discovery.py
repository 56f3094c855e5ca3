"""Which collection a folder or a store belongs to."""

from __future__ import annotations

import json
import os
from pathlib import Path

from sightline.errors import SightlineError
from sightline.settings import data_folder, default_store


def inside(place: Path, root: bytes) -> bool:
    """Say whether a path lies inside a collection."""
    real = os.path.realpath(os.fsencode(place))
    return real == root or real.startswith(root.rstrip(b"/") + b"/")


def root_of_store(store: Path) -> bytes | None:
    """Return the folder a store was last indexed for; None where it is unknown."""
    from sightline.store.catalogue import Catalogue

    path = store / "catalogue.sqlite3"
    if not path.exists():
        return None
    try:
        catalogue = Catalogue(path, write=False)
    except SightlineError:
        return None  # Damaged or of another release; whoever opens it gets the error.
    try:
        root = catalogue.meta("root")
    except SightlineError:
        return None
    finally:
        catalogue.close()
    return os.fsencode(json.loads(root)) if root else None


def collection_around(start: bytes) -> tuple[bytes, Path] | None:
    """Return the collection a folder lies in, by the place its store has, sound or damaged."""
    folder = os.path.realpath(start)
    while True:
        store = default_store(folder)
        if (store / "events.sqlite3").exists() or (store / "catalogue.sqlite3").exists():
            return folder, store
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def only_collection() -> tuple[bytes, Path] | None:
    """Return the one collection that has a store in the user's data folder, if it is the only."""
    base = data_folder()
    stores = sorted(p.parent for p in base.glob("*/catalogue.sqlite3")) if base.is_dir() else []
    if len(stores) != 1:
        return None
    root = root_of_store(stores[0])
    return (root, stores[0]) if root is not None else None
