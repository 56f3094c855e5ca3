"""mAP of test queries among up to a million distractors.

The paper adds a million Flickr pictures. Here distractors are synthetic: descriptors of random
training pictures, each number times 1 + N(0, .1^2). A distractor made from a picture of the query's
own class would be relevant, and does not count for that query. Its context is that of the picture
it is made from. Distractors are generated and scored in blocks; only the number of relevant
pictures that each precedes is kept, so memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats, Ints
from sightline.contracts import Progress
from sightline_experiments.online.protocol import Task, Views

NOISE = 0.1
_BLOCK = 4096


def distracted(
    weights: Mapping[str, Doubles],
    task: Task,
    queries: Ints,
    sizes: Sequence[int],
    progress: Progress,
    seed: int = 0,
) -> dict[str, list[tuple[int, float]]]:
    """Return (distractors, mAP) for each method, beginning without distractors.

    Parameters
    ----------
    weights : weights of the components of phi, by method.
    queries : pictures that rank all others and the distractors.
    sizes : numbers of distractors, ascending.
    """
    W = np.stack(list(weights.values()), axis=1).astype(np.float32)
    lists = task.lists(queries)
    ahead = [_Ahead(lists.rows[a:b] @ W, lists.relevance[a:b] > 0)
             for a, b in zip(lists.start[:-1], lists.start[1:], strict=True)]  # fmt: skip
    del lists
    points: dict[str, list[tuple[int, float]]] = {name: [] for name in weights}
    random = np.random.default_rng(seed)
    query_views = tuple(v[queries] for v in task.views)
    n = 0
    _report(points, 0, ahead)
    progress.start("distractors", max(sizes, default=0))
    for size in sizes:
        while n < size:
            base = random.choice(task.fold.train, min(_BLOCK, size - n))
            perturbed = tuple(_perturbed(v[base], random) for v in task.views)
            scores = _scores(task, query_views, perturbed, base, W)
            for query, of_query, counts in zip(queries.tolist(), scores, ahead, strict=True):
                counts.add(of_query[task.labels[base] != task.labels[query]])
            n += len(base)
            progress.advance(len(base))
        _report(points, size, ahead)
    progress.finish()
    return points


class _Ahead:
    """The number of irrelevant pictures ahead of each relevant one, by method."""

    def __init__(self, scores: Floats, fits: NDArray[np.bool_]) -> None:
        # Descending: a picture ahead of one relevant picture is ahead of all after it.
        self._relevant = -np.sort(-scores[fits], axis=0)
        self._ahead = np.zeros(self._relevant.shape, dtype=np.int64)
        self.add(scores[~fits])

    def add(self, scores: Floats) -> None:
        """Count more irrelevant pictures; one with an equal score comes after."""
        for m in range(scores.shape[1]):
            # A picture is ahead of all relevant ones whose score is below its own.
            first = np.searchsorted(-self._relevant[:, m], -scores[:, m], side="right")
            counts = np.bincount(first, minlength=len(self._relevant) + 1)[:-1]
            self._ahead[:, m] += np.cumsum(counts)

    def avgp(self) -> Doubles:
        """Return the AvgP by each method."""
        rank = np.arange(1, len(self._relevant) + 1)[:, None]
        return np.asarray((rank / (rank + self._ahead)).mean(axis=0))


def _scores(task: Task, query_views: Views, pictures: Views, base: Ints, W: Floats) -> Floats:
    """Return the scores of each method, (queries, pictures, methods)."""
    out = np.empty((len(query_views[0]), len(pictures[0]), W.shape[1]), dtype=np.float32)
    for rows, columns, block in task.phi.blocks(query_views, pictures):
        if task.usual is not None:
            block = task.usual(block, base[columns])
        out[rows, columns] = block @ W
    return out


def _perturbed(rows: Floats, random: np.random.Generator) -> Floats:
    noise = random.standard_normal(rows.shape, dtype=np.float32)
    noise *= NOISE
    noise += 1.0
    noise *= rows
    return noise


def _report(points: dict[str, list[tuple[int, float]]], n: int, ahead: Sequence[_Ahead]) -> None:
    means = np.mean([a.avgp() for a in ahead], axis=0)
    for name, value in zip(points, means.tolist(), strict=True):
        points[name].append((n, value))
