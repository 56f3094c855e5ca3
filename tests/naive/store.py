"""Slow, readable twins of what the store answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from sightline._typing import Doubles, Floats


@dataclass
class Picture:
    """A picture with the words it has, and the score a model gave it for each word."""

    id: int
    words: Collection[int] = ()
    scores: Mapping[int, float] = field(default_factory=dict)


def word_score(
    p: Picture, terms: Iterable[int], weights: Iterable[float], known: Iterable[float]
) -> np.float32:
    """Return the weighted sum over words, word after word, each step rounded to float32."""
    total = None
    for term, weight, if_tagged in zip(terms, weights, known, strict=True):
        score = if_tagged if term in p.words else p.scores[term]
        part = np.float32(weight) * np.float32(score)
        total = part if total is None else np.float32(total + part)
    assert total is not None
    return total


def word_top(
    pictures: Iterable[Picture],
    terms: Collection[int],
    weights: Collection[float],
    known: Collection[float],
    k: int,
    where: Collection[int] | None = None,
    without: Collection[int] = (),
) -> list[tuple[int, float]]:
    """Return ids and scores of the k best pictures that may appear; ties by id, ascending."""
    scored = [
        (p.id, float(word_score(p, terms, weights, known)))
        for p in pictures
        if (where is None or p.id in where) and p.id not in without
    ]
    return sorted(scored, key=lambda item: (-item[1], item[0]))[:k]


def highest_scores(rows: Floats, w: Floats, by: str) -> Doubles:
    """Return the highest score that each row can have, if only its rounded numbers are known."""
    w = w.astype(np.float64)
    unit = np.abs(w).max() / min(2**15 - 1, (2**31 - 1) // (127 * len(w)))
    whole = np.rint(w / unit) * unit if unit else w
    mean = rows.mean(axis=0).astype(np.float64)
    u = mean / np.linalg.norm(mean)
    bounds = []
    for x in rows.astype(np.float64):
        y = x - mean
        step = np.abs(y).max() / 127
        rounded = step * np.rint(y / step)
        e = y - rounded
        along = e @ u
        beside = np.linalg.norm(e - along * u) * np.linalg.norm(w - (w @ u) * u)
        bound = w @ mean + whole @ rounded + along * (w @ u) + beside
        bound += (np.linalg.norm(x) + np.linalg.norm(mean)) * np.linalg.norm(w - whole)
        if by == "cosine":
            bound /= np.linalg.norm(x)
        bounds.append(2 * bound - x @ x if by == "distance" else bound)
    return np.array(bounds)
