"""The checks of every request before its route runs.

In this order: the Host header names this server, no page of another site sent the request, it has
the token or a valid cookie, its body has a known type, is not too large and arrives in time, and
the server is not overloaded. A response that takes too long is abandoned; its work keeps its
slot until it ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

from sightline.web.answers import Answer, Message, Scope, Send
from sightline.web.hosts import UNSAFE, Hosts
from sightline.web.problems import Problem, of_error
from sightline.web.redaction import where_it_failed
from sightline.web.service import Front

Receive = Callable[[], Awaitable[Message]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# Routes without the token: the login, which checks a code instead, and the style of its page.
ENTRY = "/login"
OPEN = frozenset((ENTRY, "/page/style.css"))
# Routes whose body is a picture.
UPLOADS = frozenset(
    (
        "/v1/search/picture", "/v1/search/words-and-picture", "/v1/describe/words",
        "/v1/describe/texts",
    )
)  # fmt: skip
# Headers that determine authentication and the length of the body.
ONCE = (
    "authorization", "content-length", "content-type", "origin", "sec-fetch-site",
    "transfer-encoding",
)  # fmt: skip
_log = logging.getLogger("sightline")


class Guard:
    """ASGI middleware that checks every request."""

    def __init__(self, app: App, service: Front, hosts: Hosts) -> None:
        self.app, self.service, self.hosts = app, service, hosts
        self.under_way = self.uploads = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
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
            # Uploads take much memory while they arrive; other requests take no slot until then,
            # so that slow clients do not block others.
            self.uploads += upload
            try:
                body = await self._body(scope, receive, upload)
                await self._pass_on(scope, body, receive, answer)
            finally:
                self.uploads -= upload
        except Problem as e:
            await answer.refuse(e)

    def _check(self, scope: Scope, upload: bool) -> None:
        """Raise for requests that are not allowed."""
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
            raise Problem(429, "uploads", "Too many uploads are waiting. Try again later.")

    def _shows_cookie(self, headers: Iterable[str]) -> bool:
        """Return whether a cookie is valid; all servers of a host share the cookie header."""
        pairs = (pair.partition("=") for text in headers for pair in text.split(";"))
        values = [v.strip() for name, _, v in pairs if name.strip() == self.service.cookie_name]
        return any(self.service.is_cookie(v) for v in values)

    async def _body(self, scope: Scope, receive: Receive, upload: bool) -> bytes:
        """Return the body, if its type and size are allowed."""
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
        """Run the application, unless the server is overloaded or the response is too slow."""
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
        # The work of an abandoned response continues and holds its slot until here.
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
    """Return whether a request is a login, whose route checks the token itself."""
    return (scope["method"], scope["path"]) == ("POST", ENTRY)


def _once(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return headers by name; raise for duplicates of those that must be unambiguous."""
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
