"""The tf-idf weights of the words of a query.

A query is the vector q_i = b_i idf_i / sqrt(sum_j (b_j idf_j)^2), where b_i is 1 for a word of the
query, or the weight it was given. It is a unit vector, or 0 if the query has no known word.

Departure from the paper: document frequencies are those of the collection's own captions, and
smoothed by default, so that a word of all pictures or of none still has a weight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ParameterError
from sightline.vectors import l2_normalize


def idf(
    document_counts: Sequence[int] | NDArray[np.int64], n_documents: int, smooth: bool = True
) -> NDArray[np.float64]:
    """Return the inverse document frequency of each term.

    Parameters
    ----------
    document_counts : sequence of int or ndarray of int64
        For each term the number n of documents that contain it.
    n_documents : int
        The number N of documents.
    smooth : bool, default=True
        log((1 + N) / (1 + n)) + 1, at least 1. Otherwise log(N / n): 0 for a term of all
        documents; a term of none has the smoothed value, as it would be infinite.

    Examples
    --------
    >>> idf([1, 2, 4], 4, smooth=False).round(3).tolist()
    [1.386, 0.693, 0.0]
    >>> idf([0, 4], 4).round(3).tolist()
    [2.609, 1.0]
    """
    counts = np.asarray(document_counts, dtype=np.float64).reshape(-1)
    outside = ~((counts >= 0) & (counts <= n_documents))
    if outside.any():
        raise ParameterError.of(
            "document_counts",
            "idf",
            f"between 0 and the number of documents, {n_documents}",
            counts[outside][0].item(),
        )
    smoothed: NDArray[np.float64] = np.log((1.0 + n_documents) / (1.0 + counts)) + 1.0
    if smooth:
        return smoothed
    plain = np.log(max(n_documents, 1) / np.maximum(counts, 1.0))
    return np.where(counts == 0, smoothed, plain)


def query_vector(
    term_ids: Sequence[int] | NDArray[np.int64],
    idf: NDArray[np.float64],
    weights: Sequence[float] | NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return a query as its term ids, ascending, and their values; terms of weight 0 are left out.

    Parameters
    ----------
    term_ids : sequence of int or ndarray of int64
        The known words of the query; repeated ones count once, their order does not matter.
    idf : ndarray of float64
        The inverse document frequency of every term. If it is 0 for all words of the query, it
        is not used, so that they count equally.
    weights : sequence of float or ndarray of float64, optional
        A weight for each of the words, finite and not negative; 1 by default. If a word is
        repeated, its last weight counts.

    Examples
    --------
    >>> query_vector([2, 0, 2], np.array([4.0, 1.0, 3.0]))
    (array([0, 2]), array([0.8, 0.6], dtype=float32))
    >>> query_vector([1], np.array([1.0, 0.25]))[1].tolist()
    [1.0]
    """
    terms = np.asarray(term_ids, dtype=np.int64).reshape(-1)
    factors = np.ones(len(terms)) if weights is None else _checked(weights, len(terms))
    if len(terms) and not (terms.min() >= 0 and terms.max() < len(idf)):
        wrong = int(terms.min() if terms.min() < 0 else terms.max())
        raise ParameterError.of(
            "term_ids", "query_vector", f"below {len(idf)}, not negative", wrong
        )
    ids, last = np.unique(terms[::-1], return_index=True)
    values = _normalized(factors[::-1][last], np.asarray(idf, dtype=np.float64)[ids])
    positive = values > 0
    return ids[positive], values[positive]


def query_values(start: NDArray[np.int64], idf: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the values of many queries at once: the idf of their words, L2-normalised.

    The distinct words of the queries are concatenated; those of query i begin at `start[i]`. Each
    query is as `query_vector` returns it, but with its words of weight 0.

    >>> query_values(np.array([0, 2, 2, 3]), np.array([4.0, 3.0, 0.5]))
    array([0.8, 0.6, 1. ], dtype=float32)
    """
    lengths = np.diff(start)
    nonempty = lengths > 0
    at, lengths = start[:-1][nonempty], lengths[nonempty]
    values = _sound(np.asarray(idf, dtype=np.float64))
    if not len(at):
        return np.zeros(0, dtype=np.float32)
    largest = np.repeat(np.maximum.reduceat(values, at), lengths)
    products = np.where(largest > 0, values / np.where(largest > 0, largest, 1.0), 1.0)
    length = np.sqrt(np.add.reduceat(products**2, at))
    scaled: NDArray[np.float32] = (products / np.repeat(length, lengths)).astype(np.float32)
    return scaled


def _checked(weights: Sequence[float] | NDArray[np.float64], n_terms: int) -> NDArray[np.float64]:
    factors = np.asarray(weights, dtype=np.float64).reshape(-1)
    if len(factors) != n_terms:
        raise ParameterError.of("weights", "query_vector", f"{n_terms} numbers", len(factors))
    wrong = ~(np.isfinite(factors) & (factors >= 0))
    if wrong.any():
        raise ParameterError.of(
            "weights", "query_vector", "finite and not negative", factors[wrong][0].item()
        )
    return factors


def _normalized(factors: NDArray[np.float64], idf: NDArray[np.float64]) -> NDArray[np.float32]:
    _sound(idf)
    # Scaled to a largest value of 1 before and after the product, so that no weight can overflow
    # and a single word gets exactly 1.
    factors = _scaled(factors)
    products = _scaled(factors * idf)
    if not products.any():
        products = factors
    return np.asarray(l2_normalize(products, np.linalg.norm(products, axis=-1)))


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = values.max(initial=0.0)
    return values / largest if largest > 0 else values


def _sound(idf: NDArray[np.float64]) -> NDArray[np.float64]:
    wrong = ~(np.isfinite(idf) & (idf >= 0))
    if wrong.any():
        raise ParameterError.of(
            "idf", "query_vector", "finite and not negative", idf[wrong][0].item()
        )
    return idf
