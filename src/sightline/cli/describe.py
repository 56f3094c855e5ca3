"""`sightline describe`: rank words for a picture."""

from __future__ import annotations

import click

from sightline.cli.common import (
    common_options,
    open_collection,
    output_options,
    print_csv,
    print_json,
)


@click.command()
@click.argument("picture")
@click.option("-t", "--top", type=int, help="Words to show.")
@click.option("--no-cutoff", is_flag=True, help="Also show words that hardly fit.")
@output_options
@common_options
def describe(
    picture: str,
    top: int | None,
    no_cutoff: bool,
    as_json: bool,
    as_csv: bool,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Rank the words that were learnt for PICTURE: a file anywhere, or an id of the collection.

    The score is how likely the word fits. Words for which a search would not show the picture are
    left out; those it carries are marked.
    """
    c = open_collection(collection, store, top=top)
    told = c.describe(picture)
    words = [w for w in told.words if no_cutoff or w.fits or w.carried]
    if as_json:
        print_json(
            {
                "picture": told.picture,
                "version": told.version,
                "words": [
                    {"word": w.word, "score": w.score, "fits": w.fits, "carried": w.carried}
                    for w in words
                ],
            }
        )
    elif as_csv:
        rows = [(w.score, w.word, int(w.fits), int(w.carried)) for w in words]
        print_csv(["score", "word", "fits", "carried"], rows)
    else:
        for w in words:
            mark = "carried" if w.carried else "learnt" if w.fits else "unlikely"
            click.echo(f"{w.score:.4f}\t{w.word}\t{mark}")
    if not words:
        click.echo("No word fits. All there are: --no-cutoff", err=True)
    return 0
