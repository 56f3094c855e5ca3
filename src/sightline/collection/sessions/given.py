"""What people give a session, made plain: pictures, numpy's whole numbers too, and how many."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from sightline.errors import UsageError
from sightline.records import Hit

Named = str | bytes | int | np.integer[Any] | os.PathLike[str] | Hit


def pictures(given: Iterable[Named]) -> list[str | bytes | int]:
    """Return ids and paths of pictures that are named in a list.

    >>> pictures(np.array([7, 9]))
    [7, 9]
    """
    if _is_one(given):
        raise UsageError(f"Name pictures in a list. Got {given!r}.")
    return [_picture(p) for p in given]


def one_or_more(given: Named | Iterable[Named]) -> list[str | bytes | int]:
    """Return ids and paths of pictures, where a single one needs no list.

    >>> one_or_more(np.int64(3)), one_or_more(["a.jpg", 4])
    ([3], ['a.jpg', 4])
    """
    if _is_one(given) or not isinstance(given, Iterable):
        return [_picture(given)]
    return [_picture(p) for p in given]


def _is_one(given: object) -> bool:
    """Say whether there is nothing to go through; an array without a dimension is a number."""
    if isinstance(given, np.ndarray):
        return given.ndim == 0
    return isinstance(given, str | bytes | os.PathLike) or not isinstance(given, Iterable)


def _picture(given: object) -> str | bytes | int:
    if isinstance(given, Hit):
        return given.picture
    if isinstance(given, os.PathLike):
        return os.fsencode(given)
    if isinstance(given, np.ndarray):
        given = given.tolist()
    # True is a number to Python, and would be picture 1.
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return int(given)
    if not isinstance(given, str | bytes):
        raise UsageError(f"{given!r} names no picture. Give a hit, an id or a path.")
    return given


def how_many(n: object, what: str) -> int:
    """Return how many are asked for.

    >>> how_many(2.5, "hit")
    Traceback (most recent call last):
    sightline.errors.UsageError: At least 1 hit must be asked for, as a whole number. Got 2.5.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise UsageError(f"At least 1 {what} must be asked for, as a whole number. Got {n!r}.")
    return int(n)
