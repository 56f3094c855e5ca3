"""`sightline reproduce queries`: questions in words to real collections."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.errors import UsageError
from sightline_experiments.commands.running import (
    RunOptions,
    experiment,
    listed,
    make_folder,
    show_files,
)

if TYPE_CHECKING:
    from sightline_experiments.queries import Data
    from sightline_experiments.queries.plan import Plan


@experiment(
    holds="corel5k and caltech101, as .zip or folders",
    quick="Fewer questions and pictures, small sizes",
    drawn="reliability curves",
)
@click.option(
    "--collection", "named", help="corel5k, caltech101; separated by commas. Both by default."
)
@click.option(
    "--only",
    help="words, signs, spelling, sentences, calibration; separated by commas. All by default.",
)
@click.option(
    "--withhold", type=click.IntRange(1), metavar="N",
    help="Measure on N of the tagged pictures in the place of the untagged ones, to choose by.",
)  # fmt: skip
@click.option("--sizes", help="Numbers of tagged pictures for calibration, separated by commas.")
@click.option("--features", help="Features to compute and learn from; those of train by default.")
@click.option("--rankers", help="Rankers to train; separated by commas. All by default.")
def queries(
    options: RunOptions, named: str | None, only: str | None, withhold: int | None,
    sizes: str | None, features: str | None, rankers: str | None,
) -> int:  # fmt: skip
    """Ask collections of Corel5K and Caltech-101 in words, as their owners would.

    Training pictures are tagged, indexed and trained on; measured are the others: words, signs,
    plurals, misspellings, sentences, and by size of the collection how far probabilities can be
    trusted. Ridge of scikit-learn stands beside it. Nothing is written into the data folder.
    """
    from sightline_experiments.datasets.classed import CALTECH
    from sightline_experiments.datasets.corel5k import NAME
    from sightline_experiments.queries.plan import PARTS, full_plan, quick_plan

    titles = {NAME: "Corel5K", CALTECH.name: CALTECH.title}
    folder, workers = options.settings(" and ".join(f"{n}.zip or {n}/" for n in titles))
    plan = replace(
        options.plan(full_plan, quick_plan),
        parts=listed(only, tuple(PARTS), "parts"),
        withheld=withhold or 0,
        features=_names(features),
        rankers=_names(rankers),
    )
    if sizes is not None:
        plan = replace(plan, sizes=_numbers(sizes))
    names = listed(named, tuple(titles), "collections")
    target = options.target(folder)
    datasets = {titles[name]: _load(folder, name) for name in names}
    if not any(c is not None for c in datasets.values()):
        return options.unavailable({titles[name]: name for name in names}, folder)
    make_folder(target)
    return _run(options, datasets, plan, target, workers)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _numbers(text: str) -> tuple[int, ...]:
    names = _names(text)
    if not all(name.isdecimal() and int(name) > 1 for name in names):
        raise UsageError(f"Sizes are whole numbers above 1, such as 30,100. Got {text!r}.")
    return tuple(map(int, names))


def _load(folder: Path, name: str) -> Data | None:
    from sightline_experiments.datasets import classed
    from sightline_experiments.datasets.corel5k import load_corel5k

    if name == classed.CALTECH.name:
        return classed.load_classed(folder, classed.CALTECH)
    return load_corel5k(folder)


def _run(
    options: RunOptions, loaded: dict[str, Data | None], plan: Plan, out: Path, workers: int
) -> int:
    from sightline.compute.local import LocalCompute
    from sightline.progress import ProgressBar
    from sightline_experiments.queries import report, run
    from sightline_experiments.queries.report import draw_reliability
    from sightline_experiments.queries.results import figures_of

    with contextlib.ExitStack() as stack:
        compute = stack.enter_context(LocalCompute(workers))
        datasets = {}
        for title, c in loaded.items():
            name = f"queries-{title.lower().replace('-', '')}"
            cache = None if c is None else stack.enter_context(options.cache(name, c))
            datasets[title] = None if c is None or cache is None else (c, cache)
        results = run(datasets, plan, compute, ProgressBar())
    options.show(report.lines(results), figures_of(results))
    return show_files(draw_reliability(results, out))
