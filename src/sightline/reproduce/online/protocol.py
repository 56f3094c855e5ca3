"""What learners may see of one fold: training triplets, and validation queries to choose by.

phi is learnt from training pictures. Triplets have training pictures only, and come by a law:

    pairs     every pair of a query and a relevant picture as often as any other; an other picture
              at random (the paper takes all relevant pictures and a sample of the others)
    queries   every query as often as any other, then a relevant and an other picture of it
    near      as `queries`, but the other picture is the nearest of some, by all measures alike

A validation query ranks all other pictures of the dataset. Arrays that several methods need are
made once and kept as long as the fold is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sightline.combiners.examples import Lists
from sightline.errors import ParameterError
from sightline.reproduce.online.folds import Fold
from sightline.similarity.pairs import PairsOf, Phi
from sightline.solvers.picture_triplets import PictureTriplets, of_classes

LAWS = ("pairs", "queries", "near")
# Others among which `near` takes the nearest.
_SOME = 4
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
    _kept: dict[tuple[str, int], Drawn] = field(default_factory=dict)

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

    def drawn(self, law: str, n: int | None = None) -> Drawn:
        """Return training triplets by a law, as many as the task has by default."""
        size = self.n_triplets if n is None else n
        found = self._kept.get((law, size))
        if found is None:
            found = Drawn(self._triplets(law, size), self.phi.over(self.views))
            self._kept[law, size] = found
        return found

    def _triplets(self, law: str, n: int) -> PictureTriplets:
        if law not in LAWS:
            raise ParameterError.of("law", "Task", f"one of {LAWS}", law)
        train = self.fold.train
        if law != "near":
            return of_classes(
                self.labels, n, queries=train, pictures=train, law="pairs" if law == "pairs" else
                "queries", random_state=self.fold.number,
            )  # fmt: skip
        return self._near(n)

    def _near(self, n: int) -> PictureTriplets:
        """Draw some others for each relevant picture, and keep the nearest of them."""
        first = self._triplets("queries", n)
        random = np.random.default_rng(self.fold.number)
        train = self.fold.train
        others = train[random.integers(len(train), size=(len(first), _SOME))]
        # One of the query's own class is replaced by the other picture that was drawn before.
        same = self.labels[others] == self.labels[first.query][:, None]
        others = np.where(same, first.second[:, None], others)
        source = self.phi.over(self.views)
        alike = np.empty(others.shape, dtype=np.float32)
        for k in range(_SOME):
            alike[:, k] = source.rows(first.query, others[:, k]).sum(axis=1)
        nearest = others[np.arange(len(others)), alike.argmax(axis=1)]
        return PictureTriplets.of(first.query, first.first, nearest)


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


def ranked_lists(phi: Phi, views: Views, labels: Int, queries: Int) -> Lists:
    """Return phi of each query with all other pictures; those of its class are relevant."""
    n, m = len(queries), len(labels)
    rows = np.empty((n, m - 1, phi.n_components), dtype=np.float32)
    asked = tuple(v[queries] for v in views)
    for some, columns, block in phi.blocks(asked, views):
        there = np.arange(columns.start, columns.stop)
        for one, i in zip(block, range(some.start, some.stop), strict=True):
            others = one[there != queries[i]]
            # The query itself is left out, so that what follows it moves up.
            begin = columns.start - int(queries[i] < columns.start)
            rows[i, begin : begin + len(others)] = others
    fits = labels[None, :] == labels[queries][:, None]
    kept = np.arange(m)[None, :] != queries[:, None]
    relevance = fits[kept].astype(np.float64)
    start = np.arange(n + 1, dtype=np.int64) * (m - 1)
    return Lists(rows.reshape(n * (m - 1), -1), relevance, start)
