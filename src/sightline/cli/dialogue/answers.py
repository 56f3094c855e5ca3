"""The answers to the question which hits are relevant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from sightline.errors import UsageError

What = Literal["fits", "other", "skip", "next", "undo", "quit", "why", "save", "help"]
HELP = """y n s: it fits, it does not, skip it     1-5 y, 2,4,7-9 n: several at once
(nothing): learn, next round, or others  u: take the last answer back
why 3: why a hit stands there            save WORD: make a word of the session     q: end"""

_KINDS: dict[str, What] = {
    "y": "fits", "yes": "fits", "+": "fits",
    "n": "other", "no": "other", "-": "other",
    "s": "skip", "skip": "skip",
}  # fmt: skip
_ALONE: dict[str, What] = {
    "": "next", "u": "undo", "undo": "undo", "q": "quit", "quit": "quit", "?": "help",
    "help": "help",
}  # fmt: skip
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class TypedAnswer:
    """One answer: its kind, the positions of the hits (from 0), and the word for `save`."""

    what: What
    hits: tuple[int, ...] = ()
    word: str = ""


def read_answer(text: str, n: int, at: int) -> TypedAnswer:
    """Parse a line, with n hits of which the one at `at` is asked about.

    >>> read_answer("2,4-5 y", 10, 0)
    TypedAnswer(what='fits', hits=(1, 3, 4), word='')
    >>> read_answer("n", 10, 3)
    TypedAnswer(what='other', hits=(3,), word='')
    >>> read_answer("save red barn", 10, 0).word
    'red barn'
    """
    words = text.split()
    line = " ".join(words).lower()
    if line in _ALONE:
        return TypedAnswer(_ALONE[line])
    first = words[0].lower()
    if first == "save" and len(words) > 1:
        return TypedAnswer("save", word=" ".join(words[1:]))
    if first == "why":
        named = _hits(words[1:], n) if len(words) > 1 else (at,)
        return TypedAnswer("why", named[:1])
    if line in _KINDS:
        return TypedAnswer(_KINDS[line], (at,))
    for kind, rest in ((words[-1], words[:-1]), (words[0], words[1:])):
        if kind.lower() in _KINDS and rest:
            return TypedAnswer(_KINDS[kind.lower()], _hits(rest, n))
    raise UsageError(f"{text.strip()!r} is no answer. Write y, n or s, such as: 1-5 y; ? for help.")


def _hits(words: list[str], n: int) -> tuple[int, ...]:
    """Return the positions of hits given by numbers and ranges."""
    positions: dict[int, None] = {}
    for part in ",".join(words).split(","):
        match = _RANGE.fullmatch(part)
        if part and match is None:
            raise UsageError(f"{part!r} names no hits. Write numbers, such as: 1-5,8 y")
        if match is None:
            continue
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= n:
            raise UsageError(f"There are hits 1 to {n}. Got {part}.")
        positions.update(dict.fromkeys(range(first - 1, last)))
    if not positions:
        raise UsageError("No hit is named. Write its number before y or n.")
    return tuple(positions)
