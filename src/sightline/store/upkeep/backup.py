"""A copy of a store that can be used as it is."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from sightline.errors import StoreError
from sightline.store import seal
from sightline.store.database import connect, database_errors
from sightline.store.durable import disk_errors, make_folder, open_private, sync_folder
from sightline.store.folder import StoreFolder
from sightline.store.locks import Lock
from sightline.store.upkeep.permissions import restrict
from sightline.store.upkeep.verify import Verified, verify

_COPIED = ("config.toml", "synonyms.toml", "tag-words.toml")


def backup(store_folder: StoreFolder, target: Path, wait: float = 0.0) -> Verified:
    """Copy a store to a new folder and check the copy, which is a store like any other.

    Parameters
    ----------
    store_folder : StoreFolder
        The store.
    target : Path
        A folder that does not exist or is empty.
    wait : float, default=0.0
        How many seconds to wait for another writer.

    Returns
    -------
    Verified
        The check of the copy.
    """
    if not store_folder.exists():
        raise StoreError(
            f"There is no store in {store_folder.path} to copy. Run: sightline index FOLDER"
        )
    if target == store_folder.path or store_folder.path in target.parents:
        raise StoreError(f"{target} is inside the store. Name a folder outside of it for the copy.")
    if target.exists() and any(target.iterdir()):
        raise StoreError(f"{target} is not empty. Name a new folder for the copy.")
    make_folder(target)
    restrict(target)
    copy = StoreFolder(target)
    writable = os.access(store_folder.path, os.W_OK)
    with Lock(store_folder.path, "store backup", wait) if writable else contextlib.nullcontext():
        for folder in (
            store_folder.shards,
            store_folder.versions.folder,
            store_folder.models,
            store_folder.ivf,
        ):
            if folder.is_dir():
                _copy_tree(folder, target / folder.name)
        for name in (*seal.DATABASES, *_COPIED):
            if (store_folder.path / name).exists():
                _copy_file(store_folder.path / name, target / name)
    sync_folder(target)
    seal.write_seal(target)
    return verify(copy)


def _copy_file(source: Path, target: Path) -> None:
    if source.suffix == ".sqlite3":
        # SQLite's own copy includes committed rows that are still in the write-ahead log.
        with (
            contextlib.closing(connect(source, write=False)) as from_db,
            contextlib.closing(connect(target, write=True)) as to_db,
            database_errors(target),
        ):
            from_db.backup(to_db)
            to_db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return
    _copy_bytes(source, target)


def _copy_tree(source: Path, target: Path) -> None:
    make_folder(target)
    for path in sorted(source.iterdir()):
        if path.is_dir():
            _copy_tree(path, target / path.name)
        else:
            _copy_bytes(path, target / path.name)
    sync_folder(target)


def _copy_bytes(source: Path, target: Path) -> None:
    with (
        open(source, "rb") as old,
        disk_errors(target),
        open(target, "xb", opener=open_private) as new,
    ):
        shutil.copyfileobj(old, new)
        new.flush()
        os.fsync(new.fileno())
