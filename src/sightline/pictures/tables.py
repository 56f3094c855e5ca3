"""Tables of words: one file that gives words to many pictures.

Nothing here opens a picture or a path from the file. Words stay as they were written: separate
labels as labels, running text as text.
"""

from __future__ import annotations

import csv
import json
import os
import posixpath
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TextIO

from sightline.errors import DataError
from sightline.pictures._xmp import plain
from sightline.records import Tags, shown

MAX_WORDS_FILE = 512 << 20

_MAX_PROBLEMS = 1_000
_SNIFFED = 65_536
_PATH_NAMES = frozenset(("path", "file", "filepath", "filename", "image", "image_path"))
_WORDS_NAMES = frozenset(("words", "tags", "caption", "captions", "keywords", "text", "labels"))
# A column of this name has one label in each row; commas in it do not separate labels.
_LABEL_NAME = "word"
_PICTURE = re.compile(r"\.(jpe?g|png|gif|webp|tiff?|bmp|hei[cf]|avif)\s*$", re.IGNORECASE)
_DRIVE = re.compile(rb"[A-Za-z]:/")
_EXPECTED = (
    "Expected CSV or TSV with the header path,words (for example: trips/1.jpg,snow and trees), "
    'JSON lines such as {"path": "trips/1.jpg", "words": ["snow", "trees"]}, '
    "or COCO JSON with images and annotations."
)


@dataclass(frozen=True, slots=True)
class WordsFile:
    """The words one file gives to many pictures.

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


def read_words_file(path: Path | bytes, root: bytes) -> WordsFile:
    """Read a CSV, TSV, JSON lines or COCO file that gives words to pictures.

    Parameters
    ----------
    path : Path or bytes
        The words file.
    root : bytes
        The collection's folder. Paths in the file are relative to it or lie inside it.

    Returns
    -------
    WordsFile
        Words given as a list become labels, words given as a string become text. Rows that
        cannot be used, and paths outside the collection, are named in `problems`.

    Raises
    ------
    DataError
        The file cannot be opened, is too large, or is none of the known kinds.
    """
    name = os.fsencode(path)
    _check_size(name)
    builder = _Builder(shown(os.path.basename(name)), roots_of(root))
    try:
        with open(name, "rb") as raw:
            wide = raw.read(2) in (b"\xff\xfe", b"\xfe\xff")
        encoding, errors = ("utf-16", "replace") if wide else ("utf-8-sig", "surrogateescape")
        with open(name, encoding=encoding, errors=errors, newline="") as file:
            _read(file, os.path.splitext(name)[1].lower(), builder)
    except OSError as error:
        raise DataError(
            f"The words file {shown(name)} cannot be read: {error.strerror}. "
            "Check the name and the permissions."
        ) from error
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


@dataclass(slots=True)
class _Builder:
    """Collects the words and problems of a `WordsFile`."""

    name: str
    roots: tuple[bytes, ...]
    words: dict[bytes, tuple[dict[str, None], dict[str, None]]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unlisted: int = 0
    foreign: bool = False

    def problem(self, place: str, text: str) -> None:
        """Add a problem; after the first thousand they are only counted."""
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(f"{self.name}, {place}: {text}")
        else:
            self.unlisted += 1

    def add(self, place: str, written: object, words: object) -> None:
        """Add the words of one row, a string or a list of strings."""
        values = [words] if isinstance(words, str) else words
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            self.problem(place, f"words must be a string or a list of strings. Got {words!r:.60}.")
            return
        path = self._path(place, written)
        clean = [plain(self._readable(place, value)) for value in values]
        if path is not None and any(clean):
            labels, texts = self.words.setdefault(path, ({}, {}))
            target = texts if isinstance(words, str) else labels
            target.update((word, None) for word in clean if word)

    def add_record(self, place: str, record: object) -> None:
        """Add the words of one JSON object."""
        if not isinstance(record, dict):
            self.problem(place, f"expected an object with path and words. Got {record!r:.60}.")
            return
        paths = [value for key, value in record.items() if key.lower() in _PATH_NAMES]
        words = [value for key, value in record.items() if key.lower() in _WORDS_NAMES]
        if not paths or not words:
            self.problem(place, f"path or words is missing. Got {record!r:.60}.")
            return
        for value in words:
            self.add(place, paths[0], value)

    def _path(self, place: str, written: object) -> bytes | None:
        try:
            raw = written.encode("utf-8", "surrogateescape") if isinstance(written, str) else b""
        except UnicodeEncodeError:
            raw = b""
        path = inside_of(raw.strip(), self.roots)
        if path is None:
            self.problem(place, f"{written!r:.200} is not the path of a file in the collection.")
        return path

    def _readable(self, place: str, text: str) -> str:
        """Return text in which bytes that are not UTF-8 are read as Windows-1252."""
        if text.isascii():
            return text
        try:
            raw = text.encode("utf-8", "surrogateescape")
            return raw.decode("utf-8")
        except UnicodeEncodeError:
            return text
        except UnicodeDecodeError:
            if not self.foreign:
                self.foreign = True
                self.problem(place, "not UTF-8; words are read as Windows-1252, paths as they are.")
            return raw.decode("cp1252", "replace")

    def result(self) -> WordsFile:
        """Return the words and problems."""
        source = f"file:{self.name}"
        captions = {
            path: Tags(source, tuple(labels), "\n".join(texts))
            for path, (labels, texts) in self.words.items()
        }
        if self.unlisted:
            self.problems.append(f"{self.name}: {self.unlisted} more problems are not listed.")
        return WordsFile(captions, tuple(self.problems))


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


def _read(file: TextIO, ending: bytes, builder: _Builder) -> None:
    head = file.read(_SNIFFED)
    file.seek(0)
    if ending in (b".jsonl", b".ndjson"):
        _read_lines(file, builder)
    elif head.lstrip()[:1] in ("{", "["):
        _read_document(file, builder)
    else:
        _read_table(file, _layout(head, ending, builder.name), builder)


def _read_document(file: TextIO, builder: _Builder) -> None:
    try:
        document = json.load(file)
    except (ValueError, RecursionError):
        file.seek(0)
        _read_lines(file, builder)
        return
    if isinstance(document, dict) and "annotations" in document:
        _read_coco(document, builder)
        return
    for i, record in enumerate(document if isinstance(document, list) else [document]):
        builder.add_record(f"record {i + 1}", record)


def _read_lines(file: TextIO, builder: _Builder) -> None:
    readable = 0
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            builder.problem(f"line {number}", f"not JSON ({error}).")
            continue
        readable += isinstance(record, dict)
        builder.add_record(f"line {number}", record)
    if not readable:
        first = next(iter(builder.problems), "it is empty.")
        raise DataError(f"The words file {builder.name} is not readable: {first} {_EXPECTED}")


def _read_coco(document: dict[str, object], builder: _Builder) -> None:
    annotations = document["annotations"]
    if not isinstance(annotations, list) or not isinstance(document.get("images"), list):
        raise DataError(f"The words file {builder.name} lacks a list of images. {_EXPECTED}")
    files = _by_id(document["images"], "file_name")
    names = _by_id(document.get("categories"), "name")
    for i, row in enumerate(annotations):
        place = f"annotations[{i}]"
        fields = row if isinstance(row, dict) else {}
        file, name = _at(files, fields.get("image_id")), _at(names, fields.get("category_id"))
        if file is None:
            builder.problem(place, f"no image has the image_id. Got {row!r:.60}.")
        elif "caption" not in fields and name is None:
            builder.problem(place, f"neither a caption nor a known category. Got {row!r:.60}.")
        else:
            if "caption" in fields:
                builder.add(place, file, fields["caption"])
            if name is not None:
                builder.add(place, file, [name])


def _by_id(rows: object, key: str) -> dict[object, object]:
    listed = rows if isinstance(rows, list) else []
    good = (row for row in listed if isinstance(row, dict) and isinstance(row.get("id"), int | str))
    return {row["id"]: row.get(key) for row in good}


def _at(table: dict[object, object], key: object) -> object:
    return table.get(key) if isinstance(key, int | str) else None


class _Layout(NamedTuple):
    """Which columns of a table hold the path and the words."""

    delimiter: str
    path: int
    words: tuple[int, ...]
    headed: bool
    labels: tuple[int, ...] = ()


def _layout(head: str, ending: bytes, name: str) -> _Layout:
    line = next((line for line in head.splitlines() if line.strip()), "")
    delimiters = "\t" if ending in (b".tsv", b".tab") else "\t,;"
    for delimiter in delimiters:
        names = [cell.strip().lower() for cell in _cells(line, delimiter)]
        paths = [i for i, cell in enumerate(names) if cell in _PATH_NAMES]
        words = tuple(i for i, cell in enumerate(names) if cell in _WORDS_NAMES)
        labels = tuple(i for i, cell in enumerate(names) if cell == _LABEL_NAME)
        if paths and (words or labels):
            return _Layout(delimiter, paths[0], words, True, labels)
    for delimiter in delimiters:
        cells = _cells(line, delimiter)
        if len(cells) >= 2 and _PICTURE.search(cells[0]):
            return _Layout(delimiter, 0, (1,), False)
    raise DataError(f"The words file {name} starts with {line!r:.80}. {_EXPECTED}")


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _read_table(file: TextIO, layout: _Layout, builder: _Builder) -> None:
    for i, (place, row) in enumerate(_rows(file, layout.delimiter, builder)):
        if i == 0 and layout.headed:
            continue
        if len(row) <= max(layout.path, min(layout.words + layout.labels)):
            builder.problem(place, f"path or words is missing. Got {row!r:.60}.")
            continue
        for column in layout.words:
            builder.add(place, row[layout.path], "".join(row[column : column + 1]))
        for column in layout.labels:
            builder.add(place, row[layout.path], row[column : column + 1])


def _rows(file: TextIO, delimiter: str, builder: _Builder) -> Iterator[tuple[str, list[str]]]:
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
            builder.problem(place, f"{error}; a quote may have been left open.")
            continue
        # A row that ends only with the file has an open quote, and contains all rows after it.
        if ended:
            builder.problem(place, "a quote is opened here and never closed.")
        elif any(row):
            yield place, row
