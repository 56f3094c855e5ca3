"""Checks of Host and Origin headers against DNS rebinding and cross-site requests.

A page of another site can make a browser send requests to this machine, also under a host name that
resolves to it. Such a request names that site in Host, Origin or Sec-Fetch-Site.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from sightline.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
UNSAFE = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]", re.ASCII)
_ORIGIN = re.compile(r"(https?)://([^\s/?#@:\[\]]+|\[[^\s/?#@\[\]]+\])(?::([0-9]{1,5}))?", re.ASCII)
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class WebOrigin:
    """The public origin of a reverse proxy in front of this server.

    >>> WebOrigin.of("https://Photos.example:443")
    WebOrigin(scheme='https', host='photos.example', port=443)
    >>> str(WebOrigin.of("https://photos.example:8443")), str(WebOrigin.of("http://[::1]:80"))
    ('https://photos.example:8443', 'http://[::1]')
    """

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> WebOrigin:
        """Parse an origin."""
        match = _ORIGIN.fullmatch(text.lower()) if text.isascii() else None
        if match is None or not is_name(match[2]) or not 0 < int(match[3] or 1) < 65536:
            raise UsageError(
                f"{text!r} is no origin. Give scheme, host and, unless it is the usual one, port, "
                "and nothing else: https://photos.example"
            )
        return cls(match[1], match[2], int(match[3] or _PORTS[match[1]]))

    @property
    def hosts(self) -> frozenset[str]:
        """The possible Host headers; the default port of the scheme may be left out."""
        named = f"{self.host}:{self.port}"
        return frozenset((named, self.host) if self.port == _PORTS[self.scheme] else (named,))

    def __str__(self) -> str:
        return f"{self.scheme}://{min(self.hosts, key=len)}"


class Hosts:
    """The host names of this server, with its port.

    >>> hosts = Hosts(8000)
    >>> [hosts.allows(h) for h in ("127.0.0.1:8000", "[::1]:8000", "evil.test:8000", "localhost")]
    [True, True, False, False]
    >>> hosts = Hosts(8000, origins=[WebOrigin.of("https://photos.example")])
    >>> [hosts.allows_origin(f"{s}://photos.example") for s in ("https", "http")]
    [True, False]
    """

    def __init__(
        self, port: int, names: Iterable[str] = LOOPBACK, origins: Iterable[WebOrigin] = ()
    ) -> None:
        own, shown = [n.lower() for n in names], tuple(origins)
        self._own = {f"{n}:{port}" for n in own} | ({*own} if port == 80 else set())
        self._origins = {f"http://{h}" for h in self._own} | {str(o) for o in shown}
        self._allowed = self._own.union(*(o.hosts for o in shown))
        self._encrypted = frozenset(h for o in shown if o.scheme == "https" for h in o.hosts)

    def allows(self, host: str) -> bool:
        """Return whether a Host header names this server; case does not matter."""
        return host.isascii() and host.lower() in self._allowed

    def encrypts(self, host: str) -> bool:
        """Return whether requests with a Host header come through a proxy with TLS."""
        return host.lower() in self._encrypted

    def allows_origin(self, origin: str) -> bool:
        """Return whether an Origin header is an origin of this server."""
        return origin.isascii() and origin.lower() in self._origins

    def is_foreign(self, method: str, origin: str | None, site: str | None, cookie: bool) -> bool:
        """Return whether a request may have been sent by a page of another site.

        A browser sends its origin with each request that changes something, so a request with a
        cookie and without an origin is rejected. Programs send neither.
        """
        if site is not None and site not in ("same-origin", "none"):
            return True
        if method not in UNSAFE:
            return False
        if origin is not None:
            return not self.allows_origin(origin)
        return cookie and site is None


def is_loopback(address: str) -> bool:
    """Return whether an address is reachable only from this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("pc.lan")
    (True, True, False, False)
    """
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def stands_for_all(address: str) -> bool:
    """Return whether an address is a wildcard, which clients cannot use as a host.

    >>> [stands_for_all(a) for a in ("0.0.0.0", "::", "[::]", "0", "", "10.0.0.1", "pc.lan")]
    [True, True, True, True, True, False, False]
    """
    plain = address.strip("[]")
    try:
        return not plain or ipaddress.ip_address(plain).is_unspecified
    except ValueError:
        pass
    try:
        # Short forms that the system accepts too.
        return socket.inet_aton(plain) == bytes(4)
    except OSError:
        return False


def is_name(text: str) -> bool:
    """Return whether a text is a valid host name.

    >>> is_name("photos.lan"), is_name("[::1]"), is_name("a b"), is_name("*")
    (True, True, False, False)
    """
    return _NAME.fullmatch(text.lower()) is not None
