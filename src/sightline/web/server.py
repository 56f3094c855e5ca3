"""Serving: where the server listens, who is told its token, and one request without any server."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import uvicorn

from sightline.errors import StoreIOError, UsageError
from sightline.web.answers import Message, Scope
from sightline.web.app import guarded
from sightline.web.connection import Connection
from sightline.web.guard import Guard
from sightline.web.hosts import LOOPBACK, Hosts, Origin, is_loopback, is_name, stands_for_all
from sightline.web.service import Service

_HEADER_BYTES = 16_384
_SHORTEST_TOKEN = 22  # characters that hold 128 bits
# Connections and jobs have so long each to end by themselves.
_END_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens; `login` is good for one browser, once."""

    url: str
    login: str
    token: str


def refuse_open_bind(host: str, allow_remote: bool, own_token: bool, named: bool) -> None:
    """Refuse to be reached from other machines, unless that was said, by whom and by which name."""
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


def kept_token(file: Path, make: Callable[[], str]) -> str:
    """Return the token in a file, which only its owner may read; one is made if there is none."""
    try:
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _read_token(file)
    except OSError as e:
        raise StoreIOError(f"{file} cannot be made: {e.strerror}. Name another file.") from e
    with os.fdopen(fd, "w", encoding="ascii") as new:
        token = make()
        new.write(token + "\n")
    return token


def _read_token(file: Path) -> str:
    fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(fd, encoding="ascii", errors="replace") as kept:
        mode = os.fstat(kept.fileno()).st_mode
        token = kept.read(1000).strip()
    if not stat.S_ISREG(mode) or mode & 0o077:
        raise UsageError(f"Others can read {file}. Run: chmod 600 {file}")
    if len(token) < _SHORTEST_TOKEN or not token.isprintable() or " " in token:
        raise UsageError(
            f"The token in {file} must have at least {_SHORTEST_TOKEN} characters, without spaces. "
            "Remove the file to have one made."
        )
    return token


def serve(
    service: Service,
    host: str,
    port: int,
    names: Sequence[str] = (),
    origins: Sequence[Origin] = (),
    ready: Callable[[Address, uvicorn.Server], None] = lambda address, server: None,
) -> None:
    """Serve until stopped; `ready` is told once requests are taken.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes a free one.
    names
        Names besides those of this machine itself under which clients may ask.
    origins
        Where a proxy in front of this server shows it to browsers.
    """
    listening = _listen(host, port)
    try:
        at = listening.getsockname()[1]
        own = host if ":" not in host else f"[{host.strip('[]')}]"
        also = [own] if is_name(own) and not stands_for_all(host) else []
        hosts = Hosts(at, [*LOOPBACK, *also, *names], origins)
        server = uvicorn.Server(_config(guarded(service, hosts)))
        url = f"http://{[*also, *names, LOOPBACK[0]][0]}:{at}"
        login = f"{[*origins, url][0]}/login?code={quote(service.code)}"
        address = Address(url, login, service.token)
        ready(address, server)
        server.run(sockets=[listening])
    finally:
        listening.close()


def _listen(host: str, port: int) -> socket.socket:
    plain = host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    try:
        found = socket.create_server((plain, port), family=family, backlog=512)
        # Connections inherit it: else the second part of an answer waits 40 ms for the first.
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found
    except (OSError, OverflowError) as e:
        raise UsageError(f"Cannot listen on {host}, port {port}: {e}. Name another one.") from e


def _config(app: Guard) -> uvicorn.Config:
    return uvicorn.Config(
        app, http=Connection, ws="none", lifespan="on", access_log=False, log_config=None,
        server_header=False, timeout_keep_alive=5, timeout_graceful_shutdown=_END_SECONDS,
        h11_max_incomplete_event_size=_HEADER_BYTES, proxy_headers=False,
    )  # fmt: skip


def ask_once(service: Service, target: str) -> tuple[int, str, bytes]:
    """Answer one GET without a server; return status, type and body."""
    port = 80
    app = guarded(service, Hosts(port))
    try:
        return asyncio.run(_asked(app, target, service.token))
    finally:
        service.close()


async def _asked(app: Guard, target: str, token: str) -> tuple[int, str, bytes]:
    parts = urlsplit(target if target.startswith("/") else f"/{target}")
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
    scope: Scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": unquote(parts.path), "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(), "root_path": "", "headers": headers,
        "client": ("127.0.0.1", 0), "server": ("127.0.0.1", 80),
    }  # fmt: skip
    status, kind, body = 0, "", bytearray()
    gone = asyncio.Event()
    asked = False

    async def receive() -> Message:
        nonlocal asked
        if not asked:
            asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status, kind
        if message["type"] == "http.response.start":
            status = message["status"]
            kind = dict(message["headers"]).get(b"content-type", b"").decode("latin-1")
        else:
            body.extend(message.get("body", b""))

    await app(scope, receive, send)
    return status, kind, bytes(body)
