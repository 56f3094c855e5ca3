"""Behind a proxy that encrypts, browsers are let in by the origin that was named, and no other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sightline.collection import Collection
from sightline.errors import UsageError
from sightline.web.guard import ENTRY
from sightline.web.hosts import WebOrigin
from tests.factories.servers import Served, running

SHOWN = "https://photos.example"


@pytest.fixture(scope="module")
def behind(taught: Collection) -> Iterator[Served]:
    """Serve a collection behind three proxies."""
    with running(taught, origins=[SHOWN, "https://other.example:8443", "http://plain.lan"]) as s:
        yield s


def browser(s: Served, host: str, **more: str) -> dict[str, str]:
    cookie = f"{s.service.cookie_name}={s.service.cookie}"
    named = {k.replace("_", "-"): v for k, v in more.items()}
    return {"Authorization": "", "Cookie": cookie, "Host": host, **named}


def test_a_browser_is_let_in_through_the_proxy(behind: Served) -> None:
    for host in ("photos.example", "photos.example:443", "Photos.Example"):
        mine = browser(behind, host, Origin=SHOWN, Sec_Fetch_Site="same-origin")
        assert behind.ask("POST", "/v1/search", b'{"query": "red"}', mine).status == 200, host
    for host, origin in (
        ("other.example:8443", "https://other.example:8443"), ("plain.lan", "http://plain.lan"),
        ("plain.lan:80", "http://plain.lan"),
        # A proxy that sends its own word for the server as the Host.
        (f"127.0.0.1:{behind.port}", SHOWN),
    ):  # fmt: skip
        mine = browser(behind, host, Origin=origin)
        assert behind.ask("POST", "/v1/search", b'{"query": "red"}', mine).status == 200, host


def test_names_near_those_of_the_proxy_are_not_known(behind: Served) -> None:
    wrong = [
        f"photos.example:{behind.port}", "photos.example:80", "photos.example:0443",
        "photos.example.", "x.photos.example", "photos.example.evil.test", "photos.example@evil",
        "other.example", "other.example:443", "plain.lan:443", "photos.example:443:443", "evil",
    ]  # fmt: skip
    for host in wrong:
        assert behind.ask("GET", "/v1/health", headers={"Host": host}).code == "host", host


def test_pages_elsewhere_change_nothing_through_the_proxy(behind: Served) -> None:
    wrong = [
        "http://photos.example", "https://photos.example:8443", "https://photos.example:443",
        "https://photos.example/", "https://x.photos.example", "https://photos.example.evil.test",
        "https://other.example", "https://plain.lan", "null", "photos.example", "https://",
        f"https://photos.example:{behind.port}", "https://127.0.0.1", "wss://photos.example",
    ]  # fmt: skip
    for origin in wrong:
        for shown in (browser(behind, "photos.example"), {"Host": "photos.example"}):
            headers = {**shown, "Origin": origin}
            reply = behind.ask("POST", "/v1/search", b'{"query": "red"}', headers)
            assert (reply.status, reply.code) == (403, "origin"), origin
    site = browser(behind, "photos.example", Origin=SHOWN, Sec_Fetch_Site="cross-site")
    assert behind.ask("POST", "/v1/search", b'{"query": "red"}', site).code == "origin"


@pytest.mark.parametrize(
    ("host", "secure"),
    [("photos.example", True), ("photos.example:443", True), ("other.example:8443", True),
     ("plain.lan", False), ("", False)],
)  # fmt: skip
def test_the_cookie_is_secure_where_the_way_is_encrypted(
    taught: Collection, host: str, secure: bool
) -> None:
    shown = [SHOWN, "https://other.example:8443", "http://plain.lan"]
    with running(taught, origins=shown) as s:
        # The link that is printed leads through the proxy, where the browser is.
        assert s.address.login.startswith(f"{SHOWN}{ENTRY}?code=")
        given = {"Authorization": "", "Host": host or f"127.0.0.1:{s.port}"}
        reply = s.ask("GET", s.address.login.removeprefix(SHOWN), headers=given)
        assert reply.status == 303
        assert ("secure" in reply.headers["set-cookie"].split("; ")) is secure


@pytest.mark.parametrize(
    "text",
    ["", "photos.example", "https://", "ftp://x", "https://x/", "https://x/y", "https://x?y",
     "https://x#y", "https://me@x", "https://x:", "https://x:0", "https://x:65536", "https://x:x",
     "https://a b", "https://x\n", " https://x", "https://-x", "https://*", "*", "null",
     "https://[x]", "https://é", "https://x:123456", "https:x", "https:///x", "https://x\u0661"],
)  # fmt: skip
def test_what_is_no_origin_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no origin") as e:
        WebOrigin.of(text)
    assert repr(text) in str(e.value) and "\n" not in str(e.value)
