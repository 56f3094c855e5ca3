"""Errors as RFC 9457 problem details: JSON objects of the type application/problem+json.

`code` is stable and for programs, `detail` is for people and says what to do. `version` is the
served version; it is left out if there is none, and for unauthenticated clients.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources

from sightline import errors
from sightline.web.redaction import LOG

MEDIA = "application/problem+json"
_TITLES = {
    400: "The request makes no sense",
    401: "A token is needed",
    403: "Refused",
    404: "There is no such thing",
    405: "This cannot be done here",
    408: "The request took too long to arrive",
    409: "That cannot be done now",
    413: "The request is too large",
    415: "The body is of the wrong type",
    422: "The request cannot be understood",
    429: "Too much at once",
    500: "Something is broken here",
    502: "Another server failed",
    503: "Too much to do",
    507: "The disk is full",
}
# The first matching class counts.
_STATUS: tuple[tuple[type[errors.SightlineError], int, str], ...] = (
    (errors.QueryTooLong, 400, "query-too-long"),
    (errors.QueryError, 400, "query"),
    (errors.NoModel, 409, "no-model"),
    (errors.NoTagProbabilities, 409, "no-tag-probabilities"),
    (errors.NoSpace, 409, "no-space"),
    (errors.NoRegions, 409, "no-regions"),
    (errors.UsageError, 400, "usage"),
    (errors.ParameterError, 400, "parameter"),
    (errors.NoCollection, 409, "nothing-indexed"),
    (errors.NoFeatures, 409, "no-features"),
    (errors.CollectionError, 409, "not-ready"),
    (errors.NotBetter, 409, "not-better"),
    (errors.DataError, 422, "data"),
    (errors.MissingExtra, 409, "missing-extra"),
    (errors.StoreBusy, 409, "busy"),
    (errors.StoreReadOnly, 409, "read-only"),
    (errors.StoreTooNew, 409, "too-new"),
    (errors.StoreDamaged, 500, "damaged"),
    (errors.StoreFull, 507, "disk-full"),
    (errors.StoreIOError, 500, "disk"),
    (errors.SightlineError, 500, "failed"),
)
# Error messages name commands; over HTTP a job does the same.
_JOBS = {
    "nothing-indexed": '{"verb": "index"}',
    "no-pictures": '{"verb": "index"}',
    "no-model": '{"verb": "train"}',
    "no-tag-probabilities": '{"verb": "train", "rankers": ["ridge"]}',
    "no-space": '{"verb": "train", "text": true}',
    "no-regions": '{"verb": "train", "regions": true}',
}
_RETRY = {
    "busy": 2, "overload": 1, "slow": 5, "uploads": 2, "jobs": 10, "streams": 5, "exports": 5,
    "ending": 5, "connections": 5,
}  # fmt: skip


# What to do, for people at a browser; programs read `detail`.
_HINTS = {
    "token": "Open the address that `sightline serve` printed for a browser, which is good once, "
    "or type the token that it printed for programs.",
    "code": "Type the token that `sightline serve` printed for programs.",
    "host": "Ask by the address that `sightline serve` printed, or name this one: --allow-host",
    "read-only": "Searching works. To judge or learn, have the store mounted or owned so that "
    "`sightline serve` can write it, or serve a copy of it.",
    "no-route": "Go to the beginning: /",
    "origin": "A page of another site led here. Type the address yourself.",
}


@dataclass(frozen=True, slots=True)
class ProblemResponse:
    """The schema of a problem."""

    body: bytes
    headers: dict[str, str]


class Problem(Exception):
    """An error response."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail

    @property
    def retry(self) -> int | None:
        """Seconds to wait before a retry; None if a retry does not help."""
        return _RETRY.get(self.code)

    @property
    def for_strangers(self) -> bool:
        """Whether it is for an unauthenticated client."""
        return self.status in (401, 403) or self.code in ("twice", "connections")

    def body(self, version: int | None = None) -> bytes:
        """Return the body of the response.

        >>> Problem(404, "no-picture", "There is no picture 3.").body(7)[:60]
        b'{"type": "urn:sightline:problem:no-picture", "title": "There'
        >>> Problem(404, "no-picture", "There is no picture 3.").body(7)[-13:]
        b'"version": 7}'
        """
        fields: dict[str, str | int] = {
            "type": f"urn:sightline:problem:{self.code}", "title": _TITLES[self.status],
            "status": self.status, "code": self.code, "detail": self.detail,
        }  # fmt: skip
        if version is not None and not self.for_strangers:
            fields["version"] = version
        return json.dumps(fields).encode()

    def response(self, version: int | None = None, people: bool = False) -> ProblemResponse:
        """Return the response: JSON for programs, a page for people."""
        if not people:
            return ProblemResponse(self.body(version), self.headers)
        # A form for the token, then the escaped text.
        form = _template("token.html") if self.status == 401 else ""
        page = _template("problem.html").replace("{form}", form)
        hint = _HINTS.get(self.code, "")
        for name, text in (
            ("title", _TITLES[self.status]),
            ("detail", self.detail),
            ("hint", hint),
        ):
            page = page.replace(f"{{{name}}}", html.escape(text))
        # Without a referrer the form would be rejected as a cross-site request.
        more = {"content-type": "text/html; charset=utf-8", "referrer-policy": "same-origin"}
        return ProblemResponse(page.encode(), {**self.headers, **more})

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the response."""
        headers = {"content-type": MEDIA}
        if self.retry is not None:
            headers["retry-after"] = str(self.retry)
        if self.status == 401:
            headers["www-authenticate"] = 'Bearer realm="sightline"'
        return headers


def for_people(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a browser requests a response as a page.

    Browsers send Sec-Fetch-Dest only to origins they trust; otherwise the Accept header decides.

    >>> for_people([(b"sec-fetch-dest", b"document")]), for_people([(b"accept", b"*/*")])
    (True, False)
    >>> for_people([(b"accept", b"text/html,*/*;q=0.8")])
    True
    """
    given = {k.lower(): v for k, v in headers}
    wanted = given.get(b"sec-fetch-dest")
    return b"text/html" in given.get(b"accept", b"") if wanted is None else wanted == b"document"


@cache
def _template(name: str) -> str:
    return resources.files("sightline.web").joinpath("page", name).read_text("utf-8")


def of_error(e: BaseException) -> Problem:
    """Return the problem for an exception.

    >>> of_error(errors.QueryError("no word")).status
    400
    """
    for kind, status, code in _STATUS:
        if isinstance(e, kind):
            return Problem(status, code, f"{e}{job_for(code)}")
    return Problem(500, "internal", f"This should not happen ({type(e).__name__}). {LOG}")


def ending() -> Problem:
    """Return the problem for requests that wait while the server shuts down."""
    return Problem(503, "ending", "The server ends. Come back once it is started again.")


def job_for(code: str) -> str:
    """Return the request that solves a problem, to be appended to the message.

    >>> job_for("no-regions"), job_for("query")
    (' (or: POST /v1/jobs {"verb": "train", "regions": true})', '')
    """
    if code == "query-too-long":
        return " (or: POST /v1/search/text)"
    return f" (or: POST /v1/jobs {_JOBS[code]})" if code in _JOBS else ""


def no_picture(picture: int) -> Problem:
    """Return the problem for an unknown picture id."""
    return Problem(404, "no-picture", f"There is no picture {picture} here.")
