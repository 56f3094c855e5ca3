"""The catalogue: the current facts about each picture, derived from the event log.

It answers "what is new?", "which pictures are in this folder?" and "what is its path?" without
reading the log. It can be deleted: replaying the log builds it again. Only stamps (size and time of
files, so that unchanged ones are not read again) and reasons for skipping are stored here alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sightline.contracts import Json
from sightline.records import Skipped, Tags
from sightline.store.database import connect, connect_sealed, database_errors
from sightline.store.events import Event
from sightline.store.schema import prepare

# Stored instead of a picture's stamps after a crash between the log and the publish.
UNPUBLISHED = "unpublished"
# Sources with this beginning are captions whose file names their language.
IN_LANGUAGE = "txt:"
_OUTDATED = "outdated"
_KNOWN = "id, path, sha, size, mtime, stamps"
_FACTS = "id, path, size, mtime, width, height, format, taken"


@dataclass(frozen=True, slots=True)
class Outdated:
    """A picture whose row is out of date since a rollback; stored in front of its stamps.

    Attributes
    ----------
    version : int
        The version that has the right row.
    part : str
        What differs: the whole "row", only its "words" (and perhaps features), or only "features"
        that the current row lacks.
    stamps : str
        The picture's stamps.

    Examples
    --------
    >>> Outdated.of(str(Outdated(7, "words", "[]")))
    Outdated(version=7, part='words', stamps='[]')
    """

    version: int
    part: str
    stamps: str

    def __str__(self) -> str:
        return f"{_OUTDATED} {self.version} {self.part} {self.stamps}"

    @classmethod
    def of(cls, stamps: str) -> Outdated | None:
        """Parse stamps; None for those of a row that is up to date."""
        if not stamps.startswith(f"{_OUTDATED} "):
            return None
        _, version, part, rest = stamps.split(" ", 3)
        return cls(int(version), part, rest)


@dataclass(frozen=True, slots=True)
class KnownPicture:
    """What the catalogue remembers of a picture, to detect whether its file changed."""

    picture: int
    path: bytes
    sha: str
    size: int
    mtime: int
    stamps: str

    @property
    def outdated(self) -> Outdated | None:
        """How the picture's row is out of date; None if it is not."""
        return Outdated.of(self.stamps)

    @property
    def plain_stamps(self) -> str:
        """The stamps of its word files, whether or not its row is out of date."""
        outdated = self.outdated
        return outdated.stamps if outdated else self.stamps


@dataclass(frozen=True, slots=True)
class Facts:
    """What a picture can be filtered by, and what is shown of it."""

    picture: int
    path: bytes
    size: int
    mtime: int
    width: int
    height: int
    format: str
    taken: int | None


@dataclass(frozen=True, slots=True)
class VectorsFile:
    """A file of vectors that every index reads.

    Attributes
    ----------
    name : str
        The feature its rows become.
    path : str
        The file.
    fingerprint : str
        That of its rows in the store, "" before it was first read.
    order : str
        The checksum of the paths in whose order its rows are, "" if the file has keys.
    present : bool
        False once the file is removed from the collection.
    key_column : str
        The column of keys, "" unless the user named it.
    """

    name: str
    path: str
    fingerprint: str = ""
    order: str = ""
    present: bool = True
    key_column: str = ""

    def as_json(self) -> dict[str, Json]:
        """Return it as it is stored; without a key column as older releases stored it."""
        fields: dict[str, Json] = asdict(self)
        return fields if self.key_column else {k: v for k, v in fields.items() if k != "key_column"}


@dataclass(frozen=True, slots=True)
class Where:
    """A filter on pictures; what is None does not filter.

    Attributes
    ----------
    folder : bytes or None
        Only pictures below this folder.
    after, before : int or None
        Only pictures taken (or, if unknown, changed) in this time, in seconds since 1970.
    min_side, max_side : int or None
        Only pictures whose longer side has this many pixels.
    min_bytes, max_bytes : int or None
        Only files of this size.
    tagged : bool or None
        True for only pictures that have some word.
    """

    folder: bytes | None = None
    after: int | None = None
    before: int | None = None
    min_side: int | None = None
    max_side: int | None = None
    min_bytes: int | None = None
    max_bytes: int | None = None
    tagged: bool | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, n) is not None for n in self.__dataclass_fields__)


class Catalogue:
    """The derived tables of one collection."""

    def __init__(self, path: Path, *, write: bool, sealed: bool = False) -> None:
        self.path = path
        self.db = connect_sealed(path) if sealed else connect(path, write=write)
        try:
            prepare(self.db, path, write=write)
        except BaseException:
            self.db.close()
            raise

    def hold(self) -> None:
        """Start a read transaction: later commits of others are invisible until the next `hold`."""
        with database_errors(self.path):
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            self.db.execute("BEGIN")

    # -- applying the log --------------------------------------------------------------------

    def applied(self) -> int:
        """Return the number of the last event that was applied to these tables."""
        return int(self.meta("applied") or 0)

    def apply(self, events: Iterable[Event], *, published: bool = True) -> None:
        """Apply the events that are not applied yet; call inside a transaction.

        With `published` false their pictures are marked: their rows are older than the events.
        """
        last = self.applied()
        for e in events:
            if e.seq > last:
                self._apply(e)
                last = e.seq
                if not published and e.kind in ("picture-seen", "words") and e.picture:
                    self.mark_unpublished([e.picture])
        self.set_meta("applied", str(last))

    def mark_unpublished(self, pictures: Iterable[int]) -> None:
        """Mark pictures with out-of-date rows, so that the next index reads them again."""
        self.restamp((p, UNPUBLISHED) for p in pictures)

    def restamp(self, stamps: Iterable[tuple[int, str]]) -> None:
        """Replace the stamps of pictures; sizes and times stay."""
        sql = "UPDATE pictures SET stamps=? WHERE id=?"
        self.db.executemany(sql, ((text, p) for p, text in stamps))

    def mark_all_unpublished(self) -> None:
        """Mark all pictures, so that the next index reads them again."""
        self.db.execute("UPDATE pictures SET stamps=? WHERE gone=0", (UNPUBLISHED,))

    def _apply(self, e: Event) -> None:
        b = e.body
        if e.kind == "picture-seen":
            path = str(b["path"]).encode("utf-8", "surrogateescape")
            self.db.execute("UPDATE pictures SET gone=1 WHERE path=? AND id<>?", (path, e.picture))
            row = [b.get(k) for k in ("sha", "size", "mtime", "width", "height", "format", "taken")]
            self.db.execute(
                "INSERT INTO pictures(id,path,gone,sha,size,mtime,width,height,format,taken)"
                " VALUES (?,?,0,?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET path=excluded.path,"
                " gone=0, sha=excluded.sha, size=excluded.size, mtime=excluded.mtime,"
                " width=excluded.width, height=excluded.height, format=excluded.format,"
                " taken=excluded.taken",
                (e.picture, path, *row),
            )
            self.db.execute("DELETE FROM skipped WHERE path=?", (path,))
        elif e.kind == "picture-gone":
            self.db.execute("UPDATE pictures SET gone=1, stamps='' WHERE id=?", (e.picture,))
        elif e.kind == "words":
            self._apply_words(e)
        elif e.kind == "words-file":
            self._apply_words_file(str(b["path"]), bool(b.get("present", True)), b.get("columns"))
        elif e.kind == "vectors-file":
            texts = ("name", "path", "fingerprint", "order", "key_column")
            fields = {k: str(b.get(k, "")) for k in texts}
            file = VectorsFile(**fields, present=bool(b.get("present", True)))
            others = [f for f in self.vectors_files() if f.name != file.name]
            self.set_meta("vectors_files", vectors_text([*others, file]))

    def _apply_words(self, e: Event) -> None:
        source = str(e.body["source"])
        self.db.execute("DELETE FROM words WHERE picture=? AND source=?", (e.picture, source))
        if e.body.get("tags") or e.body.get("text"):
            row = (e.picture, source, json.dumps(e.body.get("tags", [])), e.body.get("text", ""))
            self.db.execute("INSERT INTO words VALUES (?,?,?,?)", row)
        if source.startswith(IN_LANGUAGE):
            self.set_meta("in_languages", "1")

    def _apply_words_file(self, path: str, present: bool, columns: Json) -> None:
        known = self.words_files()
        others = [f for f in known if f != path]
        if not present:
            known = others
        elif path not in known:
            known = [*known, path]
        self.set_meta("words_files", json.dumps(known))
        rules = {f: c for f, c in self.words_columns().items() if f in others}
        if present and isinstance(columns, dict):
            rules[path] = columns
        self.set_meta("words_columns", json.dumps(rules))

    # -- pictures ----------------------------------------------------------------------------

    def known(self) -> list[KnownPicture]:
        """Return every picture that is not gone."""
        sql = f"SELECT {_KNOWN} FROM pictures WHERE gone=0"
        with database_errors(self.path):
            return [KnownPicture(*row) for row in self.db.execute(sql)]

    def gone(self) -> list[tuple[int, bytes]]:
        """Return id and last path of every picture that is gone."""
        with database_errors(self.path):
            return list(self.db.execute("SELECT id, path FROM pictures WHERE gone=1 ORDER BY id"))

    def gone_with(self, sha: str) -> list[KnownPicture]:
        """Return the pictures with this content that are gone, oldest first."""
        sql = f"SELECT {_KNOWN} FROM pictures WHERE gone=1 AND sha=? ORDER BY id"
        return [KnownPicture(*row) for row in self.db.execute(sql, (sha,))]

    def stamp(self, picture: int, size: int, mtime: int, stamps: str) -> None:
        """Store size and times, so that the picture is not read again while they are the same."""
        self.db.execute(
            "UPDATE pictures SET size=?, mtime=?, stamps=? WHERE id=?",
            (size, mtime, stamps, picture),
        )

    def facts(self, pictures: Iterable[int]) -> dict[int, Facts]:
        """Return path and facts of each picture that is not gone."""
        facts: dict[int, Facts] = {}
        sql = f"SELECT {_FACTS} FROM pictures WHERE id=? AND gone=0"
        with database_errors(self.path):
            for p in pictures:
                for row in self.db.execute(sql, (int(p),)):
                    facts[row[0]] = Facts(*row)
        return facts

    def contents(self, pictures: Iterable[int]) -> dict[int, str]:
        """Return the SHA-256 of the file of each picture that is not gone."""
        contents: dict[int, str] = {}
        with database_errors(self.path):
            for p in pictures:
                for row in self.db.execute("SELECT sha FROM pictures WHERE id=? AND gone=0", (p,)):
                    contents[p] = row[0]
        return contents

    def forget(self, pictures: Iterable[int], keep_terms: Iterable[int]) -> None:
        """Remove pictures, their words, and all terms but `keep_terms`."""
        for p in pictures:
            self.db.execute("DELETE FROM pictures WHERE id=?", (p,))
            self.db.execute("DELETE FROM words WHERE picture=?", (p,))
        keep = set(keep_terms)
        unused = [(i,) for (i,) in self.db.execute("SELECT id FROM terms") if i not in keep]
        self.db.executemany("DELETE FROM terms WHERE id=?", unused)

    def find(self, path: bytes) -> int | None:
        """Return the id of the picture at a path inside the collection."""
        row = self.db.execute("SELECT id FROM pictures WHERE path=? AND gone=0", (path,)).fetchone()
        return row[0] if row else None

    def where(self, w: Where) -> list[int]:
        """Return the ids of the pictures a filter lets through, ascending."""
        parts: list[str] = ["gone=0"]
        values: list[bytes | int] = []
        if w.folder is not None:
            prefix = w.folder.rstrip(b"/") + b"/"
            parts.append("path>=? AND path<?")
            values += [prefix, prefix[:-1] + b"0"]
        if w.tagged:
            parts.append("EXISTS (SELECT 1 FROM words WHERE picture=id)")
        for column, sign, value in (
            ("coalesce(taken, mtime/1000000000)", ">=", w.after),
            ("coalesce(taken, mtime/1000000000)", "<", w.before),
            ("max(width,height)", ">=", w.min_side),
            ("max(width,height)", "<=", w.max_side),
            ("size", ">=", w.min_bytes),
            ("size", "<=", w.max_bytes),
        ):
            if value is not None:
                parts.append(f"{column}{sign}?")
                values.append(value)
        sql = f"SELECT id FROM pictures WHERE {' AND '.join(parts)} ORDER BY id"
        with database_errors(self.path):
            return [row[0] for row in self.db.execute(sql, values)]

    # -- words -------------------------------------------------------------------------------

    def words(self, picture: int) -> list[Tags]:
        """Return the words of a picture, by source."""
        sql = "SELECT source, tags, text FROM words WHERE picture=? ORDER BY source"
        with database_errors(self.path):
            rows = self.db.execute(sql, (picture,)).fetchall()
        return [Tags(source, tuple(json.loads(tags)), text) for source, tags, text in rows]

    def every_words(self) -> Iterator[tuple[int, Tags]]:
        """Yield the words of every picture that is not gone, by picture and source."""
        sql = (
            "SELECT picture, source, tags, text FROM words JOIN pictures ON picture=id"
            " WHERE gone=0 ORDER BY picture, source"
        )
        with database_errors(self.path):
            for picture, source, tags, text in self.db.execute(sql):
                yield picture, Tags(source, tuple(json.loads(tags)), text)

    def has_texts(self) -> bool:
        """Return whether any picture has running text."""
        with database_errors(self.path):
            return bool(self.db.execute("SELECT 1 FROM words WHERE text<>'' LIMIT 1").fetchone())

    def texts_without_language(self, most: int) -> list[str]:
        """Return some texts whose source names no language; none where all are of that kind."""
        if self.meta("in_languages") is None:
            return []
        sql = "SELECT text FROM words WHERE text<>'' AND substr(source, 1, ?)<>? LIMIT ?"
        with database_errors(self.path):
            rows = self.db.execute(sql, (len(IN_LANGUAGE), IN_LANGUAGE, most))
            return [text for (text,) in rows]

    def with_text(self, part: str) -> list[int]:
        """Return the ids of pictures, gone ones too, with a part of a text, ascending."""
        sql = "SELECT DISTINCT picture FROM words WHERE instr(text, ?) ORDER BY picture"
        with database_errors(self.path):
            return [row[0] for row in self.db.execute(sql, (part,))]

    def with_source(self, source: str) -> list[int]:
        """Return the ids of pictures, gone ones too, with words of a source, ascending."""
        sql = "SELECT picture FROM words WHERE source=? ORDER BY picture"
        with database_errors(self.path):
            return [row[0] for row in self.db.execute(sql, (source,))]

    def words_files(self) -> list[str]:
        """Return the tables of words this collection reads, in the order they were added."""
        return list(json.loads(self.meta("words_files") or "[]"))

    def words_columns(self) -> dict[str, dict[str, Json]]:
        """Return what the owner said about the columns of tables of words, by path."""
        return dict(json.loads(self.meta("words_columns") or "{}"))

    def vectors_files(self) -> list[VectorsFile]:
        """Return the files of vectors, in the order they were last changed."""
        return [VectorsFile(**f) for f in json.loads(self.meta("vectors_files") or "[]")]

    def add_terms(self, terms: Iterable[tuple[int, str]]) -> None:
        """Remember the spelling of term ids."""
        self.db.executemany("INSERT OR IGNORE INTO terms VALUES (?,?)", terms)

    def terms(self) -> Iterator[tuple[int, str]]:
        """Yield every term of the collection with its id."""
        with database_errors(self.path):
            yield from self.db.execute("SELECT id, term FROM terms ORDER BY term")

    # -- files that were not indexed -----------------------------------------------------------

    def skipped(self) -> list[tuple[Skipped, int, int]]:
        """Return the files skipped at the last index, each with size and time."""
        sql = "SELECT path, kind, reason, size, mtime FROM skipped ORDER BY path"
        with database_errors(self.path):
            return [(Skipped(p, k, r), s, m) for p, k, r, s, m in self.db.execute(sql)]

    def skip(self, s: Skipped, size: int, mtime: int) -> None:
        """Remember why a file was skipped."""
        row = (s.path, s.kind, s.reason, size, mtime)
        self.db.execute("INSERT OR REPLACE INTO skipped VALUES (?,?,?,?,?)", row)

    def unskip(self, paths: Iterable[bytes]) -> None:
        """Forget skipped files that are no longer there."""
        self.db.executemany("DELETE FROM skipped WHERE path=?", ((p,) for p in paths))

    # -- small values ------------------------------------------------------------------------

    def meta(self, key: str) -> str | None:
        """Return a small value stored under a name; None if there is none."""
        with database_errors(self.path):
            row = self.db.execute("SELECT value FROM meta WHERE key=?", (key,)).fetchone()
        return row[0] if row else None

    def set_meta(self, key: str, value: str) -> None:
        """Store a small value under a name."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (key, value))

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of pictures, of pictures with words, and of skipped files."""
        with database_errors(self.path):
            return tuple(
                self.db.execute(
                    "SELECT (SELECT count(*) FROM pictures WHERE gone=0),"
                    " (SELECT count(DISTINCT picture) FROM words JOIN pictures ON picture=id"
                    "  WHERE gone=0), (SELECT count(*) FROM skipped)"
                ).fetchone()
            )

    def problems(self) -> list[str]:
        """Return what SQLite finds wrong with the file."""
        try:
            rows = self.db.execute("PRAGMA integrity_check").fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as e:
            return [f"catalogue.sqlite3 cannot be read: {e}"]
        return [f"catalogue.sqlite3: {text}" for (text,) in rows if text != "ok"]

    def checkpoint(self) -> None:
        """Fold the write-ahead log into the file."""
        with database_errors(self.path):
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the file."""
        self.db.close()


def vectors_text(files: Iterable[VectorsFile]) -> str:
    """Return files of vectors as the text they are stored as."""
    return json.dumps([f.as_json() for f in files])
