"""What a session has learnt from all that was judged in it, in whatever order.

A session that began with pictures starts from them, and they count as judged to fit; its untouched
ranking is the cosine with their mean. One that began with words learns from nothing, and its
untouched ranking is what a search by the words gives. Either way `feedback.blend` decides by the
judgements themselves how much of the untouched ranking stays, and which of them are slips.

Words and pictures together are an untouched ranking by both: what the words give and the cosine
with the pictures' mean, each in units of its deviation over the collection, so that neither drowns
the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sightline.collection.searching import Ranked
from sightline.collection.sessions.record import Record
from sightline.collection.sessions.space import Doubles, Floats, Int, Space, unit
from sightline.feedback.blend import Blend

# Pictures nobody judged, drawn once for all rounds: they tell where the rest of the collection is.
BACKGROUND = 1_000
_BESIDE = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What a session learns on in one version of the collection.

    Attributes
    ----------
    version, model : the version, and the model of words it serves.
    space : the descriptor; None if pictures have none.
    asked : rows of the pictures it began with, made one long; none if it began with words alone.
    ids : those of them that are in the collection.
    background : ids of pictures drawn at random, ascending, that are most likely not wanted.
    words : what the words rank, and pictures with them; None if it began with pictures alone.
    allowed : ids that filters leave, ascending; None where nothing is filtered.
    """

    version: int
    model: str
    space: Space | None
    asked: Floats
    ids: tuple[int, ...]
    background: Int
    words: Ranked | None
    allowed: Int | None = None

    @property
    def query(self) -> Doubles | None:
        """The mean of the pictures it began with, made one long; None if words count too."""
        return _mean(self.asked) if self.words is None else None

    @property
    def words_best(self) -> float:
        """The highest score that words give."""
        return 0.0 if self.words is None else float(self.words.scores.max(initial=0.0))

    def untouched(self, pictures: Int) -> Doubles:
        """Return the untouched scores of some pictures; 0 for those that words do not rank."""
        if self.words is None:
            return np.zeros(len(pictures))
        return looked_up(self.words.ids, self.words.scores, pictures)


def with_looks(words: Ranked, space: Space, asked: Floats) -> Ranked:
    """Return a ranking of all pictures by words and by what some pictures look like."""
    ids = np.union1d(space.ids, words.ids)
    said = looked_up(words.ids, words.scores, ids)
    looks = looked_up(space.ids, space.scores(_mean(asked)), ids)
    return replace(words, ids=ids, scores=_in_deviations(said) + _in_deviations(looks))


def _mean(rows: Floats) -> Doubles:
    return np.asarray(unit(rows.mean(axis=0, keepdims=True))[0], np.float64)


def _in_deviations(values: Doubles) -> Doubles:
    """Return values divided by their deviation; where all are the same, 0.

    >>> _in_deviations(np.array([0.0, 4.0])).tolist(), _in_deviations(np.ones(2)).tolist()
    ([0.0, 2.0], [0.0, 0.0])
    """
    spread = float(np.std(values))
    return values / spread if spread > 0 else np.zeros(len(values))


def drawn_background(space: Space, ids: Sequence[int], words: Ranked | None) -> Int:
    """Return pictures drawn at random, without those asked for and those that words rank high."""
    out = np.array(ids, np.int64)
    if words is not None and len(words.ids):
        # As of a query that is a picture, whose nearest fifth the learner itself leaves out.
        best = np.argsort(-words.scores, kind="stable")[: max(1, int(_BESIDE * len(words.ids)))]
        out = np.concatenate([out, words.carried, words.ids[best]])
    left = np.setdiff1d(space.ids, out)
    if len(left) > BACKGROUND:
        left = np.sort(np.random.default_rng(0).choice(left, BACKGROUND, replace=False))
    return left


def looked_up(ids: Int, values: Doubles, pictures: Int) -> Doubles:
    """Return the value of each picture, where ids, ascending, have values; 0 for all others.

    >>> looked_up(np.array([2, 5]), np.array([0.5, 0.7]), np.array([5, 1, 9, 2])).tolist()
    [0.7, 0.0, 0.0, 0.5]
    """
    if not len(ids):
        return np.zeros(len(pictures))
    at = np.minimum(np.searchsorted(ids, pictures), len(ids) - 1)
    return np.where(ids[at] == pictures, values[at], 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """What the judgements made of a ranking.

    Attributes
    ----------
    weights : over the rows of the descriptor; None where nothing that was learnt counts.
    factor : of the untouched score, which is added.
    share : how much of the blend is the untouched ranking, from 0 to 1.
    before, after : share of judged pairs in order by the untouched ranking, and by the blend;
        None where there is no pair of a picture that fits and one that does not.
    pictures, rows, fits : what was learnt from; pictures that were asked for come first.
    gone : judged pictures that are no longer there, or lack the descriptor.
    slips : judged pictures whose judgement contradicts the others; nothing is learnt from them.
    """

    weights: Doubles | None
    factor: float
    share: float
    before: float | None
    after: float | None
    pictures: tuple[int | None, ...]
    rows: Floats
    fits: NDArray[np.bool_]
    gone: int
    slips: frozenset[int] = frozenset()


def learn(ground: Ground, record: Record) -> Learnt:
    """Learn from all judgements of a session."""
    space, judged = ground.space, record.judged
    if space is None:
        nothing = np.zeros((0, 0), np.float32)
        return Learnt(None, 1.0, 1.0, None, None, (), nothing, np.zeros(0, bool), 0)
    known = np.array(list(judged), np.int64)
    usable = known[space.has(known)].tolist()
    row_of = dict(zip(usable, space.rows(usable), strict=True))
    X, fits, pictures = _taught(ground, judged, row_of)
    background = _background(ground, judged)
    blend = Blend()
    # With a query of weights the untouched scores are its own.
    blend.start(ground.query, space.rows(background.tolist()), _words_give(ground, background))
    said = np.array([p or 0 for p in pictures], np.int64)
    insisted = [p is None or p in ground.ids or p in record.insisted for p in pictures]
    given = _words_give(ground, said)
    if given is not None and len(ground.asked):
        # What is asked for is its own best hit, also where it carries no word.
        given[: len(ground.asked)] = ground.words_best
    blend.learn(X, np.where(fits, 1, -1), given, insisted)
    weights, factor = blend.parts_
    return Learnt(
        weights, factor, blend.weight_, blend.before_, blend.after_, pictures, X, fits,
        len(judged) - len(usable), frozenset(said[blend.stands_ == 0].tolist()),
    )  # fmt: skip


def _words_give(ground: Ground, pictures: Int) -> Doubles | None:
    """Return the untouched scores of pictures, where they are those of words."""
    return None if ground.words is None else ground.untouched(pictures)


def _background(ground: Ground, judged: dict[int, bool]) -> Int:
    """Return pictures that nobody said fit."""
    wanted = np.array([p for p, fits in judged.items() if fits], np.int64)
    return np.setdiff1d(ground.background, wanted)


def _taught(
    ground: Ground, judged: dict[int, bool], row_of: dict[int, Floats]
) -> tuple[Floats, NDArray[np.bool_], tuple[int | None, ...]]:
    """Return the rows to learn from, which fit, and whose they are."""
    mine = {p: fits for p, fits in judged.items() if p in row_of}
    own: list[int | None] = [*ground.ids, *[None] * (len(ground.asked) - len(ground.ids))]
    rows = np.vstack([ground.asked, *(row_of[p] for p in mine)])
    fits = np.array([True] * len(ground.asked) + list(mine.values()), bool)
    return rows, fits, (*own, *mine)
