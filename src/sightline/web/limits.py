"""What one request may ask for, and how many may come at once."""

from __future__ import annotations

from dataclasses import dataclass

# A picture's id, a version or a size is a whole number that SQLite can hold.
MOST = (1 << 63) - 1
# Hits to a page; how far down pages of words go, and of what is looked up from the first hit on.
PAGE, DEEPEST, DEEP = 1_000, 1_000_000, 10_000
# Pictures named in one request, and characters of a query and of a text.
NAMED, QUERY, TEXT = 1_000, 2_000, 100_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the server takes on; beyond it, it says so and when to come back.

    Attributes
    ----------
    upload_bytes, body_bytes : int
        Of a picture that is sent, and of any other body.
    body_seconds : float
        For a body to arrive.
    answer_seconds : float
        For an answer to begin.
    send_seconds : float
        For each piece of it to be taken.
    connections : int
        Open at the same time; more are answered 503 at once and closed.
    waiting : int
        Requests under way or waiting; more are answered 503.
    threads : int
        Requests that are worked on at the same time.
    uploads : int
        Pictures sent that wait to be described; more are answered 429.
    jobs : int
        Jobs that wait for their turn; more are answered 429.
    exports : int
        Files of words that are written and sent at the same time; more are answered 429.
    streams : int
        Clients that listen to jobs at the same time; more are answered 429.
    sessions : int
        Judging sessions kept in memory, of which nothing is written yet.
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
