"""The tables of a run as lines, and reliability curves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sightline.measures.plots import draw_lines
from sightline_experiments import report
from sightline_experiments.queries.calibration import reliability
from sightline_experiments.queries.questions import MINUS, PLUS
from sightline_experiments.queries.results import (
    PLAIN,
    AnsweredQuestions,
    Calibrated,
    QueryResults,
    means,
)


def lines(results: QueryResults) -> Iterator[str]:
    """Return everything that was measured as lines of text."""
    for answered in results.answered:
        yield from _questions(answered)
        yield from _signs(answered)
    for calibrated in results.calibrated:
        yield from _calibration(calibrated)
    for title in results.unavailable:
        yield from report.unavailable(title)
    yield from report.notes(results.notes)


def _questions(a: AnsweredQuestions) -> Iterator[str]:
    yield ""
    yield f"{a.name}: {a.tagged:,} tagged pictures, {a.measured:,} measured on; {a.recipe}"
    yield "Beside each figure in brackets: that of the plain question for the same pictures"
    head = "".join(f"{f'{m} {name}':>18}" for m in a.measures for name in ("AvgP", "P10", "hits"))
    yield f"{'':<22}{'n':>5}{head}"
    for kind in a.kinds():
        keep = a.of(kind)
        has_plain = any(q.plain for q in a.questions if q.kind == kind)
        cells = []
        for method in a.measures:
            own, plain = ([v for _, v in means(m.only(keep), kind)][:3] for m in a.measures[method])
            cells += [f"{v:.3f}" + (f" [{p:.3f}]" if has_plain else "")
                      for v, p in zip(own, plain, strict=True)]  # fmt: skip
        yield f"{kind:<22}{int(keep.sum()):>5}" + "".join(f"{c:>18}" for c in cells)


def _signs(a: AnsweredQuestions) -> Iterator[str]:
    for kind in (k for k in a.kinds() if k in (MINUS, PLUS)):
        for method in a.measures:
            signed, plain = (m.only(a.of(kind)) for m in a.measures[method])
            ratio = signed.share() / plain.share()
            ratio_uncut = signed.share_uncut() / plain.share_uncut()
            yield (
                f"{kind}, {method}: the word with the sign is on {signed.share():.3f} of the first "
                f"{signed.shown.mean():.1f} hits, on {plain.share():.3f} of "
                f"{plain.shown.mean():.1f} by the {PLAIN}: {ratio:.2f} times; without the cut-off "
                f"{signed.share_uncut():.3f} and {plain.share_uncut():.3f}: {ratio_uncut:.2f} times"
            )


def _calibration(c: Calibrated) -> Iterator[str]:
    yield ""
    yield f"{c.title}, {c.words_from}: calibration of the first 20 shown hits of each learned word"
    yield f"{'tagged':>8}{'error':>18}{'Brier skill':>18}{'hits':>8}{'words':>7}{'silent':>8}"
    for size, draws in c.sizes.items():
        learned = [h for h in draws if len(h.probability)]
        error, skill = (report.mean_and_std([getattr(h, name) for h in learned], 3)
                        for name in ("error", "skill"))  # fmt: skip
        n, words, silent = (
            round(float(np.mean(values)))
            for values in zip(
                *((len(h.probability), h.words, h.silent) for h in draws), strict=True
            )
        )
        yield f"{size:>8,}{error:>18}{skill:>18}{n:>8,}{words:>7,}{silent:>8,}"
        for why in sorted({h.why for h in draws if h.why}):
            count = sum(h.why == why for h in draws)
            yield f"{'':>8}  nothing learned in {count} of {len(draws)} draws: {why}"


def draw_reliability(results: QueryResults, out: Path) -> list[Path]:
    """Draw the share of right hits against their probability, a line for each size."""
    files = []
    for c in results.calibrated:
        curves = {"perfect": ([0.0, 1.0], [0.0, 1.0])}
        for size, draws in c.sizes.items():
            bins = reliability([h for h in draws if len(h.probability)])
            if bins:
                curves[f"{size:,} tagged"] = [p for p, _, _ in bins], [y for _, y, _ in bins]
        name = c.title.lower().replace("-", "").replace(" ", "")
        file = out / f"reliability-{name}.png"
        title = f"First 20 shown hits of each learned word of {c.title}, by their probability"
        draw_lines(file, curves, title, ("probability", "share of right hits"))
        files.append(file)
    return files
