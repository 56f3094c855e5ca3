"""The tables of the paper, as lines of text: our figures, and the paper's beside them.

A dash stands where the paper has no figure or nothing was measured.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

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
    for dataset, folds in results.frames.items():
        yield ""
        yield f"Frames of descriptors on {dataset}, chosen by validation queries"
        for number, frames in enumerate(folds):
            yield f"fold {number}: " + ", ".join(f"{n} {f}" for n, f in frames.items())
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
    theirs = paper.MAP.get(dataset, {}) if features == "nine" else {}
    for name, r in ran.items():
        own = mean_and_std(r.means())
        yield (
            f"{name:<18}{own:>17}{fraction(theirs.get(name)):>9}{r.validation():>12.4f}"
            f"{r.seconds():>10.2f}  {settings_text(r.chosen[0].settings)}"
        )
    yield from _wilcoxon(ran)


def _wilcoxon(ran: dict[str, FoldResult]) -> Iterator[str]:
    pairs = compared(ran)
    if not pairs:
        return
    mine, batch = pairs[0][0], best_batch(ran)
    yield (
        f"Best online learner by validation queries: {mine.method}, mAP "
        f"{np.mean(mine.means()):.4f}"
        + ("" if batch is None else f"; best batch baseline {batch.method}, "
           f"{np.mean(batch.means()):.4f}")
    )  # fmt: skip
    yield "Wilcoxon against each, two-sided, test queries of all folds:"
    for _, r in pairs:
        yield f"  {r.method:<18}{paired_test(compare(mine, r))}"


def _times(extras: Extras) -> Iterator[str]:
    sizes = sorted({n for points in extras.times.values() for n, _ in points})
    if not sizes:
        return
    yield ""
    yield f"CPU seconds of learning on {extras.dataset}, by number of triplets (paper: figure 1)"
    yield f"{'':<18}" + "".join(f"{n:>12,}" for n in sizes)
    for name, points in extras.times.items():
        there = dict(points)
        cells = (f"{there[n]:>12.3f}" if n in there else f"{MISSING:>12}" for n in sizes)
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
