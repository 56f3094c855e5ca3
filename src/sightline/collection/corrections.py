"""Words of a query that no picture has, searched as the words that were probably meant.

A mistyped word is searched as the nearest word of the collection (`Spellings.correction`). A run of
a script without spaces is searched as the words of the collection that it is made of. Words that
any picture has, words in quotes and tags of several words are never corrected, and no correction
makes a word required and excluded at once. The answer names every correction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from sightline.contracts import Json
from sightline.store.folder import Reader, StoreFolder
from sightline.words.grammar import Query, Term
from sightline.words.term_ids import term_id

if TYPE_CHECKING:
    from sightline.words.spelling import Spellings

# The spellings of the version that a store served last.
_SERVED: WeakKeyDictionary[StoreFolder, tuple[int, Spellings]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Correction:
    """A word of a query that no picture has, and the words that were searched in its place."""

    typed: str
    searched: tuple[str, ...]

    def __str__(self) -> str:
        return f"searched {' '.join(self.searched)} for {self.typed}"

    def to_dict(self) -> dict[str, Json]:
        """Return the correction as JSON."""
        return {"typed": self.typed, "searched": [*self.searched]}

    @classmethod
    def from_dict(cls, text: Json) -> Correction:
        """Return the correction of `to_dict`."""
        assert isinstance(text, dict) and isinstance(text["searched"], list)
        return cls(str(text["typed"]), tuple(map(str, text["searched"])))


def correction_lines(corrections: Iterable[Correction]) -> list[str]:
    """Say what was searched in place of mistyped words, and how to search them as typed.

    >>> correction_lines([Correction("dgo", ("dog",))])
    ['searched dog for dgo; to search dgo as typed, put it in quotes: "dgo"']
    """
    return [
        f'{c}; to search {c.typed} as typed, put it in quotes: "{c.typed}"' for c in corrections
    ]


def spellings_of(reader: Reader) -> Spellings:
    """Return the spellings of all words that pictures of a version have."""
    from sightline.words.spelling import Spellings

    version, spellings = _SERVED.get(reader.store_folder, (-1, None))
    if spellings is None or version != reader.snapshot.version:
        terms, counts = reader.snapshot.vocabulary()
        count_of = dict(zip(terms.tolist(), counts.tolist(), strict=True))
        spelled = ((t, count_of[i]) for i, t in reader.catalogue.terms() if i in count_of)
        spellings = Spellings(spelled)
        _SERVED[reader.store_folder] = reader.snapshot.version, spellings
    return spellings


def corrected(reader: Reader, query: Query) -> tuple[Query, tuple[Correction, ...]]:
    """Return a query with its mistyped words corrected, and the corrections."""
    words = [*(t.text for t in query.terms), *query.excluded]
    unknown = _unknown(reader, [w for w in words if w not in query.verbatim and " " not in w])
    if not unknown:
        return query, ()
    spellings = spellings_of(reader)
    searched = {w: s for w in unknown if (s := spellings.words_meant(w))}
    terms, excluded = _apply(query, searched)
    contradictory = {w for w in terms if w in excluded}
    if contradictory:
        searched = {w: s for w, s in searched.items() if not contradictory & set(s)}
        terms, excluded = _apply(query, searched)
    corrections = tuple(Correction(w, s) for w, s in searched.items())
    return replace(query, terms=tuple(terms.values()), excluded=tuple(excluded)), corrections


def _unknown(reader: Reader, words: Sequence[str]) -> list[str]:
    """Return the words that no picture has."""
    in_use = reader.snapshot.in_use(np.array([term_id(w) for w in words], np.int64))
    return [w for w, known in zip(words, in_use, strict=True) if not known]


def _apply(
    query: Query, searched: dict[str, tuple[str, ...]]
) -> tuple[dict[str, Term], dict[str, None]]:
    """Return terms and excluded words after corrections; doubled words are merged as in `parse`."""
    terms: dict[str, Term] = {}
    for term in query.terms:
        for word in searched.get(term.text, (term.text,)):
            required = term.required or (word in terms and terms[word].required)
            terms[word] = Term(word, term.weight, required)
    excluded = [w for x in query.excluded for w in searched.get(x, (x,))]
    return terms, dict.fromkeys(excluded)
