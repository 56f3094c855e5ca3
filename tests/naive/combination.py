"""Slow, plain twins of what `sightline.words.combination` and `calibration` do."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log1p


def calibration_loss(
    a: float,
    b: float,
    scores: Sequence[float],
    tagged: Sequence[bool],
    mean: tuple[float, float],
    variance: tuple[float, float],
) -> float:
    """Return the loss of one word's slope and offset, prior and all."""
    loss = (a - mean[0]) ** 2 / (2 * variance[0]) + (b - mean[1]) ** 2 / (2 * variance[1])
    for g, yes in zip(scores, tagged, strict=True):
        x = a * g + b if yes else -(a * g + b)
        loss += log1p(exp(-x)) if x > -30 else -x
    return loss
