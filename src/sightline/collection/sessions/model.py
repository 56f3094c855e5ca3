"""The model of a session: what is learned from all of its judgements, independent of their order.

A session that began with pictures counts them as judged to fit; its untrained order is the cosine
similarity to their mean. A session that began with words has no example at first, and its untrained
order is the result of a word search. In both cases `feedback.blend` derives from the judgements
which part of the untrained order stays and which judgements are suspected mislabels. With words and
pictures the untrained order is the sum of both scores, each standardised over the pictures that
may appear (`feedback.scale`), so that neither dominates.

Both rankings of a blend are standardised over unjudged pictures that may appear and have the
feature: word scores over all of them, the learned scores over a random sample of 1,000. Judged
pictures are ranked first or last whatever their score, and their scores are clipped to the range of
the others. The background is not used for standardising: it leaves out pictures that have the
words or rank best, so the spread of its scores may be close to 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats, Ints
from sightline.collection.corrections import Correction, corrected
from sightline.collection.filters import allowed_ids
from sightline.collection.index.options import quick_feature
from sightline.collection.lexicon import word_forms
from sightline.collection.search.examples import with_examples
from sightline.collection.search.words import Ranked, parse_words, ranked
from sightline.collection.sessions.feature_space import (
    FeatureSpace,
    as_text,
    choose,
    from_text,
    unit_mean,
)
from sightline.collection.sessions.log import SessionRecord, SessionStart
from sightline.collection.similarity.query import QueryPicture, find
from sightline.contracts import Compute
from sightline.errors import CollectionError, NoFeatures, UsageError
from sightline.feedback.blend import Blend
from sightline.records import shown
from sightline.settings import Settings
from sightline.store.folder import Reader
from sightline.vectors import Fingerprint

# Unjudged pictures, sampled once for all rounds, that represent the rest of the collection.
BACKGROUND = 1_000
_BESIDE = 0.2
# With fewer unjudged pictures the spread of scores cannot be estimated.
_ENOUGH = 20


@dataclass(frozen=True, slots=True, eq=False)
class SessionContext:
    """The data a session learns from in one version of the collection.

    Attributes
    ----------
    version : int
        The version of the store.
    model : str
        The word model of that version.
    space : FeatureSpace or None
        The feature to learn with; None if pictures have none.
    query_rows : ndarray of float32
        Unit vectors of the pictures it began with; no rows if it began with words alone.
    ids : tuple of int
        Ids of those pictures that are in the collection.
    background : ndarray of int64
        Ids of randomly sampled pictures, ascending, that most likely do not fit.
    words : Ranked or None
        The ranking by words, combined with that by pictures if there are any; None if it began with
        pictures alone.
    ranked : ndarray of int64
        Ids of pictures that may appear and have the feature, ascending.
    allowed : ndarray of int64 or None
        Ids that pass the filters, ascending; None without filters.
    by_row : ndarray of float32 or None
        The untrained score of each stored row of the feature, where rounded rows can name the best
        pictures of a session that has words; else None.
    featureless : ndarray of int64
        Ids that words rank and that lack the feature, ascending.
    """

    version: int
    model: str
    space: FeatureSpace | None
    query_rows: Floats
    ids: tuple[int, ...]
    background: Ints
    words: Ranked | None
    ranked: Ints
    allowed: Ints | None = None
    by_row: Floats | None = None
    featureless: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def query(self) -> Doubles | None:
        """The L2-normalised mean of the pictures it began with; None if it has words too."""
        return unit_mean(self.query_rows) if self.words is None else None

    @property
    def words_best(self) -> float:
        """The highest score by words."""
        return 0.0 if self.words is None else float(self.words.scores.max(initial=0.0))

    def untrained(self, pictures: Ints) -> Doubles:
        """Return the untrained scores of pictures; 0 for those that words do not rank."""
        if self.words is None:
            return np.zeros(len(pictures))
        return looked_up(self.words.ids, self.words.scores, pictures)


def drawn_background(space: FeatureSpace, ids: Sequence[int], words: Ranked | None) -> Ints:
    """Sample pictures at random, without the query pictures and the best hits of the words."""
    out = np.array(ids, np.int64)
    if words is not None and len(words.ids):
        # Likewise, for a query picture, the learner leaves out the most similar fifth.
        best = np.argsort(-words.scores, kind="stable")[: max(1, int(_BESIDE * len(words.ids)))]
        out = np.concatenate([out, words.exact, words.ids[best]])
    return _some(np.setdiff1d(space.ids, out))


def may_appear(space: FeatureSpace, ids: Sequence[int], allowed: Ints | None) -> Ints:
    """Return the pictures with the feature that pass the filters, without the query pictures."""
    left = np.setdiff1d(space.ids, np.array(ids, np.int64))
    return left if allowed is None else np.intersect1d(left, allowed)


def _some(pictures: Ints) -> Ints:
    """Return at most `BACKGROUND` of the pictures, sampled with a fixed seed, ascending."""
    if len(pictures) <= BACKGROUND:
        return pictures
    return np.sort(np.random.default_rng(0).choice(pictures, BACKGROUND, replace=False))


def looked_up(ids: Ints, values: Doubles, pictures: Ints) -> Doubles:
    """Return the value of each picture by id; ids are ascending, and missing ones get 0.

    >>> looked_up(np.array([2, 5]), np.array([0.5, 0.7]), np.array([5, 1, 9, 2])).tolist()
    [0.7, 0.0, 0.0, 0.5]
    """
    if not len(ids):
        return np.zeros(len(pictures))
    at = np.minimum(np.searchsorted(ids, pictures), len(ids) - 1)
    return np.where(ids[at] == pictures, values[at], 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class SessionModel:
    """The result of learning from the judgements of a session.

    Attributes
    ----------
    weights : ndarray of float64 or None
        Weights of the feature's dimensions; None if the learned ranking is not used.
    factor : float
        The factor of the untrained score.
    share : float
        The share of the untrained order in the blend, from 0 to 1: the standard deviation of its
        contribution to the scores of unjudged pictures, divided by the sum of that and the standard
        deviation of the learned contribution (`Blend.share_`).
    before, after : float or None
        Share of correctly ordered pairs of judged pictures by the untrained order, and by the
        blend; None if there is no pair of a positive and a negative picture.
    pictures : tuple of int or None
        The training pictures, query pictures first; None for one outside the collection.
    rows : ndarray of float32
        Their unit vectors.
    fits : ndarray of bool
        Whether each of them fits.
    gone : int
        Number of judged pictures that were removed or lack the feature.
    suspected_mislabels : frozenset of int
        Judged pictures whose judgement contradicts the others; they are not learned from.
    centres : tuple of (float, float)
        Means of the learned and of the untrained contributions. They are subtracted, so that the
        average picture has score 0.
    bounds : tuple of (float, float)
        Limits of the absolute contributions to the score of a judged picture.
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
        """Return the contribution of the weights, given their products with rows."""
        return _within(products - self.centres[0], self.bounds[0] if judged else np.inf)

    def untrained_part(self, scores: Doubles, judged: bool = False) -> Doubles:
        """Return the contribution of the untrained order, given its scores."""
        added = self.factor * scores - self.centres[1]
        return _within(added, self.bounds[1] if judged else np.inf)


def _within(values: Doubles, bound: float) -> Doubles:
    return np.asarray(np.clip(values, -bound, bound))


def learn(context: SessionContext, record: SessionRecord) -> SessionModel:
    """Fit the model of a session to all of its judgements."""
    space, judged = context.space, record.judged
    if space is None:
        nothing = np.zeros((0, 0), np.float32)
        return SessionModel(None, 1.0, 1.0, None, None, (), nothing, np.zeros(0, bool), 0)
    judged_ids = np.array(list(judged), np.int64)
    usable = judged_ids[space.has(judged_ids)].tolist()
    row_of = dict(zip(usable, space.rows(usable), strict=True))
    X, fits, pictures = _training_rows(context, judged, row_of)
    background = _background(context, judged)
    unjudged = _unjudged(context, judged_ids)
    ranked = _some(unjudged)
    both = np.union1d(background, ranked)
    rows = space.rows(both.tolist())
    blend = Blend()
    # For a query vector the blend computes the untrained scores itself.
    blend.start(
        context.query, rows[np.searchsorted(both, background)],
        _untrained_scores(context, background),
        ranked=rows[np.searchsorted(both, ranked)],
        ranked_untouched=_untrained_scores(context, unjudged),
    )  # fmt: skip
    training_ids = np.array([p or 0 for p in pictures], np.int64)
    insisted = [p is None or p in context.ids or p in record.insisted for p in pictures]
    untrained = _untrained_scores(context, training_ids)
    if untrained is not None and len(context.query_rows):
        # A query picture gets the best score, even if it has no word of the query.
        untrained[: len(context.query_rows)] = context.words_best
    blend.partial_fit(X, np.where(fits, 1, -1), untrained, insisted)
    weights, factor = blend.parts_
    return SessionModel(
        weights, factor, blend.share_, blend.before_, blend.after_, pictures, X, fits,
        len(judged) - len(usable), frozenset(training_ids[blend.stands_ == 0].tolist()),
        blend.centres_, blend.bounds_,
    )  # fmt: skip


def _untrained_scores(context: SessionContext, pictures: Ints) -> Doubles | None:
    """Return the untrained scores of pictures; None unless the session began with words."""
    return None if context.words is None else context.untrained(pictures)


def _unjudged(context: SessionContext, judged: Ints) -> Ints:
    """Return the unjudged pictures; all that may appear if hardly any are left."""
    left = context.ranked[~np.isin(context.ranked, judged)]
    return left if len(left) >= _ENOUGH else context.ranked


def _background(context: SessionContext, judged: dict[int, bool]) -> Ints:
    """Return the background without pictures that were judged to fit."""
    positive = np.array([p for p, fits in judged.items() if fits], np.int64)
    return np.setdiff1d(context.background, positive)


def _training_rows(
    context: SessionContext, judged: dict[int, bool], row_of: dict[int, Floats]
) -> tuple[Floats, NDArray[np.bool_], tuple[int | None, ...]]:
    """Return the training rows, whether each fits, and the picture of each."""
    usable = {p: fits for p, fits in judged.items() if p in row_of}
    query_ids: list[int | None] = [
        *context.ids,
        *[None] * (len(context.query_rows) - len(context.ids)),
    ]
    rows = np.vstack([context.query_rows, *(row_of[p] for p in usable)])
    fits = np.array([True] * len(context.query_rows) + list(usable.values()), bool)
    return rows, fits, (*query_ids, *usable)


_NO_DESCRIPTOR = (
    "No descriptor is on at least nine tenths of the pictures, so nothing can be learned in the "
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
    """Return the start of a new session; vectors of its pictures are stored with it."""
    chosen = choose(reader.snapshot, feature)
    served = (chosen, reader.snapshot.model, reader.snapshot.version)
    corrections: tuple[Correction, ...] = ()
    if query or not like:
        # Raises for a malformed query before anything is judged.
        meant, corrections = corrected(word_forms(reader), parse_words(query))
        query = str(meant) if corrections else query
    if not like:
        return SessionStart(query, (), (), *served, corrections=corrections)
    if not chosen:
        raise NoFeatures(_NO_DESCRIPTOR.format(quick_feature()))
    space = FeatureSpace(reader.snapshot, chosen)
    query_pictures = _distinct([find(reader, root, p) for p in like])
    rows = [as_text(space.row_of(reader, a, settings, compute)) for a in query_pictures]
    names = [_name(a) for a in query_pictures]
    return SessionStart(query, tuple(names), tuple(rows), *served, corrections=corrections)


def _distinct(pictures: Sequence[QueryPicture]) -> list[QueryPicture]:
    """Return the distinct pictures, those of the collection first."""
    distinct = {a.file: a for a in pictures}.values()
    return sorted(distinct, key=lambda a: a.picture is None)


def _name(a: QueryPicture) -> int | str:
    return a.picture if a.picture is not None else a.file.decode("utf-8", "surrogateescape")


def open_context(reader: Reader, start: SessionStart) -> tuple[SessionContext, list[str]]:
    """Return the context of a session in the served version, and remarks for its user."""
    snapshot = reader.snapshot
    common = {f for s in snapshot.segments for f in s.features}
    feature = start.feature if start.feature in common else choose(snapshot)
    remarks = _changes(start, snapshot.model, feature)
    space = FeatureSpace(snapshot, feature) if feature else None
    if space is None and not start.examples:
        remarks.append(
            _NO_DESCRIPTOR.format(quick_feature()) + ". Judgements are kept, and train uses them."
        )
    words = None
    if start.query or not start.examples:
        words = ranked(reader, start.query, start.where, start.untagged)
    allowed = words.allowed if words else allowed_ids(reader, start.where, start.untagged)
    if words is not None:
        for u in words.unknown:
            near = f" Near it: {', '.join(u.near)}." if u.near else ""
            remarks.append(f"No picture has the word {u.word!r}.{near}")
    query_rows, ids = _query_rows(start, space)
    if words is not None and space is not None and len(query_rows):
        words = with_examples(words, space, unit_mean(query_rows))
    background = ranked_ids = np.zeros(0, np.int64)
    if space is not None:
        background = drawn_background(space, ids, words)
        ranked_ids = may_appear(space, ids, allowed)
    served = snapshot.version, snapshot.model
    by_row, featureless = _by_row(space, words)
    return SessionContext(
        *served, space, query_rows, ids, background, words, ranked_ids, allowed, by_row, featureless
    ), remarks


def _by_row(space: FeatureSpace | None, words: Ranked | None) -> tuple[Floats | None, Ints]:
    """Return the scores of words by stored row, where they are of use, and who has no row."""
    nothing = np.zeros(0, np.int64)
    if words is None or space is None or not space.is_rounded:
        return None, nothing
    scores = looked_up(words.ids, words.scores, space.snapshot.row_ids(space.feature))
    return scores.astype(np.float32), np.setdiff1d(words.ids, space.ids, assume_unique=True)


def _query_rows(start: SessionStart, space: FeatureSpace | None) -> tuple[Floats, tuple[int, ...]]:
    """Return the vectors of the pictures a session began with, and which are in the collection."""
    if not start.examples:
        return np.zeros((0, space.length if space else 0), np.float32), ()
    if space is None:
        raise CollectionError(_NO_DESCRIPTOR.format(Fingerprint.parse(start.feature).name))
    current_rows, logged_rows, ids = [], [], []
    for name, text in zip(start.examples, start.rows, strict=True):
        if isinstance(name, int) and space.has(np.array([name])).all():
            current_rows.append(space.rows([name])[0])
            ids.append(name)
        elif space.feature == start.feature:
            logged_rows.append(from_text(text))
    if not current_rows and not logged_rows:
        first = start.examples[0]
        lost = f"picture {first}" if isinstance(first, int) else shown(_path(first))
        descriptor = Fingerprint.parse(start.feature).name
        raise CollectionError(
            f"The session began with {lost}, which is gone, and so is the descriptor "
            f"{descriptor} it was known by. Begin a new one: sightline judge --like"
        )
    return np.vstack([*current_rows, *logged_rows]), tuple(ids)


def _path(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _changes(start: SessionStart, model: str, feature: str) -> list[str]:
    """Return remarks on the model and feature if they differ from those at the start."""
    remarks = []
    if not start.examples and start.model != model:
        then = f"model {start.model}" if start.model else "no model"
        now = f"model {model}" if model else "no model"
        remarks.append(f"The session began with {then} of words; it goes on with {now}.")
    if start.feature != feature:
        then = Fingerprint.parse(start.feature).name if start.feature else "no descriptor"
        now = Fingerprint.parse(feature).name if feature else "no descriptor"
        same = then == now
        remarks.append(
            f"The session began with {then}{' of other settings' * same}; it goes on with {now}."
        )
    return remarks


def check_judgements(start: SessionStart, relevant: Sequence[int], negative: Sequence[int]) -> None:
    """Raise if judgements contradict each other or are empty, before any is written."""
    both = sorted(set(relevant) & set(negative))
    if both:
        raise UsageError(f"Picture {both[0]} is judged both to fit and not to. Leave out one.")
    queried = sorted(set(start.examples) & {*relevant, *negative}, key=str)
    if queried:
        raise UsageError(
            f"Picture {queried[0]} is what the session looks for, and fits itself. Judge others."
        )
    if not relevant and not negative:
        raise UsageError("No picture is judged. Name some that fit, or that do not.")
