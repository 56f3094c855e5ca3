"""The nearest training pictures of a picture, exactly, by one or by several views.

Distances of a block of pictures to all training pictures are held at a time, in float32, so that
memory is bounded whatever their number. Of equally near ones the first comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sightline.errors import DataError, ParameterError
from sightline.similarity.formulas import KERNELS, Rows
from sightline.similarity.kernels import as_views

if TYPE_CHECKING:
    from numpy.typing import NDArray

Choice = Literal["union", "mean"]

# The most bytes of a block of distances, and how many rows and columns are computed at once.
_BUDGET = 128 << 20
_MOST_ROWS, _COLUMNS = 1024, 2048
_SAMPLE = 1000


def _l2(a: Rows, b: Rows) -> NDArray[np.float64]:
    squared = KERNELS["rbf"].compare(a, b)
    return np.sqrt(squared, out=squared)


def _l1(a: Rows, b: Rows) -> NDArray[np.float64]:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(a, b, "cityblock"))


_Distance = Callable[[Rows, Rows], "NDArray[np.float64]"]
# Beside each distance, the kernel whose rows it takes.
_DISTANCES: dict[str, tuple[_Distance, str]] = {
    "l2": (_l2, "rbf"),
    "l1": (_l1, "linear"),
    "chi2": (KERNELS["chi2"].compare, "chi2"),
}


@dataclass(frozen=True, slots=True)
class NearestPictures:
    """The nearest pictures of some: which pictures, their nearest ones, and how far those are.

    `nearest` is (pictures, k), nearest first by the mean over views; `distances` is (pictures, k,
    views).
    """

    rows: slice
    nearest: NDArray[np.int32]
    distances: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Training pictures to search, and how.

    Attributes
    ----------
    views : tuple of ndarray or sparse matrix
        Their rows, as `views_of` gives them.
    names : tuple of str
        The distance of each view.
    scales : tuple of float
        What each view's distances are divided by before their mean is taken.
    choice : {"union", "mean"}
        "mean" takes the nearest by that mean; "union" the first of every view, then the second of
        every view, and so on.
    """

    views: tuple[Rows, ...]
    names: tuple[str, ...]
    scales: tuple[float, ...]
    choice: Choice

    def __len__(self) -> int:
        return int(self.views[0].shape[0])

    def among_themselves(self, k: int) -> Iterator[NearestPictures]:
        """Yield the nearest others of each training picture."""
        return self._blocks_of_nearest(self.views, k, leave_out=True)

    def of(self, views: tuple[Rows, ...], k: int) -> Iterator[NearestPictures]:
        """Yield the nearest training pictures of other pictures."""
        for at, (x, y) in enumerate(zip(views, self.views, strict=True)):
            if x.shape[1] != y.shape[1]:
                raise DataError(
                    f"View {at} must be of length {y.shape[1]}, as in fit. Got {x.shape[1]}."
                )
        return self._blocks_of_nearest(views, k, leave_out=False)

    def _blocks_of_nearest(
        self, views: tuple[Rows, ...], k: int, leave_out: bool
    ) -> Iterator[NearestPictures]:
        n, n_views = views[0].shape[0], len(views)
        # One more table than views, for their mean.
        side = int(np.clip(_BUDGET // (4 * (n_views + 1) * len(self)), 1, _MOST_ROWS))
        for start in range(0, n, side):
            rows = slice(start, min(start + side, n))
            tables = self._tables(tuple(v[rows] for v in views))
            excluded = (
                np.arange(rows.start, rows.stop) if leave_out else np.full(rows.stop - start, -1)
            )
            yield self._chosen(rows, tables, excluded, k)

    def _tables(self, some: tuple[Rows, ...]) -> NDArray[np.float32]:
        out = np.empty((len(some), some[0].shape[0], len(self)), dtype=np.float32)
        for table, name, a, b in zip(out, self.names, some, self.views, strict=True):
            for start in range(0, len(self), _COLUMNS):
                columns = slice(start, start + _COLUMNS)
                # Beyond float32 is infinite, which is an error where it matters.
                with np.errstate(over="ignore"):
                    table[:, columns] = _DISTANCES[name][0](a, b[columns])
        return out

    def _chosen(
        self, rows: slice, tables: NDArray[np.float32], excluded: NDArray[np.int64], k: int
    ) -> NearestPictures:
        from sightline.annotators._neighbours_fast import merge_lists, nearest_rows

        mean = self._mean(tables)
        nearest = np.empty((len(excluded), k), dtype=np.int32)
        if self.choice == "mean" or len(tables) == 1:
            nearest_rows(mean, excluded, nearest)
        else:
            lists = np.empty((len(tables), len(excluded), k), dtype=np.int32)
            for table, each in zip(tables, lists, strict=True):
                nearest_rows(table, excluded, each)
            merge_lists(lists, len(self), nearest)
            nearest.sort(axis=1)
            order = np.argsort(np.take_along_axis(mean, nearest, axis=1), axis=1, kind="stable")
            nearest = np.take_along_axis(nearest, order, axis=1)
        at = np.arange(len(excluded))[:, None]
        distances = np.stack([table[at, nearest] for table in tables], axis=2)
        return NearestPictures(rows, nearest, distances)

    def _mean(self, tables: NDArray[np.float32]) -> NDArray[np.float32]:
        if len(tables) == 1:
            only: NDArray[np.float32] = tables[0]
            return only
        mean = np.zeros(tables.shape[1:], dtype=np.float32)
        for table, scale in zip(tables, self.scales, strict=True):
            mean += table * np.float32(1.0 / (scale * len(tables)))
        return mean


def views_of(X: Any, distance: str | tuple[str, ...]) -> tuple[tuple[Rows, ...], tuple[str, ...]]:
    """Return the views of X, a matrix or a tuple of them, and the name of each one's distance."""
    inputs = X if isinstance(X, tuple) else (X,)
    names = distance if isinstance(distance, tuple) else (distance,) * len(inputs)
    for name in names:
        if name not in _DISTANCES:
            must_be = f"one of {sorted(_DISTANCES)}, or one for each view"
            raise ParameterError.of("distance", "Neighbours", must_be, name)
    if len(names) != len(inputs):
        raise DataError(f"{len(names)} distances need as many views. Got {len(inputs)}.")
    views = as_views(inputs, tuple(_DISTANCES[name][1] for name in names))
    for view, name in zip(views, names, strict=True):
        if name == "l1" and hasattr(view, "tocsr"):
            raise DataError("The l1 distance needs dense features. Got sparse ones.")
    return views, names


def scale_of(rows: Rows, name: str, random_state: int) -> float:
    """Return the mean distance between two pictures of a seeded sample; 1 if all are equal.

    >>> scale_of(np.array([[0.0], [1.0], [2.0]]), "l1", 0)
    1.3333333333333333
    """
    n = rows.shape[0]
    if n > _SAMPLE:
        rows = rows[np.sort(np.random.default_rng(random_state).choice(n, _SAMPLE, replace=False))]
    distances = _DISTANCES[name][0](rows, rows)[np.triu_indices(rows.shape[0], 1)]
    scale = float(distances.mean()) if distances.size else 0.0
    return scale if 0 < scale < np.inf else 1.0
