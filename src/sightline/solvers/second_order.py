"""Second-order steps: weights with an estimate of their uncertainty in each direction.

Weights are a Gaussian with mean w and covariance S. Of a difference vector x only its margin
m = w.x and its variance v = x'Sx count. A step finds alpha and beta for

    w <- w + alpha S x        S <- S - beta (S x)(S x)'

AROW, for a difference of margin below 1 (Crammer, Kulesza and Dredze, "Adaptive regularization of
weight vectors", 2009):

    min  KL(N(w, S) || N(w_t, S_t)) + (max(0, 1 - m)^2 + v) / (2 r)
    beta = 1 / (v + r),  alpha = (1 - m) beta

SCW, for one whose order is less than `eta` likely to be right (Wang, Zhao and Hoi, "Exact soft
confidence-weighted learning", 2012), with z = Phi^-1(eta) and l = max(0, z sqrt(v) - m):

    SCW-I   min  KL + C l        SCW-II   min  KL + C l^2

`step_sizes` is plain Python that numba compiles too, as is `pa_step.step_size`, and outcomes of
examples are counted in the same way.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from sightline.errors import ParameterError
from sightline.solvers.pa_step import NEAREST, PASSIVE, REJECTED, UPDATED, ZERO

AROW, SCW_I, SCW_II = 0, 1, 2


def step_sizes(
    margin: float, variance: float, C: float, z: float, rule: int
) -> tuple[float, float, int]:
    """Return alpha, beta and the outcome of the example; both are 0 unless it is `UPDATED`.

    Parameters
    ----------
    margin, variance : float
        w.x and x'Sx.
    C : float
        Aggressiveness; for AROW r, which has the opposite effect.
    z : float
        How many deviations the margin should be above 0; not used by AROW.
    rule : int
        `AROW`, `SCW_I` or `SCW_II`.

    Examples
    --------
    >>> step_sizes(0.5, 1.0, 1.0, 0.0, AROW)
    (0.25, 0.5, 1)
    >>> step_sizes(2.0, 1.0, 1.0, 1.0, SCW_I)
    (0.0, 0.0, 0)
    """
    if not (math.isfinite(margin) and math.isfinite(variance)):
        return 0.0, 0.0, REJECTED
    if rule == 0:
        if margin >= 1.0:
            return 0.0, 0.0, PASSIVE
        if variance <= NEAREST:
            return 0.0, 0.0, ZERO
        beta = 1.0 / (variance + C)
        return (1.0 - margin) * beta, beta, UPDATED
    if variance <= NEAREST:
        return 0.0, 0.0, ZERO
    if z * math.sqrt(variance) <= margin:
        return 0.0, 0.0, PASSIVE
    z2 = z * z
    if rule == 1:
        root = math.sqrt(margin * margin * z2 * z2 / 4.0 + variance * z2 * (1.0 + z2))
        alpha = min(C, (root - margin * (1.0 + z2 / 2.0)) / (variance * (1.0 + z2)))
    else:
        n = variance + 0.5 / C
        inside = z2 * margin * margin * variance * variance
        root = z * math.sqrt(inside + 4.0 * n * variance * (n + variance * z2))
        alpha = (root - margin * (2.0 * n + z2 * variance)) / (2.0 * (n * n + n * variance * z2))
    if alpha <= 0.0:
        return 0.0, 0.0, PASSIVE
    moved = alpha * variance * z
    root_u = (math.sqrt(moved * moved + 4.0 * variance) - moved) / 2.0
    return alpha, alpha * z / (root_u + moved), UPDATED


def deviations(eta: float, owner: str) -> float:
    """Return Phi^-1(eta): the deviations above 0 of a margin with this probability of order.

    >>> round(deviations(0.975, "SCW"), 2)
    1.96
    """
    if isinstance(eta, bool) or not isinstance(eta, int | float) or not 0.5 < eta < 1:
        raise ParameterError.of("eta", owner, "greater than 0.5 and less than 1", eta)
    return NormalDist().inv_cdf(eta)
