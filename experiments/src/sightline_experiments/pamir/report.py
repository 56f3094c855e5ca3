"""What a run shows: the tables of the paper with our figures beside its own, curves and figure 4.

A dash stands where the paper's figure is lost or nothing was measured. A star marks the method that
is better than each other one of the five, by the mean and for more queries, and differs from it at
the 95 % level (Wilcoxon, each query averaged over splits).

Curves are precision against recall on the test queries, and AvgP against training pictures. Figure
4 has the five best pictures of PAMIR and of SVM for two queries, relevant ones in a green frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from sightline.contracts import Compute
from sightline.features.local.blocks import grid
from sightline.measures.many import untrained_average_precision
from sightline.measures.plots import draw_learning_curve, draw_precision_recall
from sightline.measures.significance import p_text, wilcoxon
from sightline_experiments.datasets.corel5k import Corel5K
from sightline_experiments.extraction import decoded
from sightline_experiments.pamir import paper
from sightline_experiments.pamir.evaluation import Shown
from sightline_experiments.pamir.inputs import view_of
from sightline_experiments.pamir.methods import PAPER
from sightline_experiments.pamir.protocol import Statistics
from sightline_experiments.pamir.results import (
    MEASURES,
    SIGNIFICANT,
    PamirResults,
    SplitResult,
    compare,
    compared,
)
from sightline_experiments.pamir.terms import is_terms, terms_class
from sightline_experiments.report import MISSING, fraction, notes
from sightline_experiments.tuning import settings_text


def lines(results: PamirResults) -> Iterator[str]:
    """Yield every table."""
    yield from _table_1(results)
    for features in results.features():
        yield ""
        yield f"== {features}" + (" (a network trained on ImageNet)" if features == "deep" else "")
        ran = results.of(features)
        if features == "classic-strict":
            yield from _table_3(ran)
            yield from _table_4(results, ran)
        yield from _table_5(results, ran)
        yield from _table_6(ran)
        yield from _tables_7_8(ran)
        yield from _table_9(results, ran)
        yield from _table_groups(results, ran, "X", ("easy", "difficult"))
        yield from _table_groups(results, ran, "XI", ("one-word", "multi-word"))
        yield from _table_12(results, ran)
        yield from _wilcoxon(ran)
    yield from notes(results.notes)


def _title(number: str, text: str) -> Iterator[str]:
    yield ""
    yield f"Table {number}. {text}"


def _percent(values: Sequence[float]) -> str:
    mean, spread = 100 * float(np.mean(values)), 100 * float(np.std(values))
    return f"{mean:5.2f}" + (f" ± {spread:4.2f}" if len(values) > 1 else "")


def _table_1(results: PamirResults) -> Iterator[str]:
    yield from _title("I", "Corel5K (mean over splits; paper in brackets)")
    yield f"{'':<24}{'train':>22}{'validation':>16}{'test':>20}"
    parts = (results.train, results.validation, [results.test])

    def row(name: str, of: Callable[[Statistics], float], form: str, *settings_text: str) -> str:
        means = [format(float(np.mean([of(s) for s in part])), form) for part in parts]
        cells = [f"{m} [{p}]" for m, p in zip(means, settings_text, strict=True)]
        return f"{name:<24}{cells[0]:>22}{cells[1]:>16}{cells[2]:>20}"

    yield row("pictures", lambda s: s.pictures, ",.0f", "4,000", "500", "500")
    yield row("queries", lambda s: s.queries, ",.0f", MISSING, MISSING, f"{paper.TEST_QUERIES:,}")
    relevant = str(paper.TRAIN_RELEVANT)
    yield row("relevant per query", lambda s: s.relevant, ".2f", relevant, MISSING, MISSING)
    yield row(
        "words in queries", lambda s: s.vocabulary, ".0f", MISSING, MISSING, str(paper.VOCABULARY)
    )
    yield row("words per query", lambda s: s.words, ".2f", MISSING, MISSING, MISSING)
    yield row("triplets", lambda s: s.triplets, ".3g", f"{paper.TRIPLETS:.3g}", MISSING, MISSING)
    ceiling = f"{100 * results.ceiling:.1f} % [{100 * paper.CEILING_P10:.1f} %]"
    yield f"Best possible P10 on the test queries: {ceiling}"
    groups = []
    for name, sizes in results.sizes.items():
        least, most = min(sizes), max(sizes)
        count = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        theirs = f" [{paper.GROUPS[name]:,}]" if name in paper.GROUPS else ""
        groups.append(f"{name} {count}{theirs}")
    yield f"Test queries: {'; '.join(groups)}"


def _table_3(ran: dict[str, SplitResult]) -> Iterator[str]:
    if "PAMIR" not in ran:
        return
    best: dict[int, tuple[float, str]] = {}
    for trial in ran["PAMIR"].trials:
        view = view_of(trial.settings)
        if trial.split != ran["PAMIR"].trials[0].split or not is_terms(view):
            continue
        blocks = terms_class(view).blocks
        if len(blocks) == 1 and trial.value > best.get(blocks[0], (-1.0, ""))[0]:
            best[blocks[0]] = (trial.value, view)
    yield from _title("III", "Block size for PAMIR, by validation queries of the first split")
    yield f"{'block':>6}{'blocks per picture':>20}{'AvgP':>9}{'paper':>8}   visual terms"
    for block, (avgp, view) in sorted(best.items()):
        n = len(grid(256, 384, block))
        yield f"{block:>6}{n:>20}{100 * avgp:>9.2f}{MISSING:>8}   {view}"


def _table_4(results: PamirResults, ran: dict[str, SplitResult]) -> Iterator[str]:
    if "PAMIR" not in ran:
        return
    yield from _title("IV", "Kernel for PAMIR, by validation queries of the first split")
    yield f"{'kernel':<22}{'AvgP':>8}{'paper':>8}   settings"
    trials = [(k.kernel, k.avgp, settings_text(k.settings)) for k in results.kernels]
    for t in ran["PAMIR"].trials:
        if t.split == ran["PAMIR"].trials[0].split:
            likely = t.settings.get("kernel") == "likelihood"
            kernel = "expected likelihood" if likely else "visterm-linear"
            trials.append((kernel, t.value, settings_text(t.settings)))
    for name in ("expected likelihood", "match", "visterm-linear"):
        best = max((t[1:] for t in trials if t[0] == name), default=None)
        figures = (
            f"{MISSING:>8}{MISSING:>8}" if best is None else f"{100 * best[0]:>8.2f}{MISSING:>8}"
        )
        yield f"{name:<22}{figures}   {'not tried' if best is None else best[1]}"


def _table_5(results: PamirResults, ran: dict[str, SplitResult]) -> Iterator[str]:
    if "PAMIR" not in ran:
        return
    yield from _title("V", "PAMIR's aggressiveness c and steps n, against training triplets")
    yield f"{'split':>6}{'c':>8}{'n':>12}{'triplets':>12}{'paper: c':>12}{'n':>12}{'triplets':>12}"
    for trial, train in zip(ran["PAMIR"].chosen, results.train, strict=True):
        c, n = trial.settings.get("C", 0.0), trial.details.get("n_iter", 0)
        theirs = f"{MISSING:>12}{paper.STEPS:>12.3g}{paper.TRIPLETS:>12.3g}"
        yield f"{trial.split:>6}{c:>8}{n:>12.3g}{train.triplets:>12.3g}{theirs}"


def _table_6(ran: dict[str, SplitResult]) -> Iterator[str]:
    yield from _title("VI", "Settings chosen by validation queries")
    for name, r in ran.items():
        yield f"{name:<16} paper: {paper.SETTINGS.get(name, MISSING)}"
        for trial in r.chosen:
            settings = settings_text({**trial.settings, **trial.details})
            yield f"{'':<16} split {trial.split}: {settings}; AvgP {100 * trial.value:.2f}"


def _tables_7_8(ran: dict[str, SplitResult]) -> Iterator[str]:
    yield from _title(
        "VII and VIII", "CPU seconds to train and index, CPU milliseconds for one query"
    )
    yield f"{'':<16}{'index s':>10}{'paper':>8}{'query ms':>12}{'paper':>8}"
    for name, r in ran.items():
        index = np.mean([t.seconds + o.word_seconds
                         for t, o in zip(r.chosen, r.outcomes, strict=True)])  # fmt: skip
        query = 1000 * np.mean([o.query_seconds for o in r.outcomes])
        theirs = f"{1000 * paper.QUERY_SECONDS:.2f}" if name in PAPER else MISSING
        yield f"{name:<16}{index:>10.2f}{MISSING:>8}{query:>12.3f}{theirs:>8}"


def _star(ran: dict[str, SplitResult], name: str, measure: str, group: str) -> str:
    """Return a star for the best of the five, if it differs from each of the others."""
    five = {n: r for n, r in ran.items() if n in PAPER}
    others = [n for n in five if n != name]
    if name not in five or not others:
        return " "
    mean = {n: np.mean(r.means(measure, group)) for n, r in five.items()}
    if any(mean[n] >= mean[name] for n in others):
        return " "
    tests = [compare(five[name], five[n], measure, group) for n in others]
    # A mean may be higher by a few queries while most of them are ranked worse.
    better = (t.p < SIGNIFICANT and t.helped > t.harmed for t in tests)
    return "*" if all(better) else " "


def _table_9(results: PamirResults, ran: dict[str, SplitResult]) -> Iterator[str]:
    yield from _title("IX", f"All {results.test.queries:,} test queries, in per cent")
    yield f"{'':<16}" + "".join(f"{m:>15}{'paper':>8}" for m in MEASURES)
    for name, r in ran.items():
        cells = []
        for measure in MEASURES:
            percentage = _percent(r.means(measure)) + _star(ran, name, measure, "all")
            cells.append(
                f"{percentage:>15}{fraction(paper.FIGURES.get((name, 'all', measure)), 100, 1):>8}"
            )
        yield f"{name:<16}" + "".join(cells)


def _table_groups(
    results: PamirResults, ran: dict[str, SplitResult], number: str, groups: Sequence[str]
) -> Iterator[str]:
    yield from _title(number, "AvgP, in per cent, by kind of query")
    heads = (f"{g} ({round(float(np.mean(results.sizes[g]))):,})" for g in groups)
    yield f"{'':<16}" + "".join(f"{h:>22}" for h in heads)
    for name, r in ran.items():
        cells = (_percent(r.means("AvgP", g)) + _star(ran, name, "AvgP", g) for g in groups)
        yield f"{name:<16}" + "".join(f"{c:>22}" for c in cells)
    if "PAMIR" in ran and "SVM" in ran:
        gains = []
        for g in groups:
            mine, theirs = (float(np.mean(ran[m].means("AvgP", g))) for m in ("PAMIR", "SVM"))
            gain = f"{100 * (mine / theirs - 1):+.1f} %" if theirs > 0 else MISSING
            gains.append(f"{gain} [{100 * paper.GAINS[g]:+.1f} %]")
        yield f"{'PAMIR over SVM':<16}" + "".join(f"{g:>22}" for g in gains)


def _table_12(results: PamirResults, ran: dict[str, SplitResult]) -> Iterator[str]:
    for group in ("not in train", "not in train or validation"):
        sizes = results.sizes[group]
        count = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
        yield from _title(
            "XII", f"Test queries {group}: {count} [601]; the paper's figures are lost"
        )
        yield f"{'':<16}" + "".join(f"{m:>16}" for m in MEASURES)
        for name, r in ran.items():
            cells = (_percent(r.means(m, group)) + _star(ran, name, m, group) for m in MEASURES)
            yield f"{name:<16}" + "".join(f"{c:>16}" for c in cells)


def _wilcoxon(ran: dict[str, SplitResult]) -> Iterator[str]:
    last = ""
    for ours, r in compared(ran):
        if ours.method != last:
            yield ""
            how = "two-sided, queries averaged over splits; then by split"
            yield f"Wilcoxon, {ours.method} against each: {how}"
        last = ours.method
        for measure in MEASURES:
            test = compare(ours, r, measure)
            splits = zip(ours.values(measure), r.values(measure), strict=True)
            each = ", ".join(p_text(wilcoxon(a, b).p) for a, b in splits)
            sign = "+" if test.difference > 0 else "-"
            yield (
                f"{r.method:<16}{measure:>5}  {sign}{abs(100 * test.difference):5.2f}  "
                f"p {p_text(test.p):<8} ({test.helped:,} better, {test.harmed:,} worse)  {each}"
            )


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


_COMPARED = ("PAMIR", "SVM")
_CELL, _GAP, _LEFT, _HEAD, _FRAME = 192, 10, 76, 34, 5
_GREEN, _INK = "#2a9d4a", "#202020"


def draw_sheets(c: Corel5K, results: PamirResults, compute: Compute, out: Path) -> list[Path]:
    """Write a sheet for each set of features, of the first split; return the files."""
    files = []
    for features in results.features():
        ran = results.of(features)
        tops = {m: ran[m].outcomes[0].top for m in _COMPARED if m in ran}
        queries = list(dict.fromkeys(q for top in tops.values() for q in top))
        if not queries:
            continue
        numbers = sorted({p for top in tops.values() for s in top.values() for p, _ in s.best})
        pictures = dict(zip(numbers, decoded(c, numbers, compute), strict=True))
        rows = [(q, m, top[q]) for q in queries for m, top in tops.items()]
        file = out / f"figure4-{features}.png"
        sheet(rows, pictures).save(file, "PNG")
        files.append(file)
    return files


def sheet(
    rows: Sequence[tuple[str, str, Shown]], pictures: Mapping[int, NDArray[np.uint8]]
) -> Image.Image:
    """Lay out a row for each (query, method, what it found); a new query gets a line of its own."""
    columns = max(len(shown.best) for _, _, shown in rows)
    queries = list(dict.fromkeys(q for q, _, _ in rows))
    cell = _CELL + _GAP
    size = (_LEFT + columns * cell, len(queries) * _HEAD + len(rows) * cell + _GAP)
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    large, small = ImageFont.load_default(18), ImageFont.load_default(15)
    y, before = 0, ""
    for query, method, shown in rows:
        if query != before:
            title = f"{query}  ({shown.relevant} relevant)"
            draw.text((_GAP, y + _HEAD // 2), title, _INK, large, "lm")
            y, before = y + _HEAD, query
        n = sum(fits for _, fits in shown.best)
        draw.text((_GAP, y + _CELL // 2 - 10), method, _INK, small, "lm")
        draw.text((_GAP, y + _CELL // 2 + 10), f"{n} of {len(shown.best)}", _INK, small, "lm")
        for i, (picture, fits) in enumerate(shown.best):
            _place(image, draw, pictures[picture], (_LEFT + i * cell, y), fits)
        y += cell
    return image


def _place(
    image: Image.Image,
    draw: ImageDraw.ImageDraw,
    rgb: NDArray[np.uint8],
    at: tuple[int, int],
    fits: bool,
) -> None:
    """Put a picture into its cell, whole and as large as fits; a relevant one in a green frame."""
    inner = _CELL - 2 * _FRAME
    picture = Image.fromarray(rgb)
    scale = inner / max(picture.size)
    width, height = (max(1, round(side * scale)) for side in picture.size)
    x, y = at[0] + (_CELL - width) // 2, at[1] + (_CELL - height) // 2
    if fits:
        edge = (x - _FRAME, y - _FRAME, x + width + _FRAME - 1, y + height + _FRAME - 1)
        draw.rectangle(edge, fill=_GREEN)
    image.paste(picture.resize((width, height), Image.Resampling.BILINEAR), (x, y))
