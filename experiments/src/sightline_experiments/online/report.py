"""What a run shows: the tables of the paper with our figures beside its own, and curves.

A dash stands where the paper has no figure or nothing was measured. Curves are time against
triplets, mAP among distractors, and queries that come one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from sightline.measures.plots import draw_lines
from sightline_experiments.online import paper
from sightline_experiments.online.results import (
    Extras,
    FoldResult,
    OnlineResults,
    best_batch,
    compare,
    compared,
)
from sightline_experiments.report import (
    MISSING,
    fraction,
    mean_and_std,
    notes,
    paired_test,
    unavailable,
)
from sightline_experiments.tuning import settings_text


def lines(results: OnlineResults) -> Iterator[str]:
    """Yield every table."""
    for dataset, features in results.groups():
        yield from _table_2(dataset, features, results.of(dataset, features))
    for title in results.unavailable:
        yield from unavailable(title)
    for dataset, folds in results.scalings.items():
        yield ""
        yield f"Feature scalings on {dataset}, chosen by validation queries"
        for number, scalings in enumerate(folds):
            yield f"fold {number}: " + ", ".join(f"{n} {f}" for n, f in scalings.items())
    for extras in results.extras:
        yield from _times(extras)
        yield from _large(extras)
        yield from _distracted(extras)
        yield from _simulated(extras)
    yield from notes(results.notes)


def _table_2(dataset: str, features: str, ran: dict[str, FoldResult]) -> Iterator[str]:
    yield ""
    network = " (deep is a network trained on ImageNet)" if "deep" in features else ""
    yield f"Table 2. mAP on {dataset}, {features}{network}; settings by validation queries"
    yield f"{'':<18}{'mAP':>17}{'paper':>9}{'validation':>12}{'seconds':>10}  settings of fold 0"
    paper_map = paper.MAP.get(dataset, {}) if features == "nine" else {}
    for name, r in ran.items():
        our_map = mean_and_std(r.means())
        yield (
            f"{name:<18}{our_map:>17}{fraction(paper_map.get(name)):>9}{r.validation():>12.4f}"
            f"{r.seconds():>10.2f}  {settings_text(r.chosen[0].settings)}"
        )
    yield from _wilcoxon(ran)


def _wilcoxon(ran: dict[str, FoldResult]) -> Iterator[str]:
    pairs = compared(ran)
    if not pairs:
        return
    best_online, batch = pairs[0][0], best_batch(ran)
    yield (
        f"Best online learner by validation queries: {best_online.method}, mAP "
        f"{np.mean(best_online.means()):.4f}"
        + ("" if batch is None else f"; best batch baseline {batch.method}, "
           f"{np.mean(batch.means()):.4f}")
    )  # fmt: skip
    yield "Wilcoxon against each, two-sided, test queries of all folds:"
    for _, r in pairs:
        yield f"  {r.method:<18}{paired_test(compare(best_online, r))}"


def _times(extras: Extras) -> Iterator[str]:
    sizes = sorted({n for points in extras.times.values() for n, _ in points})
    if not sizes:
        return
    yield ""
    yield f"CPU seconds of learning on {extras.dataset}, by number of triplets (paper: figure 1)"
    yield f"{'':<18}" + "".join(f"{n:>12,}" for n in sizes)
    for name, points in extras.times.items():
        seconds_at = dict(points)
        cells = (f"{seconds_at[n]:>12.3f}" if n in seconds_at else f"{MISSING:>12}" for n in sizes)
        yield f"{name:<18}" + "".join(cells)


def _large(extras: Extras) -> Iterator[str]:
    if not extras.large:
        return
    yield ""
    yield f"Table 3. {extras.n_large:,} triplets of {extras.dataset}; the paper's machine of 2015"
    yield f"{'':<18}{'CPU seconds':>13}{'paper':>9}{'mAP':>9}"
    for name, (seconds, value) in extras.large.items():
        theirs = paper.SECONDS.get(name)
        yield f"{name:<18}{seconds:>13.2f}{MISSING if theirs is None else theirs:>9}{value:>9.4f}"
    yield f"To compare the pictures took {extras.comparing:.1f} CPU seconds besides, once for all."


def _distracted(extras: Extras) -> Iterator[str]:
    if not extras.distracted:
        return
    sizes = [n for n, _ in next(iter(extras.distracted.values()))]
    yield ""
    yield (
        f"mAP of {extras.n_distracted} test queries of {extras.dataset} among distractors, which "
        "are made: perturbed descriptors of training pictures (paper: figure 2, real pictures)"
    )
    yield f"{'':<18}" + "".join(f"{n:>12,}" for n in sizes)
    for name, points in extras.distracted.items():
        yield f"{name:<18}" + "".join(f"{value:>12.4f}" for _, value in points)


def _simulated(extras: Extras) -> Iterator[str]:
    if extras.simulated is None:
        return
    ndcg = extras.simulated.ndcg
    n = len(next(iter(ndcg.values())))
    yield ""
    yield (
        f"{n:,} queries of {extras.dataset} one by one, the first 50 pictures of each judged "
        f"(paper: figures 3 and 4; NDCG@50 of Uni-Con {paper.UNIFORM_NDCG:.2f} on its pictures)"
    )
    yield f"{'':<18}{'NDCG@50':>9}{'gain':>9}{'last half':>11}{'CPU seconds':>13}"
    for name, values in ndcg.items():
        gain = values - ndcg["Uni-Con"]
        spent = extras.simulated.seconds.get(name)
        seconds = MISSING if spent is None else f"{spent[-1]:.3f}"
        late = gain[len(gain) // 2 :].mean()
        yield f"{name:<18}{values.mean():>9.4f}{gain.mean():>+9.4f}{late:>+11.4f}{seconds:>13}"


# A tick of the clock; less cannot be drawn on a logarithmic axis.
_LEAST_SECONDS = 1e-4


def draw_curves(results: OnlineResults, out: Path) -> list[Path]:
    """Write what there is to draw; return the files."""
    files: list[Path] = []
    for extras in results.extras:
        files += (
            _draw_times(extras, out) + _draw_distracted(extras, out) + _draw_simulated(extras, out)
        )
    return files


def _file_name(extras: Extras) -> str:
    return extras.dataset.lower().replace("-", "")


def _curve_points(
    points: Mapping[str, Sequence[tuple[int, float]]], least: float = 0.0
) -> dict[str, tuple[list[float], list[float]]]:
    return {
        name: ([float(n) for n, _ in own], [max(value, least) for _, value in own])
        for name, own in points.items()
        if own
    }


def _draw_times(extras: Extras, out: Path) -> list[Path]:
    # In thousands, so that what stands at the axis does not overlap.
    lines = {
        name: ([n / 1000 for n in sizes], seconds)
        for name, (sizes, seconds) in _curve_points(extras.times, _LEAST_SECONDS).items()
    }
    if not lines:
        return []
    file = out / f"time-{_file_name(extras)}.png"
    title = f"{extras.dataset}: CPU seconds of learning\n(paper: figure 1)"
    draw_lines(file, lines, title, ("thousand training triplets", "CPU seconds"), (False, True))
    return [file]


def _draw_distracted(extras: Extras, out: Path) -> list[Path]:
    if not extras.distracted:
        return []
    file = out / f"distractors-{_file_name(extras)}.png"
    # None of them lies at 0, which a logarithmic axis does not have.
    moved = {m: [(max(n, 1000), v) for n, v in p] for m, p in extras.distracted.items()}
    title = (
        f"{extras.dataset}: mAP of {extras.n_distracted} test queries (paper: figure 2)\n"
        "distractors are made of training pictures"
    )
    labels = ("distractors (none: drawn at 1,000)", "mAP")
    draw_lines(file, _curve_points(moved), title, labels, (True, False))
    return [file]


def _draw_simulated(extras: Extras, out: Path) -> list[Path]:
    if extras.simulated is None:
        return []
    simulated = extras.simulated
    n = np.arange(1, len(next(iter(simulated.ndcg.values()))) + 1).astype(float).tolist()
    gains = {m: (n, simulated.gains(m).tolist()) for m in simulated.seconds}
    spent = {m: (n, np.maximum(s, _LEAST_SECONDS).tolist()) for m, s in simulated.seconds.items()}
    files = [out / f"{what}-{_file_name(extras)}.png" for what in ("online-gain", "online-time")]
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
