"""What must never happen while somebody looks at the page, and is noticed whenever it does."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Error, Request, WebError

# A violation of the policy is told to the document; whatever is told as an error is noticed.
_LISTEN = """
addEventListener("securitypolicyviolation", (e) =>
  console.error(`policy violated: ${e.effectiveDirective} by ${e.blockedURI || e.sample}`));
"""


@dataclass
class Watch:
    """Everything that went wrong in one browser context.

    Attributes
    ----------
    host : the server; a request to any other is a complaint.
    complaints : what happened, in words.
    asked : addresses of all requests.
    """

    host: str
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    _expected: list[re.Pattern[str]] = field(default_factory=list)

    def over(self, context: BrowserContext) -> Watch:
        """Watch over all pages of a context."""
        context.add_init_script(_LISTEN)
        context.on("console", self._console)
        context.on("weberror", self._error)
        context.on("dialog", self._dialog)
        context.on("request", self._request)
        return self

    def expect(self, pattern: str) -> None:
        """Say that a complaint is meant to come, once or often; it is one more if it does not."""
        self._expected.append(re.compile(pattern))

    def verdict(self) -> list[str]:
        """Return complaints that nobody expected, and what was expected in vain."""
        unmet = [p.pattern for p in self._expected if not any(map(p.search, self.complaints))]
        wrong = [c for c in self.complaints if not any(p.search(c) for p in self._expected)]
        return [*wrong, *(f"did not happen: {p}" for p in unmet)]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            where = urlsplit(message.location["url"]).path
            self.complaints.append(f"{message.type}: {message.text} ({where})")

    def _error(self, error: WebError) -> None:
        self.complaints.append(f"thrown: {error.error}")

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        # Several at once are closed together.
        with contextlib.suppress(Error):
            dialog.dismiss()

    def _request(self, request: Request) -> None:
        self.asked.append(request.url)
        parts = urlsplit(request.url)
        if parts.scheme not in ("blob", "data") and parts.netloc != self.host:
            self.complaints.append(f"request elsewhere: {request.url}")
