"""Scores and rankings of a session: the untrained order combined with the learned weights.

Without a word model, words rank only pictures that have some of them. Once these are judged, a
session would have nothing left to show and no negative examples to learn from. So all other
pictures follow below them, ordered by their similarity to the pictures judged to fit; before any
is judged, to pictures that have the words and were not judged otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline._typing import Doubles, Ints
from sightline.collection.results import MatchKind, hits_of
from sightline.collection.search.words import Ranked
from sightline.collection.sessions.feature_space import FeatureSpace, unit_mean
from sightline.collection.sessions.model import SessionContext, SessionModel, looked_up
from sightline.feedback.blend import placed
from sightline.records import DenseQuery, Hit, Top
from sightline.store.engines.flat import Best
from sightline.store.folder import Reader

# Carriers of the words to average: enough for a stable mean vector.
_MOST_EXAMPLES = 200
# Extra candidates, in case files of some hits are missing.
_SPARE = 100


def scores(
    context: SessionContext, model: SessionModel, n: int | None = None, judged: Sequence[int] = ()
) -> tuple[Ints, Doubles]:
    """Return every picture that may appear, ids ascending, with its score.

    Given `n`, only the best `n` and the judged ones are scored where a search engine (if the
    session began with pictures alone) or rounded rows can name them.
    """
    few = None if n is None else _few_scores(context, model, n, judged)
    ids, values = few or _all_scores(context, model)
    if model.weights is not None and len(judged):
        at = np.flatnonzero(np.isin(ids, np.array(judged, np.int64)))
        values[at] = np.add(*parts_of(context, model, ids[at], judged=True))
    keep = ~np.isin(ids, np.array(context.ids, np.int64))
    if context.allowed is not None:
        keep &= np.isin(ids, context.allowed)
    return ids[keep], values[keep]


def depths(context: SessionContext, k: int) -> tuple[int | None, ...]:
    """Return how many pictures to score for k hits: few first where that is possible, else all."""
    space = context.space
    if space is None or (context.query is None and context.by_row is None):
        return (None,)
    return (k, None) if space.snapshot.ranks_without_scan(space.feature, 4 * k) else (None,)


def pin_judged(ids: Ints, scores: Doubles, judged: dict[int, bool], model: SessionModel) -> Doubles:
    """Return scores that rank pictures judged to fit first, and those judged not to fit last.

    >>> ids, values = np.array([4, 7, 9]), np.array([0.3, 0.2, 0.1])
    >>> rows, fits = np.zeros((0, 1), np.float32), np.zeros(0, bool)
    >>> model = SessionModel(None, 1.0, 1.0, None, None, (), rows, fits, 0)
    >>> order = np.argsort(-pin_judged(ids, values, {4: False, 9: True}, model))
    >>> ids[order].tolist()
    [9, 7, 4]
    """
    pinned = np.array([p for p in judged if p not in model.suspected_mislabels], np.int64)
    pinned = pinned[np.isin(pinned, ids)]
    fits = np.array([judged[p] for p in pinned.tolist()], bool)
    return placed(scores, np.searchsorted(ids, pinned), np.where(fits, 1, -1))


def parts_of(
    context: SessionContext, model: SessionModel, pictures: Ints, judged: bool = False
) -> tuple[Doubles, Doubles]:
    """Return the contributions of the untrained order and of the learned weights to scores.

    A picture without the feature gets the weights' average contribution.
    """
    space, query = context.space, context.query
    has = np.zeros(len(pictures), bool) if space is None else space.has(pictures)
    rows = np.zeros((0, 0)) if space is None else space.rows(pictures[has].tolist())
    before, part = np.zeros(len(pictures)), np.zeros(len(pictures))
    if query is not None:
        before[has] = rows.astype(np.float64) @ query
    elif context.words is not None and model.weights is None:
        before = looked_up(*_followed(context, context.words, model), pictures)
    else:
        before = context.untrained(pictures)
    if model.weights is not None:
        part[has] = model.part(rows.astype(np.float64) @ model.weights, judged)
    return model.untrained_part(before, judged), part


def _direction(query: Doubles, model: SessionModel) -> Doubles:
    plain = model.factor * query
    return plain if model.weights is None else plain + model.weights


def _centred(products: Doubles, model: SessionModel) -> Doubles:
    return products - sum(model.centres)


def _few_scores(
    context: SessionContext, model: SessionModel, n: int, judged: Sequence[int]
) -> tuple[Ints, Doubles] | None:
    """Return scores of the best and of the judged pictures; None if all must be scored."""
    space, query = context.space, context.query
    if space is None:
        return None
    wanted = 4 * n + len(judged) + len(context.ids) + _SPARE
    known = np.array(judged, np.int64)
    if context.words is not None:
        return _few_of_words(context, context.words, model, wanted, known)
    if query is None:
        return None
    direction = _direction(query, model)
    best = space.best(direction, wanted, context.allowed)
    if best is None:
        return None
    more = np.setdiff1d(known, best[0])
    more = more[space.has(more)]
    judged_products = space.rows(more.tolist()).astype(np.float64) @ direction
    ids = np.concatenate([best[0], more])
    order = np.argsort(ids)
    return ids[order], _centred(np.concatenate([best[1], judged_products])[order], model)


def _few_of_words(
    context: SessionContext, words: Ranked, model: SessionModel, n: int, judged: Ints
) -> tuple[Ints, Doubles] | None:
    """Return scores of the n best and of the judged pictures of a session that has words."""
    space, by_row = context.space, context.by_row
    if space is None or by_row is None:
        return None
    if model.weights is not None:
        added = model.factor * by_row - np.float32(sum(model.centres))
        query = DenseQuery(space.feature, model.weights.astype(np.float32), "cosine")

        def rank(ids: Ints) -> Top:
            return _best_of(ids, np.add(*parts_of(context, model, ids)), n)

        top = space.snapshot.top_by(query, n, context.allowed, rank, added)
        if top is None:
            return None
        best = np.union1d(top.ids, context.featureless)
        ids = np.union1d(best, judged[space.has(judged) | np.isin(judged, words.ids)])
        return ids, np.add(*parts_of(context, model, ids))
    # Whatever follows the words' own pictures comes after them.
    if len(words.ids) < n or not np.isin(judged, words.ids).all():
        return None
    ids = np.union1d(_best_of(words.ids, words.scores, n).ids, judged)
    return ids, model.untrained_part(context.untrained(ids))


def _best_of(ids: Ints, scores: Doubles, n: int) -> Top:
    best = Best(n)
    best.offer(ids, scores.astype(np.float32))
    return best.top()


def _all_scores(context: SessionContext, model: SessionModel) -> tuple[Ints, Doubles]:
    space, words, query = context.space, context.words, context.query
    if query is not None and space is not None:
        return space.ids, _centred(space.scores(_direction(query, model)), model)
    if words is None:
        return np.zeros(0, np.int64), np.zeros(0)
    if model.weights is None or space is None:
        ids, values = _followed(context, words, model)
        return ids, model.untrained_part(values)
    ids = np.union1d(space.ids, words.ids)
    # A picture without the feature counts as an average one.
    values = looked_up(space.ids, model.part(space.scores(model.weights)), ids)
    return ids, values + model.untrained_part(context.untrained(ids))


def _followed(context: SessionContext, words: Ranked, model: SessionModel) -> tuple[Ints, Doubles]:
    """Return pictures ranked by words and those that follow, ids ascending, with scores."""
    space = context.space
    target = None if space is None else _target(space, words, model)
    if space is None or target is None:
        return words.ids, words.scores
    new = ~np.isin(space.ids, words.ids)
    if not new.any():
        return words.ids, words.scores
    # Cosines from 1 to -1 are mapped to scores from the lowest score of words down to 0.
    share = (1.0 + np.clip(space.scores(target)[new], -1.0, 1.0)) / 2
    least = float(words.scores.min(initial=1.0))
    ids = np.concatenate([words.ids, space.ids[new]])
    order = np.argsort(ids)
    return ids[order], np.concatenate([words.scores, least * share])[order]


def _target(space: FeatureSpace, words: Ranked, model: SessionModel) -> Doubles | None:
    """Return the L2-normalised mean of the positive rows; None if there are none."""
    rows = model.rows[model.fits]
    if not len(rows):
        unfit = [p for p, fits in zip(model.pictures, model.fits, strict=True) if p and not fits]
        examples = words.exact if len(words.exact) else words.ids
        left = np.setdiff1d(examples, np.array(unfit, np.int64))
        rows = space.rows(left[space.has(left)][:_MOST_EXAMPLES].tolist())
    if not len(rows):
        return None
    return unit_mean(rows)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPictures:
    """Pictures, ids ascending, with their scores; `root` is the collection's folder."""

    reader: Reader
    root: bytes
    context: SessionContext
    model: SessionModel
    ids: Ints
    scores: Doubles

    def without(self, pictures: Ints) -> ScoredPictures:
        """Return a copy without some pictures."""
        keep = ~np.isin(self.ids, pictures)
        ids, values = self.ids[keep], self.scores[keep]
        return ScoredPictures(self.reader, self.root, self.context, self.model, ids, values)

    def best(self, order: Doubles, n: int) -> tuple[list[Hit], int]:
        """Return the n best hits whose files exist, and the number of missing files met."""
        want = n
        while True:
            best = Best(want)
            best.offer(self.ids, order.astype(np.float32))
            top = best.top()
            hits = self.existing_hits(top.ids)
            if len(hits) >= n or len(top.ids) < want:
                return hits[:n], len(top.ids) - len(hits)
            want *= (
                4  # Files of some hits are missing: read further down the ranking, in few steps.
            )

    def doubted(self, judged: dict[int, bool]) -> list[Hit]:
        """Return the suspected mislabels that may appear, in judging order."""
        suspected = np.array([p for p in judged if p in self.model.suspected_mislabels], np.int64)
        return self.existing_hits(suspected[np.isin(suspected, self.ids)])

    def existing_hits(self, chosen: Ints) -> list[Hit]:
        """Return the hits among some pictures whose files exist."""
        words, learned = self.context.words, self.model.weights is not None
        kind = words.match() if words is not None else None

        def match(picture: int) -> MatchKind:
            matched: MatchKind = "partial" if kind is None else kind(picture)
            return "predicted" if learned and matched != "exact" else matched

        scores = self.scores[np.searchsorted(self.ids, chosen)].tolist()
        return hits_of(self.reader, self.root, chosen.tolist(), scores, match, learned)[0]
