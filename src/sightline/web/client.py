"""A client of the REST service, based on the standard library.

>>> client = Client("http://127.0.0.1:8421", "token")
>>> client.url
'http://127.0.0.1:8421'

    for hit in client.search("tree snow").hits:
        print(hit.score, hit.path)
    round = client.begin("tree")
    client.judge(round.session, positive=[round.hits[0].id])
    better = client.hits(round.session)
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import secrets
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from sightline.errors import SightlineError, UsageError

R = TypeVar("R")


class ServiceError(SightlineError):
    """An error response of the server.

    `code` identifies the problem, `retry` is the number of seconds to wait, `version` the served
    version if the server reports it.
    """

    def __init__(
        self, status: int, code: str, detail: str, retry: int | None, version: int | None = None
    ) -> None:
        super().__init__(f"{detail} ({code}, {status})")
        self.status, self.code, self.detail, self.retry = status, code, detail, retry
        self.version = version


@dataclass(frozen=True, slots=True)
class ClientHit:
    """A picture of a result.

    `match` is "exact", "predicted", "partial", "suggested" or "similar"; `name`,
    `tagged` and `learnt` are names of earlier releases.
    """

    id: int
    path: str
    score: float
    match: str
    name: str
    tagged: bool
    learnt: bool
    thumbnail: str
    original: str


@dataclass(frozen=True, slots=True)
class ClientHits:
    """Pictures of one version, best first; `next` is the cursor of the next page.

    If they were counted, `total` is the length of the list and `within` the number of hits above
    the cut-off. `not_learned` lists words that the model has not learned, with picture counts,
    `constraints` what decided on each word with a plus or a minus, `corrections` words that were
    searched in place of mistyped ones, `suggested` the words that a network answers, all as the
    service says it.
    """

    version: int
    hits: tuple[ClientHit, ...]
    next: str | None
    said: tuple[str, ...]
    total: int | None = None
    within: int | None = None
    not_learned: tuple[tuple[str, int], ...] = ()
    constraints: tuple[Mapping[str, Any], ...] = ()
    corrections: tuple[Mapping[str, Any], ...] = ()
    suggested: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ClientRound:
    """Hits of a judging session."""

    version: int
    session: str
    round: int
    hits: tuple[ClientHit, ...]
    said: tuple[str, ...]
    not_learned: tuple[tuple[str, int], ...] = ()
    corrections: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ClientMarked:
    """Judgements that the server has stored."""

    version: int
    session: str
    judgements: int
    judged: int


@dataclass(frozen=True, slots=True)
class ClientJob:
    """A job of the server."""

    id: str
    verb: str
    state: str
    detail: str
    report: Any


class Client:
    """A client of one server.

    Parameters
    ----------
    url, token : str
        As printed by `sightline serve`.
    seconds : float, default=60.0
        Timeout of a request: how long the server may send nothing.
    most_bytes : int, optional
        Maximum size of a response, for servers that are not trusted; `seconds` then bounds the
        whole of a request. A response beyond either is an error.
    """

    def __init__(
        self, url: str, token: str, seconds: float = 60.0, most_bytes: int | None = None
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise UsageError(f"The server's URL begins with http:// and has a host. Got {url!r}.")
        self.url, self._token, self._seconds = url.rstrip("/"), token, seconds
        self._host, self._port = parts.hostname, parts.port or 80
        self._most_bytes = most_bytes

    # -- search

    def search(
        self,
        query: str,
        *,
        positive: Sequence[int] = (),
        negative: Sequence[int] = (),
        k: int = 10,
        cursor: str | None = None,
        like: Sequence[int] = (),
        limit: int | None = None,
        **more: Any,
    ) -> ClientHits:
        """Find pictures by words, and by example pictures if there are any.

        `more` are other fields of the request, such as `offset`, `count`, `cut` and `filters`;
        `like` and `limit` are what `positive` and `k` were called earlier.
        """
        examples = {"positive": [*positive, *like], "negative": list(negative)}
        body = {"query": query, **examples, "k": limit or k}
        return _hits(self.post("/v1/search", {**body, "cursor": cursor, **more}))

    def similar(
        self,
        *pictures: int,
        negative: Sequence[int] = (),
        k: int = 10,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> ClientHits:
        """Find pictures that are similar to others; `limit` is what `k` was called earlier."""
        examples = {"positive": list(pictures), "negative": list(negative)}
        body = {**examples, "k": limit or k, "cursor": cursor}
        return _hits(self.post("/v1/similar", body))

    def similar_to(
        self, picture: bytes, k: int = 10, cursor: str | None = None, limit: int | None = None
    ) -> ClientHits:
        """Find pictures that are similar to an uploaded one; each page uploads it again."""
        path = f"/v1/search/picture?{urlencode(_page(limit or k, cursor))}"
        return _hits(json.loads(self._sent(path, picture)))

    def search_with(
        self,
        query: str,
        picture: bytes,
        *,
        positive: Sequence[int] = (),
        negative: Sequence[int] = (),
        feature: str = "",
        k: int = 10,
        cursor: str | None = None,
        like: Sequence[int] = (),
        limit: int | None = None,
    ) -> ClientHits:
        """Find pictures by words and an uploaded picture; each page uploads it again.

        `like` and `limit` are what `positive` and `k` were called earlier.
        """
        named = {"positive": [*positive, *like], "negative": negative}
        asked = {"query": query, **named, "feature": feature, **_page(limit or k, cursor)}
        path = f"/v1/search/words-and-picture?{urlencode(asked, doseq=True)}"
        return _hits(json.loads(self._sent(path, picture)))

    def words(
        self, prefix: str = "", k: int = 10, limit: int | None = None
    ) -> tuple[tuple[str, int], ...]:
        """Return words with a prefix and their picture counts, most frequent first.

        `limit` is what `k` was called earlier.
        """
        answer = self.get(f"/v1/words?{urlencode({'prefix': prefix, 'k': limit or k})}")
        return tuple((w["word"], w["pictures"]) for w in answer["words"])

    def thumbnail(self, picture: int) -> bytes:
        """Return the thumbnail of a picture, WebP or JPEG."""
        return self.ask("GET", f"/v1/pictures/{picture}/thumbnail")[1]

    # -- sessions

    def begin(
        self,
        query: str = "",
        *,
        positive: Sequence[int] = (),
        k: int = 20,
        like: Sequence[int] = (),
        limit: int | None = None,
    ) -> ClientRound:
        """Begin a judging session; `like` and `limit` were `positive` and `k` earlier."""
        body = {"query": query, "positive": [*positive, *like], "k": limit or k}
        return _round(self.post("/v1/sessions", body))

    def hits(
        self, session: str, k: int = 20, *, hide_judged: bool = False, limit: int | None = None
    ) -> ClientRound:
        """Return the best hits of a session; `limit` is what `k` was called earlier."""
        asked = urlencode({"k": limit or k, "hide_judged": str(hide_judged).lower()})
        return _round(self.get(f"/v1/sessions/{quote(session)}/hits?{asked}"))

    def judge(
        self,
        session: str,
        positive: Sequence[int] = (),
        negative: Sequence[int] = (),
        key: str = "",
        *,
        relevant: Sequence[int] = (),
    ) -> ClientMarked:
        """Judge pictures; without a response the request is sent once more, and counts once.

        `relevant` is what `positive` was called earlier.
        """
        body = {"positive": [*positive, *relevant], "negative": list(negative)}
        return _made(
            ClientMarked, self._once(f"/v1/sessions/{quote(session)}/judgements", body, key)
        )

    def undo(self, session: str, key: str = "") -> Any:
        """Undo the last judgements."""
        return self._once(f"/v1/sessions/{quote(session)}/undo", None, key)

    def save_word(self, session: str, word: str) -> int:
        """Save a session as a word; return the number of its pictures."""
        saved = self.post(f"/v1/sessions/{quote(session)}/word", {"word": word})
        return int(saved["pictures"])

    def revert(self, session: str) -> bool:
        """Revert all judgements of a session."""
        return bool(self.post(f"/v1/sessions/{quote(session)}/revert", None)["stood"])

    def export(self, form: str, only: Sequence[str] = ()) -> bytes:
        """Return the words of pictures as a file: `csv`, `json` (lines) or `coco`."""
        asked = urlencode({"format": form, "only": list(only)}, doseq=True)
        return self.ask("GET", f"/v1/export?{asked}")[1]

    # -- jobs

    def start(self, verb: str, **options: Any) -> ClientJob:
        """Start a job: index, train or evaluate."""
        return _made(ClientJob, self.post("/v1/jobs", {"verb": verb, **options}))

    def job(self, job: str) -> ClientJob:
        """Return the state of a job."""
        return _made(ClientJob, self.get(f"/v1/jobs/{quote(job)}"))

    def cancel(self, job: str) -> ClientJob:
        """Stop a job."""
        return _made(ClientJob, self.post(f"/v1/jobs/{quote(job)}/cancel", None))

    def follow(self, job: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the events of a job, kind and data, until it ends."""
        connection = self._connection()
        try:
            connection.request("GET", f"/v1/jobs/{quote(job)}/events", headers=self._headers())
            reply = connection.getresponse()
            if reply.status >= 400:
                raise _problem(reply.status, reply.headers, reply.read())
            kind = ""
            for line in reply:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    yield kind, json.loads(value)
        finally:
            connection.close()

    def finish(self, job: str) -> ClientJob:
        """Wait until a job ends, and return its state."""
        for _ in self.follow(job):
            pass
        return self.job(job)

    # -- requests

    def get(self, path: str) -> Any:
        """Return the JSON at a path."""
        return json.loads(self.ask("GET", path)[1])

    def post(self, path: str, body: Mapping[str, Any] | None, key: str = "") -> Any:
        """Send JSON to a path and return the response."""
        data = None if body is None else json.dumps(body).encode()
        more = {"Idempotency-Key": key} if key else {}
        return json.loads(self.ask("POST", path, data, "application/json", more)[1])

    def _once(self, path: str, body: Mapping[str, Any] | None, key: str) -> Any:
        key = key or secrets.token_hex(16)
        try:
            return self.post(path, body, key)
        except (OSError, http.client.HTTPException):
            return self.post(path, body, key)

    def _sent(self, path: str, picture: bytes) -> bytes:
        return self.ask("POST", path, picture, "application/octet-stream")[1]

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str = "",
        more: Mapping[str, str] | None = None,
    ) -> tuple[http.client.HTTPMessage, bytes]:
        """Send one request; return headers and body of a successful response."""
        connection = self._connection()
        headers = {**self._headers(), **({"Content-Type": kind} if body else {})}
        with self._in_time(connection):
            connection.request(method, path, body, {**headers, **(more or {})})
            reply = connection.getresponse()
            with contextlib.closing(reply):
                data = self._read(reply)
        if reply.status >= 400:
            raise _problem(reply.status, reply.headers, data)
        return reply.headers, data

    @contextlib.contextmanager
    def _in_time(self, connection: http.client.HTTPConnection) -> Iterator[None]:
        """Close a connection at the end, or when the time of the request is over."""
        over = threading.Event()
        sockets: list[socket.socket] = []

        def stop() -> None:
            over.set()
            for s in sockets:
                with contextlib.suppress(OSError):
                    # A thread that waits for bytes wakes up; closing alone would not wake it.
                    s.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(self._seconds, stop) if self._most_bytes is not None else None
        try:
            if timer is not None:
                timer.daemon = True
                timer.start()
                connection.connect()
                # A response without a length takes the socket from the connection.
                sockets.append(connection.sock)
            yield
            if over.is_set():
                raise TimeoutError
        except (OSError, http.client.HTTPException) as e:
            if over.is_set() or isinstance(e, TimeoutError):
                raise TimeoutError(f"There was no answer within {self._seconds:g} seconds.") from e
            raise
        finally:
            if timer is not None:
                timer.cancel()
            for s in sockets:
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _read(self, reply: http.client.HTTPResponse) -> bytes:
        if self._most_bytes is None:
            return reply.read()
        data = reply.read(self._most_bytes + 1)
        if len(data) > self._most_bytes:
            raise ServiceError(
                reply.status, "too-large",
                f"The response is larger than {self._most_bytes:,} bytes.", None,
            )  # fmt: skip
        return data

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._host, self._port, timeout=self._seconds)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"}


def _problem(status: int, headers: http.client.HTTPMessage, data: bytes) -> ServiceError:
    try:
        problem = json.loads(data)
        code, detail, version = str(problem["code"]), str(problem["detail"]), problem.get("version")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        code, detail, version = "unknown", "The server's answer is no problem it describes.", None
    retry = headers.get("Retry-After", "")
    return ServiceError(
        status, code, detail, int(retry) if re.fullmatch("[0-9]{1,9}", retry) else None, version
    )


def _made(kind: type[R], answer: Mapping[str, Any]) -> R:
    """Return the response as a record; unknown fields of a newer server are ignored."""
    return kind(**{f.name: answer[f.name] for f in fields(kind)})  # type: ignore[arg-type]


def _page(k: int, cursor: str | None) -> dict[str, int | str]:
    return {"k": k, **({"cursor": cursor} if cursor else {})}


def _hits(answer: Mapping[str, Any]) -> ClientHits:
    hits = tuple(_made(ClientHit, h) for h in answer["hits"])
    more = answer.get("total"), answer.get("within")
    words = _not_learned(answer)
    names = "constraints", "corrections", "suggested"
    lists = (tuple(answer.get(n, ())) for n in names)
    at = answer["version"], hits, answer["next"], tuple(answer["said"])
    return ClientHits(*at, *more, words, *lists)


def _not_learned(answer: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Return the words that were not learned; older servers report none."""
    return tuple((w["word"], w["pictures"]) for w in answer.get("not_learned", ()))


def _round(answer: Mapping[str, Any]) -> ClientRound:
    hits = tuple(_made(ClientHit, h) for h in answer["hits"])
    notes, words = tuple(answer["said"]), _not_learned(answer)
    at = answer["version"], answer["session"], answer["round"]
    return ClientRound(*at, hits, notes, words, tuple(answer.get("corrections", ())))
