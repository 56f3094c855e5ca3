"""Looking after a store: a copy that can be used as it is, and removal for good."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from sightline.errors import StoreError
from sightline.store import seal
from sightline.store.database import connect, transaction
from sightline.store.durable import make_folder, sync_folder
from sightline.store.home import Home
from sightline.store.locks import Lock
from sightline.store.verifying import Verified, verify
from sightline.store.writer import Change, Writer

_COPIED = ("config.toml",)


def backup(home: Home, target: Path, wait: float = 0.0) -> Verified:
    """Copy a store to a new folder and check the copy; the copy is a store like any other."""
    if target.exists() and any(target.iterdir()):
        raise StoreError(f"{target} is not empty. Name a new folder for the copy.")
    make_folder(target)
    copy = Home(target)
    with Lock(home.folder, "store backup", wait):
        for folder in (home.shards, home.versions.folder, home.models):
            if folder.is_dir():
                _copy_tree(folder, target / folder.name)
        for name in (*seal.DATABASES, *_COPIED):
            if (home.folder / name).exists():
                _copy_file(home.folder / name, target / name)
    sync_folder(target)
    seal.lay_seal(target)
    return verify(copy)


def _copy_file(source: Path, target: Path) -> None:
    if source.suffix == ".sqlite3":
        # SQLite's own copying sees committed rows that still lie in the log beside the file.
        from_db, to_db = connect(source, write=False), connect(target, write=True)
        from_db.backup(to_db)
        to_db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        from_db.close()
        to_db.close()
        return
    shutil.copyfile(source, target)
    _sync_file(target)


def _copy_tree(source: Path, target: Path) -> None:
    make_folder(target)
    for path in sorted(source.iterdir()):
        if path.is_dir():
            _copy_tree(path, target / path.name)
        else:
            shutil.copyfile(path, target / path.name)
            _sync_file(target / path.name)
    sync_folder(target)


def _sync_file(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def purge(home: Home, pictures: Iterable[int], sessions: Iterable[str], wait: float = 0.0) -> int:
    """Remove all that is known of some pictures or sessions, for good; return the rows removed.

    This is the one thing that rewrites the log: the rows become empty `purged` rows. Rows, words
    and thumbnails go from every version, so older versions can no longer be rolled back to.
    """
    doomed, named = set(pictures), set(sessions)
    with Writer(home, "store purge", wait) as writer:
        count = writer.log.purge(doomed, named)
        with transaction(writer.catalogue.db, writer.catalogue.path):
            for p in doomed:
                for table, column in (("pictures", "id"), ("words", "picture")):
                    writer.catalogue.db.execute(f"DELETE FROM {table} WHERE {column}=?", (p,))
        writer.publish(Change(dead=sorted(doomed)), finished=False)
        writer.compact(everything=True)
        writer.forget_older()
        writer.catalogue.db.execute("VACUUM")
    return count


def describe_versions(home: Home) -> list[tuple[int, int, bool, str]]:
    """Return number, pictures, whether finished, and note of each version that can be read."""
    out = []
    for number in home.versions.numbers():
        v = home.versions.read(number)
        out.append((v.number, v.live, v.finished, v.note))
    return out
