"""The shared state of all requests: what is served, credentials, jobs and open sessions."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from sightline.collection import Collection
from sightline.errors import SightlineError, StoreDamaged
from sightline.web import warming
from sightline.web.describer import Describer
from sightline.web.jobs import Jobs
from sightline.web.limits import Limits
from sightline.web.metrics import Metrics
from sightline.web.problems import Problem, ProblemResponse, no_picture
from sightline.web.redaction import redacted
from sightline.web.session_pool import SessionPool

T = TypeVar("T")
# Number of attempts to read one version while others are published.
_TRIES = 5


class Front:
    """What every server has: credentials, limits, metrics, and workers for uploaded pictures.

    Attributes
    ----------
    token : str
        The token that programs send with each request.
    code : str
        The one-time code that a browser exchanges for a cookie.
    """

    def __init__(self, token: str, limits: Limits | None, seconds: float) -> None:
        self.limits = limits or Limits()
        self.token = token or secrets.token_urlsafe(32)
        self.code = secrets.token_urlsafe(32)
        self.cookie = secrets.token_urlsafe(32)
        # Cookies ignore ports, and two servers must not overwrite each other's.
        self.cookie_name = f"sightline-{secrets.token_hex(4)}"
        self.metrics = Metrics()
        self.describer = Describer(self.limits.uploads, seconds)
        self._code_lock = threading.Lock()

    def is_token(self, token: str) -> bool:
        """Return whether a token is valid, in constant time."""
        return secrets.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def is_cookie(self, cookie: str) -> bool:
        """Return whether a cookie is valid."""
        return secrets.compare_digest(cookie.encode("utf-8", "replace"), self.cookie.encode())

    def enter(self, code: str) -> bool:
        """Return whether a login code is valid; it is valid once."""
        with self._code_lock:
            good = bool(self.code) and secrets.compare_digest(
                code.encode("utf-8", "replace"), self.code.encode()
            )
            if good:
                self.code = ""
            return good

    async def version_for(self, problem: Problem) -> int | None:
        """Return the version to report with a problem; None if no version can be read."""
        # Not in the thread pool of requests, whose threads may all be busy.
        return None if problem.for_strangers else await asyncio.to_thread(self._version)

    async def response(self, problem: Problem, people: bool = False) -> ProblemResponse:
        """Return the response of a problem, with the version and without paths of this machine."""
        version = await self.version_for(problem)
        detail = self.redacted(problem.detail)
        return Problem(problem.status, problem.code, detail).response(version, people)

    def _version(self) -> int | None:
        return None

    def redacted(self, text: str) -> str:
        """Return a message without paths of this machine."""
        return text

    def warm(self) -> None:
        """Do what the first search would wait for, before the server is ready."""

    def warm_rest(self) -> None:
        """Do what other first requests would wait for, beside them."""

    def end(self) -> None:
        """Stop long work and reject waiting requests; returns at once."""
        self.describer.end()

    def close(self) -> None:
        """Stop workers."""
        self.describer.close()


class Service(Front):
    """A served collection."""

    def __init__(
        self, collection: Collection, token: str = "", limits: Limits | None = None
    ) -> None:
        super().__init__(token, limits, collection.settings.seconds)
        self.collection = collection
        collection.store_folder.fast = True
        self.jobs = Jobs(collection.root, str(collection.store_folder.path), self.limits.jobs)
        self.sessions = SessionPool(collection, self.limits.sessions)
        self.exports = threading.BoundedSemaphore(self.limits.exports)
        self.streams = 0
        self._folders: tuple[int, dict[str, bytes]] = (0, {})

    def of_one_version(self, ask: Callable[[], T]) -> tuple[int, T]:
        """Return a result and its version, with no version published in between."""
        for _ in range(_TRIES):
            before = self.collection.store.version()
            try:
                result = ask()
            except StoreDamaged:
                # Files of a version that was replaced meanwhile may be gone; that is not damage.
                if self.collection.store.version() == before:
                    raise
                continue
            if self.collection.store.version() == before:
                return before, result
        raise Problem(409, "busy", "Versions are published too fast to answer. Come back.")

    def _version(self) -> int | None:
        try:
            return self.collection.store.version() or None
        except SightlineError:
            return None  # An unreadable store is reported by the next request that needs it.

    def redacted(self, text: str) -> str:
        """Return a message without paths of this machine."""
        return redacted(text, self.collection.root, str(self.collection.store_folder.path))

    def warm(self) -> None:
        """Search once, so that the first requests do not wait for kernels and the model."""
        warming.warm_first(self.collection)

    def warm_rest(self) -> None:
        """Do what the first similar, session or misspelt query would wait for."""
        warming.warm_rest(self.collection)

    def here(self, pictures: Sequence[int]) -> list[int]:
        """Return the ids; raise if one is not a picture of the collection."""
        facts = self.collection.pictures.facts(pictures)
        for p in pictures:
            if p not in facts:
                raise no_picture(p)
        return list(pictures)

    def folder(self, name: str) -> bytes:
        """Return the path of a folder by its id; clients never send paths."""
        version = self.collection.store.version()
        if self._folders[0] != version:
            self._folders = version, {f.id: f.path for f in self.collection.pictures.folders()}
        path = self._folders[1].get(name)
        if path is None:
            raise Problem(404, "no-folder", f"There is no folder {name} here. See: GET /v1/folders")
        return path

    def end(self) -> None:
        """Stop long work and reject waiting requests; returns at once."""
        self.jobs.end()
        super().end()

    def close(self) -> None:
        """Stop jobs and workers, and close the log."""
        self.jobs.close()
        super().close()
        self.sessions.close()
