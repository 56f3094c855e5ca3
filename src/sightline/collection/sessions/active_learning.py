"""Active learning: which pictures to judge next.

Uncertainty sampling with diversity. The candidates are the unjudged pictures whose scores are
closest to the decision boundary. They are chosen greedily: each time the one with the smallest sum
of its distance to the boundary and its similarity to the pictures already chosen.
"""

from __future__ import annotations

import numpy as np

from sightline._typing import Doubles, Floats, Ints
from sightline.collection.sessions.model import SessionContext

# Candidates per requested picture, and the least number of candidates.
_EACH = 10
_LEAST = 200


def propose(
    context: SessionContext, ids: Ints, scores: Doubles, judged: dict[int, bool], n: int
) -> Ints:
    """Return the ids of n unjudged pictures to judge next, the most informative first.

    Without a decision boundary the candidates are the best of the ranking.
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


def _edge(ids: Ints, scores: Doubles, judged: dict[int, bool]) -> float | None:
    """Return the midpoint of the mean scores of both classes; None if a class is empty."""
    means = []
    for kind in (True, False):
        of = np.array([p for p, fits in judged.items() if fits is kind], np.int64)
        class_scores = scores[np.isin(ids, of)]
        if not len(class_scores):
            return None
        means.append(float(class_scores.mean()))
    return sum(means) / 2


def _apart(rows: Floats, distance: Doubles, n: int) -> Ints:
    """Choose n rows greedily, close to the boundary and dissimilar; return their indices.

    >>> rows = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    >>> _apart(rows, np.array([0.0, 0.1, 0.5]), 2).tolist()
    [0, 2]
    """
    widest = float(distance.max(initial=0.0))
    cost = distance / widest if widest > 0 else np.zeros(len(distance))
    similarity = np.zeros(len(rows))
    taken: list[int] = []
    free = np.ones(len(rows), bool)
    for _ in range(min(n, len(rows))):
        at = int(np.argmin(np.where(free, cost + similarity, np.inf)))
        taken.append(at)
        free[at] = False
        similarity = np.maximum(similarity, np.asarray(rows @ rows[at], np.float64))
    return np.array(taken, np.int64)
