"""`sightline reproduce regions`: paper E."""

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
    from sightline_experiments.datasets.msrc import MSRC
    from sightline_experiments.regions.plan import Plan


@experiment(
    holds="msrc_v2.zip or msrc_v2/",
    quick="One half and one setting each",
    drawn="drawings",
)
@click.option("--features", help="classic, deep; separated by commas.")
@click.option("--halves", type=click.IntRange(1, 20), help="How many halves; 5, or 1 if quick.")
def regions(options: RunOptions, features: str | None, halves: int | None) -> int:
    """Tag MSRC v2's pictures, and say where each tag is: the latent model and its baselines.

    Settings are chosen on validation pictures; the test pictures are looked at once for each half.
    Nothing is written into the data folder.
    """
    from sightline_experiments.datasets.msrc import NAME, TITLE, load_msrc
    from sightline_experiments.regions.plan import FEATURES, full_plan, quick_plan

    folder, workers = options.settings(f"{NAME}.zip or {NAME}/")
    plan = options.plan(full_plan, quick_plan, FEATURES, features, halves)
    target = options.target(folder)
    c = load_msrc(folder)
    if c is None:
        return options.unavailable({TITLE: NAME}, folder)
    make_folder(target)
    return _run(options, c, plan, target, workers)


def _run(options: RunOptions, c: MSRC, plan: Plan, out: Path, workers: int) -> int:
    from sightline.compute.local import LocalCompute
    from sightline.progress import ProgressBar
    from sightline_experiments.datasets.msrc import NAME
    from sightline_experiments.regions import report, run
    from sightline_experiments.regions.report import draw_curves, draw_sheets
    from sightline_experiments.regions.results import figures_of

    with LocalCompute(workers) as compute, options.cache(NAME, c) as cache:
        results = run(c, plan, compute, cache, ProgressBar())
        options.show(report.lines(results), figures_of(results))
        return show_files([*draw_sheets(c, results, compute, out), *draw_curves(results, out)])
