"""`sightline similar`: find pictures similar to given ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from sightline.cli.common import (
    compute_features,
    engine_option,
    open_collection,
    output_options,
    print_csv,
    print_json,
    text_of,
)
from sightline.cli.federation import (
    check_alone,
    federation_options,
    number_of_hits,
    only,
    open_several,
    print_federated,
)
from sightline.cli.filters import (
    FilterOptions,
    check_png,
    draw_sheet,
    filter_options,
    filters_of,
    full_path,
    print_hit,
    say_missing,
)
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.collection.similarity.candidates import SimilarResults
    from sightline.federation import Collections


@click.command()
@click.argument("pictures", nargs=-1, required=True)
@click.option(
    "--negative",
    "--not",
    "negative",
    multiple=True,
    help="A picture that hits should not be similar to.",
)
@click.option("-k", "-t", "--top", "top", type=int, help="Hits to show.")
@click.option("-f", "--filepath-only", is_flag=True, help="Print only paths, unescaped.")
@click.option("-0", "--null", is_flag=True, help="With -f: end each path with a NUL byte.")
@click.option("--exact", is_flag=True, help="Compare all pictures, without a shortlist.")
@click.option("--why", is_flag=True, help="Show the contribution of each feature.")
@click.option("--sheet", type=click.Path(), help="Also draw the hits as a contact sheet (PNG).")
@filter_options
@output_options
@engine_option
@federation_options
def similar(
    pictures: tuple[str, ...],
    negative: tuple[str, ...],
    top: int | None,
    filepath_only: bool,
    null: bool,
    exact: bool,
    why: bool,
    sheet: str | None,
    as_json: bool,
    as_csv: bool,
    engine: str | None,
    collection: tuple[str, ...],
    store: tuple[str, ...],
    server: tuple[str, ...],
    server_token: tuple[Path, ...],
    debug: bool,
    **given: Unpack[FilterOptions],
) -> int:
    """Find pictures similar to PICTURES: files anywhere, or ids of the collection.

    They are ranked by the combination of features that sightline train similarity learned; without
    it, all features have equal weight. Several pictures are averaged.

    In several collections, pictures are compared with one file by the cosine of one feature, since
    what each collection learned of similarity does not compare.
    """
    several = open_several(collection, store, server, server_token, engine=engine)
    if several is not None:
        return _similar_in_several(several, click.get_current_context().params)
    if why and (as_csv or filepath_only or null):
        raise UsageError("--why explains hits in plain form or as --json; leave the other out.")
    c = open_collection(only(collection), only(store), top=top, engine=engine)
    if sheet:
        check_png(c, Path(sheet), "A contact sheet")
    compute_features(c, [*pictures, *negative], dense=False)
    results = c.similar(*pictures, negative=negative, exact=exact, filters=filters_of(**given))
    say_how(results)
    if sheet:
        draw_sheet(c, results, Path(sheet))
    if as_json:
        asked = {"positive": list(pictures), "negative": list(negative)}
        # What these were called in earlier releases.
        earlier = {"pictures": list(pictures), "not": list(negative)}
        print_json({**asked, **earlier, **results.to_dict(c.root, why=why)})
    elif as_csv:
        rows = [
            (h.score, text_of(full_path(c, h.path)), int(h.learned), h.match) for h in results.hits
        ]
        print_csv(["score", "path", "learnt", "match"], rows)
    else:
        for h, shares in zip(results.hits, results.shares, strict=True):
            print_hit(c, h, filepath_only=filepath_only, null=null)
            for share in shares if why else ():
                click.echo(f"\t{share}")
    return 0


def _similar_in_several(several: Collections, options: dict[str, Any]) -> int:
    """Compare one picture file with several collections and print their hits."""
    check_alone({name: options[name] for name in ("negative", "exact", "why", "sheet")})
    if len(options["pictures"]) != 1:
        raise UsageError("Several collections are compared with one picture file. Name one.")
    filters = {name: options[name] for name in FilterOptions.__annotations__}
    (file,) = options["pictures"]
    results = several.similar(file, number_of_hits(options["top"]), filters=filters_of(**filters))
    return print_federated({"positive": [file]}, results, options)


def say_how(results: SimilarResults) -> None:
    """Report on stderr if nothing was learned or features were left out."""
    if results.remark:
        click.echo(results.remark, err=True)
    for name, n in results.lacking:
        of = "the picture lacks it" if n == 1 else f"{n} of the pictures lack it"
        click.echo(f"Left out: {name}; {of} and it cannot be computed here.", err=True)
    for name, n in results.partly:
        click.echo(f"{n} pictures lack {name}, which counts 0 for them.", err=True)
    say_missing(results)
    if not results.hits:
        click.echo("No picture fits.", err=True)
