"""`sightline reproduce feedback`: paper B."""

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
    from sightline_experiments.datasets.classed import Classed
    from sightline_experiments.feedback.plan import Plan


@experiment(
    holds="caltech101.zip or caltech101/",
    quick="120 queries instead of 500, and less of the sweep",
    drawn="curves",
)
@click.option("--features", help="ehd, cedd, deep; separated by commas.")
def feedback(options: RunOptions, features: str | None) -> int:
    """Let simulated users judge pictures: passive-aggressive, baselines, and the blend.

    Nine rounds of 20 judgements for 500 queries of Caltech-101. Nothing is written into the data
    folder.
    """
    from sightline_experiments.datasets.classed import CALTECH, load_classed
    from sightline_experiments.feedback.plan import FEATURES, full_plan, quick_plan

    name = CALTECH.name
    folder, workers = options.settings(f"{name}.zip or {name}/")
    plan = options.plan(full_plan, quick_plan, FEATURES, features)
    target = options.target(folder)
    c = load_classed(folder, CALTECH)
    if c is None:
        return options.unavailable({CALTECH.title: name}, folder)
    make_folder(target)
    return _run(options, c, plan, target, workers)


def _run(options: RunOptions, c: Classed, plan: Plan, out: Path, workers: int) -> int:
    from sightline.compute.local import LocalCompute
    from sightline.progress import ProgressBar
    from sightline_experiments.feedback import report, run
    from sightline_experiments.feedback.report import draw_curves
    from sightline_experiments.feedback.results import figures_of

    kept = options.cache(f"{c.kind.name}-classes", c)
    with LocalCompute(workers) as compute, kept as cache:
        results = run(c, plan, compute, cache, ProgressBar())
    options.show(report.lines(results), figures_of(results))
    return show_files(draw_curves(results, out, c.kind.title))
