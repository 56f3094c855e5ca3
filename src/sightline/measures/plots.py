"""Plots of measures, as PNG files. They need the extra `plots`."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sightline.errors import MissingExtra, UsageError
from sightline.measures.reliability import Reliability

_INK, _GREY = "#20639b", "#8a8a8a"
_TITLE = 85  # letters of a line
_FEW_POINTS = 12  # more of them make a line of marks
_COLORS = 10  # until they begin again
_FEW_LINES = 3  # more of them leave no room for a legend between them


def check_plot_file(file: str | Path) -> Path:
    """Raise UsageError for a plot file that cannot be written, before any long computation."""
    path = Path(file)
    if path.suffix.lower() != ".png":
        raise UsageError(f"A plot is a PNG file. Name it so, not {path.name!r}.")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {path.absolute().parent} to write {path.name} to.")
    _figure()
    return path


def draw_learning_curve(
    file: Path, points: Sequence[tuple[int, float]], untrained: float, title: str
) -> None:
    """Draw mean AvgP against the number of training pictures, over the untrained order."""
    figure, axes = _figure()
    _learning_curve(axes, points, untrained)
    _finish(figure, axes, file, title)


def draw_evaluation(
    file: Path,
    points: Sequence[tuple[int, float]],
    untrained: float,
    probabilities: Reliability,
    title: str,
) -> None:
    """Draw the reliability of probabilities; left of it the learning curve, where there is one."""
    parts = (bool(points), bool(probabilities.n))
    figure, axes = _figure(max(1, sum(parts)))
    panels = list(axes)
    if points:
        _learning_curve(panels[0], points, untrained)
    if probabilities.n:
        _reliability_curve(panels[-1], probabilities)
    for part in panels:
        _tidy(part)
    figure.suptitle(_wrapped(title), fontsize=9)
    figure.savefig(file)


def _reliability_curve(axes: Any, probabilities: Reliability) -> None:
    """Draw the share of right hits against their mean probability; bars count the hits."""
    bins = probabilities.bins
    most = max(b.n for b in bins)
    # Bars of the counts stand on the axis and reach up to a quarter of it.
    axes.bar(
        [(b.low + b.high) / 2 for b in bins], [0.25 * b.n / most for b in bins], width=0.094,
        color=_GREY, alpha=0.3, label=f"hits (most: {most:,})",
    )  # fmt: skip
    axes.plot([0, 1], [0, 1], color=_GREY, linestyle="--", label="perfectly reliable")
    # Two standard errors of the share, by Wilson's interval, which stays between 0 and 1.
    low, high = zip(*(_wilson(b.right, b.n) for b in bins), strict=True)
    right = [b.right for b in bins]
    errors = [
        [max(0.0, y - a) for y, a in zip(right, low, strict=True)],
        [max(0.0, b - y) for y, b in zip(right, high, strict=True)],
    ]
    label = f"hits of one word (calibration error {probabilities.ece:.3f})"
    axes.errorbar(
        [b.mean for b in bins], right, yerr=errors, marker="o", color=_INK, capsize=2, label=label
    )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("probability shown")
    axes.set_ylabel("share that was right")


def _wilson(share: float, n: int) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a share.

    >>> [round(end, 3) for end in _wilson(0.5, 100)]
    [0.404, 0.596]
    """
    z = 1.96
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return centre - half, centre + half


def _learning_curve(axes: Any, points: Sequence[tuple[int, float]], untrained: float) -> None:
    n = [p for p, _ in points]
    axes.plot(n, [a for _, a in points], marker="o", color=_INK, label="learned ranker")
    axes.axhline(untrained, color=_GREY, linestyle="--", label="untrained order")
    for pictures, avgp in points:
        axes.annotate(
            f"{avgp:.3f}", (pictures, avgp), textcoords="offset points", xytext=(0, 7), ha="center"
        )
    axes.set_ylim(0, max([a for _, a in points] + [untrained]) * 1.2)
    axes.set_xlabel("tagged training pictures")
    axes.set_ylabel("mean AvgP on held-out pictures")


def draw_precision_recall(
    file: Path,
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    title: str,
    top: float = 1.0,
) -> None:
    """Draw precision against recall, a line for each method: name to (recall, precision).

    Where no precision is above `top`, the axis ends soon after it.
    """
    figure, axes = _figure()
    for name, (recall, precision) in curves.items():
        axes.plot(recall, precision, label=name)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, min(1.0, 1.1 * top))
    axes.set_xlabel("recall")
    axes.set_ylabel("precision")
    _finish(figure, axes, file, title, beside=len(curves) > _FEW_LINES)


def draw_lines(
    file: Path,
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    title: str,
    labels: tuple[str, str],
    logarithmic: tuple[bool, bool] = (False, False),
) -> None:
    """Draw a line for each name, of (across, up), under the names of both axes."""
    figure, axes = _figure()
    for i, (name, (across, up)) in enumerate(lines.items()):
        mark = "o" if len(across) < _FEW_POINTS else None
        axes.plot(across, up, label=name, marker=mark, linestyle="--" if i >= _COLORS else "-")
    for scale, wanted in zip((axes.set_xscale, axes.set_yscale), logarithmic, strict=True):
        if wanted:
            scale("log")
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    _finish(figure, axes, file, title, beside=len(lines) > _FEW_LINES)


def _figure(panels: int | None = None) -> tuple[Any, Any]:
    """Return a figure and its axes, or a row of panels."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as e:
        raise MissingExtra.of("A plot", "plots") from e
    figure = Figure(figsize=(6.4 * (panels or 1), 4.2), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    if panels is None:
        return figure, figure.add_subplot()
    return figure, figure.subplots(1, panels, squeeze=False)[0]


def _finish(figure: Any, axes: Any, file: Path, title: str, beside: bool = False) -> None:
    axes.set_title(_wrapped(title), fontsize=9)
    _tidy(axes, beside)
    figure.savefig(file)


def _wrapped(title: str) -> str:
    return "\n".join(part for line in title.split("\n") for part in textwrap.wrap(line, _TITLE))


def _tidy(axes: Any, beside: bool = False) -> None:
    axes.grid(alpha=0.3)
    if beside:
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
