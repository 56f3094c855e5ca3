"""Words that begin as somebody types, the most frequent first."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np

from sightline.errors import ParameterError
from sightline.words.tokens import tokens


class Completions:
    """Terms, laid out so that those with a prefix are one slice of them.

    Parameters
    ----------
    counted : iterable of tuple of (str, int)
        Distinct terms, in the form in which words are compared, and how often each occurs.

    Examples
    --------
    >>> words = Completions([("tree", 9), ("golden gate", 2), ("gold", 5), ("golden", 2)])
    >>> words.of("Gold", 3)
    [('gold', 5), ('golden', 2), ('golden gate', 2)]
    >>> words.of("golden  g", 3), words.of("", 1), words.of("z", 3)
    ([('golden gate', 2)], [('tree', 9)], [])
    """

    def __init__(self, counted: Iterable[tuple[str, int]]) -> None:
        found = sorted(counted)
        self._terms = [t for t, _ in found]
        self._counts = np.array([n for _, n in found], np.int64)
        # By frequency, and among equals by spelling: no two have the same place.
        self._place = np.empty(len(found), np.int64)
        self._place[np.argsort(-self._counts, kind="stable")] = np.arange(len(found))

    def __len__(self) -> int:
        return len(self._terms)

    def of(self, typed: str, k: int) -> list[tuple[str, int]]:
        """Return the k most frequent terms that begin as what was typed, and their counts."""
        if k < 1:
            raise ParameterError.of("k", "vocabulary", "a whole number of at least 1", k)
        prefix = " ".join(tokens(typed))
        if not prefix and typed.strip():
            return []  # Signs alone begin no word.
        begin = bisect_left(self._terms, prefix)
        end = bisect_left(self._terms, prefix + chr(0x10FFFF))
        place = self._place[begin:end]
        best = np.argpartition(place, k)[:k] if k < len(place) else np.arange(len(place))
        best = begin + best[np.argsort(place[best])]
        return [(self._terms[i], int(self._counts[i])) for i in best.tolist()]
