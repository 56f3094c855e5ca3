"""Curves: precision and average precision by round, as the paper draws them, and the sweep of C."""

from __future__ import annotations

from pathlib import Path

from sightline.measures.plots import draw_lines
from sightline_experiments.feedback.results import FeatureResult, FeedbackResults, mean

_DRAWN = (
    ("precision", "P@20", "P@20, judged pictures among them"),
    ("average", "AP@T", "AP@T, judged pictures among them"),
    ("unjudged", "unjudged", "P@20 of unjudged pictures, share of possible"),
)


def draw_curves(results: FeedbackResults, out: Path, title: str) -> list[Path]:
    """Write what there is to draw; return the files."""
    files = [file for ran in results.features for file in _rounds(ran, out, title)]
    return files + _sweep(results, out, title)


def _rounds(ran: FeatureResult, out: Path, title: str) -> list[Path]:
    files = []
    network = ", from a network trained on ImageNet" if ran.features == "deep" else ""
    for attribute, name, said in _DRAWN:
        lines = {}
        for method, track in ran.tracks.items():
            values = [mean(row) for row in getattr(track, attribute)]
            lines[method] = ([float(r) for r in range(len(values))], values)
        if not lines:
            continue
        file = out / f"{ran.features}-{name.replace('@', '').lower()}.png"
        text = f"{title}, {ran.features}{network}:\n{said} (paper: figure 1)"
        draw_lines(file, lines, text, ("rounds of feedback", name))
        files.append(file)
    return files


def _sweep(results: FeedbackResults, out: Path, title: str) -> list[Path]:
    lines = {
        ran.features: (list(ran.sweep), [mean(t.average[-1]) for t in ran.sweep.values()])
        for ran in results.features
        if ran.sweep
    }
    if not lines:
        return []
    file = out / "sweep.png"
    text = f"{title}: AP@T of linear PA after the last round, by C"
    draw_lines(file, lines, text, ("C", "AP@T"), (True, False))
    return [file]
