"""Graded judgements: the pairs of pictures, and their margins.

Of two pictures judged for one query the one with the higher grade should score higher, by

    rho = (g(r+) - g(r-)) / unit        g(r) = r ("linear") or 2^r - 1 ("exponential")

where `unit` is the largest difference of g within a query of the first fit, so that no margin is
larger than 1. That only sets the scale of C: a times the margins and a times C give a times the
weights, and the same order of pictures. Two grades, whatever their numbers, make rho = 1, which is
the case without grades, byte for byte. Grades below 0 count as 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sightline._typing import Doubles, Ints
from sightline.errors import DataError, ParameterError

Grading = Literal["binary", "linear", "exponential"]
GRADINGS: tuple[Grading, ...] = ("binary", "linear", "exponential")
_LARGEST_GRADE = 50.0


@dataclass(frozen=True, slots=True, eq=False)
class Graded:
    """Rows of a matrix that are judged for one query each, in grades.

    Attributes
    ----------
    grades : ndarray of float64
        Of each row, none below 0.
    gains : ndarray of float64
        g(r) / unit of each row; the margin of a pair is their difference.
    unit : float
        What gains are measured in.
    which : ndarray of int64
        The query of each row.
    upper_start, upper : ndarray of int64
        Rows above the lowest grade of query i, ascending, are `upper[upper_start[i] : upper_start[i
        + 1]]`.
    lower_start, lower : ndarray of int64
        All rows of a query, from the lowest grade up, ascending within a grade.
    n_lower : ndarray of int64
        How many rows of its query have a lower grade, for each row; they are the first ones in
        `lower`.
    """

    grades: Doubles
    gains: Doubles
    unit: float
    which: Ints
    upper_start: Ints
    upper: Ints
    lower_start: Ints
    lower: Ints
    n_lower: Ints

    @property
    def pair_ends(self) -> Ints:
        """Running totals of the pairs that the rows of `upper` make."""
        return np.cumsum(self.n_lower[self.upper], dtype=np.int64)

    @property
    def n_pairs(self) -> Ints:
        """How many pairs each query has."""
        ends = np.concatenate((np.zeros(1, np.int64), self.pair_ends))
        return ends[self.upper_start[1:]] - ends[self.upper_start[:-1]]


def graded(
    grades: Doubles, which: Ints, n_queries: int, how: Grading, unit: float | None = None
) -> Graded:
    """Return the pairs of rows with different grades.

    Parameters
    ----------
    grades, which : ndarray of float64 or ndarray of int64
        The grade of each row, and the query it is judged for.
    n_queries : int
        How many queries there are.
    how : {"binary", "linear", "exponential"}
        "linear" or "exponential".
    unit : float, optional
        What gains are measured in; the largest difference within a query by default.

    Examples
    --------
    >>> pairs = graded(np.array([0.0, 2.0, 1.0]), np.zeros(3, np.int64), 1, "exponential")
    >>> pairs.upper.tolist(), pairs.lower.tolist(), pairs.n_lower.tolist()
    ([1, 2], [0, 2, 1], [0, 2, 1])
    >>> pairs.gains.round(2).tolist(), pairs.unit
    ([0.0, 1.0, 0.33], 3.0)
    """
    clipped = np.maximum(grades, 0.0)
    gains = gain(clipped, how)
    order = np.lexsort((clipped, which))
    lower_start = _starts(np.bincount(which, minlength=n_queries))
    first = _first_of_grade(which[order], clipped[order])
    n_lower = np.empty(len(grades), dtype=np.int64)
    n_lower[order] = first - lower_start[which[order]]
    if unit is None:
        unit = _widest(gains[order], lower_start)
    above = np.flatnonzero(n_lower > 0)
    by_query = above[np.argsort(which[above], kind="stable")]
    upper_start = _starts(np.bincount(which[above], minlength=n_queries))
    return Graded(
        clipped, gains / unit, unit, which, upper_start, by_query, lower_start, order, n_lower
    )


def gain(grades: Doubles, how: Grading) -> Doubles:
    """Return g(r), which is r or 2^r - 1."""
    if how == "linear":
        return grades
    if grades.max(initial=0.0) > _LARGEST_GRADE:
        raise DataError(
            f"Grades must be at most {_LARGEST_GRADE:g} where 2^grade counts. "
            f"Got {grades.max():g}. Scale them down, or use grades='linear'."
        )
    return np.exp2(grades) - 1.0


def check_grading(grades: str, owner: str) -> None:
    """Raise ParameterError unless grades are one of `GRADINGS`."""
    if grades not in GRADINGS:
        raise ParameterError.of("grades", owner, "'binary', 'linear' or 'exponential'", grades)


def _first_of_grade(which: Ints, grades: Doubles) -> Ints:
    """Return for each row, sorted by query and grade, where the rows of its grade begin."""
    positions = np.arange(len(which))
    new = np.ones(len(which), dtype=np.bool_)
    new[1:] = (which[1:] != which[:-1]) | (grades[1:] != grades[:-1])
    return np.asarray(np.maximum.accumulate(np.where(new, positions, 0)))


def _widest(gains: Doubles, start: Ints) -> float:
    full = np.flatnonzero(np.diff(start) > 0)
    spans = gains[start[full + 1] - 1] - gains[start[full]]
    return float(spans.max(initial=0.0)) or 1.0


def _starts(lengths: Ints) -> Ints:
    start = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=start[1:])
    return start
