"""`sightline scenes`: group pictures by learned scenes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sightline.cli.common import (
    common_options,
    counted,
    open_collection,
    output_options,
    print_csv,
    print_json,
)
from sightline.cli.filters import filter_options, filters_of
from sightline.cli.scenes.sheets import draw_sheets
from sightline.cli.tag.uncut import say_uncut
from sightline.errors import UsageError


@click.command()
@click.option("--words", type=int, default=5, show_default=True, help="Words for each scene.")
@click.option(
    "--sheet", type=click.Path(), help="Draw a contact sheet of each scene into this folder."
)
@filter_options
@output_options
@common_options
def scenes(
    words: int,
    sheet: str | None,
    as_json: bool,
    as_csv: bool,
    collection: str | None,
    store: str | None,
    debug: bool,
    **given: Any,
) -> int:
    """Group pictures by learned scenes, each with its most distinctive words.

    Needs: sightline train regions
    """
    from sightline.progress import ProgressBar

    c = open_collection(collection, store)
    if sheet is not None and c.contains(sheet):
        raise UsageError(f"{sheet} lies inside the collection, where nothing is ever written.")
    groups = c.tagging.scenes(words=words, progress=ProgressBar(), filters=filters_of(**given))
    say_uncut(groups.without_regions, groups.cut_otherwise)
    if as_json:
        print_json(groups.to_dict())
    elif as_csv:
        rows = [(s.number, len(s.pictures), " ".join(w.word for w in s.words)) for s in groups]
        print_csv(["scene", "pictures", "words"], rows)
    else:
        for s in groups:
            distinctive = ", ".join(f"{w.word} {w.share:.0%}" for w in s.words)
            click.echo(f"scene {s.number}\t{counted(len(s.pictures), 'picture')}\t{distinctive}")
    if sheet is not None:
        draw_sheets(c, groups, Path(sheet))
    return 0
