"""Work measured by counting, which gives the same on every machine, however busy it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class Counted(str):
    """A string that counts its comparisons, which no profiler sees inside of a list."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def calls(work: Callable[..., object]) -> int:
    """Return the number of function calls of some work, including functions written in C."""
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


def opened_files(work: Callable[..., object]) -> list[str]:
    """Return the files that some work opens, in order."""
    paths: list[str] = []
    _watching.append(paths)
    if len(_hooked) == 0:
        _hooked.append(True)
        sys.addaudithook(_audit)
    try:
        work()
    finally:
        _watching.remove(paths)
    return paths


_watching: list[list[str]] = []
_hooked: list[bool] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event == "open":
        for paths in _watching:
            paths.append(str(arguments[0]))
