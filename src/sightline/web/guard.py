"""What every request passes before anything looks at it, and what every answer carries.

In this order: the Host is ours, no page of another site sent it, it shows the token (or a browser's
cookie), its body is of a known type, not too large and arrives in time, there is room for it. An
answer that takes too long is given up; the work behind it keeps its place until it ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

from sightline.web.answers import Answer, Message, Scope, Send
from sightline.web.hosts import UNSAFE, Hosts
from sightline.web.problems import Problem, of_error
from sightline.web.redaction import where_it_failed
from sightline.web.service import Service

Receive = Callable[[], Awaitable[Message]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# What is answered without the token: where a browser comes in, which shows a code instead that
# its route looks at, and how the page looks that says so.
ENTRY = "/login"
OPEN = frozenset((ENTRY, "/page/style.css"))
# Routes that take a picture as the body.
UPLOADS = frozenset(
    (
        "/v1/search/picture", "/v1/search/words-and-picture", "/v1/describe/words",
        "/v1/describe/texts",
    )
)  # fmt: skip
# Headers that decide who asks and how much is read.
ONCE = (
    "authorization", "content-length", "content-type", "origin", "sec-fetch-site",
    "transfer-encoding",
)  # fmt: skip
_log = logging.getLogger("sightline")


class Guard:
    """Stands before an application and lets through what may pass."""

    def __init__(self, app: App, service: Service, hosts: Hosts) -> None:
        self.app, self.service, self.hosts = app, service, hosts
        self.under_way = self.uploads = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = Answer(scope, send, self.service)
        upload = scope["path"] in UPLOADS
        try:
            self._check(scope, upload)
            # Pictures take much memory while they arrive; others take no place until they did,
            # so that whoever sends slowly keeps nobody out.
            self.uploads += upload
            try:
                body = await self._body(scope, receive, upload)
                await self._pass_on(scope, body, receive, answer)
            finally:
                self.uploads -= upload
        except Problem as e:
            await answer.refuse(e)

    def _check(self, scope: Scope, upload: bool) -> None:
        """Refuse whoever has no business here."""
        headers = _headers(scope)
        hosts = [v for k, v in headers if k == "host"]
        if len(hosts) != 1 or not self.hosts.allows(hosts[0]):
            raise Problem(403, "host", "This server is not known by that name.")
        if self.hosts.encrypts(hosts[0]):
            scope["scheme"] = "https"
        values = _once(headers)
        cookie = self._shows_cookie(v for k, v in headers if k == "cookie")
        origin, site = values.get("origin"), values.get("sec-fetch-site")
        if self.hosts.is_foreign(scope["method"], origin, site, cookie):
            raise Problem(403, "origin", "Pages of other sites may not ask here.")
        scheme, _, token = values.get("authorization", "").partition(" ")
        shown = scheme.lower() == "bearer" and self.service.is_token(token.strip())
        is_open = (scope["method"] == "GET" and scope["path"] in OPEN) or _is_entry(scope)
        if not shown and not cookie and not is_open:
            raise Problem(401, "token", "Show the token: Authorization: Bearer TOKEN")
        if upload and self.uploads >= self.service.limits.uploads:
            raise Problem(429, "uploads", "Too many pictures wait to be looked at. Come back.")

    def _shows_cookie(self, headers: Iterable[str]) -> bool:
        """Return whether ours is among the cookies, which all programs of a machine share."""
        pairs = (pair.partition("=") for text in headers for pair in text.split(";"))
        values = [v.strip() for name, _, v in pairs if name.strip() == self.service.cookie_name]
        return any(self.service.is_cookie(v) for v in values)

    async def _body(self, scope: Scope, receive: Receive, upload: bool) -> bytes:
        """Read what was sent, if it is of a type and size that may be."""
        headers, limits = dict(_headers(scope)), self.service.limits
        most = limits.upload_bytes if upload else limits.body_bytes
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or len(length) > 15 or int(length) > most:
            raise Problem(413, "too-large", f"A body here has at most {most} bytes.")
        try:
            body = await asyncio.wait_for(_read(receive, most), limits.body_seconds)
        except TimeoutError:
            raise Problem(408, "slow", "The body did not arrive in time.") from None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        known = kind.startswith("image/") or kind == "application/octet-stream"
        is_form = _is_entry(scope) and kind == "application/x-www-form-urlencoded"
        fine = known if upload else kind == "application/json" or is_form
        if scope["method"] in UNSAFE and body and not fine:
            wanted = "a picture (image/jpeg, …)" if upload else "application/json"
            raise Problem(415, "type", f"The body must be {wanted}.")
        return body

    async def _pass_on(self, scope: Scope, body: bytes, receive: Receive, answer: Answer) -> None:
        """Have the request answered, if there is room for it and that begins in time."""
        if self.under_way >= self.service.limits.waiting:
            raise Problem(503, "overload", "Too many requests are under way. Come back.")
        sent = False

        async def replay() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        task = asyncio.ensure_future(self._answered(scope, replay, answer))
        self.under_way += 1
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        await asyncio.wait({task}, timeout=self.service.limits.answer_seconds)
        if not task.done() and not answer.begun:
            await answer.refuse(Problem(503, "slow", "The answer takes too long. Come back."))
            return
        await task

    def _ended(self, task: asyncio.Task[None]) -> None:
        # What works on an answer that was given up goes on, and keeps its place until here.
        self.under_way -= 1
        self._tasks.discard(task)

    async def _answered(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        try:
            await self.app(scope, receive, answer.send)
        except Problem as e:
            await answer.refuse(e)
        except Exception as e:
            _log.error("%s failed: %s", answer.route, where_it_failed(e))
            await answer.refuse(of_error(e))


def _headers(scope: Scope) -> list[tuple[str, str]]:
    return [(k.decode("latin-1").lower(), v.decode("latin-1")) for k, v in scope["headers"]]


def _is_entry(scope: Scope) -> bool:
    """Return whether a person types the token, which the route looks at."""
    return (scope["method"], scope["path"]) == ("POST", ENTRY)


def _once(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return headers by name; those of which two readers could take another one come once."""
    names = [k for k, _ in headers]
    for name in ONCE:
        if names.count(name) > 1:
            raise Problem(400, "twice", f"The header {name} came more than once. Send it once.")
    if "content-length" in names and "transfer-encoding" in names:
        raise Problem(400, "twice", "Send either Content-Length or Transfer-Encoding, not both.")
    return dict(headers)


async def _read(receive: Receive, most: int) -> bytes:
    content = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "gone", "The client went away.")
        content += message.get("body", b"")
        if len(content) > most:
            raise Problem(413, "too-large", f"A body here has at most {most} bytes.")
        if not message.get("more_body"):
            return bytes(content)
