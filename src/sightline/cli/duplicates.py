"""`sightline duplicates`: group identical and nearly identical pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from sightline.cli.common import (
    common_options,
    open_collection,
    output_options,
    print_csv,
    print_json,
    text_of,
)
from sightline.cli.filters import FilterOptions, check_png, filter_options, filters_of, full_path
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.similarity.duplicates import Duplicates

_SHEET = 200
_THRESHOLD = (
    "How much two pictures of a group may differ, from 0 (the same bytes) to 0.5; 0.15 by default."
)


@click.command()
@click.option("--threshold", type=float, help=_THRESHOLD)
@click.option("--sheet", type=click.Path(), help="Also draw the groups as a contact sheet (PNG).")
@filter_options
@output_options
@common_options
def duplicates(
    threshold: float | None,
    sheet: str | None,
    as_json: bool,
    as_csv: bool,
    collection: str | None,
    store: str | None,
    debug: bool,
    **given: Unpack[FilterOptions],
) -> int:
    """Group pictures with the same bytes, and pictures that look nearly identical.

    Prints a line for each picture: number of the group; best, copy or near; difference to the best
    one; path. The best one has the most pixels. Nothing is removed.
    """
    from sightline.progress import ProgressBar

    c = open_collection(collection, store)
    if sheet:
        check_png(c, Path(sheet), "A contact sheet")
    groups = c.duplicates(threshold=threshold, progress=ProgressBar(), filters=filters_of(**given))
    if as_json:
        print_json(groups.to_dict(c.root))
    elif as_csv:
        print_csv(["group", "mark", "difference", "path"], _rows(c, groups))
    else:
        for number, mark, difference, path in _rows(c, groups):
            click.echo(f"{number}\t{mark}\t{difference:.4f}\t{shown(path.encode(*_AS_TYPED))}")
    _say(groups)
    if sheet and groups.groups:
        _draw(c, groups, Path(sheet))
    return 0


_AS_TYPED = ("utf-8", "surrogateescape")


def _rows(c: Collection, groups: Duplicates) -> list[tuple[int, str, float, str]]:
    return [
        (number, d.mark, d.difference, text_of(full_path(c, d.path)))
        for number, group in enumerate(groups, start=1)
        for d in group
    ]


def _say(groups: Duplicates) -> None:
    n = sum(len(g) for g in groups)
    spare = f"{groups.spare_bytes / 1e6:.1f} MB besides the best of each"
    click.echo(f"{len(groups)} groups with {n} of {groups.compared} pictures; {spare}", err=True)
    if groups.unseen:
        click.echo(f"{groups.unseen} pictures were compared by their bytes alone.", err=True)


def _draw(c: Collection, groups: Duplicates, target: Path) -> None:
    """Draw as many groups as fit on a contact sheet."""
    from sightline.pictures.thumbnails import contact_sheet

    shown_ones = [(n, d) for n, group in enumerate(groups, start=1) for d in group][:_SHEET]
    titles = [f"{n} {d.mark} {d.difference:.3f}" for n, d in shown_ones]
    contact_sheet(c.pictures.thumbnails([d.picture for _, d in shown_ones]), titles).save(
        target, "PNG"
    )
    click.echo(f"drew {target}", err=True)
