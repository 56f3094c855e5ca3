"""`sightline tag`: suggest words to add, with their regions, and find tags that are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

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
from sightline.cli.filters import FilterOptions, filter_options, filters_of, full_path
from sightline.errors import UsageError
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.tagging.suggest import Suggestion, Suggestions
    from sightline.collection.tagging.suspected import SuspectedTags

_NAMED = 8
_HEADER = (
    "kind", "word", "confidence", "path", "scene", "left", "top", "width", "height",
)  # fmt: skip


@click.command()
@click.argument("pictures", nargs=-1)
@click.option(
    "--precision", type=float, default=0.9, show_default=True,
    help="The required precision of suggested words.",
)  # fmt: skip
@click.option(
    "-k", "-t", "--top", "top", type=int, help="Suggestions to show, most confident first."
)
@click.option("--no-removals", is_flag=True, help="Do not suggest words to remove.")
@click.option(
    "--suspected", is_flag=True,
    help="List tags that are probably wrong, by the word model, in place of suggestions.",
)  # fmt: skip
@click.option("--review", is_flag=True, help="Ask for each suggestion whether it is right.")
@click.option("--no-thumbnails", is_flag=True, help="With --review: show only paths.")
@filter_options
@output_options
@wait_option
@common_options
def tag(
    pictures: tuple[str, ...],
    precision: float,
    top: int | None,
    no_removals: bool,
    suspected: bool,
    review: bool,
    no_thumbnails: bool,
    as_json: bool,
    as_csv: bool,
    wait: float | None,
    collection: str | None,
    store: str | None,
    debug: bool,
    **given: Unpack[FilterOptions],
) -> int:
    """Suggest words for PICTURES, all by default, each with its region.

    A word is suggested only where it reaches --precision on held-out pictures; words with too few
    pictures for that are listed. Words of pictures that are improbable are suggested for removal.
    Needs: sightline train regions

    With --suspected the word model lists tags that are probably wrong (suspected mislabels), most
    doubtful first, each with the probability that it is. Needs: sightline train

    With --review each suggestion is asked about. Answers are read from stdin, one per line, and
    each is saved before the next is read:

    \b
    y  n  s      it is right, it is wrong, skip it
    u            undo the last answer
    q            end; accepted words are then added to the pictures
    """  # noqa: D301
    from sightline.progress import ProgressBar

    if review and (as_json or as_csv):
        raise UsageError("--review asks a person; leave out --json and --csv.")
    c = open_collection(collection, store, wait=wait)
    if suspected and not review:
        return _show_suspected(
            c, c.tagging.suspected(*pictures, k=top, filters=filters_of(**given)), as_json, as_csv
        )
    options: dict[str, Any] = {
        "precision": precision, "k": top, "removals": not no_removals,
        "progress": ProgressBar(), "filters": filters_of(**given),
    }  # fmt: skip
    if review:
        options["suspected"] = suspected
        from sightline.cli.dialogue.review import run_review

        return run_review(c, c.tagging.review(*pictures, **options), say_about, not no_thumbnails)
    suggestions = c.tag(*pictures, **options)
    if as_json:
        print_json(suggestions.to_dict(c.root))
        return 0
    say_about(suggestions)
    if as_csv:
        print_csv(_HEADER, [_row(c, s) for s in suggestions.suggestions])
        return 0
    for s in suggestions.suggestions:
        sign = "+" if s.add else "-"
        path = shown(full_path(c, s.path))
        click.echo(f"{s.confidence:.4f}\t{sign}{s.word}\t{path}\t{box_of(s)}\tscene {s.scene}")
    return 0


def box_of(s: Suggestion) -> str:
    """Return the box of a word, as fractions of the picture: left, top, width and height."""
    b = s.box
    return f"{b.left:.2f},{b.top:.2f},{b.width:.2f},{b.height:.2f}"


def _show_suspected(c: Collection, tags: SuspectedTags, as_json: bool, as_csv: bool) -> int:
    """Print suspected mislabels."""
    if as_json:
        print_json(tags.to_dict(c.root))
        return 0
    say_about(tags)
    if as_csv:
        rows = [
            ("remove", s.word, s.confidence, text_of(full_path(c, s.path)))
            for s in tags.suggestions
        ]
        print_csv(_HEADER[:4], rows)
        return 0
    for s in tags.suggestions:
        click.echo(f"{s.confidence:.4f}\t-{s.word}\t{shown(full_path(c, s.path))}")
    return 0


def say_about(suggestions: Suggestions | SuspectedTags) -> None:
    """Print how many suggestions there are, and which words are never suggested."""
    from sightline.collection.tagging.suspected import SuspectedTags

    if isinstance(suggestions, SuspectedTags):
        click.echo(
            f"{counted(len(suggestions), 'suspected mislabel')}; of "
            f"{counted(suggestions.tags, 'tag')} about {suggestions.expected:.0f} are wrong",
            err=True,
        )
        if suggestions.judged:
            left = counted(suggestions.judged, "suspected mislabel")
            click.echo(f"{left} left out, since somebody has judged them", err=True)
        return
    add = sum(s.add for s in suggestions.suggestions)
    doubt = len(suggestions) - add
    click.echo(
        f"{counted(add, 'word')} proposed and {doubt} doubted in "
        f"{counted(suggestions.pictures, 'picture')}, at {suggestions.precision:.0%}",
        err=True,
    )
    say_uncut(suggestions.without_regions, suggestions.cut_otherwise)
    if suggestions.judged:
        left_out = counted(suggestions.judged, "suggestion")
        click.echo(f"{left_out} left out, since somebody has judged them", err=True)
    if suggestions.abstained:
        names = [f"{a.word} ({a.pictures})" for a in suggestions.abstained[:_NAMED]]
        more = f" and {len(suggestions.abstained) - _NAMED} more" * (
            len(suggestions.abstained) > _NAMED
        )
        click.echo(f"never proposed, for lack of evidence: {', '.join(names)}{more}", err=True)


def _row(c: Collection, s: Suggestion) -> tuple[object, ...]:
    b, kind = s.box, "add" if s.add else "remove"
    path = text_of(full_path(c, s.path))
    return kind, s.word, s.confidence, path, s.scene, b.left, b.top, b.width, b.height


def say_uncut(without: int, otherwise: int) -> None:
    """Report how many pictures lack the regions that the model needs, and what to run.

    Parameters
    ----------
    without : int
        Number of pictures that lack them.
    otherwise : int
        How many of these have regions with another fingerprint; only a new training uses them.
    """
    if n := without - otherwise:
        click.echo(
            f"{counted(n, 'picture')} not cut into regions yet. Run: sightline index", err=True
        )
    if otherwise:
        click.echo(
            f"{counted(otherwise, 'picture')} cut into regions anew since the training. "
            "Run: sightline train regions",
            err=True,
        )
