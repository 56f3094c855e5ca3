"""`sightline duplicates`: group pictures that are equal, or nearly so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sightline.cli.common import (
    common_options,
    open_collection,
    output_options,
    print_csv,
    print_json,
    text_of,
)
from sightline.cli.filters import check_png, filter_options, filters_of, full_path
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
    **given: Any,
) -> int:
    """Group pictures of the same bytes, and pictures that look nearly equal.

    A line a picture: number of the group, best, copy or near, difference to the best one, path. The
    best one is the largest in pixels. Nothing is removed.
    """
    from sightline.progress import ProgressBar

    c = open_collection(collection, store)
    if sheet:
        check_png(c, Path(sheet), "A contact sheet")
    found = c.duplicates(threshold=threshold, progress=ProgressBar(), filters=filters_of(**given))
    if as_json:
        print_json(_as_json(c, found))
    elif as_csv:
        print_csv(["group", "mark", "difference", "path"], _rows(c, found))
    else:
        for number, mark, difference, path in _rows(c, found):
            click.echo(f"{number}\t{mark}\t{difference:.4f}\t{shown(path.encode(*_AS_TYPED))}")
    _say(found)
    if sheet and found.groups:
        _draw(c, found, Path(sheet))
    return 0


_AS_TYPED = ("utf-8", "surrogateescape")


def _rows(c: Collection, found: Duplicates) -> list[tuple[int, str, float, str]]:
    return [
        (number, d.mark, d.difference, text_of(full_path(c, d.path)))
        for number, group in enumerate(found, start=1)
        for d in group
    ]


def _say(found: Duplicates) -> None:
    n = sum(len(g) for g in found)
    spare = f"{found.spare_bytes / 1e6:.1f} MB besides the best of each"
    click.echo(f"{len(found)} groups with {n} of {found.compared} pictures; {spare}", err=True)
    if found.unseen:
        click.echo(f"{found.unseen} pictures were compared by their bytes alone.", err=True)


def _as_json(c: Collection, found: Duplicates) -> dict[str, object]:
    return {
        "threshold": found.threshold,
        "version": found.version,
        "compared": found.compared,
        "unseen": found.unseen,
        "spare_bytes": found.spare_bytes,
        "groups": [
            [
                {
                    "picture": d.picture,
                    "path": text_of(full_path(c, d.path)),
                    "mark": d.mark,
                    "difference": d.difference,
                    "width": d.width,
                    "height": d.height,
                    "bytes": d.n_bytes,
                }
                for d in group
            ]
            for group in found
        ],
    }


def _draw(c: Collection, found: Duplicates, target: Path) -> None:
    """Draw as many groups as a sheet has room for."""
    from sightline.pictures.thumbnails import contact_sheet

    shown_ones = [(n, d) for n, group in enumerate(found, start=1) for d in group][:_SHEET]
    titles = [f"{n} {d.mark} {d.difference:.3f}" for n, d in shown_ones]
    contact_sheet(c.pictures.thumbnails([d.picture for _, d in shown_ones]), titles).save(
        target, "PNG"
    )
    click.echo(f"drew {target}", err=True)
