"""Minimise a regularised risk that need not be convex, by cutting planes: the bundle method.

    min over w of  f(w) = strength / 2 |w|² + R(w)

R is known only by its value and one subgradient at any w. Every evaluation gives a plane a.w + b;
the next point is where strength / 2 |w|² + the highest of all planes is least, found by its dual, a
quadratic programme over the simplex. Where R is convex the planes lie below it, and that least
value is a lower bound of f.

Where it is not, planes may cut off better points, and are shifted after Do and Artières, "Large
margin training for hidden Markov models with partially observed states", ICML 2009: at the best
point so far every plane stays below R by the squared distance of its own point, and the gap only
decides when to stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles
from sightline.errors import DataError, ParameterError

Risk = Callable[[Doubles], tuple[float, Doubles]]

# Iterations after which an inactive plane is dropped.
IDLE = 30
_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Minimum:
    """The minimum that was found.

    Attributes
    ----------
    w : ndarray of float64
        The best point.
    value, risk : float
        f and R there.
    gap : float
        Value less the bound; a certificate where R is convex.
    values : list of float
        The best f after each evaluation; never rises.
    gaps : list of float
        The gap after each evaluation.
    """

    w: Doubles
    value: float
    risk: float
    gap: float
    values: list[float]
    gaps: list[float] = field(default_factory=list)


def minimize(
    risk: Risk,
    start: Doubles,
    strength: float,
    convex: bool = False,
    tolerance: float = 1e-3,
    max_iterations: int = 200,
    watch: Callable[[int, float, float, Doubles], None] | None = None,
) -> Minimum:
    """Minimise strength / 2 |w|² + R(w).

    Parameters
    ----------
    risk : callable
        Returns R and one of its subgradients at w.
    start : ndarray of float64
        The first point.
    strength : float
        Of the regulariser, greater than 0.
    convex : bool, default=False
        R is convex, so that planes need no shifts and the gap is a certificate.
    tolerance : float, default=0.001
        Stop when the gap is below this share of the value.
    max_iterations : int, default=200
        The most evaluations.
    watch : callable, optional
        Called with iteration, best value, gap and best point after each evaluation.

    Examples
    --------
    >>> found = minimize(lambda w: (abs(w[0] - 2), np.sign(w - 2)), np.zeros(1), 0.25, convex=True)
    >>> round(float(found.w[0]), 3), round(found.value, 3)
    (2.0, 0.5)
    """
    if not 0 < strength < np.inf:
        raise ParameterError.of("strength", "minimize", "greater than 0", strength)
    if max_iterations < 1:
        raise ParameterError.of("max_iterations", "minimize", "at least 1", max_iterations)
    bundle, w = Bundle(strength, convex), np.array(start, np.float64)
    values: list[float] = []
    gaps: list[float] = []
    gap = np.inf
    for iteration in range(max_iterations):
        bundle.add(w, *risk(w))
        values.append(bundle.value)
        w, bound = bundle.lowest()
        gap = bundle.value - bound
        gaps.append(gap)
        if watch is not None:
            watch(iteration, bundle.value, gap, bundle.best)
        if gap <= tolerance * max(abs(bundle.value), _TINY):
            break
    return Minimum(bundle.best, bundle.value, bundle.risk, gap, values, gaps)


@dataclass(eq=False)
class Bundle:
    """Planes below a risk, and the best point so far.

    Attributes
    ----------
    A, b : ndarray of float64
        The planes, a row each.
    best, value, risk : ndarray of float64 or float
        The best point, f and R there.
    """

    strength: float
    convex: bool = False
    best: Doubles = field(default_factory=lambda: np.zeros(0))
    value: float = np.inf
    risk: float = np.inf
    A: Doubles = field(default_factory=lambda: np.zeros((0, 0)))
    b: Doubles = field(default_factory=lambda: np.zeros(0))
    _shift: Doubles = field(default_factory=lambda: np.zeros(0))
    _share: Doubles = field(default_factory=lambda: np.zeros(0))
    _idle: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    _gram: Doubles = field(default_factory=lambda: np.zeros((0, 0)))

    def add(self, w: Doubles, risk: float, slope: Doubles) -> None:
        """Add the plane of an evaluation at w."""
        risk = float(risk)
        if not (np.isfinite(risk) and np.isfinite(slope).all()):
            raise DataError(f"The risk and its subgradient must be finite. Got a risk of {risk}.")
        value = self.strength / 2 * float(w @ w) + risk
        a, b, shift = np.array(slope, np.float64), risk - float(slope @ w), 0.0
        if not self.convex and np.isfinite(self.value):
            far = self.strength / 2 * float(np.square(w - self.best).sum())
            if value < self.value:
                self._shift += far
                self.b = np.minimum(self.b, risk - self.A @ w - self._shift)
            else:
                a, b, shift = self._shifted(w, a, b, far)
        if value < self.value:
            self.best, self.value, self.risk = w.copy(), value, risk
        self._append(a, b, shift)

    def lowest(self) -> tuple[Doubles, float]:
        """Return where the regulariser and the highest plane are least, and the value there."""
        gram = self._gram / self.strength
        self._share = on_simplex(gram, self.b, self._share)
        self._idle = np.where(self._share > 0, 0, self._idle + 1)
        total = self._share @ self.A
        bound = float(self._share @ self.b) - float(total @ total) / (2 * self.strength)
        active = self._idle <= IDLE
        if not active.all():
            # Active planes stay, so the bound stays.
            self.A, self.b, self._shift = self.A[active], self.b[active], self._shift[active]
            self._share, self._idle = self._share[active], self._idle[active]
            self._gram = self._gram[np.ix_(active, active)]
        return -total / self.strength, bound

    def _shifted(
        self, w: Doubles, a: Doubles, b: float, far: float
    ) -> tuple[Doubles, float, float]:
        """Return the plane of a worse point, shifted so that it does not cut off the best one."""
        here = self.strength / 2 * float(w @ w)
        high = self.risk - float(a @ self.best) - far
        if b <= high:
            return a, b, far
        low = self.value - float(a @ w) - here
        if low <= high:
            return a, low, far
        a = -self.strength * self.best
        return a, self.value - here - float(a @ w), far

    def _append(self, a: Doubles, b: float, shift: float) -> None:
        n = len(self.b)
        self.A = np.vstack([self.A.reshape(n, len(a)), a])
        self.b, self._shift = np.append(self.b, b), np.append(self._shift, shift)
        self._share = np.append(self._share, 0.0 if n else 1.0)
        self._idle = np.append(self._idle, 0)
        gram = np.empty((n + 1, n + 1))
        gram[:n, :n] = self._gram
        gram[n] = gram[:, n] = self.A @ a
        self._gram = gram


def on_simplex(G: Doubles, b: Doubles, start: Doubles) -> Doubles:
    """Return the shares, not negative and of sum 1, for which 1/2 m.G m - b.m is least.

    By active sets, after Wolfe, "Finding the nearest point in a polytope", 1976: solve for the
    shares above 0; drop those that fall below 0 on the way; add the one of lowest slope.

    Parameters
    ----------
    G : ndarray of float64
        Positive semidefinite.
    start : ndarray of float64
        Shares to begin with.

    Examples
    --------
    >>> on_simplex(np.eye(2), np.array([0.5, 0.0]), np.array([0.0, 1.0])).round(6).tolist()
    [0.75, 0.25]
    """
    shares = np.array(start, np.float64)
    support = shares > 0
    near = 1e-10 * (1.0 + float(np.abs(b).max()) + float(G.diagonal().max()))
    for _ in range(20 * len(b) + 50):
        at = np.flatnonzero(support)
        target = _on_plane(G[np.ix_(at, at)], b[at])
        if target.min() < 0:
            falling = target < 0
            steps = shares[at[falling]] / (shares[at[falling]] - target[falling])
            step = min(1.0, float(steps.min()))
            shares[at] += step * (target - shares[at])
            gone = at[falling][steps <= step]
            shares[gone], support[gone] = 0.0, False
            shares = np.maximum(shares, 0.0)
            continue
        shares[at] = target
        slopes = G @ shares - b
        lowest = int(slopes.argmin())
        if slopes[lowest] >= float(slopes @ shares) - near or support[lowest]:
            break
        support[lowest] = True
    weights: Doubles = shares / shares.sum()
    return weights


def _on_plane(G: Doubles, b: Doubles) -> Doubles:
    """Return shares of sum 1, of any sign, for which 1/2 m.G m - b.m is least."""
    n = len(b)
    system = np.ones((n + 1, n + 1))
    # Two parallel planes would make it singular.
    system[:n, :n] = G + np.eye(n) * (_TINY * (1.0 + float(np.trace(G))))
    system[n, n] = 0.0
    solved: Doubles = np.linalg.solve(system, np.append(b, 1.0))[:n]
    return solved
