"""The open judging sessions of clients."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sightline.collection import Collection, Filters
from sightline.web.problems import Problem

if TYPE_CHECKING:
    from sightline.collection.sessions.session import Session


# Maximum number of sessions kept in memory.
_AWAKE = 16
# Seconds to wait at shutdown for sessions in use; acknowledged data is durable.
_END_SECONDS = 1.0


class SessionPool:
    """The open judging sessions; one request at a time uses a session.

    A session is logged before its name is returned, so that it survives a restart.
    """

    def __init__(self, collection: Collection, most: int) -> None:
        self._collection, self._most = collection, most
        self._open: OrderedDict[str, tuple[Session, threading.Lock]] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, query: str, examples: Sequence[int], feature: str, filters: Filters) -> Session:
        """Begin a session by words or by example pictures."""
        session = self._collection.judge(query, positive=examples, feature=feature, filters=filters)
        self._keep(session)
        return session

    def _keep(self, session: Session) -> tuple[Session, threading.Lock]:
        with self._lock:
            entry = self._open.setdefault(session.id, (session, threading.Lock()))
            self._open.move_to_end(session.id)
            old = [self._open.popitem(last=False) for _ in range(len(self._open) - self._most)]
        for _, (forgotten, lock) in old:
            with lock:
                forgotten.close()
        return entry

    @contextlib.contextmanager
    def use(self, name: str) -> Iterator[Session]:
        """Lock a session for one request."""
        with self._lock:
            entry = self._open.get(name)
        if entry is None:
            if not self._collection.sessions.exists(name):
                raise Problem(404, "no-session", f"There is no session {name} here.")
            entry = self._keep(self._collection.judge(resume=name))
        session, lock = entry
        with lock:
            yield session
        self._close_oldest(session.id)

    def _close_oldest(self, name: str) -> None:
        """Close the least recently used sessions: each holds files and a score per picture."""
        with self._lock:
            if name in self._open:
                self._open.move_to_end(name)
            held = [kept for kept in self._open.values() if kept[0].awake][:-_AWAKE]
        for session, lock in held:
            # A session in use is closed another time.
            if lock.acquire(blocking=False):
                try:
                    session.close()
                finally:
                    lock.release()

    def close(self) -> None:
        """Close the log."""
        with self._lock:
            kept, self._open = list(self._open.values()), OrderedDict()
        latest = time.monotonic() + _END_SECONDS
        for session, lock in kept:
            if lock.acquire(timeout=max(0.0, latest - time.monotonic())):
                try:
                    session.close()
                finally:
                    lock.release()
