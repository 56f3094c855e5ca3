"""Thresholds of margins: the lowest that keep a promised precision.

Margins are cross-validated. The precision of all pictures above a threshold is the lower confidence
bound (Wilson, "Probable inference, the law of succession, and statistical inference", 1927;
one-sided, 95 %). So a precision of .9 takes 25 pictures without a mistake, and a word on few
pictures is never proposed. A picture without the word counts as a mistake, although its owner may
have forgotten the word. No word is proposed where its probability is below one half
(`words.calibration`).

A tag is doubted if the model would not propose it, at most one in twenty of the pictures with it
has a margin as low, and among all pictures with a margin as low the promised share does not have
it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Doubles
from sightline.errors import ParameterError
from sightline.words.calibration import calibrate

Z = 1.6449
_LEAST_TAGGED = 20
_OUTLIERS = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Thresholds:
    """The margins from which each word is proposed, and below which it is doubted.

    If no threshold keeps the precision, `give` is infinity and `doubt` minus infinity. `n_tagged`
    counts pictures that have the word, `n_proposed` those above the threshold, `right` those
    with both.
    """

    give: Doubles
    doubt: Doubles
    n_tagged: NDArray[np.int64]
    n_proposed: NDArray[np.int64]
    right: NDArray[np.int64]


def wilson_lower(right: Doubles, n: Doubles) -> Doubles:
    """Return the lower confidence bound of the share of `right` in n.

    >>> wilson_lower(np.array([25.0, 24.0]), np.array([25.0, 25.0])).round(3).tolist()
    [0.902, 0.839]
    """
    share = right / n
    spread = Z * np.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    low: Doubles = (share + Z * Z / (2 * n) - spread) / (1 + Z * Z / n)
    return low


def least_pictures(precision: float) -> int:
    """Return the number of pictures without a mistake that a precision needs.

    >>> least_pictures(0.9), least_pictures(0.8)
    (25, 11)
    """
    return int(np.ceil(precision * Z * Z / (1 - precision)))


def thresholds(margins: Doubles, tagged: Bools, precision: float) -> Thresholds:
    """Choose the thresholds of all words by cross-validated margins, (pictures, words).

    >>> margins = np.linspace(-1, 1, 200)[:, None]
    >>> chosen = thresholds(margins, margins > 0.2, 0.9)
    >>> float(chosen.give[0].round(1)), int(chosen.n_proposed[0]), int(chosen.right[0])
    (0.2, 81, 80)
    """
    if not 0.5 <= precision < 1:
        raise ParameterError.of("precision", "tag", "from 0.5 to below 1", precision)
    slope, offset = calibrate(margins.astype(np.float32), tagged)
    columns = zip(margins.T, tagged.T, -offset / slope, strict=True)
    chosen = [_one(m, c, even, precision) for m, c, even in columns]
    give, doubt, n_proposed, right = zip(*chosen, strict=True) if chosen else ((), (), (), ())
    return Thresholds(
        np.array(give, np.float64), np.array(doubt, np.float64),
        tagged.sum(axis=0).astype(np.int64), np.array(n_proposed, np.int64),
        np.array(right, np.int64),
    )  # fmt: skip


def _one(
    margin: Doubles, tagged: Bools, even: float, precision: float
) -> tuple[float, float, int, int]:
    order = np.argsort(-margin, kind="stable")
    sorted_, yes = margin[order], tagged[order]
    right, n = np.cumsum(yes).astype(np.float64), np.arange(1, len(yes) + 1, dtype=np.float64)
    # A threshold cannot separate equal margins.
    ends = np.append(sorted_[1:] != sorted_[:-1], True)
    keeps = np.flatnonzero(ends & (sorted_ >= even) & (wilson_lower(right, n) >= precision))
    doubt = _doubt(sorted_[::-1], yes[::-1], precision)
    if not len(keeps):
        return np.inf, doubt, 0, 0
    last = int(keeps[-1])
    return float(sorted_[last]), doubt, last + 1, int(right[last])


def _doubt(rising: Doubles, yes: Bools, precision: float) -> float:
    """Return the margin up to which a tag is doubted."""
    n_tagged = int(yes.sum())
    if n_tagged < _LEAST_TAGGED:
        return -np.inf
    with_it, n = np.cumsum(yes), np.arange(1, len(yes) + 1, dtype=np.float64)
    first = np.append(rising[1:] != rising[:-1], True)
    few = with_it <= _OUTLIERS * n_tagged
    rarely = wilson_lower(n - with_it, n) >= precision
    fit = np.flatnonzero(first & few & rarely & (rising < 0))
    return float(rising[fit[-1]]) if len(fit) else -np.inf
