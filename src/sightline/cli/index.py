"""`sightline index`: index new and changed pictures of a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sightline.cli.common import (
    ListingOption,
    common_options,
    compute_option,
    feature_names,
    open_collection,
    print_json,
)
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection

_ALLOW_EMPTY = "Allow indexing an empty folder, which removes all pictures from the index."


@click.command()
@click.argument("folder", required=False, type=click.Path())
@click.option(
    "--words",
    multiple=True,
    type=click.Path(),
    help="A table of words: CSV, TSV, COCO captions JSON or JSON lines. It is remembered.",
)
@click.option(
    "--forget-words", multiple=True, type=click.Path(), help="Stop reading a table of words."
)
@click.option(
    "--labels-in",
    multiple=True,
    metavar="COLUMN",
    help="A column of --words that holds labels. It is remembered with the table.",
)
@click.option(
    "--text-in",
    multiple=True,
    metavar="COLUMN",
    help="A column of --words that holds running text. It is remembered with the table.",
)
@click.option(
    "--label-separator",
    type=click.Choice([";", ",", "|", "none"]),
    help="What separates the labels in a cell of --words.",
)
@click.option("--folder-words/--no-folder-words", default=None, help="Use folder names as words.")
@click.option(
    "--txt-as",
    type=click.Choice(["auto", "labels", "text"]),
    help="How .txt files beside pictures are read; auto takes a short list for labels.",
)
@click.option(
    "--language",
    metavar="NAME",
    help="Language of the words, such as english or en; auto detects it by stop words, none folds "
    "no plurals.",
)
@click.option(
    "--features",
    multiple=True,
    cls=ListingOption,
    listing=feature_names,
    help="A feature to compute for every picture from now on too, or a set of them:",
)
@click.option(
    "--vectors",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Vectors you computed: .npy, .npz, .parquet or .safetensors. The file is remembered.",
)
@click.option(
    "--key-column",
    metavar="NAME",
    default="",
    help="The column or array of --vectors (or --words) that holds paths or file names.",
)
@click.option(
    "--by-order",
    is_flag=True,
    help="Rows of --vectors have no keys: they are in the order of the pictures' sorted paths.",
)
@click.option(
    "--forget-vectors",
    multiple=True,
    metavar="FILE|NAME",
    help="Stop reading a file of vectors, and drop them.",
)
@click.option(
    "--refit",
    is_flag=True,
    help="Fit the codebooks of features again, and compute anew "
    "the features that earlier versions defined otherwise.",
)
@click.option("--workers", type=int, help="Number of worker processes; 0 for one per core.")
@compute_option
@click.option("--shards", type=int, help="Number of data-parallel shards for k-means.")
@click.option("--max-megapixels", type=float, help="Skip larger pictures.")
@click.option("--max-file-mb", type=float, help="Skip larger files.")
@click.option("--seconds", type=float, help="Time limit for one file.")
@click.option("--follow", is_flag=True, default=None, help="Follow links inside the collection.")
@click.option("--hidden", is_flag=True, default=None, help="Also read names that begin with a dot.")
@click.option("--exclude", help="Folder names to leave out, separated by commas.")
@click.option("--retry", is_flag=True, help="Try skipped files again.")
@click.option("--allow-empty", is_flag=True, help=_ALLOW_EMPTY)
@click.option("--wait", type=float, help="Seconds to wait for another writer.")
@click.option("--strict", is_flag=True, help="Exit with 1 if any file was skipped.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@common_options
def index(
    folder: str | None,
    words: tuple[str, ...],
    forget_words: tuple[str, ...],
    labels_in: tuple[str, ...],
    text_in: tuple[str, ...],
    label_separator: str | None,
    features: tuple[str, ...],
    vectors: tuple[str, ...],
    forget_vectors: tuple[str, ...],
    key_column: str,
    by_order: bool,
    refit: bool,
    retry: bool,
    allow_empty: bool,
    strict: bool,
    dry_run: bool,
    as_json: bool,
    collection: str | None,
    store: str | None,
    debug: bool,
    **flags: Any,
) -> int:
    """Index new and changed pictures of FOLDER and their words.

    Words are read from IPTC and XMP in the files, from .txt and .xmp files beside them, and from
    tables named with --words. Nothing is ever written inside FOLDER.
    """
    from sightline.pictures.word_columns import ColumnRules
    from sightline.progress import ProgressBar

    named = [name.strip() for given in features for name in given.split(",") if name.strip()]
    c = open_collection(folder or collection, store, writes=True, **flags)
    # With both kinds of files in one call, the key column is that of the vectors.
    key_of_words, key_column = ("", key_column) if vectors or not words else (key_column, "")
    columns = ColumnRules(labels_in, text_in, key_of_words, label_separator or "")
    if dry_run:
        return _preview(
            c, as_json, words=words, forget_words=forget_words, columns=columns,
            features=named, vectors=vectors, by_order=by_order, key_column=key_column,
            refit=refit,
        )  # fmt: skip
    from sightline.cli.log import logged
    from sightline.collection.index.skipped import skip_lines

    with logged(c, "index"):
        report = c.index(
            words=words,
            forget_words=forget_words,
            columns=columns,
            features=named,
            vectors=vectors,
            forget_vectors=forget_vectors,
            by_order=by_order,
            key_column=key_column,
            refit=refit,
            retry=retry,
            allow_empty=allow_empty,
            progress=ProgressBar(),
        )
    if as_json:
        print_json(report.to_dict())
    else:
        for p in report.problems[:20]:
            click.echo(p, err=True)
        for line in skip_lines(report.groups, report.left_out, left_out_new=report.left_out_new):
            click.echo(line, err=True)
        for line in report.word_lines():
            click.echo(line)
        for summary in [t.summary() for t in report.tables] + [v.summary() for v in report.vectors]:
            click.echo(summary)
        reused = f", {report.reused} reused" if report.reused else ""
        reused += f", {report.described} described" if report.described else ""
        click.echo(
            f"{report.seen} seen = {report.indexed} indexed + {len(report.skipped)} skipped "
            f"({report.added} new, {report.changed} changed, {report.moved} moved, "
            f"{report.gone} gone{reused}) in {report.seconds:.1f} s"
        )
        if report.starting_words:
            click.echo(
                "No picture has a word yet. A network suggests pictures for nouns, such as: "
                "sightline search dog"
            )
    return 1 if strict and report.skipped else 0


def _preview(c: Collection, as_json: bool, **given: Any) -> int:
    from sightline.collection.index.skipped import skip_lines

    p = c.preview(**given)
    if as_json:
        print_json(p.to_dict())
        return 0
    for problem in p.problems[:20]:
        click.echo(problem, err=True)
    for todo in p.plan.read[:20]:
        click.echo(f"would read {shown(todo.file.path)}")
    if len(p.plan.read) > 20:
        click.echo(f"… and {len(p.plan.read) - 20} more")
    for name, n in p.features.items():
        click.echo(f"would compute {name} for {n} pictures")
    for line in skip_lines(p.groups, p.left_out, left_out_new=True):
        click.echo(line, err=True)
    for table in p.tables:
        click.echo(table.summary())
    described = f"{p.described} that lack features + " if p.described else ""
    click.echo(
        f"{p.plan.seen} seen = {len(p.plan.read)} to read + {p.reworded} with changed words + "
        f"{described}{p.skipped} skipped + {p.same} as they were; "
        f"{len(p.plan.vanished)} no longer there"
    )
    return 0
