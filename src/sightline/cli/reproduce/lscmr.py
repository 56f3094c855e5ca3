"""`sightline reproduce lscmr`: paper C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.cli.reproduce.running import Asked, experiment, make_folder, show_files

if TYPE_CHECKING:
    from sightline.datasets.corel5k import Corel5K
    from sightline.datasets.wikipedia import Wikipedia
    from sightline.reproduce.lscmr.plan import Plan


@experiment(
    holds="wikipedia.zip or wikipedia/, and corel5k.zip or corel5k/",
    quick="Two splits and one setting each",
    drawn="curves",
)
@click.option("--splits", type=click.IntRange(1, 50), help="Random splits; 10, or 2 if quick.")
def lscmr(asked: Asked, splits: int | None) -> int:
    """Rank texts for pictures and pictures for texts: LSCMR, CCA, PAMIR, SSI, semantic matching.

    Settings are chosen on validation pairs; the test pairs are asked once for each method,
    direction and split. Nothing is written into the data folder.
    """
    from sightline.datasets.corel5k import load_corel5k
    from sightline.datasets.wikipedia import NAME, TITLE, load_wikipedia

    folder, workers = asked.settings(f"{NAME}.zip or {NAME}/")
    plan = _plan(asked.quick, splits)
    target = asked.target(folder)
    c = load_wikipedia(folder)
    if c is None:
        return asked.unavailable({TITLE: NAME}, folder)
    make_folder(target)
    return _run(asked, c, load_corel5k(folder), plan, target, workers)


def _run(
    asked: Asked, c: Wikipedia, corel: Corel5K | None, plan: Plan, out: Path, workers: int
) -> int:
    from sightline.compute.local import LocalCompute
    from sightline.datasets.corel5k import NAME
    from sightline.progress import ProgressBar
    from sightline.reproduce.lscmr import run, tables
    from sightline.reproduce.lscmr.corel import sweep
    from sightline.reproduce.lscmr.curves import draw_curves
    from sightline.reproduce.lscmr.results import figures_of

    found = run(c, plan, ProgressBar())
    if corel is None:
        found.notes.append("Corel5K: data unavailable, so that no words were learnt.")
    else:
        with LocalCompute(workers) as compute, asked.cache(NAME, corel) as cache:
            found.swept = sweep(corel, plan.corel, compute, cache, ProgressBar())
    asked.show(tables.lines(found), figures_of(found))
    return show_files(draw_curves(found, out))


def _plan(quick: bool, splits: int | None) -> Plan:
    from sightline.reproduce.lscmr.plan import full_plan, quick_plan

    plan = quick_plan() if quick else full_plan()
    return plan if splits is None else plan.with_splits(splits)
