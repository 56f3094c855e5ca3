"""`sightline reproduce pamir`: paper A."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline_experiments.commands.running import (
    RunOptions,
    experiment,
    make_folder,
    show_files,
)

if TYPE_CHECKING:
    from sightline_experiments.datasets.corel5k import Corel5K
    from sightline_experiments.pamir.plan import Plan


@experiment(
    holds="corel5k.zip or corel5k/",
    quick="One split and one setting each",
    drawn="curves and contact sheets",
)
@click.option("--features", help="classic-strict, classic, deep; separated by commas.")
@click.option("--splits", type=click.IntRange(1, 20), help="How many splits; 5, or 1 if quick.")
@click.option(
    "--drop-duplicate", "--once", is_flag=True, help="Count the test picture listed twice once."
)
def pamir(
    options: RunOptions, features: str | None, splits: int | None, drop_duplicate: bool
) -> int:
    """Rank Corel5K's pictures for text queries: PAMIR, SVM, PLSA, CMTT, CMRM and later baselines.

    Settings are chosen on validation queries; the test queries are asked once for each split, at
    the end. Nothing is written into the data folder.
    """
    from sightline_experiments.datasets.corel5k import NAME, load_corel5k
    from sightline_experiments.pamir.plan import FEATURES, full_plan, quick_plan

    folder, workers = options.settings(f"{NAME}.zip or {NAME}/")
    plan = options.plan(full_plan, quick_plan, FEATURES, features, splits)
    target = options.target(folder)
    c = load_corel5k(folder)
    if c is None:
        return options.unavailable({"Corel5K": NAME}, folder)
    make_folder(target)
    return _run(options, c, plan, target, workers, not drop_duplicate)


def _run(options: RunOptions, c: Corel5K, plan: Plan, out: Path, workers: int, twice: bool) -> int:
    from sightline.compute.local import LocalCompute
    from sightline.progress import ProgressBar
    from sightline_experiments.datasets.corel5k import NAME
    from sightline_experiments.pamir import report, run
    from sightline_experiments.pamir.report import draw_curves, draw_sheets
    from sightline_experiments.pamir.results import figures_of

    with LocalCompute(workers) as compute, options.cache(NAME, c) as cache:
        results = run(c, plan, compute, cache, ProgressBar(), twice)
        options.show(report.lines(results), figures_of(results))
        files = draw_sheets(c, results, compute, out)
    return show_files([*files, *draw_curves(results, out)])
