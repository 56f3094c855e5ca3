"""`sightline search`: find pictures by words."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
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
from sightline.errors import UsageError
from sightline.records import Hit, shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.explaining import Why
    from sightline.collection.searching import Results


@click.command()
@click.argument("query", nargs=-1)
@click.option("-t", "--top", type=int, help="Hits to show.")
@click.option("-f", "--filepath-only", is_flag=True, help="Print only paths, as they are.")
@click.option("-0", "--null", is_flag=True, help="With -f: end each path with a NUL byte.")
@click.option("--not", "unwanted", multiple=True, help="A word pictures must not carry.")
@click.option("--folder", help="Only pictures below this folder of the collection.")
@click.option("--after", help="Only pictures taken on or after this date.")
@click.option("--before", help="Only pictures taken before this date.")
@click.option("--min-side", type=int, help="Only pictures with so many pixels on the longer side.")
@click.option("--max-side", type=int, help="Only pictures with at most so many.")
@click.option("--min-mb", type=float, help="Only files of at least so many megabytes.")
@click.option("--max-mb", type=float, help="Only files of at most so many.")
@click.option("--untagged", is_flag=True, help="Only pictures that carry no word at all.")
@click.option("--no-cutoff", is_flag=True, help="Also show learnt hits that hardly fit.")
@click.option("--no-learnt", is_flag=True, help="Only pictures that carry the words.")
@click.option("--queries", type=click.Path(), help="A file with a query a line, for --trec.")
@click.option("--trec", is_flag=True, help="Print a TREC run.")
@click.option("--sheet", type=click.Path(), help="Also draw the hits as a contact sheet (PNG).")
@click.option("--why", is_flag=True, help="Say which words and parts of pictures made the scores.")
@click.option("--why-png", type=click.Path(), help="Where to draw the parts; implies --why.")
@output_options
@common_options
def search(
    query: tuple[str, ...],
    top: int | None,
    filepath_only: bool,
    null: bool,
    unwanted: tuple[str, ...],
    folder: str | None,
    after: str | None,
    before: str | None,
    min_side: int | None,
    max_side: int | None,
    min_mb: float | None,
    max_mb: float | None,
    untagged: bool,
    no_cutoff: bool,
    no_learnt: bool,
    queries: str | None,
    trec: bool,
    sheet: str | None,
    why: bool,
    why_png: str | None,
    as_json: bool,
    as_csv: bool,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Find pictures for the words of QUERY.

    Pictures that carry every word come first. After a training, pictures that probably fit follow,
    with how likely they do; before it, pictures that carry some of the words.

    \b
    tree snow            with both words first (score over 1), then learnt ones
    +barn                must carry it
    -people              must not carry it
    2:red                counts twice as much
    "golden gate bridge" one label of several words
    """
    c = open_collection(collection, store, top=top)
    filters: dict[str, Any] = {
        "folder": folder, "after": after, "before": before, "min_side": min_side,
        "max_side": max_side, "untagged": untagged, "cut": not no_cutoff, "learnt": not no_learnt,
        "min_bytes": None if min_mb is None else int(min_mb * 1e6),
        "max_bytes": None if max_mb is None else int(max_mb * 1e6),
    }  # fmt: skip
    why, draws = why or why_png is not None, why_png is not None or not as_json
    if why and (as_csv or trec or filepath_only or null):
        raise UsageError("--why explains hits in plain form or as --json; leave the other out.")
    target = _why_file(c, why_png) if why and draws else None
    if bool(queries) == bool(query):
        raise UsageError("Name a query, such as: sightline search tree; or a file with --queries.")
    if queries is not None:
        if not trec:
            raise UsageError("--queries answers many queries, which only --trec can print.")
        return _print_trec(c, _queries_in(Path(queries)), filters)
    text = " ".join([*query, *(_unwanted(w) for w in unwanted)])
    if trec:
        return _print_trec(c, [(text, text)], filters)
    results = c.search(text, **filters)
    _explain(c, results)
    if sheet:
        draw_sheet(c, results, Path(sheet))
    begun = time.monotonic()
    whys = _whys(c, text, results, not no_learnt) if why else []
    seconds = time.monotonic() - begun
    if as_json:
        print_json(_as_json(text, c, results, whys))
    elif as_csv:
        rows = [
            (h.score, text_of(_full(c, h.path)), int(h.tagged), int(h.learnt)) for h in results.hits
        ]
        print_csv(["score", "path", "tagged", "learnt"], rows)
    else:
        for i, h in enumerate(results.hits):
            _print_hit(c, h, filepath_only or null, null)
            for line in whys[i].lines() if whys else ():
                click.echo(f"\t{line}")
    if why and draws:
        _draw_whys(text, whys, target, seconds)
    return 0


def _queries_in(file: Path) -> list[tuple[str, str]]:
    """Return the queries of a file as (name, text); a line is `text`, or `name<TAB>text`."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as e:
        raise UsageError(f"The queries in {file} cannot be read: {e}") from e
    found = []
    for line in lines:
        name, _, text = line.rpartition("\t")
        if text.strip():
            found.append((name.strip() or text.strip(), text.strip()))
    if not found:
        raise UsageError(f"{file} holds no query. Write one a line.")
    return found


def _print_trec(c: Collection, queries: list[tuple[str, str]], filters: dict[str, Any]) -> int:
    """Print answers as a TREC run; pictures go by their paths in the collection."""
    from sightline.measures.judged import RankedList
    from sightline.measures.runs import run_lines

    for name, text in queries:
        hits = c.search(text, **filters).hits
        if not hits:
            click.echo(f"No picture fits {text!r}.", err=True)
            continue
        ids, scores = [text_of(h.path) for h in hits], [h.score for h in hits]
        for line in run_lines([RankedList(name, tuple(ids), tuple(scores))]):
            click.echo(line)
    return 0


def _unwanted(word: str) -> str:
    return f'-"{word}"' if " " in word else f"-{word}"


def _full(c: Collection, path: bytes) -> bytes:
    return os.path.join(c.root, path)


def _print_hit(c: Collection, h: Hit, filepath_only: bool, null: bool) -> None:
    if filepath_only:
        sys.stdout.buffer.write(_full(c, h.path) + (b"\0" if null else b"\n"))
        return
    click.echo(f"{h.score:.4f}\t{shown(_full(c, h.path))}\t{mark_of(h)}")


def mark_of(h: Hit) -> str:
    """Say why a picture is among the hits."""
    return "carried" if h.tagged else "learnt" if h.learnt else "some"


def _explain(c: Collection, results: Results) -> None:
    for u in results.unknown:
        near = f" Near it: {', '.join(u.near)}." if u.near else ""
        click.echo(f"No picture carries {u.word!r}.{near}", err=True)
    if results.missing:
        click.echo(
            f"{results.missing} pictures are no longer where they were. Run: sightline index",
            err=True,
        )
    if not results.hits and not results.unknown:
        click.echo("No picture fits.", err=True)
    if results.unknown and not results.hits and not c.state().words:
        click.echo("No picture of this collection carries any word yet.", err=True)


def _as_json(
    query: str, c: Collection, results: Results, whys: Sequence[Why] = ()
) -> dict[str, object]:
    said = [{"why": w.as_json()} for w in whys] or [{}] * len(results)
    return {
        "query": query,
        "version": results.version,
        "hits": [
            {
                "picture": h.picture,
                "path": text_of(_full(c, h.path)),
                "score": h.score,
                "tagged": h.tagged,
                "learnt": h.learnt,
                **why,
            }
            for h, why in zip(results.hits, said, strict=True)
        ],
        "unknown": [{"word": u.word, "near": list(u.near)} for u in results.unknown],
    }


def draw_sheet(c: Collection, results: Results, target: Path) -> None:
    """Draw hits with their scores; never inside the collection."""
    from sightline.pictures.thumbnails import contact_sheet

    _check_png(c, target, "A contact sheet")
    if not results.hits:
        return
    thumbnails = c.thumbnails([h.picture for h in results.hits])
    titles = [f"{h.score:.2f} {mark_of(h)} {shown(os.path.basename(h.path))}" for h in results.hits]
    contact_sheet(thumbnails, titles).save(target, "PNG")
    click.echo(f"drew {target}", err=True)


def _check_png(c: Collection, target: Path, what: str) -> None:
    if target.suffix.lower() != ".png":
        raise UsageError(f"{what} is a PNG file. Name it so, not {target.name!r}.")
    if c.contains(target):
        raise UsageError(f"{target} lies inside the collection, where nothing is ever written.")


def _why_file(c: Collection, named: str | None) -> Path | None:
    """Return where to draw the parts of pictures; None for a temporary file.

    By default that is `why.png` where the user stands, unless that is inside the collection. What
    lies there is overwritten only if it is such a drawing, or was named.
    """
    if named is not None:
        _check_png(c, Path(named), "A heat map")
        if not Path(named).absolute().parent.is_dir():
            raise UsageError(f"There is no folder {Path(named).absolute().parent} to draw to.")
        return Path(named)
    import tempfile

    from sightline.collection.explaining.drawing import is_drawing

    target = Path("why.png")
    if not c.contains(target):
        if target.exists() and not is_drawing(target):
            raise UsageError("why.png is here and no heat map. Name another file with --why-png.")
        return target
    if c.contains(tempfile.gettempdir()):
        raise UsageError("Name a PNG file outside the collection to draw to, with --why-png.")
    return None


def _whys(c: Collection, text: str, results: Results, learnt: bool) -> list[Why]:
    """Find out what made the scores; say once why there are no parts, or of which pictures."""
    from sightline.progress import ProgressBar

    whys = c.why(text, hits=results.hits, learnt=learnt, progress=ProgressBar())
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


def _draw_whys(text: str, whys: Sequence[Why], target: Path | None, seconds: float) -> None:
    import tempfile

    from sightline.collection.explaining.drawing import save_sheet

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
