"""Slow, readable twins of what the store answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np


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
