"""Test queries among up to a million pictures more.

The paper adds a million Flickr pictures. Here distractors are made: descriptors of training
pictures, taken again and again, each number times 1 + N(0, .1^2), a different one every time. One
made of a picture of the query's own class would be relevant, and does not count for that query.
What is usual for the picture it is made of is taken as usual for the distractor.
Distractors are made and scored block by block; of each only how many relevant pictures it comes
before is kept, so memory does not grow with their number.
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
    """Return (distractors, mAP) for each method, beginning with none.

    Parameters
    ----------
    weights : of each method, one for each component of phi.
    queries : pictures that rank all others and the distractors.
    sizes : numbers of distractors, ascending.
    """
    W = np.stack(list(weights.values()), axis=1).astype(np.float32)
    lists = task.lists(queries)
    ahead = [_Ahead(lists.rows[a:b] @ W, lists.relevance[a:b] > 0)
             for a, b in zip(lists.start[:-1], lists.start[1:], strict=True)]  # fmt: skip
    del lists
    found: dict[str, list[tuple[int, float]]] = {name: [] for name in weights}
    random = np.random.default_rng(seed)
    asked = tuple(v[queries] for v in task.views)
    n = 0
    _report(found, 0, ahead)
    progress.start("distractors", max(sizes, default=0))
    for size in sizes:
        while n < size:
            base = random.choice(task.fold.train, min(_BLOCK, size - n))
            made = tuple(_perturbed(v[base], random) for v in task.views)
            scores = _scores(task, asked, made, base, W)
            for query, of_query, counts in zip(queries.tolist(), scores, ahead, strict=True):
                counts.add(of_query[task.labels[base] != task.labels[query]])
            n += len(base)
            progress.advance(len(base))
        _report(found, size, ahead)
    progress.finish()
    return found


class _Ahead:
    """How many pictures that are not relevant come before each relevant one, by each method."""

    def __init__(self, scores: Floats, fits: NDArray[np.bool_]) -> None:
        # Descending, so that what is ahead of a relevant picture is ahead of those after it.
        self._relevant = -np.sort(-scores[fits], axis=0)
        self._ahead = np.zeros(self._relevant.shape, dtype=np.int64)
        self.add(scores[~fits])

    def add(self, scores: Floats) -> None:
        """Count more pictures that are not relevant; one with an equal score comes after."""
        for m in range(scores.shape[1]):
            # A picture is ahead of all relevant ones whose score is below its own.
            first = np.searchsorted(-self._relevant[:, m], -scores[:, m], side="right")
            counts = np.bincount(first, minlength=len(self._relevant) + 1)[:-1]
            self._ahead[:, m] += np.cumsum(counts)

    def avgp(self) -> Doubles:
        """Return the AvgP by each method."""
        rank = np.arange(1, len(self._relevant) + 1)[:, None]
        return np.asarray((rank / (rank + self._ahead)).mean(axis=0))


def _scores(task: Task, asked: Views, pictures: Views, base: Ints, W: Floats) -> Floats:
    """Return what each method makes of each query and picture, (queries, pictures, methods)."""
    out = np.empty((len(asked[0]), len(pictures[0]), W.shape[1]), dtype=np.float32)
    for rows, columns, block in task.phi.blocks(asked, pictures):
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


def _report(found: dict[str, list[tuple[int, float]]], n: int, ahead: Sequence[_Ahead]) -> None:
    means = np.mean([a.avgp() for a in ahead], axis=0)
    for name, value in zip(found, means.tolist(), strict=True):
        found[name].append((n, value))
