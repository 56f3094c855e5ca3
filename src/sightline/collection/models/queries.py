"""Evaluation queries, made of the words of held-out or validation pictures.

Every word that at least one picture has is a query; so are sets of words that one picture
has, a seeded draw where there are many. Relevant are the pictures that have all words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Ints
from sightline.records import QuerySet
from sightline.solvers.targets import query_set
from sightline.words.combination import Combination
from sightline.words.queries import caption_queries
from sightline.words.tfidf import idf as idf_of
from sightline.words.tfidf import query_values

LONGEST = 3
PER_PICTURE = 24
AT_MOST = 4_000
_SEED = 0


def evaluation_queries(
    labels: Any, idf: NDArray[np.float64], known_words: NDArray[np.bool_]
) -> QuerySet:
    """Return the queries that the words of some pictures make.

    Parameters
    ----------
    labels : array-like
        Scipy sparse table of pictures and words.
    idf : ndarray of float64
        How much each word counts in a query.
    known_words : ndarray of bool
        The words that training pictures have; others make no queries.
    """
    captions = [
        (
            i,
            [
                f"{w:09d}"
                for w in labels.indices[labels.indptr[i] : labels.indptr[i + 1]]
                if known_words[w]
            ],
        )
        for i in range(labels.shape[0])
    ]
    drawn = caption_queries(
        captions, max_len=LONGEST, max_queries_per_caption=PER_PICTURE, seed=_SEED
    )
    queries = [(tuple(map(int, words)), pictures) for words, pictures in drawn]
    # A query that all pictures fit measures nothing.
    queries = [(words, fit) for words, fit in queries if len(fit) < labels.shape[0]]
    if len(queries) > AT_MOST:
        chosen = np.random.default_rng(_SEED).choice(len(queries), AT_MOST, replace=False)
        queries = [queries[i] for i in np.sort(chosen)]
    return query_set(queries, idf)


def one_word(queries: QuerySet) -> NDArray[np.bool_]:
    """Return for each query whether it is a single word."""
    out: NDArray[np.bool_] = np.diff(queries.start) == 1
    return out


def only(queries: QuerySet, keep: NDArray[np.bool_]) -> QuerySet:
    """Return some of the queries."""
    words, fits = np.diff(queries.start), np.diff(queries.relevant_start)
    of_kept, fitting = np.repeat(keep, words), np.repeat(keep, fits)
    return QuerySet(
        _starts(words[keep]), queries.term[of_kept], queries.weight[of_kept],
        _starts(fits[keep]), queries.relevant[fitting],
    )  # fmt: skip


def at_most(queries: QuerySet, n: int) -> QuerySet:
    """Return a spread of n queries, or all where there are fewer."""
    if len(queries) <= n:
        return queries
    keep = np.zeros(len(queries), np.bool_)
    keep[np.linspace(0, len(queries) - 1, n).astype(np.int64)] = True
    return only(queries, keep)


def combined(queries: QuerySet, combination: Combination, idf: NDArray[np.float64]) -> QuerySet:
    """Return the queries with the weights that a way to combine words gives them."""
    if combination.how == "product":
        return replace(queries, weight=np.ones(len(queries.term), np.float32))
    if combination.how == "sum":
        return replace(queries, weight=query_values(queries.start, idf[queries.term]))
    lengths = np.diff(queries.start)
    share = 1 / np.repeat(np.maximum(lengths, 1), lengths)
    return replace(queries, weight=share.astype(np.float32))


def idf_in(labels: Any) -> NDArray[np.float64]:
    """Return the idf of each word in some pictures."""
    return idf_of(picture_counts(labels), labels.shape[0])


def picture_counts(labels: Any) -> Ints:
    """Return how many pictures have each word.

    >>> from scipy.sparse import csr_matrix
    >>> picture_counts(csr_matrix([[1, 0, 1], [1, 0, 0]])).tolist()
    [2, 0, 1]
    """
    return np.asarray((labels != 0).sum(axis=0)).reshape(-1).astype(np.int64)


def _starts(lengths: Ints) -> Ints:
    out = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=out[1:])
    return out
