"""Kernels: similarities of pictures that are inner products in some space.

A picture has several features, called *views*: a tuple of matrices with one row a picture each. The
kernel of pictures is the weighted mean of its views' kernels (`formulas` has those by name),

    k(p, p') = sum_v w_v k_v(p_v, p'_v)        w_v >= 0,  sum_v w_v = 1

an inner product again, over the views' spaces side by side. The bandwidth of a view is a factor
times the median distance of a seeded sample of pairs, so that its unit does not matter.

Sums run over square blocks, so that only the result needs memory that grows with the number of
pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sightline.errors import DataError, ParameterError
from sightline.similarity.formulas import KERNELS, Rows, as_rows
from sightline.validation import check_shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

Statistic = Literal["median", "mean"]
BUDGET = 64 << 20


@dataclass(frozen=True, slots=True)
class MeanKernel:
    """The weighted mean of one kernel for each view, with all its parameters.

    Attributes
    ----------
    names : tuple of str
        Kernels, one for each view.
    bandwidths : tuple of float
        One for each view; 1 for a linear kernel.
    weights : tuple of float
        One for each view, not negative, of sum 1.

    Examples
    --------
    >>> colours = np.array([[1, 0], [0, 1], [1, 0]], dtype=np.float32)
    >>> edges = np.array([[0.0], [0.0], [2.0]], dtype=np.float32)
    >>> kernel = MeanKernel(("rbf", "exponential"), (1.0, 1.0), (0.5, 0.5))
    >>> kernel((colours, edges)).round(2)
    array([[1.  , 0.68, 0.57],
           [0.68, 1.  , 0.25],
           [0.57, 0.25, 1.  ]], dtype=float32)
    """

    names: tuple[str, ...]
    bandwidths: tuple[float, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(
        cls,
        views: tuple[Rows, ...],
        names: tuple[str, ...],
        *,
        factors: tuple[float, ...] | None = None,
        weights: tuple[float, ...] | None = None,
        statistic: Statistic = "median",
        random_state: int = 0,
    ) -> MeanKernel:
        """Return the mean kernel with bandwidths by these views; weights may have any sum."""
        factors = (1.0,) * len(views) if factors is None else factors
        weights = (1.0,) * len(views) if weights is None else weights
        _check_lengths(len(views), names=len(names), factors=len(factors), weights=len(weights))
        total = sum(weights)
        if not (all(w >= 0 for w in weights) and 0 < total < np.inf):
            raise ParameterError.of("weights", "MeanKernel", "not negative, not all 0", weights)
        bandwidths = tuple(
            bandwidth(v, n, factor=f, statistic=statistic, random_state=random_state)
            for v, n, f in zip(views, names, factors, strict=True)
        )
        return cls(names, bandwidths, tuple(w / total for w in weights))

    def __call__(
        self,
        views: tuple[Rows, ...],
        others: tuple[Rows, ...] | None = None,
        *,
        budget: int = BUDGET,
    ) -> NDArray[np.float32]:
        """Return similarities, (pictures, others); without others, of the pictures themselves."""
        left = as_views(views, self.names)
        if others is None:
            return self._of_pairs(left, left, True, budget)
        right = as_views(others, self.names)
        for at, (x, y) in enumerate(zip(left, right, strict=True)):
            if x.shape[1] != y.shape[1]:
                raise DataError(
                    f"View {at} must be of one length on both sides. "
                    f"Got {x.shape[1]} and {y.shape[1]}."
                )
        return self._of_pairs(left, right, False, budget)

    def _of_pairs(
        self, a: tuple[Rows, ...], b: tuple[Rows, ...], same: bool, budget: int
    ) -> NDArray[np.float32]:
        out = np.empty((a[0].shape[0], b[0].shape[0]), dtype=np.float32)
        side = _side(max(v.shape[1] for v in a), budget)
        for rows in _blocks(out.shape[0], side):
            for columns in _blocks(out.shape[1], side):
                if same and columns.start < rows.start:
                    # Two products of the same rows may differ in their last digit.
                    out[rows, columns] = out[columns, rows].T
                else:
                    out[rows, columns] = self._block(a, b, rows, columns)
        if same:
            for rows in _blocks(out.shape[0], side):
                _mirror(out[rows, rows])
            if all(KERNELS[n].unit for n in self.names):
                np.fill_diagonal(out, 1.0)
        return out

    def _block(
        self, a: tuple[Rows, ...], b: tuple[Rows, ...], rows: slice, columns: slice
    ) -> NDArray[np.float64]:
        total = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
        for at, name in enumerate(self.names):
            kernel = KERNELS[name]
            compared = kernel.compare(a[at][rows], b[at][columns])
            part = kernel.value(compared, self.bandwidths[at])
            part *= self.weights[at]
            total += part
        return total


def gram(
    a: Rows,
    b: Rows | None = None,
    *,
    kernel: str = "rbf",
    bandwidth: float = 1.0,
    budget: int = BUDGET,
) -> NDArray[np.float32]:
    """Return the kernel of every row of `a` with every row of `b`, or of `a` itself.

    >>> gram(np.array([[0.0], [2.0]]), bandwidth=2.0).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]], dtype=float32)
    """
    one = MeanKernel((kernel,), (bandwidth,), (1.0,))
    return one((a,), None if b is None else (b,), budget=budget)


def bandwidth(
    rows: Rows,
    kernel: str = "rbf",
    *,
    factor: float = 1.0,
    statistic: Statistic = "median",
    sample: int = 1000,
    random_state: int = 0,
) -> float:
    """Return factor times the median (or mean) distance between two rows, by the kernel's distance.

    If more than half of the pairs are equal, pairs at distance 0 are left out; if all are, the
    bandwidth is 1 and the kernel is 1 for every pair.

    >>> bandwidth(np.array([[0.0], [1.0], [3.0]]), factor=0.5)
    1.0
    """
    rows = as_rows(rows, kernel)
    if not KERNELS[kernel].unit:
        return 1.0
    if not 0 < factor < np.inf:
        raise ParameterError.of("factor", "bandwidth", "greater than 0", factor)
    if statistic not in ("median", "mean"):
        raise ParameterError.of("statistic", "bandwidth", "'median' or 'mean'", statistic)
    if rows.shape[0] > sample:
        chosen = np.random.default_rng(random_state).choice(rows.shape[0], sample, replace=False)
        rows = rows[np.sort(chosen)]
    compared = KERNELS[kernel].compare(rows, rows)[np.triu_indices(rows.shape[0], 1)]
    distances = np.sqrt(compared) if KERNELS[kernel].squared else compared
    centre = np.median if statistic == "median" else np.mean
    typical = float(centre(distances)) if distances.size else 0.0
    if not typical and distances.any():
        typical = float(centre(distances[distances > 0]))
    return factor * typical if typical else 1.0


def as_views(values: tuple[Any, ...], kernels: tuple[str, ...]) -> tuple[Rows, ...]:
    """Return several features of the same pictures, each as its kernel can use it."""
    if len(values) != len(kernels):
        raise DataError(f"{len(kernels)} kernels need {len(kernels)} views. Got {len(values)}.")
    views = tuple(as_rows(v, n) for v, n in zip(values, kernels, strict=True))
    n_rows = [v.shape[0] for v in views]
    if len(set(n_rows)) != 1:
        raise DataError(f"Views must have one row for each picture. Got {n_rows} rows.")
    return views


def check_columns(views: tuple[Rows, ...], n_features: int, owner: str) -> None:
    """Raise an error unless views have as many columns in all as those of `fit`."""
    n_columns = sum(int(rows.shape[1]) for rows in views)
    check_shape((views[0].shape[0], n_columns), owner, n_features=n_features)


def input_kinds(kernels: str | tuple[str, ...]) -> tuple[bool, bool]:
    """Return whether kernels take sparse features, and whether they take none that are negative.

    >>> input_kinds("rbf"), input_kinds(("rbf", "chi2"))
    ((True, False), (False, True))
    """
    names = kernels if isinstance(kernels, tuple) else (kernels,)
    kinds = [KERNELS[name] for name in names if name in KERNELS]
    dense = any(kernel.counts or kernel.gaussians for kernel in kinds)
    return not dense, any(kernel.counts for kernel in kinds)


def _side(length: int, budget: int) -> int:
    # Two blocks of rows and three squares of float64 lie in memory at once.
    numbers = budget / 8
    return max(1, int((-2 * length + (4.0 * length**2 + 12 * numbers) ** 0.5) / 6))


def _blocks(n: int, side: int) -> Iterator[slice]:
    for start in range(0, n, side):
        yield slice(start, min(start + side, n))


def _mirror(square: NDArray[np.float32]) -> None:
    upper = np.triu(square, 1)
    square[...] = upper + upper.T + np.diag(square.diagonal())


def _check_lengths(n_views: int, **lengths: int) -> None:
    for name, length in lengths.items():
        if length != n_views:
            raise DataError(
                f"There are {n_views} views, so {name} must be {n_views}. Got {length}."
            )
