"""Words with a plus or a minus on pictures without tags, where the word model predicts them.

An excluded word multiplies the probability of a picture by one minus its own. Pictures that show
it, and those where a required word is not predicted, go behind all others, below the cut-off.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats, Ints
from sightline.collection.models.word_model import WordModel
from sightline.collection.query import Constraint
from sightline.records import WordQuery
from sightline.store.snapshot import Snapshot

# From this share of its own cut-off on, an excluded word counts as shown. Chosen on pictures
# withheld from the training parts of Corel5K and Caltech-101.
SHOWS = 0.7
# What takes a picture behind all others.
BEHIND = 1e-3


class SignedWords:
    """The words with a sign of one query, and the model that predicts them.

    Attributes
    ----------
    constraints : sequence of Constraint
        The words that are predicted.
    """

    def __init__(
        self, snapshot: Snapshot, model: WordModel, constraints: Sequence[Constraint]
    ) -> None:
        self._snapshot, self._model = snapshot, model
        self.constraints = [c for c in constraints if c.predicted]

    def __bool__(self) -> bool:
        return bool(self.constraints)

    @cached_property
    def untagged(self) -> Ints:
        """Pictures without any tag, where words with a sign are predicted."""
        return self._snapshot.without_words()

    def scores_after(self, ids: Ints, likely: Floats) -> Floats:
        """Return the scores of pictures after words with a sign, from their probabilities."""
        factors = np.ones(len(ids))
        at = np.flatnonzero(np.isin(ids, self.untagged, assume_unique=True))
        for c in self.constraints if len(at) else ():
            factors[at] *= factors_of(c, *self.predicted(c, ids[at]))
        return (likely * factors).astype(np.float32)

    def predicted(self, c: Constraint, ids: Ints) -> tuple[Doubles, float]:
        """Return the probability of a word on pictures, and its own cut-off.

        A picture that lacks a feature of the model has the probability 0.
        """
        query = self._model.query(np.array([c.term], np.int64), [1.0], (c.forms,))
        candidates = np.sort(ids)
        top = self._snapshot.top(query, len(candidates), candidates, self._model.more)
        likely = np.zeros(len(ids))
        scored = self._model.probability(query, top.scores)
        order = np.argsort(top.ids)
        here = np.isin(ids, top.ids)
        likely[here] = scored[order[np.searchsorted(top.ids[order], ids[here])]]
        return likely, least_probability(self._snapshot, self._model, query)


def factors_of(c: Constraint, likely: Doubles, cutoff: float) -> NDArray[np.float64]:
    """Return what a word with a sign multiplies the probability of pictures by."""
    if c.required:
        return np.where(likely < cutoff, BEHIND, 1.0)
    return (1.0 - likely) * np.where(likely < SHOWS * cutoff, 1.0, BEHIND)


def least_probability(snapshot: Snapshot, model: WordModel, query: WordQuery) -> float:
    """Return the cut-off of a query as a probability.

    It may depend on the best picture that has none of the predicting words, whatever the filters.
    """
    tagged_with = snapshot.tagged_with(np.concatenate(query.groups).tolist(), every=False)
    best = snapshot.top(query, 1, None, model.more, tagged_with).scores
    least = model.least(query, float(best[0])) if len(best) else -np.inf
    return float(model.probability(query, least))
