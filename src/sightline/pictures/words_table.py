"""A table of words that was read: its rows by key, and what became of its cells.

Nothing here opens a picture or a path from the file. Words stay as they were written: labels as
labels, running text as text. Which picture a key names is for those to say who know the pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sightline.contracts import Json
from sightline.pictures._xmp import plain
from sightline.pictures.tally import ReasonCount, Tally, cut
from sightline.pictures.word_columns import (
    BY_NAME,
    ColumnRules,
    Kind,
    separator_of,
    split_cell,
)
from sightline.records import Tags

_UNREAD = 20


@dataclass(frozen=True, slots=True)
class WordsFile:
    """The words one file gives to many pictures, as a plugin's reader returns them.

    Attributes
    ----------
    captions : mapping of bytes to Tags
        Words by path relative to the collection, in the order of the file.
    problems : tuple of str
        What could not be used, with file name and line.
    """

    captions: Mapping[bytes, Tags]
    problems: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[tuple[bytes, Tags]]:
        return iter(self.captions.items())


@dataclass(frozen=True, slots=True)
class KeyedWords:
    """The words of a table by one of its key columns.

    Attributes
    ----------
    column : str
        The name of the key column.
    words : mapping of bytes to Tags
        Words by key as it is written, in the order of the file; rows of one key are joined.
    rows : mapping of bytes to int
        The number of rows of each key.
    empty : int
        The number of rows with words and without a key.
    """

    column: str
    words: Mapping[bytes, Tags]
    rows: Mapping[bytes, int]
    empty: int = 0


@dataclass(frozen=True, slots=True)
class WordColumn:
    """A column of words: its name, what it holds, how many cells, and what separates labels.

    `guessed` says that nobody named the column and its cells decided.
    """

    name: str
    kind: Kind
    cells: int
    words: int
    example: str = ""
    separator: str = ""
    guessed: bool = False

    def to_dict(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "name": self.name, "kind": self.kind, "cells": self.cells, "words": self.words,
            "example": self.example, "separator": self.separator, "guessed": self.guessed,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class WordsTable:
    """A table of words that was read.

    Attributes
    ----------
    name : str
        The name of the file.
    rows : int
        The number of rows with content, without the header.
    keyed : tuple of KeyedWords
        The words by each key column, the best name first.
    columns : tuple of WordColumn
        The columns that hold words.
    unread : tuple of str
        Columns that hold neither keys nor words.
    dropped : tuple of ReasonCount
        Rows that could not be used.
    ignored : tuple of ReasonCount
        Cells that could not be used, in rows of which the rest was.
    remarks : tuple of str
        What else is to be known of the reading, such as the encoding.
    exact : bool
        Keys are paths in the collection and nothing else.
    """

    name: str
    rows: int
    keyed: tuple[KeyedWords, ...]
    columns: tuple[WordColumn, ...] = ()
    unread: tuple[str, ...] = ()
    dropped: tuple[ReasonCount, ...] = ()
    ignored: tuple[ReasonCount, ...] = ()
    remarks: tuple[str, ...] = ()
    exact: bool = False

    @classmethod
    def of(cls, name: str, file: WordsFile) -> WordsTable:
        """Return the words that a plugin's reader found."""
        words = dict(file.captions)
        labels = sum(len(tags.tags) for tags in words.values())
        texts = sum(bool(tags.text) for tags in words.values())
        columns = [
            WordColumn("labels", "labels", sum(bool(t.tags) for t in words.values()), labels),
            WordColumn("text", "text", texts, texts),
        ]
        keyed = KeyedWords("path", words, dict.fromkeys(words, 1))
        remarks = file.problems
        return cls(name, len(words), (keyed,), tuple(c for c in columns if c.cells), (), (), (),
                   remarks, exact=True)  # fmt: skip

    def is_empty(self) -> bool:
        """Say whether no row has words."""
        return not any(k.words for k in self.keyed)


class _Row(NamedTuple):
    keys: tuple[bytes, ...]
    cells: tuple[tuple[int, str], ...]


@dataclass(slots=True)
class TableBuilder:
    """Collects the rows of a table; `result` divides its cells once all of them are known."""

    name: str
    rules: ColumnRules = BY_NAME
    keys: list[str] = field(default_factory=list)
    dropped: Tally = field(default_factory=Tally)
    ignored: Tally = field(default_factory=Tally)
    rows: int = 0
    remarks: list[str] = field(default_factory=list)
    _columns: dict[tuple[str, Kind], int] = field(default_factory=dict)
    _unread: dict[str, None] = field(default_factory=dict)
    _guessed: set[str] = field(default_factory=set)
    _rows: list[_Row] = field(default_factory=list)
    _foreign: int = 0

    def drop(self, kind: str, reason: str, example: str) -> None:
        """Count a row that was added and cannot be used."""
        self.dropped.add(kind, reason, example)

    def ignore(self, kind: str, reason: str, example: str) -> None:
        """Count a cell that cannot be used."""
        self.ignored.add(kind, reason, example)

    def column(self, name: str, kind: Kind, *, guessed: bool = False) -> int:
        """Return the number of a column of words."""
        if guessed:
            self._guessed.add(name)
        return self._columns.setdefault((name, kind), len(self._columns))

    def leave_unread(self, name: str) -> None:
        """Note a column that holds neither keys nor words."""
        self._unread[name] = None

    def add(self, place: str, keys: Sequence[str], cells: Sequence[tuple[int, str]]) -> None:
        """Add a row: its keys in the order of `self.keys`, and its cells by column."""
        self.rows += 1
        readable = tuple((n, text) for n, cell in cells if (text := plain(self._readable(cell))))
        if not readable:
            self.drop("no-words", "no words in the row", place)
            return
        self._rows.append(_Row(tuple(_bytes(key) for key in keys), readable))

    def reject(self, place: str, kind: str, reason: str) -> None:
        """Count a row that cannot be used at all."""
        self.rows += 1
        self.drop(kind, reason, place)

    def _readable(self, text: str) -> str:
        """Return text in which bytes that are not UTF-8 are read as Windows-1252."""
        if text.isascii():
            return text
        try:
            raw = text.encode("utf-8", "surrogateescape")
            return raw.decode("utf-8")
        except UnicodeEncodeError:
            return text
        except UnicodeDecodeError:
            self._foreign += 1
            return raw.decode("cp1252", "replace")

    def result(self) -> WordsTable:
        """Return the words by each key column, and what became of the cells."""
        names = list(self._columns)
        separators = [self._separator(n, kind) for n, (_, kind) in enumerate(names)]
        keyed = [_Keyed(column) for column in self.keys]
        counted = [_CellCount() for _ in names]
        for row in self._rows:
            labels: list[str] = []
            texts: list[str] = []
            for n, cell in row.cells:
                kind = names[n][1]
                words = _words(cell, kind, separators[n])
                counted[n].add(words)
                (texts if kind == "text" else labels).extend(words)
            if not any(row.keys):
                self.drop("no-key", "no picture is named", (labels + texts or ["?"])[0])
                continue
            added = [k.add(key, labels, texts) for k, key in zip(keyed, row.keys, strict=True)]
            if not any(added):
                self.drop("repeated", "the same words for the same picture again", _shown(row))
                continue
            for k, key in zip(keyed, row.keys, strict=True):
                k.count(key)
        if self._foreign:
            self.remarks.append(
                f"{self._foreign:,} cells are not UTF-8 and are read as Windows-1252"
            )
        source = f"file:{self.name}"
        return WordsTable(
            self.name, self.rows, tuple(k.result(source) for k in keyed),
            tuple(
                WordColumn(name, kind, c.cells, c.words, c.example, separators[n],
                           name in self._guessed)
                for n, ((name, kind), c) in enumerate(zip(names, counted, strict=True))
            ),
            tuple(self._unread)[:_UNREAD], self.dropped.counts(), self.ignored.counts(),
            tuple(self.remarks),
        )  # fmt: skip

    def _separator(self, column: int, kind: Kind) -> str:
        if kind != "labels":
            return ""
        cells = (cell for row in self._rows for n, cell in row.cells if n == column)
        return self.rules.separator or separator_of(cells)


@dataclass(slots=True)
class _CellCount:
    cells: int = 0
    words: int = 0
    example: str = ""

    def add(self, words: Sequence[str]) -> None:
        self.cells += 1
        self.words += len(words)
        self.example = self.example or cut(words[0], 60) if words else self.example


@dataclass(slots=True)
class _Keyed:
    column: str
    words: dict[bytes, tuple[dict[str, None], dict[str, None]]] = field(default_factory=dict)
    rows: dict[bytes, int] = field(default_factory=dict)
    empty: int = 0

    def add(self, key: bytes, labels: Sequence[str], texts: Sequence[str]) -> bool:
        """Add the words of a row; return whether the key had not all of them."""
        if not key:
            return False
        old_labels, old_texts = self.words.setdefault(key, ({}, {}))
        before = len(old_labels) + len(old_texts)
        old_labels.update(dict.fromkeys(labels))
        old_texts.update(dict.fromkeys(texts))
        return len(old_labels) + len(old_texts) > before

    def count(self, key: bytes) -> None:
        """Count a row that was added."""
        if key:
            self.rows[key] = self.rows.get(key, 0) + 1
        else:
            self.empty += 1

    def result(self, source: str) -> KeyedWords:
        words = {
            key: Tags(source, tuple(labels), "\n".join(texts))
            for key, (labels, texts) in self.words.items()
        }
        return KeyedWords(self.column, words, self.rows, self.empty)


def _words(cell: str, kind: Kind, separator: str) -> tuple[str, ...]:
    if kind == "labels":
        return tuple(split_cell(cell, separator))
    return (cell,)


def _bytes(key: str) -> bytes:
    try:
        return key.encode("utf-8", "surrogateescape") if key.strip() else b""
    except UnicodeEncodeError:
        return b""


def _shown(row: _Row) -> str:
    return next(key for key in row.keys if key).decode("utf-8", "replace")
