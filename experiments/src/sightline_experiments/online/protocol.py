"""Folds, and what learners see of one: scaled descriptors, training triplets, validation queries.

Pictures are divided into five parts at random, once; fold i has part i for the test, part i + 1 for
validation and three parts for training. Of the test and the validation part some pictures are
queries, drawn at random; each ranks all other pictures of the dataset (the paper does not say
which). A picture that is the only one of its class has no relevant picture and is never a query.

The paper does not say how its descriptors are scaled (`similarity.scaling`), nor whether phi is
relative to the usual similarities of a picture (`similarity.context`). Here every fold chooses a
scaling of each descriptor, and then whether to use the context, by the mAP of some of its
validation queries with equal weights of all similarities. All methods see the same.

phi is fitted to training pictures. Triplets have training pictures only, and are drawn by a law:

    pairs     every pair of a query and a relevant picture is equally likely; the irrelevant picture
              is random (the paper takes all relevant pictures and a sample of the others)
    queries   every query is equally likely, then a relevant and an irrelevant picture of it

Arrays that several methods need are computed once and kept as long as the fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sightline._typing import Floats, Ints
from sightline.combiners.examples import JudgedLists, Source
from sightline.contracts import Progress
from sightline.errors import DataError
from sightline.similarity.context import SAMPLE, Context, PairsInContext
from sightline.similarity.pairs import Phi
from sightline.similarity.scaling import SCALINGS, FeatureScaling
from sightline.solvers.picture_triplets import Law, PictureTriplets, of_classes

N_PARTS = 5
SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One division of the pictures, by their positions, ascending.

    Attributes
    ----------
    number : its number among the five.
    train : training pictures.
    validation : validation queries.
    """

    number: int
    train: Ints
    validation: Ints


def make_folds(
    labels: Sequence[int],
    n_folds: int = N_PARTS,
    n_validation: int = 300,
    n_test: int = 150,
    seed: int = SEED,
) -> tuple[list[Fold], list[Ints]]:
    """Return the first n of five folds, and the test queries of each, which only `evaluation` sees.

    The same seed gives the same folds.

    >>> folds, tests = make_folds([0, 1] * 50, 1, 5, 3)
    >>> len(folds[0].train), len(folds[0].validation), len(tests[0])
    (60, 5, 3)
    """
    classes = np.asarray(labels, dtype=np.int64)
    random = np.random.default_rng(seed)
    part = np.empty(len(classes), dtype=np.int64)
    part[random.permutation(len(classes))] = np.arange(len(classes)) % N_PARTS
    useful = np.bincount(classes)[classes] > 1
    folds, tests = [], []
    for i in range(n_folds):
        after = (i + 1) % N_PARTS
        train = np.flatnonzero((part != i) & (part != after))
        validation = _drawn(np.flatnonzero((part == after) & useful), n_validation, (seed, i, 0))
        tests.append(_drawn(np.flatnonzero((part == i) & useful), n_test, (seed, i, 1)))
        folds.append(Fold(i, train, validation))
    return folds, tests


def _drawn(pool: Ints, n: int, seed: tuple[int, ...]) -> Ints:
    """Return n random pictures; a smaller n gives a subset of a larger one."""
    if not len(pool):
        raise DataError("A fifth of the pictures has none with another of its class.")
    return np.sort(np.random.default_rng(seed).permutation(pool)[:n])


Views = tuple[Floats, ...]


def ranked_lists(
    phi: Phi, views: Views, labels: Ints, queries: Ints, context: Context | None = None
) -> JudgedLists:
    """Return phi of each query with all other pictures; those of its class are relevant."""
    n, m = len(queries), len(labels)
    rows = np.empty((n, m - 1, phi.n_components), dtype=np.float32)
    query_views = tuple(v[queries] for v in views)
    for some, columns, block in phi.blocks(query_views, views):
        positions = np.arange(columns.start, columns.stop)
        if context is not None:
            block = context(block, positions)
        for one, i in zip(block, range(some.start, some.stop), strict=True):
            others = one[positions != queries[i]]
            # The query itself is left out, so that what follows it moves up.
            begin = columns.start - int(queries[i] < columns.start)
            rows[i, begin : begin + len(others)] = others
    fits = labels[None, :] == labels[queries][:, None]
    is_other = np.arange(m)[None, :] != queries[:, None]
    relevance = fits[is_other].astype(np.float64)
    start = np.arange(n + 1, dtype=np.int64) * (m - 1)
    return JudgedLists(rows.reshape(n * (m - 1), -1), relevance, start)


N_QUERIES = 100
# Enough for this selection; the final comparison uses more pairs.
_PAIRS = 5000


def choose_scalings(
    rows: Mapping[str, Floats],
    labels: Ints,
    fold: Fold,
    progress: Progress,
    n_queries: int = N_QUERIES,
    scalings: Sequence[str] | None = None,
) -> dict[str, str]:
    """Return the best scaling of each descriptor, by validation queries; of equals the first.

    `scalings` are those to try, all by default.
    """
    tried = SCALINGS if scalings is None else tuple(scalings)
    queries = some_queries(fold, n_queries)
    chosen = {}
    progress.start(f"fold {fold.number}: choose scalings", len(rows) * len(tried))
    for name, feature_rows in rows.items():
        mean_avgp_of = {}
        for scaling in tried:
            scaled = scaled_rows(feature_rows, scaling, fold)
            phi = Phi.of((scaled[fold.train],), pairs=_PAIRS)
            lists = ranked_lists(phi, (scaled,), labels, queries)
            mean_avgp_of[scaling] = lists.mean_avgp(lists.rows.sum(axis=1))
            progress.advance()
        chosen[name] = max(mean_avgp_of, key=lambda f: mean_avgp_of[f])
    progress.finish()
    return chosen


def some_queries(fold: Fold, n: int) -> Ints:
    """Return some validation queries of a fold."""
    random = np.random.default_rng(fold.number)
    chosen: Ints = np.sort(random.choice(fold.validation, min(n, len(fold.validation)), False))
    return chosen


def scaled_rows(rows: Floats, scaling: str, fold: Fold) -> Floats:
    """Return all rows in a scaling fitted to training pictures."""
    return np.asarray(FeatureScaling.of(scaling, rows[fold.train])(rows))


LAWS: tuple[Law, ...] = ("pairs", "queries")
_SHORT_QUERIES, _SHORT_OTHERS = 100, 400


@dataclass(eq=False)
class Task:
    """One fold of a dataset as learners see it.

    Attributes
    ----------
    fold : training pictures and validation queries.
    labels : the class of each picture.
    views : rows of every picture, one matrix for each descriptor.
    n_triplets : number of training triplets.
    in_context : phi is relative to each picture's usual similarities (`similarity.context`).
    n_sample : training pictures that estimate the usual similarities.
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
        """The similarities of pictures, fitted to training pictures."""
        return Phi.of(tuple(v[self.fold.train] for v in self.views))

    @cached_property
    def usual(self) -> Context | None:
        """The usual similarities of each picture, by training pictures; None if not used."""
        if not self.in_context:
            return None
        random = np.random.default_rng(self.fold.number)
        train = self.fold.train
        sample = np.sort(random.choice(train, min(self.n_sample, len(train)), replace=False))
        return Context.of(self.phi, self.views, sample)

    @property
    def source(self) -> Source:
        """phi of pictures by their positions, in the form of the estimators."""
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
        """Shorter lists of some validation queries, (X, y, qid), for early stopping."""
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
        """Return training triplets of a law, by default all of the task."""
        size = self.n_triplets if n is None else n
        triplets = self._kept.get((law, size))
        if triplets is None:
            triplets = Drawn(self.triplets(law, size), self.source)
            self._kept[law, size] = triplets
        return triplets

    def triplets(self, law: Law, n: int) -> PictureTriplets:
        """Return n triplets of training pictures by a law; the same for the same fold."""
        train = self.fold.train
        return of_classes(
            self.labels, n, queries=train, pictures=train, law=law, random_state=self.fold.number
        )


def choose_task(plain: Task, queries: Ints) -> Task:
    """Return the task or the same task in context, whichever ranks validation queries better.

    All similarities count equally.
    """
    usual = replace(plain, in_context=True)
    values = [lists.mean_avgp(lists.rows.sum(axis=1)) for lists in
             (task.lists(queries) for task in (plain, usual))]  # fmt: skip
    return usual if values[1] > values[0] else plain


@dataclass(eq=False)
class Drawn:
    """Training triplets, in the forms of all estimators."""

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
