"""The text model: words, texts and pictures as points of one space, beside the word model.

Stored are the served weights, fitted to everything; the proof, the same recipe fitted without the
held-out pictures; and the figures. Published beside the pictures are the point of each and that of
its text, all words that it has, so that a text ranks pictures, and a picture texts, by one scan.

A calibration curve leads from the score of a text for a picture to the probability that it fits:
that it shares a word with the picture. It is fitted to scores of held-out pictures for each other's
texts; from a half on a text is counted as fitting.

A word model of a ranker with a shared space has all of this too, and serves texts as a text model
does where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline._typing import Arrays, Doubles, Floats, Ints
from sightline.collection.models.aliases import NO_ALIASES, Aliases
from sightline.collection.models.dataset import Dataset, View, segment_views
from sightline.collection.models.recipe import Fitted, Recipe, check_installed
from sightline.collection.models.versions import TEXT, measured_text
from sightline.contracts import Json
from sightline.errors import DataError, StoreDamaged
from sightline.store.folder import StoreFolder
from sightline.store.models import SavedModel, load_model, open_model
from sightline.store.scores import Scores, points_feature
from sightline.store.segments import OpenSegment
from sightline.store.versions import Version
from sightline.words.calibration import logistic

FORMAT = 1
# Names of the points that are published.
PICTURES, TEXTS = "pictures", "texts"
# A text fits from this probability on.
FITS = 0.5
# Maximum number of pictures that the curve is fitted to.
_MOST = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class TextModel:
    """A model of texts and pictures.

    Attributes
    ----------
    name : str
        In the store.
    about : mapping
        Its description, with the figures of the gate.
    terms : ndarray of int64
        Ids of the words it knows, ascending.
    served, proof : Fitted
        Fitted to everything, and without the held-out pictures.
    curve : ndarray of float64 or None
        Slope and offset of the curve from a score to a probability; None for models of early
        releases.
    aliases : Aliases
        Terms that were learned as others.
    """

    name: str
    about: Mapping[str, Json]
    terms: Ints
    served: Fitted
    proof: Fitted
    curve: Doubles | None
    aliases: Aliases = NO_ALIASES

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

    def points_of(self, what: str) -> str:
        """Return by which name the store ranks points of pictures, or of their texts."""
        return points_feature(self.name, what)

    def points(
        self, views: Mapping[str, View], base: Mapping[str, NDArray[Any]]
    ) -> dict[str, Floats]:
        """Return the points of pictures and of their texts, by name."""
        return {PICTURES: self.served.points(views), TEXTS: self._texts(base)}

    def _texts(self, base: Mapping[str, NDArray[Any]]) -> Floats:
        """Return the texts of a segment's pictures, all words that each has, as points."""
        from scipy.sparse import csr_matrix

        start, terms = base["word_start"], self.aliases.names_of(base["terms"])
        at = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        known = (self.terms[at] == terms)[base["word"]]
        row = np.repeat(np.arange(len(start) - 1), np.diff(start))[known]
        cells = (np.ones(len(row)), (row, at[base["word"][known]]))
        labels = csr_matrix(cells, shape=(len(start) - 1, len(self.terms)))
        # Two forms of a word are the word once.
        labels.data[:] = 1
        return self.served.text_points(labels)

    def to_saved(self) -> tuple[dict[str, Json], Arrays]:
        """Return description and arrays, to be saved."""
        about: dict[str, Json] = {
            **self.about, "format": FORMAT, "served": self.served.recipe.to_json(),
            "proof": self.proof.recipe.to_json(),
        }  # fmt: skip
        arrays: Arrays = {"terms": self.terms}
        if self.curve is not None:
            arrays["curve"] = self.curve
        arrays |= self.aliases.to_arrays()
        return about, arrays | self.served.to_arrays("served.") | self.proof.to_arrays("proof.")

    @classmethod
    def from_saved(cls, saved: SavedModel) -> TextModel:
        """Return the model of saved description and arrays."""
        about, arrays = saved.about, saved.arrays
        try:
            if about["format"] != FORMAT:
                raise ValueError(f"its format is {about['format']}")
            check_installed(saved.name, about["served"])
            return cls(
                saved.name, about, np.asarray(arrays["terms"]),
                Fitted.from_arrays(Recipe.from_json(about["served"]), arrays, "served."),
                Fitted.from_arrays(Recipe.from_json(about["proof"]), arrays, "proof."),
                np.asarray(arrays["curve"]), Aliases.from_arrays(arrays),
            )  # fmt: skip
        except (KeyError, ValueError, TypeError, DataError) as e:
            raise StoreDamaged(
                f"The model {saved.name} cannot be read by this release ({e}). "
                "Run: sightline train text"
            ) from e


def load_text_model(store_folder: StoreFolder, name: str) -> TextModel | None:
    """Return the text model of that name; None if there is none."""
    return TextModel.from_saved(open_model(store_folder.models, name)) if name else None


class TextScorer:
    """Maps every picture of a segment, and its text, before the segment is published."""

    def __init__(self, text_model: TextModel) -> None:
        self.text_model = text_model
        self.model = text_model.name

    def scores(self, segment: OpenSegment) -> Scores | None:
        """Return the points; None if the segment lacks a feature."""
        views = segment_views(segment, self.text_model.features)
        if views is None:
            return None
        points = self.text_model.points(views, segment.base)
        rows = np.zeros((0, len(segment.ids)), np.float32)
        return Scores(self.model, np.zeros(0, np.int64), rows, points)


def text_scorer_of(store_folder: StoreFolder, version: Version) -> TextScorer | None:
    """Return what maps new pictures by the text model of a version; None if it has none."""
    model = load_text_model(store_folder, version.text)
    return None if model is None else TextScorer(model)


def text_scorer(saved: SavedModel) -> TextScorer:
    """Return what maps pictures by a model that was saved."""
    return TextScorer(TextModel.from_saved(saved))


def describe_text_model(store_folder: StoreFolder, name: str) -> str:
    """Return one line on a text model and its figures on held-out pictures; "" without one."""
    if not name:
        return ""
    model = TextModel.from_saved(load_model(store_folder.models, name))
    n_words = model.about.get("words", len(model.terms))
    summary = f"{n_words} words by {model.served.recipe}"
    return summary + measured_text(TEXT, model.about, "pictures", "untrained")


def text_curve(fitted: Fitted, dataset: Dataset) -> Doubles:
    """Return slope and offset of the curve, from pictures that the model was not fitted to."""
    rows = np.arange(len(dataset))
    if len(rows) > _MOST:
        rows = np.sort(np.random.default_rng(0).choice(rows, _MOST, replace=False))
    some = dataset.only(rows)
    scores = fitted.points(some.views) @ fitted.text_points(some.labels).T
    shared = np.asarray((some.labels @ some.labels.T).todense()) > 0
    # A picture's own text is no example of how other texts fit it.
    others = ~np.eye(len(rows), dtype=bool)
    return np.array(logistic(scores[others], shared[others]))


def likely(scores: ArrayLike, curve: Doubles) -> Doubles:
    """Return how likely texts with these scores fit.

    >>> likely([0.0, 50.0], np.array([1.0, 0.0])).tolist()
    [0.5, 1.0]
    """
    x = np.asarray(scores, np.float64) * curve[0] + curve[1]
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))
