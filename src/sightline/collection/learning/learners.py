"""Learners as a collection uses them: fitted to views of pictures, kept as arrays, made again.

A recipe names a ranker, the features it sees and its settings; fitting it gives scores of every
word for every picture. What a learner does with several features is its own affair: PAMIR sees them
side by side, kernel ridge averages their kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.collection.learning.samples import Sample
from sightline.collection.learning.views import View, Weighting
from sightline.contracts import Json
from sightline.errors import UsageError
from sightline.records import QuerySet

_BLOCK = 1024
# How PAMIR sees rows longer than `_SHORT`: so many numbers, found on so many rows, damped so much.
_SHORT, _MOST_NUMBERS, _MOST_ROWS, _DAMPING = 64, 768, 6_000, 0.2
_MOST_STEPS = 1_500_000

Float = NDArray[np.float32]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to fit: a ranker, the fingerprints of the features it sees, and its settings."""

    ranker: str
    features: tuple[str, ...]
    settings: tuple[tuple[str, Json], ...] = ()

    def with_settings(self, **more: Json) -> Recipe:
        """Return the recipe with some settings changed."""
        changed = {**dict(self.settings), **more}
        return Recipe(self.ranker, self.features, tuple(sorted(changed.items())))

    def __str__(self) -> str:
        names = "+".join(f.rpartition("-")[0] for f in self.features)
        said = ", ".join(f"{k}={_short(v)}" for k, v in self.settings)
        return f"{self.ranker} on {names}" + (f" ({said})" if said else "")


def _short(value: Json) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of learner: how it is fitted, what to keep of it, and how it scores from that.

    Attributes
    ----------
    grid : the settings worth trying.
    fit : (views, labels, settings, validation) -> (arrays to keep, further settings found,
        scores of the training pictures as if each were unseen, or None).
    scores : (arrays, views, words or None for all) -> pictures by words.
    usable : which of some features it can use at once.
    """

    grid: tuple[dict[str, Json], ...]
    fit: Callable[
        [Sequence[View], Any, dict[str, Json], tuple[Sequence[View], QuerySet] | None],
        tuple[Arrays, dict[str, Json], Float | None],
    ]
    scores: Callable[[Mapping[str, NDArray[Any]], Sequence[View], NDArray[np.int64] | None], Float]
    usable: Callable[[Mapping[str, View]], tuple[str, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted recipe. `unseen` are scores of the training pictures, each as if left out."""

    recipe: Recipe
    weightings: tuple[Weighting, ...]
    arrays: Mapping[str, NDArray[Any]]
    unseen: Float | None = None

    def scores(self, views: Mapping[str, View], words: NDArray[np.int64] | None = None) -> Float:
        """Return the scores of pictures for all words, or for the words at some positions."""
        seen = [w(views[f]) for f, w in zip(self.recipe.features, self.weightings, strict=True)]
        return kinds()[self.recipe.ranker].scores(self.arrays, seen, words)

    def to_arrays(self, prefix: str) -> Arrays:
        """Return all numbers of it, under names with a prefix."""
        idf = {f"{prefix}idf.{i}": w.idf for i, w in enumerate(self.weightings)}
        return {**idf, **{f"{prefix}{name}": a for name, a in self.arrays.items()}}

    @classmethod
    def from_arrays(cls, recipe: Recipe, arrays: Mapping[str, NDArray[Any]], prefix: str) -> Fitted:
        """Make it again from what `to_arrays` gave."""
        mine = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
        weightings = tuple(Weighting(mine.pop(f"idf.{i}")) for i in range(len(recipe.features)))
        return cls(recipe, weightings, mine)


def fit(
    recipe: Recipe, sample: Sample, validation: tuple[Sample, QuerySet] | None = None
) -> Fitted:
    """Fit a recipe to pictures; `validation` says when to stop, where that is a question."""
    kind = kind_of(recipe.ranker)
    weightings = tuple(Weighting.of(sample.views[f]) for f in recipe.features)
    views = [w(sample.views[f]) for f, w in zip(recipe.features, weightings, strict=True)]
    judged = None
    if validation is not None:
        other, queries = validation
        pairs = zip(recipe.features, weightings, strict=True)
        judged = [w(other.views[f]) for f, w in pairs], queries
    arrays, found, unseen = kind.fit(views, sample.labels, dict(recipe.settings), judged)
    return Fitted(recipe.with_settings(**found), weightings, arrays, unseen)


def kind_of(ranker: str) -> Kind:
    """Return a kind of learner by name."""
    known = kinds()
    if ranker not in known:
        raise UsageError(f"There is no ranker {ranker!r}. Known: {', '.join(sorted(known))}.")
    return known[ranker]


def kinds() -> dict[str, Kind]:
    """Return all kinds of learners by name."""
    return {
        "pamir": Kind(
            grid=({"C": 0.1}, {"C": 0.4}),
            fit=_fit_pamir,
            scores=_pamir_scores,
            usable=_side_by_side_ones,
        ),
        "ridge": Kind(
            grid=({"kernel": "rbf"},),
            fit=_fit_ridge,
            scores=_ridge_scores,
            usable=tuple,
        ),
    }


def _side_by_side_ones(views: Mapping[str, View]) -> tuple[str, ...]:
    """Return the dense features, or a single sparse one: the two do not go side by side."""
    dense = tuple(f for f, view in views.items() if not hasattr(view, "tocsr"))
    return dense or tuple(views)[:1]


def _side_by_side(views: Sequence[View]) -> View:
    return views[0] if len(views) == 1 else np.hstack(views) / np.float32(np.sqrt(len(views)))


def _fit_pamir(
    views: Sequence[View],
    labels: Any,
    settings: dict[str, Json],
    validation: tuple[Sequence[View], QuerySet] | None,
) -> tuple[Arrays, dict[str, Json], Float | None]:
    from sightline.rankers.pamir import PAMIR

    X, steps = _side_by_side(views), settings.pop("n_iter", None)
    frame = _frame(X)
    X = _in_frame(X, frame)
    given: dict[str, Any] = {"n_iter": _MOST_STEPS, **settings}
    judged = None
    if validation is not None:
        judged = (_in_frame(_side_by_side(validation[0]), frame), validation[1])
        steps = None
    # Without validation, as many steps as were best when there was some.
    exactly = None if steps is None else int(str(steps))
    ranker = PAMIR(**given).fit(X, labels, validation=judged, n_iter=exactly)
    return {"W": ranker.W_, **frame}, {"n_iter": int(ranker.best_iter_)}, None


def _frame(X: View) -> Arrays:
    """Return the frame in which PAMIR sees long dense rows: their mean, and a basis around it.

    PAMIR's weights are sums of training rows and it looks at inner products alone, so in a basis
    of the space those fill it learns the same from fewer numbers. Strong directions are damped a
    little, since they drown the others: on emoji that is worth three points of AvgP.
    """
    if hasattr(X, "tocsr") or X.shape[1] <= _SHORT:
        return {}
    from scipy.linalg import eigh

    rng = np.random.default_rng(0)
    few = len(X) > _MOST_ROWS
    rows = X[np.sort(rng.choice(len(X), _MOST_ROWS, replace=False))] if few else X
    mean = rows.mean(axis=0)
    rows = _unit(rows - mean)
    if min(rows.shape) < 2 or not rows.any():
        return {}
    n = len(rows)
    values, vectors = eigh(
        (rows @ rows.T).astype(np.float64), subset_by_index=[max(0, n - _MOST_NUMBERS), n - 1]
    )
    kept = values > 1e-6 * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    damped = (values / values[-1] + 1e-3) ** -_DAMPING
    basis = rows.T @ (vectors / np.sqrt(values) * damped)
    scale = np.sqrt(np.square(rows @ basis).sum(axis=1).mean())
    return {"mean": mean, "basis": np.asarray(basis / scale, np.float32)}


def _in_frame(X: View, frame: Mapping[str, NDArray[Any]]) -> View:
    if "basis" not in frame:
        return X
    return np.ascontiguousarray(_unit(X - frame["mean"]) @ frame["basis"], np.float32)


def _unit(rows: Float) -> Float:
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows / np.where(length > 0, length, 1)[:, None], np.float32)


def _pamir_scores(
    arrays: Mapping[str, NDArray[Any]], views: Sequence[View], words: NDArray[np.int64] | None
) -> Float:
    W = arrays["W"] if words is None else arrays["W"][words]
    return np.asarray(_in_frame(_side_by_side(views), arrays) @ W.T, np.float32)


def _fit_ridge(
    views: Sequence[View],
    labels: Any,
    settings: dict[str, Json],
    validation: tuple[Sequence[View], QuerySet] | None,
) -> tuple[Arrays, dict[str, Json], Float | None]:
    from sightline.annotators.ridge import KernelRidge

    given: dict[str, Any] = dict(settings)
    ridge = KernelRidge(**given).fit(tuple(views), labels)
    kernel = ridge.kernel_
    arrays: Arrays = {
        "dual": ridge.dual_,
        "bandwidths": np.array(kernel.bandwidths),
        "weights": np.array(kernel.weights),
        "kernels": np.frombuffer(" ".join(kernel.names).encode(), np.uint8),
    }
    for i, rows in enumerate(ridge.landmarks_):
        arrays |= _rows_to_arrays(f"landmarks.{i}", rows)
    return arrays, {"alpha": float(ridge.alpha_)}, ridge.leave_one_out_


def _ridge_scores(
    arrays: Mapping[str, NDArray[Any]], views: Sequence[View], words: NDArray[np.int64] | None
) -> Float:
    from sightline.similarity.kernels import MeanKernel

    names = tuple(arrays["kernels"].tobytes().decode().split())
    kernel = MeanKernel(
        names, tuple(arrays["bandwidths"].tolist()), tuple(arrays["weights"].tolist())
    )
    marks = tuple(_rows_from_arrays(f"landmarks.{i}", arrays) for i in range(len(views)))
    dual = (arrays["dual"] if words is None else arrays["dual"][:, words]).astype(np.float64)
    out = np.empty((views[0].shape[0], dual.shape[1]), np.float32)
    for start in range(0, len(out), _BLOCK):
        rows = slice(start, start + _BLOCK)
        out[rows] = kernel(tuple(v[rows] for v in views), marks) @ dual
    return out


def _rows_to_arrays(name: str, rows: View) -> Arrays:
    if not hasattr(rows, "tocsr"):
        return {name: rows}
    return {
        f"{name}.data": rows.data,
        f"{name}.indices": rows.indices.astype(np.int32),
        f"{name}.indptr": rows.indptr.astype(np.int64),
        f"{name}.length": np.array([rows.shape[1]], np.int64),
    }


def _rows_from_arrays(name: str, arrays: Mapping[str, NDArray[Any]]) -> View:
    if name in arrays:
        return arrays[name]
    from scipy.sparse import csr_matrix

    parts = tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    shape = (len(parts[2]) - 1, int(arrays[f"{name}.length"][0]))
    return csr_matrix(parts, shape=shape)
