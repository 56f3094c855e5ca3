"""`sightline reproduce online`: paper D."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline_experiments.commands.running import (
    RunOptions,
    experiment,
    listed,
    make_folder,
    show_files,
)

if TYPE_CHECKING:
    from sightline_experiments.datasets.classed import Classed
    from sightline_experiments.online.plan import Plan


@experiment(
    holds="caltech101 and corel5k, as .zip or folders",
    quick="One fold and one setting each",
    drawn="curves",
)
@click.option("--features", help="nine, nine+deep; separated by commas.")
@click.option("--only", help="caltech101, corel5k; separated by commas. All by default.")
@click.option("--folds", type=click.IntRange(1, 5), help="How many folds; 5, or 1 if quick.")
def online(options: RunOptions, features: str | None, only: str | None, folds: int | None) -> int:
    """Rank pictures by pictures: OPR, OPAR, OGDR and batch baselines over nine descriptors.

    Settings are chosen on validation queries; the test queries are asked once for each fold.
    Nothing is written into the data folder.
    """
    from sightline_experiments.datasets.classed import CALTECH, COREL, load_classed
    from sightline_experiments.online.plan import FEATURES, full_plan, quick_plan

    kinds = {k.name: k for k in (CALTECH, COREL)}
    folder, workers = options.settings(" and ".join(f"{n}.zip or {n}/" for n in kinds))
    plan = options.plan(full_plan, quick_plan, FEATURES, features, folds)
    names = listed(only, tuple(kinds), "pictures")
    target = options.target(folder)
    datasets = {kinds[name].title: load_classed(folder, kinds[name]) for name in names}
    if not any(c is not None for c in datasets.values()):
        return options.unavailable({kinds[name].title: name for name in names}, folder)
    make_folder(target)
    return _run(options, datasets, plan, target, workers)


def _run(
    options: RunOptions, loaded: dict[str, Classed | None], plan: Plan, out: Path, workers: int
) -> int:
    from sightline.compute.local import LocalCompute
    from sightline.progress import ProgressBar
    from sightline_experiments.online import report, run
    from sightline_experiments.online.report import draw_curves
    from sightline_experiments.online.results import figures_of

    with contextlib.ExitStack() as stack:
        compute = stack.enter_context(LocalCompute(workers))
        datasets = {
            title: None
            if c is None
            else (c, stack.enter_context(options.cache(f"{c.kind.name}-classes", c)))
            for title, c in loaded.items()
        }
        results = run(datasets, plan, compute, ProgressBar())
    options.show(report.lines(results), figures_of(results))
    return show_files(draw_curves(results, out))
