"""`sightline demo`: build the demo collection, train on it, search it, and measure the gain."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.collection.filters import Filters
from sightline.errors import UsageError
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.results import Results
    from sightline.contracts import Progress

QUERIES = ("vehicle", "sport", "animal")


@click.command()
@click.option(
    "--folder",
    type=click.Path(),
    default="sightline-demo",
    show_default=True,
    help="Where to build it.",
)
@click.option("--json", "json_file", type=click.Path(), help="Write the figures to this file.")
@click.option("--debug", is_flag=True, help="Show a traceback when something fails.")
def demo(folder: str, json_file: str | None, debug: bool) -> int:
    """Build, train, search and measure the demo collection of 1,883 emoji pictures.

    The words of 400 pictures are withheld: models are trained on the other pictures and measured on
    these.
    """
    from sightline.collection import Collection
    from sightline.demo.emoji import CREDIT, WITHHELD, build_demo
    from sightline.progress import ProgressBar
    from sightline.store.locks import running

    if json_file is not None and not Path(json_file).absolute().parent.is_dir():
        raise UsageError(f"There is no folder {Path(json_file).absolute().parent} for the figures.")
    started = time.monotonic()
    base = Path(folder)
    built = build_demo(base, WITHHELD)
    click.echo(f"{built.n_pictures} pictures in {built.pictures}; {CREDIT}")
    click.echo(f"Words of {built.n_withheld} of them are withheld, in {built.withheld}")
    c = Collection.open(built.pictures, store=base / "store")
    with running(c.store_folder.path, "demo"):
        _index_and_train(c, built.words)
    sheet: list[tuple[str, Results]] = []
    for query in QUERIES:
        _search(c, query, sheet)
    _draw(c, sheet, base / "results.png")
    _measure(c, [built.words, built.withheld], base, json_file, ProgressBar())
    click.echo(f"\nDone in {time.monotonic() - started:.0f} s. Try it yourself:")
    where = f"-C {built.pictures} --store {base / 'store'}"
    click.echo(f'  {sys.argv[0]} search "happy cat" {where}')
    click.echo(f"  {sys.argv[0]} evaluate --plot {base / 'curve.png'} {where}")
    click.echo("Or use it in a browser: search, judge, explain, review, train:")
    click.echo(f"  {sys.argv[0]} serve {where}")
    return _offer_page(built.pictures, base / "store")


def _offer_page(pictures: Path, store: Path) -> int:
    """Serve the collection if the user at the terminal agrees."""
    from sightline.cli.serve import serve

    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("CI"):
        return 0
    try:
        confirmed = click.confirm("Open the page now?", default=False)
    except click.Abort:  # Ctrl-D and Ctrl-C mean no.
        click.echo()
        return 0
    if not confirmed:
        return 0
    asked = {"collection": (str(pictures),), "store": (str(store),), "port": 0}
    return int(click.get_current_context().invoke(serve, **asked))


def _index_and_train(c: Collection, words: Path) -> None:
    from sightline.cli.train import show_report
    from sightline.collection.index.options import default_features
    from sightline.progress import ProgressBar

    click.echo("\n$ sightline index --words words.csv --features " + ",".join(default_features()))
    report = c.index(words=[words], features=default_features(), progress=ProgressBar())
    click.echo(
        f"{report.seen} seen = {report.indexed} indexed + {len(report.skipped)} skipped "
        f"in {report.seconds:.1f} s"
    )
    click.echo("\n$ sightline train")
    if c.models.is_current():
        click.echo("Nothing has changed since the last training.")
    else:
        show_report(c.train(progress=ProgressBar()))


def _search(c: Collection, query: str, sheet: list[tuple[str, Results]]) -> None:
    """Search among pictures without words, and among all."""
    for flag, untagged in ((" --untagged", True), ("", False)):
        click.echo(f'\n$ sightline search "{query}"{flag}')
        results = c.search(query, 6, filters=Filters(untagged=untagged))
        for u in results.unknown:
            near = f" Did you mean: {', '.join(u.near)}?" if u.near else ""
            click.echo(f"No picture has the word {u.word!r}.{near}")
        for h in results.hits:
            click.echo(f"{h.label}\t{shown(os.path.basename(h.path))}")
        if untagged and results.hits:
            sheet.append((query, results))


def _draw(c: Collection, searches: list[tuple[str, Results]], target: Path) -> None:
    """Draw the hits among pictures without words, a row for each query."""
    from sightline.pictures.thumbnails import contact_sheet

    thumbnails, titles = [], []
    for query, results in searches:
        hits = results.hits
        thumbnails += [*c.pictures.thumbnails([h.picture for h in hits]), *[b""] * (6 - len(hits))]
        names = [f"{query}: {h.label}" for h in hits]
        titles += [*names, *[""] * (6 - len(hits))]
    contact_sheet(thumbnails, titles, columns=6, cell=120).save(target, "PNG")
    click.echo(f"\nLook at {target}: found without any tag.")


def _measure(
    c: Collection, tables: list[Path], base: Path, json_file: str | None, progress: Progress
) -> None:
    """Measure the rankers on the withheld words; figures of unchanged data are read from a file."""
    from sightline.demo.experiment import lines, load_truth, measured_before, run_demo, sets_of
    from sightline.measures.figures import Figures

    cache = base / "figures.json"
    truth = load_truth(c, tables)
    figures: Figures | None = measured_before(cache, truth)
    if figures is None:
        figures = run_demo(truth, sets_of(truth), progress)
        figures.write(cache)
    click.echo("\nRanking the withheld pictures for words, mean of 5 choices of 400:")
    for line in lines(figures):
        click.echo(line)
    click.echo("(deep: all features, those of a network trained on ImageNet among them)")
    if json_file is not None:
        figures.write(Path(json_file))
        click.echo(f"Figures written to {json_file}")
