"""Which pictures to judge next: those on the edge, and no two alike.

A picture whose score lies between those that fit and those that do not teaches most, and ten of the
same motif teach as much as one. Candidates are the unjudged pictures nearest to the edge; they are
taken one by one, each time the one that is nearest to it and least like those already taken.
"""

from __future__ import annotations

import numpy as np

from sightline.collection.sessions.feature_space import Doubles, Floats, Int
from sightline.collection.sessions.model import SessionContext

# So many candidates for each picture that is asked for, and so many at least.
_EACH = 10
_LEAST = 200


def propose(
    context: SessionContext, ids: Int, scores: Doubles, judged: dict[int, bool], n: int
) -> Int:
    """Return the ids of n unjudged pictures to judge next, the most telling first.

    As long as there is no edge, the best of the ranking are candidates.
    """
    left = ~np.isin(ids, np.array(list(judged), np.int64))
    edge = _edge(ids, scores, judged)
    ids, scores = ids[left], scores[left]
    distance = scores.max(initial=-np.inf) - scores if edge is None else np.abs(scores - edge)
    near = np.lexsort((ids, distance))[: max(_LEAST, _EACH * n)]
    ids, distance = ids[near], distance[near]
    if context.space is None:
        return ids[:n]
    rows = np.zeros((len(ids), context.space.length), np.float32)
    has = context.space.has(ids)
    rows[has] = context.space.rows(ids[has].tolist())
    return ids[_apart(rows, distance, n)]


def _edge(ids: Int, scores: Doubles, judged: dict[int, bool]) -> float | None:
    """Return the score half way between those that fit and the others; None without both."""
    means = []
    for kind in (True, False):
        of = np.array([p for p, fits in judged.items() if fits is kind], np.int64)
        found = scores[np.isin(ids, of)]
        if not len(found):
            return None
        means.append(float(found.mean()))
    return sum(means) / 2


def _apart(rows: Floats, distance: Doubles, n: int) -> Int:
    """Return places of n rows, taken one by one: near to the edge, and unlike those before.

    >>> rows = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    >>> _apart(rows, np.array([0.0, 0.1, 0.5]), 2).tolist()
    [0, 2]
    """
    widest = float(distance.max(initial=0.0))
    cost = distance / widest if widest > 0 else np.zeros(len(distance))
    likest = np.zeros(len(rows))
    taken: list[int] = []
    free = np.ones(len(rows), bool)
    for _ in range(min(n, len(rows))):
        at = int(np.argmin(np.where(free, cost + likest, np.inf)))
        taken.append(at)
        free[at] = False
        likest = np.maximum(likest, np.asarray(rows @ rows[at], np.float64))
    return np.array(taken, np.int64)
