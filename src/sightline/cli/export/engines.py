"""What `sightline export milvus` and `export faiss` do and show."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from sightline.cli.common import counted, print_json

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.store.engines.faiss_files import Built
    from sightline.store.engines.milvus_loading import Load
    from sightline.store.engines.probing import Probes

FORMS = ("milvus", "faiss")


def run(c: Collection, form: str, uri: str, *, dry_run: bool, as_json: bool) -> int:
    """Fill an engine from the current version, and say what was done."""
    from sightline.cli.log import logged
    from sightline.progress import ProgressBar

    with logged(c, f"export {form}"):
        if form == "milvus":
            load = c.engines.load_milvus(uri, dry_run=dry_run, progress=ProgressBar())
            if as_json:
                print_json(_load_json(load, dry_run))
            else:
                _show_load(load, dry_run)
            return 0
        built = c.engines.build_faiss(dry_run=dry_run, progress=ProgressBar())
    if as_json:
        print_json([_built_json(b) for b in built])
    else:
        _show_built(built, dry_run)
    return 0


def _how(p: Probes) -> str:
    return f"{p.lists} lists, {p.plain} looked into, recall@50 {p.recall:.3f}"


def _show_load(load: Load, dry_run: bool) -> None:
    for t in load.tables:
        said = {"kept": "is there", "new": "new", "resumed": "gone on with"}[t.state]
        sent = f", {t.sent} sent" if not dry_run and t.state != "kept" else ""
        more = f"; {_how(t.probes)}" if t.probes.lists else ""
        rows = f"{t.view.rows} rows of {t.view.length}"
        click.echo(f"{t.view.feature}\t{t.view.by}\t{rows}\t{said}{sent}{more}", err=True)
    for name in load.dropped:
        click.echo(f"removed {name}", err=True)
    if load.at_home:
        click.echo(
            f"Searched at home, since their rows are mostly zero or too long for Milvus: "
            f"{', '.join(load.at_home)}",
            err=True,
        )
    done = "would serve" if dry_run else "serves"
    click.echo(f"{load.uri} {done} version {load.version}: {counted(len(load.tables), 'table')}")
    if not dry_run:
        click.echo(f"To search by it: SIGHTLINE_ENGINE={load.uri}", err=True)


def _load_json(load: Load, dry_run: bool) -> dict[str, object]:
    return {
        "uri": load.uri, "version": load.version, "dry_run": dry_run,
        "tables": [
            {
                "feature": t.view.feature, "by": t.view.by, "length": t.view.length,
                "rows": t.view.rows, "table": t.table, "state": t.state, "sent": t.sent,
                **asdict(t.probes),
            }
            for t in load.tables
        ],
        "dropped": list(load.dropped), "at_home": list(load.at_home),
    }  # fmt: skip


def _show_built(built: list[Built], dry_run: bool) -> None:
    for b in built:
        how = "" if dry_run and b.state == "new" else f"; {_how(b.probes)}"
        said = {"kept": "is there", "new": "would be built" if dry_run else "built"}[b.state]
        click.echo(f"{b.view.feature}\t{b.view.by}\t{b.view.rows} rows\t{said}{how}", err=True)
    if not built:
        click.echo("No table is large enough to be put into lists; all rows are scanned.")
        return
    click.echo(f"{counted(len(built), 'table')} for the engine faiss")


def _built_json(b: Built) -> dict[str, object]:
    return {
        "feature": b.view.feature, "by": b.view.by, "rows": b.view.rows, "state": b.state,
        **asdict(b.probes),
    }  # fmt: skip
