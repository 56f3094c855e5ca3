"""`sightline serve`: serve the collection over HTTP to clients that have the token."""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.cli.common import FIX_PERMISSIONS, common_options, engine_option, open_collection
from sightline.errors import MissingExtra, UsageError
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.web.hosts import WebOrigin
    from sightline.web.service import Service

_PORT = 8421


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True,
    help="The port; 0 for a free one.",
)  # fmt: skip
@click.option(
    "--token-file", type=click.Path(path_type=Path),
    help="Keep the token in this file, readable by you alone, and do not print it.",
)  # fmt: skip
@click.option("--allow-remote", is_flag=True, help="Accept other machines; needs --token-file.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="A host name for clients.")
@click.option(
    "--allow-origin", multiple=True, metavar="ORIGIN",
    help="The public origin of a reverse proxy: https://photos.example",
)  # fmt: skip
@click.option("--get", "target", metavar="PATH", help="Answer one request without a server.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")
@engine_option
@common_options
def serve(
    host: str,
    port: int,
    token_file: Path | None,
    allow_remote: bool,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
    target: str | None,
    as_json: bool,
    engine: str | None,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Serve the collection over HTTP until Ctrl-C.

    Every request needs the token of this run. docs/api.md describes the API.
    """
    try:
        from sightline.web import server
    except ImportError as e:
        raise MissingExtra.of("The service", "serve") from e
    from sightline.web.hosts import WebOrigin, is_name
    from sightline.web.service import Service

    c = open_collection(collection, store, engine=engine)
    if target is not None:
        return _once(c, target)
    named = bool(allow_host or allow_origin)
    server.check_bind(host, allow_remote, token_file is not None, named)
    for name in allow_host:
        if not is_name(name):
            raise UsageError(f"{name!r} is not a host name. Write one as in the URL.")
    origins = tuple(map(WebOrigin.of, allow_origin))
    token = _token(c, token_file)
    from sightline.collection.index.checks import check_indexable

    # A damaged store is reported now, not to the first client; a missing one can be indexed.
    if not c.store.version():
        check_indexable(c.root, c.store_folder)
        click.echo('Nothing is indexed yet. To index: POST /v1/jobs {"verb": "index"}', err=True)
    _serve(c, Service(c, token), (host, port, allow_host, origins), as_json, token_file)
    return 0


def _once(c: Collection, target: str) -> int:
    from sightline.web.service import Service
    from sightline.web.serving.one_request import one_request

    status, _, body = one_request(Service(c), target)
    sys.stdout.buffer.write(body)
    if body and not body.endswith(b"\n") and sys.stdout.isatty():
        sys.stdout.buffer.write(b"\n")
    return 0 if status < 400 else 1


def _token(c: Collection, file: Path | None) -> str:
    from sightline.web.serving.tokens import kept_token

    if file is None:
        return ""
    if c.contains(file):
        raise UsageError(f"{file} lies inside the collection, where nothing is ever written.")
    return kept_token(file, lambda: secrets.token_urlsafe(32))


def _serve(
    c: Collection, service: Service, where: tuple[str, int, tuple[str, ...], tuple[WebOrigin, ...]],
    as_json: bool, token_file: Path | None,
) -> None:  # fmt: skip
    from sightline.cli.log import logged
    from sightline.store.locks import set_program
    from sightline.store.upkeep.permissions import describe
    from sightline.web.server import Address, serve
    from sightline.web.serving.ending import LastResort

    def ready(at: Address, server: object) -> None:
        if as_json:
            token = None if token_file else at.token
            click.echo(json.dumps({"url": at.url, "login": at.login, "token": token}))
        else:
            click.echo(f"Serving {shown(c.root)} on {at.url}")
            click.echo(f"For a browser, once: {at.login}")
            show = f"the token in {token_file}" if token_file else at.token
            click.echo(f"For programs: Authorization: Bearer {show}")
        sys.stdout.flush()

    set_program("sightline serve")
    resort = LastResort()
    # Ctrl-C is the normal way to stop a server.
    with logged(c, "serve") as log, contextlib.suppress(KeyboardInterrupt):
        if found := c.store.exposed():
            warning = f"{describe(found)}. Run: {FIX_PERMISSIONS}"
            log.warning("%s", warning)
            click.echo(f"warning: {warning}", err=True)
        serve(service, *where, ready, resort)
    resort.settle()
