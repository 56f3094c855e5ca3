"""Responses: common headers, abandoned responses, and metrics."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from sightline.web.problems import Problem, for_people
from sightline.web.service import Front

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; img-src 'self' blob:; style-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))
_log = logging.getLogger("sightline")


class Answer:
    """One response: adds the common headers and counts it."""

    def __init__(self, scope: Scope, send: Send, service: Front) -> None:
        self._scope, self._send, self._service = scope, send, service
        self._begun_at = time.monotonic()
        self.begun = self.refused = False

    @property
    def route(self) -> str:
        """The template of the route, which contains no user input."""
        template = getattr(self._scope.get("route"), "path", "")
        method = self._scope["method"]
        return f"{method if method in METHODS else 'other'} {template}" if template else "none"

    async def send(self, message: Message) -> None:
        """Send a message, unless the response was abandoned."""
        if not self.refused:
            await self._sent(message)

    async def _sent(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            sent = {k.lower() for k, _ in message.get("headers", [])}
            more = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in sent]
            message["headers"] = [*message.get("headers", []), *more]
            self._count(message["status"])
        # A client that does not read its response must not hold a slot for ever.
        await asyncio.wait_for(self._send(message), self._service.limits.send_seconds)

    async def refuse(self, problem: Problem) -> None:
        """Respond with a problem, if no response has started yet."""
        if self.begun:
            return
        # From here on nothing else is sent.
        self.begun = self.refused = True
        response = await self._service.response(problem, for_people(self._scope["headers"]))
        body = response.body
        headers = [(k.encode(), v.encode()) for k, v in response.headers.items()]
        headers.append((b"content-length", str(len(body)).encode()))
        start = {"type": "http.response.start", "status": problem.status, "headers": headers}
        await self._sent(start)
        await self._sent({"type": "http.response.body", "body": body})

    def _count(self, status: int) -> None:
        seconds = time.monotonic() - self._begun_at
        self._service.metrics.answered(self.route, status, seconds)
        _log.info("%s %d %.0f ms", self.route, status, seconds * 1000)
