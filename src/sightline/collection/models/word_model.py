"""The word model: as it is stored, and as it serves searches.

Stored are the served weights, fitted to everything; the proof, the same recipe fitted without the
held-out pictures, by which later models are compared with this one; how words are combined; and the
figures. Published beside the pictures are their scores for each word, so that a query reads the
rows of its own words. Words beyond the budget of published bytes are scored on demand. A ranker
with a shared space also publishes each picture and its text as points, as a `TextModel` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline._typing import Arrays, Doubles, Floats, Ints
from sightline.collection.models.aliases import NO_ALIASES, Aliases
from sightline.collection.models.dataset import View, segment_views, table_arrays, table_of
from sightline.collection.models.landmarks import LandmarksOf
from sightline.collection.models.network_prior import NetworkPrior
from sightline.collection.models.online import OnlineSpace, OnlineUpdates
from sightline.collection.models.recipe import Fitted, Recipe, check_installed
from sightline.collection.models.suspected import TagProbabilities
from sightline.collection.models.text_model import PICTURES, TextModel
from sightline.collection.models.versions import WORDS, measured_text
from sightline.contracts import Json, Mapper, Part, PartDone
from sightline.errors import DataError, StoreDamaged
from sightline.rankers.cutoff import CutOff
from sightline.records import WordQuery
from sightline.store.engines.word_updates import updated_numbers
from sightline.store.folder import StoreFolder
from sightline.store.models import SavedModel, load_model, open_model
from sightline.store.scores import Scores, points_feature
from sightline.store.segments import OpenSegment
from sightline.store.versions import Version
from sightline.vectors import l2_normalize
from sightline.words.combination import WAYS, Combination, How

# Models of ordinary and saved words have format 3, those whose fits share landmarks 4, and those
# that ask a network 5: earlier releases must not read what they would misread.
FORMAT, FORMAT_SAVED, FORMAT_SHARED, FORMAT_NETWORK = 2, 3, 4, 5
# Maximum size of published scores, in multiples of the features they come from.
BUDGET = 2.0
# Training pictures that a word must have for a cut-off.
FEWEST_TO_CUT = 10
# However short the features are: queries for words without a published row are slow.
LEAST_PUBLISHED = 1_000

# Rounding of rows that were normalised twice.
_SAME_ROW = 1e-6
_ROWS_AT_ONCE = 1_024

# Scores that are computed at once, of a whole number of blocks of pictures.
_SCORED_AT_ONCE, _BLOCK = 1 << 23, 1_024

# The arrays of a segment that hold the words of its pictures.
_BASE = ("word_start", "terms", "word")


@dataclass(frozen=True, slots=True, eq=False)
class WordModel:
    """A model of words.

    Attributes
    ----------
    terms : ndarray of int64
        Ids of the words it knows, ascending.
    counts : ndarray of int64
        How many training pictures have each.
    idf : ndarray of float64
        How much each word counts in a query.
    published : ndarray of int64
        Positions of the words whose scores are published.
    cutoff : CutOff
        Where lists of hits end.
    served, proof : Fitted
        Fitted to everything, and without the held-out pictures.
    combination, proof_combination : Combination
        How scores of words are combined and calibrated, of each of the two.
    floors : ndarray of float64
        The least probability to show of each word that has too few pictures for a cut-off: the
        share of training pictures that have it, and even odds for words saved from sessions, which
        are learned from few by design. 0 in models of earlier releases.
    aliases : Aliases
        Terms that were learned as others: other forms of a word, and words that always occur with
        another.
    text_curve : ndarray of float64 or None
        From the score of a text for a picture to how likely it fits; None where they share no
        space.
    tags : TagProbabilities or None
        How probably each tag it learned from is wrong; None where that is unknown.
    unproven : ndarray of int64
        Ids of words that too few held-out pictures measure, so that their predictions show no
        probability. None in models of earlier releases.
    online_space : OnlineSpace or None
        What online updates need; None in models of earlier releases.
    online : OnlineUpdates or None
        The updates by answers since the training, where they are to count.
    """

    name: str
    about: Mapping[str, Json]
    terms: Ints
    counts: Ints
    idf: NDArray[np.float64]
    published: Ints
    combination: Combination
    proof_combination: Combination
    cutoff: CutOff
    served: Fitted
    proof: Fitted
    floors: Doubles
    text_curve: NDArray[np.float64] | None = None
    aliases: Aliases = NO_ALIASES
    tags: TagProbabilities | None = None
    unproven: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    online_space: OnlineSpace | None = None
    online: OnlineUpdates | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """The features, by fingerprint, that a picture must have."""
        return self.served.recipe.features

    def knows(self, terms: Ints) -> NDArray[np.bool_]:
        """Return for each word whether it was learned."""
        columns = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        out: NDArray[np.bool_] = self.terms[columns] == terms
        return out

    def learned_term(self, terms: Sequence[int]) -> int | None:
        """Return the term that it knows the first of some terms by; None if it knows none."""
        return self.aliases.learned(terms, self.terms)

    def query(
        self, terms: Ints, weights: Sequence[float], forms: Sequence[Ints] | None = None
    ) -> WordQuery:
        """Return a query for words it knows, each with the weight the user gave it.

        `forms` are the tags that count as each word; by default those that were learned as it.
        """
        groups = [self.aliases.forms_of(t) for t in terms.tolist()] if forms is None else forms
        order = np.argsort(terms)
        columns = np.searchsorted(self.terms, terms[order])
        of_user = np.asarray(weights, np.float64)[order]
        return WordQuery(
            terms[order],
            np.asarray(self.combination.weights(self.idf[columns], of_user), np.float32),
            np.asarray(self.combination.known_[columns], np.float32),
            tuple(groups[i] for i in order),
            {} if self.online is None else self.online.of(terms),
        )

    def n_pictures(self, term: int) -> int:
        """Return how many training pictures have a word it knows."""
        return int(self.counts[np.searchsorted(self.terms, term)])

    def probability(self, query: WordQuery, scores: ArrayLike) -> Doubles:
        """Return the probability that pictures with these scores fit a query."""
        columns = np.searchsorted(self.terms, query.terms)
        return self.combination.probability(scores, query.weights, columns)

    def supports_cutoff(self, query: WordQuery) -> bool:
        """Return whether each word has enough training pictures for a cut-off.

        Of fewer, a cut-off that other words taught would leave out most that fit.
        """
        columns = np.searchsorted(self.terms, query.terms)
        return bool((self.counts[columns] >= FEWEST_TO_CUT).all())

    def floor(self, query: WordQuery) -> float:
        """Return the least probability to show without a cut-off, if words are independent."""
        columns = np.searchsorted(self.terms, query.terms)
        return float(self.floors[columns].prod())

    def least(self, query: WordQuery, best: float) -> float:
        """Return the cut-off of scores, where `best` is the highest one."""
        columns = np.searchsorted(self.terms, query.terms)
        return self.cutoff.threshold(columns, query.weights, best)

    def more(self, segment: OpenSegment, terms: Ints) -> Floats | None:
        """Return rows of scores for words that have none published."""
        columns = np.searchsorted(self.terms, terms)
        points = segment.matrix(points_feature(self.name, PICTURES))
        if points is not None:
            return self._rows(np.asarray(points) @ self.served.word_points(columns).T, columns)
        views = segment_views(segment, self.features)
        return None if views is None else self._rows(self.served.scores(views, columns), columns)

    def _rows(self, scores: Floats, words: Ints) -> Floats:
        """Return a row for each of some words, as it is published."""
        rows = self.combination.some(words).rows(scores)
        return np.ascontiguousarray(rows.T, np.float32)

    def numbers(self, views: Mapping[str, View], columns: Ints, ids: Ints | None = None) -> Floats:
        """Return what is published of pictures, (pictures, words), after online updates.

        Parameters
        ----------
        views : mapping of str to View
            Their rows of each feature.
        columns : ndarray of int64
            Positions of the words.
        ids : ndarray of int64, optional
            Of the pictures, where they are in the collection.
        """
        rows = self.combination.some(columns).rows(self.served.scores(views, columns))
        updates = {} if self.online is None else self.online.of(self.terms[columns])
        codes = self.codes(views) if updates else None
        if codes is None:
            return rows
        of = np.zeros(len(rows), np.int64) if ids is None else ids
        for i, term in enumerate(self.terms[columns].tolist()):
            if term in updates:
                rows[:, i] = updated_numbers(rows[:, i], codes, of, updates[term])
        return rows

    def as_text_model(self) -> TextModel:
        """Return the part that maps words, texts and pictures into one space."""
        return TextModel(
            self.name,
            self.about,
            self.terms,
            self.served,
            self.proof,
            self.text_curve,
            self.aliases,
        )

    def scores(self, segment: OpenSegment) -> Scores | None:
        """Return all that is published of a segment; None if it lacks a feature."""
        views = segment_views(segment, self.features)
        return None if views is None else self.scored(views, segment.base)

    def scored(self, views: Mapping[str, View], base: Mapping[str, NDArray[Any]]) -> Scores:
        """Return all that is published of pictures with these rows and words."""
        columns = self.published
        if self.served.shared_space:
            points = self.as_text_model().points(views, base)
            scores = points[PICTURES] @ self.served.word_points(columns).T
            published = self._rows(scores, columns)
            return Scores(self.name, self.terms[columns], published, points, self.codes(views))
        n = next(iter(views.values())).shape[0]
        out = np.empty((len(columns), n), np.float32)
        # On their way into the table scores are held three times, so of some pictures at once.
        step = max(1, _SCORED_AT_ONCE // max(len(columns), 1) // _BLOCK) * _BLOCK
        for start in range(0, n, step):
            rows = slice(start, start + step)
            part = {f: view[rows] for f, view in views.items()}
            out[:, rows] = self._rows(self.served.scores(part, columns), columns)
        return Scores(self.name, self.terms[columns], out, {}, self.codes(views))

    def codes(self, views: Mapping[str, View]) -> NDArray[np.uint8] | None:
        """Return pictures as points of the space of online updates; None without one."""
        return None if self.online_space is None else self.online_space.codes(self.served, views)


def to_saved(
    terms: Ints,
    counts: Ints,
    idf: NDArray[np.float64],
    published: Ints,
    combination: Combination,
    proof_combination: Combination,
    cutoff: CutOff,
    served: Fitted,
    proof: Fitted,
    floors: Doubles,
    text_curve: NDArray[np.float64] | None = None,
    aliases: Aliases = NO_ALIASES,
    tags: TagProbabilities | None = None,
    unproven: Sequence[int] = (),
    online_space: OnlineSpace | None = None,
) -> tuple[dict[str, Json], Arrays]:
    """Return description and arrays of a model, to be saved."""
    about: dict[str, Json] = {
        "format": FORMAT if served.saved is None else FORMAT_SAVED,
        "how": combination.how,
        "served": served.recipe.to_json(),
        "proof": proof.recipe.to_json(),
    }
    arrays: Arrays = {"terms": terms, "counts": counts, "idf": idf, "published": published}
    arrays["floors"] = floors
    arrays["unproven"] = np.array(sorted(unproven), np.int64)
    arrays |= {f"combination.{n}": a for n, a in combination.to_arrays().items()}
    arrays |= {f"proof_combination.{n}": a for n, a in proof_combination.to_arrays().items()}
    arrays |= {f"cutoff.{n}": a for n, a in cutoff.to_arrays().items()}
    if text_curve is not None:
        arrays["text_curve"] = text_curve
    arrays |= aliases.to_arrays()
    if tags is not None:
        arrays |= tags.to_arrays()
    if online_space is not None:
        arrays |= online_space.to_arrays()
    if isinstance(proof.arrays, LandmarksOf):
        about["format"] = FORMAT_SHARED
        proof = replace(proof, arrays=proof.arrays.stored())
    if any(NetworkPrior.from_arrays(fit.arrays) is not None for fit in (served, proof)):
        about["format"] = FORMAT_NETWORK
    return about, arrays | served.to_arrays("served.") | proof.to_arrays("proof.")


def from_saved(saved: SavedModel) -> WordModel:
    """Return the model of saved description and arrays."""
    about, arrays = saved.about, saved.arrays
    try:
        formats = FORMAT, FORMAT_SAVED, FORMAT_SHARED, FORMAT_NETWORK
        if about["format"] not in formats:
            raise ValueError(f"its format is {about['format']}")
        check_installed(saved.name, about["served"])
        how = _how(about["how"])
        combination = Combination.from_arrays(how, _under("combination.", arrays))
        served = Fitted.from_arrays(Recipe.from_json(about["served"]), arrays, "served.")
        proof = Fitted.from_arrays(Recipe.from_json(about["proof"]), arrays, "proof.")
        shared = LandmarksOf.of_stored(proof.arrays, served.arrays)
        # In models of earlier releases it is the same.
        of_proof = _under("proof_combination.", arrays)
        return WordModel(
            saved.name,
            about,
            np.asarray(arrays["terms"]),
            np.asarray(arrays["counts"]),
            np.asarray(arrays["idf"]),
            np.asarray(arrays["published"]),
            combination,
            Combination.from_arrays(how, of_proof) if of_proof else combination,
            CutOff.from_arrays(_under("cutoff.", arrays)),
            served,
            proof if shared is None else replace(proof, arrays=shared),
            np.asarray(arrays.get("floors", np.zeros(len(arrays["terms"])))),
            np.asarray(arrays["text_curve"]) if "text_curve" in arrays else None,
            Aliases.from_arrays(arrays),
            TagProbabilities.from_arrays(arrays),
            np.asarray(arrays.get("unproven", np.zeros(0, np.int64))),
            OnlineSpace.from_arrays(arrays),
        )
    except (KeyError, ValueError, TypeError, DataError) as e:
        raise StoreDamaged(
            f"The model {saved.name} cannot be read by this release ({e}). Run: sightline train"
        ) from e


def _under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def _how(name: Json) -> How:
    for way in WAYS:
        if way == name:
            return way
    raise ValueError(f"it combines words by {name}")


def load_word_model(
    store_folder: StoreFolder, name: str, *, checked: bool = False
) -> WordModel | None:
    """Return the model of that name; None if there is none. `checked` reads every byte of it."""
    if not name:
        return None
    return from_saved((load_model if checked else open_model)(store_folder.models, name))


class SegmentScorer:
    """Scores every picture of a segment by a model, before the segment is published."""

    def __init__(self, word_model: WordModel) -> None:
        self.word_model = word_model
        self.model = word_model.name

    def scores(self, segment: OpenSegment) -> Scores | None:
        """Return scores of the words that are published, and points."""
        return self.word_model.scores(segment)


@dataclass(frozen=True, slots=True, eq=False)
class KnownScores:
    """The scores of pictures that a model was fitted to, which need not be computed again.

    Attributes
    ----------
    ids : ndarray of int64
        Of the pictures, ascending.
    scores : callable
        Returns scores of the pictures at some positions, for the words at some positions.
    feature : str
        A feature by fingerprint, whose rows show whether a picture is still what it was; "" if
        there is none, and none is known.
    rows : ndarray of float32 or None
        The first numbers of its L2-normalised rows.
    """

    ids: Ints
    scores: Callable[[Ints, Ints], Floats]
    feature: str
    rows: Floats | None

    def positions(self, ids: Ints, views: Mapping[str, View]) -> Ints:
        """Return the position of each picture with these rows, -1 where it is not known."""
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        out = np.where(self.ids[at] == ids, at, -1)
        if self.rows is None:
            return np.full_like(out, -1)
        known = np.flatnonzero(out >= 0)
        now = l2_normalize(views[self.feature][known])[:, : self.rows.shape[1]]
        changed = ~np.isclose(now, self.rows[out[known]], atol=_SAME_ROW).all(axis=1)
        out[known[changed]] = -1
        return out


class KnownScorer(SegmentScorer):
    """Scores segments, most of whose pictures have scores already."""

    def __init__(self, word_model: WordModel, known: KnownScores) -> None:
        super().__init__(word_model)
        self._known = known

    def scores(self, segment: OpenSegment) -> Scores | None:
        """Return scores of the words that are published."""
        model = self.word_model
        views = segment_views(segment, model.features)
        if views is None:
            return None
        columns, at = model.published, self._known.positions(segment.ids, views)
        scores = np.empty((len(at), len(columns)), np.float32)
        known = np.flatnonzero(at >= 0)
        for start in range(0, len(known), _ROWS_AT_ONCE):
            part = known[start : start + _ROWS_AT_ONCE]
            scores[part] = self._known.scores(at[part], columns)
        if (at < 0).any():
            others = {f: v[np.flatnonzero(at < 0)] for f, v in views.items()}
            scores[at < 0] = model.served.scores(others, columns)
        rows = model._rows(scores, columns)
        return Scores(model.name, model.terms[columns], rows, {}, model.codes(views))


class RemoteScorer(SegmentScorer):
    """Scores segments on other machines, several at a time."""

    def __init__(self, saved: SavedModel, compute: Mapper) -> None:
        super().__init__(from_saved(saved))
        self._compute = compute
        self._about: dict[str, Json] = {"name": saved.name, "about": saved.about}
        self._held = compute.hold({f"model.{n}": np.asarray(a) for n, a in saved.arrays.items()})

    def many(self, segments: Sequence[OpenSegment]) -> Iterator[Scores | None]:
        """Yield what `scores` gives for each segment."""
        features = self.word_model.features
        able = [set(features) <= set(s.features) for s in segments]
        parts = (self._part(s) for s, can in zip(segments, able, strict=True) if can)
        done = self._compute.map(score_segment, parts)
        for can in able:
            yield _scores_of(next(done)) if can else None

    def _part(self, segment: OpenSegment) -> Part:
        views = segment_views(segment, self.word_model.features) or {}
        arrays: Arrays = {f"base.{n}": np.asarray(segment.base[n]) for n in _BASE}
        for i, view in enumerate(views.values()):
            arrays |= table_arrays(view, f"view{i}.")
        return Part({**self._about, "features": list(views)}, arrays, (self._held,))


def score_segment(
    args: dict[str, Json], arrays: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, Json], Arrays]:
    """Score pictures by a model, both as they were sent."""
    about, features = args["about"], args["features"]
    assert isinstance(about, dict) and isinstance(features, list)
    model = from_saved(SavedModel(str(args["name"]), about, _under("model.", arrays)))
    views = {str(name): table_of(arrays, f"view{i}.") for i, name in enumerate(features)}
    scores = model.scored(views, _under("base.", arrays))
    points = {f"points.{name}": p for name, p in scores.points.items()}
    codes = {} if scores.codes is None else {"codes": scores.codes}
    return {"model": scores.model}, {"terms": scores.terms, "rows": scores.rows, **codes, **points}


def _scores_of(done: PartDone) -> Scores:
    arrays = done.arrays
    model, points = str(done.value["model"]), _under("points.", arrays)
    codes = np.asarray(arrays["codes"]) if "codes" in arrays else None
    return Scores(model, np.asarray(arrays["terms"]), np.asarray(arrays["rows"]), points, codes)


def within_budget(counts: Ints, bytes_per_row: float) -> Ints:
    """Return the positions of the most frequent words whose scores the budget has room for.

    >>> len(within_budget(np.arange(5_000), 4096.0))
    2048
    """
    room = max(LEAST_PUBLISHED, int(BUDGET * bytes_per_row / 4))
    return np.sort(np.argsort(-counts, kind="stable")[:room])


def bytes_per_row(views: Sequence[View]) -> float:
    """Return how many bytes of features a picture has in the store."""
    total = 0.0
    for v in views:
        sparse = hasattr(v, "tocsr")
        # Sparse rows take two bytes for a position and four for a value.
        total += 6.0 * v.nnz / max(v.shape[0], 1) if sparse else 4.0 * v.shape[1]
    return total


def scorer_of(
    store_folder: StoreFolder, version: Version, compute: Mapper | None = None
) -> SegmentScorer | None:
    """Return what scores new pictures by the model of a version; None if it has none.

    With `compute`, several segments are scored there; a single one is scored in this process, which
    takes less time than sending it.
    """
    if not version.model:
        return None
    return segment_scorer(open_model(store_folder.models, version.model), compute)


def segment_scorer(
    saved: SavedModel, compute: Mapper | None = None, known: KnownScores | None = None
) -> SegmentScorer:
    """Return the scorer of a model, on other machines if there is `compute`.

    `known` are the scores of pictures that the model was fitted to, if these need no kernel.
    """
    if compute is not None:
        return RemoteScorer(saved, compute)
    model = from_saved(saved)
    if known is None or model.served.saved is not None:
        return SegmentScorer(model)
    return KnownScorer(model, known)


def describe_model(store_folder: StoreFolder, name: str) -> str:
    """Return one line on a model and its figures on held-out pictures."""
    model = load_word_model(store_folder, name)
    if model is None:
        return ""
    n_words = model.about.get("words", len(model.terms))
    summary = f"{n_words} words by {model.served.recipe}"
    return summary + measured_text(WORDS, model.about, "pictures", "untrained")
