"""`sightline engine`: load a search engine, and compare it with the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sightline.cli.common import (
    common_options,
    counted,
    open_collection,
    print_json,
    wait_option,
)
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.store.engines.faiss_files import Built
    from sightline.store.engines.milvus_load import Load
    from sightline.store.engines.probing import Probes

ENGINES = ("faiss", "milvus")


@click.group()
def engine() -> None:
    """Search large collections with faiss or Milvus in place of a scan of all vectors."""


@engine.command("load")
@click.argument("name", type=click.Choice(ENGINES), metavar="faiss|milvus")
@click.option("--uri", default="", help="For milvus: its address, milvus://HOST:PORT.")
@click.option("--dry-run", is_flag=True, help="Show what would be loaded, and load nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@wait_option
@common_options
def load_engine(
    name: str,
    uri: str,
    dry_run: bool,
    as_json: bool,
    wait: float | None,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Load the current version of the store into an engine.

    Searches use it when all rows are loaded, if the setting `engine` names it.
    """
    c = open_collection(collection, store, wait=wait)
    return load(c, name, uri, dry_run=dry_run, as_json=as_json)


@engine.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@common_options
def status(as_json: bool, collection: str | None, store: str | None, debug: bool) -> int:
    """Compare the engine that the settings name with the store; exit with 1 if they differ."""
    c = open_collection(collection, store)
    state, problems = c.engines.status(), c.engines.problems()
    name, ready, about = "flat", True, "all vectors are scanned"
    if state is not None:
        name, ready, about = state.name, state.serves, state.message
    if as_json:
        print_json({"engine": name, "ready": ready, "about": about, "problems": problems})
    else:
        click.echo(f"{name}: {about}")
        for problem in problems:
            click.echo(problem, err=True)
    return int(not ready or bool(problems))


def load(c: Collection, name: str, uri: str, *, dry_run: bool, as_json: bool) -> int:
    """Load the current version into an engine, and print a report."""
    from sightline.cli.log import logged
    from sightline.progress import ProgressBar

    if uri and name != "milvus":
        raise UsageError(f"--uri says where Milvus is; {name} needs none. Leave it out.")
    with logged(c, f"engine load {name}"):
        if name == "milvus":
            loaded = c.engines.load_milvus(uri, dry_run=dry_run, progress=ProgressBar())
            if as_json:
                print_json({**loaded.to_dict(), "dry_run": dry_run})
            else:
                _show_load(loaded, dry_run)
            return 0
        built = c.engines.build_faiss(dry_run=dry_run, progress=ProgressBar())
    if as_json:
        print_json([b.to_dict() for b in built])
    else:
        _show_built(built, dry_run)
    return 0


def _how(p: Probes) -> str:
    return f"{p.lists} lists, {p.plain} looked into, recall@50 {p.recall:.3f}"


def _show_load(load: Load, dry_run: bool) -> None:
    for t in load.tables:
        state = {"kept": "is there", "new": "new", "resumed": "resumed"}[t.state]
        sent = f", {t.loaded} sent" if not dry_run and t.state != "kept" else ""
        more = f"; {_how(t.probes)}" if t.probes.lists else ""
        rows = f"{t.table.rows} rows of {t.table.length}"
        click.echo(f"{t.table.feature}\t{t.table.by}\t{rows}\t{state}{sent}{more}", err=True)
    for name in load.dropped:
        click.echo(f"removed {name}", err=True)
    if load.local:
        click.echo(
            f"Searched locally, since their rows are mostly zero or too long for Milvus: "
            f"{', '.join(load.local)}",
            err=True,
        )
    done = "would serve" if dry_run else "serves"
    click.echo(f"{load.uri} {done} version {load.version}: {counted(len(load.tables), 'table')}")
    if not dry_run:
        click.echo(f"To search by it: SIGHTLINE_ENGINE={load.uri}", err=True)


def _show_built(built: list[Built], dry_run: bool) -> None:
    for b in built:
        how = "" if dry_run and b.state == "new" else f"; {_how(b.probes)}"
        state = {"kept": "is there", "new": "would be built" if dry_run else "built"}[b.state]
        click.echo(f"{b.table.feature}\t{b.table.by}\t{b.table.rows} rows\t{state}{how}", err=True)
    if not built:
        click.echo("No table is large enough to be put into lists; all rows are scanned.")
        return
    click.echo(f"{counted(len(built), 'table')} for the engine faiss")
