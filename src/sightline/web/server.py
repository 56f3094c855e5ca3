"""The server: the address it listens on, and its host names."""

from __future__ import annotations

import functools
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import uvicorn

from sightline.errors import UsageError
from sightline.web.app import guarded
from sightline.web.guard import Guard
from sightline.web.hosts import LOOPBACK, Hosts, WebOrigin, is_loopback, is_name, stands_for_all
from sightline.web.service import Front
from sightline.web.serving.connection import Connection, room_for
from sightline.web.serving.ending import EndingServer, LastResort

_HEADER_BYTES = 16_384
# The listen backlog.
_BACKLOG = 512
# Seconds that connections have to close at shutdown.
_END_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server; the URL `login` can be used once."""

    url: str
    login: str
    token: str


def check_bind(host: str, allow_remote: bool, own_token: bool, named: bool) -> None:
    """Raise for an address that other machines can reach, unless that is explicitly allowed."""
    if is_loopback(host):
        return
    if not allow_remote or not own_token:
        raise UsageError(
            f"On {host} other machines could reach the pictures, and what is sent can be read on "
            "the way. If that is meant, give --allow-remote and a token of your own: "
            "--token-file FILE."
        )
    if stands_for_all(host) and not named:
        raise UsageError(
            f"{host!r} is no name to ask by, so other machines would all be refused. "
            "Add the name that clients use: --allow-host NAME, or --allow-origin "
            "https://NAME behind a proxy."
        )


def serve(
    service: Front,
    host: str,
    port: int,
    names: Sequence[str] = (),
    origins: Sequence[WebOrigin] = (),
    ready: Callable[[Address, uvicorn.Server], None] = lambda address, server: None,
    resort: LastResort | None = None,
) -> None:
    """Serve until stopped.

    One search is done before the server says that it is ready, so that the first one of a client
    does not wait for the compiler and the model. Until then connections wait.

    Parameters
    ----------
    service : Front
        The collection or collections to serve.
    host : str
        The address to listen on.
    port : int
        The port; 0 for a free one.
    names : sequence of str, optional
        Host names that clients may use besides those of this machine.
    origins : sequence of WebOrigin, optional
        Public origins of reverse proxies in front of this server.
    ready : callable, optional
        Called with the address and the server when requests are accepted.
    resort : LastResort, optional
        Ends the process if it does not end by itself; without it, requests are waited for.
    """
    listening = _listen(host, port)
    try:
        at = listening.getsockname()[1]
        literal = host if ":" not in host else f"[{host.strip('[]')}]"
        also = [literal] if is_name(literal) and not stands_for_all(host) else []
        hosts = Hosts(at, [*LOOPBACK, *also, *names], origins)
        server = EndingServer(_config(guarded(service, hosts)), service, resort)
        url = f"http://{[*also, *names, LOOPBACK[0]][0]}:{at}"
        login = f"{[*origins, url][0]}/login?code={quote(service.code)}"
        address = Address(url, login, service.token)
        service.warm()
        ready(address, server)
        server.run(sockets=[listening])
    finally:
        listening.close()


def _listen(host: str, port: int) -> socket.socket:
    plain = host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    try:
        listening = socket.create_server((plain, port), family=family, backlog=_BACKLOG)
        # Inherited by connections; otherwise the second chunk of a response is delayed by 40 ms.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except (OSError, OverflowError) as e:
        raise UsageError(f"Cannot listen on {host}, port {port}: {e}. Name another one.") from e


def _config(app: Guard) -> uvicorn.Config:
    most = room_for(app.service.limits.connections)
    # uvicorn calls it like a class.
    http: Any = functools.partial(Connection, most=most)
    return uvicorn.Config(
        app, http=http, ws="none", lifespan="on", backlog=min(_BACKLOG, most),
        access_log=False, log_config=None, server_header=False, timeout_keep_alive=5,
        timeout_graceful_shutdown=_END_SECONDS, h11_max_incomplete_event_size=_HEADER_BYTES,
        proxy_headers=False,
    )  # fmt: skip
