"""A logistic curve for each word over the weight of its neighbours, so that rare words count.

Few neighbours of a picture have a rare word, even where it fits. For word t, with x_i the weight
of the neighbours of picture i that have it, and costs c as in `_neighbour_weights`,

    max  sum_i c_i log P(y_i) - c+ / 2 ((a_t / a - 1)^2 + (b_t - b)^2)      P(1) = 1 / (1 + e^-z),
                                                                             z = a_t x + b_t

by Newton steps, each halved until it does not lower the objective. (a, b) is the curve that all
words share.

Departure: the paper has no prior. Without one, a word that a single picture has would reverse
its ranking, since that picture, left out, has no neighbour with the word. Slopes stay above a
twentieth of the shared one for the same reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightline.annotators._neighbour_weights import Curve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline._typing import Doubles
    from sightline.annotators._neighbour_weights import LeaveOneOutNeighbours


_LEAST_SLOPE = 0.05
# The shared curve is found on so many words at most, spread evenly from rare to common.
_SHARED_WORDS = 200
_BLOCK_NUMBERS = 1 << 20


@dataclass(frozen=True, slots=True)
class Prior:
    """A curve, and the strength of regularisation towards it."""

    slope: float
    offset: float
    strength: float

    def penalty(self, a: Doubles, b: Doubles) -> Doubles:
        """Return the penalty of each word's curve."""
        distance = np.square(a / self.slope - 1.0) + np.square(b - self.offset)
        return np.asarray(0.5 * self.strength * distance)


# A weak prior of the shared curve, since costs sum to 2 at most; it keeps the curve finite.
_USUAL = Prior(10.0, 0.0, 1e-3)


def shared_curve(problem: LeaveOneOutNeighbours, pi: Doubles) -> Prior:
    """Return the curve that is best for all words together."""
    counts = np.bincount(problem.words.word, minlength=problem.words.n_words)
    order = np.argsort(counts, kind="stable")
    order = order[counts[order] > 0]
    n = min(_SHARED_WORDS, len(order))
    if not n:
        return _USUAL
    words = order[np.linspace(0, len(order) - 1, n).astype(np.int64)]
    parts = [problem.word_evidence(pi, words[at : at + 1]) for at in range(n)]
    x = np.concatenate([part[0] for part in parts])
    y = np.concatenate([part[1] for part in parts])
    start = np.array([_USUAL.slope]), np.array([_USUAL.offset])
    a, b = _climbed(x, y, problem.cost, _USUAL, *start)
    return Prior(float(a[0]), float(b[0]), float(problem.cost[1]))


def fit_curves(
    problem: LeaveOneOutNeighbours, pi: Doubles, prior: Prior, start: Curve | None = None
) -> Curve:
    """Return a curve for each word, none worse than the one it starts from."""
    n_words = problem.words.n_words
    a = np.full(n_words, prior.slope) if start is None else start.slope.copy()
    b = np.full(n_words, prior.offset) if start is None else start.offset.copy()
    width = max(1, _BLOCK_NUMBERS // max(len(problem.own), 1))
    for at in range(0, n_words, width):
        t = np.arange(at, min(at + width, n_words))
        a[t], b[t] = _climbed(*problem.word_evidence(pi, t), problem.cost, prior, a[t], b[t])
    return Curve(a, b, True)


def _climbed(
    x: Doubles, y: NDArray[np.bool_], cost: Doubles, prior: Prior, a: Doubles, b: Doubles
) -> tuple[Doubles, Doubles]:
    from sightline.annotators._neighbours_fast import climb_curves

    least = _LEAST_SLOPE * prior.slope
    near = np.array([prior.slope, prior.offset, prior.strength, least])
    a, b = a.copy(), b.copy()
    climb_curves(x, y, cost, near, a, b)
    return a, b
