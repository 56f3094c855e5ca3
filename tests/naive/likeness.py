"""Slow, plain twins of what `sightline.collection.similarity` does."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.collection.similarity.model import SimilarityModel
from sightline.store.snapshot import Snapshot
from tests.naive.similarity import similarity


def likeness(alike: SimilarityModel, query: list[Any], picture: list[Any]) -> float:
    """Compare two pictures, given a row of each descriptor, number by number."""
    total, at = 0.0, 0
    for v, (x, y) in enumerate(zip(query, picture, strict=True)):
        for k, kind in enumerate(alike.phi.kinds):
            a, b = x, y
            if kind == "exp-chi2":
                a, b = (alike.phi.ranges[v](row[None])[0] for row in (x, y))
            found = similarity(kind, a.tolist(), b.tolist(), float(alike.phi.scales[v, k]))
            total += alike.w[at] * (found - alike.phi.mean[at]) * alike.phi.factor[at]
            at += 1
    return float(total)


def ranked_by_likeness(
    snapshot: Snapshot, alike: SimilarityModel, positive: list[int], negative: list[int]
) -> list[tuple[int, float]]:
    """Return all other pictures with their scores, best first."""

    def rows(picture: int) -> list[Any]:
        one = np.array([picture], np.int64)
        kept = [snapshot.rows(d, one).rows for d in alike.descriptors]  # type: ignore[union-attr]
        return [scaling(rows)[0] for scaling, rows in zip(alike.scalings, kept, strict=True)]

    def mean(queries: list[int], picture: int) -> float:
        return fmean(likeness(alike, rows(q), rows(picture)) for q in queries) if queries else 0.0

    others = [int(i) for i in snapshot.ids() if i not in positive and i not in negative]
    scored = [(p, mean(positive, p) - mean(negative, p)) for p in others]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


def difference(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Return by how much two signatures of 16 by 16 cells differ."""
    x, y = (v.reshape(16, 16, 3).astype(np.float64) for v in (a, b))
    contrast = 16.0
    for v in (x, y):
        contrast = max(contrast, float(np.sqrt(((v - v.mean(axis=(0, 1))) ** 2).mean())))
    worst = 0.0
    for i in range(0, 16, 2):
        for j in range(0, 16, 2):
            tile = (x - y)[i : i + 2, j : j + 2]
            worst = max(worst, float(np.sqrt((tile**2).mean())) / 4)
    return max(float(np.sqrt(((x - y) ** 2).mean())), worst) / contrast


def groups(cells: NDArray[np.uint8], order: list[int], threshold: float) -> list[set[int]]:
    """Group signatures by looking at every pair, as often as anything changes."""
    free, out = set(order), []
    for first in order:
        if first not in free:
            continue
        group = {first}
        near = {i for i in free if difference(cells[i], cells[first]) <= 2 * threshold}
        grew = True
        while grew:
            more = {
                i
                for i in near - group
                if any(difference(cells[i], cells[j]) <= threshold for j in group)
            }
            grew = bool(more)
            group |= more
        free -= group
        out.append(group)
    return out
