"""Which columns of a table hold labels, which running text, and how a cell of labels is divided.

A column is known by its name, whatever the case and without `_`, `-` and blanks. A plural such as
`tags` holds any number of labels, a singular such as `tag` one label in each row, as it is. Nothing
is decided by the words in a cell.

>>> kind_of("Keywords"), kind_of("word"), kind_of("alt_text"), kind_of("artist")
('labels', 'label', 'text', '')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Self

from sightline.contracts import Json
from sightline.errors import UsageError

Kind = Literal["labels", "label", "text", ""]

LABELS = frozenset(("words", "tags", "keywords", "labels", "subjects", "categories"))
LABEL = frozenset(("word", "tag", "keyword", "label", "subject", "category", "class", "classname"))
TEXT = frozenset(
    (
        "caption", "captions", "text", "texts", "title", "titles", "description", "descriptions",
        "headline", "alt", "alttext", "comment", "comments", "sentence", "sentences", "prompt",
    )
)  # fmt: skip
SEPARATORS = (";", ",", "|", "none")

_NO_LETTERS = re.compile(r"[\W_]+")
_SEMICOLONS, _COMMAS, _LINES = ";；؛", ",，、،", "\n\r\v\f\x85\u2028\u2029"
_PIECES = {
    ";": re.compile(f"[{_LINES}{_SEMICOLONS}]"),
    ",": re.compile(f"[{_LINES}{_SEMICOLONS}{_COMMAS}]"),
    "|": re.compile(rf"[{_LINES}|]"),
}
_HAS = {c: re.compile(f"[{group}]") for c, group in ((";", _SEMICOLONS), (",", _COMMAS))}


@dataclass(frozen=True, slots=True)
class ColumnRules:
    """What the owner says about the columns of a table; names decide about all others.

    Attributes
    ----------
    labels_in, text_in : tuple of str
        Columns that hold labels, divided at separators, and columns that hold running text.
    key_column : str
        The column that says which picture a row belongs to.
    separator : str
        What separates the labels of a cell: `;`, `,`, `|`, or `none`; by default each column's own.
    """

    labels_in: tuple[str, ...] = ()
    text_in: tuple[str, ...] = ()
    key_column: str = ""
    separator: str = ""

    def check(self, *, tables_named: bool = True) -> None:
        """Raise if the rules contradict themselves, or say something about no table.

        Raises
        ------
        UsageError
            A column would hold both kinds, the separator is unknown, or no table is named.
        """
        plain_text = {plain_name(c) for c in self.text_in}
        both = [c for c in self.labels_in if plain_name(c) in plain_text]
        if both:
            raise UsageError(
                f"The column {both[0]!r:.60} is named as labels and as text. Name it once, with "
                "--labels-in or with --text-in."
            )
        if self.separator and self.separator not in SEPARATORS:
            known, got = " ".join(SEPARATORS), f"{self.separator!r:.20}"
            raise UsageError(f"Labels are separated by one of {known}. Got {got}.")
        given_rules = {
            "--labels-in": self.labels_in, "--text-in": self.text_in,
            "--key-column": self.key_column, "--label-separator": self.separator,
        }  # fmt: skip
        option = next((option for option, value in given_rules.items() if value), "")
        if option and not tables_named:
            raise UsageError(f"{option} says how --words FILE is to be read. Name the file too.")

    @classmethod
    def from_dict(cls, value: Mapping[str, Json]) -> Self:
        """Return the rules that `to_dict` wrote; keys that are not known are left out."""

        def names(key: str) -> tuple[str, ...]:
            listed = value.get(key)
            return tuple(str(name) for name in listed) if isinstance(listed, list) else ()

        key_column, separator = value.get("key_column"), value.get("separator")
        return cls(
            names("labels_in"), names("text_in"), str(key_column or ""), str(separator or "")
        )

    def to_dict(self) -> dict[str, Json]:
        """Return the rules as JSON."""
        return {
            "labels_in": list[Json](self.labels_in), "text_in": list[Json](self.text_in),
            "key_column": self.key_column, "separator": self.separator,
        }  # fmt: skip

    def kind_of(self, column: str) -> Kind:
        """Return what a column holds: the owner's word first, then that of its name."""
        name = plain_name(column)
        if name in map(plain_name, self.labels_in):
            return "labels"
        if name in map(plain_name, self.text_in):
            return "text"
        return kind_of(column)

    def named(self) -> tuple[str, ...]:
        """Return the columns of words that the owner named."""
        return (*self.labels_in, *self.text_in)


BY_NAME = ColumnRules()


def kind_of(column: str) -> Kind:
    """Return what a column of this name holds; "" if its name says nothing of words."""
    name = plain_name(column)
    if name in LABELS:
        return "labels"
    if name in LABEL:
        return "label"
    return "text" if name in TEXT else ""


def plain_name(column: str) -> str:
    """Return the form in which two spellings of a column's name are the same.

    >>> plain_name("Alt-Text") == plain_name(" alt_text")
    True
    """
    return _NO_LETTERS.sub("", column.casefold())


def separator_of(cells: Iterable[str]) -> str:
    """Return what separates the labels of a column: the same character in all of its cells.

    The semicolon does if as many cells have one as have only commas; then commas belong to labels.
    Otherwise commas and semicolons do, and `|` stands between the levels of a hierarchy. Where no
    cell has either, `|` separates. Line breaks always do.

    >>> separator_of(["Amsterdam, Netherlands; oil"]), separator_of(["Places|Rome", "a, b"])
    (';', ',')
    >>> separator_of(["Flowers|Fruit", "Fruit"])
    '|'
    """
    semicolons = commas = bars = 0
    for cell in cells:
        if _HAS[";"].search(cell):
            semicolons += 1
        elif _HAS[","].search(cell):
            commas += 1
        elif "|" in cell:
            bars += 1
    if semicolons and semicolons >= commas:
        return ";"
    return "|" if bars and not commas and not semicolons else ","


def split_cell(cell: str, separator: str) -> list[str]:
    """Return the labels of a cell, as they are written.

    >>> split_cell("Still Life: Flowers and Fruit,  Severin Roesen", ",")
    ['Still Life: Flowers and Fruit', 'Severin Roesen']
    >>> split_cell("Roesen, Severin", "none")
    ['Roesen, Severin']
    """
    pieces = _PIECES[separator].split(cell) if separator in _PIECES else [cell]
    return [label for piece in pieces if (label := " ".join(piece.split()))]


def reads_as_text(cells: Iterable[str]) -> bool:
    """Say whether a column without a name holds running text.

    It does if at least half of its cells end like a sentence or have more than four words between
    two separators.
    """
    n = sentences = 0
    for cell in cells:
        n += 1
        pieces = split_cell(cell, ",")
        long = any(len(piece.split()) > 4 for piece in pieces)
        sentences += long or cell.rstrip()[-1:] in tuple(".!?…。！？")
    return n > 0 and 2 * sentences >= n
