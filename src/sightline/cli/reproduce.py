"""`sightline reproduce`: the experiments of the papers, on data you have."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.datasets.corel5k import Corel5K
    from sightline.reproduce.cache import ArrayCache
    from sightline.reproduce.pamir.plan import Plan


@click.group()
def reproduce() -> None:
    """Measure the papers' methods and their rivals, beside the papers' own figures."""


@reproduce.command()
@click.option(
    "--data",
    type=click.Path(),
    help="The folder that holds corel5k.zip or corel5k/ [SIGHTLINE_DATA].",
)
@click.option("--quick", is_flag=True, help="One split and one setting each: minutes, not hours.")
@click.option("--json", "json_file", type=click.Path(), help="Write the figures to this file.")
@click.option(
    "--out",
    type=click.Path(),
    default="reproduce-pamir",
    show_default=True,
    help="Where curves and contact sheets go.",
)
@click.option("--features", help="classic-strict, classic, deep; separated by commas.")
@click.option("--splits", type=click.IntRange(1, 20), help="How many splits; 5, or 1 if quick.")
@click.option("--once", is_flag=True, help="Count the test picture that is listed twice once.")
@click.option("--no-cache", is_flag=True, help="Compute all features anew and keep none.")
@click.option("--workers", type=int, help="Worker processes; 0 is one for each core.")
@click.option("--debug", is_flag=True, help="Show a traceback when something fails.")
def pamir(
    data: str | None,
    quick: bool,
    json_file: str | None,
    out: str,
    features: str | None,
    splits: int | None,
    once: bool,
    no_cache: bool,
    workers: int | None,
    debug: bool,
) -> int:
    """Rank Corel5K's pictures for text queries: PAMIR, SVM, PLSA, CMTT, CMRM and later rivals.

    Settings are chosen on validation queries; the test queries are asked once for each split, at
    the end. Nothing is written into the data folder.
    """
    from sightline.datasets.corel5k import load_corel5k

    folder, workers = _settings(data, workers)
    plan = _plan(quick, features, splits)
    target = _outside(Path(out), folder)
    if json_file is not None:
        _outside(Path(json_file), folder)
        if not Path(json_file).absolute().parent.is_dir():
            where = Path(json_file).absolute().parent
            raise UsageError(f"There is no folder {where} for the figures.")
    c = load_corel5k(folder)
    if c is None:
        return _unavailable(folder, json_file)
    _make_folder(target)
    return _run(c, plan, target, json_file, workers, not once, no_cache)


def _run(
    c: Corel5K,
    plan: Plan,
    out: Path,
    json_file: str | None,
    workers: int,
    twice: bool,
    no_cache: bool,
) -> int:
    from sightline.compute.local import LocalCompute
    from sightline.progress import ProgressBar
    from sightline.reproduce.pamir import run, tables
    from sightline.reproduce.pamir.curves import draw_curves
    from sightline.reproduce.pamir.results import figures_of
    from sightline.reproduce.pamir.sheets import draw_sheets

    progress = ProgressBar()
    with LocalCompute(workers) as compute, _cache(c, no_cache) as cache:
        found = run(c, plan, compute, cache, progress, twice)
        for line in tables.lines(found):
            click.echo(line)
        # First of all what took longest to find out.
        if json_file is not None:
            figures_of(found).write(Path(json_file))
            click.echo(f"Figures written to {json_file}")
        files = draw_sheets(c, found, compute, out)
    click.echo("")
    for file in [*files, *draw_curves(found, out)]:
        click.echo(f"Look at {file}")
    return 0


def _make_folder(out: Path) -> None:
    """Make the folder for pictures, and see before the work that they can be drawn."""
    from sightline.measures.plots import check_plot_file

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise UsageError(f"{out} cannot be a folder for curves and sheets: {e.strerror}.") from e
    check_plot_file(out / "curve.png")


@contextlib.contextmanager
def _cache(c: Corel5K, no_cache: bool) -> Iterator[ArrayCache]:
    from sightline.datasets.corel5k import NAME
    from sightline.reproduce.cache import kept, temporary

    if not no_cache:
        yield kept(NAME, c.checksum())
        return
    with temporary() as cache:
        yield cache


def _settings(data: str | None, workers: int | None) -> tuple[Path, int]:
    from sightline.settings import load

    settings = load({"data": data or None, "workers": workers})[0]
    if not settings.data:
        raise UsageError(
            "Where is the data? Name the folder that holds corel5k.zip or corel5k/ with --data DIR "
            "or SIGHTLINE_DATA, or as the setting 'data' in your config.toml."
        )
    # No shell has seen what a file says.
    return Path(settings.data).expanduser(), settings.workers


def _plan(quick: bool, features: str | None, splits: int | None) -> Plan:
    from sightline.reproduce.pamir.plan import FEATURES, full_plan, quick_plan

    names = [f.strip() for f in features.split(",")] if features is not None else None
    for name in names or ():
        if name not in FEATURES:
            raise UsageError(f"There are no features {name!r}. Known: {', '.join(FEATURES)}.")
    make = quick_plan if quick else full_plan
    plan = make() if names is None else make(names)
    return plan if splits is None else plan.with_splits(splits)


def _outside(target: Path, folder: Path) -> Path:
    """Refuse to write into the data folder."""
    if target.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{target} lies inside the data folder, where nothing is ever written.")
    return target


def _unavailable(folder: Path, json_file: str | None) -> int:
    from sightline.reproduce.figures import Figures

    click.echo(f"{'Corel5K':<16} data unavailable")
    click.echo(f"Nothing was measured: put corel5k.zip, or a folder corel5k, into {folder}.")
    if json_file is not None:
        Figures("pamir", {"unavailable": ["corel5k"]}).write(Path(json_file))
    return 0
