"""What a run shows: the tables of the paper with our figures beside its own, and curves.

Curves are precision against recall, and AvgP against the number of dimensions (figures 2 and 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sightline.measures.plots import draw_lines, draw_precision_recall
from sightline_experiments.lscmr import paper
from sightline_experiments.lscmr.corel import Swept
from sightline_experiments.lscmr.methods import STACKED
from sightline_experiments.lscmr.results import (
    FIXED,
    MEASURES,
    NUS,
    OURS,
    RANDOM,
    DirectionResult,
    LscmrResults,
    compare,
    compared,
    gain,
    paper_figure,
)
from sightline_experiments.report import MISSING, mean_and_std, notes, paired_test, unavailable
from sightline_experiments.tuning import settings_text

_HEADS = {
    FIXED: "Published split. Wikipedia, {}, published split",
    RANDOM: "Table 2. Wikipedia, {}, random splits",
    NUS: "Table 3. NUS-WIDE, {}",
}
# What the paper has of a dataset, by its title.
_PAPERS = {"Wikipedia": ("Table 2", paper.WIKIPEDIA), "NUS-WIDE": ("Table 3", paper.NUS_WIDE)}


def lines(results: LscmrResults) -> Iterator[str]:
    """Yield every table."""
    for protocol, direction in results.groups():
        yield from _table(protocol, direction, results.of(protocol, direction))
    yield from _dimensions(results)
    yield from _corel(results.swept)
    for title in results.unavailable:
        yield from unavailable(title)
        yield from papers_own(title)
    yield ""
    measured = {protocol for protocol, _ in results.groups()}
    if measured != {NUS}:
        yield paper.DIFFERENCE
    if NUS in measured:
        yield paper.NUS_DIFFERENCE
    yield from notes(results.notes)


def papers_own(title: str) -> Iterator[str]:
    """Yield the paper's figures of a dataset alone."""
    head, table = _PAPERS[title]
    yield f"{head}. {title}, figures of the paper"
    names = (f"{direction} {measure}" for direction, measure in table)
    yield f"{'':<15}" + "".join(f"{name:>22}" for name in names)
    for method in next(iter(table.values())):
        cells = (
            f"{values[method]:.4f}" + ("?" if _is_unsure(title, *key, method) else "")
            for key, values in table.items()
        )
        yield f"{method:<15}" + "".join(f"{cell:>22}" for cell in cells)


def _is_unsure(title: str, direction: str, measure: str, method: str) -> bool:
    return title == "Wikipedia" and (direction, measure, method) in paper.UNSURE


def _table(protocol: str, direction: str, ran: dict[str, DirectionResult]) -> Iterator[str]:
    yield ""
    yield f"{_HEADS[protocol].format(direction)}; settings by validation queries"
    beside = "".join(f"{m:>18}{'paper':>8}" for m in MEASURES)
    yield f"{'':<22}{beside}{'seconds':>9}  settings"
    for name, r in ran.items():
        cells = "".join(f"{mean_and_std(r.means(m)):>18}{_theirs(r, m):>8}" for m in MEASURES)
        yield f"{name:<22}{cells}{r.seconds():>9.2f}  {settings_text(r.chosen[0].settings)}"
    if protocol == RANDOM:
        for measure in MEASURES:
            yield from _gain(ran, measure)
    yield from _wilcoxon(ran, protocol)


def _theirs(r: DirectionResult, measure: str) -> str:
    value = paper_figure(r, measure)
    if value is None:
        return MISSING
    title = "NUS-WIDE" if r.protocol == NUS else "Wikipedia"
    unsure = "?" if _is_unsure(title, r.direction, measure, r.method) else ""
    return f"{value:.4f}{unsure}"


def _gain(ran: dict[str, DirectionResult], measure: str) -> Iterator[str]:
    """Yield our gain over baselines that see the same; of LSCMR stacked over the others too."""
    for ours, inputs, inputs_text in (
        ("LSCMR", "", ""),
        (STACKED, " stacked", ""),
        (STACKED, "", ", which sees other inputs"),
    ):
        best = gain(ran, measure, ours, inputs)
        if best is None:
            continue
        baseline, share = best
        word = "above" if share >= 0 else "below"
        verdict = "reached" if share >= paper.GAIN else "not reached"
        yield (
            f"{measure}: {ours} is {abs(share):.1%} {word} the best baseline, {baseline}"
            f"{inputs_text}; the aim of {paper.GAIN:.1%} above is {verdict}"
        )


def _wilcoxon(ran: dict[str, DirectionResult], protocol: str) -> Iterator[str]:
    pairs = compared(ran, protocol)
    if not pairs:
        return
    yield f"{OURS[protocol]} against each, Wilcoxon, two-sided, AvgP of test queries of all splits:"
    for mine, r in pairs:
        yield f"  {r.method:<22}{paired_test(compare(mine, r))}"


def _dimensions(results: LscmrResults) -> Iterator[str]:
    if not results.dimensions:
        return
    yield ""
    yield (
        "Dimensions of the shared space: LSCMR's mean AvgP of the first split's validation queries "
        f"(paper: figure 3, best at {paper.BEST_DIMENSIONS})"
    )
    for direction, points in results.dimensions.items():
        yield f"{direction:<15}" + "".join(f"{k:>6}: {value:.4f}" for k, value in points)


def _corel(swept: Sequence[Swept]) -> Iterator[str]:
    if not swept:
        return
    yield ""
    yield (
        "Corel5K: captions and pictures, LSCMR; mean AvgP of validation queries by dimensions, and "
        "of test queries at the best"
    )
    for s in swept:
        points = "".join(f"{k:>5}: {value:.4f}" for k, value in s.points)
        yield (
            f"{s.features:<15}{'same ' + s.relevance:<10}{s.direction:<14}{points}"
            f"  test at {s.at}: MAP {s.avgp:.4f}, MAP@50 {s.at_50:.4f}"
            f"  (lam {s.lam:g}, {s.n_dropped:,} lists dropped)"
        )
    for s in swept:
        if s.topics:
            yield from _topics(s)


def _topics(s: Swept) -> Iterator[str]:
    yield ""
    yield f"Words at both ends of dimensions: {s.features}, same {s.relevance}, {s.direction}"
    for number, (high, low) in enumerate(s.topics):
        yield f"{number:>4}  {' '.join(high)}  |  {' '.join(low)}"
    for word, near in s.near.items():
        yield f"  near {word}: {' '.join(near)}"


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
    return files + _draw_dimensions(results, out) + _draw_corel(results, out)


def _draw_dimensions(results: LscmrResults, out: Path) -> list[Path]:
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


def _draw_corel(results: LscmrResults, out: Path) -> list[Path]:
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
