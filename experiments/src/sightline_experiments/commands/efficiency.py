"""`sightline reproduce efficiency`: words with few tags."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline_experiments.commands.noise import tagged_sets
from sightline_experiments.commands.running import RunOptions, experiment, listed

if TYPE_CHECKING:
    from sightline_experiments.efficiency.plan import Plan


@experiment(
    holds="corel5k and caltech101, as .zip or folders",
    quick="Two draws, one feature, 4 and 16 tags",
    drawn="no pictures",
)
@click.option("--only", help="corel5k, caltech101; separated by commas. All by default.")
@click.option("--draws", type=click.IntRange(1, 20), help="How many draws; 3, or 2 if quick.")
@click.option(
    "--develop", is_flag=True,
    help="Measure on a quarter of the training pictures in the place of the test, to choose by.",
)  # fmt: skip
def efficiency(options: RunOptions, only: str | None, draws: int | None, develop: bool) -> int:
    """Train on words with 1 to 32 tags, and count how many a word needs.

    The model that `sightline train` publishes and a tuned ridge of scikit-learn learn from the same
    tags; both are measured on test pictures with all tags. Nothing is written into the data folder.
    """
    from sightline_experiments.datasets.classed import CALTECH, COREL
    from sightline_experiments.efficiency.plan import full_plan, quick_plan

    folder, workers = options.settings("corel5k.zip or corel5k/, caltech101.zip or caltech101/")
    plan = replace(options.plan(full_plan, quick_plan, splits=draws), developing=develop)
    names = listed(only, (COREL.name, CALTECH.name), "pictures")
    options.target(folder)
    return _run(options, folder, plan, names, workers)


def _run(
    options: RunOptions, folder: Path, plan: Plan, names: tuple[str, ...], workers: int
) -> int:
    from sightline.progress import ProgressBar
    from sightline_experiments.efficiency import run
    from sightline_experiments.efficiency.report import lines
    from sightline_experiments.efficiency.results import figures_of

    bar = ProgressBar()
    with contextlib.ExitStack() as stack:
        sets, missing = tagged_sets(options, stack, folder, plan.features, names, workers, bar)
        if not sets:
            return options.unavailable(missing, folder)
        results = run(sets, plan, bar)
    results.unavailable += list(missing)
    options.show(lines(results), figures_of(results))
    return 0
