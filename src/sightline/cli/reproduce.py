"""`sightline reproduce`: the experiments of the papers, on data you have."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.datasets.classed import Classed
    from sightline.datasets.corel5k import Corel5K
    from sightline.datasets.wikipedia import Wikipedia
    from sightline.reproduce.cache import ArrayCache
    from sightline.reproduce.lscmr.plan import Plan as LscmrPlan
    from sightline.reproduce.online.plan import Plan as OnlinePlan
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
    from sightline.datasets.corel5k import NAME, load_corel5k

    folder, workers = _settings(data, workers, f"{NAME}.zip or {NAME}/")
    plan = _plan(quick, features, splits)
    target = _targets(out, json_file, folder)
    c = load_corel5k(folder)
    if c is None:
        return _unavailable("pamir", {"Corel5K": NAME}, folder, json_file)
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
    from sightline.datasets.corel5k import NAME
    from sightline.progress import ProgressBar
    from sightline.reproduce.pamir import run, tables
    from sightline.reproduce.pamir.curves import draw_curves
    from sightline.reproduce.pamir.results import figures_of
    from sightline.reproduce.pamir.sheets import draw_sheets

    progress = ProgressBar()
    with LocalCompute(workers) as compute, _cache(NAME, c, no_cache) as cache:
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


@reproduce.command()
@click.option(
    "--data",
    type=click.Path(),
    help="The folder that holds caltech101 and corel5k, as .zip or folders [SIGHTLINE_DATA].",
)
@click.option("--quick", is_flag=True, help="One fold and one setting each: minutes, not hours.")
@click.option("--json", "json_file", type=click.Path(), help="Write the figures to this file.")
@click.option(
    "--out",
    type=click.Path(),
    default="reproduce-online",
    show_default=True,
    help="Where curves go.",
)
@click.option("--features", help="nine, nine+deep; separated by commas.")
@click.option("--only", help="caltech101, corel5k; separated by commas. All by default.")
@click.option("--folds", type=click.IntRange(1, 5), help="How many folds; 5, or 1 if quick.")
@click.option("--no-cache", is_flag=True, help="Compute all features anew and keep none.")
@click.option("--workers", type=int, help="Worker processes; 0 is one for each core.")
@click.option("--debug", is_flag=True, help="Show a traceback when something fails.")
def online(
    data: str | None,
    quick: bool,
    json_file: str | None,
    out: str,
    features: str | None,
    only: str | None,
    folds: int | None,
    no_cache: bool,
    workers: int | None,
    debug: bool,
) -> int:
    """Rank pictures by pictures: OPR, OPAR, OGDR and batch rivals over nine descriptors.

    Settings are chosen on validation queries; the test queries are asked once for each fold.
    Nothing is written into the data folder.
    """
    from sightline.datasets.classed import CALTECH, COREL, load_classed

    kinds = {k.name: k for k in (CALTECH, COREL)}
    folder, workers = _settings(data, workers, " and ".join(f"{n}.zip or {n}/" for n in kinds))
    plan = _online_plan(quick, features, folds)
    wanted = _listed(only, tuple(kinds), "pictures")
    target = _targets(out, json_file, folder)
    found = {kinds[name].title: load_classed(folder, kinds[name]) for name in wanted}
    if not any(c is not None for c in found.values()):
        missing = {kinds[name].title: name for name in wanted}
        return _unavailable("online", missing, folder, json_file)
    _make_folder(target)
    return _run_online(found, plan, target, json_file, workers, no_cache)


def _run_online(
    there: dict[str, Classed | None],
    plan: OnlinePlan,
    out: Path,
    json_file: str | None,
    workers: int,
    no_cache: bool,
) -> int:
    from sightline.compute.local import LocalCompute
    from sightline.progress import ProgressBar
    from sightline.reproduce.online import run, tables
    from sightline.reproduce.online.curves import draw_curves
    from sightline.reproduce.online.results import figures_of

    with contextlib.ExitStack() as stack:
        compute = stack.enter_context(LocalCompute(workers))
        datasets = {
            title: None
            if c is None
            else (c, stack.enter_context(_cache(f"{c.kind.name}-classes", c, no_cache)))
            for title, c in there.items()
        }
        found = run(datasets, plan, compute, ProgressBar())
    for line in tables.lines(found):
        click.echo(line)
    if json_file is not None:
        figures_of(found).write(Path(json_file))
        click.echo(f"Figures written to {json_file}")
    click.echo("")
    for file in draw_curves(found, out):
        click.echo(f"Look at {file}")
    return 0


@reproduce.command()
@click.option(
    "--data",
    type=click.Path(),
    help="The folder that holds wikipedia.zip or wikipedia/ [SIGHTLINE_DATA].",
)
@click.option("--quick", is_flag=True, help="Two splits and one setting each.")
@click.option("--json", "json_file", type=click.Path(), help="Write the figures to this file.")
@click.option(
    "--out",
    type=click.Path(),
    default="reproduce-lscmr",
    show_default=True,
    help="Where curves go.",
)
@click.option("--splits", type=click.IntRange(1, 50), help="Random splits; 10, or 2 if quick.")
@click.option("--debug", is_flag=True, help="Show a traceback when something fails.")
def lscmr(
    data: str | None,
    quick: bool,
    json_file: str | None,
    out: str,
    splits: int | None,
    debug: bool,
) -> int:
    """Rank texts for pictures and pictures for texts: LSCMR, CCA, PAMIR, SSI, semantic matching.

    Settings are chosen on validation pairs; the test pairs are asked once for each method,
    direction and split. Nothing is written into the data folder.
    """
    from sightline.datasets.wikipedia import NAME, TITLE, load_wikipedia
    from sightline.reproduce.lscmr.plan import full_plan, quick_plan

    folder, _ = _settings(data, None, f"{NAME}.zip or {NAME}/")
    plan = quick_plan() if quick else full_plan()
    target = _targets(out, json_file, folder)
    c = load_wikipedia(folder)
    if c is None:
        return _unavailable("lscmr", {TITLE: NAME}, folder, json_file)
    _make_folder(target)
    return _run_lscmr(c, plan if splits is None else plan.with_splits(splits), target, json_file)


def _run_lscmr(c: Wikipedia, plan: LscmrPlan, out: Path, json_file: str | None) -> int:
    from sightline.progress import ProgressBar
    from sightline.reproduce.lscmr import run, tables
    from sightline.reproduce.lscmr.curves import draw_curves
    from sightline.reproduce.lscmr.results import figures_of

    found = run(c, plan, ProgressBar())
    for line in tables.lines(found):
        click.echo(line)
    if json_file is not None:
        figures_of(found).write(Path(json_file))
        click.echo(f"Figures written to {json_file}")
    click.echo("")
    for file in draw_curves(found, out):
        click.echo(f"Look at {file}")
    return 0


def _online_plan(quick: bool, features: str | None, folds: int | None) -> OnlinePlan:
    from sightline.reproduce.online.plan import FEATURES, full_plan, quick_plan

    plan = quick_plan() if quick else full_plan()
    if features is not None:
        plan = plan.with_features(_listed(features, FEATURES, "features"))
    return plan if folds is None else plan.with_folds(folds)


def _listed(said: str | None, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    """Return names that were given with commas between them; all there are by default."""
    if said is None:
        return known
    names = tuple(name.strip() for name in said.split(","))
    for name in names:
        if name not in known:
            raise UsageError(f"There are no {what} {name!r}. Known: {', '.join(known)}.")
    return names


def _make_folder(out: Path) -> None:
    """Make the folder for pictures, and see before the work that they can be drawn."""
    from sightline.measures.plots import check_plot_file

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise UsageError(f"{out} cannot be a folder for curves and sheets: {e.strerror}.") from e
    check_plot_file(out / "curve.png")


class _Summed(Protocol):
    def checksum(self) -> str: ...


@contextlib.contextmanager
def _cache(name: str, c: _Summed, no_cache: bool) -> Iterator[ArrayCache]:
    from sightline.reproduce.cache import kept, temporary

    if not no_cache:
        yield kept(name, c.checksum())
        return
    with temporary() as cache:
        yield cache


def _settings(data: str | None, workers: int | None, wanted: str) -> tuple[Path, int]:
    from sightline.settings import load

    settings = load({"data": data or None, "workers": workers})[0]
    if not settings.data:
        raise UsageError(
            f"Where is the data? Name the folder that holds {wanted} with --data DIR "
            "or SIGHTLINE_DATA, or as the setting 'data' in your config.toml."
        )
    # No shell has seen what a file says.
    return Path(settings.data).expanduser(), settings.workers


def _targets(out: str, json_file: str | None, folder: Path) -> Path:
    """Return the folder for curves; refuse places where nothing may or can be written."""
    if json_file is not None:
        _outside(Path(json_file), folder)
        if not Path(json_file).absolute().parent.is_dir():
            where = Path(json_file).absolute().parent
            raise UsageError(f"There is no folder {where} for the figures.")
    return _outside(Path(out), folder)


def _plan(quick: bool, features: str | None, splits: int | None) -> Plan:
    from sightline.reproduce.pamir.plan import FEATURES, full_plan, quick_plan

    names = None if features is None else _listed(features, FEATURES, "features")
    make = quick_plan if quick else full_plan
    plan = make() if names is None else make(names)
    return plan if splits is None else plan.with_splits(splits)


def _outside(target: Path, folder: Path) -> Path:
    """Refuse to write into the data folder."""
    if target.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{target} lies inside the data folder, where nothing is ever written.")
    return target


def _unavailable(
    experiment: str, missing: dict[str, str], folder: Path, json_file: str | None
) -> int:
    """Say which datasets, by title and name, are not there."""
    from sightline.reproduce.figures import Figures

    for title in missing:
        click.echo(f"{title:<16} data unavailable")
    wanted = " or ".join(f"{name}.zip, or a folder {name}," for name in missing.values())
    click.echo(f"Nothing was measured: put {wanted} into {folder}.")
    if json_file is not None:
        Figures(experiment, {"unavailable": list(missing.values())}).write(Path(json_file))
    return 0
