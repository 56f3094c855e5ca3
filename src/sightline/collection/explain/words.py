"""Which words made the score of a hit.

A hit that carries every word has one more than the cosine between the query and its words, one that
carries some has that cosine (below a model, times its cut-off): a word's share is the product of
its two coordinates. A learnt hit has the sum of weight times published number, shown as a
probability; a word that the picture carries counts with the number of a picture known to carry it,
and a word that was not learned counts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.collection.explain.results import WordShare
from sightline.collection.models.dataset import View, as_view
from sightline.collection.models.word_model import WordModel
from sightline.collection.query import ResolvedQuery
from sightline.records import Hit
from sightline.store.home import Reader
from sightline.store.snapshot import Snapshot
from sightline.words.grammar import parse
from sightline.words.term_ids import term_id
from sightline.words.tfidf import query_vector

Int = NDArray[np.int64]
Float = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class QueryScorer:
    """A model asked for the words of one query.

    Attributes
    ----------
    at : ndarray of int64
        Where it has each of them.
    weights, known : ndarray of float32
        What each counts, and the number of a picture known to carry it.
    """

    learnt: WordModel
    at: Int
    weights: Float
    known: Float

    @classmethod
    def of(cls, model: WordModel, terms: Int, user_weights: Sequence[float]) -> QueryScorer:
        """Return the scorer of a weighted query, by the ids of its terms."""
        query = model.query(terms, user_weights)
        mine = np.searchsorted(query.terms, terms)
        at = np.searchsorted(model.terms, terms)
        return cls(model, at, query.weights[mine], query.known[mine])

    def numbers(self, views: Mapping[str, View]) -> Float:
        """Return the number of each word, (pictures, words), as the model publishes them."""
        scores = self.learnt.served.scores(views, self.at)
        return self.learnt.combination.some(self.at).rows(scores)

    def likely(self, numbers: ArrayLike) -> tuple[float, ...]:
        """Return how likely a picture with these numbers fits the query, and each word alone."""
        each = np.asarray(numbers, np.float64)
        combination = self.learnt.combination
        query = combination.probability(each @ self.weights, self.weights)
        return float(query), *combination.probability(each, [1.0]).tolist()


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedQuery:
    """The words of a query that any picture carries, and the model asked for those it has learned.

    `learned` says of each word whether it is one of the model's, which are in the same order;
    `problem` says why no model explains the hits, and `predicted` is as of `ResolvedQuery`.
    """

    words: tuple[str, ...]
    terms: Int
    given: tuple[float, ...]
    model: QueryScorer | None
    learned: NDArray[np.bool_]
    problem: str = ""
    predicted: bool | None = None

    @classmethod
    def of(cls, reader: Reader, text: str, predicted: bool) -> ExplainedQuery:
        """Read a query as the search does, with the model or without."""
        query = parse(text)
        asked = ResolvedQuery.of(reader, query, predicted)
        carried = set(asked.terms.tolist())
        words = tuple(t.text for t in query.wanted if term_id(t.text) in carried)
        learned = np.isin(asked.terms, asked.learned)
        model = None
        if asked.model is not None:
            model = QueryScorer.of(asked.model, asked.learned, asked.learned_weights)
        problem = "" if model is not None else _problem(asked, words, predicted)
        return cls(
            words, asked.terms, asked.weights, model, learned, problem, asked.predicted
        )  # fmt: skip

    def of_words(self, values: ArrayLike, others: float) -> NDArray[np.float64]:
        """Return numbers of the model's words as numbers of all words; `others` for the rest."""
        out = np.full(len(self.words), others)
        out[self.learned] = values
        return out


def _problem(asked: ResolvedQuery, words: Sequence[str], learnt: bool) -> str:
    """Say why no model explains the hits of a query."""
    if not learnt:
        return "the model was left out of the search"
    if not len(asked.terms):
        return "no picture carries any of the words"
    if asked.predicted is None:
        return "nothing was learnt yet, so only words count. Run: sightline train"
    return f"the model has not learnt {', '.join(map(repr, words))}"


def word_shares(
    resolved: ExplainedQuery, snapshot: Snapshot, hits: Sequence[Hit]
) -> list[tuple[WordShare, ...]]:
    """Return what each word did for each hit."""
    numbers = stored_numbers(resolved.model, snapshot, [h.picture for h in hits])
    idf = snapshot.idf(resolved.terms)
    query = np.zeros(len(resolved.terms))
    at, values = query_vector(range(len(resolved.terms)), idf, resolved.given)
    query[at] = values
    return [_shares(resolved, snapshot, h, numbers.get(h.picture), query, idf) for h in hits]


def _shares(
    asked: ExplainedQuery,
    snapshot: Snapshot,
    hit: Hit,
    numbers: Float | None,
    query: NDArray[np.float64],
    idf: NDArray[np.float64],
) -> tuple[WordShare, ...]:
    mine = _words_of(snapshot, hit.picture)
    carried = np.isin(asked.terms, mine)
    model = asked.model
    likely = np.full(len(asked.words), np.nan)
    if model is not None and numbers is not None:
        likely = asked.of_words(model.likely(numbers)[1:], np.nan)
    seen = [None if np.isnan(p) else float(p) for p in likely]
    if hit.learned and model is not None and numbers is not None:
        weights: NDArray[np.floating] = asked.of_words(model.weights, 0.0)
        published = np.where(carried[asked.learned], model.known, numbers)
        counted: NDArray[np.floating] = asked.of_words(published, 0.0)
    else:
        length = float(np.sqrt(np.sum(snapshot.idf(mine) ** 2))) or 1.0
        weights, counted = query, np.where(carried, idf / length, 0.0)
        total = float(weights @ counted)
        if not hit.tagged and total > 0:
            # Pictures with some of the words are shown below learnt ones.
            counted = counted * (hit.score / total)
    # Without a model there is nothing that could have learned a word.
    learned = [True] * len(seen) if asked.predicted is None else asked.learned.tolist()
    return tuple(
        WordShare(word, bool(c), float(w), float(n), float(w * n), s, known)
        for word, c, w, n, s, known in zip(
            asked.words, carried, weights, counted, seen, learned, strict=True
        )
    )


def _words_of(snapshot: Snapshot, picture: int) -> Int:
    """Return the terms a picture carries."""
    for s in snapshot.segments:
        rows = s.rows_of(np.array([picture], np.int64))
        if len(rows):
            return s.words(int(rows[0]))
    return np.zeros(0, np.int64)


def stored_numbers(
    model: QueryScorer | None, snapshot: Snapshot, pictures: Sequence[int]
) -> dict[int, Float]:
    """Return the numbers of the words for those pictures that have the features the model sees."""
    found: dict[int, Float] = {}
    if model is None:
        return found
    wanted = model.learnt.features
    for features, ids in snapshot.by_features(np.unique(np.array(pictures, np.int64))):
        if set(wanted) <= set(features):
            views = {f: as_view(snapshot.rows(f, ids)) for f in wanted}
            found.update(zip(ids.tolist(), model.numbers(views), strict=True))
    return found
