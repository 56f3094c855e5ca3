"""Curves: time against triplets, mAP among distractors, and queries that come one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sightline.measures.plots import draw_lines
from sightline_experiments.online.results import Extras, OnlineResults

# A tick of the clock; less cannot be drawn on a logarithmic axis.
_LEAST_SECONDS = 1e-4


def draw_curves(results: OnlineResults, out: Path) -> list[Path]:
    """Write what there is to draw; return the files."""
    files: list[Path] = []
    for extras in results.extras:
        files += _times(extras, out) + _distracted(extras, out) + _simulated(extras, out)
    return files


def _name(extras: Extras) -> str:
    return extras.dataset.lower().replace("-", "")


def _lines(
    points: Mapping[str, Sequence[tuple[int, float]]], least: float = 0.0
) -> dict[str, tuple[list[float], list[float]]]:
    return {
        name: ([float(n) for n, _ in own], [max(value, least) for _, value in own])
        for name, own in points.items()
        if own
    }


def _times(extras: Extras, out: Path) -> list[Path]:
    # In thousands, so that what stands at the axis does not overlap.
    lines = {
        name: ([n / 1000 for n in sizes], seconds)
        for name, (sizes, seconds) in _lines(extras.times, _LEAST_SECONDS).items()
    }
    if not lines:
        return []
    file = out / f"time-{_name(extras)}.png"
    title = f"{extras.dataset}: CPU seconds of learning\n(paper: figure 1)"
    draw_lines(file, lines, title, ("thousand training triplets", "CPU seconds"), (False, True))
    return [file]


def _distracted(extras: Extras, out: Path) -> list[Path]:
    if not extras.distracted:
        return []
    file = out / f"distractors-{_name(extras)}.png"
    # None of them lies at 0, which a logarithmic axis does not have.
    moved = {m: [(max(n, 1000), v) for n, v in p] for m, p in extras.distracted.items()}
    title = (
        f"{extras.dataset}: mAP of {extras.n_distracted} test queries (paper: figure 2)\n"
        "distractors are made of training pictures"
    )
    labels = ("distractors (none: drawn at 1,000)", "mAP")
    draw_lines(file, _lines(moved), title, labels, (True, False))
    return [file]


def _simulated(extras: Extras, out: Path) -> list[Path]:
    if extras.simulated is None:
        return []
    simulated = extras.simulated
    n = np.arange(1, len(next(iter(simulated.ndcg.values()))) + 1).astype(float).tolist()
    gains = {m: (n, simulated.gains(m).tolist()) for m in simulated.seconds}
    spent = {m: (n, np.maximum(s, _LEAST_SECONDS).tolist()) for m, s in simulated.seconds.items()}
    files = [out / f"{what}-{_name(extras)}.png" for what in ("online-gain", "online-time")]
    title = f"{extras.dataset}, queries one by one:\n"
    draw_lines(
        files[0],
        gains,
        title + "mean gain in NDCG@50 over equal weights (paper: fig. 3)",
        ("queries", "gain in NDCG@50"),
    )
    draw_lines(
        files[1],
        spent,
        title + "CPU seconds of learning, in all (paper: fig. 4)",
        ("queries", "CPU seconds"),
        (False, True),
    )
    return files
