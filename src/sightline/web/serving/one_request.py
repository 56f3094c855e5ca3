"""A single request without a server, for `sightline serve --get`."""

from __future__ import annotations

import asyncio
from urllib.parse import unquote

from sightline.errors import UsageError
from sightline.web.answers import Message, Scope
from sightline.web.app import guarded
from sightline.web.guard import Guard
from sightline.web.hosts import Hosts
from sightline.web.service import Front

_PORT = 80


def one_request(service: Front, target: str) -> tuple[int, str, bytes]:
    """Run one GET request without a server; return status, media type and body."""
    path, query = _parted(target)
    app = guarded(service, Hosts(_PORT))
    try:
        return asyncio.run(_asked(app, path, query, service.token))
    finally:
        service.close()


def _parted(target: str) -> tuple[str, str]:
    """Split the part of a URL after the host into path and query; raise for anything else."""
    plain = target.isascii() and target.isprintable() and not set(target) & set(' "#<>\\^`{|}')
    if not plain or not target.startswith("/") or target.startswith("//"):
        raise UsageError(
            f"{target!a:.80} is no path of a URL. Begin with one /, name no host, and write other "
            "signs than those of URLs as %XX: /v1/topics/near?word=caf%C3%A9"
        )
    path, _, query = target.partition("?")
    return path, query


async def _asked(app: Guard, path: str, query: str, token: str) -> tuple[int, str, bytes]:
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
    scope: Scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": unquote(path), "raw_path": path.encode(),
        "query_string": query.encode(), "root_path": "", "headers": headers,
        "client": ("127.0.0.1", 0), "server": ("127.0.0.1", _PORT),
    }  # fmt: skip
    status, kind, body = 0, "", bytearray()
    gone = asyncio.Event()
    received = False

    async def receive() -> Message:
        nonlocal received
        if not received:
            received = True
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
