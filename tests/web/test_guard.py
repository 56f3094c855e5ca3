"""What every request passes: Host, Origin, token, types, sizes, times; and what answers have."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from sightline.collection import Collection
from sightline.web.app import build
from sightline.web.guard import ENTRY, UPLOADS
from sightline.web.service import Service
from tests.factories.servers import Reply, Served, running

SAFE = ("GET", "HEAD", "OPTIONS")


def operations(c: Collection) -> list[tuple[str, str]]:
    """Return method and path of everything the description names, with ids that may be."""
    paths = build(Service(c)).openapi()["paths"]
    out = []
    for path, of in paths.items():
        filled = re.sub(r"\{(picture)\}", "1", path)
        filled = filled.replace("{collection}", "pictures").replace("{model}", "words")
        filled = re.sub(r"\{\w+\}", "0123456789", filled)
        out += [(m.upper(), filled) for m in of]
    return out


def flat(routes: Iterable[BaseRoute]) -> Iterator[BaseRoute]:
    """Yield all routes, also those of groups that an application includes."""
    for r in routes:
        inner = getattr(r, "original_router", None)
        yield from [r] if inner is None else flat(inner.routes)


def test_every_route_is_described(taught: Collection) -> None:
    app = build(Service(taught))
    described = {(m.upper(), p) for p, of in app.openapi()["paths"].items() for m in of}
    assert app.openapi()["openapi"].startswith("3.1")
    assert app.openapi()["security"] == [{"token": []}]
    # What is served, route by route, with nothing besides and nothing left out.
    routes = list(flat(app.routes))
    served = {(m, r.path) for r in routes if isinstance(r, APIRoute) for m in r.methods or ()}
    of_page = {("GET", "/"), ("GET", "/page/{name:path}"), ("POST", "/login")}
    assert served == described | of_page
    assert len(described) >= 35
    # Of the description itself, and of a page, nothing is described.
    others = {str(getattr(r, "path", r)) for r in routes if not isinstance(r, APIRoute)}
    assert {p for p in others if p != "/" and not p.startswith("/assets")} == {"/openapi.json"}
    uploads = {p for p, of in app.openapi()["paths"].items() if "image/*" in str(of.get("post"))}
    assert uploads == UPLOADS


def test_every_answer_names_its_version(taught: Collection) -> None:
    described = build(Service(taught)).openapi()
    schemas = described["components"]["schemas"]
    for path, of in described["paths"].items():
        for operation in of.values():
            for status, reply in operation["responses"].items():
                found = reply.get("content", {}).get("application/json", {}).get("schema", {})
                if status != "default" and found:
                    name = found["$ref"].rpartition("/")[2]
                    assert "version" in schemas[name]["required"], path


def test_every_problem_names_the_version_but_to_strangers(
    served: Served, taught: Collection
) -> None:
    version = taught.store.version()
    found = operations(taught)
    for method, path in found:
        # No operation takes a body of this type, nor knows this method.
        wrong = [served.ask("PUT", path, b"x", {"Content-Type": "text/plain"}),
                 served.ask("PATCH", path)]  # fmt: skip
        for reply in wrong:
            assert reply.code in ("type", "method") and reply.json["version"] == version, path
        for strange in ({"Authorization": ""}, {"Host": "evil.test"}):
            reply = served.ask(method, path, b"{}", strange)
            assert reply.status in (401, 403) and "version" not in reply.json
    assert served.ask("GET", "/nothing").json["version"] == version


def test_problems_of_a_collection_that_is_not_there_have_no_version(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    c = Collection.open(tmp_path / "photos", store=tmp_path / "store")
    with running(c) as s:
        reply = s.post("/v1/search", {"query": "red"})
        assert (reply.status, reply.code) == (409, "nothing-indexed")
        assert "version" not in reply.json


@pytest.mark.parametrize("shown", ["", "Bearer", "Bearer ", "Bearer wrong", "Basic x", "Token"])
def test_no_route_answers_without_the_token(served: Served, taught: Collection, shown: str) -> None:
    more = [("GET", "/openapi.json"), ("GET", "/nothing"), ("GET", "/docs"), ("DELETE", "/"),
            ("OPTIONS", "/v1/search"), ("HEAD", "/v1/health"), ("PUT", "/v1/jobs")]  # fmt: skip
    found = operations(taught)
    assert len(found) >= 35
    for method, path in [*found, *more]:
        reply = served.ask(method, path, b"{}", {"Authorization": shown})
        assert reply.status == 401, (method, path)
        assert "www-authenticate" in reply.headers or path == ENTRY
    # Put after the path, a token is none: it would end up in logs and in the history.
    path = f"/v1/health?token={served.service.token}"
    assert served.ask("GET", path, headers={"Authorization": shown}).status == 401


def test_a_token_that_is_nearly_right_is_wrong(served: Served) -> None:
    token = served.service.token
    assert len(token) * 6 >= 128
    for wrong in (token[:-1], token + "x", token.swapcase(), token[:-1] + "é"):
        reply = served.ask("GET", "/v1/health", headers={"Authorization": f"Bearer {wrong}"})
        assert reply.status == 401
    for right in (f"Bearer {token}", f"bearer  {token}"):
        assert served.ask("GET", "/v1/health", headers={"Authorization": right}).status == 200


def host_forms(port: int) -> list[tuple[str, bool]]:
    """Return 25 forms of the Host header, and whether each is ours."""
    legal = [f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", f"LocalHost:{port}"]
    wrong = [
        f"evil.test:{port}", f"127.0.0.1.evil.test:{port}", f"localhost.evil.test:{port}",
        f"evil.test@127.0.0.1:{port}", f"127.0.0.1:{port}@evil.test", f"localhost:99@evil:{port}",
        f"0.0.0.0:{port}", f"2130706433:{port}", f"0x7f000001:{port}", f"0177.0.0.1:{port}",
        f"127.1:{port}", f"127.0.0.2:{port}", f"localhost.:{port}", f"127.0.0.1.:{port}",
        f"[::]:{port}", f"[::ffff:127.0.0.1]:{port}", f"::1:{port}", f"127.0.0.1:{port + 1}",
        "127.0.0.1", f"127.0.0.1:{port}/", f"127.0.0.1:0{port}",
    ]  # fmt: skip
    return [*((h, True) for h in legal), *((h, False) for h in wrong)]


def test_only_our_own_names_are_answered(served: Served) -> None:
    forms = host_forms(served.port)
    assert len(forms) == 25 and sum(ours for _, ours in forms) == 4
    for host, ours in forms:
        for path in ("/v1/health", "/nothing", ENTRY):
            reply = served.ask("GET", path, headers={"Host": host})
            assert (reply.status != 403) is ours, host
            assert ours or reply.code == "host"
    token = f"Authorization: Bearer {served.service.token}\r\n"
    for head in ("", f"Host: 127.0.0.1:{served.port}\r\nHost: evil.test\r\n", "Host:\r\n"):
        reply = served.raw(f"GET / HTTP/1.1\r\n{head}{token}Connection: close\r\n\r\n".encode())
        assert reply.status in (400, 403)


def origins(port: int) -> list[dict[str, str]]:
    """Return 12 ways in which a page of somebody else makes a browser ask."""
    here = f"http://127.0.0.1:{port}"
    return [
        {"Origin": "https://evil.test", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.test"},
        {"Origin": f"http://127.0.0.1:{port + 1}", "Sec-Fetch-Site": "same-site"},
        {"Origin": f"http://localhost:{port + 1}"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},  # a sandboxed frame
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": here, "Sec-Fetch-Site": "cross-site"},
        {"Origin": f"https://127.0.0.1:{port}"},
        {"Origin": f"{here}.evil.test"},
        {"Origin": "file://", "Content-Type": "text/plain"},  # a form that looks like JSON
    ]


def cookie_of(s: Served) -> dict[str, str]:
    return {"Cookie": f"{s.service.cookie_name}={s.service.cookie}"}


def test_pages_of_others_change_nothing(own: Served) -> None:
    c, before = own.service.collection, own.service.collection.store.version()
    forms = origins(own.port)
    assert len(forms) == 12
    session = own.client.begin("red").session
    bodies: dict[str, Any] = {
        f"/v1/sessions/{session}/judgements": {"relevant": [1]},
        "/v1/jobs": {"verb": "index"},
        "/v1/models/rollback": {},
    }
    changing = [p for m, p in operations(c) if m not in SAFE]
    assert len(changing) >= 15
    for origin, path in itertools.product(forms, [*changing, *bodies]):
        body = json.dumps(bodies.get(path, {})).encode()
        # Shown by the browser for whoever asks it to; even the token itself does not help.
        for shown in ({"Authorization": "", **cookie_of(own)}, {}):
            reply = own.ask("POST", path, body, {**shown, **origin})
            assert (reply.status, reply.code) == (403, "origin"), (origin, path)
    assert c.sessions.all() == [] and c.store.version() == before and own.service.jobs.all() == []


def test_a_browser_that_does_not_say_where_it_comes_from_changes_nothing(own: Served) -> None:
    bare = {"Authorization": "", **cookie_of(own)}
    assert own.post("/v1/jobs", {"verb": "index"}, **bare).code == "origin"
    here = {**bare, "Origin": f"http://127.0.0.1:{own.port}"}
    assert own.post("/v1/search", {"query": "red"}, **here).status == 200
    site = {**bare, "Sec-Fetch-Site": "same-origin"}
    assert own.ask("POST", "/v1/search", b'{"query": "red"}', site).status == 200


def test_pictures_are_not_shown_in_pages_of_others(served: Served) -> None:
    other = {"Authorization": "", **cookie_of(served), "Sec-Fetch-Site": "cross-site"}
    assert served.ask("GET", "/v1/pictures/1/thumbnail", headers=other).code == "origin"
    own = {**other, "Sec-Fetch-Site": "same-origin"}
    assert served.ask("GET", "/v1/pictures/1/thumbnail", headers=own).status == 200


def test_the_code_for_a_browser_is_good_once(own: Served) -> None:
    path = own.address.login.removeprefix(own.address.url)
    none = {"Authorization": ""}
    assert own.ask("GET", f"{ENTRY}?code=wrong", headers=none).code == "code"
    first = own.ask("GET", path, headers=none)
    assert first.status == 303 and first.headers["location"] == "/"
    cookie = first.headers["set-cookie"]
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert own.ask("GET", path, headers=none).code == "code"
    assert own.ask("GET", ENTRY, headers=none).code == "code"
    given = {"Authorization": "", **cookie_of(own)}
    assert own.ask("GET", "/v1/health", headers=given).status == 200
    for wrong in ("x=y", f"{own.service.cookie_name}=x", "\x7f=;;", f"{own.service.cookie_name}"):
        assert own.ask("GET", "/", headers={**given, "Cookie": wrong}).status == 401


def test_every_answer_carries_the_policy_and_allows_no_other_site(served: Served) -> None:
    replies: list[Reply] = [
        served.ask("GET", "/v1/health"), served.ask("GET", "/v1/pictures/1/thumbnail"),
        served.ask("GET", "/nothing"), served.ask("GET", "/", headers={"Host": "evil.test"}),
        served.ask("OPTIONS", "/v1/search", headers={"Origin": "https://evil.test"}),
        served.post("/v1/search", {"query": ""}), served.ask("GET", "/v1/pictures/1/original"),
        served.ask("GET", "/v1/metrics"), served.ask("GET", "/openapi.json"),
    ]  # fmt: skip
    for r in replies:
        policy = r.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe-inline" not in policy
        assert r.headers["x-content-type-options"] == "nosniff"
        assert r.headers["referrer-policy"] == "no-referrer"
        assert "server" not in r.headers and "x-powered-by" not in r.headers
        assert not [h for h in r.headers if h.startswith("access-control")]


def test_bodies_are_of_the_right_type_and_size(served: Served) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"):
        reply = served.ask("POST", "/v1/search", b'{"query": "red"}', {"Content-Type": kind})
        assert (reply.status, reply.code) == (415, "type")
    json_type = {"Content-Type": "application/json"}
    assert served.ask("POST", "/v1/search/picture", b"{}", json_type).code == "type"
    for wrong in (b"{", b"[]", b"\xff", b"null", b'{"query": "\\ud800"}', b"[" * 100_000):
        assert served.ask("POST", "/v1/search", wrong).status in (400, 422)
    large = b'{"query": "' + b"x" * 1_000_001 + b'"}'
    assert served.ask("POST", "/v1/search", large).code == "too-large"
    for length in ("999999999", "-1", "1e3", "9" * 40):
        reply = served.ask("POST", "/v1/search", b"{}", {"Content-Length": length})
        assert reply.status in (400, 413)
    chunks = b"".join(b"10000\r\n" + b"x" * 65536 + b"\r\n" for _ in range(17)) + b"0\r\n\r\n"
    more = {"Transfer-Encoding": "chunked", "Content-Length": ""}
    assert served.ask("POST", "/v1/search", chunks, more).code == "too-large"


def test_headers_that_two_could_read_differently_come_once(served: Served) -> None:
    host = f"Host: 127.0.0.1:{served.port}\r\n"
    token = f"Authorization: Bearer {served.service.token}\r\n"
    own, json_type = f"Origin: http://127.0.0.1:{served.port}\r\n", "Content-Type: application/json"
    twice = [
        token + token, token + "authorization: Bearer x\r\n", token + own + own,
        token + own + "Origin: https://evil.test\r\n", token + "Origin: null\r\n" + own,
        token + "Sec-Fetch-Site: none\r\nsec-fetch-site: cross-site\r\n",
        token + f"{json_type}\r\n", token + "Transfer-Encoding: chunked\r\n",
        token + "Content-Length: 16\r\n", token + "content-length: 16\r\n",
    ]  # fmt: skip
    rest = f"{json_type}\r\nContent-Length: 16\r\nConnection: close\r\n\r\n"
    start = f"POST /v1/search HTTP/1.1\r\n{host}"
    assert served.raw(f'{start}{token}{own}{rest}{{"query": "red"}}'.encode()).status == 200
    for more in twice:
        reply = served.raw(f'{start}{more}{rest}{{"query": "red"}}'.encode())
        assert reply.status == 400, more
        if reply.headers["content-type"] == "application/problem+json":
            assert reply.code == "twice" and "version" not in reply.json
    for other in ("Content-Length: 5\r\n", "Content-Length: 16, 5\r\n"):
        assert served.raw(f"{start}{token}{other}{rest}".encode()).status == 400


def test_cookies_of_other_programs_do_not_hide_ours(own: Served) -> None:
    mine = f"{own.service.cookie_name}={own.service.cookie}"
    for other in ('prefs={"x":1}', "path=/x", "a[b]=1", "theme=dark mode", "flag", "a=1"):
        for text in (f"{other}; {mine}", f"{mine}; {other}"):
            shown = {"Authorization": "", "Cookie": text}
            assert own.ask("GET", "/v1/health", headers=shown).status == 200, text
    assert (
        own.ask("GET", "/v1/health", headers={"Authorization": "", "Cookie": "x=y"}).status == 401
    )


def test_methods_that_somebody_made_up_are_not_counted_one_by_one(own: Served) -> None:
    for i in range(20):
        assert own.ask(f"MADE{i}", "/v1/health").status == 405
    text = own.ask("GET", "/v1/metrics").body.decode()
    assert "MADE" not in text and 'route="other /v1/health"' in text
