"""`sightline sessions`: list judging sessions, or revert one."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from sightline.cli.common import common_options, counted, open_collection, print_json, wait_option
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.sessions import SessionState


@click.group(invoke_without_command=True)
@click.option("--empty", is_flag=True, help="Also list sessions without judgements.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common_options
@click.pass_context
def sessions(
    ctx: click.Context,
    empty: bool,
    as_json: bool,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """List sessions: id, time, relevant/not, rounds, state, query.

    An imported click log is a session too; it shows its number of lists in place of relevant/not.
    """
    if ctx.invoked_subcommand is not None:
        outer = ctx.find_root().obj
        outer.update({k: v for k, v in (("collection", collection), ("store", store)) if v})
        return 0
    c = open_collection(collection, store)
    states = c.sessions.all(empty=empty)
    if as_json:
        print_json([s.to_dict() for s in states])
        return 0
    if states and sys.stdout.isatty():
        click.echo("session\tlast answer\tfit/not\trounds\tstate\tquery", err=True)
    names = _names(c, states)
    for s in states:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(s.last))
        count = counted(s.lists, "list") if s.lists else f"{s.positive}/{s.negative}"
        click.echo(f"{s.id}\t{when}\t{count}\t{s.rounds}\t{_state(s)}\t{_asked(s, names)}")
    if not states:
        click.echo('Nothing was judged yet. To begin: sightline judge --query "WORDS"', err=True)
    return 0


def _state(s: SessionState) -> str:
    return f"saved as {', '.join(s.words)}" if s.state == "saved" else s.state


def _asked(s: SessionState, names: dict[int, str]) -> str:
    if s.query or not s.examples:
        return s.query
    like = (
        names.get(p, f"picture {p}") if isinstance(p, int) else shown(_bytes(p)) for p in s.examples
    )
    return "like " + ", ".join(like)


def _names(c: Collection, states: Sequence[SessionState]) -> dict[int, str]:
    """Return the paths of the example pictures of sessions, as far as they exist."""
    ids = {p for s in states for p in s.examples if isinstance(p, int)}
    with c.store_folder.reader() as reader:
        return {p: shown(f.path) for p, f in reader.catalogue.facts(ids).items()}


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


@sessions.command()
@click.argument("session")
@click.option("--dry-run", is_flag=True, help="Show what would be reverted, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@wait_option
@common_options
def revert(
    session: str,
    dry_run: bool,
    as_json: bool,
    wait: float | None,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Revert all judgements of SESSION and the words saved from it, also for later trainings."""
    c = open_collection(collection, store, writes=True, wait=wait)
    done = False if dry_run else c.sessions.revert(session)
    state = c.sessions.get(session)
    if as_json:
        print_json({**state.to_dict(), "changed": done})
        return 0
    what = counted(state.positive + state.negative, "judgement")
    if state.lists:
        what = counted(state.lists, "list with clicks", "lists with clicks")
    if state.words:
        what += f" and {counted(len(state.words), 'word')}"
    if dry_run and state.state != "reverted":
        click.echo(f"would revert {what}")
    elif done:
        click.echo(f"reverted {what} of {session}")
        if c.status().word_model:
            click.echo("To have the model forget them too: sightline train", err=True)
    else:
        click.echo(f"{session} was reverted before", err=True)
    return 0
