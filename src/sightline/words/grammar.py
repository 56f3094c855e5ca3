r"""The query language of the search box.

    tree snow           pictures of a tree or snow, better of both
    +barn               the picture must have the word barn
    -people             the picture must not have the word people
    2:red  +0.5:sky     the word counts twice, half as much
    "golden gate"       one tag of several words; +, - and a weight may stand before it
    "dgo"               the word as it is typed, however it is spelled
    ./picture.jpg       similar to this picture; also ../x.jpg, /x.jpg, ~/x.jpg, quoted if it has
                        spaces; - or a weight may stand before it

In and out of quotes, \" is a plain quote and \\ a plain backslash. Other punctuation separates
words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import isfinite
from typing import NamedTuple

from sightline.errors import QueryError, QueryTooLong
from sightline.words.tokens import MAX_TERM, labels, tokens, visible

MAX_QUERY = 1_000
MAX_TERMS = 64
_AS_TEXT = "Leave some out, or search by the whole text: sightline search --text-file FILE"

# Minus and plus, and what input methods and text fields turn them into.
_SIGNS = {"-": "-", "\u2212": "-", "\u2013": "-", "\uff0d": "-", "+": "+", "\uff0b": "+"}
_WEIGHT = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?):(?=[^\s])")
# A backslash matches in one way only, or many of them would take exponential time.
_QUOTED = re.compile(r'"((?:[^"\\]|\\["\\]|\\(?!["\\]))*)"')
_BARE = re.compile(r'(?:[^\s"\\]|\\["\\]|\\(?!["\\]))+')
_ESCAPE = re.compile(r'\\(["\\])')
_PICTURE = re.compile(r"(?:\.|\.\.|~)?/.*[^/.]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Term:
    """A word or tag of a query."""

    text: str
    weight: float = 1.0
    required: bool = False

    def __str__(self) -> str:
        return self._written(False)

    def _written(self, verbatim: bool) -> str:
        text = _quoted_if_needed(self.text, verbatim)
        return "+" * self.required + _weight(self.weight) + text


@dataclass(frozen=True, slots=True)
class PictureTerm:
    """A picture of a query, positive or negative; the path is as it was typed."""

    path: str
    weight: float = 1.0
    negative: bool = False

    def __str__(self) -> str:
        return "-" * self.negative + _weight(self.weight) + _quoted_if_needed(self.path)


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query; `str` gives a text that parses to an equal query.

    Attributes
    ----------
    terms : tuple of Term
        Words that pictures should have, or must have where they are `required`.
    excluded : tuple of str
        Words that pictures must not have.
    pictures : tuple of PictureTerm
        Positive and negative example pictures.
    verbatim : frozenset of str
        Single words, of `terms` or `excluded`, that stand in quotes: they are searched as they are
        typed. Tags of several words always are.

    Examples
    --------
    >>> str(Query((Term("tree"), Term("golden gate", 2.0)), ("people",)))
    'tree 2:"golden gate" -people'
    >>> str(Query((Term("dgo"),), verbatim=frozenset(["dgo"])))
    '"dgo"'
    """

    terms: tuple[Term, ...] = ()
    excluded: tuple[str, ...] = ()
    pictures: tuple[PictureTerm, ...] = ()
    verbatim: frozenset[str] = frozenset()

    def __str__(self) -> str:
        terms = (t._written(t.text in self.verbatim) for t in self.terms)
        excluded = ("-" + _quoted_if_needed(x, x in self.verbatim) for x in self.excluded)
        return " ".join((*terms, *excluded, *map(str, self.pictures)))

    def as_typed(self) -> Query:
        """Return the query with every single word in quotes.

        >>> str(parse("dgo -sonw").as_typed())
        '"dgo" -"sonw"'
        """
        words = (*(t.text for t in self.terms), *self.excluded)
        return replace(self, verbatim=frozenset(w for w in words if _is_bare(w)))


def parse(text: str) -> Query:
    """Parse a query.

    A word given twice counts once: with its last weight, and required if any of them is. A
    text without any word gives an empty query.

    Raises
    ------
    QueryError
        The text cannot be read, or contradicts itself.
    QueryTooLong
        It is longer than a query may be.

    Examples
    --------
    >>> query = parse('Tree, snow -people 2:red +"golden gate" ./a.jpg')
    >>> [term.text for term in query.terms]
    ['tree', 'snow', 'red', 'golden gate']
    >>> str(query)
    'tree snow 2:red +"golden gate" -people ./a.jpg'
    >>> parse("tree -")
    Traceback (most recent call last):
    sightline.errors.QueryError: Nothing follows the '-' at column 6. Write the word after it: -word
    """
    _check_length(len(text))
    terms: dict[str, Term] = {}
    excluded: dict[str, None] = {}
    pictures: dict[str, PictureTerm] = {}
    verbatim: set[str] = set()
    for piece in _pieces(text):
        if _PICTURE.match(piece.body):
            _check_picture(piece, pictures)
            pictures[piece.body] = PictureTerm(piece.body, piece.weight, piece.sign == "-")
            continue
        words = _terms(piece)
        if piece.quoted and len(words) == 1 and _is_bare(words[0]):
            verbatim.add(words[0])
        for word in words:
            if piece.sign == "-":
                excluded[word] = None
            else:
                required = piece.sign == "+" or (word in terms and terms[word].required)
                terms[word] = Term(word, piece.weight, required)
    query = Query(
        tuple(terms.values()), tuple(excluded), tuple(pictures.values()), frozenset(verbatim)
    )
    _check(query)
    return query


def as_typed(text: str) -> str:
    """Return a query in which every word is searched as it is typed.

    >>> as_typed("dgo -sonw")
    '"dgo" -"sonw"'
    """
    return str(parse(text).as_typed())


class _Piece(NamedTuple):
    column: int
    sign: str
    weight: float
    body: str
    quoted: bool


def _pieces(text: str) -> list[_Piece]:
    pieces = []
    at = _skip_space(text, 0)
    while at < len(text):
        piece, at = _piece(text, at)
        pieces.append(piece)
        at = _skip_space(text, at)
    return pieces


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _piece(text: str, start: int) -> tuple[_Piece, int]:
    sign = _SIGNS.get(text[start], "")
    at = start + len(sign)
    weight = 1.0
    if number := _WEIGHT.match(text, at):
        at = number.end()
        weight = _read_weight(sign, number[1], start + 1, text[at])
    if text[at : at + 1] == '"':
        body = _QUOTED.match(text, at)
        if body is None:
            raise QueryError(
                f"The quote at column {at + 1} is never closed."
                ' Close it with ", or write \\" for a plain quote.'
            )
        return _Piece(start + 1, sign, weight, _plain(body[1]), True), body.end()
    body = _BARE.match(text, at)
    if body is None:
        raise QueryError(
            f"Nothing follows the {sign!r} at column {start + 1}."
            f" Write the word after it: {sign}word"
        )
    return _Piece(start + 1, sign, weight, _plain(body[0]), False), body.end()


def _plain(body: str) -> str:
    return _ESCAPE.sub(r"\1", body)


def _read_weight(sign: str, number: str, column: int, following: str) -> float:
    weight = float(number)
    if sign == "-" or not (isfinite(weight) and weight > 0):
        raise QueryError(
            f"The weight {sign}{number} at column {column} is not above 0 and finite."
            " Write a number such as 2:word or 0.5:word, or -word for an excluded word."
        )
    if following in _SIGNS:
        raise QueryError(
            f"A sign follows the weight {number} at column {column}."
            f" Write +{number}:word for a required word, -word for an excluded one."
        )
    return weight


def _terms(piece: _Piece) -> tuple[str, ...]:
    terms = () if piece.quoted else tuple(tokens(piece.body))
    terms = terms or labels(piece.body)
    if terms:
        return terms
    if any(c.isalnum() for c in visible(piece.body)):
        raise QueryError(
            f"The word or tag at column {piece.column} has more than {MAX_TERM} characters."
            " Write a shorter one."
        )
    if piece.sign or piece.quoted or piece.weight != 1.0:
        raise QueryError(
            f"There is no word in {piece.body!r} at column {piece.column}. Write one, or leave"
            " out the sign, the weight and the quotes."
        )
    return ()


def _check_length(n_characters: int) -> None:
    if n_characters > MAX_QUERY:
        raise QueryTooLong(
            f"A query may have {MAX_QUERY:,} characters, this one has {n_characters:,}. {_AS_TEXT}"
        )


def _check_picture(piece: _Piece, pictures: dict[str, PictureTerm]) -> None:
    if piece.sign == "+":
        raise QueryError(
            f"The picture at column {piece.column} cannot be required. Leave out the +."
        )
    if "\0" in piece.body:
        raise QueryError(
            f"The path at column {piece.column} holds a zero byte. Write a path that can exist."
        )
    earlier = pictures.get(piece.body)
    if earlier is not None and earlier.negative != (piece.sign == "-"):
        raise QueryError(_contradiction(piece.body))


def _check(query: Query) -> None:
    for term in query.terms:
        if term.text in query.excluded:
            raise QueryError(_contradiction(term.text))
    n_terms = len(query.terms) + len(query.excluded) + len(query.pictures)
    if n_terms > MAX_TERMS:
        raise QueryTooLong(
            f"A query may have {MAX_TERMS} terms, this one has {n_terms:,}. {_AS_TEXT}"
        )
    # Folding and weights can lengthen a query; the written-out form must be readable too.
    _check_length(len(str(query)))


def _contradiction(term: str) -> str:
    return f"{term!r} stands both with a minus and without one. Leave out one of the two."


def _weight(weight: float) -> str:
    return "" if weight == 1.0 else repr(weight).removesuffix(".0") + ":"


def _is_bare(word: str) -> bool:
    """Return whether a word can be written without quotes."""
    plain = not any(c.isspace() or c in '"\\' for c in word)
    return plain and tokens(word) == [word]


def _quoted_if_needed(body: str, verbatim: bool = False) -> str:
    is_picture = _PICTURE.match(body) is not None
    plain = not any(c.isspace() or c in '"\\' for c in body)
    if not verbatim and plain and (is_picture or tokens(body) == [body]):
        return body
    return '"' + body.replace("\\", "\\\\").replace('"', '\\"') + '"'
