"""Curves: precision against recall on the test queries, and AvgP against training pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sightline.measures.many import untrained_average_precision
from sightline.measures.plots import draw_learning_curve, draw_precision_recall
from sightline_experiments.pamir.results import PamirResults

_RECALL = [level / 10 for level in range(11)]


def draw_curves(results: PamirResults, out: Path) -> list[Path]:
    """Write both for each set of features; return the files."""
    files = []
    for features in results.features():
        file = out / f"precision-recall-{features}.png"
        curves = {
            name: (_RECALL, np.mean([o.precision for o in r.outcomes], axis=0).tolist())
            for name, r in results.of(features).items()
        }
        n = f"{results.test.queries:,} test queries of Corel5K, {features} features"
        splits = "1 split" if len(results.train) == 1 else f"{len(results.train)} splits"
        title = f"{n}\ninterpolated precision, mean of queries, {splits}"
        top = max(max(precision) for _, precision in curves.values())
        draw_precision_recall(file, curves, title, top=top)
        files.append(file)
    for name, points in results.curve.items():
        if len(points) < 2:
            continue
        method, _, features = name.partition(" (")
        file = out / f"learning-curve-{features.rstrip(')')}.png"
        title = f"{method}, {features.rstrip(')')} features: mean AvgP of the validation queries"
        draw_learning_curve(file, points, _untrained(results), title)
        files.append(file)
    return files


def _untrained(results: PamirResults) -> float:
    """Return about what a random order gives the validation queries of the first split."""
    first = results.validation[0]
    return float(untrained_average_precision(first.relevant, first.pictures))
