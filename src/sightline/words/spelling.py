"""Spellings near a word: typos, other words around it, and the word that was probably meant.

One edit inserts, deletes or replaces a character, or swaps two neighbours: the restricted
Damerau-Levenshtein distance. The terms are kept as arrays of lengths and of character sets (one bit
for each code point modulo 64). An edit changes the length by at most one and the set by at most two
bits, so that comparing these two numbers leaves few of 100,000 terms to compare by characters.

A correction is more careful than a suggestion, since it is searched at once:

- Numbers, symbols, words with an apostrophe and tags of several words are never corrected.
- Scripts where one character is a word or a syllable (Chinese, Japanese, Korean), or that write
  without spaces (Thai, Khmer), have no typos of this kind.
- Words of three letters are corrected if two neighbours are swapped (dgo, dog), words of four to
  seven letters by one edit, longer ones by two. Where no list of words tells typos from words that
  the collection lacks, a letter is replaced in words of six letters or more alone: test and tent,
  duck and dock are different words more often than typos.
- The first letter is rarely mistyped, so it stays, or is swapped with the second.

Among terms one edit away the most probable is taken: its number of pictures times the probability
of that one error. Of single errors about 34 % omit a letter, 27 % insert one, 19 % replace one and
12.5 % swap two (Pollock and Zamora, "Automatic spelling correction in scientific and scholarly
text", Communications of the ACM 27, 1984). A letter can be inserted or replaced in many ways, so
that each single one is much rarer than an omission. Among terms two edits away the most frequent is
taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from heapq import nsmallest
from itertools import pairwise
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ParameterError
from sightline.words.term_ids import term_id
from sightline.words.tokens import MAX_TERM, fold

_MOST_COMPARED = 500
# Longer terms are few; they are compared one by one.
_LONG = 48
# Thai to Tibetan, Burmese, Khmer, kana, ideographs: words are not divided by spaces.
_UNSPACED = (
    (0x0E00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3005, 0x3007), (0x3040, 0x30FF),
    (0x3100, 0x312F), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF),
)  # fmt: skip
# Japanese and Chinese particles of one character.
_PARTICLES = frozenset("のとはがをにへでや的之和与與")
# Each character is a syllable.
_HANGUL = ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF))
# The shares of single errors, and the number of letters that can be typed.
_OMITTED, _INSERTED, _REPLACED, _SWAPPED, _ALPHABET = 0.34, 0.27, 0.19, 0.125, 26


class Spellings:
    """The terms of a vocabulary, by spelling.

    Parameters
    ----------
    counted : iterable of tuple of (str, int)
        Distinct terms, in the form in which words are compared, and on how many pictures each is.

    Examples
    --------
    >>> words = Spellings([("mountain", 9), ("mountains", 4), ("fountain", 2), ("dog", 7)])
    >>> words.correction("moutnain"), words.correction("dgo"), words.correction("fog")
    ('mountain', 'dog', None)
    >>> words.near("moutain")
    ('mountain', 'fountain', 'mountains')
    """

    def __init__(self, counted: Iterable[tuple[str, int]]) -> None:
        self.counts = dict(counted)
        self.terms = list(self.counts)
        self._long = [t for t in self.terms if len(t) > _LONG]
        self._short = [t for t in self.terms if len(t) <= _LONG]

    def __len__(self) -> int:
        return len(self.terms)

    def __contains__(self, term: object) -> bool:
        return term in self.counts

    def correction(self, word: str, replaceable: int = 6) -> str | None:
        """Return the term that was probably meant by a word; None without a close one.

        Parameters
        ----------
        word : str
            The word as typed, in the form in which words are compared.
        replaceable : int, default=6
            The number of letters from which on one may be replaced; fewer where the word is known
            to be none of its language.

        Examples
        --------
        >>> Spellings([("sheep", 3), ("ship", 9)]).correction("shep")
        'sheep'
        """
        limit = _corrected_edits(word)
        close = [
            (edits, -self.counts[t] * (_error(word, t) if edits == 1 else 1.0), t)
            for t, edits in self._typos(word, limit).items()
            if edits and _is_plausible(word, t, replaceable)
        ]
        return min(close)[2] if close else None

    def words_meant(self, word: str, replaceable: int = 6) -> tuple[str, ...]:
        """Return the terms that were probably meant by a word: one if it is mistyped.

        A run of a script without spaces may be several terms. It is divided into as few as there
        can be; single particles between them (東京の夜景) may be left out.

        >>> words = Spellings([("東京", 3), ("夜景", 2), ("夜", 1)])
        >>> words.words_meant("東京夜景"), words.words_meant("東京の夜景")
        (('東京', '夜景'), ('東京', '夜景'))
        """
        if word and all(_is_unspaced(c) for c in word):
            return self._divided(word)
        correction = self.correction(word, replaceable)
        return () if correction is None else (correction,)

    def _divided(self, run: str) -> tuple[str, ...]:
        # For each beginning of the run: how many particles were left out, and the terms.
        best: list[tuple[int, tuple[str, ...]] | None] = [(0, ())]
        for end in range(1, len(run) + 1):
            ways = [
                (way[0], (*way[1], run[begin:end]))
                for begin, way in enumerate(best)
                if way is not None and run[begin:end] in self.counts
            ]
            before = best[end - 1]
            if run[end - 1] in _PARTICLES and before is not None and before[1]:
                ways.append((before[0] + 1, before[1]))
            best.append(min(ways, key=lambda way: (way[0], len(way[1])), default=None))
        return best[-1][1] if best[-1] is not None else ()

    def near(self, word: str, n: int = 3) -> tuple[str, ...]:
        """Return up to n terms near a word, nearest first.

        First come terms one typo away, then those that begin with the word, then (for words of six
        characters or more) those two typos away, then those with the same stem, that is all but at
        most three last characters, then those that contain the word or are contained in it. Within
        a kind, the nearest in length come first, then alphabetical order. The word itself is never
        returned.
        """
        if n < 1:
            raise ParameterError.of("n", "near", "at least 1", n)
        word = fold(word)
        nearest: dict[str, None] = {}
        for kind in self._kinds(word) if len(word) <= MAX_TERM else ():
            new = {term for term in kind if term != word and term not in nearest}
            best = nsmallest(n - len(nearest), new, key=lambda t: (abs(len(t) - len(word)), t))
            nearest.update(dict.fromkeys(best))
            if len(nearest) == n:
                break
        return tuple(nearest)

    def same_stem(self, word: str, n: int = 3) -> tuple[str, ...]:
        """Return up to n terms that share the beginning of a word, nearest first.

        They share all but at most three of the word's letters, and at least four, and have at most
        three others.

        >>> Spellings([("bath", 3), ("gates", 2), ("bathing", 1)]).same_stem("bathes")
        ('bathing', 'bath')
        """
        stem, least = _stem(word), len(word) - 3
        same = [t for t in self.terms if t.startswith(stem)] if stem in self._joined else []
        same = [t for t in same if t != word and least <= len(t) <= len(stem) + 3]
        return tuple(nsmallest(n, same, key=lambda t: (abs(len(t) - len(word)), t)))

    def _kinds(self, word: str) -> Iterator[list[str]]:
        # Lazy: if typos are enough, the terms need not be searched again.
        limit = 0 if len(word) < 2 else 1 if len(word) < 6 else 2
        typos = self._typos(word, limit)
        yield [t for t, edits in typos.items() if edits == 1 <= limit]
        stem = _stem(word)
        # One search of all terms joined is several times cheaper than a search of each term.
        same_stem = [t for t in self.terms if stem in t] if stem in self._joined else []
        containing = [t for t in same_stem if word in t] if _is_specific(word) else []
        yield [t for t in containing if t.startswith(word)]
        yield [t for t, edits in typos.items() if edits == 2 <= limit]
        yield [t for t in same_stem if t.startswith(stem) and 4 <= len(stem) >= len(t) - 3]
        parts = {word[i:j] for i in range(len(word)) for j in range(i + 1, len(word) + 1)}
        yield containing + [t for t in parts.intersection(self.counts) if _is_specific(t)]

    @cached_property
    def spelled(self) -> dict[int, str]:
        """The terms by their ids."""
        return {term_id(t): t for t in self.terms}

    @cached_property
    def _joined(self) -> str:
        return "\n".join(self.terms)

    @cached_property
    def _keys(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the length and the character set of each term that is not long."""
        lengths = np.array([len(t) for t in self._short], np.int64)
        width = int(lengths.max(initial=1))
        codes = np.array(self._short, f"U{width}").view(np.uint32).reshape(-1, width)
        bits = np.where(codes > 0, np.uint64(1) << (codes & 63).astype(np.uint64), np.uint64(0))
        return lengths, np.bitwise_or.reduce(bits, axis=1)

    def _typos(self, word: str, limit: int) -> dict[str, int]:
        """Return terms within `limit` edits of a word, with their distances."""
        if not limit or not self.terms:
            return {}
        compared = {t: distance(word, t, limit) for t in self._comparable(word, limit)}
        return {t: edits for t, edits in compared.items() if edits <= limit}

    def _comparable(self, word: str, limit: int) -> list[str]:
        """Return the terms that may be within `limit` edits of a word.

        An edit removes, in the worst case (a swap), three of the word's bigrams. If thousands of
        terms are similar (numbered ones, say), those that share the most bigrams remain.
        """
        close = [t for t in self._long if abs(len(t) - len(word)) <= limit]
        if self._short:
            lengths, sets = self._keys
            own = np.bitwise_or.reduce([np.uint64(1 << (ord(c) & 63)) for c in word])
            fits = np.abs(lengths - len(word)) <= limit
            fits &= np.bitwise_count(sets ^ own) <= 2 * limit
            close += [self._short[i] for i in np.flatnonzero(fits).tolist()]
        pairs = set(map("".join, pairwise(word)))
        shared: Counter[str] = Counter()
        for pair in pairs:
            shared.update([t for t in close if pair in t])
        close = [t for t in close if shared[t] >= len(pairs) - 3 * limit]
        return sorted(close, key=shared.__getitem__, reverse=True)[:_MOST_COMPARED]


def distance(a: str, b: str, limit: int) -> int:
    """Return the restricted Damerau-Levenshtein distance, or `limit` + 1 if it is larger.

    Its time grows with 4 to the power of the limit, but hardly with the length of the words.

    Examples
    --------
    >>> distance("snwo", "snow", 2), distance("tree", "barn", 2)
    (1, 3)
    """
    if not _within(a, b, limit):
        return limit + 1
    return next(edits for edits in range(limit + 1) if _within(a, b, edits))


def _within(a: str, b: str, limit: int) -> bool:
    if limit == 0 or a == b:
        return a == b
    if abs(len(a) - len(b)) > limit:
        return False
    at = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        at += 1
    a, b, limit = a[at:], b[at:], limit - 1
    if _within(a[1:], b[1:], limit) or _within(a[1:], b, limit) or _within(a, b[1:], limit):
        return True
    swapped = len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0]
    return swapped and _within(a[2:], b[2:], limit)


def _stem(word: str) -> str:
    return word[: max(4, len(word) - 3)]


def _is_specific(part: str) -> bool:
    # One ideograph or kana is as specific as a short word; one or two letters are not.
    return len(part) >= 3 or part[:1] >= "\u2e80"


def _corrected_edits(word: str) -> int:
    """Return how many edits a correction of a word may make."""
    if not _is_correctable(word):
        return 0
    n_letters = sum(category(c)[0] == "L" for c in word)
    return 0 if n_letters < 3 else 1 if n_letters < 8 else 2


def _is_correctable(word: str) -> bool:
    """Return whether a word consists of letters of a script with typos of single letters."""
    return all(
        category(c)[0] in "LM"
        and not _is_unspaced(c)
        and not any(low <= ord(c) <= high for low, high in _HANGUL)
        for c in word
    )


def _is_unspaced(c: str) -> bool:
    """Return whether a character belongs to a script that writes without spaces."""
    return any(low <= ord(c) <= high for low, high in _UNSPACED)


def _error(word: str, term: str) -> float:
    """Return the probability of one error that makes a word of a term, up to a constant factor."""
    n = len(term)
    if len(word) < n:
        return _OMITTED / n
    if len(word) > n:
        return _INSERTED / ((n + 1) * _ALPHABET)
    swapped = sorted(word) == sorted(term)
    return _SWAPPED / (n - 1) if swapped else _REPLACED / (n * (_ALPHABET - 1))


def _is_plausible(word: str, term: str, replaceable: int) -> bool:
    """Return whether a word may be a mistyped term; it is within the edits of a correction."""
    if not _is_correctable(term):
        return False
    if sorted(word) == sorted(term):
        return word[0] == term[0] or word[:2] == term[1::-1]
    replaced = len(word) == len(term)
    return word[0] == term[0] and len(term) >= 3 and len(word) >= (replaceable if replaced else 4)
