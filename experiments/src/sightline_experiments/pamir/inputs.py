"""The input of a method: which features of the pool, how they are weighted, side by side.

A view is named by its parts, `b64_k10000` or `b32_k2000 & classic` (see `terms` for the former).
The weighting of each part is fitted to training pictures and then applied to other pictures.

    tfidf      counts times idf, L2-normalised (the paper); idf from training pictures
    hellinger  square roots of counts times idf, L2-normalised
    counts     as they are, for models of counts
    unit       L2-normalised
    centred    less the mean picture, L2-normalised
    whitened   centred, strong directions damped, L2-normalised

Means and variances of blocks (`g64`) are not weighted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Json
from sightline.errors import ParameterError, UsageError
from sightline.features.local.visterms import idf_of, weighted
from sightline.similarity.whitening import Whitening
from sightline.vectors import l2_normalize
from sightline_experiments.extraction import View
from sightline_experiments.pamir.terms import is_gaussians

Views = Mapping[str, View]
Weigh = Callable[[View], View]

SPARSE, DENSE = ("tfidf", "hellinger", "counts"), ("unit", "centred", "whitened")


def view_of(settings: Mapping[str, Json]) -> str:
    """Return the view that settings name: `view`, or the visual terms of a `block` size.

    >>> view_of({"block": 64, "terms": 3000, "C": 0.1})
    'b64_k3000'
    """
    if "view" in settings:
        return str(settings["view"])
    return f"b{settings['block']}_k{settings['terms']}"


class SomeRows(Mapping[str, View]):
    """Views of some of the pictures; rows are taken when a view is read, and not kept.

    >>> dict(SomeRows({"a": np.arange(3)}, np.array([2, 0])))
    {'a': array([2, 0])}
    """

    def __init__(self, views: Views, rows: NDArray[np.int64]) -> None:
        self._views, self._rows = views, rows

    def __getitem__(self, name: str) -> View:
        return self._views[name][self._rows]

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)


def parts_of(view: str) -> tuple[str, ...]:
    """Return the names of a view's parts.

    >>> parts_of("b64_k10000 & classic")
    ('b64_k10000', 'classic')
    """
    return tuple(part.strip() for part in view.split("&"))


@dataclass(frozen=True, slots=True, eq=False)
class InputScaling:
    """The weighting of a view, fitted to training pictures."""

    parts: tuple[str, ...]
    weighings: tuple[Weigh, ...]

    @classmethod
    def of(cls, views: Views, view: str, weighting: str = "") -> InputScaling:
        """Fit the weighting of a view; by default tfidf if rows are sparse, else unit."""
        names = parts_of(view)
        for name in names:
            if name not in views:
                raise UsageError(f"The pool has no {name!r}. It has: {', '.join(views)}.")
        weighings = (
            _as_it_is if is_gaussians(n) else _weighing(views[n], weighting) for n in names
        )
        return cls(names, tuple(weighings))

    def each(self, views: Views) -> tuple[View, ...]:
        """Return the parts, weighted, one by one."""
        pairs = zip(self.parts, self.weighings, strict=True)
        return tuple(weigh(views[name]) for name, weigh in pairs)

    def __call__(self, views: Views) -> View:
        """Return the parts side by side."""
        return joined(self.each(views))


def joined(parts: tuple[View, ...]) -> View:
    """Return parts side by side, scaled so that rows of length 1 stay so."""
    if len(parts) == 1:
        return parts[0]
    scale = np.float32(1 / np.sqrt(len(parts)))
    if not any(hasattr(part, "tocsr") for part in parts):
        return np.hstack(parts) * scale
    from scipy.sparse import csr_matrix, hstack

    both = hstack([csr_matrix(part) for part in parts], format="csr", dtype=np.float32)
    both.data *= scale
    return both


def _weighing(view: View, weighting: str) -> Weigh:
    sparse = hasattr(view, "tocsr")
    allowed = SPARSE if sparse else DENSE
    # In a view of both kinds, a part that cannot have the weighting gets its default.
    how = weighting if weighting in allowed else allowed[0]
    if weighting and weighting not in SPARSE + DENSE:
        listed = f"one of {', '.join(SPARSE + DENSE)}"
        raise ParameterError.of("weighting", "a view", listed, weighting)
    if how == "whitened":
        return Whitening.of(l2_normalize(view))
    if how == "unit":
        return l2_normalize
    if how == "centred":
        mean = l2_normalize(view).mean(axis=0)
        return lambda v: l2_normalize(l2_normalize(v) - mean)
    if how == "counts":
        return _as_it_is
    idf = np.asarray(idf_of(view), np.float32)
    if how == "hellinger":
        root = np.sqrt(idf)
        return lambda v: weighted(v.sqrt(), root)
    return lambda v: weighted(v, idf)


def _as_it_is(view: View) -> View:
    return view
