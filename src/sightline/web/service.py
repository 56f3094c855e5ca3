"""What all requests of a server share: the collection, who may ask, jobs, and open sessions."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from sightline.collection import Collection
from sightline.errors import SightlineError, StoreDamaged
from sightline.web.describer import Describer
from sightline.web.jobs import Jobs
from sightline.web.limits import Limits
from sightline.web.metrics import Metrics
from sightline.web.problems import Problem, ProblemResponse, no_picture
from sightline.web.redaction import redacted
from sightline.web.session_pool import SessionPool

T = TypeVar("T")
# Answers that a publish got in the way of are asked for again so often.
_TRIES = 5


class Service:
    """One collection as it is served.

    Attributes
    ----------
    token : TYPE?
        What programs show with each request.
    code : TYPE?
        What a person's browser shows once, in exchange for a cookie.
    """

    def __init__(
        self, collection: Collection, token: str = "", limits: Limits | None = None
    ) -> None:
        self.collection = collection
        collection.home.fast = True
        self.limits = limits or Limits()
        self.token = token or secrets.token_urlsafe(32)
        self.code = secrets.token_urlsafe(32)
        self.cookie = secrets.token_urlsafe(32)
        # Cookies do not tell ports apart, and two servers must not take each other's away.
        self.cookie_name = f"sightline-{secrets.token_hex(4)}"
        self.metrics = Metrics()
        self.jobs = Jobs(collection.root, str(collection.home.folder), self.limits.jobs)
        self.talks = SessionPool(collection, self.limits.sessions)
        self.describer = Describer(self.limits.uploads)
        self.exports = threading.BoundedSemaphore(self.limits.exports)
        self.streams = 0
        self._folders: tuple[int, dict[str, bytes]] = (0, {})
        self._code_lock = threading.Lock()

    def is_token(self, token: str) -> bool:
        """Return whether a token is ours, in the same time whatever it is."""
        return secrets.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def is_cookie(self, cookie: str) -> bool:
        """Return whether a cookie is ours."""
        return secrets.compare_digest(cookie.encode("utf-8", "replace"), self.cookie.encode())

    def enter(self, code: str) -> bool:
        """Return whether a code is good for a cookie; it is so once."""
        with self._code_lock:
            good = bool(self.code) and secrets.compare_digest(
                code.encode("utf-8", "replace"), self.code.encode()
            )
            if good:
                self.code = ""
            return good

    def of_one_version(self, ask: Callable[[], T]) -> tuple[int, T]:
        """Return an answer and the one version it is of: none was published meanwhile."""
        for _ in range(_TRIES):
            before = self.collection.store.version()
            try:
                result = ask()
            except StoreDamaged:
                # Files of a version that was replaced meanwhile are gone, which is not damage.
                if self.collection.store.version() == before:
                    raise
                continue
            if self.collection.store.version() == before:
                return before, result
        raise Problem(409, "busy", "Versions are published too fast to answer. Come back.")

    async def version_for(self, problem: Problem) -> int | None:
        """Return the version that a problem tells; None where no version can be read."""
        # Not among the threads that answer: they may all be busy, which is the problem then.
        return None if problem.for_strangers else await asyncio.to_thread(self._version)

    async def response(self, problem: Problem, people: bool = False) -> ProblemResponse:
        """Return what is sent of a problem, with the version and no place of this machine."""
        version = await self.version_for(problem)
        c = self.collection
        detail = redacted(problem.detail, c.root, str(c.home.folder))
        return Problem(problem.status, problem.code, detail).response(version, people)

    def _version(self) -> int | None:
        try:
            return self.collection.store.version() or None
        except SightlineError:
            return None  # That the store cannot be read is told by whatever asks for more.

    def warm(self) -> None:
        """Search once, so that the first who asks does not wait for kernels and the model."""
        # Whoever asks is told what is wrong; nobody asked yet.
        with contextlib.suppress(SightlineError):
            words, _ = self.collection.words.vocabulary("", 1)
            for w in words:
                self.collection.search(f'"{w.word}"', 1)

    def here(self, pictures: Sequence[int]) -> list[int]:
        """Return ids that are all pictures of the collection."""
        found = self.collection.pictures.facts(pictures)
        for p in pictures:
            if p not in found:
                raise no_picture(p)
        return list(pictures)

    def folder(self, name: str) -> bytes:
        """Return the path of a folder; no path is ever taken from a client."""
        version = self.collection.store.version()
        if self._folders[0] != version:
            self._folders = version, {f.id: f.path for f in self.collection.pictures.folders()}
        path = self._folders[1].get(name)
        if path is None:
            raise Problem(404, "no-folder", f"There is no folder {name} here. See: GET /v1/folders")
        return path

    def end(self) -> None:
        """Stop what lasts, and refuse what waits for it; returns at once."""
        self.jobs.end()
        self.describer.end()

    def close(self) -> None:
        """End jobs and workers, and let go of the log."""
        self.jobs.close()
        self.describer.close()
        self.talks.close()
