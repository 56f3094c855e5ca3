"""What a run shows: tables as lines of text, and curves by round as the paper draws them.

Paper B prints no table, so its statements stand beside our figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sightline.measures.plots import draw_lines
from sightline_experiments.feedback import paper
from sightline_experiments.feedback.results import (
    FeatureResult,
    FeedbackResults,
    compare,
    compared,
    mean,
)
from sightline_experiments.report import notes, paired_test

_NAME = 20


def lines(results: FeedbackResults) -> Iterator[str]:
    """Yield every table."""
    for ran in results.features:
        network = " (a network trained on ImageNet)" if ran.features == "deep" else ""
        yield ""
        yield f"{ran.features}{network}: query left out; AP@T and P@20 by round"
        yield from _curves(ran)
        yield from _wilcoxon(ran)
        yield from _claims(ran)
        yield from _sweep(ran)
        yield from _noisy(ran)
    yield from notes(results.notes)


def _curves(ran: FeatureResult) -> Iterator[str]:
    last = max((len(t.average) - 1 for t in ran.tracks.values()), default=0)
    rounds = sorted({0, min(1, last), min(4, last), last})
    heads = [f"{m} {r}" for m in ("AP@T", "P@20") for r in rounds]
    more = ("unjudged", "paper's AP@T", "harmed", "ms a round")
    yield " " * _NAME + "".join(f"{h:>9}" for h in heads) + "".join(f"{h:>14}" for h in more)
    for name, t in ran.tracks.items():
        cells = [mean(table[r]) for table in (t.average, t.precision) for r in rounds]
        text = f"{name:<{_NAME}}" + "".join(f"{v:>9.3f}" for v in cells)
        text += f"{mean(t.unjudged[-1]):>14.3f}{mean(t.paper_average[-1]):>14.3f}"
        yield text + f"{t.harmed():>14.2%}{1000 * t.seconds:>14.2f}"
    for name, t in ran.tracks.items():
        if not np.isnan(t.blended).any():
            yield f"{name}: mean share of the untouched ranking in the end {t.blended.mean():.2f}"


def _wilcoxon(ran: FeatureResult) -> Iterator[str]:
    pairs = compared(ran)
    if pairs:
        yield "Wilcoxon on AP@T after the last round, two-sided:"
    for a, b in pairs:
        yield f"  {a} against {b:<{_NAME}}{paired_test(compare(ran, a, b))}"


def _claims(ran: FeatureResult) -> Iterator[str]:
    claims = list(paper.claims(ran.features, ran.tracks))
    if claims:
        yield "The paper's statements (zero start):"
    for text, holds in claims:
        yield f"  {'yes' if holds else 'no ':<4}{text}"


def _sweep(ran: FeatureResult) -> Iterator[str]:
    if ran.sweep:
        yield "PA by C, after the last round (the paper: best with C = 1)"
        yield f"{'C':<{_NAME}}" + "".join(f"{C:>9g}" for C in ran.sweep)
        for measure in ("average", "precision"):
            cells = (mean(getattr(t, measure)[-1]) for t in ran.sweep.values())
            name = "AP@T" if measure == "average" else "P@20"
            yield f"{name:<{_NAME}}" + "".join(f"{v:>9.3f}" for v in cells)


def _noisy(ran: FeatureResult) -> Iterator[str]:
    if ran.noisy is not None:
        yield (
            f"With flipped judgements AP@T ends at {mean(ran.noisy.average[-1]):.3f}: "
            f"{ran.kept():.1%} of the clean gain is kept, harmed {ran.noisy.harmed():.2%}."
        )


_DRAWN = (
    ("precision", "P@20", "P@20, judged pictures among them"),
    ("average", "AP@T", "AP@T, judged pictures among them"),
    ("unjudged", "unjudged", "P@20 of unjudged pictures, share of possible"),
)


def draw_curves(results: FeedbackResults, out: Path, title: str) -> list[Path]:
    """Write what there is to draw; return the files."""
    files = [file for ran in results.features for file in _draw_rounds(ran, out, title)]
    return files + _draw_sweep(results, out, title)


def _draw_rounds(ran: FeatureResult, out: Path, title: str) -> list[Path]:
    files = []
    network = ", from a network trained on ImageNet" if ran.features == "deep" else ""
    for attribute, name, caption in _DRAWN:
        lines = {}
        for method, track in ran.tracks.items():
            values = [mean(row) for row in getattr(track, attribute)]
            lines[method] = ([float(r) for r in range(len(values))], values)
        if not lines:
            continue
        file = out / f"{ran.features}-{name.replace('@', '').lower()}.png"
        text = f"{title}, {ran.features}{network}:\n{caption} (paper: figure 1)"
        draw_lines(file, lines, text, ("rounds of feedback", name))
        files.append(file)
    return files


def _draw_sweep(results: FeedbackResults, out: Path, title: str) -> list[Path]:
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
