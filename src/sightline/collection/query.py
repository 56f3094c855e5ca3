"""A query in words as one version of a collection resolves it.

Pictures that have the words as tags are matched by every word. The predicted part is asked for the
words the model has learned alone: a word on a single picture, beyond the vocabulary limit or never
seen says nothing of pictures without tags, and would otherwise silence the words that do. Those
words are named in the answer, with how many pictures have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightline._typing import Ints
from sightline.contracts import Json
from sightline.store.folder import Reader
from sightline.store.snapshot import Snapshot
from sightline.words.grammar import Query
from sightline.words.term_ids import term_id

if TYPE_CHECKING:
    from sightline.collection.models.word_model import WordModel


# A long text may hold hundreds of words that were not learned; a message names so many.
_NAMED = 12


@dataclass(frozen=True, slots=True)
class NotLearned:
    """A word of a query that the model has not learned, and on how many pictures it is."""

    word: str
    pictures: int

    def __str__(self) -> str:
        many = f"{self.pictures:,}" if self.pictures else "no"
        return f"{self.word} (on {many} picture{'s' * (self.pictures > 1)})"

    def to_dict(self) -> dict[str, Json]:
        """Return the word as JSON."""
        return {"word": self.word, "pictures": self.pictures}


@dataclass(frozen=True, slots=True)
class Constraint:
    """A word with a plus or a minus, and what decides on it.

    Tags decide on every picture that has any. On pictures without tags a learned word is predicted.
    A required word must reach its own cut-off. An excluded word multiplies the probability of the
    hit by one minus its own. Pictures without the required word, and those that show the excluded
    one, go behind all others, below the cut-off.

    Attributes
    ----------
    word : str
        The word without its sign.
    required : bool
        True for a plus, false for a minus.
    tagged : int
        How many pictures have it as a tag.
    predicted : bool
        Whether it is predicted on pictures without tags.
    """

    word: str
    required: bool
    tagged: int
    predicted: bool

    @property
    def term(self) -> int:
        """The id of the word."""
        return term_id(self.word)

    def to_dict(self) -> dict[str, Json]:
        """Return the constraint as JSON."""
        return {
            "word": self.word, "required": self.required, "tagged": self.tagged,
            "predicted": self.predicted,
        }  # fmt: skip

    def __str__(self) -> str:
        many = f"{self.tagged:,} picture{'s' * (self.tagged != 1)}"
        how = "by tags" + " where there are tags, else by prediction" * self.predicted
        return f"{'+' if self.required else '-'}{self.word} {how} (tag on {many})"


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedQuery:
    """The words of a query that hits should have, by what is known of them.

    Attributes
    ----------
    terms : ndarray of int64
        Of the words that any picture has.
    weights : tuple of float
        Of the words that any picture has.
    unknown : tuple of str
        Words that no picture has.
    required : tuple of int
        Terms that hits must have.
    model : WordModel or None
        The model of words; None without one, where it was left out, and where none of `terms` was
        learned.
    learned : ndarray of int64
        Those of `terms` that the model has learned.
    learned_weights : tuple of float
        Those of `terms` that the model has learned.
    not_learned : tuple of NotLearned
        Words that the model has not learned; empty where no model was asked.
    predicted : bool or None
        Whether there is a predicted part: false if no word of `terms` was learned, None if no model
        was asked.
    constraints : tuple of Constraint
        Words that hits must or must not show.
    """

    terms: Ints
    weights: tuple[float, ...]
    unknown: tuple[str, ...]
    required: tuple[int, ...]
    model: WordModel | None
    learned: Ints
    learned_weights: tuple[float, ...]
    not_learned: tuple[NotLearned, ...] = ()
    predicted: bool | None = None
    constraints: tuple[Constraint, ...] = ()

    @classmethod
    def of(cls, reader: Reader, query: Query, use_model: bool = True) -> ResolvedQuery:
        """Look the words of a query up in a version, and in its model if that is to be used."""
        snapshot, terms = reader.snapshot, query.terms
        every = np.array([term_id(t.text) for t in terms], np.int64)
        in_use = snapshot.in_use(every)
        model = _model(reader) if use_model else None
        learned = model.knows(every) if model is not None else np.zeros(len(every), bool)
        missing = [t.text for t, k in zip(terms, learned, strict=True) if not k]
        # A word whose last picture lost it since the training is gone, whatever the model knows.
        known = learned & in_use
        return cls(
            every[in_use],
            tuple(t.weight for t, c in zip(terms, in_use, strict=True) if c),
            tuple(t.text for t, c in zip(terms, in_use, strict=True) if not c),
            tuple(term_id(t.text) for t in terms if t.required),
            model if known.any() else None,
            every[known],
            tuple(t.weight for t, k in zip(terms, known, strict=True) if k),
            () if model is None else count_not_learned(snapshot, missing),
            None if model is None else bool(known.any()),
            _constraints(snapshot, query, model if known.any() else None),
        )


def _constraints(
    snapshot: Snapshot, query: Query, model: WordModel | None
) -> tuple[Constraint, ...]:
    words = [(t.text, True) for t in query.terms if t.required]
    words += [(text, False) for text in query.excluded]
    terms = np.array([term_id(text) for text, _ in words], np.int64)
    learned = model.knows(terms) if model is not None else np.zeros(len(terms), bool)
    return tuple(
        Constraint(text, required, len(snapshot.tagged_with([term], every=True)), bool(known))
        for (text, required), term, known in zip(words, terms.tolist(), learned, strict=True)
    )


def _model(reader: Reader) -> WordModel | None:
    if not reader.snapshot.model:
        return None
    from sightline.collection.models.word_model import load_word_model

    return load_word_model(reader.store_folder, reader.snapshot.model)


def count_not_learned(snapshot: Snapshot, words: Sequence[str]) -> tuple[NotLearned, ...]:
    """Return words that were not learned, in their order, with how many pictures have each."""
    terms, counts = snapshot.vocabulary()
    n_pictures = dict(zip(terms.tolist(), counts.tolist(), strict=True)) if words else {}
    return tuple(NotLearned(w, n_pictures.get(term_id(w), 0)) for w in words)


def not_learned_lines(words: Sequence[NotLearned], predicted: bool | None) -> list[str]:
    """Say which words of a query were not learned, and whether anything is predicted without them.

    >>> not_learned_lines([NotLearned("bathes", 1), NotLearned("xyzzy", 0)], True)
    ['not learned: bathes (on 1 picture), xyzzy (on no picture)']
    >>> not_learned_lines([NotLearned("bathes", 2)], False)[1]
    'nothing is predicted: the model has learned none of the words'
    """
    if not words:
        return []
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    lines = [f"not learned: {', '.join(map(str, words[:_NAMED]))}{more}"]
    if predicted is False:
        lines.append("nothing is predicted: the model has learned none of the words")
    return lines
