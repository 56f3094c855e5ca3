"""The same inference by general solvers: integers, which is exact, and the paper's relaxation.

Slower than `inference`; the first is its fallback and its reference, the second is the paper's.
Both are solved by HiGHS, through SciPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles
from sightline.errors import SightlineError
from sightline.regions.inference import NOBODY, Placed, checked, place_tags

_HALF = 0.5
_WHOLE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Relaxed:
    """The solution of the linear programme.

    Attributes
    ----------
    z : ndarray of shape (regions, tags)
        From 0 to 1.
    y : ndarray of shape (tags,)
        From 0 to 1.
    bound : float
        Its value, an upper bound of all tags'.
    fractional : bool
        Whether some of it is neither 0 nor 1.
    """

    z: Doubles
    y: Doubles
    bound: float
    fractional: bool


def by_integers(a: Doubles, b: Doubles) -> Placed:
    """Return the best tags and where they lie, by mixed-integer programming.

    >>> a = np.array([[1.0, -9.0, 1.0], [1.0, 1.0, -9.0], [-9.0, 1.0, 1.0]])
    >>> round(by_integers(a, np.full(3, -1.0)).value, 6)
    1.0
    """
    solution = _solve(checked(a), b, integers=True)
    z = solution.z.round().astype(np.bool_)
    owner = np.where(z.any(axis=1), z.argmax(axis=1), NOBODY).astype(np.int64)
    return Placed(owner, _value(checked(a), b, owner))


def relax(a: Doubles, b: Doubles) -> Relaxed:
    """Return the solution of the paper's linear programme (eq. 13).

    >>> a = np.array([[1.0, -9.0, 1.0], [1.0, 1.0, -9.0], [-9.0, 1.0, 1.0]])
    >>> found = relax(a, np.full(3, -1.0))
    >>> round(found.bound, 6), found.fractional
    (1.5, True)
    """
    return _solve(checked(a), b, integers=False)


def by_relaxation(a: Doubles, b: Doubles) -> Placed:
    """Return tags as the paper does, by the linear programme, and repair the rounding.

    A region keeps the tag with the largest share of it, if that is a half at least; tags are those
    that hold a region.
    """
    a = checked(a)
    relaxed = relax(a, b)
    at = relaxed.z.argmax(axis=1)
    owner = np.where(relaxed.z[np.arange(len(a)), at] >= _HALF - _WHOLE, at, NOBODY).astype(
        np.int64
    )
    tags = Placed(owner, 0.0).tags(a.shape[1])
    # Placed exactly, tags are never worse than after rounding.
    placed = place_tags(a, tags)
    return Placed(placed.owner, placed.value + float(np.sum(b[tags])))


def _solve(a: Doubles, b: Doubles, integers: bool) -> Relaxed:
    from scipy.optimize import Bounds, LinearConstraint, milp

    regions, tags = a.shape
    solution: Any = milp(
        -np.concatenate([a.ravel(), b]),
        integrality=np.full(a.size + tags, int(integers)),
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(m, ub=u) for m, u in _constraints(regions, tags)],
    )
    if solution.x is None:
        raise SightlineError(f"HiGHS found no tags for {regions} regions: {solution.message}.")
    z, y = solution.x[: a.size].reshape(a.shape), solution.x[a.size :]
    off = np.abs(solution.x - solution.x.round()).max(initial=0.0)
    return Relaxed(z, y, float(-solution.fun), bool(off > _WHOLE))


def _constraints(regions: int, tags: int) -> list[tuple[Any, Doubles]]:
    """Return left sides over (z, y) and upper bounds: (13b), (13c), (13d) of the paper."""
    from scipy.sparse import block_array, eye_array, kron

    one_tag = kron(eye_array(regions), np.ones((1, tags)))
    each, every = eye_array(regions * tags), kron(np.ones((regions, 1)), eye_array(tags))
    held = kron(np.ones((1, regions)), eye_array(tags))
    none = np.zeros((regions, tags))
    return [
        (block_array([[one_tag, none]], format="csr"), np.ones(regions)),
        (block_array([[each, -every]], format="csr"), np.zeros(regions * tags)),
        (block_array([[-held, eye_array(tags)]], format="csr"), np.zeros(tags)),
    ]


def _value(a: Doubles, b: Doubles, owner: NDArray[np.int64]) -> float:
    held = owner != NOBODY
    tags = np.unique(owner[held])
    return float(a[held, owner[held]].sum() + b[tags].sum())
