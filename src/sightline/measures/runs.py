"""TREC runs and qrels: what other evaluation tools read and write.

A run line is `query Q0 picture rank score tag`, a qrels line `query iteration picture relevance`,
both split at ASCII white space. An id with white space, a percent sign or anything that is not
printable ASCII is written percent-encoded and read back as it was; an id from another tool that
only looks encoded stays as it is. An id given as bytes comes back as the `str` that `os.fsencode`
turns into the same bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote, unquote

from sightline.errors import DataError
from sightline.measures.judged import Judged, RankedList, check_pictures, id_key

_PLAIN = "!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_RUN_FIELDS = "query Q0 picture rank score tag"
_QRELS_FIELDS = "query iteration picture relevance"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def encoded(token: str | bytes) -> str:
    """Return an id as one word of printable ASCII.

    >>> encoded("my cat.jpg"), encoded("100%"), encoded("a/b-7")
    ('my%20cat.jpg', '100%25', 'a/b-7')
    """
    try:
        raw = token if isinstance(token, bytes) else token.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise DataError(f"The id {token!r} is not valid text. Give another id.") from error
    if not raw:
        raise DataError("An id in a TREC file must not be empty. Got ''. Give every id a name.")
    return quote(raw, safe=_PLAIN)


def decoded(word: str) -> str:
    """Return the id that `encoded` wrote as this word.

    >>> decoded("my%20cat.jpg"), decoded("50%off"), decoded("a%2Fb")
    ('my cat.jpg', '50%off', 'a%2Fb')
    """
    plain = unquote(word, errors="surrogateescape")
    # Our own writer never encodes "/" and the like, so such a word comes from another tool.
    return plain if plain != word and encoded(plain) == word else word


def run_lines(lists: Iterable[RankedList], tag: str = "sightline") -> Iterator[str]:
    """Yield the lines of a run, best picture first, without line ends.

    >>> list(run_lines([RankedList("sea", ("2", "1"), (0.5, 0.5))]))
    ['sea Q0 1 1 0.5 sightline', 'sea Q0 2 2 0.5 sightline']
    """
    for ranked_list in lists:
        check_pictures(ranked_list.query, ranked_list.ids, ranked_list.scores)
        order = sorted(range(len(ranked_list.ids)), key=partial(_place, ranked_list))
        for position, i in enumerate(order, 1):
            words = (encoded(ranked_list.query), "Q0", encoded(ranked_list.ids[i]))
            yield f"{' '.join(words)} {position} {float(ranked_list.scores[i])!r} {encoded(tag)}"


def qrels_lines(judged: Iterable[Judged]) -> Iterator[str]:
    """Yield the lines of a qrels file, without line ends; whole grades are written as integers.

    >>> list(qrels_lines([Judged("sea", ("1", "my cat"), (1.0, 0.0))]))
    ['sea 0 1 1', 'sea 0 my%20cat 0']
    """
    for judgements in judged:
        check_pictures(judgements.query, judgements.ids, judgements.grades)
        for picture, grade in zip(judgements.ids, judgements.grades, strict=True):
            value = float(grade)
            shown = str(int(value)) if value.is_integer() else repr(value)
            yield f"{encoded(judgements.query)} 0 {encoded(picture)} {shown}"


def write_run(path: str | Path, lists: Iterable[RankedList], tag: str = "sightline") -> None:
    """Write a run; the file appears whole or not at all."""
    _write(Path(path), run_lines(lists, tag))


def write_qrels(path: str | Path, judged: Iterable[Judged]) -> None:
    """Write judgements; the file appears whole or not at all."""
    _write(Path(path), qrels_lines(judged))


def parse_run(lines: Iterable[bytes], name: str = "run") -> tuple[RankedList, ...]:
    r"""Read the lines of a run; `name` is what error messages call the file.

    >>> parse_run([b"sea Q0 7 1 0.5 me\n"])
    (RankedList(query='sea', ids=('7',), scores=(0.5,)),)
    """
    groups = _grouped(lines, name, _RUN_FIELDS, _run_number)
    return tuple(RankedList(q, tuple(v), tuple(v.values())) for q, v in groups.items())


def parse_qrels(lines: Iterable[bytes], name: str = "qrels") -> tuple[Judged, ...]:
    r"""Read the lines of a qrels file; `name` is what error messages call the file.

    >>> parse_qrels([b"sea 0 7 1\n", b"sea 0 8 no\n"])
    Traceback (most recent call last):
    sightline.errors.DataError: qrels, line 2: the relevance must be a number. Got 'sea 0 8 no'.
    """
    groups = _grouped(lines, name, _QRELS_FIELDS, _grade)
    return tuple(Judged(q, tuple(v), tuple(v.values())) for q, v in groups.items())


def read_run(path: str | Path) -> tuple[RankedList, ...]:
    """Read a run file; errors name the malformed line."""
    with open(path, "rb") as file:
        return parse_run(file, str(path))


def read_qrels(path: str | Path) -> tuple[Judged, ...]:
    """Read a qrels file; errors name the malformed line."""
    with open(path, "rb") as file:
        return parse_qrels(file, str(path))


def _grouped(
    lines: Iterable[bytes], name: str, form: str, number: Callable[[list[str]], float]
) -> dict[str, dict[str, float]]:
    groups: dict[str, dict[str, float]] = {}
    for at, line in enumerate(lines, 1):
        words = [_text(word) for word in line.removeprefix(_BYTE_ORDER_MARK).split()]
        if not words:
            continue
        try:
            _add(groups, words, form, number)
        except ValueError as error:
            got = _text(line.rstrip(b"\r\n"))
            raise DataError(f"{name}, line {at}: {error} Got {got!r}.") from error
    return groups


def _add(
    groups: dict[str, dict[str, float]],
    words: list[str],
    form: str,
    number: Callable[[list[str]], float],
) -> None:
    if len(words) != len(form.split()):
        raise ValueError(f"expected {form!r}.")
    value = number(words)
    pictures = groups.setdefault(decoded(words[0]), {})
    if decoded(words[2]) in pictures:
        raise ValueError("the picture was named before for this query.")
    pictures[decoded(words[2])] = value


def _run_number(words: list[str]) -> float:
    if not re.fullmatch(r"[+-]?[0-9]+", words[3]):
        raise ValueError("the rank must be a whole number.")
    return _number(words[4], "score")


def _grade(words: list[str]) -> float:
    value = _number(words[3], "relevance")
    if value in (float("inf"), float("-inf")):
        raise ValueError("the relevance must be finite.")
    return value


def _number(word: str, what: str) -> float:
    try:
        # Python alone reads 1_0 as ten.
        value = float("" if "_" in word else word)
    except ValueError:
        value = float("nan")
    if value != value:
        raise ValueError(f"the {what} must be a number.")
    return value


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _place(ranked: RankedList, i: int) -> tuple[float, tuple[bool, int, str]]:
    return -ranked.scores[i], id_key(ranked.ids[i])


def _write(path: Path, lines: Iterable[str]) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(aside, "w", encoding="ascii", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
