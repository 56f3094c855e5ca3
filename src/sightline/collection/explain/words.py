"""The contributions of words to the score of a hit.

An exact match scores 1 plus the cosine of the query and its words; a partial match scores that
cosine (with a model, scaled below its cut-off). A word's contribution is the product of its two
coordinates. The score of a predicted hit is the sum of weight times published score, shown as a
probability; a word that the picture has as a tag has the score of a picture known to fit it, and a
word that is not learned contributes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline._typing import Floats, Ints
from sightline.collection.explain.results import SignShare, WordShare
from sightline.collection.models.dataset import View, as_view
from sightline.collection.models.word_model import WordModel
from sightline.collection.query import Constraint, ResolvedQuery
from sightline.collection.search.signed_words import SignedWords, factors_of
from sightline.records import Hit
from sightline.store.folder import Reader
from sightline.store.snapshot import Snapshot
from sightline.words.grammar import parse
from sightline.words.tfidf import query_vector


@dataclass(frozen=True, slots=True, eq=False)
class QueryScorer:
    """A word model restricted to the words of one query.

    Attributes
    ----------
    at : ndarray of int64
        The columns of these words in the model. Words that it learned as one share a column.
    weights, known : ndarray of float32
        The weight of each word, and the score of a picture known to have it. Words of one column
        share its weight.
    query_weights : ndarray of float32
        The weights of the different columns.
    """

    word_model: WordModel
    at: Ints
    weights: Floats
    known: Floats
    query_weights: Floats

    @classmethod
    def of(
        cls, model: WordModel, terms: Ints, user_weights: Sequence[float], positions: Ints
    ) -> QueryScorer:
        """Return the scorer of a query, by its terms and the place of each word in them."""
        query = model.query(terms, user_weights)
        order = np.searchsorted(query.terms, terms)[positions]
        at = np.searchsorted(model.terms, terms)[positions]
        shared = np.bincount(order, minlength=len(terms))[order]
        weights = np.asarray(query.weights[order] / shared, np.float32)
        return cls(model, at, weights, query.known[order], query.weights)

    def word_scores(self, views: Mapping[str, View], ids: Ints | None = None) -> Floats:
        """Return the published score of each word, (pictures, words), after online updates."""
        return self.word_model.numbers(views, self.at, ids)

    def likely(self, scores: ArrayLike) -> tuple[float, ...]:
        """Return the probabilities of the query and of each word by a picture's scores."""
        each = np.asarray(scores, np.float64)
        combination = self.word_model.combination
        columns = np.unique(self.at)
        query = combination.probability(each @ self.weights, self.query_weights, columns)
        return float(query), *combination.word_probabilities(each, self.at).tolist()


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedQuery:
    """The words of a query that any picture has, and the model of those it has learned.

    `forms` are the tags that count as each word. `learned` marks the words that the model has, in
    the same order; `problem` says why no model explains the hits, and `predicted` is as of
    `ResolvedQuery`. `constraints` are its words with a sign, `unproven` the words that are not yet
    proven.
    """

    words: tuple[str, ...]
    forms: tuple[Ints, ...]
    user_weights: tuple[float, ...]
    model: QueryScorer | None
    learned: NDArray[np.bool_]
    problem: str = ""
    predicted: bool | None = None
    constraints: tuple[Constraint, ...] = ()
    unproven: frozenset[str] = frozenset()

    @classmethod
    def of(cls, reader: Reader, text: str, predicted: bool) -> ExplainedQuery:
        """Parse a query as the search does, with the model or without."""
        resolved = ResolvedQuery.of(reader, parse(text), predicted)
        words, learned = resolved.words, resolved.learned_at >= 0
        model = None
        if resolved.model is not None:
            positions = resolved.learned_at[learned]
            model = QueryScorer.of(
                resolved.model, resolved.learned, resolved.learned_weights, positions
            )
        problem = "" if model is not None else _problem(resolved, words, predicted)
        return cls(
            words, resolved.forms, resolved.weights, model, learned, problem,
            resolved.predicted, resolved.constraints,
            frozenset(w.word for w in resolved.unproven),
        )  # fmt: skip

    def of_words(self, values: ArrayLike, others: float) -> NDArray[np.float64]:
        """Expand values of the model's words to all words; `others` for the rest."""
        out = np.full(len(self.words), others)
        out[self.learned] = values
        return out

    def tagged_by(self, picture_words: Ints) -> NDArray[np.bool_]:
        """Return which words a picture has, by the terms that it has."""
        return np.array([np.isin(f, picture_words).any() for f in self.forms], np.bool_)


def _problem(query: ResolvedQuery, words: Sequence[str], predicted: bool) -> str:
    """Return why no model explains the hits of a query."""
    if not predicted:
        return "the model was left out of the search"
    if not len(query.terms):
        return "no picture has any of the words"
    if query.predicted is None:
        return "there is no word model yet, so only tags count. Run: sightline train"
    return f"the model has not learned {', '.join(map(repr, words))}"


def word_shares(
    resolved: ExplainedQuery, snapshot: Snapshot, hits: Sequence[Hit]
) -> list[tuple[WordShare, ...]]:
    """Return the contribution of each word to each hit."""
    scores = stored_scores(resolved.model, snapshot, [h.picture for h in hits])
    idf = snapshot.idf_of(resolved.forms)
    query = np.zeros(len(resolved.words))
    at, values = query_vector(range(len(resolved.words)), idf, resolved.user_weights)
    query[at] = values
    return [_shares(resolved, snapshot, h, scores.get(h.picture), query, idf) for h in hits]


def _shares(
    explained_query: ExplainedQuery,
    snapshot: Snapshot,
    hit: Hit,
    scores: Floats | None,
    query: NDArray[np.float64],
    idf: NDArray[np.float64],
) -> tuple[WordShare, ...]:
    picture_words = _words_of(snapshot, hit.picture)
    tagged = explained_query.tagged_by(picture_words)
    model = explained_query.model
    likely = np.full(len(explained_query.words), np.nan)
    if model is not None and scores is not None:
        likely = explained_query.of_words(model.likely(scores)[1:], np.nan)
    proven = [w not in explained_query.unproven for w in explained_query.words]
    probabilities = [
        float(p) if known and not np.isnan(p) else None
        for p, known in zip(likely, proven, strict=True)
    ]
    if hit.learned and model is not None and scores is not None:
        weights: NDArray[np.floating] = explained_query.of_words(model.weights, 0.0)
        published = np.where(tagged[explained_query.learned], model.known, scores)
        counted: NDArray[np.floating] = explained_query.of_words(published, 0.0)
    else:
        length = float(np.sqrt(np.sum(snapshot.idf(picture_words) ** 2))) or 1.0
        weights, counted = query, np.where(tagged, idf / length, 0.0)
        total = float(weights @ counted)
        if not hit.tagged and total > 0:
            # Partial matches are scaled to stay below predicted ones.
            counted = counted * (hit.score / total)
    # Without a model no word is reported as not learned.
    learned = explained_query.learned.tolist()
    if explained_query.predicted is None:
        learned = [True] * len(probabilities)
    return tuple(
        WordShare(word, bool(c), float(w), float(n), float(w * n), s, is_learned, is_proven)
        for word, c, w, n, s, is_learned, is_proven in zip(
            explained_query.words, tagged, weights, counted, probabilities, learned, proven,
            strict=True,
        )
    )  # fmt: skip


def sign_shares(
    explained_query: ExplainedQuery, snapshot: Snapshot, hits: Sequence[Hit]
) -> dict[int, tuple[SignShare, ...]]:
    """Return what the words with a sign did to each hit, by its picture."""
    ids = np.unique(np.array([h.picture for h in hits], np.int64))
    untagged = np.isin(ids, snapshot.without_words())
    columns = [_signs(explained_query, snapshot, c, ids, untagged)
               for c in explained_query.constraints]  # fmt: skip
    return {p: tuple(column[i] for column in columns) for i, p in enumerate(ids.tolist())}


def _signs(
    explained_query: ExplainedQuery,
    snapshot: Snapshot,
    c: Constraint,
    ids: Ints,
    untagged: NDArray[np.bool_],
) -> list[SignShare]:
    """Return what one word with a sign did to each of some pictures."""
    tagged = np.isin(ids, snapshot.tagged_with(c.forms.tolist(), every=False)).tolist()
    model = explained_query.model
    if model is None or not c.predicted:
        return [SignShare(c.word, c.required, t, "tags") for t in tagged]
    likely, cutoff = SignedWords(snapshot, model.word_model, [c]).predicted(c, ids)
    factors, proven = factors_of(c, likely, cutoff), c.word not in explained_query.unproven
    shares = []
    for i, has_tag in enumerate(tagged):
        known = None if has_tag or not proven else float(likely[i])
        if untagged[i]:
            decided = known, cutoff, float(factors[i]), proven
            shares.append(SignShare(c.word, c.required, has_tag, "prediction", *decided))
        else:
            shares.append(SignShare(c.word, c.required, has_tag, "tags", known, proven=proven))
    return shares


def _words_of(snapshot: Snapshot, picture: int) -> Ints:
    """Return the terms that a picture has."""
    for s in snapshot.segments:
        rows = s.rows_of(np.array([picture], np.int64))
        if len(rows):
            return s.words(int(rows[0]))
    return np.zeros(0, np.int64)


def stored_scores(
    model: QueryScorer | None, snapshot: Snapshot, pictures: Sequence[int]
) -> dict[int, Floats]:
    """Return the scores of the words for pictures that have all features of the model."""
    scores: dict[int, Floats] = {}
    if model is None:
        return scores
    model_features = model.word_model.features
    for features, ids in snapshot.by_features(np.unique(np.array(pictures, np.int64))):
        if set(model_features) <= set(features):
            views = {f: as_view(snapshot.rows(f, ids)) for f in model_features}
            scores.update(zip(ids.tolist(), model.word_scores(views, ids), strict=True))
    return scores
