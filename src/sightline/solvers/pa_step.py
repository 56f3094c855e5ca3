"""The passive-aggressive step, written once for all learners from pairs of pictures.

For a difference vector x with the required margin rho and the loss l(w) = max(0, rho - w.x), the
new weights are the nearest ones that reduce the loss on this example:

    PA      min 1/2 ||w - w_t||^2  such that l(w) = 0      tau = l / ||x||^2
    PA-I    min 1/2 ||w - w_t||^2 + C l(w)                 tau = min(C, l / ||x||^2)
    PA-II   min 1/2 ||w - w_t||^2 + C l(w)^2               tau = l / (||x||^2 + 1 / (2 C))

and w_{t+1} = w_t + tau x (Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online
passive-aggressive algorithms", 2006). Data with a sign y is the same with y x for x.

Departures: two vectors nearer than ||x||^2 = 1e-12 count as equal and change nothing; nor do
numbers that are not finite. Both are counted.

`step_size` is plain Python that numba compiles too (`_pa_step_fast`), so that the few steps of a
feedback session cost no compiler and the millions of a training run the same formula.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import DataError, ParameterError

Variant = Literal["PA", "PA-I", "PA-II"]
VARIANTS: tuple[Variant, ...] = ("PA", "PA-I", "PA-II")
NEAREST = 1e-12

# Outcomes of an example; also positions in an array of counts.
PASSIVE, UPDATED, ZERO, REJECTED = 0, 1, 2, 3
N_OUTCOMES = 4


def step_length(loss: float, norm2: float, C: float, variant: int) -> float:
    """Return tau of a loss that is not below 0 and a squared length above 0.

    >>> step_length(1.0, 4.0, 0.1, 0), step_length(1.0, 4.0, 0.1, 1), step_length(1.0, 4.0, 0.5, 2)
    (0.25, 0.1, 0.2)
    """
    if variant == 2:
        return loss / (norm2 + 0.5 / C)
    tau = loss / norm2
    return C if variant == 1 and tau > C else tau


def step_size(loss: float, norm2: float, C: float, variant: int) -> tuple[float, int]:
    """Return tau and the outcome of the example; tau is 0 for all outcomes but `UPDATED`.

    Parameters
    ----------
    loss : float
        The loss, rho - w.x; 0 and below is no loss.
    norm2 : float
        The squared length, ||x||^2.
    C : float
        Aggressiveness; for an example of weight a it is a C. Not used by PA.
    variant : int
        Place in `VARIANTS`.

    Examples
    --------
    >>> step_size(1.0, 4.0, 0.1, 0), step_size(1.0, 4.0, 0.1, 1)
    ((0.25, 1), (0.1, 1))
    >>> step_size(1.0, 4.0, 0.5, 2)
    (0.2, 1)
    >>> step_size(-1.0, 4.0, 0.5, 2), step_size(1.0, 0.0, 0.5, 2)
    ((0.0, 0), (0.0, 2))
    """
    if not (math.isfinite(loss) and math.isfinite(norm2)):
        return 0.0, REJECTED
    if loss <= 0.0:
        return 0.0, PASSIVE
    if norm2 <= NEAREST:
        return 0.0, ZERO
    return step_length(loss, norm2, C, variant), UPDATED


def variant_number(variant: str, owner: str) -> int:
    """Return a variant's position in `VARIANTS`; raise ParameterError if it is none."""
    if variant not in VARIANTS:
        raise ParameterError.of("variant", owner, "'PA', 'PA-I' or 'PA-II'", variant)
    return VARIANTS.index(variant)


def check_aggressiveness(C: float, owner: str) -> float:
    """Return C as a number greater than 0; infinity is allowed and makes every variant PA."""
    if isinstance(C, bool) or not isinstance(C, int | float | np.number) or not C > 0:
        raise ParameterError.of("C", owner, "greater than 0", C)
    return float(C)


class PassiveAggressiveWeights:
    """Weights learned by passive-aggressive steps, from one difference vector at a time.

    Parameters
    ----------
    n_features : int
        Length of the vectors.
    C : float, default=1.0
        Aggressiveness, greater than 0.
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        "PA", "PA-I" or "PA-II".

    Attributes
    ----------
    w : ndarray of float64
        The weights.
    t : int
        Number of examples, including those that changed nothing.
    counts : ndarray of int64
        How many of them were passive, updates, too near and rejected.

    Examples
    --------
    >>> learner = PassiveAggressiveWeights(2, C=10.0)
    >>> learner.step([2.0, 0.0])
    0.25
    >>> learner.step([0.0, 1.0], weight=0.05)
    0.5
    >>> learner.w.tolist(), learner.averaged().tolist()
    ([0.5, 0.5], [0.5, 0.25])
    """

    def __init__(self, n_features: int, C: float = 1.0, variant: Variant = "PA-I") -> None:
        self.C = check_aggressiveness(C, "PassiveAggressiveWeights")
        self._variant = variant_number(variant, "PassiveAggressiveWeights")
        self.w: NDArray[np.float64] = np.zeros(n_features)
        self._late: NDArray[np.float64] = np.zeros(n_features)
        self.t = 0
        self.counts: NDArray[np.int64] = np.zeros(N_OUTCOMES, dtype=np.int64)

    def step(self, x: ArrayLike, rho: float = 1.0, weight: float = 1.0) -> float:
        """Update the weights so that w.x is nearer to at least rho; return the step tau."""
        vector = np.asarray(x, dtype=np.float64)
        if vector.shape != self.w.shape:
            raise DataError(f"An example must have {len(self.w)} numbers. Got {vector.shape}.")
        if not weight > 0:
            raise ParameterError.of("weight", "step", "greater than 0", weight)
        # Squares of large numbers overflow, which the step rejects; it is no reason to warn.
        with np.errstate(over="ignore", invalid="ignore"):
            loss, norm2 = rho - float(self.w @ vector), float(vector @ vector)
        tau, outcome = step_size(loss, norm2, weight * self.C, self._variant)
        self.counts[outcome] += 1
        if outcome == UPDATED:
            self.w += tau * vector
            self._late += self.t * tau * vector
        self.t += 1
        return tau

    def averaged(self) -> NDArray[np.float64]:
        """Return the mean of the weights after each example.

        An update at t = 0, 1, … counts in T - t of T terms, so the mean is w - U/T with
        U = sum_t t tau_t x_t; only updates cost anything.
        """
        return self.w - self._late / max(self.t, 1)
