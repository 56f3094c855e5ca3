"""`sightline reproduce lscmr`: paper C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline_experiments.commands.running import RunOptions, experiment, make_folder, show_files

if TYPE_CHECKING:
    from sightline_experiments.datasets.corel5k import Corel5K
    from sightline_experiments.datasets.nuswide import NusWide
    from sightline_experiments.datasets.wikipedia import Wikipedia
    from sightline_experiments.lscmr.nus_plan import NusPlan
    from sightline_experiments.lscmr.plan import Plan
    from sightline_experiments.lscmr.results import LscmrResults


@experiment(
    holds="wikipedia, nuswide and corel5k, as .zip or folders",
    quick="Two splits and one setting each",
    drawn="curves",
)
@click.option("--splits", type=click.IntRange(1, 50), help="Random splits; 10, or 2 if quick.")
def lscmr(options: RunOptions, splits: int | None) -> int:
    """Rank texts for pictures and pictures for texts: LSCMR, CCA, PAMIR, SSI, semantic matching.

    Settings are chosen on validation pairs; the test pairs are asked once for each method,
    direction and split. Nothing is written into the data folder.
    """
    from sightline.progress import ProgressBar
    from sightline_experiments.datasets import nuswide, wikipedia
    from sightline_experiments.datasets.corel5k import load_corel5k

    titles = {d.TITLE: d.NAME for d in (wikipedia, nuswide)}
    folder, workers = options.settings(" and ".join(f"{n}.zip or {n}/" for n in titles.values()))
    plans = _plans(options, splits)
    target = options.target(folder)
    c = wikipedia.load_wikipedia(folder)
    nus = nuswide.load_nuswide(folder, progress=ProgressBar())
    if c is None and nus is None:
        return _unavailable(options, titles, folder)
    make_folder(target)
    return _run(options, (c, nus), load_corel5k(folder), plans, target, workers)


def _run(
    options: RunOptions,
    data: tuple[Wikipedia | None, NusWide | None],
    corel: Corel5K | None,
    plans: tuple[Plan, NusPlan],
    out: Path,
    workers: int,
) -> int:
    from sightline.progress import ProgressBar
    from sightline_experiments.lscmr import report, run, run_nus, without_wikipedia
    from sightline_experiments.lscmr.nus import check_sizes
    from sightline_experiments.lscmr.report import draw_curves
    from sightline_experiments.lscmr.results import figures_of

    c, nus = data
    if nus is not None:
        # Before the others are measured, whose figures would be lost.
        check_sizes(nus, plans[1])
    results = without_wikipedia() if c is None else run(c, plans[0], ProgressBar())
    run_nus(nus, plans[1], ProgressBar(), results)
    if corel is None:
        results.notes.append("Corel5K: data unavailable, so that no words were learned.")
    else:
        _sweep(options, corel, plans[0], workers, results)
    options.show(report.lines(results), figures_of(results))
    return show_files(draw_curves(results, out))


def _sweep(
    options: RunOptions, corel: Corel5K, plan: Plan, workers: int, results: LscmrResults
) -> None:
    from sightline.compute.local import LocalCompute
    from sightline.progress import ProgressBar
    from sightline_experiments.datasets.corel5k import NAME
    from sightline_experiments.lscmr.corel import sweep

    with LocalCompute(workers) as compute, options.cache(NAME, corel) as cache:
        results.swept = sweep(corel, plan.corel, compute, cache, ProgressBar())


def _unavailable(options: RunOptions, titles: dict[str, str], folder: Path) -> int:
    from sightline_experiments.lscmr import report

    code = options.unavailable(titles, folder)
    for title in titles:
        for line in report.papers_own(title):
            click.echo(line)
    return code


def _plans(options: RunOptions, splits: int | None) -> tuple[Plan, NusPlan]:
    from sightline_experiments.lscmr.nus_plan import full_nus_plan, quick_nus_plan
    from sightline_experiments.lscmr.plan import full_plan, quick_plan

    nus = quick_nus_plan() if options.quick else full_nus_plan()
    return options.plan(full_plan, quick_plan, splits=splits), nus
