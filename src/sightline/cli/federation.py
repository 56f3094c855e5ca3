"""Several collections and servers on the command line: options, opening, and printing of hits."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sightline.cli.common import print_csv, print_json
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.federation import Collections, Member
    from sightline.federation.results import FederatedResults

F = TypeVar("F", bound=Callable[..., Any])
_COLUMNS = ("collection", "score", "path", "match", "probability")


def federation_options(command: F) -> F:
    """Add the options of commands that take several collections, in place of `common_options`."""
    for option in (
        click.option("--debug", is_flag=True, help="Show a traceback when something fails."),
        click.option(
            "--server-token", multiple=True, metavar="FILE", type=click.Path(path_type=Path),
            help="The file with the token of a --server, in their order.",
        ),
        click.option(
            "--server", multiple=True, metavar="URL",
            help="A Sightline server to search too, such as http://127.0.0.1:8421; repeatable.",
        ),
        click.option(
            "--store", multiple=True, type=click.Path(),
            help="The folder of the store; of several collections one each, in their order.",
        ),
        click.option(
            "-C", "--collection", multiple=True, type=click.Path(),
            help="The folder of pictures; repeatable.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def open_several(
    collection: Sequence[str], store: Sequence[str], server: Sequence[str],
    server_token: Sequence[Path], **flags: Any,
) -> Collections | None:  # fmt: skip
    """Open what several options name; None if they name no more than one collection."""
    if len(server_token) != len(server):
        raise UsageError(
            f"Name the file with the token of each server: --server-token FILE. Got "
            f"{len(server_token)} for {len(server)} servers."
        )
    if len(collection) < 2 and len(store) < 2 and not server:
        return None
    outer = click.get_current_context().find_root().obj or {}
    if not collection and outer.get("collection"):
        collection, store = (outer["collection"],), tuple(filter(None, (outer.get("store"),)))
    if store and len(store) != len(collection):
        raise UsageError(
            f"Name one --store for each --collection, or none. Got {len(store)} for "
            f"{len(collection)} collections."
        )
    from sightline.collection import Collection
    from sightline.federation import Collections
    from sightline.web.remote import RemoteMember, token_of

    places = store or (None,) * len(collection)
    parts: list[Collection | Member] = [
        Collection.open(f, s, **flags) for f, s in zip(collection, places, strict=True)
    ]
    parts += [RemoteMember(u, token_of(t)) for u, t in zip(server, server_token, strict=True)]
    return Collections(parts)


def only(values: Sequence[str]) -> str | None:
    """Return the value of an option that names one thing at most."""
    return values[0] if values else None


def check_alone(options: dict[str, object]) -> None:
    """Raise for options that need one collection."""
    named = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if named:
        raise UsageError(f"{', '.join(named)} works with one collection. Name one with -C FOLDER.")


def number_of_hits(top: int | None) -> int:
    """Return how many hits to show: the option, or the setting."""
    from sightline.settings import load

    return load({"top": top})[0].top


def print_federated(
    query: dict[str, object], results: FederatedResults, options: dict[str, Any]
) -> int:
    """Print hits as the options of the command say; return 1 if a collection did not answer."""
    for line in results.lines():
        click.echo(line, err=True)
    if not results.hits:
        click.echo("No picture fits.", err=True)
    if options["as_json"]:
        print_json({**query, **results.to_dict()})
    elif options["as_csv"]:
        rows = (h.to_dict() for h in results)
        print_csv(_COLUMNS, ([_cell(row[c]) for c in _COLUMNS] for row in rows))
    elif options["filepath_only"] or options["null"]:
        remote = [h for h in results if h.server]
        if remote:
            click.echo(f"{len(remote)} hits are on servers and no files here.", err=True)
        for h in results:
            if not h.server:
                end = b"\0" if options["null"] else b"\n"
                sys.stdout.buffer.write(os.fsencode(h.hit.file) + end)
    else:
        for h in results:
            also = f"\t(also in {', '.join(h.also_in)})" if h.also_in else ""
            click.echo(f"{h.hit.label}\t{h.collection}\t{h.path}{also}")
    return int(not results.is_complete)


def _cell(value: object) -> object:
    return "" if value is None else value
