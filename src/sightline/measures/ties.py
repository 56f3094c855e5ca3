"""Expected values under a random order of tied pictures, in closed form.

A tied group of g pictures, m of them relevant, that starts below a others puts a relevant picture
at each of its ranks with probability m/g; given that, each of its j - 1 earlier ranks holds a
relevant picture with probability (m - 1)/(g - 1). Everything linear in those events follows; the
two measures that are not linear, reciprocal rank and MAP@R, condition on one more count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def group_sizes(starts: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return the size of each group, given where each begins in a list of n.

    >>> group_sizes(np.array([0, 1, 3]), 4)
    array([1, 2, 1])
    """
    return np.diff(np.append(starts, n))


def group_sums(values: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the sum of each group.

    >>> group_sums(np.array([1.0, 2.0, 3.0]), np.array([0, 2]))
    array([3., 3.])
    """
    if not starts.size:
        return np.zeros(0)
    sums: NDArray[np.float64] = np.add.reduceat(values, starts)
    return sums


def group_means(values: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return, for each rank, the mean of the group it lies in.

    >>> group_means(np.array([1.0, 0.0, 1.0]), np.array([0, 1]))
    array([1. , 0.5, 0.5])
    """
    sizes = group_sizes(starts, len(values))
    means: NDArray[np.float64] = np.repeat(group_sums(values, starts) / sizes, sizes)
    return means


def expected_hits(relevant: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return E[rel(i) Prec(i)] at each rank i.

    >>> expected_hits(np.array([1.0, 0.0]), np.array([0]))
    array([0.5 , 0.25])
    """
    sizes = group_sizes(starts, len(relevant))
    sums = group_sums(relevant, starts)
    above = np.repeat(np.cumsum(sums) - sums, sizes)
    g, m = np.repeat(sizes, sizes), np.repeat(sums, sizes)
    ranks = np.arange(1, len(relevant) + 1)
    earlier = ranks - 1 - np.repeat(starts, sizes)
    # A group of one has no earlier rank, so the guarded divisor only meets a zero.
    inside = earlier * (m - 1) / np.maximum(g - 1, 1)
    hits: NDArray[np.float64] = (m / g) * (above + 1 + inside) / ranks
    return hits


def expected_reciprocal_rank(start: int, size: int, n_relevant: int) -> float:
    """Return E[1/rank of the first relevant picture] of a group that holds the first.

    >>> expected_reciprocal_rank(start=0, size=2, n_relevant=1)
    0.75
    """
    j = np.arange(1, size - n_relevant + 1)
    # P(first at j+1) / P(first at j), from P(j) = C(g-j, m-1) / C(g, m).
    ratios = (size - n_relevant - j + 1) / (size - j)
    chances = n_relevant / size * np.cumprod(np.concatenate(([1.0], ratios)))
    return float(np.sum(chances / (start + np.arange(1, len(chances) + 1))))


def drawn(size: int, n_relevant: int, n_drawn: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the possible numbers of relevant pictures among `n_drawn` of a group, with chances.

    >>> drawn(size=4, n_relevant=2, n_drawn=1)
    (array([0, 1]), array([0.5, 0.5]))
    """
    least, most = max(0, n_relevant - (size - n_drawn)), min(n_relevant, n_drawn)
    h = np.arange(least, most)
    ratios = (n_relevant - h) * (n_drawn - h) / ((h + 1) * (size - n_relevant - n_drawn + h + 1))
    logs = np.concatenate(([0.0], np.cumsum(np.log(ratios))))
    # Binomials of a few thousand overflow; the ratios of the chances never do.
    weights = np.exp(logs - logs.max())
    return np.arange(least, most + 1), weights / weights.sum()


def expected_map_in_cut_group(
    hits_above: float, relevant_above: int, start: int, k: int, size: int, n_relevant: int
) -> float:
    """Return E[MAP@k] when the k-th rank falls inside a tied group.

    The divisor L is itself random here, so the expectation is taken over the number h of relevant
    pictures that make it into the top k, and inside each case over their places.

    >>> expected_map_in_cut_group(0.0, 0, start=0, k=1, size=2, n_relevant=1)
    0.5
    """
    n_drawn = k - start
    h, chances = drawn(size, n_relevant, n_drawn)
    ranks = np.arange(start + 1, k + 1)
    once = np.sum(1 / ranks)
    again = np.sum(np.arange(n_drawn) / ranks)
    hits = h / n_drawn * ((relevant_above + 1) * once + (h - 1) / max(n_drawn - 1, 1) * again)
    n_found = relevant_above + h
    # Nothing found means no hits either, and the quotient is the 0 that L = 0 counts.
    return float(np.sum(chances * (hits_above + hits) / np.maximum(n_found, 1)))
