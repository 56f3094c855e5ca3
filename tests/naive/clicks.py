"""Slow, readable twins of what is learnt from clicks, and people who click in a simulation."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
# A query, the pictures shown from the first place on, and those that were clicked.
List = tuple[int, list[int], None, set[int]]
Pair = tuple[int, int, int, int]
_GRID = [i / 50 for i in range(150)]


def skipped_above(lists: list[List]) -> list[Pair]:
    """(query, clicked, skipped, rank of the clicked one), list by list."""
    return [
        (q, p, other, k + 1)
        for q, pictures, _, clicked in lists
        for k, p in enumerate(pictures)
        if p in clicked
        for other in pictures[:k]
        if other not in clicked
    ]


def over_others(lists: list[List]) -> list[Pair]:
    """The same for all pictures of the list that were not clicked."""
    return [
        (q, p, other, k + 1)
        for q, pictures, _, clicked in lists
        for k, p in enumerate(pictures)
        if p in clicked
        for other in pictures
        if other not in clicked
    ]


def relevance(
    lists: list[List], eta: float, floor: float
) -> dict[tuple[int, int], tuple[float, float, float]]:
    """Worth, its standard error and exposure of each picture shown for each query."""
    found: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for q, pictures, _, clicked in lists:
        for k, p in enumerate(pictures):
            prop = (1 / (k + 1)) ** eta
            weight = 1 / max(prop, floor)
            found[q, p][0] += weight * (p in clicked)
            found[q, p][1] += weight**2 * (p in clicked)
            found[q, p][2] += prop * weight
    return {key: (worth, math.sqrt(squares), e) for key, (worth, squares, e) in found.items()}


def best_eta(lists: list[List]) -> float:
    """The eta by which clicks most likely fell on the ranks they did, by trying.

    Given how many clicks each picture has in all; how well it fits then does not matter.
    """
    shown: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    clicked_at: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for q, pictures, _, clicked in lists:
        for k, p in enumerate(pictures):
            shown[q, p][k + 1] += 1
            clicked_at[q, p][k + 1] += p in clicked
    likelihoods = []
    for eta in _GRID:
        total = 0.0
        for item, ranks in shown.items():
            whole = sum(times * k**-eta for k, times in ranks.items())
            for k, times in ranks.items():
                total += clicked_at[item][k] * math.log(times * k**-eta / whole)
        likelihoods.append(total)
    return _GRID[int(np.argmax(likelihoods))]


def clicks(fits: Vector, order: Vector, noise: float, eta: float, n: int, seed: int) -> list[List]:
    """Lists that people were shown, and what they clicked.

    A list is sorted by `order` and some noise; a picture at rank k is looked at with (1/k)^eta and
    then clicked if it fits, which it does with `fits`.
    """
    rng = np.random.default_rng(seed)
    looked_at = np.arange(1, len(fits) + 1) ** -eta
    out: list[List] = []
    for _ in range(n):
        listed = np.argsort(-(order + noise * rng.normal(size=len(fits))))
        hit = (rng.random(len(fits)) < looked_at) & (rng.random(len(fits)) < fits[listed])
        out.append((0, listed.tolist(), None, set(listed[hit].tolist())))
    return out
