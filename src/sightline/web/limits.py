"""Limits of requests and of the server."""

from __future__ import annotations

from dataclasses import dataclass

# Ids, versions and sizes are integers that SQLite can store.
MOST = (1 << 63) - 1
# Maximum hits of a page; maximum rank of word searches, and of searches without random access.
PAGE, DEEPEST, DEEP = 1_000, 1_000_000, 10_000
# Maximum number of pictures in a request, and of characters in a query and in a text. A query that
# is a text is answered with what to request instead.
NAMED, QUERY, TEXT = 1_000, 100_000, 100_000

# Maximum numbers of a vector.
NUMBERS = 16_384


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the server; a request beyond them gets an error with the time to retry.

    Attributes
    ----------
    upload_bytes, body_bytes : int
        Maximum size of an uploaded picture, and of any other body.
    body_seconds : float
        Time limit for a body to arrive.
    answer_seconds : float
        Time limit until a response starts.
    send_seconds : float
        Time limit for the client to accept each chunk of a response.
    connections : int
        Maximum number of open connections; more get status 503 and are closed.
    waiting : int
        Maximum number of requests that run or wait; more get status 503.
    threads : int
        Number of requests that run at the same time.
    uploads : int
        Maximum number of waiting uploads; more get status 429.
    jobs : int
        Maximum number of queued jobs; more get status 429.
    exports : int
        Maximum number of concurrent exports; more get status 429.
    streams : int
        Maximum number of clients that listen to jobs; more get status 429.
    sessions : int
        Maximum number of judging sessions in memory.
    """

    upload_bytes: int = 20_000_000
    body_bytes: int = 1_000_000
    body_seconds: float = 20.0
    answer_seconds: float = 60.0
    send_seconds: float = 30.0
    connections: int = 1_024
    waiting: int = 128
    threads: int = 8
    uploads: int = 8
    jobs: int = 8
    exports: int = 2
    streams: int = 32
    sessions: int = 1_000
