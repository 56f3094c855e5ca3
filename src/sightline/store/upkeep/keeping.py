"""Looking after a store: a copy that can be used as it is, and removal for good."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sightline.errors import StoreDamaged, StoreError
from sightline.store import seal
from sightline.store.database import connect, database_errors, transaction
from sightline.store.durable import disk_errors, make_folder, open_private, sync_folder
from sightline.store.engines import faiss_files
from sightline.store.home import Home
from sightline.store.locks import Lock
from sightline.store.snapshot import Snapshot
from sightline.store.upkeep.permissions import restrict
from sightline.store.upkeep.verifying import Verified, verify
from sightline.store.versions import version_name
from sightline.store.writer import Change, Writer

_COPIED = ("config.toml", "tag-words.toml")


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """A version one can look at or go back to; `written` is in seconds since 1970.

    `model`, `similar` and `regions` are the models it serves, "" for none.
    """

    number: int
    pictures: int
    finished: bool
    note: str
    written: int
    model: str = ""
    similar: str = ""
    regions: str = ""


@dataclass(frozen=True, slots=True)
class Rollback:
    """An older version is published again, as `version`: that before, and the one gone back to."""

    version: int
    left: KeptVersion
    restored: KeptVersion


def backup(home: Home, target: Path, wait: float = 0.0) -> Verified:
    """Copy a store to a new folder and check the copy; the copy is a store like any other."""
    if not home.exists():
        raise StoreError(f"There is no store in {home.folder} to copy. Run: sightline index FOLDER")
    if target == home.folder or home.folder in target.parents:
        raise StoreError(f"{target} lies inside the store. Name a folder elsewhere for the copy.")
    if target.exists() and any(target.iterdir()):
        raise StoreError(f"{target} is not empty. Name a new folder for the copy.")
    make_folder(target)
    restrict(target)
    copy = Home(target)
    writable = os.access(home.folder, os.W_OK)
    with Lock(home.folder, "store backup", wait) if writable else contextlib.nullcontext():
        for folder in (home.shards, home.versions.folder, home.models, home.ivf):
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


def purge(home: Home, pictures: Iterable[int], sessions: Iterable[str], wait: float = 0.0) -> int:
    """Remove all that is known of some pictures or sessions, for good; return the rows removed.

    This is the one thing that rewrites the log: the rows become empty `purged` rows. Rows, words
    and thumbnails go from every version, so older versions can no longer be rolled back to.
    """
    doomed, named = set(pictures), set(sessions)
    with Writer(home, "store purge", wait) as writer:
        # First out of sight, then out of the log; the catalogue forgets last, so that a purge that
        # was killed can be asked for again under the same name.
        writer.publish(Change(dead=sorted(doomed)), finished=False)
        writer.drop_models()  # They were taught by what is to be forgotten.
        writer.compact(everything=True)
        writer.forget_older()
        left = Snapshot(home.shards, writer.version)
        faiss_files.forget_others(home.ivf, left.published)
        count = writer.log.purge(doomed, named)
        carried = left.vocabulary()[0].tolist()
        with transaction(writer.catalogue.db, writer.catalogue.path):
            writer.catalogue.forget(doomed, keep_terms=carried)
        with database_errors(home.catalogue):
            writer.catalogue.db.execute("VACUUM")
        for path in (*home.folder.glob("*.damaged-*"), *home.folder.glob("*.schema-*")):
            path.unlink()
    return count


def describe_versions(home: Home) -> list[KeptVersion]:
    """Return the versions that are kept, oldest first; the last one is the current one."""
    out = []
    for number in home.versions.numbers():
        path = home.versions.folder / version_name(number)
        try:
            out.append(describe_version(home, number))
        except (StoreDamaged, FileNotFoundError):
            if path.exists():
                raise
            continue  # A publish has removed it since it was listed.
    return out


def describe_version(home: Home, number: int) -> KeptVersion:
    """Return what there is to say of one version that is kept."""
    written = int((home.versions.folder / version_name(number)).stat().st_mtime)
    v = home.versions.read(number)
    models = (v.model, v.similar, v.regions)
    return KeptVersion(v.number, v.live, v.finished, v.note, written, *models)
