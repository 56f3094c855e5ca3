"""`sightline reproduce noise`: training tags that are wrong or missing."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline_experiments.commands.running import RunOptions, experiment, listed

if TYPE_CHECKING:
    from sightline.contracts import Progress
    from sightline_experiments.noise.inputs import TaggedSet
    from sightline_experiments.noise.plan import Plan


@experiment(
    holds="corel5k and caltech101, as .zip or folders",
    quick="Two seeds, one feature, two rankers",
    drawn="no pictures",
)
@click.option("--only", help="corel5k, caltech101; separated by commas. All by default.")
@click.option("--seeds", type=click.IntRange(1, 20), help="How many seeds; 3, or 2 if quick.")
def noise(options: RunOptions, only: str | None, seeds: int | None) -> int:
    """Train on tags of which a fifth is wrong or half is missing, and find the wrong ones.

    The model that `sightline train` serves and a plain ridge regression choose everything by noisy
    tags; both are measured on test pictures with clean tags. Nothing is written into the data
    folder.
    """
    from sightline_experiments.datasets.classed import CALTECH, COREL
    from sightline_experiments.noise.plan import full_plan, quick_plan

    folder, workers = options.settings("corel5k.zip or corel5k/, caltech101.zip or caltech101/")
    plan = options.plan(full_plan, quick_plan, splits=seeds)
    names = listed(only, (COREL.name, CALTECH.name), "pictures")
    options.target(folder)
    return _run(options, folder, plan, names, workers)


def _run(
    options: RunOptions, folder: Path, plan: Plan, names: tuple[str, ...], workers: int
) -> int:
    from sightline.progress import ProgressBar
    from sightline_experiments.noise import run
    from sightline_experiments.noise.report import lines
    from sightline_experiments.noise.results import figures_of

    bar = ProgressBar()
    with contextlib.ExitStack() as stack:
        sets, missing = tagged_sets(options, stack, folder, plan.features, names, workers, bar)
        if not sets:
            return options.unavailable(missing, folder)
        results = run(sets, plan, bar)
    results.unavailable += list(missing)
    options.show(lines(results), figures_of(results))
    return 0


def tagged_sets(
    options: RunOptions,
    stack: contextlib.ExitStack,
    folder: Path,
    features: tuple[str, ...],
    names: tuple[str, ...],
    workers: int,
    progress: Progress,
) -> tuple[list[TaggedSet], dict[str, str]]:
    """Return data sets with clean tags, described, and the names of missing ones by title."""
    from sightline.compute.local import LocalCompute
    from sightline_experiments.datasets.classed import CALTECH, COREL, load_classed
    from sightline_experiments.datasets.corel5k import load_corel5k
    from sightline_experiments.noise.inputs import caltech, corel

    kinds = {k.name: k for k in (COREL, CALTECH) if k.name in names}
    loaded = {name: load_classed(folder, kind) for name, kind in kinds.items()}
    missing = {kinds[name].title: name for name, c in loaded.items() if c is None}
    sets: list[TaggedSet] = []
    with LocalCompute(workers) as compute:
        for name, c in loaded.items():
            if c is None:
                continue
            cache = stack.enter_context(options.cache(f"{name}-classes", c))
            given = (features, compute, cache, progress)
            tags = load_corel5k(folder) if name == COREL.name else None
            sets.append(caltech(c, *given) if tags is None else corel(tags, c, *given))
    return sets, missing
