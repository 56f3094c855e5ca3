"""`sightline search`: find pictures by words."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
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
    say_constraints,
    say_missing,
    say_words,
)
from sightline.collection.filters import Filters
from sightline.errors import UsageError
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.explain import Explanation
    from sightline.collection.results import Results
    from sightline.collection.tagging.localize import LocalizedHit, LocalizedHits
    from sightline.federation import Collections
    from sightline.records import Hit


@click.command()
@click.argument("query", nargs=-1)
@click.option("-k", "-t", "--top", "top", type=int, help="Hits to show.")
@click.option("-f", "--filepath-only", is_flag=True, help="Print only paths, unescaped.")
@click.option("-0", "--null", is_flag=True, help="With -f: end each path with a NUL byte.")
@click.option(
    "--negative",
    "--not",
    "negative",
    multiple=True,
    help="A word that pictures must not have, or a picture file they should not be similar to.",
)
@click.option(
    "--positive",
    "--like",
    "positive",
    multiple=True,
    help="A picture file that hits should be similar to.",
)
@filter_options
@click.option("--no-cutoff", is_flag=True, help="Also show predicted hits below the cut-off.")
@click.option(
    "--no-predicted", "--no-learnt", is_flag=True, help="Only pictures that have the words."
)
@click.option("--verbatim", is_flag=True, help="Search every word as it is typed.")
@click.option("--text-file", type=click.Path(), help="A file with a long text as the query.")
@click.option("--queries", type=click.Path(), help="A file with one query per line, for --trec.")
@click.option("--trec", is_flag=True, help="Print a TREC run.")
@click.option("--sheet", type=click.Path(), help="Also draw the hits as a contact sheet (PNG).")
@click.option("--why", is_flag=True, help="Explain scores by words and parts of pictures.")
@click.option("--why-png", type=click.Path(), help="The file for the heat maps; implies --why.")
@click.option("--where", is_flag=True, help="Draw the region of each word in each hit.")
@click.option("--where-to", type=click.Path(), help="The folder to draw to; implies --where.")
@output_options
@engine_option
@federation_options
def search(
    query: tuple[str, ...],
    top: int | None,
    filepath_only: bool,
    null: bool,
    negative: tuple[str, ...],
    positive: tuple[str, ...],
    no_cutoff: bool,
    no_predicted: bool,
    verbatim: bool,
    text_file: str | None,
    queries: str | None,
    trec: bool,
    sheet: str | None,
    why: bool,
    why_png: str | None,
    where: bool,
    where_to: str | None,
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
    """Find pictures for the words of QUERY.

    Pictures that have every word come first, marked "exact". If a model is trained, predicted
    pictures follow, with the probability that they fit; then pictures that have some of the words,
    marked "partial". Scores, by which they are ordered, are in --json and --csv. Nouns that no
    model has learned are answered by a network, if the extra deep is installed: such hits come last
    and are marked "suggested".

    \b
    tree snow            pictures with both words first, then predicted ones
    +barn                must have this word
    -people              must not have this word
    2:red                counts twice as much
    "golden gate bridge" one tag of several words
    "dgo"                the word as typed; without quotes, a near one if no picture has it
    ./picture.jpg        similar pictures; with words, both count
    -./picture.jpg       less similar to this one

    Several collections and servers are searched as one: each hit names its own, and predictions
    are ordered by their probability. One that does not answer is named, with exit code 1.
    """  # noqa: D301
    several = open_several(collection, store, server, server_token, engine=engine)
    if several is not None:
        return _search_several(several, click.get_current_context().params)
    c = open_collection(only(collection), only(store), top=top, engine=engine)
    options = _Options(filters_of(**given), not no_cutoff, not no_predicted)
    why, draws = why or why_png is not None, why_png is not None or not as_json
    if why and (as_csv or trec or filepath_only or null):
        raise UsageError("--why explains hits in plain form or as --json; leave the other out.")
    target = _why_file(c, why_png) if why and draws else None
    where = where or where_to is not None
    if where and (why or as_csv or trec or filepath_only or null or text_file):
        raise UsageError("--where shows hits for words in plain form or as --json, without --why.")
    folder = _regions_folder(c, where_to) if where and (where_to or not as_json) else None
    if bool(queries) + bool(query) + bool(text_file) != 1:
        raise UsageError(
            "Name a query, such as: sightline search tree; or one file, with --queries or "
            "--text-file."
        )
    words, examples = _by_kind(positive, negative)
    if any(examples) and (why or where or trec or text_file or no_cutoff or no_predicted):
        raise UsageError("Example pictures go with words, filters and forms of output alone.")
    if text_file is not None and (why or trec or negative):
        raise UsageError("--text-file asks by a whole text: without --why, --trec and --negative.")
    if queries is not None:
        if not trec:
            raise UsageError("--queries answers many queries, which only --trec can print.")
        return _print_trec(c, _queries_in(Path(queries)), options)
    text = _query_text(query, words, verbatim)
    if trec:
        return _print_trec(c, [(text, text)], options)
    if text_file is not None:
        results = _by_text(c, text_file, given)
    else:
        _compute_features(c, text, examples)
        results = options.search(c, text, *examples)
    by_picture = hasattr(results, "shares")
    if by_picture and why:
        raise UsageError("--why explains words; for pictures: sightline similar PICTURE --why")
    _explain(c, results)
    if sheet:
        draw_sheet(c, results, Path(sheet))
    begun = time.monotonic()
    whys = _whys(c, text, results, not no_predicted) if why else []
    seconds = time.monotonic() - begun
    if where:
        return _show_where(c, text, results, folder, as_json)
    if as_json:
        print_json(_as_json(text, c, results, [{"why": w.to_dict()} for w in whys]))
    elif as_csv:
        print_csv(_COLUMNS, (_csv_row(c, h) for h in results.hits))
    else:
        for i, h in enumerate(results.hits):
            print_hit(c, h, filepath_only=filepath_only, null=null)
            for line in whys[i].lines() if whys else ():
                click.echo(f"\t{line}")
    if why and draws:
        _draw_whys(text, whys, target, seconds)
    return 0


# What is asked of one collection at a time.
_ALONE = (
    "positive", "text_file", "queries", "trec", "sheet", "why", "why_png", "where", "where_to",
)  # fmt: skip


def _search_several(several: Collections, options: dict[str, Any]) -> int:
    """Search several collections and print their hits."""
    check_alone({name: options[name] for name in _ALONE})
    filters = {name: options[name] for name in FilterOptions.__annotations__}
    text = _query_text(options["query"], options["negative"], options["verbatim"])
    results = several.search(
        text, number_of_hits(options["top"]), filters=filters_of(**filters),
        cut=not options["no_cutoff"], predicted=not options["no_predicted"],
    )  # fmt: skip
    return print_federated({"query": text}, results, options)


def _compute_features(c: Collection, text: str, examples: tuple[Sequence[str], ...]) -> None:
    """Compute what example pictures are compared by, if the query has any and pictures lack it."""
    from sightline.words.grammar import parse

    pictures = [*chain.from_iterable(examples), *(p.path for p in parse(text).pictures)]
    if pictures:
        compute_features(c, pictures)


_COLUMNS = ("score", "path", "tagged", "learnt", "match", "probability")


def _csv_row(c: Collection, h: Hit) -> tuple[object, ...]:
    likely = "" if h.probability is None else h.probability
    path = text_of(full_path(c, h.path))
    return h.score, path, int(h.tagged), int(h.learned), h.match, likely


def _show_where(
    c: Collection, text: str, results: Results, folder: Path | None, as_json: bool
) -> int:
    """Print hits with the regions of the query's words, and draw them."""
    localized = c.tagging.localize(text, hits=results.hits)
    _say_without_regions(localized)
    if as_json:
        print_json(_as_json(text, c, results, [{"where": h.to_dict()} for h in localized.hits]))
    else:
        for h in localized.hits:
            print_hit(c, h.hit)
            for line in _region_lines(h):
                click.echo(f"\t{line}")
    if folder is not None:
        _draw_regions(c, localized, folder)
    return 0


def _by_text(c: Collection, file: str, given: FilterOptions) -> Results:
    """Return the results of a long text."""
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError as e:
        raise UsageError(f"The text in {file} cannot be read: {e.strerror}.") from e
    return c.search_text(text, filters=filters_of(**given))


def _queries_in(file: Path) -> list[tuple[str, str]]:
    """Return the queries of a file as (name, text); a line is `text`, or `name<TAB>text`."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as e:
        raise UsageError(f"The queries in {file} cannot be read: {e}") from e
    queries = []
    for line in lines:
        name, _, text = line.rpartition("\t")
        if text.strip():
            queries.append((name.strip() or text.strip(), text.strip()))
    if not queries:
        raise UsageError(f"{file} holds no query. Write one a line.")
    return queries


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of a search."""

    filters: Filters
    cut: bool
    predicted: bool

    def search(
        self, c: Collection, text: str, positive: Sequence[str] = (), negative: Sequence[str] = ()
    ) -> Results:
        return c.search(
            text, positive=positive, negative=negative,
            filters=self.filters, cut=self.cut, predicted=self.predicted,
        )  # fmt: skip


def _print_trec(c: Collection, queries: list[tuple[str, str]], options: _Options) -> int:
    """Print results as a TREC run; pictures are identified by their paths in the collection."""
    from sightline.measures.judged import RankedList
    from sightline.measures.runs import run_lines

    for name, text in queries:
        found = options.search(c, text)
        say_words(found, text)
        hits = found.hits
        if not hits:
            click.echo(f"No picture fits {text!r}.", err=True)
            continue
        ids, scores = [text_of(h.path) for h in hits], [h.score for h in hits]
        for line in run_lines([RankedList(name, tuple(ids), tuple(scores))]):
            click.echo(line)
    return 0


def _by_kind(
    positive: Sequence[str], negative: Sequence[str]
) -> tuple[list[str], tuple[Sequence[str], Sequence[str]]]:
    """Return excluded words, and positive and negative example pictures."""
    if not negative:
        return [], (positive, [])
    from sightline.pictures.folder import is_picture_name

    pictures = [n for n in negative if is_picture_name(n)]
    return [n for n in negative if n not in pictures], (positive, pictures)


def _query_text(words: Sequence[str], excluded: Sequence[str], verbatim: bool) -> str:
    from sightline.words.grammar import as_typed

    text = " ".join([*words, *(_excluded(w) for w in excluded)])
    return as_typed(text) if verbatim else text


def _excluded(word: str) -> str:
    return f'-"{word}"' if " " in word else f"-{word}"


def _explain(c: Collection, results: Results) -> None:
    for u in results.unknown:
        near = f" Did you mean: {', '.join(u.near)}?" if u.near else ""
        click.echo(f"No picture has the word {u.word!r}.{near}", err=True)
    say_words(results)
    say_constraints(results)
    for line in results.suggested.lines():
        click.echo(line, err=True)
    if results.suggested.words and not results.hits:
        click.echo("None is likely enough; the best are shown with --no-cutoff.", err=True)
    say_missing(results)
    if (answer := getattr(results, "text_answer", None)) is not None:
        click.echo(str(answer), err=True)
    said = getattr(results, "said", "")
    for line in (said,) if isinstance(said, str) else said:
        if line:
            click.echo(line, err=True)
    if not results.hits and not results.unknown:
        click.echo("No picture fits.", err=True)
    if results.unknown and not results.hits:
        frequent = ", ".join(w.word for w in c.words.vocabulary(k=8)[0])
        if not frequent:
            click.echo("No picture of this collection has any word yet.", err=True)
        elif not any(u.near for u in results.unknown):
            click.echo(f"Frequent words of this collection: {frequent}", err=True)


def _as_json(
    query: str, c: Collection, results: Results, more: Sequence[dict[str, object]] = ()
) -> dict[str, object]:
    extras = more or [{}] * len(results)
    hits = [{**h.to_dict(c.root), **own} for h, own in zip(results.hits, extras, strict=True)]
    return {"query": query, **results.to_dict(c.root), "hits": hits}


def _why_file(c: Collection, named: str | None) -> Path | None:
    """Return the file to draw heat maps to; None for a temporary file.

    The default is `why.png` in the current folder, unless that is inside the collection. An
    existing file is overwritten only if it is such a drawing, or was named.
    """
    if named is not None:
        check_png(c, Path(named), "A heat map")
        if not Path(named).absolute().parent.is_dir():
            raise UsageError(f"There is no folder {Path(named).absolute().parent} to draw to.")
        return Path(named)
    import tempfile

    from sightline.collection.explain.drawing import is_drawing

    target = Path("why.png")
    if not c.contains(target):
        if target.exists() and not is_drawing(target):
            raise UsageError("why.png is here and no heat map. Name another file with --why-png.")
        return target
    if c.contains(tempfile.gettempdir()):
        raise UsageError("Name a PNG file outside the collection to draw to, with --why-png.")
    return None


def _whys(c: Collection, text: str, results: Results, predicted: bool) -> list[Explanation]:
    """Return the explanations of scores; report pictures that have no heat map."""
    from sightline.progress import ProgressBar

    whys = c.explain(text, hits=results.hits, predicted=predicted, progress=ProgressBar())
    problems = {w.problem for w in whys}
    if len(problems) == 1 and whys[0].problem:
        click.echo(f"No heat map: {whys[0].problem}.", err=True)
    else:
        for w in whys:
            if w.problem:
                click.echo(f"No heat map of {shown(w.hit.path)}: {w.problem}.", err=True)
    held = sorted({name for w in whys if w.parts for name in w.parts.held})
    if held:
        said = f"{', '.join(held)} cannot be computed from pixels here"
        click.echo(f"{said}; what they see is left out of the heat maps.", err=True)
    return whys


def _draw_whys(text: str, whys: Sequence[Explanation], target: Path | None, seconds: float) -> None:
    import tempfile

    from sightline.collection.explain.drawing import save_sheet

    drawn = [w for w in whys if w.parts is not None]
    if not drawn:
        return
    if target is None:
        fd, name = tempfile.mkstemp(prefix="sightline-why-", suffix=".png")
        os.close(fd)
        target = Path(name)
    save_sheet(drawn, text, target)
    of = f"{len(drawn)} of {len(whys)} hits"
    each = f"{seconds / len(drawn):.1f} s each"
    click.echo(f"drew {target}: {of} in {seconds:.1f} s, {each}", err=True)


def _regions_folder(c: Collection, named: str | None) -> Path:
    """Return the folder to draw to: the one named, else `where` in the current folder."""
    folder = Path(named or "where")
    if c.contains(folder):
        raise UsageError(
            f"{folder} lies inside the collection, where nothing is ever written. "
            "Name a folder elsewhere with --where-to."
        )
    return folder


def _say_without_regions(localized: LocalizedHits) -> None:
    """Report words that were not learned, and hits without regions."""
    if localized.unknown:
        names = ", ".join(repr(w) for w in localized.unknown)
        click.echo(f"The region model has not learned {names}.", err=True)
    # If no word was learned, all hits have this problem.
    placed = any(h.words for h in localized.hits)
    for h in localized.hits:
        if h.problem and (placed or not localized.unknown):
            click.echo(f"No region of {shown(h.hit.path)}: {h.problem}.", err=True)


def _region_lines(h: LocalizedHit) -> list[str]:
    """Return a line for each word of a hit."""
    texts = []
    for w in h.words:
        b = w.box
        box = f"{b.left:.2f},{b.top:.2f},{b.width:.2f},{b.height:.2f}"
        texts.append(f"{w.word}: {w.likely:.0%} likely{', tagged' * w.tagged}, in {box}")
    return texts


def _draw_regions(c: Collection, localized: LocalizedHits, folder: Path) -> None:
    """Draw overlays, and print the folder."""
    files = c.tagging.draw_regions(localized, folder)
    if files:
        click.echo(f"drew {len(files)} of {len(localized.hits)} hits into {folder}", err=True)
