"""`sightline topics`: show the space that words and pictures share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.cli.common import common_options, open_collection, print_json
from sightline.cli.filters import check_png
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.search.topics import Topic

_OF_AN_END = 8


@click.command()
@click.argument("word", required=False)
@click.option(
    "-k", "-t", "--top", "top", type=int, default=8, show_default=True, help="Words to show."
)
@click.option("--dimension", type=int, help="Only this dimension.")
@click.option("--sheet", type=click.Path(), help="Draw the pictures at its ends (PNG).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common_options
def topics(
    word: str | None,
    top: int,
    dimension: int | None,
    sheet: str | None,
    as_json: bool,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Show the words at both ends of each dimension, or those nearest to WORD.

    Needs a text model: sightline train text
    """
    c = open_collection(collection, store)
    if sheet is not None:
        if dimension is None or word is not None:
            raise UsageError("--sheet draws the pictures of one dimension; name it: --dimension 0")
        check_png(c, Path(sheet), "A contact sheet")
    if word is not None:
        return _show_near(c, word, top, as_json)
    pictures = _OF_AN_END if sheet or as_json else 0
    dimensions = c.words.topics(top, pictures=pictures, dimension=dimension)
    if as_json:
        print_json([t.to_dict() for t in dimensions])
    else:
        for t in dimensions:
            click.echo(f"{t.dimension}\t{' '.join(t.high)}\t{' '.join(t.low)}")
    if sheet is not None:
        _draw(c, dimensions[0], Path(sheet))
    return 0


def _show_near(c: Collection, word: str, top: int, as_json: bool) -> int:
    neighbours = c.words.near(word, top)
    if as_json:
        print_json([{"word": w, "cosine": cosine} for w, cosine in neighbours])
    else:
        for w, cosine in neighbours:
            click.echo(f"{cosine:.4f}\t{w}")
    return 0


def _draw(c: Collection, topic: Topic, target: Path) -> None:
    """Draw the pictures at the high end, then those at the low end."""
    from sightline.pictures.thumbnails import contact_sheet

    ends = [(topic.high_pictures, "high"), (topic.low_pictures, "low")]
    pictures = [(p, f"{end} {p}") for found, end in ends for p in found]
    thumbnails = c.pictures.thumbnails([p for p, _ in pictures])
    titles = [title for _, title in pictures]
    contact_sheet(thumbnails, titles, columns=_OF_AN_END).save(target, "PNG")
    click.echo(f"drew {target}", err=True)
