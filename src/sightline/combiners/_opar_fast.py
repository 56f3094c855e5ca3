"""Compiled: one pass of the first-order online learners over difference vectors.

Differences are taken four at a time. The margins of all four at the weights before them, and the
products of one with another, are summed in one loop; each then takes its step in turn, where adding
tau (x . x') to a margin has the effect of moving the weights. The weights move once for all four.
So there is no branch misprediction for each step, which one by one costs as much as the sums (26 ns
a difference of 36 numbers where 3 in 10 take one; three at a time 15, four at a time 11).

Sums are in single precision and may be taken in any order, so that the processor adds many numbers
at once. Where one of four is zero or not finite they are taken one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sightline._njit_fast import njit
from sightline._typing import Doubles, Floats, Ints
from sightline.solvers._pa_step_fast import step_length, step_size
from sightline.solvers.pa_step import NEAREST, PASSIVE, REJECTED, UPDATED

# Rules: places of the variants in `pa_step.VARIANTS`, and two more.
PA_I, PA_II, OPR, OGDR = 1, 2, 3, 4
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_ZERO, _NEAREST = np.float32(0.0), np.float32(NEAREST)
_FULL: Any = np.float32(1.0)


@njit(cache=True, nogil=True, inline="always")
def length(margin: Any, slope: Any, limit: Any, rule: int) -> Any:
    """Return the step along a difference that is neither 0 nor infinite; 0 for none.

    All numbers are of single precision. OPR moves where w.x <= 0, by x; OGDR where the hinge is
    above 0, by C x; the others by the hinge times `slope`, up to `limit`.
    """
    if rule == OPR:
        return _FULL if margin <= _ZERO else _ZERO
    if rule == OGDR:
        return limit if margin < _FULL else _ZERO
    return min(max(_FULL - margin, _ZERO) * slope, limit)


@njit(cache=True, nogil=True, inline="always")
def slope_of(norm2: Any, rule: int, C: float) -> Any:
    """Return the step of a passive-aggressive rule for a hinge of 1, without its limit."""
    return np.float32(step_length(_FULL, norm2, C if rule == PA_II else np.inf, rule))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def learn(
    w: Floats, late: Doubles, processed: int, X: Floats, rule: int, C: float, counts: Ints,
    totals: Doubles,
) -> None:  # fmt: skip
    """Learn from the rows of X in turn; `late` is empty without averaging.

    `processed` is the number of rows of earlier calls. `totals` gets the sum of hinge losses and
    the number of mistakes.
    """
    updates, mistakes, rows, losses = 0, 0, 0, 0.0
    limit = np.float32(np.inf if rule == PA_II else C)
    # Unsigned positions: with a sign, numba checks of each whether it counts from the end.
    columns, whole = np.uint64(len(w)), np.uint64(len(X) - len(X) % 4)
    for i in range(np.uint64(0), whole, _FOUR):
        wa = wb = wc = wd = aa = bb = cc = dd = _ZERO
        ab = ac = ad = bc = bd = cd = _ZERO
        for k in range(columns):
            a, b, c, d = X[i, k], X[i + _ONE, k], X[i + _TWO, k], X[i + _THREE, k]
            weight = w[k]
            wa += weight * a
            wb += weight * b
            wc += weight * c
            wd += weight * d
            aa += a * a
            bb += b * b
            cc += c * c
            dd += d * d
            ab += a * b
            ac += a * c
            ad += a * d
            bc += b * c
            bd += b * d
            cd += c * d
        # numba compiles isfinite as x - x == 0, which is always true where sums may be reordered.
        near = min(min(aa, bb), min(cc, dd)) > _NEAREST
        if not (near and abs(wa + wb + wc + wd + aa + bb + cc + dd) < np.inf):
            learn_one_by_one(w, late, processed, X, i, i + _FOUR, rule, C, counts, totals)
            continue
        # Slopes need no margin, so they are divided while margins are still summed.
        va, vb, vc, vd = (
            slope_of(aa, rule, C), slope_of(bb, rule, C), slope_of(cc, rule, C),
            slope_of(dd, rule, C),
        )  # fmt: skip
        s = length(wa, va, limit, rule)
        wb += s * ab
        t = length(wb, vb, limit, rule)
        wc += s * ac + t * bc
        u = length(wc, vc, limit, rule)
        wd += s * ad + t * bd + u * cd
        v = length(wd, vd, limit, rule)
        for k in range(columns):
            w[k] += (s * X[i, k] + t * X[i + _ONE, k]) + (u * X[i + _TWO, k] + v * X[i + _THREE, k])
        rows += 4
        losses += float(
            (max(_FULL - wa, _ZERO) + max(_FULL - wb, _ZERO))
            + (max(_FULL - wc, _ZERO) + max(_FULL - wd, _ZERO))
        )
        updates += int(s > _ZERO) + int(t > _ZERO) + int(u > _ZERO) + int(v > _ZERO)
        mistakes += int(wa <= _ZERO) + int(wb <= _ZERO) + int(wc <= _ZERO) + int(wd <= _ZERO)
        if len(late):
            at = np.float64(processed + np.int64(i))
            for k in range(columns):
                late[k] += at * s * X[i, k] + (at + 1) * t * X[i + _ONE, k]
                late[k] += (at + 2) * u * X[i + _TWO, k] + (at + 3) * v * X[i + _THREE, k]
    counts[UPDATED] += updates
    counts[PASSIVE] += rows - updates
    totals[0] += losses
    totals[1] += mistakes
    learn_one_by_one(w, late, processed, X, whole, np.uint64(len(X)), rule, C, counts, totals)


@njit(cache=True, nogil=True)
def learn_one_by_one(
    w: Floats, late: Doubles, processed: int, X: Floats, begin: Any, end: Any, rule: int,
    C: float, counts: Ints, totals: Doubles,
) -> None:  # fmt: skip
    """Learn from some rows of X in turn, as `learn` does."""
    for i in range(begin, end):
        margin = norm2 = 0.0
        for k in range(len(w)):
            margin += np.float64(w[k]) * np.float64(X[i, k])
            norm2 += np.float64(X[i, k]) * np.float64(X[i, k])
        _, outcome = step_size(1.0 - margin, norm2, C, rule if rule <= PA_II else 0)
        if outcome != REJECTED:
            totals[0] += max(1.0 - margin, 0.0)
            if rule == OPR and margin > 0.0:
                outcome = PASSIVE
        counts[outcome] += 1
        if outcome != UPDATED:
            continue
        totals[1] += margin <= 0.0
        slope = slope_of(np.float32(norm2), rule, C) if rule <= PA_II else _FULL
        tau = length(np.float32(margin), slope, np.float32(np.inf if rule == PA_II else C), rule)
        at = np.float64(processed + np.int64(i))
        for k in range(len(w)):
            w[k] += tau * X[i, k]
        for k in range(len(late)):
            late[k] += at * tau * X[i, k]
