"""The vocabulary of a collection, and suggestions for words that are not in it.

Typos are found by the restricted Damerau-Levenshtein distance: one edit inserts, deletes or
replaces a character, or swaps two neighbours. Only terms that share enough characters or bigrams
with the word are compared, so that a word takes a few milliseconds over 50,000 terms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import pairwise
from typing import Self

from sightline.errors import DataError, ParameterError
from sightline.words.tokens import MAX_TERM, fold

_MOST_COMPARED = 500


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Terms with their ids (positions in `terms`) and document frequencies.

    Parameters
    ----------
    terms : tuple of str
        Distinct terms; the id of a term is its position.
    document_counts : tuple of int
        For each term the number of documents that contain it.
    n_documents : int
        Number of documents.

    Examples
    --------
    >>> words = Vocabulary.from_captions([("tree", "snow"), ("tree", "barn")])
    >>> words.terms, words.document_counts, words.n_documents
    (('barn', 'snow', 'tree'), (1, 1, 2), 2)
    >>> words.id_of("snow"), words.id_of("zebra"), words.ids_of(["tree", "zebra", "barn"])
    (1, None, (2, 0))
    >>> words.near("tre")
    ('tree',)
    """

    terms: tuple[str, ...]
    document_counts: tuple[int, ...]
    n_documents: int
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ids = {term: at for at, term in enumerate(self.terms)}
        if len(ids) != len(self.terms) or len(self.document_counts) != len(self.terms):
            raise DataError(
                f"A vocabulary needs distinct terms and one count each. Got {len(self.terms)}"
                f" terms, {len(ids)} of them distinct, and {len(self.document_counts)} counts."
            )
        for term, count in zip(self.terms, self.document_counts, strict=True):
            if not 0 <= count <= self.n_documents:
                raise DataError(
                    f"The count of {term!r} must lie between 0 and the number of documents,"
                    f" {self.n_documents}. Got {count}."
                )
        object.__setattr__(self, "_ids", ids)

    @classmethod
    def from_captions(cls, captions: Iterable[Iterable[str]], min_count: int = 1) -> Self:
        """Return the terms of at least `min_count` captions, in alphabetical order."""
        if min_count < 1:
            raise ParameterError.of("min_count", "Vocabulary", "at least 1", min_count)
        counts: Counter[str] = Counter()
        n_documents = 0
        for caption in captions:
            counts.update(set(caption))
            n_documents += 1
        terms = tuple(sorted(term for term, count in counts.items() if count >= min_count))
        return cls(terms, tuple(counts[term] for term in terms), n_documents)

    def __len__(self) -> int:
        return len(self.terms)

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __contains__(self, term: object) -> bool:
        return term in self._ids

    def id_of(self, term: str) -> int | None:
        """Return the id of a term, or None if it is unknown."""
        return self._ids.get(term)

    def ids_of(self, terms: Iterable[str]) -> tuple[int, ...]:
        """Return the ids of the known terms, in their order; unknown ones are left out."""
        return tuple(self._ids[term] for term in terms if term in self._ids)

    def near(self, word: str, n: int = 3) -> tuple[str, ...]:
        """Return up to n terms near a word; see `near`."""
        return near(word, self.terms, n)


def near(word: str, terms: Collection[str], n: int = 3) -> tuple[str, ...]:
    """Return up to n terms near a word, nearest first.

    First come terms one typo away, then those that begin with the word, then (for words of six
    characters or more) those two typos away, then those with the same stem, that is all but at most
    three last characters, then those that contain the word or are contained in it. Within a kind,
    the nearest in length come first, then alphabetical order. The word itself is never returned.

    Parameters
    ----------
    word : str
        The word as typed; it is normalised as `tokens` does.
    terms : Collection
        The terms to choose from.
    n : int, default=3
        Maximum number of terms.

    Examples
    --------
    >>> near("moutain", ["fountain", "mountain", "mountains", "tree"])
    ('mountain', 'fountain', 'mountains')
    >>> near("berries", ["berry", "bear", "red"])
    ('berry',)
    """
    if n < 1:
        raise ParameterError.of("n", "near", "at least 1", n)
    word = fold(word)
    nearest: dict[str, None] = {}
    for kind in _kinds(word, terms) if len(word) <= MAX_TERM else ():
        new = {term for term in kind if term != word and term not in nearest}
        best = nsmallest(n - len(nearest), new, key=lambda t: (abs(len(t) - len(word)), t))
        nearest.update(dict.fromkeys(best))
        if len(nearest) == n:
            break
    return tuple(nearest)


def _kinds(word: str, terms: Collection[str]) -> Iterator[list[str]]:
    # Lazy: if typos are enough, the terms need not be searched again.
    limit = 0 if len(word) < 2 else 1 if len(word) < 6 else 2
    typos = {t: distance(word, t, limit) for t in _comparable(word, terms, limit)}
    yield [t for t, edits in typos.items() if edits == 1 <= limit]
    stem = word[: max(4, len(word) - 3)]
    # One search of all terms joined is several times cheaper than a search of each term.
    same_stem = [t for t in terms if stem in t] if stem in "\n".join(terms) else []
    containing = [t for t in same_stem if word in t] if _is_specific(word) else []
    yield [t for t in containing if t.startswith(word)]
    yield [t for t, edits in typos.items() if edits == 2 <= limit]
    yield [t for t in same_stem if t.startswith(stem) and 4 <= len(stem) >= len(t) - 3]
    parts = {word[i:j] for i in range(len(word)) for j in range(i + 1, len(word) + 1)}
    yield containing + [t for t in parts.intersection(terms) if _is_specific(t)]


def _is_specific(part: str) -> bool:
    # One ideograph or kana is as specific as a short word; one or two letters are not.
    return len(part) >= 3 or part[:1] >= "\u2e80"


def _comparable(word: str, terms: Collection[str], limit: int) -> list[str]:
    """Return the terms that may be within `limit` edits of the word.

    An edit removes at most one of the word's characters and, in the worst case (a swap), three of
    its bigrams. If thousands of terms are similar (numbered ones, say), those that share the most
    bigrams remain.
    """
    low, high = len(word) - limit, len(word) + limit
    letters, pairs = frozenset(word), set(map("".join, pairwise(word)))
    few = len(letters) - limit
    close = [t for t in terms if low <= len(t) <= high and len(letters.intersection(t)) >= few]
    letter, times = Counter(word).most_common(1)[0] if word else ("", 0)
    close = [t for t in close if t.count(letter) >= times - limit]
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
