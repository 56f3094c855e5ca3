"""The kinds of learners a collection can choose from, and what each sees of a picture.

All keep one contract: `fit`, `decision_function(X, words)`, `to_arrays`, `from_arrays`. They differ
in what X is: the features side by side (linear rankers, which see long rows in a damped frame), one
matrix for each feature (kernels, neighbours), or the counts of visual words as they are.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.collection.learning.frames import frame_of, in_frame, side_by_side
from sightline.collection.learning.memory import bytes_free
from sightline.collection.learning.views import View
from sightline.contracts import Json, Mapper
from sightline.records import QuerySet
from sightline.similarity import grams

Float = NDArray[np.float32]
Int = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]
Judged = tuple[Sequence[View], QuerySet] | None
Settings = dict[str, Json]
LeftOut = Callable[[], Float | None]
Told = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of learner.

    Attributes
    ----------
    place : where its class is, "module:class".
    grid : the settings worth trying, the usual ones first.
    sees : features side by side, one matrix each, or a single feature's counts.
    steps : whether it learns in steps, and validation says when to stop.
    found : settings that fitting finds, to be used when it is fitted again; each with the attribute
        that holds it.
    base : the kind whose scores of left-out pictures this one learns from; "" if from features.
    top : where the class is that does so, in the log-product form; what it gives are logits to be
        multiplied as they are.
    landmarks : whether it must be told to let some pictures carry the kernel of many.
    needs : a package it cannot do without; it is not chosen where that is not installed.
    asked : whether it is tried only where it is asked for by name.
    option : the setting that a name may end in, after a colon; "" if there is none.
    shared_space : whether words and pictures are points of one space.
    unlabelled : whether it can be told which cells nobody labelled, to pass over likely positives.
    about : in a few words, what it is.
    """

    place: str
    about: str
    grid: tuple[Settings, ...] = ({},)
    sees: Literal["joined", "views", "counts"] = "joined"
    steps: bool = False
    found: tuple[tuple[str, str], ...] = ()
    base: str = ""
    top: str = ""
    landmarks: bool = False
    needs: str = ""
    asked: bool = False
    option: str = ""
    shared_space: bool = False
    unlabelled: bool = False

    def with_option(self, value: str) -> Kind:
        """Return the kind with its option set in all that is worth trying."""
        plain: Json = int(value) if value.isdigit() else value
        return replace(self, grid=tuple({**s, self.option: plain} for s in self.grid))

    @property
    def counts(self) -> bool:
        """Whether rows stay as they are, neither weighted nor scaled."""
        return self.sees == "counts"

    @property
    def available(self) -> bool:
        """Whether what it needs is installed."""
        return not self.needs or importlib.util.find_spec(self.needs) is not None

    def usable(self, views: Mapping[str, View]) -> tuple[str, ...]:
        """Return which of some features it can use at once; none if it can use none of them."""
        sparse = tuple(f for f, view in views.items() if hasattr(view, "tocsr"))
        if self.sees == "counts":
            return sparse[:1]
        if self.sees == "views":
            return tuple(views)
        # Dense and sparse rows do not go side by side.
        return tuple(f for f in views if f not in sparse) or sparse[:1]

    def fit(
        self,
        views: Sequence[View],
        labels: Any,
        settings: Settings,
        validation: Judged,
        told: Told | None = None,
        compute: Mapper | None = None,
        unlabelled: NDArray[np.bool_] | None = None,
    ) -> tuple[Arrays, Settings, LeftOut]:
        """Fit it; return arrays to keep, settings found, and a way to scores as if unseen."""
        if self.landmarks and views[0].shape[0] > grams.MOST_PICTURES:
            # That there is memory for it has been looked at.
            settings = {**settings, "landmarks": grams.LANDMARKS, "budget": bytes_free()}
        frame = frame_of(side_by_side(views)) if self.sees == "joined" else {}
        X = self._seen(views, frame)
        if self.steps:
            estimator = self._in_steps(X, labels, settings, frame, validation, compute)
        else:
            watched: dict[str, Any] = {"told": told} if self.shared_space else {}
            if self.unlabelled and unlabelled is not None:
                watched["unlabelled"] = unlabelled
            estimator = _class(self.place)(**settings).fit(X, labels, **watched)
        found: Settings = {s: _plain(getattr(estimator, a)) for s, a in self.found}
        # Some find them only when asked, which takes longer than to learn.
        left_out = cache(lambda: getattr(estimator, "leave_one_out_", None))
        kept = estimator.to_arrays()
        if twice := kept.keys() & frame.keys():
            raise ValueError(f"{self.place} and its frame both keep {sorted(twice)}.")
        return {**kept, **frame}, found, left_out

    def fit_top(
        self, arrays: Mapping[str, NDArray[Any]], unseen: Float, labels: Any
    ) -> tuple[Arrays, Float]:
        """Fit it to what its base has learnt; return arrays to keep, and scores as if unseen."""
        top = _class(self.top)(max_len=2, most_queries=3_000).fit(unseen, labels)
        mine = {f"{_TOP}{name}": a for name, a in top.to_arrays().items()}
        return {**arrays, **mine}, top.decision_function(unseen)

    def scores(
        self,
        arrays: Mapping[str, NDArray[Any]],
        views: Sequence[View],
        words: NDArray[np.int64] | None,
    ) -> Float:
        """Return the scores of pictures by what was kept, (pictures, words)."""
        estimator, seen = _class(self.place).from_arrays(arrays), self._seen(views, arrays)
        if not self.top:
            out: Float = estimator.decision_function(seen, words)
            return out
        mine = {n.removeprefix(_TOP): a for n, a in arrays.items() if n.startswith(_TOP)}
        of_all = estimator.decision_function(seen)
        corrected: Float = _class(self.top).from_arrays(mine).decision_function(of_all, words)
        return corrected

    def points(self, arrays: Mapping[str, NDArray[Any]], views: Sequence[View]) -> Float:
        """Return pictures as points of the space they share with words and texts."""
        estimator = _class(self.place).from_arrays(arrays)
        points: Float = estimator.ranker_.embed(self._seen(views, arrays))
        return points

    def word_points(self, arrays: Mapping[str, NDArray[Any]], words: Int | None = None) -> Float:
        """Return words, or those at some positions, as points of the space."""
        points: Float = _class(self.place).from_arrays(arrays).word_points(words)
        return points

    def text_points(self, arrays: Mapping[str, NDArray[Any]], labels: Any) -> Float:
        """Return texts, by how often each holds each word, as points of the space."""
        points: Float = _class(self.place).from_arrays(arrays).text_points(labels)
        return points

    def _in_steps(
        self,
        X: Any,
        labels: Any,
        settings: Settings,
        frame: Arrays,
        validation: Judged,
        compute: Mapper | None,
    ) -> Any:
        steps = settings.pop("n_iter", None)
        given: dict[str, Any] = {"n_iter": _MOST_STEPS, **settings}
        judged = None
        if validation is not None:
            judged, steps = (self._seen(validation[0], frame), validation[1]), None
        # Without validation, as many steps as were best when there was some.
        exactly = None if steps is None else int(str(steps))
        where = {"compute": compute} if "shards" in settings else {}
        return _class(self.place)(**given).fit(
            X, labels, validation=judged, n_iter=exactly, **where
        )

    def _seen(self, views: Sequence[View], frame: Mapping[str, NDArray[Any]]) -> Any:
        if self.sees == "views":
            return tuple(views)
        return in_frame(side_by_side(views), frame) if self.sees == "joined" else views[0]


def _class(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def _plain(value: Any) -> Json:
    plain: Json = value.item() if isinstance(value, np.generic) else value
    return plain


_MOST_STEPS = 1_500_000
_TOP = "top."
_STEPS = (("n_iter", "best_iter_"),)

KINDS: dict[str, Kind] = {
    "pamir": Kind(
        "sightline.rankers.pamir:PAMIR",
        "passive-aggressive ranking, linear",
        grid=({"C": 0.1}, {"C": 0.4}),
        steps=True,
        found=_STEPS,
        option="shards",
    ),
    "kernel-pamir": Kind(
        "sightline.rankers.kernel_pamir:KernelPAMIR",
        "passive-aggressive ranking with a kernel",
        grid=({"C": 0.1, "kernel": "rbf"},),
        sees="views",
        landmarks=True,
        steps=True,
        found=_STEPS,
    ),
    "warp": Kind(
        "sightline.rankers.warp:WARP",
        "passive-aggressive ranking of the top of the list",
        grid=({"C": 0.05},),
        steps=True,
        found=_STEPS,
    ),
    "ridge": Kind(
        "sightline.annotators.ridge:KernelRidge",
        "kernel ridge, a regression for each word",
        grid=({"kernel": "rbf"},),
        sees="views",
        found=(("alpha", "alpha_"),),
        unlabelled=True,
    ),
    "log-product": Kind(
        "sightline.annotators.ridge:KernelRidge",
        "kernel ridge, then a ranking loss on products of words",
        grid=({"kernel": "rbf"},),
        sees="views",
        base="ridge",
        top="sightline.rankers.log_product:LogProduct",
    ),
    "neighbours": Kind(
        "sightline.annotators.neighbours:Neighbours",
        "words of the most similar pictures, weighted",
        sees="views",
    ),
    "svm": Kind(
        "sightline.annotators.concept_svm:ConceptSVM",
        "a support vector machine for each word",
        # One strength for all words tells well enough whether it is worth to choose for each.
        grid=({"C": 1.0}, {}),
        needs="sklearn",
    ),
    "cmrm": Kind(
        "sightline.annotators.cmrm:CMRM",
        "cross-media relevance model",
        grid=({"alpha": 0.5, "beta": 0.1}, {"alpha": 0.2, "beta": 0.1}),
        sees="counts",
    ),
    "cmtt": Kind(
        "sightline.annotators.cmtt:CMTT",
        "cross-media translation table",
        grid=({"rank": 50}, {"rank": 200}),
        sees="counts",
    ),
    "plsa": Kind(
        "sightline.annotators.plsa:PLSA",
        "aspects shared by words and visual words, in two steps",
        sees="counts",
    ),
    "lscmr": Kind(
        "sightline.rankers.captions:CaptionLSCMR",
        "words and pictures in one space of few dimensions, learnt list by list",
        grid=({"lam": 1e-4}, {"lam": 1e-3}),
        asked=True,
        shared_space=True,
        option="optimise",
    ),
    "ssi": Kind(
        "sightline.rankers.captions:CaptionSSI",
        "words and pictures in one space of few dimensions, learnt pair by pair",
        asked=True,
        shared_space=True,
    ),
    "semantic-matching": Kind(
        "sightline.rankers.concepts:CaptionConcepts",
        "words and pictures as probabilities of the most frequent words",
        grid=({"strength": 0.1}, {"strength": 0.01}),
        asked=True,
        shared_space=True,
    ),
    "cca": Kind(
        "sightline.rankers.captions:CaptionCCA",
        "directions in which words and pictures correlate",
        grid=({"kappa": 0.1}, {"kappa": 1.0}),
        asked=True,
        shared_space=True,
    ),
}
"""The kinds by name; a further one needs a line here, a test and a line in the guide."""
