"""Every picture with its score, by the untouched ranking and what the judgements made of it.

Without a model, words rank only pictures that carry some of them. Once these are judged, a session
would have nothing left to show, and nothing to tell it what does not fit either. So all other
pictures follow, the likest first to what was judged to fit, or, as long as nothing was, to pictures
that carry the words and were not judged otherwise. They stay below every picture that words rank.

Every picture of a session with its score, and the hits that are made of some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline.collection.results import MatchKind, hits_of
from sightline.collection.search.words import Ranked
from sightline.collection.sessions.feature_space import Doubles, FeatureSpace, Int, unit
from sightline.collection.sessions.model import SessionContext, SessionModel, looked_up
from sightline.feedback.blend import placed
from sightline.records import Hit
from sightline.store.engines.flat import Best
from sightline.store.home import Reader

# So many carriers say well enough what the words look like.
_CARRIERS = 200
# So many more than are shown, for files that are gone.
_SPARE = 100


def scores(
    context: SessionContext, model: SessionModel, n: int | None = None, judged: Sequence[int] = ()
) -> tuple[Int, Doubles]:
    """Return every picture that may appear, ids ascending, with its score.

    Of a session that began with pictures alone an engine, if there is one, is asked for the `n`
    best; those that were judged are there as well. Words rank every picture, and so do sessions
    that began with them.
    """
    few = None if n is None else _few_scores(context, model, n, judged)
    ids, found = few or _all_scores(context, model)
    if model.weights is not None and len(judged):
        at = np.flatnonzero(np.isin(ids, np.array(judged, np.int64)))
        found[at] = np.add(*parts_of(context, model, ids[at], judged=True))
    keep = ~np.isin(ids, np.array(context.ids, np.int64))
    if context.allowed is not None:
        keep &= np.isin(ids, context.allowed)
    return ids[keep], found[keep]


def pin_judged(ids: Int, scores: Doubles, judged: dict[int, bool], model: SessionModel) -> Doubles:
    """Return scores that have pictures judged to fit first, and those judged not to last.

    >>> ids, found = np.array([4, 7, 9]), np.array([0.3, 0.2, 0.1])
    >>> rows, fits = np.zeros((0, 1)), np.zeros(0, bool)
    >>> nothing = SessionModel(None, 1.0, 1.0, None, None, (), rows, fits, 0)
    >>> order = np.argsort(-pin_judged(ids, found, {4: False, 9: True}, nothing))
    >>> ids[order].tolist()
    [9, 7, 4]
    """
    known = np.array([p for p in judged if p not in model.suspected_mislabels], np.int64)
    known = known[np.isin(known, ids)]
    fits = np.array([judged[p] for p in known.tolist()], bool)
    return placed(scores, np.searchsorted(ids, known), np.where(fits, 1, -1))


def parts_of(
    context: SessionContext, model: SessionModel, pictures: Int, judged: bool = False
) -> tuple[Doubles, Doubles]:
    """Return what the untouched ranking and what the learnt weights add to scores of pictures.

    A picture without the descriptor counts as an average one for the weights.
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
        before = context.untouched(pictures)
    if model.weights is not None:
        part[has] = model.part(rows.astype(np.float64) @ model.weights, judged)
    return model.untouched_part(before, judged), part


def _direction(query: Doubles, learnt: SessionModel) -> Doubles:
    plain = learnt.factor * query
    return plain if learnt.weights is None else plain + learnt.weights


def _centred(products: Doubles, learnt: SessionModel) -> Doubles:
    return products - sum(learnt.centres)


def _few_scores(
    ground: SessionContext, learnt: SessionModel, n: int, judged: Sequence[int]
) -> tuple[Int, Doubles] | None:
    """Return the best pictures and the judged ones; None where all have to be looked at."""
    space, query = ground.space, ground.query
    if query is None or space is None:
        return None
    direction = _direction(query, learnt)
    wanted = 4 * n + len(judged) + len(ground.ids) + _SPARE
    found = space.best(direction, wanted, ground.allowed)
    if found is None:
        return None
    more = np.setdiff1d(np.array(judged, np.int64), found[0])
    more = more[space.has(more)]
    own = space.rows(more.tolist()).astype(np.float64) @ direction
    ids = np.concatenate([found[0], more])
    order = np.argsort(ids)
    return ids[order], _centred(np.concatenate([found[1], own])[order], learnt)


def _all_scores(ground: SessionContext, learnt: SessionModel) -> tuple[Int, Doubles]:
    space, words, query = ground.space, ground.words, ground.query
    if query is not None and space is not None:
        return space.ids, _centred(space.scores(_direction(query, learnt)), learnt)
    if words is None:
        return np.zeros(0, np.int64), np.zeros(0)
    if learnt.weights is None or space is None:
        ids, found = _followed(ground, words, learnt)
        return ids, learnt.untouched_part(found)
    ids = np.union1d(space.ids, words.ids)
    # A picture without the descriptor counts as an average one.
    found = looked_up(space.ids, learnt.part(space.scores(learnt.weights)), ids)
    return ids, found + learnt.untouched_part(ground.untouched(ids))


def _followed(ground: SessionContext, words: Ranked, learnt: SessionModel) -> tuple[Int, Doubles]:
    """Return what words rank and what follows it, ids ascending, with the score of each."""
    space = ground.space
    wanted = None if space is None else _wanted(space, words, learnt)
    if space is None or wanted is None:
        return words.ids, words.scores
    new = ~np.isin(space.ids, words.ids)
    # From the least score of words down to 0, as cosines go from 1 to -1.
    share = (1.0 + np.clip(space.scores(wanted)[new], -1.0, 1.0)) / 2
    least = float(words.scores.min(initial=1.0))
    ids = np.concatenate([words.ids, space.ids[new]])
    order = np.argsort(ids)
    return ids[order], np.concatenate([words.scores, least * share])[order]


def _wanted(space: FeatureSpace, words: Ranked, learnt: SessionModel) -> Doubles | None:
    """Return the mean row of what is wanted, made one long; None where nothing tells."""
    rows = learnt.rows[learnt.fits]
    if not len(rows):
        unfit = [p for p, fits in zip(learnt.pictures, learnt.fits, strict=True) if p and not fits]
        carriers = words.carried if len(words.carried) else words.ids
        left = np.setdiff1d(carriers, np.array(unfit, np.int64))
        rows = space.rows(left[space.has(left)][:_CARRIERS].tolist())
    if not len(rows):
        return None
    return np.asarray(unit(rows.mean(axis=0, keepdims=True))[0], np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPictures:
    """Pictures, ids ascending, and the score of each; `root` is the folder their files are in."""

    reader: Reader
    root: bytes
    ground: SessionContext
    learnt: SessionModel
    ids: Int
    found: Doubles

    def without(self, pictures: Int) -> ScoredPictures:
        """Return it without some pictures."""
        keep = ~np.isin(self.ids, pictures)
        ids, found = self.ids[keep], self.found[keep]
        return ScoredPictures(self.reader, self.root, self.ground, self.learnt, ids, found)

    def best(self, order: Doubles, n: int) -> tuple[list[Hit], int]:
        """Return the best in order that are there, and how many of those looked up are not."""
        want = n
        while True:
            best = Best(want)
            best.offer(self.ids, order.astype(np.float32))
            top = best.top()
            hits = self.there(top.ids)
            if len(hits) >= n or len(top.ids) < want:
                return hits[:n], len(top.ids) - len(hits)
            want *= 4  # Files of some hits are gone; look further down, in few steps.

    def doubted(self, judged: dict[int, bool]) -> list[Hit]:
        """Return the slips that may appear, in the order they were judged."""
        slips = np.array([p for p in judged if p in self.learnt.suspected_mislabels], np.int64)
        return self.there(slips[np.isin(slips, self.ids)])

    def there(self, chosen: Int) -> list[Hit]:
        """Return those of some pictures whose files are there."""
        words, learned = self.ground.words, self.learnt.weights is not None
        exact = frozenset(words.carried.tolist()) if words is not None else frozenset()

        def match(picture: int) -> MatchKind:
            return "exact" if picture in exact else "predicted" if learned else "partial"

        scores = self.found[np.searchsorted(self.ids, chosen)].tolist()
        return hits_of(self.reader, self.root, chosen.tolist(), scores, match, learned)[0]
