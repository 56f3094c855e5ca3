"""`sightline describe`: rank words, or texts, for a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sightline.cli.common import (
    common_options,
    open_collection,
    output_options,
    print_csv,
    print_json,
)
from sightline.records import NOT_YET_PROVEN, shown

if TYPE_CHECKING:
    from sightline.collection import Collection


@click.command()
@click.argument("picture")
@click.option("-k", "-t", "--top", "top", type=int, help="Words, or texts, to show.")
@click.option("--texts", is_flag=True, help="Rank the texts of other pictures.")
@click.option("--no-cutoff", is_flag=True, help="Also show those below the cut-off.")
@output_options
@common_options
def describe(
    picture: str,
    top: int | None,
    texts: bool,
    no_cutoff: bool,
    as_json: bool,
    as_csv: bool,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Rank the learned words for PICTURE: any file, or an id of the collection.

    The score is the probability of the word. Words that are much more likely than on any picture
    come first; --json and --csv have the factor as the lift. Words below their cut-off are left
    out; words that the picture has are marked.

    With --texts, rank the texts of the collection; a text is all that is written about one picture.
    The score is the probability that it has a word in common with PICTURE. Needs a text model:
    sightline train text
    """
    c = open_collection(collection, store, top=top)
    if texts:
        return _texts(c, picture, no_cutoff, as_json, as_csv)
    description = c.pictures.describe(picture)
    words = [w for w in description.words if no_cutoff or w.fits or w.tagged]
    if as_json:
        print_json(
            {
                "id": description.picture,
                "picture": description.picture,
                "version": description.version,
                "words": [w.to_dict() for w in words],
            }
        )
    elif as_csv:
        rows = [(w.score, w.word, int(w.fits), int(w.tagged), w.lift) for w in words]
        print_csv(["score", "word", "fits", "carried", "lift"], rows)
    else:
        for w in words:
            mark = "tagged" if w.tagged else "predicted" if w.fits else "unlikely"
            shown_as = f"{w.score:.4f}" if w.proven else NOT_YET_PROVEN
            click.echo(f"{shown_as}\t{w.word}\t{mark}")
    if not words:
        click.echo("No word is above its cut-off. To show all: --no-cutoff", err=True)
    return 0


def _texts(c: Collection, picture: str, no_cutoff: bool, as_json: bool, as_csv: bool) -> int:
    description = c.pictures.describe_texts(picture)
    texts = [t for t in description.texts if no_cutoff or t.fits or t.own]
    rows = [
        (t.score, t.text, int(t.fits), int(t.own), t.picture, shown(t.path), t.pictures)
        for t in texts
    ]
    head = ["score", "text", "fits", "own", "picture", "path", "pictures"]
    if as_json:
        matches = [{**dict(zip(head, r, strict=True)), "fits": bool(r[2]), "own": bool(r[3])}
                   for r in rows]  # fmt: skip
        print_json({"id": description.picture, "picture": description.picture,
                    "version": description.version, "texts": matches})  # fmt: skip
    elif as_csv:
        print_csv(head, rows)
    else:
        for t in texts:
            more = f" and {t.pictures - 1} more" if t.pictures > 1 else ""
            mark = "its own" if t.own else "" if t.fits else "unlikely"
            of = f"{shown(t.path)}{more}"
            click.echo("\t".join([f"{t.score:.4f}", t.text, of, mark]).rstrip("\t"))
    if not texts:
        click.echo("No text is above the cut-off. To show all: --no-cutoff", err=True)
    return 0
