"""`sightline scenes`: group pictures by learned scenes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from sightline.cli.common import (
    common_options,
    compute_features,
    counted,
    open_collection,
    output_options,
    print_csv,
    print_json,
)
from sightline.cli.filters import FilterOptions, filter_options, filters_of
from sightline.cli.tag import say_uncut
from sightline.errors import UsageError
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.tagging.scenes import Scene, Scenes

_ON_A_SHEET = 20


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
    **given: Unpack[FilterOptions],
) -> int:
    """Group pictures by learned scenes, each with its most distinctive words.

    Scenes are learned by sightline train regions. Without them, similar pictures are grouped, also
    where no picture has a word.
    """
    from sightline.progress import ProgressBar

    c = open_collection(collection, store)
    if sheet is not None and c.contains(sheet):
        raise UsageError(f"{sheet} lies inside the collection, where nothing is ever written.")
    if not c.status().region_model:
        compute_features(c)
    groups = c.tagging.scenes(words=words, progress=ProgressBar(), filters=filters_of(**given))
    if groups.by == "regions":
        say_uncut(groups.without_regions, groups.cut_otherwise)
    else:
        click.echo(f"Grouped by similarity ({groups.by}); no region model is trained.", err=True)
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
        _draw_sheets(c, groups, Path(sheet))
    return 0


def _draw_sheets(c: Collection, groups: Scenes, folder: Path) -> None:
    """Draw the most probable pictures of each scene.

    Sheets of an earlier run are removed; a folder with any other file is rejected.
    """
    from sightline.collection.tagging.drawing import SCENES, clear_drawings, save_drawing
    from sightline.pictures.thumbnails import contact_sheet

    clear_drawings(folder, SCENES)
    for s in groups:
        sheet = contact_sheet(c.pictures.thumbnails(s.pictures[:_ON_A_SHEET]), _titles(c, s))
        save_drawing(sheet, folder / f"scene-{s.number:02d}.png", SCENES)
    click.echo(f"drew {counted(len(groups), 'sheet')} into {folder}", err=True)


def _titles(c: Collection, s: Scene) -> list[str]:
    best = s.pictures[:_ON_A_SHEET]
    with c.store_folder.reader() as reader:
        facts = reader.catalogue.facts(best)
    return [shown(os.path.basename(facts[p].path)) if p in facts else "" for p in best]
