"""Measures of answers to questions, on the measured pictures alone.

AvgP      of the whole ranking, without the cut-off; pictures that were not ranked count as not
          retrieved, so a question that gets no answer has 0
P10       relevant pictures among the first ten of that ranking, a tenth each
hits      relevant pictures among the first ten that are shown, above the cut-off
shown     how many of the first thirty places are filled
excluded  how many of these pictures have the word with the sign, for `minus` and `plus`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache

import numpy as np

from sightline._typing import Bools, Doubles, Ints
from sightline.collection import Collection
from sightline_experiments.one_shot import OneShotTestSet
from sightline_experiments.queries.pictures import WordedPictures
from sightline_experiments.queries.questions import Question

FIRST, FIRST_TEN = 30, 10


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Ids of pictures, best first: the whole ranking, and the first `FIRST` that are shown."""

    ranked: Ints
    shown: Ints


Ask = Callable[[str], Answer]


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """One number for each question."""

    avgp: Doubles
    p10: Doubles
    hits: Doubles
    shown: Doubles
    signed: Doubles
    ranked: Doubles
    signed_ranked: Doubles

    def only(self, keep: Bools) -> Measures:
        """Return the measures of some of the questions."""
        return Measures(*(getattr(self, f.name)[keep] for f in fields(self)))

    def share(self) -> float:
        """Return the share of shown pictures that have the word with the sign; NaN of none."""
        return _ratio(self.signed, self.shown)

    def share_uncut(self) -> float:
        """Return the same of the first places of the whole ranking, without the cut-off."""
        return _ratio(self.signed_ranked, self.ranked)


def _ratio(some: Doubles, all_of_them: Doubles) -> float:
    return float(some.sum() / all_of_them.sum()) if all_of_them.sum() else float("nan")


class QuestionTestSet(OneShotTestSet):
    """The words of the measured pictures, by which each method is measured once."""

    def __init__(self, pictures: WordedPictures, ids: Ints, questions: Sequence[Question]) -> None:
        super().__init__("pictures")
        measured = np.flatnonzero(pictures.measured)
        self.ids, self.questions = ids[measured], tuple(questions)
        self._having: dict[str, set[int]] = {}
        for i in measured.tolist():
            for w in pictures.words[i]:
                self._having.setdefault(w, set()).add(int(ids[i]))

    def measure(self, method: str, ask: Ask) -> tuple[Measures, Measures]:
        """Ask every question, and the plain one beside it; return the measures of both.

        A question without a plain one has its own measures in both.
        """
        self.claim(method, split=0)
        rows = []
        for q in self.questions:
            relevant = self._relevant(q)
            row = self._measured(q, ask(q.text), relevant)
            rows.append((row, self._measured(q, ask(q.plain), relevant) if q.plain else row))
        return _table([r for r, _ in rows]), _table([r for _, r in rows])

    def _relevant(self, q: Question) -> set[int]:
        having = [self._having.get(w, set()) for w in q.having]
        return set.intersection(*having).difference(
            *(self._having.get(w, set()) for w in q.lacking)
        )

    def _measured(self, q: Question, answer: Answer, relevant: set[int]) -> tuple[float, ...]:
        ranked, shown = (np.array([p in relevant for p in ids.tolist()], np.bool_)
                         for ids in (answer.ranked, answer.shown))  # fmt: skip
        signed = self._having.get(q.signed, set()) if q.signed else set()
        return (
            average_precision(ranked, len(relevant)),
            float(ranked[:FIRST_TEN].sum()) / FIRST_TEN,
            float(shown[:FIRST_TEN].sum()),
            float(len(shown)),
            float(sum(p in signed for p in answer.shown.tolist())),
            float(len(answer.ranked[:FIRST])),
            float(sum(p in signed for p in answer.ranked[:FIRST].tolist())),
        )


def average_precision(ranked: Bools, n_relevant: int) -> float:
    """Return the AvgP of a ranking that may lack relevant pictures.

    >>> average_precision(np.array([True, False]), 2)
    0.5
    """
    at = np.flatnonzero(ranked)
    return float(((np.arange(len(at)) + 1) / (at + 1)).sum() / n_relevant)


def _table(rows: Sequence[tuple[float, ...]]) -> Measures:
    return Measures(*np.array(rows, np.float64).reshape(len(rows), len(fields(Measures))).T)


def answers_of(collection: Collection, ids: Ints) -> Ask:
    """Return what asks a collection, as its owner does, for some of its pictures."""
    among = ids.tolist()

    @cache
    def ask(text: str) -> Answer:
        everything = collection.search(text, len(among), ids=among, cut=False)
        shown = collection.search(text, FIRST, ids=among)
        return Answer(*(np.array([h.picture for h in r.hits], np.int64)
                        for r in (everything, shown)))  # fmt: skip

    return ask
