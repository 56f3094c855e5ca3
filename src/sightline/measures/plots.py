"""Plots of measures, as PNG files. They need the extra `plots`."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sightline.errors import MissingExtra, UsageError

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
    _finish(figure, axes, file, title)


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


def _figure() -> tuple[Any, Any]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as e:
        raise MissingExtra.of("A plot", "plots") from e
    figure = Figure(figsize=(6.4, 4.2), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _finish(figure: Any, axes: Any, file: Path, title: str, beside: bool = False) -> None:
    wrapped = [part for line in title.split("\n") for part in textwrap.wrap(line, _TITLE)]
    axes.set_title("\n".join(wrapped), fontsize=9)
    axes.grid(alpha=0.3)
    if beside:
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(file)
