"""Reliability of probabilities: how many of those that were given 80 % are right.

Probabilities p_i of events y_i, 0 or 1, are put into ten bins of equal width. With n_b of them in a
bin, their mean p_b and the share y_b of events that came true,

    ECE = sum_b n_b / n |y_b - p_b|               expected calibration error
    skill = 1 - mean (p_i - y_i)^2 / mean (q_i - y_i)^2        of Brier's score, over base rates q

(Naeini, Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
2015; Brier, "Verification of forecasts expressed in terms of probability", 1950). A skill above 0
means that the probabilities say more than the base rates do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightline.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from sightline.contracts import Json

BINS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Probabilities from `low` to `high`: how many, their mean, and the share that was right."""

    low: float
    high: float
    n: int
    mean: float
    right: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """How reliable some probabilities are.

    Attributes
    ----------
    n : int
        How many there are.
    ece : float
        The expected calibration error; NaN without any.
    brier, base_brier : float
        The mean squared error of the probabilities, and of the base rates.
    bins : tuple of ReliabilityBin
        Those that are not empty, from low to high.
    """

    n: int
    ece: float
    brier: float
    base_brier: float
    bins: tuple[ReliabilityBin, ...]

    @property
    def skill(self) -> float:
        """Brier's skill against the base rates; NaN where these are without error."""
        return 1.0 - self.brier / self.base_brier if self.base_brier > 0 else math.nan

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values."""
        return {
            "n": self.n, "ece": _finite(self.ece), "brier": _finite(self.brier),
            "base_brier": _finite(self.base_brier), "brier_skill": _finite(self.skill),
            "bins": [
                {"low": b.low, "high": b.high, "n": b.n, "mean": b.mean, "right": b.right}
                for b in self.bins
            ],
        }  # fmt: skip

    def lines(self) -> list[str]:
        """Say of each bin how many of its hits were right."""
        return [
            f"of {b.n} hits shown at {100 * b.low:.0f}-{100 * b.high:.0f} %, "
            f"{100 * b.right:.0f} % were right"
            for b in self.bins
        ]


def reliability(probabilities: ArrayLike, right: ArrayLike, base_rates: ArrayLike) -> Reliability:
    """Return how reliable probabilities are.

    Parameters
    ----------
    probabilities : array-like of shape (n,)
        From 0 to 1.
    right : array-like of shape (n,)
        Whether the event came true.
    base_rates : array-like of shape (n,)
        What the skill is measured against.

    Examples
    --------
    >>> found = reliability([0.8, 0.8, 0.8, 0.8, 0.2], [1, 1, 1, 0, 0], [0.5] * 5)
    >>> round(found.ece, 3), round(found.skill, 3), found.lines()[1]
    (0.08, 0.36, 'of 4 hits shown at 80-90 %, 75 % were right')
    """
    p, y, base = (np.asarray(a, dtype=np.float64) for a in (probabilities, right, base_rates))
    if p.ndim != 1 or p.shape != y.shape or p.shape != base.shape:
        raise DataError(
            f"Each probability needs one outcome and one base rate. Got {p.shape}, {y.shape} and "
            f"{base.shape}."
        )
    if p.size and not (p.min() >= 0 and p.max() <= 1):
        raise DataError(f"Probabilities lie between 0 and 1. Got {p.min()} to {p.max()}.")
    if not p.size:
        return Reliability(0, math.nan, math.nan, math.nan, ())
    bins = tuple(_bins(p, y))
    ece = sum(b.n * abs(b.right - b.mean) for b in bins) / p.size
    brier, base_brier = (float(np.square(x - y).mean()) for x in (p, base))
    return Reliability(int(p.size), ece, brier, base_brier, bins)


def _bins(p: NDArray[np.float64], y: NDArray[np.float64]) -> list[ReliabilityBin]:
    at = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(at, minlength=BINS)
    sums, hits = np.bincount(at, p, BINS), np.bincount(at, y, BINS)
    return [
        ReliabilityBin(
            b / BINS, (b + 1) / BINS, int(counts[b]), float(sums[b] / counts[b]),
            float(hits[b] / counts[b]),
        )
        for b in np.flatnonzero(counts).tolist()
    ]  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
