"""`sightline demo`: build, index and search the demo collection."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from sightline.records import shown

QUERIES = ("red fruit", "sad face", "animal -cat", "bicycel")


@click.command()
@click.option(
    "--folder",
    type=click.Path(),
    default="sightline-demo",
    show_default=True,
    help="Where to build it.",
)
@click.option("--debug", is_flag=True, help="Show a traceback when something fails.")
def demo(folder: str, debug: bool) -> int:
    """Build, index and search the demo collection of 1,883 emoji pictures."""
    from sightline.cli.search import draw_sheet
    from sightline.collection import Collection
    from sightline.datasets.demo import CREDIT, build_demo
    from sightline.progress import ProgressBar

    base = Path(folder)
    built = build_demo(base)
    click.echo(f"{built.n_pictures} pictures in {built.pictures}, their words in {built.words}")
    click.echo(CREDIT)
    c = Collection.open(built.pictures, store=base / "store")
    report = c.index(words=[built.words], progress=ProgressBar())
    click.echo(
        f"{report.seen} seen = {report.indexed} indexed + {len(report.skipped)} skipped "
        f"in {report.seconds:.1f} s"
    )
    for query in QUERIES:
        click.echo(f'\n$ sightline search "{query}"')
        results = c.search(query, 5)
        for u in results.unknown:
            click.echo(f"No picture carries {u.word!r}. Near it: {', '.join(u.near) or 'nothing'}.")
        for h in results.hits:
            mark = "carries every word" if h.tagged else "carries some"
            click.echo(f"{h.score:.4f}\t{shown(os.path.basename(h.path)):<40}\t{mark}")
    draw_sheet(c, c.search(QUERIES[0], 10), base / "results.png")
    click.echo(f"\nLook at {base / 'results.png'}. Try it yourself:")
    click.echo(f'  {sys.argv[0]} search "happy cat" -C {built.pictures} --store {base / "store"}')
    return 0
