"""Contact sheets of scenes: a PNG with the most probable pictures of each scene."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.cli.common import counted
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.tagging.scenes import Scene, Scenes

_ON_A_SHEET = 20


def draw_sheets(c: Collection, scenes: Scenes, folder: Path) -> None:
    """Draw the most probable pictures of each scene.

    Sheets of an earlier run are removed; a folder with any other file is rejected.
    """
    from sightline.collection.tagging.drawing import SCENES, clear_drawings, save_drawing
    from sightline.pictures.thumbnails import contact_sheet

    clear_drawings(folder, SCENES)
    for s in scenes:
        sheet = contact_sheet(c.pictures.thumbnails(s.pictures[:_ON_A_SHEET]), _titles(c, s))
        save_drawing(sheet, folder / f"scene-{s.number:02d}.png", SCENES)
    click.echo(f"drew {counted(len(scenes), 'sheet')} into {folder}", err=True)


def _titles(c: Collection, s: Scene) -> list[str]:
    best = s.pictures[:_ON_A_SHEET]
    with c.store_folder.reader() as reader:
        facts = reader.catalogue.facts(best)
    return [shown(os.path.basename(facts[p].path)) if p in facts else "" for p in best]
