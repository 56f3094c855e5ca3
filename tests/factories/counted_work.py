"""How much work something takes, counted: the same on every machine, however busy it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class Counted(str):
    """A text that counts how often it is compared, which no profiler sees inside of a list."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def calls(work: Callable[..., object]) -> int:
    """Return how many functions a piece of work calls, those written in C counted as well."""
    n = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal n
        n += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return n


def opened(work: Callable[..., object]) -> list[str]:
    """Return the files that a piece of work opens, in order."""
    found: list[str] = []
    _watching.append(found)
    if len(_hooked) == 0:
        _hooked.append(True)
        sys.addaudithook(_heard)
    try:
        work()
    finally:
        _watching.remove(found)
    return found


_watching: list[list[str]] = []
_hooked: list[bool] = []


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event == "open":
        for found in _watching:
            found.append(str(arguments[0]))
