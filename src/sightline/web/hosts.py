"""Who is asking: which Host and Origin headers come from here, and which from a stranger's page.

A page of another site can make a browser send requests to this machine, under a name of its own
that it has pointed here. Such a request names that site in Host, Origin or Sec-Fetch-Site.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
UNSAFE = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]", re.ASCII)


class Hosts:
    """The names under which this server is asked, with its port.

    >>> hosts = Hosts(8000)
    >>> [hosts.allows(h) for h in ("127.0.0.1:8000", "[::1]:8000", "evil.test:8000", "localhost")]
    [True, True, False, False]
    """

    def __init__(self, port: int, names: Iterable[str] = LOOPBACK) -> None:
        self._allowed = {f"{n.lower()}:{port}" for n in names}
        if port == 80:
            self._allowed |= {n.lower() for n in names}

    def allows(self, host: str) -> bool:
        """Say whether a Host header names this server; only letters may differ in case."""
        return host.isascii() and host.lower() in self._allowed

    def allows_origin(self, origin: str) -> bool:
        """Say whether an Origin header is that of a page from this server."""
        scheme, _, host = origin.partition("://")
        return scheme == "http" and self.allows(host)

    def is_foreign(self, method: str, origin: str | None, site: str | None, cookie: bool) -> bool:
        """Say whether a request may have been made by a page of somebody else.

        A browser says with each request that changes something where it comes from, so one that
        shows a cookie and says nothing is not to be believed. Programs send neither.
        """
        if site is not None and site not in ("same-origin", "none"):
            return True
        if method not in UNSAFE:
            return False
        if origin is not None:
            return not self.allows_origin(origin)
        return cookie and site is None


def is_loopback(address: str) -> bool:
    """Say whether only this machine can reach a server at an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("pc.lan")
    (True, True, False, False)
    """
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def is_name(text: str) -> bool:
    """Say whether a text can be the name of a host.

    >>> is_name("photos.lan"), is_name("[::1]"), is_name("a b"), is_name("*")
    (True, True, False, False)
    """
    return _NAME.fullmatch(text.lower()) is not None
