"""A query in words as one version of a collection resolves it.

Pictures that have the words as tags are matched by every word. The predicted part is asked for the
words the model has learned alone: a word on a single picture, beyond the vocabulary limit or never
seen says nothing of pictures without tags, and would otherwise silence the words that do. Those
words are named in the answer, with how many pictures have them and learned words near them.
Mistyped words are corrected before anything else (`corrections`).

Each word stands for all its forms (`lexicon`): a picture that is tagged with any of them has the
word. A word in quotes is its own form alone; what is predicted for it is predicted for the word.
Stop words are left out, unless there are no others: then they are searched as they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sightline._typing import Ints
from sightline.collection.corrections import Correction, corrected
from sightline.collection.lexicon import WordForms, word_forms
from sightline.contracts import Json
from sightline.errors import QueryError
from sightline.records import NOT_YET_PROVEN
from sightline.store.folder import Reader
from sightline.store.snapshot import Snapshot
from sightline.words.grammar import Query, Term
from sightline.words.term_ids import term_id

if TYPE_CHECKING:
    from sightline.collection.models.word_model import WordModel


# A long text may hold hundreds of words that were not learned; a message names so many.
_NAMED = 12


@dataclass(frozen=True, slots=True)
class NotLearned:
    """A word of a query that the model has not learned, and on how many pictures it is.

    `near` are words near it that the model has learned.
    """

    word: str
    pictures: int
    near: tuple[str, ...] = ()

    def __str__(self) -> str:
        many = f"{self.pictures:,}" if self.pictures else "no"
        return f"{self.word} (on {many} picture{'s' * (self.pictures > 1)})"

    def to_dict(self) -> dict[str, Json]:
        """Return the word as JSON."""
        return {"word": self.word, "pictures": self.pictures, "near": [*self.near]}


@dataclass(frozen=True, slots=True)
class Unproven:
    """A word of a query that too few held-out pictures measure, learned from `pictures`.

    Hits that it predicts show no probability.

    >>> str(Unproven("scarlet", 3))
    'scarlet (learned from 3 pictures)'
    """

    word: str
    pictures: int

    def __str__(self) -> str:
        return f"{self.word} (learned from {self.pictures} picture{'s' * (self.pictures != 1)})"

    def to_dict(self) -> dict[str, Json]:
        """Return the word as JSON."""
        return {"word": self.word, "pictures": self.pictures}


def unproven_lines(words: Sequence[Unproven]) -> list[str]:
    """Say which words show no probability, and what to do.

    >>> unproven_lines([Unproven("scarlet", 3)])[0]
    'not yet proven: scarlet (learned from 3 pictures); its hits show no probability'
    """
    if not words:
        return []
    its = "its" if len(words) == 1 else "their"
    return [
        f"{NOT_YET_PROVEN}: {', '.join(map(str, words[:_NAMED]))}; {its} hits show no probability",
        "to prove a word, judge more pictures that fit and train again",
    ]


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
    forms : ndarray of int64
        The ids of the tags that count as it.
    term : int
        The term that the model predicts it by.
    """

    word: str
    required: bool
    tagged: int
    predicted: bool
    forms: Ints
    term: int

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


@dataclass(frozen=True, slots=True)
class Wording:
    """How the words of a query were taken where that is not as they were written.

    Attributes
    ----------
    stop_words : tuple of str
        Words that were left out because they say nothing of a picture.
    only_stop_words : bool
        Whether there were no others, so that they were searched as they are written.
    verbatim : tuple of tuple of str
        Words in quotes with the forms that the predictions stand for.
    of_text : bool
        Whether a whole text was asked, which has no syntax to search them.
    """

    stop_words: tuple[str, ...] = ()
    only_stop_words: bool = False
    verbatim: tuple[tuple[str, ...], ...] = ()
    of_text: bool = False

    def lines(self) -> list[str]:
        """Say what was left out and what was taken as it is written.

        >>> Wording(("a", "of"), verbatim=(("dogs", "dog"),)).lines()[0]
        'stop words left out: a, of (in quotes they are searched)'
        >>> Wording(("a", "of"), verbatim=(("dogs", "dog"),)).lines()[1]
        '"dogs" matches this form alone; predictions are for dogs, dog'
        >>> Wording(tuple(f"the{i}" for i in range(14)), of_text=True).lines()[0][:38]
        '14 stop words left out: the0, the1, th'
        """
        more = f" and {len(self.stop_words) - _NAMED} more" if len(self.stop_words) > _NAMED else ""
        named = ", ".join(self.stop_words[:_NAMED]) + more
        lines = [f"stop words left out: {named} (in quotes they are searched)"] if named else []
        if lines and self.of_text:
            many = len(self.stop_words)
            lines = [f"{many} stop word{'s' * (many != 1)} left out: {named}"]
        if self.only_stop_words:
            lines = ["all words are stop words: searched as they are written, nothing is predicted"]
        return lines + [
            f'"{word}" matches this form alone; predictions are for {", ".join((word, *others))}'
            for word, *others in self.verbatim
        ]

    def to_dict(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "stop_words": list[Json](self.stop_words),
            "only_stop_words": self.only_stop_words,
            "verbatim": [list[Json](forms) for forms in self.verbatim],
            "lines": list[Json](self.lines()),
        }


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedQuery:
    """The words of a query that hits should have, by what is known of them.

    Attributes
    ----------
    words : tuple of str
        The words that any picture has, as they are written.
    terms : ndarray of int64
        One of each of these words, the most frequent form.
    forms : tuple of ndarray of int64
        For each of these words the tags that count as it.
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
        The terms that the model has learned for `words`, each once.
    learned_weights : tuple of float
        The weight of each.
    learned_forms : tuple of ndarray of int64
        For each the tags that count as it.
    learned_at : ndarray of int64
        For each of `words` its place in `learned`; -1 for one that was not learned.
    not_learned : tuple of NotLearned
        Words that the model has not learned; empty where no model was asked.
    predicted : bool or None
        Whether there is a predicted part: false if no word of `terms` was learned, None if no model
        was asked.
    constraints : tuple of Constraint
        Words that hits must or must not show.
    query : Query
        The query after corrections.
    corrections : tuple of Correction
        Words that were searched in place of mistyped ones.
    wording : Wording
        How the words were taken.
    unproven : tuple of Unproven
        Words that predict and are not yet proven.
    """

    words: tuple[str, ...]
    terms: Ints
    forms: tuple[Ints, ...]
    weights: tuple[float, ...]
    unknown: tuple[str, ...]
    required: tuple[int, ...]
    model: WordModel | None
    learned: Ints
    learned_weights: tuple[float, ...]
    learned_forms: tuple[Ints, ...]
    learned_at: Ints
    not_learned: tuple[NotLearned, ...] = ()
    predicted: bool | None = None
    constraints: tuple[Constraint, ...] = ()
    wording: Wording = Wording()
    query: Query = field(default_factory=Query)
    corrections: tuple[Correction, ...] = ()
    unproven: tuple[Unproven, ...] = ()

    @property
    def rare_forms(self) -> list[tuple[Ints, Ints]]:
        """For each of `words` that was not learned its tags, and those of all other words.

        Empty where no model was asked, or nothing is predicted.
        """
        if not self.predicted:
            return []
        places = range(len(self.words))
        return [
            (self.forms[i], np.concatenate([self.forms[j] for j in places if j != i]))
            for i in places
            if self.learned_at[i] < 0
        ]

    @classmethod
    def of(cls, reader: Reader, query: Query, use_model: bool = True) -> ResolvedQuery:
        """Look the words of a query up in a version, and in its model if that is to be used."""
        table = word_forms(reader)
        query, corrections = corrected(table, query)
        asked, wording = _asked(query, table)
        model = None
        if use_model and reader.snapshot.model:
            from sightline.collection.models.online import load_updated_model

            model = load_updated_model(reader)
        resolver = _Resolver(reader.snapshot, table, model, query)
        words = resolver.words(asked)
        known = [w for w in words if len(w.forms)]
        learned: dict[int, _Word] = {}
        for w in known:
            # Words that always occur together are one to the model.
            if w.learned is not None:
                learned[w.learned] = w.joined(learned.get(w.learned))
        places = {term: at for at, term in enumerate(learned)}
        at = [-1 if w.learned is None else places[w.learned] for w in known]
        only_tags = wording.only_stop_words
        in_use = model if learned and not only_tags else None
        missing = [w for w in words if w.learned is None]
        constraints = resolver.constraints(asked, in_use)
        return cls(
            tuple(w.text for w in known),
            np.array([w.forms[0] for w in known], np.int64),
            tuple(w.forms for w in known),
            tuple(w.weight for w in known),
            tuple(w.text for w in words if not len(w.forms)),
            tuple(
                int(w.forms[0]) if len(w.forms) else term_id(w.text) for w in words if w.required
            ),
            in_use,
            np.array(list(learned), np.int64),
            tuple(w.weight for w in learned.values()),
            tuple(w.forms for w in learned.values()),
            np.array(at, np.int64),
            () if model is None or only_tags else resolver.not_learned(missing),
            None if model is None or only_tags else bool(learned),
            constraints,
            replace(wording, verbatim=resolver.verbatim(words) if in_use is not None else ()),
            query,
            corrections,
            () if in_use is None else resolver.unproven(known, constraints),
        )


class _Word(NamedTuple):
    """A word of a query: tags that count as it, and the term that the model learned for it."""

    text: str
    weight: float
    required: bool
    forms: Ints
    learned: int | None

    def joined(self, earlier: _Word | None) -> _Word:
        """Return it with the tags and the larger weight of an earlier one learned as it."""
        if earlier is None:
            return self
        return self._replace(
            forms=np.union1d(self.forms, earlier.forms), weight=max(self.weight, earlier.weight)
        )


def _asked(query: Query, table: WordForms) -> tuple[Sequence[Term], Wording]:
    """Return the words of a query without stop words, and how it was taken."""

    def says_nothing(term: Term) -> bool:
        plain = not term.required and term.text not in query.verbatim
        return plain and table.lexicon.is_stop_word(term.text)

    left_out = [t for t in query.terms if says_nothing(t)]
    if left_out and len(left_out) == len(query.terms):
        return query.terms, Wording(only_stop_words=True)
    kept = [t for t in query.terms if t not in left_out]
    return kept, Wording(tuple(t.text for t in left_out))


class _Resolver:
    """Looks the words of one query up in a version and its model."""

    def __init__(
        self, snapshot: Snapshot, table: WordForms, model: WordModel | None, query: Query
    ) -> None:
        self.snapshot, self.table, self.model, self.query = snapshot, table, model, query

    def words(self, terms: Sequence[Term]) -> list[_Word]:
        """Return the words; several forms of one word count once, with the last weight."""
        joined = self._joined(terms)
        words: dict[object, _Word] = {}
        for term in terms:
            every = self.table.terms_of(term.text)
            forms = self._own(term.text) if self.is_verbatim(term.text) else every
            learned = self._learned(term.text, every)
            key = term.text if self.is_verbatim(term.text) or not len(forms) else int(forms[0])
            forms = np.concatenate([forms, *joined.get(term.text, ())])
            before = words.get(key)
            required = term.required or (before is not None and before.required)
            text = term.text if before is None else before.text
            words[key] = _Word(text, term.weight, required, forms, learned)
        return list(words.values())

    def constraints(self, terms: Sequence[Term], model: WordModel | None) -> tuple[Constraint, ...]:
        """Return what is to be said of each word with a sign."""
        signed = [(t.text, True) for t in terms if t.required]
        signed += [(text, False) for text in self.query.excluded]
        self._check_apart(terms)
        return tuple(self._constraint(text, required, model) for text, required in signed)

    def _constraint(self, text: str, required: bool, model: WordModel | None) -> Constraint:
        every = self.table.terms_of(text)
        forms = self._own(text) if self.is_verbatim(text) else every
        learned = None if model is None else self._learned(text, every)
        tagged = len(self.snapshot.tagged_with(forms.tolist(), every=False))
        return Constraint(text, required, tagged, learned is not None, forms, learned or 0)

    def _check_apart(self, terms: Sequence[Term]) -> None:
        """Raise if one form of a word has a minus and another has none."""
        wanted = {
            int(forms[0]): t.text
            for t in terms
            if not self.is_verbatim(t.text) and len(forms := self.table.terms_of(t.text))
        }
        for text in self.query.excluded:
            forms = self.table.terms_of(text)
            if len(forms) and not self.is_verbatim(text) and int(forms[0]) in wanted:
                raise QueryError(
                    f"{wanted[int(forms[0])]!r} and {text!r} are forms of one word, and one of "
                    f'them has a minus. Write -"{text}" for that form alone.'
                )

    def not_learned(self, words: Sequence[_Word]) -> tuple[NotLearned, ...]:
        """Return words without a prediction, how many pictures have them, and words near them."""
        from sightline.collection.near_words import near_learned

        out = []
        for at, w in enumerate(words):
            pictures = self.snapshot.tagged_with(w.forms.tolist(), every=False)
            near: tuple[str, ...] = ()
            if self.model is not None and at < _NAMED:
                near = near_learned(self.table, self.snapshot, self.model, w.text, pictures)
            out.append(NotLearned(w.text, len(pictures), near))
        return tuple(out)

    def unproven(
        self, words: Sequence[_Word], constraints: Sequence[Constraint]
    ) -> tuple[Unproven, ...]:
        """Return words that predict, with a sign or without, and are not yet proven."""
        learned = {w.learned: w.text for w in words if w.learned is not None}
        learned |= {c.term: c.word for c in constraints if c.predicted and c.term not in learned}
        model = self.model
        if model is None or not len(model.unproven):
            return ()
        few = set(model.unproven.tolist())
        return tuple(Unproven(w, model.n_pictures(t)) for t, w in learned.items() if t in few)

    def verbatim(self, words: Sequence[_Word]) -> tuple[tuple[str, ...], ...]:
        """Return words in quotes whose predictions stand for other forms too, with these."""
        out = []
        for w in words:
            known = self.table.lookup(w.text) if w.learned is not None else None
            if w.text in self.query.verbatim and known is not None and len(known.forms) > 1:
                out.append((w.text, *(f for f in known.forms if f != w.text)))
        return tuple(out)

    def is_verbatim(self, text: str) -> bool:
        """Say whether a word is searched as it is written: in quotes, or a tag of several words."""
        return text in self.query.verbatim or " " in text

    def _own(self, text: str) -> Ints:
        term = np.array([term_id(text)], np.int64)
        return term[self.snapshot.in_use(term)]

    def _learned(self, text: str, forms: Ints) -> int | None:
        if self.model is None or not len(forms):
            return None
        return self.model.learned_term([term_id(text), *forms.tolist()])

    def _joined(self, terms: Sequence[Term]) -> dict[str, list[Ints]]:
        """Return tags in one word of two that follow each other: `ice cream` of icecream."""
        joined: dict[str, list[Ints]] = {}
        for a, b in pairwise(t.text for t in terms):
            if self.is_verbatim(a) or self.is_verbatim(b):
                continue
            known = self.table.lookup(a + b)
            for form in known.forms if known is not None else ():
                if " " not in form:
                    tag = np.array([term_id(form)], np.int64)
                    joined.setdefault(a, []).append(tag)
                    joined.setdefault(b, []).append(tag)
        return joined


def count_not_learned(snapshot: Snapshot, words: Sequence[str]) -> tuple[NotLearned, ...]:
    """Return words that were not learned, in their order, with how many pictures have each."""
    terms, counts = snapshot.vocabulary()
    n_pictures = dict(zip(terms.tolist(), counts.tolist(), strict=True)) if words else {}
    return tuple(NotLearned(w, n_pictures.get(term_id(w), 0)) for w in words)


def not_learned_lines(words: Sequence[NotLearned], predicted: bool | None) -> list[str]:
    """Say which words of a query were not learned, and whether anything is predicted without them.

    Learned words are offered for those that pictures have; for others, `UnknownWord` offers some.

    >>> not_learned_lines([NotLearned("bathes", 1), NotLearned("xyzzy", 0)], True)
    ['not learned: bathes (on 1 picture), xyzzy (on no picture)']
    >>> not_learned_lines([NotLearned("bathes", 1, ("bath", "water"))], True)[1]
    'learned words near bathes: bath, water'
    >>> not_learned_lines([NotLearned("bathes", 2)], False)[1]
    'nothing is predicted: the model has learned none of the words'
    """
    if not words:
        return []
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    lines = [f"not learned: {', '.join(map(str, words[:_NAMED]))}{more}"]
    offered = (w for w in words[:_NAMED] if w.near and w.pictures)
    lines += [f"learned words near {w.word}: {', '.join(w.near)}" for w in offered]
    if predicted is False:
        lines.append("nothing is predicted: the model has learned none of the words")
    return lines
