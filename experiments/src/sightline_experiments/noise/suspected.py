"""Whether tags that were made wrong are the ones that are suspected."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightline.annotators.wrong_tags import wrong_tag_probabilities

RECALL, PRECISION = 0.5, 0.8
EDGES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
CURVE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class Bin:
    """Tags whose probability of being wrong lies between two edges."""

    low: float
    high: float
    tags: int
    predicted: float
    wrong: float


@dataclass(frozen=True, slots=True)
class Suspicion:
    """How well the probability of being wrong finds the tags that were made wrong.

    Attributes
    ----------
    tags, planted : int
        All tags, and those that were made wrong.
    expected : float
        The sum of all probabilities.
    suspected : int
        Tags with a probability of one half or more.
    curve : tuple of float
        The precision at each recall of `CURVE`; empty if none was made wrong.
    recall : float
        The highest recall at a precision of `PRECISION`.
    bins : tuple of Bin
    """

    tags: int
    planted: int
    expected: float
    suspected: int
    curve: tuple[float, ...]
    recall: float
    bins: tuple[Bin, ...]


def suspicion(left_out: Any, labels: Any, clean: Any) -> Suspicion:
    """Compare probabilities by left-out scores with the clean tags of the same pictures."""
    p = wrong_tag_probabilities(left_out, labels)
    tags = labels.tocoo()
    planted = np.asarray(clean.todense())[tags.row, tags.col] == 0
    order = np.argsort(-p, kind="stable")
    right = np.cumsum(planted[order])
    n = max(int(planted.sum()), 1)
    precision, recall = right / np.arange(1, len(p) + 1), right / n
    curve: tuple[float, ...] = ()
    highest = 0.0
    if planted.any():
        curve = tuple(float(precision[np.searchsorted(recall, r)]) for r in CURVE)
        highest = float(recall[precision >= PRECISION].max(initial=0.0))
    bins = []
    for low, high in itertools.pairwise(EDGES):
        inside = (p >= low) & ((p < high) | (high == EDGES[-1]))
        if inside.any():
            share = float(planted[inside].mean())
            bins.append(Bin(low, high, int(inside.sum()), float(p[inside].mean()), share))
    return Suspicion(
        len(p), int(planted.sum()), float(p.sum()), int((p >= 0.5).sum()), curve, highest,
        tuple(bins),
    )  # fmt: skip
