"""`sightline serve`: serve the collection over HTTP to clients that have the token."""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.cli.common import FIX_PERMISSIONS, engine_option, open_collection
from sightline.cli.federation import federation_options, only, open_several
from sightline.errors import MissingExtra, UsageError
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.federation import Collections
    from sightline.web.hosts import WebOrigin
    from sightline.web.server import Address
    from sightline.web.service import Front

    _Where = tuple[str, int, tuple[str, ...], tuple[WebOrigin, ...]]

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
@federation_options
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
    collection: tuple[str, ...],
    store: tuple[str, ...],
    server: tuple[str, ...],
    server_token: tuple[Path, ...],
    debug: bool,
) -> int:
    """Serve the collection over HTTP until Ctrl-C.

    Every request needs the token of this run. docs/api.md describes the API.

    Several collections, and other servers, are served for search alone: to index, train or judge
    one of them, serve it alone.
    """
    try:
        from sightline.web.server import check_bind
    except ImportError as e:
        raise MissingExtra.of("The service", "serve") from e
    from sightline.federation import LocalMember
    from sightline.web.hosts import WebOrigin, is_name

    several = open_several(collection, store, server, server_token, engine=engine)
    if several is None:
        c = open_collection(only(collection), only(store), engine=engine)
        local = [c]
    else:
        local = [m.collection for m in several.members.values() if isinstance(m, LocalMember)]
    if target is not None:
        return _once(_service(local, several, ""), target)
    named = bool(allow_host or allow_origin)
    check_bind(host, allow_remote, token_file is not None, named)
    for name in allow_host:
        if not is_name(name):
            raise UsageError(f"{name!r} is not a host name. Write one as in the URL.")
    origins = tuple(map(WebOrigin.of, allow_origin))
    token = _token(local, token_file)
    where = host, port, allow_host, origins
    if several is not None:
        _serve_several(several, _service(local, several, token), where, as_json, token_file)
        return 0
    from sightline.collection.index.checks import check_indexable

    # A damaged store is reported now, not to the first client; a missing one can be indexed.
    if not c.store.version():
        check_indexable(c.root, c.store_folder)
        click.echo('Nothing is indexed yet. To index: POST /v1/jobs {"verb": "index"}', err=True)
    _serve(c, _service(local, None, token), where, as_json, token_file)
    return 0


def _service(local: Sequence[Collection], several: Collections | None, token: str) -> Front:
    from sightline.web.federated_service import FederatedService
    from sightline.web.service import Service

    return Service(local[0], token) if several is None else FederatedService(several, token)


def _once(service: Front, target: str) -> int:
    from sightline.web.serving.one_request import one_request

    status, _, body = one_request(service, target)
    sys.stdout.buffer.write(body)
    if body and not body.endswith(b"\n") and sys.stdout.isatty():
        sys.stdout.buffer.write(b"\n")
    return 0 if status < 400 else 1


def _token(local: Sequence[Collection], file: Path | None) -> str:
    from sightline.web.serving.tokens import kept_token

    if file is None:
        return ""
    if any(c.contains(file) for c in local):
        raise UsageError(f"{file} lies inside the collection, where nothing is ever written.")
    return kept_token(file, lambda: secrets.token_urlsafe(32))


def _ready(what: str, as_json: bool, token_file: Path | None) -> Callable[[Address, object], None]:
    """Return what prints the address of the server."""

    def ready(at: Address, server: object) -> None:
        if as_json:
            token = None if token_file else at.token
            click.echo(json.dumps({"url": at.url, "login": at.login, "token": token}))
        else:
            click.echo(f"Serving {what} on {at.url}")
            click.echo(f"For a browser, once: {at.login}")
            show = f"the token in {token_file}" if token_file else at.token
            click.echo(f"For programs: Authorization: Bearer {show}")
        sys.stdout.flush()

    return ready


def _serve(
    c: Collection, service: Front, where: _Where, as_json: bool, token_file: Path | None
) -> None:
    from sightline.cli.log import logged
    from sightline.store.locks import set_program
    from sightline.store.upkeep.permissions import describe
    from sightline.web.server import serve
    from sightline.web.serving.ending import LastResort

    set_program("sightline serve")
    resort = LastResort()
    # Ctrl-C is the normal way to stop a server.
    with logged(c, "serve") as log, contextlib.suppress(KeyboardInterrupt):
        if found := c.store.exposed():
            warning = f"{describe(found)}. Run: {FIX_PERMISSIONS}"
            log.warning("%s", warning)
            click.echo(f"warning: {warning}", err=True)
        serve(service, *where, _ready(shown(c.root), as_json, token_file), resort)
    resort.settle()


def _serve_several(
    several: Collections, service: Front, where: _Where, as_json: bool, token_file: Path | None
) -> None:
    """Serve several collections; nothing is written, not even a log."""
    from sightline.web.server import serve
    from sightline.web.serving.ending import LastResort

    for name, size in several.sizes().items():
        if isinstance(size, str):
            click.echo(f"warning: {name} does not answer: {size}", err=True)
    resort = LastResort()
    with contextlib.suppress(KeyboardInterrupt):
        serve(service, *where, _ready(", ".join(several.members), as_json, token_file), resort)
    resort.settle()
