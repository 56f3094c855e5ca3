"""What learners may see of one fold: training triplets, and validation queries to choose by.

phi is learnt from training pictures. Triplets have training pictures only, and come by a law:

    pairs     every pair of a query and a relevant picture as often as any other; an other picture
              at random (the paper takes all relevant pictures and a sample of the others)
    queries   every query as often as any other, then a relevant and an other picture of it

A validation query ranks all other pictures of the dataset. Arrays that several methods need are
made once and kept as long as the fold is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sightline._typing import Floats, Ints
from sightline.combiners.examples import JudgedLists, Source
from sightline.similarity.context import SAMPLE, Context, PairsInContext
from sightline.similarity.pairs import Phi
from sightline.solvers.picture_triplets import Law, PictureTriplets, of_classes
from sightline_experiments.online.folds import Fold
from sightline_experiments.online.lists import ranked_lists

LAWS: tuple[Law, ...] = ("pairs", "queries")
_SHORT_QUERIES, _SHORT_OTHERS = 100, 400

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
    in_context : phi is against what is usual for each picture (`similarity.context`).
    n_sample : training pictures that tell what is usual.
    """

    fold: Fold
    labels: Ints
    views: Views
    n_triplets: int = 200_000
    in_context: bool = False
    n_sample: int = SAMPLE
    _kept: dict[tuple[Law, int], Drawn] = field(default_factory=dict, init=False)

    @cached_property
    def phi(self) -> Phi:
        """The comparison of pictures, learnt from training pictures."""
        return Phi.of(tuple(v[self.fold.train] for v in self.views))

    @cached_property
    def usual(self) -> Context | None:
        """What is usual for each picture, learnt from training pictures; None if not wanted."""
        if not self.in_context:
            return None
        random = np.random.default_rng(self.fold.number)
        train = self.fold.train
        sample = np.sort(random.choice(train, min(self.n_sample, len(train)), replace=False))
        return Context.of(self.phi, self.views, sample)

    @property
    def source(self) -> Source:
        """phi of pictures by their positions, as learners want it."""
        pairs = self.phi.over(self.views)
        return pairs if self.usual is None else PairsInContext(pairs, self.usual)

    def lists(self, queries: Ints) -> JudgedLists:
        """Return phi of each query with all other pictures; those of its class are relevant."""
        return ranked_lists(self.phi, self.views, self.labels, queries, self.usual)

    @cached_property
    def validation(self) -> JudgedLists:
        """All other pictures for each validation query."""
        return self.lists(self.fold.validation)

    @cached_property
    def short(self) -> tuple[Floats, Floats, Ints]:
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
            found = Drawn(self.triplets(law, size), self.source)
            self._kept[law, size] = found
        return found

    def triplets(self, law: Law, n: int) -> PictureTriplets:
        """Return n triplets of training pictures by a law; the same for the same fold."""
        train = self.fold.train
        return of_classes(
            self.labels, n, queries=train, pictures=train, law=law, random_state=self.fold.number
        )


def choose_task(plain: Task, queries: Ints) -> Task:
    """Return the task, or the same in context, by which some validation queries rank better.

    All similarities count equally.
    """
    usual = replace(plain, in_context=True)
    worth = [lists.mean_avgp(lists.rows.sum(axis=1)) for lists in
             (task.lists(queries) for task in (plain, usual))]  # fmt: skip
    return usual if worth[1] > worth[0] else plain


@dataclass(eq=False)
class Drawn:
    """Triplets to learn from, in the forms that learners want them in."""

    triplets: PictureTriplets
    source: Source
    _lists: dict[int, JudgedLists] = field(default_factory=dict)

    @cached_property
    def differences(self) -> Floats:
        """x = phi(q, p1) - phi(q, p2) of each triplet."""
        t = self.triplets
        return self.source.differences(t.query, t.first, t.second, t.y)

    def lists_of(self, n: int | None = None) -> JudgedLists:
        """Return the pictures of the first n triplets, or of all, by query."""
        size = len(self.triplets) if n is None else min(n, len(self.triplets))
        if size not in self._lists:
            self._lists[size] = JudgedLists.of_triplets(_first(self.triplets, size), self.source)
        return self._lists[size]


def _first(triplets: PictureTriplets, n: int) -> PictureTriplets:
    t = triplets
    return PictureTriplets.of(t.query[:n], t.first[:n], t.second[:n], t.y[:n])
