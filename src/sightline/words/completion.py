"""Completion of a typed prefix by words, the most frequent first."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np

from sightline.errors import ParameterError
from sightline.words.tokens import tokens


class Completions:
    """Sorted terms, so that those with a prefix are one slice.

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
        pairs = sorted(counted)
        self._terms = [t for t, _ in pairs]
        self._counts = np.array([n for _, n in pairs], np.int64)
        # By frequency, and among equals by spelling: no two have the same rank.
        self._rank = np.empty(len(pairs), np.int64)
        self._rank[np.argsort(-self._counts, kind="stable")] = np.arange(len(pairs))

    def __len__(self) -> int:
        return len(self._terms)

    def of(self, typed: str, k: int) -> list[tuple[str, int]]:
        """Return the k most frequent terms with the typed prefix, and their counts."""
        if k < 1:
            raise ParameterError.of("k", "vocabulary", "a whole number of at least 1", k)
        prefix = " ".join(tokens(typed))
        if not prefix and typed.strip():
            return []  # No word begins with punctuation.
        begin = bisect_left(self._terms, prefix)
        end = bisect_left(self._terms, prefix + chr(0x10FFFF))
        rank = self._rank[begin:end]
        best = np.argpartition(rank, k)[:k] if k < len(rank) else np.arange(len(rank))
        best = begin + best[np.argsort(rank[best])]
        return [(self._terms[i], int(self._counts[i])) for i in best.tolist()]
