"""The kinds of learners a collection can choose from, and what each sees of a picture.

All keep one contract: `fit`, `decision_function(X, words)`, `to_arrays`, `from_arrays`. They differ
in what X is: the features side by side (linear rankers, which see long rows in a damped frame), one
matrix for each feature (kernels, neighbours), or the counts of visual words as they are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.collection.models.dataset import View
from sightline.collection.models.memory import bytes_free
from sightline.collection.models.whitening import frame_of, in_frame, side_by_side
from sightline.contracts import Json, Mapper
from sightline.records import QuerySet
from sightline.registry import RANKERS, RankerEntry
from sightline.similarity import grams

Float = NDArray[np.float32]
Int = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]
Judged = tuple[Sequence[View], QuerySet] | None
Settings = dict[str, Json]
LeftOut = Callable[[], Float | None]
Told = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Kind(RankerEntry):
    """One kind of learner: an entry of the registry, and how it is fitted and served."""

    def with_option(self, value: str) -> Kind:
        """Return the kind with its option set in all that is worth trying."""
        plain: Json = int(value) if value.isdigit() else value
        return replace(self, grid=tuple({**s, self.option: plain} for s in self.grid))

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

KINDS: dict[str, Kind] = {
    name: Kind(**{f.name: getattr(entry, f.name) for f in fields(entry)})
    for name, entry in RANKERS.items()
}
"""The kinds by name, as `registry` lists them."""
