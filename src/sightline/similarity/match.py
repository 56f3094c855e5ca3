"""The match kernel: the mean similarity of each descriptor's best match in the other picture.

    k(p, p') = (m(p, p') + m(p', p)) / 2        m(p, p') = (1/|p|) sum_i max_j l(d_i, d'_j)

with a minor kernel l of two descriptors (Wallraven, Caputo and Graf, "Recognition with local
features: the kernel recipe", 2003; one of the kernels of Grangier and Bengio, 2008, who chose rbf):

    rbf         exp(-|d - d'|^2 / (2 s^2))
    linear      d.d'
    polynomial  (offset + d.d')^degree

It is symmetric but **not positive definite**: a maximum is no inner product. `grams.spectrum`
measures by how much on given pictures, `grams.nearest_psd` corrects it, and learners must accept
squared distances below 0 (`rankers.kernel_pamir` does, and can leave the negative part out). A
picture without descriptors has similarity 0 to all.

Descriptors of a block of pictures are compared with those of another by one matrix product, in
float32. Since each minor kernel rises with the entries of the product, the maximum is taken there,
and only the best are exponentiated. Descriptors are centred first for rbf: distances stay, and
nearly equal ones far from 0 keep their digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sightline.errors import DataError, ParameterError
from sightline.similarity.bags import Bags
from sightline.similarity.kernels import bandwidth

if TYPE_CHECKING:
    from numpy.typing import NDArray

Minor = Literal["rbf", "linear", "polynomial"]
MINORS: tuple[Minor, ...] = ("rbf", "linear", "polynomial")
# Four megabytes of products at a time stay in the processor's cache until their maxima are taken.
_BUDGET = 4 << 20
_LARGEST = 1e37


@dataclass(frozen=True, slots=True)
class MatchKernel:
    """The match kernel with a minor kernel and its parameters.

    Parameters
    ----------
    minor : {"rbf", "linear", "polynomial"}
        "rbf", "linear" or "polynomial".
    bandwidth : float
        s of rbf, greater than 0, in the unit of the descriptors; `of` estimates one.
    degree, offset : int or float
        Of the polynomial.

    Examples
    --------
    >>> bags = Bags.from_list([[[0.0], [2.0]], [[0.0]], []])
    >>> MatchKernel(bandwidth=2.0)(bags).round(3)
    array([[1.   , 0.902, 0.   ],
           [0.902, 1.   , 0.   ],
           [0.   , 0.   , 0.   ]], dtype=float32)
    """

    minor: Minor = "rbf"
    bandwidth: float = 1.0
    degree: int = 2
    offset: float = 1.0

    def __post_init__(self) -> None:
        if self.minor not in MINORS:
            raise ParameterError.of("minor", "MatchKernel", f"one of {list(MINORS)}", self.minor)
        if not 0 < self.bandwidth < np.inf:
            raise ParameterError.of("bandwidth", "MatchKernel", "greater than 0", self.bandwidth)
        if isinstance(self.degree, bool) or not isinstance(self.degree, int) or self.degree < 1:
            must_be = "a whole number of at least 1"
            raise ParameterError.of("degree", "MatchKernel", must_be, self.degree)
        if not np.isfinite(self.offset):
            raise ParameterError.of("offset", "MatchKernel", "finite", self.offset)

    @classmethod
    def of(
        cls, bags: Bags, *, factor: float = 1.0, sample: int = 1000, random_state: int = 0
    ) -> MatchKernel:
        """Return the rbf match kernel with factor times the median distance of two descriptors.

        The median is that of a seeded sample of all descriptors of these pictures.

        >>> MatchKernel.of(Bags.from_list([[[0.0], [1.0]], [[3.0]]]), factor=0.5)
        MatchKernel(minor='rbf', bandwidth=1.0, degree=2, offset=1.0)
        """
        width = bandwidth(bags.values, factor=factor, sample=sample, random_state=random_state)
        return cls("rbf", width)

    def __call__(
        self, bags: Bags, others: Bags | None = None, *, budget: int = _BUDGET
    ) -> NDArray[np.float32]:
        """Return similarities, (pictures, others); without others, of the pictures themselves.

        `budget` is the most bytes of products in memory, unless a single pair of pictures has more.
        """
        right = bags if others is None else others
        out = np.zeros((len(bags), len(right)), dtype=np.float32)
        rows, columns = np.flatnonzero(bags.sizes), np.flatnonzero(right.sizes)
        if not (len(rows) and len(columns)):
            return out
        if bags.dim != right.dim:
            raise DataError(
                f"Descriptors must be of one length on both sides. Got {bags.dim} and {right.dim}."
            )
        pairs = _Pairs(self, bags.some(rows), right.some(columns), budget)
        # Infinite values raise an error below, so they need no warning.
        with np.errstate(over="ignore"):
            similarities = pairs.symmetric() if others is None else pairs.all()
        if not np.isfinite(similarities).all():
            raise DataError("The match kernel overflows on these descriptors. Scale them down.")
        if len(rows) == len(bags) and len(columns) == len(right):
            return similarities
        out[np.ix_(rows, columns)] = similarities
        return out

    def _value(self, best: NDArray[np.float32]) -> NDArray[np.float64]:
        numbers = best.astype(np.float64)
        if self.minor == "rbf":
            # Rounding can take the distance of equal descriptors below 0.
            return np.exp(np.minimum(numbers, 0.0) / self.bandwidth**2)
        return numbers**self.degree if self.minor == "polynomial" else numbers


class _Pairs:
    """Blocks of pictures that all have descriptors, against blocks of others."""

    def __init__(self, kernel: MatchKernel, bags: Bags, others: Bags, budget: int) -> None:
        self.kernel, self.bags, self.others = kernel, bags, others
        self.center = np.zeros(bags.dim, dtype=np.float32)
        if kernel.minor == "rbf":
            self.center = others.values.mean(axis=0, dtype=np.float64).astype(np.float32)
        side = max(1, int((budget / 4) ** 0.5))
        self.rows, self.columns = _blocks(bags.start, side), _blocks(others.start, side)

    def all(self) -> NDArray[np.float32]:
        out = np.empty((len(self.bags), len(self.others)), dtype=np.float32)
        for rows in self.rows:
            for columns in self.columns:
                out[rows, columns] = self._block(rows, columns)
        return out

    def symmetric(self) -> NDArray[np.float32]:
        out = np.empty((len(self.bags), len(self.bags)), dtype=np.float32)
        for rows in self.rows:
            for columns in self.columns:
                if columns.start > rows.start:
                    out[rows, columns] = self._block(rows, columns)
                    out[columns, rows] = out[rows, columns].T
                elif columns.start == rows.start:
                    # Products in the other order may differ in their last digit.
                    upper = np.triu(self._block(rows, rows))
                    out[rows, rows] = upper + np.triu(upper, 1).T
        if self.kernel.minor == "rbf":
            np.fill_diagonal(out, 1.0)
        return out

    def _block(self, rows: slice, columns: slice) -> NDArray[np.float64]:
        from sightline.similarity._match_fast import mean_of_rows, segment_best

        left, right = self.bags[rows], self.others[columns]
        table = self._compared(left.values, right.values)
        by_row = np.empty((len(table), len(right)), dtype=np.float32)
        by_column = np.empty((len(left), table.shape[1]), dtype=np.float32)
        segment_best(table, left.start, right.start, by_row, by_column)
        forward, backward = np.zeros((len(left), len(right))), np.zeros((len(right), len(left)))
        mean_of_rows(self.kernel._value(by_row), left.start, forward)
        mean_of_rows(self.kernel._value(np.ascontiguousarray(by_column.T)), right.start, backward)
        forward += backward.T
        forward *= 0.5
        return forward

    def _compared(self, a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return numbers that rise with the minor kernel: for rbf, minus half the squared distance.

        That is one product too, of descriptors with two numbers more: (a, -|a|^2/2, 1) with
        (b, 1, -|b|^2/2).
        """
        if self.kernel.minor == "rbf":
            a, b = _with_norms(a - self.center, False), _with_norms(b - self.center, True)
        _check_range(a, b)
        table: NDArray[np.float32] = a @ b.T
        if self.kernel.minor == "polynomial":
            table += np.float32(self.kernel.offset)
            if self.kernel.degree % 2 == 0:
                # An even power rises with the size of the number alone.
                np.abs(table, out=table)
        return table


def _with_norms(rows: NDArray[np.float32], last: bool) -> NDArray[np.float32]:
    out = np.ones((len(rows), rows.shape[1] + 2), dtype=np.float32)
    out[:, :-2] = rows
    out[:, -1 if last else -2] = np.einsum("ij,ij->i", rows, rows, dtype=np.float64) / -2
    return out


def _check_range(a: NDArray[Any], b: NDArray[Any]) -> None:
    # No sum within a product is larger than the product of the lengths.
    longest = [float(np.einsum("ij,ij->i", x, x, dtype=np.float64).max()) for x in (a, b)]
    if not longest[0] * longest[1] < _LARGEST**2:
        raise DataError("The match kernel overflows on these descriptors. Scale them down.")


def _blocks(start: NDArray[np.int64], most: int) -> list[slice]:
    """Return slices of pictures with at most `most` descriptors together, but at least one each.

    >>> _blocks(np.array([0, 2, 4, 9, 10]), 4)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    slices, first, n = [], 0, len(start) - 1
    while first < n:
        last = int(np.searchsorted(start, start[first] + most, side="right")) - 1
        last = max(last, first + 1)
        slices.append(slice(first, last))
        first = last
    return slices
