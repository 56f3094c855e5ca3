"""The catalogue's tables, and the migration of stores of older releases.

Migrations are numbered steps, run in one transaction after a copy of the file was made beside it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sightline.errors import NoCollection, StoreTooOld
from sightline.store.database import check_schema, database_errors, schema_number, transaction
from sightline.store.durable import create_private, disk_errors, sync_folder

_TABLES = (
    """CREATE TABLE pictures (id INTEGER PRIMARY KEY, path BLOB NOT NULL, gone INTEGER NOT NULL,
       sha TEXT NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL, width INTEGER,
       height INTEGER, format TEXT, taken INTEGER)""",
    "CREATE INDEX pictures_by_path ON pictures(path)",
    "CREATE INDEX pictures_by_sha ON pictures(sha)",
    """CREATE TABLE words (picture INTEGER NOT NULL, source TEXT NOT NULL, tags TEXT NOT NULL,
       text TEXT NOT NULL, PRIMARY KEY (picture, source)) WITHOUT ROWID""",
    "CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL)",
    """CREATE TABLE skipped (path BLOB PRIMARY KEY, kind TEXT NOT NULL, reason TEXT NOT NULL,
       size INTEGER NOT NULL, mtime INTEGER NOT NULL) WITHOUT ROWID""",
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)
# Step n brings a catalogue from schema n to n + 1; step 0 creates it.
_STEPS: tuple[tuple[str, ...], ...] = (
    _TABLES,
    ("ALTER TABLE pictures ADD COLUMN stamps TEXT NOT NULL DEFAULT ''",),
)
SCHEMA = len(_STEPS)


def prepare(db: sqlite3.Connection, path: Path, *, write: bool) -> None:
    """Create the tables, or bring older ones up to date."""
    with database_errors(path):
        number = schema_number(db)
        check_schema(path, number, SCHEMA)
        if number == SCHEMA:
            return
        if not write and number == 0:
            raise NoCollection(f"Nothing is indexed in {path.parent} yet. Run: sightline index")
        if not write:
            raise StoreTooOld(
                f"{path} has schema {number}; this Sightline reads schema {SCHEMA}. "
                "Run: sightline index (it upgrades the store and keeps a copy)"
            )
        if number:
            _keep_copy(db, path, number)
    with transaction(db, path):
        for step in _STEPS[schema_number(db) :]:
            for sql in step:
                db.execute(sql)
        db.execute(f"PRAGMA user_version={SCHEMA}")


def _keep_copy(db: sqlite3.Connection, path: Path, number: int) -> None:
    copy_path = path.with_name(f"{path.stem}.schema-{number}.sqlite3")
    with disk_errors(copy_path):
        create_private(copy_path)
    copy = sqlite3.connect(copy_path)
    with copy:
        db.backup(copy)
    copy.close()
    sync_folder(path.parent)
