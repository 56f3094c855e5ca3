"""Words of a query that no picture has, searched as the words that were probably meant.

A mistyped word is searched as the nearest word of the collection (`Spellings.correction`). A run of
a script without spaces is searched as the words of the collection that it is made of. Words of
which any picture has a form, synonyms of the owner, stop words, English nouns, words in quotes and
tags of several words are never corrected, and no correction makes a word required and excluded at
once. The answer names every correction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from heapq import nlargest
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from sightline.collection.lexicon import WordForms
from sightline.contracts import Json
from sightline.words.grammar import Query, Term

if TYPE_CHECKING:
    from sightline.words.spelling import Spellings

# From how many letters on one may be replaced, and how many words tell whether most are English.
_IN_ENGLISH, _IN_OTHERS, _FREQUENT = 4, 6, 200
# Kept as long as the words they are of.
_LETTERS: WeakKeyDictionary[WordForms, int] = WeakKeyDictionary()
_SPELLINGS: WeakKeyDictionary[WordForms, Spellings] = WeakKeyDictionary()


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


def spellings_of(table: WordForms) -> Spellings:
    """Return the spellings of all words of a version; stop words are none that is meant."""
    from sightline.words.spelling import Spellings

    spellings = _SPELLINGS.get(table)
    if spellings is None:
        is_stop_word = table.lexicon.is_stop_word
        spellings = Spellings((w, n) for w, n in table.counts.items() if not is_stop_word(w))
        _SPELLINGS[table] = spellings
    return spellings


def corrected(table: WordForms, query: Query) -> tuple[Query, tuple[Correction, ...]]:
    """Return a query with its mistyped words corrected, and the corrections."""
    words = (*(t.text for t in query.terms), *query.excluded)
    unknown = [w for w in words if w not in query.verbatim and not _is_known(table, w)]
    if not unknown:
        return query, ()
    spellings, letters = spellings_of(table), _replaceable(table)
    searched = {w: s for w in unknown if (s := spellings.words_meant(w, letters))}
    terms, excluded = _apply(query, searched)
    contradictory = {w for w in terms if w in excluded}
    if contradictory:
        searched = {w: s for w, s in searched.items() if not contradictory & set(s)}
        terms, excluded = _apply(query, searched)
    corrections = tuple(Correction(w, s) for w, s in searched.items())
    return replace(query, terms=tuple(terms.values()), excluded=tuple(excluded)), corrections


def _is_known(table: WordForms, word: str) -> bool:
    """Return whether a word is not to be corrected."""
    lexicon = table.lexicon
    of_owner = (*lexicon.synonyms.groups, lexicon.synonyms.separate)
    if " " in word or any(word in words for words in of_owner):
        return True
    return lexicon.is_known(word) or lexicon.is_stop_word(word) or _is_noun(word)


def _is_noun(word: str) -> bool:
    """Return whether a word is an English noun, which the collection happens to lack."""
    from sightline.words.nouns import noun_table

    return noun_table().noun(word) is not None


def _replaceable(table: WordForms) -> int:
    """Return the number of letters from which on one may be replaced in a correction.

    In a collection in English most words that are no noun are typos.
    """
    letters = _LETTERS.get(table)
    if letters is None:
        frequent = nlargest(_FREQUENT, table.counts, key=lambda w: table.counts[w])
        in_english = 2 * sum(map(_is_noun, frequent)) >= len(frequent)
        letters = _LETTERS[table] = _IN_ENGLISH if in_english else _IN_OTHERS
    return letters


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
