"""Curves: precision against recall, and what the number of dimensions does (figures 2 and 3)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sightline.measures.plots import draw_lines, draw_precision_recall
from sightline_experiments.lscmr.results import NUS, LscmrResults

_RECALLS = (np.arange(11) / 10).tolist()


def draw_curves(results: LscmrResults, out: Path) -> list[Path]:
    """Write what there is to draw; return the files."""
    files = []
    for protocol, direction in results.groups():
        ran = results.of(protocol, direction)
        curves = {
            name: (_RECALLS, np.mean([m.precision for m in r.outcomes], axis=0).tolist())
            for name, r in ran.items()
        }
        if not curves:
            continue
        short = direction.replace("->", "-to-")
        file = out / f"precision-recall-{protocol.replace(' ', '-').lower()}-{short}.png"
        which = f"{NUS}, {direction}" if protocol == NUS else f"Wikipedia, {direction}, {protocol}"
        title = f"{which}: test queries (paper: figure 2)"
        draw_precision_recall(file, curves, title, max(max(p) for _, p in curves.values()))
        files.append(file)
    return files + _dimensions(results, out) + _corel(results, out)


def _dimensions(results: LscmrResults, out: Path) -> list[Path]:
    lines = {
        direction: ([float(k) for k, _ in points], [value for _, value in points])
        for direction, points in results.dimensions.items()
    }
    if not lines:
        return []
    file = out / "dimensions.png"
    title = "Wikipedia: LSCMR on the first split's validation queries (paper: figure 3)"
    draw_lines(file, lines, title, ("dimensions of the shared space", "mean AvgP"))
    return [file]


def _corel(results: LscmrResults, out: Path) -> list[Path]:
    """Draw what the number of dimensions does on Corel5K, a figure for each relevance."""
    files = []
    for relevance in dict.fromkeys(s.relevance for s in results.swept):
        lines = {
            f"{s.features}, {s.direction}": (
                [float(k) for k, _ in s.points],
                [value for _, value in s.points],
            )
            for s in results.swept
            if s.relevance == relevance
        }
        file = out / f"dimensions-corel5k-{relevance}.png"
        title = f"Corel5K, same {relevance}: LSCMR on validation queries"
        draw_lines(file, lines, title, ("dimensions of the shared space", "mean AvgP"))
        files.append(file)
    return files
