"""Shutdown within a fixed time.

Acknowledged data is durable, so work that does not end by itself can be abandoned: a request that
takes a minute, a disk that does not respond.
"""

from __future__ import annotations

import logging
import os
import socket
import threading

import uvicorn

from sightline.web.service import Front

# Seconds from the signal to the end of the process; connections and jobs have less.
LATEST_SECONDS = 4.0
_log = logging.getLogger("sightline")


class EndingServer(uvicorn.Server):
    """A server that rejects waiting requests before it waits for connections to close."""

    def __init__(
        self, config: uvicorn.Config, service: Front, resort: LastResort | None = None
    ) -> None:
        super().__init__(config)
        self._service, self._resort = service, resort

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down."""
        if self._resort is not None:
            self._resort.begin()
        self._service.end()
        await super().shutdown(sockets)


class LastResort:
    """Ends this process some time after the start of a shutdown, if it has not ended by itself."""

    def __init__(self, seconds: float = LATEST_SECONDS) -> None:
        self._timer = threading.Timer(seconds, _leave)
        self._timer.daemon = True

    def begin(self) -> None:
        """Start the timer."""
        self._timer.start()

    def settle(self) -> None:
        """Stop the timer if nothing is left that could block the process."""
        if not [t for t in threading.enumerate() if not t.daemon and t is not _main()]:
            self._timer.cancel()


def _main() -> threading.Thread:
    return threading.main_thread()


def _leave() -> None:
    _log.info("serve ends with requests under way")
    os._exit(0)
