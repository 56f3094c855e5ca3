"""What learners may see of one fold: training triplets, and validation queries to choose by.

phi is learnt from training pictures. Triplets have training pictures only, and come by a law:

    pairs     every pair of a query and a relevant picture as often as any other; an other picture
              at random (the paper takes all relevant pictures and a sample of the others)
    queries   every query as often as any other, then a relevant and an other picture of it

A validation query ranks all other pictures of the dataset. Arrays that several methods need are
made once and kept as long as the fold is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sightline.combiners.examples import Lists
from sightline.reproduce.online.folds import Fold
from sightline.reproduce.online.lists import ranked_lists
from sightline.similarity.pairs import PairsOf, Phi
from sightline.solvers.picture_triplets import Law, PictureTriplets, of_classes

LAWS: tuple[Law, ...] = ("pairs", "queries")
_SHORT_QUERIES, _SHORT_OTHERS = 100, 400

Floats = NDArray[np.float32]
Int = NDArray[np.int64]
Views = tuple[Floats, ...]


@dataclass(eq=False)
class Task:
    """One fold of a dataset as learners see it.

    Attributes
    ----------
    fold : which pictures are for what.
    labels : the class of each picture.
    views : rows of every picture, one matrix for each descriptor.
    n_triplets : how many triplets there are to learn from.
    """

    fold: Fold
    labels: Int
    views: Views
    n_triplets: int = 200_000
    _kept: dict[tuple[Law, int], Drawn] = field(default_factory=dict)

    @cached_property
    def phi(self) -> Phi:
        """The comparison of pictures, learnt from training pictures."""
        return Phi.of(tuple(v[self.fold.train] for v in self.views))

    @cached_property
    def validation(self) -> Lists:
        """All other pictures for each validation query."""
        return ranked_lists(self.phi, self.views, self.labels, self.fold.validation)

    @cached_property
    def short(self) -> tuple[Floats, Floats, Int]:
        """Shorter lists of some validation queries, (X, y, qid), for those that look often."""
        random = np.random.default_rng(0)
        chosen = np.arange(min(_SHORT_QUERIES, len(self.validation)))
        rows = []
        for i in chosen.tolist():
            part = np.arange(self.validation.start[i], self.validation.start[i + 1])
            fits = self.validation.relevance[part] > 0
            n = min(_SHORT_OTHERS, int((~fits).sum()))
            rows.append(np.sort(np.append(part[fits], random.choice(part[~fits], n, False))))
        qid = np.repeat(chosen, [len(r) for r in rows])
        at = np.concatenate(rows)
        return self.validation.rows[at], self.validation.relevance[at].astype(np.float32), qid

    def drawn(self, law: Law, n: int | None = None) -> Drawn:
        """Return training triplets by a law, as many as the task has by default."""
        size = self.n_triplets if n is None else n
        found = self._kept.get((law, size))
        if found is None:
            found = Drawn(self.triplets(law, size), self.phi.over(self.views))
            self._kept[law, size] = found
        return found

    def triplets(self, law: Law, n: int) -> PictureTriplets:
        """Return n triplets of training pictures by a law; the same for the same fold."""
        train = self.fold.train
        return of_classes(
            self.labels, n, queries=train, pictures=train, law=law, random_state=self.fold.number
        )


@dataclass(eq=False)
class Drawn:
    """Triplets to learn from, in the forms that learners want them in."""

    triplets: PictureTriplets
    source: PairsOf
    _lists: dict[int, Lists] = field(default_factory=dict)

    @cached_property
    def differences(self) -> Floats:
        """x = phi(q, p1) - phi(q, p2) of each triplet."""
        t = self.triplets
        return self.source.differences(t.query, t.first, t.second, t.y)

    def lists_of(self, n: int | None = None) -> Lists:
        """Return the pictures of the first n triplets, or of all, by query."""
        size = len(self.triplets) if n is None else min(n, len(self.triplets))
        if size not in self._lists:
            self._lists[size] = Lists.of_triplets(_first(self.triplets, size), self.source)
        return self._lists[size]


def _first(triplets: PictureTriplets, n: int) -> PictureTriplets:
    t = triplets
    return PictureTriplets.of(t.query[:n], t.first[:n], t.second[:n], t.y[:n])
