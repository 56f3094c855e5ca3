"""The protocol of paper A on Corel5K: splits, queries, groups of queries, and their statistics.

The 4,500 development rows are divided at random, five times, into 4,000 for training and 500 for
validation; the 500 test rows stay the same. In each part every set of words of the vocabulary in a
picture's caption is a query, and the pictures with all of them are relevant. Query
vectors are weighted by the idf of training captions (the paper takes an external corpus).

Test pictures are not here: see `evaluation`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Ints
from sightline.errors import ParameterError
from sightline.measures.many import average_precisions
from sightline.records import QuerySet
from sightline.solvers.targets import query_set
from sightline.words.queries import caption_queries
from sightline.words.tfidf import idf as idf_of
from sightline_experiments.datasets.corel5k import Corel5K, Row, vocabulary
from sightline_experiments.pamir.inputs import SomeRows, Views

TRAIN = 4000

QueryPictures = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some pictures, their words and the queries of these words.

    Attributes
    ----------
    rows : their positions in the list they are part of.
    labels : scipy sparse table, pictures by words of the vocabulary.
    views : rows of each feature, one for each picture.
    asked : each query's words, and the positions of its relevant pictures; in the order of words.
    """

    rows: Ints
    labels: Any
    views: Views
    query_pictures: tuple[QueryPictures, ...]

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def queries(self, idf: NDArray[np.float64]) -> QuerySet:
        """Return the queries as vectors."""
        return query_set(self.query_pictures, idf)

    def first(self, n: int) -> Part:
        """Return the first n pictures, with their queries."""
        return part_of(self.rows[:n], self.labels[:n], SomeRows(self.views, np.arange(n)))


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """One division of the development pictures, with the query vectors of both parts."""

    number: int
    train: Part
    validation: Part
    idf: NDArray[np.float64]
    train_queries: QuerySet
    validation_queries: QuerySet

    @classmethod
    def of(cls, number: int, train: Part, validation: Part, idf: NDArray[np.float64]) -> Split:
        """Make the query vectors of both parts."""
        return cls(number, train, validation, idf, train.queries(idf), validation.queries(idf))

    def value(self, scorer: Scorer) -> float:
        """Return the mean AvgP of the validation queries."""
        scores = scorer(self.validation.views, self.validation_queries)
        return average_precisions(scores, self.validation_queries).mean_avgp

    def smaller(self, n: int) -> Split:
        """Return the split with its first n training pictures; query vectors stay the same."""
        return Split.of(self.number, self.train.first(n), self.validation, self.idf)


@dataclass(frozen=True, slots=True)
class Statistics:
    """The row of Table I for a set of pictures and its queries."""

    pictures: int
    queries: int
    relevant: float
    words: float
    vocabulary: int
    triplets: int


def statistics(part: Part) -> Statistics:
    """Count pictures, queries, relevant pictures, words and triplets.

    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> statistics(part_of(np.arange(2), csr_matrix([[1, 1], [0, 1]]), {}))
    Statistics(pictures=2, queries=3, relevant=1.3333333333333333, words=1.3333333333333333, \
vocabulary=2, triplets=2)
    """
    relevant = np.array([len(fit) for _, fit in part.query_pictures])
    words = np.array([len(terms) for terms, _ in part.query_pictures])
    triplets = int((relevant * (len(part) - relevant)).sum())
    used = len({t for terms, _ in part.query_pictures for t in terms})
    mean = (float(relevant.mean()), float(words.mean())) if len(relevant) else (0.0, 0.0)
    return Statistics(len(part), len(part.query_pictures), *mean, used, triplets)


def make_splits(
    c: Corel5K, views: Views, seeds: Sequence[int], n_train: int | None = None
) -> list[Split]:
    """Divide the development pictures once for each seed."""
    n = TRAIN if n_train is None else n_train
    if not 0 < n < len(c.development):
        raise ParameterError.of("n_train", "make_splits", f"1 to {len(c.development) - 1}", n)
    labels = labels_of(c, c.development)
    splits = []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(c.development))
        # Training rows stay in their random order, so that the first n of them are a sample.
        train, held = (
            part_of(rows, labels[rows], SomeRows(views, rows)) for rows in (order[:n], order[n:])
        )
        counts = np.asarray(train.labels.sum(axis=0)).reshape(-1).astype(np.int64)
        idf = idf_of(counts, n, smooth=False)
        splits.append(Split.of(seed, train, held, idf))
    return splits


def labels_of(c: Corel5K, rows: Iterable[Row]) -> Any:
    """Return a sparse table of pictures and words of the vocabulary."""
    from scipy.sparse import csr_matrix

    place = {word: i for i, word in enumerate(vocabulary(c))}
    held = [[place[c.words[w]] for w in r.words if c.words[w] in place] for r in rows]
    start = np.concatenate([[0], np.cumsum([len(h) for h in held])])
    column = np.array([t for h in held for t in h], np.int64)
    ones = np.ones(len(column), np.float32)
    table = csr_matrix((ones, column, start), shape=(len(held), len(place)))
    table.sort_indices()
    return table


def part_of(rows: Ints, labels: Any, views: Views) -> Part:
    """Return pictures with the queries of their words."""
    # Zero-padded numbers sort as numbers, so that queries are in the order of their words.
    held = np.split(labels.indices, labels.indptr[1:-1])
    captions = [(i, [f"{t:09d}" for t in terms]) for i, terms in enumerate(held)]
    query_pictures = tuple(
        (tuple(int(t) for t in terms), tuple(pictures))
        for terms, pictures in caption_queries(captions)
    )
    return Part(rows, labels, views, query_pictures)


class Scorer:
    """A fitted method, as it is measured.

    Attributes
    ----------
    words : returns the scores of pictures for each word, once, before any query.
    combine : returns the scores of (queries, pictures) from those of words.
    details : what fitting selected, such as the number of steps.
    """

    __slots__ = ("combine", "details", "words")

    def __init__(
        self,
        words: Callable[[Views], Floats],
        combine: Callable[[Floats, QuerySet], Floats],
        details: dict[str, Any] | None = None,
    ) -> None:
        self.words, self.combine, self.details = words, combine, details or {}

    def __call__(self, views: Views, queries: QuerySet) -> Floats:
        """Return scores, (queries, pictures)."""
        return self.combine(self.words(views), queries)
