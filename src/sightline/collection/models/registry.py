"""The rankers of a collection: how each is fitted, stored and scored.

All have `fit`, `decision_function(X, words)`, `to_arrays` and `from_arrays`. They differ in X:
features side by side (linear rankers, whitened where rows are long), one matrix for each feature
(kernels, neighbours), or the counts of visual words as they are.

PAMIR's weights are sums of training rows and only inner products count, so in a basis of the space
that these rows span it learns the same from fewer numbers. Whitening is partial: strong directions
are damped a little, since they drown the others; on validation pictures of the emoji collection
that is worth three points of AvgP. Sparse and short rows are left as they are.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Arrays, Floats, Ints
from sightline.collection.models.dataset import View
from sightline.collection.models.network_prior import NetworkPrior
from sightline.contracts import Json, Mapper
from sightline.records import QuerySet
from sightline.registry import RANKERS as ENTRIES
from sightline.registry import RankerEntry
from sightline.similarity import grams
from sightline.vectors import l2_normalize

Judged = tuple[Sequence[View], QuerySet] | None
Settings = dict[str, Json]
LeftOut = Callable[[], Floats | None]
OnRound = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class RankerSpec(RankerEntry):
    """A ranker: its entry in the registry, and how it is fitted and served."""

    @classmethod
    def of(cls, entry: RankerEntry) -> RankerSpec:
        """Return the specification of an entry."""
        return cls(**{f.name: getattr(entry, f.name) for f in fields(entry)})

    def with_option(self, value: str) -> RankerSpec:
        """Return the specification with its option set throughout the grid."""
        plain: Json = int(value) if value.isdigit() else value
        return replace(self, grid=tuple({**s, self.option: plain} for s in self.grid))

    def usable(self, views: Mapping[str, View]) -> tuple[str, ...]:
        """Return which of some features it can use at once; none if it can use none of them."""
        sparse = tuple(f for f, view in views.items() if hasattr(view, "tocsr"))
        if self.input == "counts":
            return sparse[:1]
        if self.input == "per_feature":
            return tuple(views)
        # Dense and sparse rows do not go side by side.
        return tuple(f for f in views if f not in sparse) or sparse[:1]

    def bytes_needed(self, views: Sequence[View], n_words: int) -> int:
        """Return about how many bytes fitting takes beside the input rows.

        A linear ranker keeps three copies of its weights and the whitened rows; a kernel ranker
        keeps two square tables of landmarks, one of pictures by landmarks, and three of pictures by
        words.
        """
        n = int(views[0].shape[0])
        if self.input == "concat":
            length = sum(int(v.shape[1]) for v in views)
            sparse = any(hasattr(v, "tocsr") for v in views)
            length = length if sparse else min(length, _WHITENED_LENGTH)
            return 4 * (3 * n_words * length + (0 if sparse else n * length))
        if self.input == "per_feature":
            marks = grams.LANDMARKS if n > grams.MOST_PICTURES else n
            return 16 * marks * marks + 4 * n * marks + 4 * n_words * (2 * marks + 3 * n)
        return 4 * n_words * (2 * n + min(int(views[0].shape[1]), 50_000))

    def fit(
        self,
        views: Sequence[View],
        labels: Any,
        settings: Settings,
        validation: Judged,
        on_round: OnRound | None = None,
        compute: Mapper | None = None,
        unlabelled: NDArray[np.bool_] | None = None,
    ) -> tuple[Arrays, Settings, LeftOut]:
        """Fit it; return its arrays, tuned hyperparameters, and a way to leave-one-out scores."""
        if self.landmarks and views[0].shape[0] > grams.MOST_PICTURES:
            # Whether there is memory for it was checked before.
            settings = {**settings, "landmarks": grams.LANDMARKS, "budget": bytes_free()}
        whitening = fit_whitening(concat_features(views)) if self.input == "concat" else {}
        X = self._input(views, whitening)
        if self.iterative:
            estimator = self._fit_iterative(X, labels, settings, whitening, validation, compute)
        else:
            watched: dict[str, Any] = {"on_round": on_round} if self.shared_space else {}
            if self.unlabelled and unlabelled is not None:
                watched["unlabelled"] = unlabelled
            estimator = _class(self.class_path)(**settings).fit(X, labels, **watched)
        tuned: Settings = {s: _plain(getattr(estimator, a)) for s, a in self.tuned}
        # Some compute them only on demand, which takes longer than fitting.
        left_out = cache(lambda: getattr(estimator, "leave_one_out_", None))
        kept = estimator.to_arrays()
        if twice := kept.keys() & whitening.keys():
            raise ValueError(f"{self.class_path} and its whitening both keep {sorted(twice)}.")
        return {**kept, **whitening}, tuned, left_out

    def fit_stacked(
        self, arrays: Mapping[str, NDArray[Any]], unseen: Floats, labels: Any
    ) -> tuple[Arrays, Floats]:
        """Fit it to leave-one-out scores of its base; return its arrays and its own such scores."""
        stacked = _class(self.stacked_class)(max_len=2, most_queries=3_000).fit(unseen, labels)
        return {**arrays, **stage_arrays(stacked)}, stacked.decision_function(unseen)

    def scores(
        self,
        arrays: Mapping[str, NDArray[Any]],
        views: Sequence[View],
        words: NDArray[np.int64] | None,
    ) -> Floats:
        """Return the scores of pictures by what was kept, (pictures, words)."""
        estimator, X = _class(self.class_path).from_arrays(arrays), self._input(views, arrays)
        if self.stacked_class:
            second = {n.removeprefix(_TOP): a for n, a in arrays.items() if n.startswith(_TOP)}
            stage = _class(self.stacked_class).from_arrays(second)
            out: Floats = stage.decision_function(estimator.decision_function(X), words)
        else:
            out = estimator.decision_function(X, words)
        prior = NetworkPrior.from_arrays(arrays)
        if prior is not None:
            prior.add(out, views, words)
        return out

    def points(self, arrays: Mapping[str, NDArray[Any]], views: Sequence[View]) -> Floats:
        """Return pictures as points of the space they share with words and texts."""
        estimator = _class(self.class_path).from_arrays(arrays)
        points: Floats = estimator.ranker_.embed(self._input(views, arrays))
        return points

    def word_points(self, arrays: Mapping[str, NDArray[Any]], words: Ints | None = None) -> Floats:
        """Return words, or those at some positions, as points of the space."""
        points: Floats = _class(self.class_path).from_arrays(arrays).word_points(words)
        return points

    def text_points(self, arrays: Mapping[str, NDArray[Any]], labels: Any) -> Floats:
        """Return texts, by how often each holds each word, as points of the space."""
        points: Floats = _class(self.class_path).from_arrays(arrays).text_points(labels)
        return points

    def _fit_iterative(
        self,
        X: Any,
        labels: Any,
        settings: Settings,
        whitening: Arrays,
        validation: Judged,
        compute: Mapper | None,
    ) -> Any:
        steps = settings.pop("n_iter", None)
        hyperparameters: dict[str, Any] = {"n_iter": _MOST_STEPS, **settings}
        judged = None
        if validation is not None:
            judged, steps = (self._input(validation[0], whitening), validation[1]), None
        # Without validation, as many steps as were best when there was some.
        exactly = None if steps is None else int(str(steps))
        where = {"compute": compute} if "shards" in settings else {}
        return _class(self.class_path)(**hyperparameters).fit(
            X, labels, validation=judged, n_iter=exactly, **where
        )

    def _input(self, views: Sequence[View], whitening: Mapping[str, NDArray[Any]]) -> Any:
        if self.input == "per_feature":
            return tuple(views)
        return whiten(concat_features(views), whitening) if self.input == "concat" else views[0]


def stage_arrays(stage: Any) -> Arrays:
    """Return the arrays of a second stage as a model keeps them; none without one."""
    if stage is None:
        return {}
    return {f"{_TOP}{name}": a for name, a in stage.to_arrays().items()}


def _class(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def _plain(value: Any) -> Json:
    plain: Json = value.item() if isinstance(value, np.generic) else value
    return plain


# Rows longer than the first are reduced to the second length, in a basis of at most so many rows.
_SHORT_LENGTH, _WHITENED_LENGTH, _MOST_ROWS = 64, 768, 6_000
_DAMPING = 0.2


def concat_features(views: Sequence[View]) -> View:
    """Return the rows of several features side by side, of Euclidean length one at most."""
    return views[0] if len(views) == 1 else np.hstack(views) / np.float32(np.sqrt(len(views)))


def fit_whitening(X: View) -> Arrays:
    """Return mean and basis of training rows; empty where rows are left as they are."""
    if hasattr(X, "tocsr") or X.shape[1] <= _SHORT_LENGTH:
        return {}
    from scipy.linalg import eigh

    rng = np.random.default_rng(0)
    few = len(X) > _MOST_ROWS
    rows = X[np.sort(rng.choice(len(X), _MOST_ROWS, replace=False))] if few else X
    mean = rows.mean(axis=0)
    rows = l2_normalize(rows - mean)
    if min(rows.shape) < 2 or not rows.any():
        return {}
    products = (rows @ rows.T).astype(np.float64, order="F")
    n = len(rows)
    # All eigenvectors take less time than half of them, but not than a few.
    how = (
        {"driver": "evd"}
        if n <= 2 * _WHITENED_LENGTH
        else {"subset_by_index": [n - _WHITENED_LENGTH, n - 1]}
    )
    values, vectors = eigh(products, overwrite_a=True, check_finite=False, **how)
    values, vectors = values[-_WHITENED_LENGTH:], vectors[:, -_WHITENED_LENGTH:]
    kept = values > 1e-6 * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    damped = (values / values[-1] + 1e-3) ** -_DAMPING
    basis = rows.T @ (vectors / np.sqrt(values) * damped).astype(np.float32)
    scale = np.sqrt(np.square(rows @ basis).sum(axis=1).mean())
    return {"mean": mean, "basis": np.asarray(basis / scale, np.float32)}


def whiten(X: View, whitening: Mapping[str, NDArray[Any]]) -> View:
    """Return rows whitened by what `fit_whitening` returned."""
    if "basis" not in whitening:
        return X
    return np.ascontiguousarray(
        l2_normalize(X - whitening["mean"]) @ whitening["basis"], np.float32
    )


_MEMORY = Path("/proc/meminfo")


def bytes_free() -> int:
    """Return how many bytes the machine can give; a large number if that is unknown."""
    try:
        for line in _MEMORY.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 1 << 62


_MOST_STEPS = 1_500_000
_TOP = "top."

RANKERS: dict[str, RankerSpec] = {name: RankerSpec.of(entry) for name, entry in ENTRIES.items()}
"""The built-in rankers by name, in the order of `sightline.registry`."""
