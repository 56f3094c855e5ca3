"""`sightline tag`: propose words with where they lie, and doubt words that pictures carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sightline.cli.common import (
    common_options,
    counted,
    open_collection,
    output_options,
    print_csv,
    print_json,
    text_of,
    wait_option,
)
from sightline.cli.filters import filter_options, filters_of, full_path
from sightline.cli.tag.uncut import say_uncut
from sightline.errors import UsageError
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.tagging.suggest import Suggestion, Suggestions

_NAMED = 8
_HEADER = (
    "kind", "word", "confidence", "path", "scene", "left", "top", "width", "height",
)  # fmt: skip


@click.command()
@click.argument("pictures", nargs=-1)
@click.option(
    "--precision", type=float, default=0.9, show_default=True,
    help="The share of proposed words that shall be right.",
)  # fmt: skip
@click.option("-t", "--top", type=int, help="Suggestions to show, the surest first.")
@click.option("--no-removals", is_flag=True, help="Do not doubt words that pictures carry.")
@click.option("--review", is_flag=True, help="Ask of each suggestion whether it is right.")
@click.option("--no-thumbnails", is_flag=True, help="With --review: show paths alone.")
@filter_options
@output_options
@wait_option
@common_options
def tag(
    pictures: tuple[str, ...],
    precision: float,
    top: int | None,
    no_removals: bool,
    review: bool,
    no_thumbnails: bool,
    as_json: bool,
    as_csv: bool,
    wait: float | None,
    collection: str | None,
    store: str | None,
    debug: bool,
    **given: Any,
) -> int:
    """Propose words for PICTURES, all by default, each with the region it lies in.

    Words are proposed where they would be right so often on pictures that nobody knows the words
    of; words of which too little is known for that are named and left alone. Words that pictures
    carry and hardly fit are doubted. Needs: sightline train --regions

    With --review each suggestion is asked about. Answers are read from stdin, a line each, and are
    on the disk before the next is read:

    \b
    y  n  s      it is right, it is not, skip it
    u            take the last answer back
    q            end; accepted words are carried from then on
    """
    from sightline.progress import ProgressBar

    if review and (as_json or as_csv):
        raise UsageError("--review asks a person; leave out --json and --csv.")
    c = open_collection(collection, store, wait=wait)
    options: dict[str, Any] = {
        "precision": precision, "k": top, "removals": not no_removals,
        "progress": ProgressBar(), "filters": filters_of(**given),
    }  # fmt: skip
    if review:
        from sightline.cli.dialogue.review import run_review

        return run_review(c, c.tagging.review(*pictures, **options), say_about, not no_thumbnails)
    found = c.tag(*pictures, **options)
    if as_json:
        print_json(_as_json(c, found))
        return 0
    say_about(found)
    if as_csv:
        print_csv(_HEADER, [_row(c, s) for s in found.suggestions])
        return 0
    for s in found.suggestions:
        sign = "+" if s.add else "-"
        path = shown(full_path(c, s.path))
        click.echo(f"{s.confidence:.4f}\t{sign}{s.word}\t{path}\t{box_of(s)}\tscene {s.scene}")
    return 0


def box_of(s: Suggestion) -> str:
    """Return where a word lies, as shares of the picture: left, top, width and height."""
    b = s.box
    return f"{b.left:.2f},{b.top:.2f},{b.width:.2f},{b.height:.2f}"


def say_about(suggestions: Suggestions) -> None:
    """Say what was looked at, and which words are never proposed."""
    add = sum(s.add for s in suggestions.suggestions)
    doubt = len(suggestions) - add
    click.echo(
        f"{counted(add, 'word')} proposed and {doubt} doubted in "
        f"{counted(suggestions.pictures, 'picture')}, at {suggestions.precision:.0%}",
        err=True,
    )
    say_uncut(suggestions.without_regions, suggestions.cut_otherwise)
    if suggestions.judged:
        said = counted(suggestions.judged, "suggestion")
        click.echo(f"{said} left out, since somebody has judged them", err=True)
    if suggestions.abstained:
        names = [f"{a.word} ({a.pictures})" for a in suggestions.abstained[:_NAMED]]
        more = f" and {len(suggestions.abstained) - _NAMED} more" * (
            len(suggestions.abstained) > _NAMED
        )
        click.echo(f"never proposed, for too little is known: {', '.join(names)}{more}", err=True)


def _row(c: Collection, s: Suggestion) -> tuple[object, ...]:
    b, kind = s.box, "add" if s.add else "remove"
    path = text_of(full_path(c, s.path))
    return kind, s.word, s.confidence, path, s.scene, b.left, b.top, b.width, b.height


def _as_json(c: Collection, found: Suggestions) -> dict[str, object]:
    from dataclasses import asdict

    from sightline.cli.tag.localization import mask_json

    return {
        "version": found.version,
        "precision": found.precision,
        "pictures": found.pictures,
        "without_regions": found.without_regions,
        "cut_otherwise": found.cut_otherwise,
        "judged": found.judged,
        "suggestions": [
            {
                "picture": s.picture,
                "path": text_of(full_path(c, s.path)),
                "kind": "add" if s.add else "remove",
                "word": s.word,
                "confidence": s.confidence,
                "scene": s.scene,
                "box": asdict(s.box),
                "mask": mask_json(s.mask),
            }
            for s in found.suggestions
        ],
        "abstained": [asdict(a) for a in found.abstained],
    }
