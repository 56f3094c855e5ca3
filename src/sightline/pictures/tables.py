"""Reading tables of words: CSV in its many forms, JSON lines, COCO.

Columns of labels and of running text are told apart by their names (`word_columns`), the column
that names the picture by `key_columns`. Every row is read or counted with the reason why not.
"""

from __future__ import annotations

import csv
import os
import posixpath
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from sightline.errors import DataError
from sightline.pictures.json_tables import read_document, read_lines
from sightline.pictures.key_columns import is_key, listed, preference
from sightline.pictures.word_columns import BY_NAME, ColumnRules, Kind, plain_name, reads_as_text
from sightline.pictures.words_table import TableBuilder, WordsFile, WordsTable
from sightline.records import shown

__all__ = ["MAX_WORDS_FILE", "WordsFile", "inside_of", "read_words_file", "roots_of"]

MAX_WORDS_FILE = 512 << 20

_SNIFFED = 65_536
_PICTURE = re.compile(r"\.(jpe?g|png|gif|webp|tiff?|bmp|hei[cf]|avif)\s*$", re.IGNORECASE)
_DRIVE = re.compile(rb"[A-Za-z]:/")
# The first line with which spreadsheets name the delimiter.
_SEPARATOR_LINE = re.compile(r"sep=(.)", re.IGNORECASE)
_EXPECTED = (
    "Expected CSV or TSV with a header such as path,tags,caption (for example: trips/1.jpg,"
    '"snow, trees",A walk in the snow), JSON lines such as {"path": "trips/1.jpg", '
    '"tags": ["snow", "trees"]}, or COCO JSON with images and annotations.'
)


def read_words_file(
    path: Path | bytes, root: bytes = b"", rules: ColumnRules = BY_NAME
) -> WordsTable:
    """Read a CSV, TSV, JSON lines or COCO file that gives words to pictures.

    Parameters
    ----------
    path : Path or bytes
        The words file.
    root : bytes, default=b""
        The collection's folder, which readers of plugins are given; keys stay as they are written.
    rules : ColumnRules, optional
        What the owner says about its columns.

    Returns
    -------
    WordsTable
        The words by key, and the rows and cells that cannot be used, counted by reason.

    Raises
    ------
    DataError
        The file cannot be opened, is too large, has no row, is none of the known kinds, or has no
        column of a name in `rules`.
    """
    name = os.fsencode(path)
    _check_size(name)
    builder = TableBuilder(shown(os.path.basename(name)), rules)
    try:
        with open(name, "rb") as raw:
            encoding = _encoding(raw.read(_SNIFFED))
        errors = "replace" if encoding.startswith("utf-16") else "surrogateescape"
        with open(name, encoding=encoding, errors=errors, newline="") as file:
            _read(file, os.path.splitext(name)[1].lower(), builder)
    except OSError as error:
        raise DataError(
            f"The words file {shown(name)} cannot be read: {error.strerror}. "
            "Check the name and the permissions."
        ) from error
    if not builder.rows:
        raise DataError(
            f"The words file {builder.name} has a header and no row below it. Add rows, or stop "
            "reading it with --forget-words."
        )
    return builder.result()


def _check_size(name: bytes) -> None:
    try:
        about = os.stat(name)
    except (OSError, ValueError) as error:
        raise DataError(
            f"There is no words file {shown(name)} that can be read ({error}). Check the name."
        ) from error
    if not stat.S_ISREG(about.st_mode):
        raise DataError(f"The words file {shown(name)} is not a file. {_EXPECTED}")
    if about.st_size > MAX_WORDS_FILE:
        raise DataError(
            f"The words file {shown(name)} has {about.st_size} bytes; at most {MAX_WORDS_FILE} "
            "are read. Split it into several files."
        )


def _encoding(head: bytes) -> str:
    r"""Return the encoding of a file: UTF-16 by its mark or its zero bytes, else UTF-8.

    >>> _encoding("path,tags".encode("utf-16-le")), _encoding(b"path,tags")
    ('utf-16-le', 'utf-8-sig')
    """
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    # In UTF-16 every second byte of the separators, which no text lacks, is zero.
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if 4 * max(even, odd) > len(head):
        return "utf-16-be" if even > odd else "utf-16-le"
    return "utf-8-sig"


def roots_of(root: bytes) -> tuple[bytes, ...]:
    """Return the folders with which absolute paths inside a collection may begin."""
    # The file may name the folder itself or, where that is a link, the folder behind it.
    places = (os.path.normpath(root), os.path.realpath(root))
    return tuple(place.rstrip(b"/") + b"/" for place in places if place.startswith(b"/"))


def inside_of(path: bytes, roots: tuple[bytes, ...]) -> bytes | None:
    """Return a written path relative to the collection, or None if it is outside."""
    path = path.replace(b"\\", b"/")
    if b"\0" in path or _DRIVE.match(path):
        return None
    if path.startswith(b"/"):
        path = posixpath.normpath(b"/" + path.lstrip(b"/"))
        root = next((root for root in roots if path.startswith(root)), None)
        return path[len(root) :] if root else None
    path = posixpath.normpath(path)
    return None if path in (b".", b"..") or path.startswith(b"../") else path


def _read(file: TextIO, ending: bytes, builder: TableBuilder) -> None:
    head = file.read(_SNIFFED)
    file.seek(0)
    if not head.strip("\ufeff\0 \t\r\n"):
        raise DataError(f"The words file {builder.name} is empty. {_EXPECTED}")
    if ending in (b".jsonl", b".ndjson"):
        read_lines(file, builder, _EXPECTED)
    elif head.lstrip()[:1] in ("{", "["):
        read_document(file, builder, _EXPECTED)
    else:
        _read_table(file, _layout(head, ending, builder), builder)


class _Column(NamedTuple):
    place: int
    name: str
    kind: Kind = ""


class _Layout(NamedTuple):
    """Which columns of a table hold keys and words; `width` cells are in the header."""

    delimiter: str
    keys: tuple[_Column, ...]
    words: tuple[_Column, ...]
    width: int
    skipped_lines: int
    guessed: bool = False


def _layout(head: str, ending: bytes, builder: TableBuilder) -> _Layout:
    lines = [line for line in head.splitlines() if line.strip()]
    delimiters = "\t" if ending in (b".tsv", b".tab") else "\t,;|"
    skipped_lines = 0
    if named := _SEPARATOR_LINE.fullmatch(lines[0].strip()):
        delimiters, skipped_lines, lines = named[1], 1, lines[1:] or [""]
    headers = [(d, [c.strip() for c in _cells(lines[0], d)]) for d in delimiters]
    layouts = [_by_header(d, h, builder.rules, skipped_lines + 1) for d, h in headers]
    good = [x for x in layouts if x.keys and x.words]
    if good:
        layout = max(good, key=lambda x: len(x.keys) + len(x.words))
        header = dict(headers)[layout.delimiter]
        _check_named(header, layout, builder)
        _note_header(header, layout, builder)
        return layout
    for d, cells in headers:
        if len(cells) >= 2 and _PICTURE.search(cells[0]):
            return _without_header(lines, d, skipped_lines, builder)
    raise _no_columns(builder, lines[0], max(layouts, key=lambda x: x.width), dict(headers))


def _by_header(delimiter: str, header: list[str], rules: ColumnRules, skipped: int) -> _Layout:
    wanted = plain_name(rules.key_column)
    keys: dict[str, _Column] = {}
    words = []
    for i, name in enumerate(header):
        kind = rules.kind_of(name)
        if wanted and plain_name(name) == wanted:
            keys.setdefault(name, _Column(i, name))
        elif kind:
            words.append(_Column(i, name, kind))
        elif not wanted and is_key(name):
            keys.setdefault(name, _Column(i, name))
    preferred = tuple(sorted(keys.values(), key=lambda c: preference(c.name)))
    return _Layout(delimiter, preferred, tuple(words), len(header), skipped)


def _check_named(header: list[str], layout: _Layout, builder: TableBuilder) -> None:
    names = {plain_name(name) for name in header}
    missing = [c for c in builder.rules.named() if plain_name(c) not in names]
    if missing:
        raise DataError(
            f"{builder.name} has no column {missing[0]!r:.60}. Its columns: {listed(header)}."
        )


def _note_header(header: list[str], layout: _Layout, builder: TableBuilder) -> None:
    used = {c.place for c in (*layout.keys, *layout.words)}
    for i, name in enumerate(header):
        if i not in used and name:
            builder.leave_unread(name)
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        what = "all of them are read" if {c.name for c in layout.words} & {*twice} else "see above"
        builder.remarks.append(f"the header has {listed(twice)} more than once: {what}")


def _without_header(
    lines: list[str], delimiter: str, skipped: int, builder: TableBuilder
) -> _Layout:
    """Return the layout of a table whose first row is a picture: its columns are 1 and 2."""
    if builder.rules.key_column:
        raise DataError(f"{builder.name} has no header, so no column {builder.rules.key_column!r}.")
    name, rules = "2", builder.rules
    kind = rules.kind_of(name)
    guessed = not kind
    if guessed:
        second = [cells[1] for cells in (_cells(line, delimiter) for line in lines) if cells[1:]]
        kind = "text" if reads_as_text(second) else "labels"
        other = "--labels-in 2" if kind == "text" else "--text-in 2"
        builder.remarks.append(f"no header: column 2 reads as {kind} ({other} changes that)")
    return _Layout(delimiter, (_Column(0, "1"),), (_Column(1, name, kind),), 2, skipped, guessed)


def _no_columns(
    builder: TableBuilder, line: str, widest: _Layout, headers: dict[str, list[str]]
) -> DataError:
    names = headers[widest.delimiter]
    start = f"The words file {builder.name} starts with {line!r:.80}. "
    if widest.width < 2:
        return DataError(start + _EXPECTED)
    lacking = []
    if not widest.keys:
        lacking.append("No column names the picture; name it with --key-column.")
    if not widest.words:
        lacking.append("No column holds words; name some with --labels-in or --text-in.")
    return DataError(f"{start}Its columns: {listed(names)}. {' '.join(lacking)} {_EXPECTED}")


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _read_table(file: TextIO, layout: _Layout, builder: TableBuilder) -> None:
    builder.keys = [c.name for c in layout.keys]
    columns = [
        (c.place, builder.column(c.name, c.kind, guessed=layout.guessed)) for c in layout.words
    ]
    for i, (place, row) in enumerate(_rows(file, layout.delimiter, builder)):
        if i < layout.skipped_lines:
            continue
        cells = _fitted(row, layout)
        if cells is None:
            reason = f"more cells than the header; quote a cell that holds {layout.delimiter!r}"
            builder.reject(f"{place}: {row!r:.60}", "too-many-cells", reason)
            continue
        keys = [cells[c.place] for c in layout.keys]
        if not any(key.strip() for key in keys):
            builder.reject(place, "no-key", "no picture is named")
        else:
            builder.add(place, keys, [(n, cells[at]) for at, n in columns])


def _fitted(row: Sequence[str], layout: _Layout) -> list[str] | None:
    """Return the cells of a row, as many as the header has; None if it has more.

    In a table of two columns, what is too much can only belong to the words.
    """
    cells = list(row)
    while len(cells) > layout.width and not cells[-1].strip():
        cells.pop()
    if len(cells) > layout.width:
        if layout.width != 2 or layout.keys[0].place:
            return None
        cells = [cells[0], layout.delimiter.join(cells[1:])]
    return cells + [""] * (layout.width - len(cells))


def _rows(file: TextIO, delimiter: str, builder: TableBuilder) -> Iterator[tuple[str, list[str]]]:
    """Yield place and cells of every row that is not blank."""
    ended: list[bool] = []

    def lines() -> Iterator[str]:
        yield from file
        ended.append(True)

    reader = csv.reader(lines(), delimiter=delimiter)
    while True:
        place = f"line {reader.line_num + 1}"
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            longest = csv.field_size_limit()
            reason = f"a cell of more than {longest:,} characters; a quote may have been left open"
            builder.reject(f"{place}: {error}", "huge-cell", reason)
            continue
        # A row that ends only with the file has an open quote, and contains all rows after it.
        if ended:
            builder.reject(
                f"{place} to line {reader.line_num}",
                "open-quote",
                "a quote is opened and never closed",
            )
        elif any(cell.strip() for cell in row):
            yield place, row
