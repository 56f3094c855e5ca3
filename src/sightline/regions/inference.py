"""The best tags for the regions of a picture, exactly: inference of the latent region-tag model.

Wang and Mori, "A discriminative latent model of image region and object tag correspondence", NIPS
2010. With a_ij the value of region i for tag j and b_j the gain of having tag j (eq. 10),

    max  sum_ij a_ij z_ij + sum_j b_j y_j     z, y in {0, 1},  sum_j z_ij <= 1,  max_i z_ij = y_j

(eq. 12): a region belongs to one tag at most, and a tag holds a region or is absent. With y given
(eq. 19) this is an assignment of tags to regions; so it is where no b is below 0. Otherwise it is
as hard as set cover, but small, and is solved by branch and bound.

Departure: the paper relaxes to a linear programme and rounds, which may lose tags or count a region
twice; that is `programme.by_relaxation`. Here every solution is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline._typing import Bools, Doubles, Ints
from sightline.errors import DataError

NOBODY = -1
# Far more than any picture of real data took; beyond it HiGHS solves the problem.
MOST_NODES = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Tags of one picture, and where they are.

    Attributes
    ----------
    owner : ndarray of int64
        The tag of each region, or -1.
    value : float
        Of the objective.
    """

    owner: Ints
    value: float

    def tags(self, n_tags: int) -> Bools:
        """Return which of `n_tags` tags the picture has."""
        present = np.zeros(n_tags, np.bool_)
        present[self.owner[self.owner != NOBODY]] = True
        return present


def place_tags(a: Doubles, tags: Bools) -> Placed:
    """Return where given tags lie: each in one region at least, each region in one tag at most.

    Parameters
    ----------
    a : ndarray of shape (regions, tags)
        The value of a region for a tag.
    tags : ndarray of bool
        Which tags the picture has; no more of them than regions.

    Examples
    --------
    >>> a = np.array([[2.0, 1.0], [3.0, -1.0], [-1.0, -1.0]])
    >>> place_tags(a, np.array([True, True])).owner.tolist()
    [1, 0, -1]
    """
    from sightline.regions._inference_fast import place

    a = checked(a)
    if len(tags) != a.shape[1]:
        raise DataError(f"There are {a.shape[1]} tags. Got {len(tags)} to place.")
    owner = np.empty(len(a), np.int64)
    value = place(np.ascontiguousarray(a.T), np.flatnonzero(tags), owner)
    if not np.isfinite(value):
        raise DataError(
            f"{int(np.sum(tags))} tags cannot lie in {len(a)} regions. Cut the picture finer."
        )
    return Placed(owner, float(value))


def choose_tags(a: Doubles, b: Doubles) -> Placed:
    """Return the best tags of a picture and where they lie.

    Parameters
    ----------
    a : ndarray of shape (regions, tags)
        The value of a region for a tag.
    b : ndarray of shape (tags,)
        The gain of having a tag.

    Examples
    --------
    >>> a = np.array([[1.0, -9.0, 1.0], [1.0, 1.0, -9.0], [-9.0, 1.0, 1.0]])
    >>> choose_tags(a, np.array([-1.0, -1.0, -1.0])).value  # the linear programme gives 1.5
    1.0
    """
    from sightline.regions._inference_fast import best_tags

    a, b = checked(a), np.ascontiguousarray(b, np.float64)
    if b.shape != (a.shape[1],) or not np.isfinite(b).all():
        raise DataError(f"There must be a finite gain for each of {a.shape[1]} tags. Got {b}.")
    if np.all(b >= 0):
        return _by_assignment(a, b)
    owner = np.empty(len(a), np.int64)
    value, nodes = best_tags(
        np.ascontiguousarray(a.T), b, -1.0, MOST_NODES, owner, np.zeros(len(a))
    )
    if nodes > MOST_NODES:
        from sightline.regions.programme import by_integers

        return by_integers(a, b)
    return Placed(owner, float(value))


def augmented(b: Doubles, tags: Bools) -> tuple[Doubles, float]:
    """Return gains, and a constant, that count every wrong tag as one more (eq. 17, 18).

    The best tags by these gains are those that a model should learn to score below the right ones.

    >>> augmented(np.zeros(2), np.array([True, False]))
    (array([-1.,  1.]), 1.0)
    """
    yes = np.asarray(tags, np.bool_)
    return b + np.where(yes, -1.0, 1.0), float(yes.sum())


def checked(a: Doubles) -> Doubles:
    """Return the values of regions for tags as float64; raise DataError unless finite."""
    table = np.ascontiguousarray(a, np.float64)
    if table.ndim != 2 or not len(table):
        raise DataError(f"There must be a row for each region, one at least. Got {table.shape}.")
    if not np.isfinite(table).all():
        raise DataError("Values of regions must be finite. Got NaN or infinity.")
    return table


def _by_assignment(a: Doubles, b: Doubles) -> Placed:
    """Solve where no tag costs anything: each tag may be assigned a region, or none.

    Exact: a tag that holds regions can always be assigned one of them, at a gain of b_j >= 0.
    """
    from scipy.optimize import linear_sum_assignment

    regions, tags = a.shape
    free = np.maximum(a.max(axis=1, initial=0.0), 0.0)
    owner = np.where(free > 0, a.argmax(axis=1) if tags else NOBODY, NOBODY).astype(np.int64)
    gains = np.hstack([a.T + b[:, None] - free, np.zeros((tags, tags))])
    rows, columns = linear_sum_assignment(gains, maximize=True)
    named = columns < regions
    owner[columns[named]] = rows[named]
    return Placed(owner, float(free.sum() + gains[rows, columns].sum()))
