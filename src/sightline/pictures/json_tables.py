"""Words of many pictures as JSON: a record for each picture, or a COCO document.

A field is read like a column of a table: its name says whether it holds labels or running text. A
list in a field of labels has one label in each place, as it is; a list of text several sentences.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TextIO

from sightline.errors import DataError
from sightline.pictures.key_columns import is_key, preference
from sightline.pictures.word_columns import Kind, plain_name
from sightline.pictures.words_table import TableBuilder

_FILE_NAME, _CATEGORY, _CAPTION = "file_name", "category", "caption"


def read_document(file: TextIO, builder: TableBuilder, expected: str) -> None:
    """Read a file with one JSON value: records, or COCO; failing that, JSON lines."""
    try:
        document = json.load(file)
    except (ValueError, RecursionError):
        file.seek(0)
        read_lines(file, builder, expected)
        return
    if isinstance(document, dict) and "annotations" in document:
        _read_coco(document, builder, expected)
        return
    records = _Records(builder)
    for i, record in enumerate(document if isinstance(document, list) else [document]):
        records.add(f"record {i + 1}", record)
    records.finish(expected)


def read_lines(file: TextIO, builder: TableBuilder, expected: str) -> None:
    """Read JSON lines."""
    records = _Records(builder)
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            builder.reject(f"line {number}: {error}", "no-json", "the line is not JSON")
            continue
        records.add(f"line {number}", record)
    records.finish(expected)


@dataclass(slots=True)
class _Records:
    """Reads records whose keys and fields become known one by one."""

    builder: TableBuilder
    rows: list[tuple[str, dict[str, str], list[tuple[int, str]]]] = field(default_factory=list)
    keys: dict[str, None] = field(default_factory=dict)
    fields: dict[str, Kind] = field(default_factory=dict)

    def add(self, place: str, record: object) -> None:
        """Add a record."""
        if not isinstance(record, dict):
            got = f"{place}: {record!r:.60}"
            self.builder.reject(got, "no-record", "not an object with a path and words")
            return
        keys: dict[str, str] = {}
        cells: list[tuple[int, str]] = []
        for name, value in record.items():
            kind = self._kind(name)
            if kind:
                cells += self._cells(place, name, kind, value)
            elif self._is_key(name):
                keys[name] = str(value) if isinstance(value, str | int) else ""
                self.keys[name] = None
            else:
                self.builder.leave_unread(name)
        self.rows.append((place, keys, cells))

    def finish(self, expected: str) -> None:
        """Hand the rows to the builder, once all keys are known."""
        rules, name = self.builder.rules, self.builder.name
        known = {plain_name(f) for f in (*self.fields, *self.keys)}
        wanted = (*rules.named(), *([rules.key_column] if rules.key_column else []))
        missing = [c for c in wanted if plain_name(c) not in known]
        if self.rows and missing:
            raise DataError(f"{name} has no field {missing[0]!r:.60}. Check its spelling.")
        if not self.keys or not any(self.fields.values()):
            lacking = "path" if self.rows and not self.keys else "words"
            first = next((str(c) for c in self.builder.dropped.counts()), "")
            why = first or (f"no record has a field of {lacking}" if self.rows else "it is empty")
            raise DataError(f"The words file {name} is not readable: {why}. {expected}")
        self.builder.keys = sorted(self.keys, key=preference)
        for place, keys, cells in self.rows:
            written = [keys.get(key, "") for key in self.builder.keys]
            if not any(written):
                self.builder.reject(place, "no-key", "no picture is named")
            else:
                self.builder.add(place, written, cells)

    def _kind(self, name: str) -> Kind:
        if name not in self.fields:
            is_key_column = plain_name(name) == plain_name(self.builder.rules.key_column)
            self.fields[name] = "" if is_key_column else self.builder.rules.kind_of(name)
        return self.fields[name]

    def _is_key(self, name: str) -> bool:
        wanted = self.builder.rules.key_column
        return plain_name(name) == plain_name(wanted) if wanted else is_key(name)

    def _cells(self, place: str, name: str, kind: Kind, value: object) -> list[tuple[int, str]]:
        if value is None:
            return []
        listed = isinstance(value, list)
        values = [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str)]
        if len(values) != (len(value) if isinstance(value, list) else 1):
            got = f"{place}: {value!r:.60}"
            self.builder.ignore("no-words-value", "words are a string or a list of strings", got)
            return []
        column = self.builder.column(name, "label" if listed and kind == "labels" else kind)
        return [(column, v) for v in values]


def _read_coco(document: dict[str, object], builder: TableBuilder, expected: str) -> None:
    annotations = document["annotations"]
    if not isinstance(annotations, list) or not isinstance(document.get("images"), list):
        raise DataError(f"The words file {builder.name} lacks a list of images. {expected}")
    files = _by_id(document["images"], _FILE_NAME)
    names = _by_id(document.get("categories"), "name")
    builder.keys = [_FILE_NAME]
    for i, row in enumerate(annotations):
        place = f"annotations[{i}]"
        fields = row if isinstance(row, dict) else {}
        file, name = _at(files, fields.get("image_id")), _at(names, fields.get("category_id"))
        caption = fields.get("caption")
        if not isinstance(file, str):
            builder.reject(f"{place}: {row!r:.60}", "no-image", "no image has the image_id")
        elif not isinstance(caption, str) and not isinstance(name, str):
            reason = "neither a caption nor a known category"
            builder.reject(f"{place}: {row!r:.60}", "no-words", reason)
        else:
            kind_of, cells = builder.rules.kind_of, []
            if isinstance(name, str):
                kind = kind_of(_CATEGORY) or "label"
                cells.append((builder.column(_CATEGORY, kind), name))
            if isinstance(caption, str):
                cells.append((builder.column(_CAPTION, kind_of(_CAPTION)), caption))
            builder.add(place, [file], cells)


def _by_id(rows: object, key: str) -> dict[object, object]:
    listed = rows if isinstance(rows, list) else []
    good = (row for row in listed if isinstance(row, dict) and isinstance(row.get("id"), int | str))
    return {row["id"]: row.get(key) for row in good}


def _at(table: dict[object, object], key: object) -> object:
    return table.get(key) if isinstance(key, int | str) else None
