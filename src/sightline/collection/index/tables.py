"""Tables of words: which picture each row belongs to, and what became of all rows.

A key is a path from the collection, an absolute path, one from the table's folder, or failing that
a file name or the end of a path that one picture alone has. A key whose folder contradicts that of
the picture is not matched by its file name: numbered files are often called alike.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sightline import plugins
from sightline.collection.index.assignment import Matched, match_keys
from sightline.contracts import Json
from sightline.errors import DataError, SightlineError
from sightline.pictures.tables import WordsFile, read_words_file
from sightline.pictures.tally import ReasonCount, Tally, cut
from sightline.pictures.word_columns import BY_NAME, ColumnRules
from sightline.pictures.words_table import KeyedWords, WordColumn, WordsTable
from sightline.records import Tags, shown
from sightline.store.catalogue import Catalogue

# Increased when the rules of reading tables change; stores of earlier releases have none.
RULES_VERSION = 2


@dataclass(frozen=True, slots=True)
class WordChanges:
    """How the words that a table gives to pictures known before differ from the last reading."""

    gained: int = 0
    changed: int = 0
    lost: int = 0
    example: str = ""

    def to_dict(self) -> dict[str, Json]:
        """Return the counts as JSON."""
        return {
            "gained": self.gained, "changed": self.changed, "lost": self.lost,
            "example": self.example,
        }  # fmt: skip

    def __str__(self) -> str:
        parts = (("gained", self.gained), ("changed", self.changed), ("lost", self.lost))
        counts = ", ".join(f"{n:,} {name}" for name, n in parts if n)
        return f"words of pictures known before: {counts}" + (
            f" (such as {self.example})" if self.example else ""
        )


@dataclass(frozen=True, slots=True)
class TableReport:
    """What was read in a table of words: `rows` is matched + unmatched + those dropped.

    Attributes
    ----------
    path, name : str
        The file.
    key_column : str
        The column that names pictures.
    rows, matched, pictures : int
        Rows with content, those that belong to a picture, and the pictures they belong to.
    by_name : int
        Rows among `matched` that name a picture by its file name alone.
    unmatched : ReasonCount
        Rows that name no picture here.
    columns : tuple of WordColumn
        The columns of words, and what was read in them.
    unread : tuple of str
        Columns that hold neither keys nor words.
    dropped, ignored : tuple of ReasonCount
        Rows that were not used, and cells of other rows.
    remarks : tuple of str
        What else is to be known of the reading.
    changes : WordChanges
        How pictures known before have other words now.
    """

    path: str
    name: str
    key_column: str
    rows: int
    matched: int
    pictures: int
    by_name: int
    unmatched: ReasonCount
    columns: tuple[WordColumn, ...]
    unread: tuple[str, ...] = ()
    dropped: tuple[ReasonCount, ...] = ()
    ignored: tuple[ReasonCount, ...] = ()
    remarks: tuple[str, ...] = ()
    changes: WordChanges = field(default_factory=WordChanges)

    @property
    def label_cells(self) -> int:
        """The number of cells that were read as labels."""
        return sum(c.cells for c in self.columns if c.kind != "text")

    @property
    def text_cells(self) -> int:
        """The number of cells that were read as running text."""
        return sum(c.cells for c in self.columns if c.kind == "text")

    def summary(self) -> str:
        """Return all counts in one line."""
        by_name = f", {self.by_name:,} of them by file name alone" if self.by_name else ""
        parts = [
            f"{self.matched:,} of {_some(self.rows, 'row')} matched to "
            f"{_some(self.pictures, 'picture')} by column {self.key_column!r}{by_name}"
            if self.key_column
            else f"{self.matched:,} of {_some(self.rows, 'row')} matched",
            f"{_some(self.label_cells, 'cell')} read as labels{self._columns('labels')}, "
            f"{self.text_cells:,} as text{self._columns('text')}",
        ]
        if self.unmatched.count:
            parts.append(
                f"{_some(self.unmatched.count, 'row')} not matched, such as "
                + ", ".join(self.unmatched.examples)
            )
        if self.dropped:
            dropped = "; ".join(map(str, self.dropped))
            parts.append(f"{_some(sum(d.count for d in self.dropped), 'row')} dropped ({dropped})")
        if self.ignored:
            parts.append(f"cells not used ({'; '.join(map(str, self.ignored))})")
        if self.unread:
            parts.append(f"columns not read: {', '.join(self.unread)}")
        parts += self.remarks
        if any((self.changes.gained, self.changes.changed, self.changes.lost)):
            parts.append(str(self.changes))
        return f"{self.name}: {'; '.join(parts)}."

    def _columns(self, kind: str) -> str:
        same = [c for c in self.columns if (c.kind == "text") == (kind == "text")]
        names = dict.fromkeys(
            f"{c.name} divided at {c.separator}" if c.separator in (";", "|") else c.name
            for c in same
        )
        return f" ({', '.join(names)})" if names else ""

    def to_dict(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "path": self.path, "name": self.name, "key_column": self.key_column,
            "rows": self.rows, "matched": self.matched, "pictures": self.pictures,
            "by_name": self.by_name, "unmatched": self.unmatched.to_dict(),
            "label_cells": self.label_cells, "text_cells": self.text_cells,
            "columns": [c.to_dict() for c in self.columns], "unread": list[Json](self.unread),
            "dropped": [d.to_dict() for d in self.dropped],
            "ignored": [d.to_dict() for d in self.ignored],
            "remarks": list[Json](self.remarks), "changes": self.changes.to_dict(),
            "summary": self.summary(),
        }  # fmt: skip


def _some(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


@dataclass(frozen=True, slots=True)
class MatchedTable:
    """The words of a table by the pictures of the collection, and the report on them."""

    words: Mapping[bytes, Tags]
    report: TableReport


def match_table(
    table: WordsTable, path: str, pictures: Mapping[bytes, int], root: bytes
) -> MatchedTable:
    """Give the rows of a table to pictures, by the key column that matches most of them."""
    folder = os.path.dirname(os.fsencode(path))
    best: _Assigned | None = None
    for keyed in table.keyed:
        assigned = _assign(keyed, pictures, root, folder, table.exact)
        if best is None or assigned.matched > best.matched:
            best = assigned
        if best.matched == sum(keyed.rows.values()):
            break
    assert best is not None, "a table has a key column"
    dropped = Tally()
    for d in table.dropped:
        dropped.add(d.kind, d.reason, *d.examples, times=d.count)
    if best.keyed.empty:
        reason = f"no picture is named in column {best.keyed.column!r}"
        dropped.add("no-key", reason, times=best.keyed.empty)
    for key, n in best.unclear:
        dropped.add("unclear", "the file name fits several pictures or rows", shown(key), times=n)
    report = TableReport(
        path, table.name, best.keyed.column, table.rows, best.matched, len(best.words),
        best.by_name, best.unmatched, table.columns, table.unread, dropped.counts(),
        table.ignored, table.remarks,
    )  # fmt: skip
    return MatchedTable(best.words, report)


@dataclass(frozen=True, slots=True)
class _Assigned:
    keyed: KeyedWords
    words: dict[bytes, Tags]
    matched: int
    by_name: int
    unmatched: ReasonCount
    unclear: list[tuple[bytes, int]]


def _assign(
    keyed: KeyedWords, pictures: Mapping[bytes, int], root: bytes, folder: bytes, exact: bool
) -> _Assigned:
    written = list(keyed.words)
    keys = [_readable_key(key, pictures) for key in written]
    matched = _exactly(keys, pictures) if exact else match_keys(keys, pictures, root, folder)
    path_of = {picture: path for path, picture in pictures.items()}
    pairs = {row: picture for picture, row in matched.rows.items()} | matched.repeated
    by_name = [r for r in matched.by_name if _agree(keys[r], path_of[pairs[r]])]
    for row in set(matched.by_name) - set(by_name):
        del pairs[row]
    words: dict[bytes, Tags] = {}
    rows = 0
    for row in sorted(pairs):
        path, tags = path_of[pairs[row]], keyed.words[written[row]]
        words[path] = _joined(words[path], tags) if path in words else tags
        rows += keyed.rows[written[row]]
    unclear = {row for row in matched.unclear if row not in pairs}
    tally = Tally()
    for row, key in enumerate(written):
        if row not in pairs and row not in unclear:
            tally.add("unmatched", "no picture here", shown(key), times=keyed.rows[key])
    unmatched = next(iter(tally.counts()), ReasonCount("unmatched", "no picture here", 0))
    return _Assigned(
        keyed, words, rows, sum(keyed.rows[written[r]] for r in by_name), unmatched,
        [(written[row], keyed.rows[written[row]]) for row in sorted(unclear)],
    )  # fmt: skip


def _exactly(keys: Sequence[bytes], pictures: Mapping[bytes, int]) -> Matched:
    rows = {pictures[key]: row for row, key in enumerate(keys) if key in pictures}
    return Matched(rows, lost=[row for row, key in enumerate(keys) if key not in pictures])


def _readable_key(key: bytes, pictures: Mapping[bytes, int]) -> bytes:
    """Return a key in UTF-8 if it is in Windows-1252 and no picture has these bytes as a path."""
    if key in pictures:
        return key
    try:
        key.decode("utf-8")
    except UnicodeDecodeError:
        return key.decode("cp1252", "replace").encode()
    return key


def _agree(key: bytes, path: bytes) -> bool:
    """Say whether the folders of a key and of a picture with its file name may be the same.

    >>> _agree(b"trips/1.jpg", b"2024/trips/1.jpg"), _agree(b"1.jpg", b"trips/1.jpg")
    (True, True)
    >>> _agree(b"train/1.jpg", b"val/1.jpg"), _agree(b"https://a.org/x/1.jpg", b"val/1.jpg")
    (False, True)
    """
    if b"://" in key:
        return True
    ours = [part for part in path.split(b"/")[:-1] if part][::-1]
    theirs = [p for p in key.replace(b"\\", b"/").split(b"/")[:-1] if p not in (b"", b".")][::-1]
    return all(a == b for a, b in zip(ours, theirs, strict=False))


def _joined(first: Tags, second: Tags) -> Tags:
    texts = dict.fromkeys(t for t in (first.text, second.text) if t)
    return Tags(first.source, tuple(dict.fromkeys((*first.tags, *second.tags))), "\n".join(texts))


class WordFiles:
    """The files with words for many pictures, read once in a run and matched to its pictures.

    `failed` are the sources of files that could not be read: their previous words stay.
    """

    def __init__(
        self,
        paths: Sequence[str],
        root: bytes,
        rules: Mapping[str, ColumnRules],
        present: Iterable[bytes],
    ) -> None:
        self.problems: list[str] = []
        self.failed: set[str] = set()
        self._tables: list[MatchedTable] = []
        pictures = {path: i for i, path in enumerate(sorted(present))} if paths else {}
        for text in paths:
            try:
                table = read_table(text, root, rules.get(text, BY_NAME))
            except (SightlineError, OSError) as e:
                self.failed.add(source_of(text))
                self.problems.append(
                    f"{text}: {e} Its previous words stay; "
                    f"to drop it: sightline index --forget-words {text}"
                )
                continue
            self._tables.append(match_table(table, text, pictures, root))

    def of(self, path: bytes) -> list[Tags]:
        """Return the words that the files have for a picture."""
        return [t.words[path] for t in self._tables if path in t.words]

    @property
    def depend_on_all(self) -> bool:
        """Whether a picture's words may change because another picture came or went."""
        return any(
            t.report.by_name or any(d.kind == "unclear" for d in t.report.dropped)
            for t in self._tables
        )

    def by_earlier_rules(self) -> list[str]:
        """Return a message for each table that is read for new pictures alone."""
        return [
            f"{t.report.name}: pictures indexed before keep the words that an earlier release read "
            f"from it. To read it again for all: sightline index --words {t.report.path}"
            for t in self._tables
        ]

    def reports(self, changes: Mapping[str, WordChanges]) -> tuple[TableReport, ...]:
        """Return the report on each file that was read; `changes` are by source."""
        none = WordChanges()
        return tuple(
            replace(t.report, changes=changes.get(source_of(t.report.path), none))
            for t in self._tables
        )


class ChangeCounter:
    """Counts pictures whose words of a source are others than before."""

    def __init__(self) -> None:
        self._of: dict[str, WordChanges] = {}

    def add(self, path: bytes, old: Mapping[str, Tags], new: Mapping[str, Tags]) -> None:
        """Compare the words of a picture, by source."""
        for source in sorted({s for s in (*old, *new) if s.startswith("file:")}):
            before, after = old.get(source), new.get(source)
            if before == after:
                continue
            c = self._of.get(source, WordChanges())
            if before is None:
                c = replace(c, gained=c.gained + 1)
            elif after is None:
                c = replace(c, lost=c.lost + 1)
            else:
                example = c.example or f"{shown(path)}: {_kinds(before)}, now {_kinds(after)}"
                c = replace(c, changed=c.changed + 1, example=example)
            self._of[source] = c

    def by_source(self) -> dict[str, WordChanges]:
        """Return the counts."""
        return dict(self._of)


def _kinds(tags: Tags) -> str:
    parts = []
    if tags.tags:
        parts.append(f"labels “{cut(' · '.join(tags.tags), 60)}”")
    if tags.text:
        parts.append(f"text “{cut(tags.text, 60)}”")
    return " and ".join(parts) or "nothing"


def read_table(text: str, root: bytes, rules: ColumnRules = BY_NAME) -> WordsTable:
    """Read a file with words for many pictures by the reader its ending asks for."""
    path = text.encode("utf-8", "surrogateescape")
    ending = Path(os.fsdecode(path)).suffix.lower()
    reader: Callable[..., WordsFile | WordsTable] = plugins.load("word_files", ending)
    if reader is read_words_file:
        return read_words_file(path, root, rules)
    if rules != BY_NAME:
        raise DataError(f"The reader of {ending} files takes no columns. Name the file without.")
    file = reader(path, root)
    return file if isinstance(file, WordsTable) else WordsTable.of(os.path.basename(text), file)


def remembered_rules(catalogue: Catalogue) -> dict[str, ColumnRules]:
    """Return what the owner said about the columns of tables, by path."""
    return {p: ColumnRules.from_dict(c) for p, c in catalogue.words_columns().items()}


def effective_rules(
    known: Mapping[str, ColumnRules], tables: Sequence[str], rules: ColumnRules
) -> dict[str, ColumnRules]:
    """Return the rules by path: the new ones for `tables`, if any, else the known ones."""
    return {**known, **(dict.fromkeys(tables, rules) if rules != BY_NAME else {})}


def source_of(text: str) -> str:
    """Return the source of the words of a table."""
    return f"file:{shown(os.path.basename(text.encode('utf-8', 'surrogateescape')))}"


def stamp(paths: Sequence[str], rules: Mapping[str, ColumnRules], folders: bool) -> str:
    """Return size, time and rules of tables, and whether folders count, as one comparable text."""
    lines = [f"folders:{folders}"]
    for text in paths:
        try:
            s = os.stat(text.encode("utf-8", "surrogateescape"))
            lines.append(f"{text}:{s.st_size}:{s.st_mtime_ns}")
        except OSError:
            lines.append(f"{text}:missing")
        if rules.get(text, BY_NAME) != BY_NAME:
            lines.append(f"{rules[text]}")
    return "\n".join(lines)
