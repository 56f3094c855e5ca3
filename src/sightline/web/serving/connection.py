"""One connection: closed where no whole request comes, however its bytes drip in.

The server's own clock for idle connections begins with an answer and stops at every byte, so that
whoever sends half a head, or nothing at all, could keep a connection for ever, and with a few
hundred of them everybody else out.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

# Within so long a whole head of a request must have come, and then the next one.
HEAD_SECONDS = 15.0


class Connection(H11Protocol):
    """A connection that looks at itself now and then."""

    _seen: Any = None
    _look_again: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        super().connection_made(transport)
        self._look_again = self.loop.call_later(HEAD_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._look_again is not None:
            self._look_again.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close if nothing is under way and no request came since the last look."""
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self.cycle is self._seen:
            self.transport.abort()
            return
        self._seen = self.cycle
        self._look_again = self.loop.call_later(HEAD_SECONDS, self._look)
