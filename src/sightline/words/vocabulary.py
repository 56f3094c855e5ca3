"""The vocabulary of a collection, and suggestions for words that are not in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Self

from sightline.errors import DataError, ParameterError


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
    """Return up to n terms near a word, nearest first; see `Spellings.near`.

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
    # Reading a query does not need numpy, near words do.
    from sightline.words.spelling import Spellings

    return Spellings(zip(terms, repeat(1))).near(word, n)
