"""Connections: limits of their number and of the time to send a request.

uvicorn's keep-alive timeout starts after a response and stops at every byte. A client that sends an
incomplete header, or nothing, could hold a connection for ever, and a few hundred of them would
block all other clients.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import resource
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from sightline.web.problems import Problem

# Seconds within which the header of a request, and of the next one, must arrive.
HEAD_SECONDS = 15.0
# Open files besides connections: the store, pictures, pipes to workers and jobs.
_OTHER_FILES = 256
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_FULL = Problem(503, "connections", "Too many connections are open. Come back.")


class Connection(H11Protocol):
    """A connection that closes itself if no request arrives in time."""

    def __init__(self, *given: Any, most: int, **named: Any) -> None:
        super().__init__(*given, **named)
        self._most = most
        self._refused = False
        self._head = bytearray()
        self._seen: Any = None
        self._look_again: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, unless there are too many."""
        if len(self.connections) >= self._most:
            self._refused = True
            transport.write(_answer(_FULL))
            transport.close()
            return
        super().connection_made(transport)
        self._look_again = self.loop.call_later(HEAD_SECONDS, self._look)

    def data_received(self, data: bytes) -> None:
        """Pass data to the parser."""
        if self._refused:
            return
        if self.conn.their_state is h11.IDLE and self._is_unclear(data):
            self.send_400_response("Content-Length came more than once.")
            return
        super().data_received(data)

    def _is_unclear(self, data: bytes) -> bool:
        """Return whether a header has two lengths of the body; the parser merges equal ones."""
        self._head += data
        end = _END_OF_HEAD.search(self._head)
        if end is None:
            return False
        head, self._head = bytes(self._head[: end.start()]).lower(), bytearray()
        return head.count(b"\ncontent-length:") > 1

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection."""
        if self._refused:
            return
        if self._look_again is not None:
            self._look_again.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close if no request is active and none has arrived since the last check."""
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self.cycle is self._seen:
            self.transport.abort()
            return
        self._seen = self.cycle
        self._look_again = self.loop.call_later(HEAD_SECONDS, self._look)


def room_for(most: int) -> int:
    """Return the maximum number of connections within the limit of open files."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return most
    return max(1, min(most, files - min(_OTHER_FILES, files // 2)))


def _answer(problem: Problem) -> bytes:
    """Return a problem as the bytes of a response, for a connection without a request."""
    body = problem.body()
    lines = ["HTTP/1.1 503 Service Unavailable", *(f"{k}: {v}" for k, v in problem.headers.items())]
    lines += [f"content-length: {len(body)}", "connection: close", "", ""]
    return "\r\n".join(lines).encode() + body
