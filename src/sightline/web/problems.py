"""What went wrong, as RFC 9457 has it: a JSON object of the type application/problem+json.

`code` is for programs and never changes, `detail` is for people and says what to do, `version` is
the version that is served, left out where none can be, and for strangers.
"""

from __future__ import annotations

import json

from sightline import errors
from sightline.web.places import LOG

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
    503: "Too much to do",
}
# The first that fits counts.
_STATUS: tuple[tuple[type[errors.SightlineError], int, str], ...] = (
    (errors.QueryError, 400, "query"),
    (errors.UsageError, 400, "usage"),
    (errors.ParameterError, 400, "parameter"),
    (errors.NoCollection, 409, "nothing-indexed"),
    (errors.CollectionError, 409, "not-ready"),
    (errors.NotBetter, 409, "not-better"),
    (errors.DataError, 422, "data"),
    (errors.MissingExtra, 409, "missing-extra"),
    (errors.StoreBusy, 409, "busy"),
    (errors.StoreReadOnly, 409, "read-only"),
    (errors.StoreTooNew, 409, "too-new"),
    (errors.StoreDamaged, 500, "damaged"),
    (errors.StoreIOError, 500, "disk"),
    (errors.SightlineError, 500, "failed"),
)
_RETRY = {"busy": 2, "overload": 1, "slow": 5, "uploads": 2, "jobs": 10, "streams": 5,
          "ending": 5, "connections": 5}  # fmt: skip


class Problem(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail

    @property
    def retry(self) -> int | None:
        """Seconds after which it may go better; None if it will not by itself."""
        return _RETRY.get(self.code)

    @property
    def for_strangers(self) -> bool:
        """Whether it goes to somebody who did not show that they may ask."""
        return self.status in (401, 403) or self.code in ("twice", "connections")

    def body(self, version: int | None = None) -> bytes:
        """Return what is sent.

        >>> Problem(404, "no-picture", "There is no picture 3.").body(7)[:60]
        b'{"type": "urn:sightline:problem:no-picture", "title": "There'
        >>> Problem(404, "no-picture", "There is no picture 3.").body(7)[-13:]
        b'"version": 7}'
        """
        said: dict[str, str | int] = {
            "type": f"urn:sightline:problem:{self.code}", "title": _TITLES[self.status],
            "status": self.status, "code": self.code, "detail": self.detail,
        }  # fmt: skip
        if version is not None and not self.for_strangers:
            said["version"] = version
        return json.dumps(said).encode()

    @property
    def headers(self) -> dict[str, str]:
        """Headers that belong to it."""
        found = {"content-type": MEDIA}
        if self.retry is not None:
            found["retry-after"] = str(self.retry)
        if self.status == 401:
            found["www-authenticate"] = 'Bearer realm="sightline"'
        return found


def of_error(e: BaseException) -> Problem:
    """Return the problem that an error is.

    >>> of_error(errors.QueryError("no word")).status
    400
    """
    for kind, status, code in _STATUS:
        if isinstance(e, kind):
            return Problem(status, code, str(e))
    return Problem(500, "internal", f"This should not happen ({type(e).__name__}). {LOG}")


def ending() -> Problem:
    """Return the answer to whoever waits while the server ends."""
    return Problem(503, "ending", "The server ends. Come back once it is started again.")


def no_picture(picture: int) -> Problem:
    """Return the answer to an id that is nobody's."""
    return Problem(404, "no-picture", f"There is no picture {picture} here.")
