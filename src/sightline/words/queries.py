"""Queries made from captions, each with the pictures that fit it.

Every set of words that at least one caption holds completely is a query, and a picture is relevant
to it if its caption holds all its words (Grangier and Bengio, "A discriminative kernel-based model
to rank images from text queries", 2008, section V-A). A caption of k words gives 2^k - 1 queries,
so their length is limited, and very long captions may give only some of them; relevance is always
determined from full captions.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import combinations
from math import comb
from random import Random

from sightline.errors import ParameterError

_Row = tuple[int, tuple[str, ...]]


def caption_queries(
    captions: Iterable[tuple[int, Iterable[str]]],
    vocabulary: Container[str] | None = None,
    max_len: int = 5,
    max_queries_per_caption: int | None = None,
    seed: int = 0,
) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """Yield each query, a sorted tuple of terms, with the sorted ids of the relevant pictures.

    The queries come in the order of their tuples, whatever the order of the captions.

    Parameters
    ----------
    captions : iterable of tuple of (int, iterable of str)
        Picture ids with their terms. A picture that is given twice counts twice.
    vocabulary : Container, optional
        The terms that may be used; all by default.
    max_len : int, default=5
        The most terms a query may have.
    max_queries_per_caption : int, optional
        A caption gives at most this many queries: all of one term, all of two terms, and so on,
        and of the first length that does not fit a random choice. All by default.
    seed : int, default=0
        Seed of that choice, which depends only on the caption's terms and this number.

    Examples
    --------
    >>> for query in caption_queries([(7, ["tree", "snow"]), (9, ["tree"])]):
    ...     query
    (('snow',), [7])
    (('snow', 'tree'), [7])
    (('tree',), [7, 9])
    """
    if max_len < 1:
        raise ParameterError.of("max_len", "caption_queries", "at least 1", max_len)
    rows = [(picture, _usable(terms, vocabulary)) for picture, terms in captions]
    if max_queries_per_caption is None:
        return _all_queries((), [(picture, terms, 0) for picture, terms in rows], max_len)
    if max_queries_per_caption < 1:
        raise ParameterError.of(
            "max_queries_per_caption", "caption_queries", "at least 1", max_queries_per_caption
        )
    return _sampled_queries(rows, max_len, max_queries_per_caption, seed)


def _usable(terms: Iterable[str], vocabulary: Container[str] | None) -> tuple[str, ...]:
    return tuple(sorted(t for t in set(terms) if vocabulary is None or t in vocabulary))


def _all_queries(
    query: tuple[str, ...], rows: list[tuple[int, tuple[str, ...], int]], max_len: int
) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    # Depth first over the captions that hold the query so far: only one branch is in memory.
    longer: dict[str, list[tuple[int, tuple[str, ...], int]]] = {}
    for picture, terms, start in rows:
        for at in range(start, len(terms)):
            longer.setdefault(terms[at], []).append((picture, terms, at + 1))
    for term in sorted(longer):
        grown = (*query, term)
        yield grown, sorted(picture for picture, _, _ in longer[term])
        if len(grown) < max_len:
            yield from _all_queries(grown, longer[term], max_len)


def _sampled_queries(
    rows: list[_Row], max_len: int, limit: int, seed: int
) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    holders: dict[str, set[int]] = {}
    queries: set[tuple[str, ...]] = set()
    for at, (_, terms) in enumerate(rows):
        queries.update(_limited_subsets(terms, max_len, limit, seed))
        for term in terms:
            holders.setdefault(term, set()).add(at)
    for query in sorted(queries):
        rarest_first = sorted((holders[term] for term in query), key=len)
        yield query, sorted(rows[at][0] for at in rarest_first[0].intersection(*rarest_first[1:]))


def _limited_subsets(
    terms: tuple[str, ...], max_len: int, limit: int, seed: int
) -> Iterator[tuple[str, ...]]:
    for length in range(1, min(len(terms), max_len) + 1):
        if comb(len(terms), length) > limit:
            yield from _sample(terms, length, limit, seed)
            return
        yield from combinations(terms, length)
        limit -= comb(len(terms), length)


def _sample(terms: tuple[str, ...], length: int, n_queries: int, seed: int) -> set[tuple[str, ...]]:
    # Seeded by the terms, so that adding a picture does not change what the others give.
    random = Random("\n".join((str(seed), *terms)))
    queries: set[tuple[str, ...]] = set()
    while len(queries) < n_queries:
        queries.add(tuple(sorted(random.sample(terms, length))))
    return queries
