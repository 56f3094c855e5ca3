"""Which words of pictures are learned, and as what.

Learned are the labels of the owner and the running text in the language of the collection. Stop
words are learned only where they were given as labels of their own; captions in other languages
stay searchable and teach nothing. A word that only running text has must be on more pictures the
more pictures there are, since a sentence brings many words that say little of a picture: on one
more for each power of ten. Forms of one word are learned as one (`lexicon`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType

import numpy as np

from sightline._typing import Bools, Ints
from sightline.collection.lexicon import language_of_source, word_forms
from sightline.records import Judgement, Tags
from sightline.store.folder import Reader
from sightline.words.grammar import parse
from sightline.words.term_ids import term_id
from sightline.words.tokens import labels, tag_terms, tokens

# A word on a single picture can be searched for, but nothing can be learned from it.
LEAST_PICTURES = 2


@dataclass(frozen=True, slots=True, eq=False)
class PicturePairs:
    """PicturePairs of a picture and a term."""

    picture: Ints
    term: Ints

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> PicturePairs:
        """Return pairs as arrays."""
        both = np.array(list(pairs), np.int64).reshape(-1, 2)
        return cls(both[:, 0], both[:, 1])

    def __len__(self) -> int:
        return len(self.term)

    def holds(self, picture: Ints, term: Ints) -> Bools:
        """Return which of some pairs these hold."""
        if not len(self):
            return np.zeros(len(picture), bool)
        terms = np.unique(self.term)
        place = np.minimum(np.searchsorted(terms, term), len(terms) - 1)
        pairs = self.picture * len(terms) + np.searchsorted(terms, self.term)
        held: Bools = (terms[place] == term) & np.isin(picture * len(terms) + place, pairs)
        return held


_NO_PAIRS = PicturePairs(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What counts as a label, and as which.

    Attributes
    ----------
    counts_as : mapping of int to (int or None)
        Terms that are learned as others, or, by None, not at all.
    stop_words : ndarray of int64
        The stop words of the collection.
    as_labels : PicturePairs
        Stop words where they were given as labels of their own; elsewhere they teach nothing.
    foreign : PicturePairs
        Words of captions in other languages, which teach nothing.
    labelled : ndarray of int64 or None
        Terms that enough pictures have as labels; None where there is no running text.
    least_in_text : int
        On how many pictures other terms must be.
    spelled : mapping of int to str
        How terms are spelled.
    """

    counts_as: Mapping[int, int | None] = field(default_factory=lambda: MappingProxyType({}))
    stop_words: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    as_labels: PicturePairs = _NO_PAIRS
    foreign: PicturePairs = _NO_PAIRS
    labelled: Ints | None = None
    least_in_text: int = LEAST_PICTURES
    spelled: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))

    def kept(self, picture: Ints, term: Ints) -> tuple[Ints, Ints]:
        """Return pairs without those that teach nothing."""
        silent = np.isin(term, self.stop_words)
        silent[silent] = ~self.as_labels.holds(picture[silent], term[silent])
        keep = ~(silent | self.foreign.holds(picture, term))
        return picture[keep], term[keep]

    def enough(self, terms: Ints, counts: Ints) -> Bools:
        """Return which terms are on enough pictures to be learned."""
        least = np.full(len(terms), LEAST_PICTURES)
        if self.labelled is not None:
            least[~np.isin(terms, self.labelled)] = self.least_in_text
        is_enough: Bools = counts >= least
        return is_enough


NO_EVIDENCE = Evidence()


def gather_evidence(reader: Reader, judgements: Iterable[Judgement] = ()) -> Evidence:
    """Return what the words of a version count as, those of judged queries among them."""
    table = word_forms(reader)
    judged = {t.text for q in {j.query for j in judgements} for t in parse(q).terms}
    counts_as: dict[int, int | None] = dict(table.counts_as(judged))
    stop_words = {w for w in (*table.counts, *judged) if table.lexicon.is_stop_word(w)}
    spelled = {term_id(w): w for w in table.counts}
    texts = reader.catalogue.has_texts()
    if not texts and not stop_words:
        return Evidence(counts_as, spelled=spelled)
    counted = _SourceCounts(table.language.name, frozenset(stop_words))
    for picture, words in groupby(reader.catalogue.every_words(), key=itemgetter(0)):
        counted.add(picture, [tags for _, tags in words])
    labelled = {t for t, n in counted.labelled.items() if n >= LEAST_PICTURES}
    stop = {term_id(w) for w in stop_words}
    counts_as |= dict.fromkeys(stop - labelled)
    named = {counts_as.get(t, t) for t in labelled}
    return Evidence(
        counts_as,
        np.array(sorted(stop), np.int64),
        PicturePairs.of(counted.as_labels),
        PicturePairs.of(counted.foreign),
        np.array(sorted(t for t in named if t is not None), np.int64) if texts else None,
        least_in_text(counted.texts),
        spelled,
    )


def least_in_text(texts: int) -> int:
    """Return on how many pictures a word of running text must be, by how many have running text.

    >>> [least_in_text(n) for n in (0, 800, 8_000, 100_000)]
    [2, 2, 3, 5]
    """
    return max(LEAST_PICTURES, len(str(texts)) - 1)


class _SourceCounts:
    """The terms of pictures by how they were given.

    Attributes
    ----------
    labelled : Counter
        How many pictures have each term as a label, or as a word of one.
    as_labels : list of tuple of (int, int)
        Pictures with stop words as labels of their own.
    foreign : list of tuple of (int, int)
        Pictures with terms that only captions in other languages have.
    texts : int
        How many pictures have running text in the language.
    """

    def __init__(self, language: str, stop_words: frozenset[str]) -> None:
        self._language, self._stop_words = language, stop_words
        self.labelled: Counter[int] = Counter()
        self.as_labels: list[tuple[int, int]] = []
        self.foreign: list[tuple[int, int]] = []
        self.texts = 0

    def add(self, picture: int, words: Sequence[Tags]) -> None:
        """Add all words of a picture."""
        tags = {tag for w in words for tag in w.tags}
        learned = {t for tag in tags for t in _terms_of_label(tag, self._stop_words)}
        self.labelled.update(learned)
        whole = {t for tag in tags for t in labels(tag)} if self._stop_words else set()
        self.as_labels += [(picture, term_id(t)) for t in whole & self._stop_words]
        own_texts = [w.text for w in words if w.text and self._is_own(w.source)]
        others = [w.text for w in words if w.text and not self._is_own(w.source)]
        self.texts += bool(own_texts)
        if others:
            own_terms = learned | {term_id(t) for text in own_texts for t in tokens(text)}
            silent = {term_id(t) for text in others for t in tokens(text)} - own_terms
            self.foreign += [(picture, t) for t in silent]

    def _is_own(self, source: str) -> bool:
        return language_of_source(source) in (None, self._language)


@lru_cache(1 << 16)
def _terms_of_label(tag: str, stop_words: frozenset[str]) -> tuple[int, ...]:
    """Return the terms of a tag; a stop word in it counts only if it is a label of its own."""
    whole = labels(tag)
    return tuple(term_id(t) for t in tag_terms(tag) if t in whole or t not in stop_words)
