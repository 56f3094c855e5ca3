"""What a session has learnt from all that was judged in it, in whatever order.

A session that began with pictures starts from them, and they count as judged to fit; its untouched
ranking is the cosine with their mean. One that began with words learns from nothing, and its
untouched ranking is what a search by the words gives. Either way `feedback.blend` decides by the
judgements themselves how much of the untouched ranking stays, and which of them are slips.

Words and pictures together are an untouched ranking by both: what the words give and the cosine
with the pictures' mean, each standardised over the pictures that may appear (`feedback.scale`), so
that neither drowns the other.

Both rankings of a blend are standardised over the pictures that may appear, have the descriptor and
are not judged yet: the scores that words give over all of them, what was learnt over 1,000 drawn at
random. Judged pictures are placed first or last whatever their score, which is cut off where that
of the others ends. The background stands for neither: pictures that carry the words, and those that
words rank best, are left out of it, and what is left may have next to no spread.

What a session stands on in the version that is served now, and what changed since it began.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sightline.collection.filters import allowed_ids
from sightline.collection.search.words import Ranked, parse_words, ranked
from sightline.collection.sessions.feature_space import (
    Doubles,
    FeatureSpace,
    Floats,
    Int,
    as_text,
    choose,
    from_text,
    unit,
)
from sightline.collection.sessions.log import SessionRecord, SessionStart
from sightline.collection.similarity.descriptors import name_of
from sightline.collection.similarity.query import QueryPicture, find
from sightline.contracts import Compute
from sightline.errors import CollectionError, NoFeatures, UsageError
from sightline.feedback.blend import Blend
from sightline.feedback.scale import Scale
from sightline.records import shown
from sightline.settings import Settings
from sightline.store.home import Reader

# Pictures nobody judged, drawn once for all rounds: they tell where the rest of the collection is.
BACKGROUND = 1_000
_BESIDE = 0.2
# Fewer unjudged pictures than this say little of how far scores spread.
_ENOUGH = 20


@dataclass(frozen=True, slots=True, eq=False)
class SessionContext:
    """What a session learns on in one version of the collection.

    Attributes
    ----------
    version, model : the version, and the model of words it serves.
    space : the descriptor; None if pictures have none.
    asked : rows of the pictures it began with, made one long; none if it began with words alone.
    ids : those of them that are in the collection.
    background : ids of pictures drawn at random, ascending, that are most likely not wanted.
    words : what the words rank, and pictures with them; None if it began with pictures alone.
    ranked : ids of pictures that may appear and have the descriptor, ascending.
    allowed : ids that filters leave, ascending; None where nothing is filtered.
    """

    version: int
    model: str
    space: FeatureSpace | None
    asked: Floats
    ids: tuple[int, ...]
    background: Int
    words: Ranked | None
    ranked: Int
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


def with_looks(words: Ranked, space: FeatureSpace, vectors: Floats) -> Ranked:
    """Return a ranking of all pictures by words and by what some pictures look like."""
    ids = np.union1d(space.ids, words.ids)
    appear = np.ones(len(ids), bool) if words.allowed is None else np.isin(ids, words.allowed)
    total = np.zeros(len(ids))
    for of, scores in ((words.ids, words.scores), (space.ids, space.scores(_mean(vectors)))):
        values = looked_up(of, scores, ids)
        total += Scale.of(values[appear]).bounded(values)
    return replace(words, ids=ids, scores=total)


def _mean(rows: Floats) -> Doubles:
    return np.asarray(unit(rows.mean(axis=0, keepdims=True))[0], np.float64)


def drawn_background(space: FeatureSpace, ids: Sequence[int], words: Ranked | None) -> Int:
    """Return pictures drawn at random, without those asked for and those that words rank high."""
    out = np.array(ids, np.int64)
    if words is not None and len(words.ids):
        # As of a query that is a picture, whose nearest fifth the learner itself leaves out.
        best = np.argsort(-words.scores, kind="stable")[: max(1, int(_BESIDE * len(words.ids)))]
        out = np.concatenate([out, words.carried, words.ids[best]])
    return _some(np.setdiff1d(space.ids, out))


def may_appear(space: FeatureSpace, ids: Sequence[int], allowed: Int | None) -> Int:
    """Return pictures of the descriptor that filters leave, without those asked for."""
    left = np.setdiff1d(space.ids, np.array(ids, np.int64))
    return left if allowed is None else np.intersect1d(left, allowed)


def _some(pictures: Int) -> Int:
    """Return pictures, ascending; of many, some drawn at random, always the same."""
    if len(pictures) <= BACKGROUND:
        return pictures
    return np.sort(np.random.default_rng(0).choice(pictures, BACKGROUND, replace=False))


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
class SessionModel:
    """What the judgements made of a ranking.

    Attributes
    ----------
    weights : over the rows of the descriptor; None where nothing that was learnt counts.
    factor : of the untouched score, which is added.
    share : how much of the blend is the untouched ranking, from 0 to 1: the standard deviation of
        what it adds to the scores of unjudged pictures, divided by the sum of that and the standard
        deviation of what the learnt weights add (`Blend.share_`).
    before, after : share of judged pairs in order by the untouched ranking, and by the blend;
        None where there is no pair of a picture that fits and one that does not.
    pictures, rows, fits : what was learnt from; pictures that were asked for come first.
    gone : judged pictures that are no longer there, or lack the descriptor.
    slips : judged pictures whose judgement contradicts the others; nothing is learnt from them.
    centres : means of what the weights and of what the untouched ranking add, which are
        subtracted, so that the score of the average picture is 0.
    bounds : the largest that either adds to the score of a judged picture, up or down.
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
    suspected_mislabels: frozenset[int] = frozenset()
    centres: tuple[float, float] = (0.0, 0.0)
    bounds: tuple[float, float] = (np.inf, np.inf)

    def part(self, products: Doubles, judged: bool = False) -> Doubles:
        """Return what the weights add to scores, by their products with rows."""
        return _within(products - self.centres[0], self.bounds[0] if judged else np.inf)

    def untouched_part(self, scores: Doubles, judged: bool = False) -> Doubles:
        """Return what the untouched ranking adds, by its scores."""
        added = self.factor * scores - self.centres[1]
        return _within(added, self.bounds[1] if judged else np.inf)


def _within(values: Doubles, bound: float) -> Doubles:
    return np.asarray(np.clip(values, -bound, bound))


def learn(context: SessionContext, record: SessionRecord) -> SessionModel:
    """Learn from all judgements of a session."""
    space, judged = context.space, record.judged
    if space is None:
        nothing = np.zeros((0, 0), np.float32)
        return SessionModel(None, 1.0, 1.0, None, None, (), nothing, np.zeros(0, bool), 0)
    known = np.array(list(judged), np.int64)
    usable = known[space.has(known)].tolist()
    row_of = dict(zip(usable, space.rows(usable), strict=True))
    X, fits, pictures = _taught(context, judged, row_of)
    background = _background(context, judged)
    unjudged = _unjudged(context, known)
    ranked = _some(unjudged)
    both = np.union1d(background, ranked)
    rows = space.rows(both.tolist())
    blend = Blend()
    # With a query of weights the untouched scores are its own.
    blend.start(
        context.query, rows[np.searchsorted(both, background)], _words_give(context, background),
        ranked=rows[np.searchsorted(both, ranked)],
        ranked_untouched=_words_give(context, unjudged),
    )  # fmt: skip
    said = np.array([p or 0 for p in pictures], np.int64)
    insisted = [p is None or p in context.ids or p in record.insisted for p in pictures]
    given = _words_give(context, said)
    if given is not None and len(context.asked):
        # What is asked for is its own best hit, also where it carries no word.
        given[: len(context.asked)] = context.words_best
    blend.partial_fit(X, np.where(fits, 1, -1), given, insisted)
    weights, factor = blend.parts_
    return SessionModel(
        weights, factor, blend.share_, blend.before_, blend.after_, pictures, X, fits,
        len(judged) - len(usable), frozenset(said[blend.stands_ == 0].tolist()),
        blend.centres_, blend.bounds_,
    )  # fmt: skip


def _words_give(ground: SessionContext, pictures: Int) -> Doubles | None:
    """Return the untouched scores of pictures, where they are those of words."""
    return None if ground.words is None else ground.untouched(pictures)


def _unjudged(ground: SessionContext, judged: Int) -> Int:
    """Return pictures that are still to be ranked; all that may appear, if hardly any are left."""
    left = ground.ranked[~np.isin(ground.ranked, judged)]
    return left if len(left) >= _ENOUGH else ground.ranked


def _background(ground: SessionContext, judged: dict[int, bool]) -> Int:
    """Return pictures that nobody said fit."""
    wanted = np.array([p for p, fits in judged.items() if fits], np.int64)
    return np.setdiff1d(ground.background, wanted)


def _taught(
    ground: SessionContext, judged: dict[int, bool], row_of: dict[int, Floats]
) -> tuple[Floats, NDArray[np.bool_], tuple[int | None, ...]]:
    """Return the rows to learn from, which fit, and whose they are."""
    mine = {p: fits for p, fits in judged.items() if p in row_of}
    own: list[int | None] = [*ground.ids, *[None] * (len(ground.asked) - len(ground.ids))]
    rows = np.vstack([ground.asked, *(row_of[p] for p in mine)])
    fits = np.array([True] * len(ground.asked) + list(mine.values()), bool)
    return rows, fits, (*own, *mine)


_NO_DESCRIPTOR = (
    "No descriptor is on at least nine tenths of the pictures, so nothing can be learnt in the "
    "session. Run: sightline index --features {}"
)


def begin(
    reader: Reader,
    root: bytes,
    settings: Settings,
    query: str,
    like: Sequence[str | bytes | int],
    feature: str = "",
    compute: Compute | None = None,
) -> SessionStart:
    """Return what a new session begins with; the rows of pictures are kept, should they go."""
    chosen = choose(reader.snapshot, feature)
    served = (chosen, reader.snapshot.model, reader.snapshot.version)
    if query or not like:
        parse_words(query)  # What cannot be read is refused before anything is judged.
    if not like:
        return SessionStart(query, (), (), *served)
    if not chosen:
        raise NoFeatures(_NO_DESCRIPTOR.format("deep"))
    space = FeatureSpace(reader.snapshot, chosen)
    asked = _distinct([find(reader, root, p) for p in like])
    rows = [as_text(space.row_of(reader, a, settings, compute)) for a in asked]
    names = [_name(a) for a in asked]
    return SessionStart(query, tuple(names), tuple(rows), *served)


def _distinct(asked: Sequence[QueryPicture]) -> list[QueryPicture]:
    """Return pictures without those named twice, the ones of the collection first."""
    found = {a.file: a for a in asked}.values()
    return sorted(found, key=lambda a: a.picture is None)


def _name(a: QueryPicture) -> int | str:
    return a.picture if a.picture is not None else a.file.decode("utf-8", "surrogateescape")


def stand(reader: Reader, start: SessionStart) -> tuple[SessionContext, list[str]]:
    """Return what a session stands on now, and what there is to say about it."""
    snapshot = reader.snapshot
    common = {f for s in snapshot.segments for f in s.features}
    feature = start.feature if start.feature in common else choose(snapshot)
    said = _changes(start, snapshot.model, feature)
    space = FeatureSpace(snapshot, feature) if feature else None
    if space is None and not start.like:
        said.append(_NO_DESCRIPTOR.format("deep") + ". Judgements are kept, and train uses them.")
    words = None
    if start.query or not start.like:
        words = ranked(reader, start.query, start.where, start.untagged)
    allowed = words.allowed if words else allowed_ids(reader, start.where, start.untagged)
    if words is not None:
        for u in words.unknown:
            near = f" Near it: {', '.join(u.near)}." if u.near else ""
            said.append(f"No picture carries {u.word!r}.{near}")
    asked, ids = _asked(start, space)
    if words is not None and space is not None and len(asked):
        words = with_looks(words, space, asked)
    background = ranked_ids = np.zeros(0, np.int64)
    if space is not None:
        background = drawn_background(space, ids, words)
        ranked_ids = may_appear(space, ids, allowed)
    served = snapshot.version, snapshot.model
    return SessionContext(*served, space, asked, ids, background, words, ranked_ids, allowed), said


def _asked(start: SessionStart, space: FeatureSpace | None) -> tuple[Floats, tuple[int, ...]]:
    """Return the rows of the pictures a session began with, and which are in the collection."""
    if not start.like:
        return np.zeros((0, space.length if space else 0), np.float32), ()
    if space is None:
        raise CollectionError(_NO_DESCRIPTOR.format(name_of(start.feature)))
    there, kept, ids = [], [], []
    for name, text in zip(start.like, start.rows, strict=True):
        if isinstance(name, int) and space.has(np.array([name])).all():
            there.append(space.rows([name])[0])
            ids.append(name)
        elif space.feature == start.feature:
            kept.append(from_text(text))
    if not there and not kept:
        first = start.like[0]
        lost = f"picture {first}" if isinstance(first, int) else shown(_path(first))
        raise CollectionError(
            f"The session began with {lost}, which is gone, and so is the descriptor "
            f"{name_of(start.feature)} it was known by. Begin a new one: sightline judge --like"
        )
    return np.vstack([*there, *kept]), tuple(ids)


def _path(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _changes(start: SessionStart, model: str, feature: str) -> list[str]:
    """Say what is served now that was not when the session began."""
    said = []
    if not start.like and start.model != model:
        then = f"model {start.model}" if start.model else "no model"
        now = f"model {model}" if model else "no model"
        said.append(f"The session began with {then} of words; it goes on with {now}.")
    if start.feature != feature:
        then = name_of(start.feature) if start.feature else "no descriptor"
        now = name_of(feature) if feature else "no descriptor"
        same = then == now
        said.append(
            f"The session began with {then}{' of other settings' * same}; it goes on with {now}."
        )
    return said


def check_judgements(start: SessionStart, relevant: Sequence[int], negative: Sequence[int]) -> None:
    """Refuse judgements that contradict each other, or say nothing, before any is written."""
    both = sorted(set(relevant) & set(negative))
    if both:
        raise UsageError(f"Picture {both[0]} is judged both to fit and not to. Leave out one.")
    own = sorted(set(start.like) & {*relevant, *negative}, key=str)
    if own:
        raise UsageError(
            f"Picture {own[0]} is what the session looks for, and fits itself. Judge others."
        )
    if not relevant and not negative:
        raise UsageError("No picture is judged. Name some that fit, or that do not.")
