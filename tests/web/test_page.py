"""The page's own files: served to whoever may ask, and written so that no text becomes markup."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from sightline.web.routes.page import files
from tests.factories.servers import Served

PAGE = Path(str(resources.files("sightline.web"))) / "page"
NOBODY = {"Authorization": ""}
LOOKING = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none"}


def test_every_file_is_served_as_what_it_is(served: Served) -> None:
    shipped = {p.relative_to(PAGE).as_posix() for p in PAGE.rglob("*") if p.is_file()}
    assert set(files()) == {n for n in shipped if not n.endswith(".d.ts")}
    for name, file in files().items():
        reply = served.ask("GET", f"/page/{name}")
        assert reply.status == 200 and reply.body == (PAGE / name).read_bytes()
        assert reply.headers["content-type"] == file.media
        assert "unsafe-inline" not in reply.headers["content-security-policy"]
        again = served.ask("GET", f"/page/{name}", headers={"If-None-Match": file.tag})
        assert again.status == 304 and not again.body
    several = ", ".join([f'"{n:016x}"' for n in range(20)] + [files()["main.js"].tag])
    again = served.ask("GET", "/page/main.js", headers={"If-None-Match": several})
    assert again.status == 304


def test_the_beginning_is_the_page_and_programs_find_the_api(served: Served) -> None:
    assert served.ask("GET", "/").body == (PAGE / "index.html").read_bytes()
    assert served.ask("GET", "/v1").json["service"] == "sightline"


@pytest.mark.parametrize(
    "name",
    ["../app.py", "%2e%2e/app.py", "views/../main.js", "views", "", "nothing.js", "types.d.ts"],
)
def test_nothing_else_is_served(served: Served, name: str) -> None:
    assert served.ask("GET", f"/page/{name}").status == 404


def test_strangers_see_how_to_come_in_and_nothing_else(served: Served) -> None:
    for name in ("", *(f"page/{n}" for n in files() if n != "style.css")):
        assert served.ask("GET", f"/{name}", headers=NOBODY).code == "token"
    shown = served.ask("GET", "/", headers={**NOBODY, **LOOKING})
    assert shown.status == 401 and shown.headers["content-type"].startswith("text/html")
    assert b"sightline serve" in shown.body and b"version" not in shown.body
    assert served.ask("GET", "/page/style.css", headers=NOBODY).status == 200


def test_a_person_can_type_the_token(served: Served) -> None:
    form = {**NOBODY, "Content-Type": "application/x-www-form-urlencoded"}
    ours = {**form, "Origin": served.address.url, "Sec-Fetch-Site": "same-origin"}
    wrong = served.ask("POST", "/login", b"token=wrong", {**ours, **LOOKING, "Sec-Fetch-Site": ""})
    assert wrong.status == 401 and b"<form" in wrong.body and "set-cookie" not in wrong.headers
    token = served.service.token.encode()
    entered = served.ask("POST", "/login", b"token=" + token, ours)
    assert entered.status == 303 and entered.headers["location"] == "/"
    cookie = entered.headers["set-cookie"]
    assert "httponly" in cookie and "samesite=strict" in cookie
    for stranger in (
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        assert served.ask("POST", "/login", b"token=" + token, {**ours, **stranger}).status == 403
    assert (
        served.ask("POST", "/v1/search", b"query=red", {**ours, "Authorization": ""}).status == 401
    )
    assert (
        served.ask(
            "POST", "/v1/search", b"query=red", {"Content-Type": form["Content-Type"]}
        ).status
        == 415
    )


def test_people_see_problems_as_pages_and_programs_as_json(served: Served) -> None:
    assert served.ask("GET", "/nothing").code == "no-route"
    shown = served.ask("GET", "/nothing", headers=LOOKING)
    assert shown.status == 404 and b"<h1>There is no such thing</h1>" in shown.body
    shown = served.ask("GET", "/v1/sessions/%3Cb%3E/hits", headers=LOOKING)
    assert b"<b>" not in shown.body


def test_no_file_reads_markup_or_asks_elsewhere() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|new Function"
        r"|setAttribute\(\s*[\"'](style|on)|srcdoc|javascript:|(https?:)?//[a-z0-9.-]+\.[a-z]{2,}",
        re.IGNORECASE,
    )
    for name, file in files().items():
        text = file.body.decode().replace("http://www.w3.org/2000/svg", "")
        assert not forbidden.search(text), (name, forbidden.search(text))
        if name.endswith(".html"):
            assert not re.search(
                r"<style|\sstyle=|\son[a-z]+=|<script(?! type=\"module\" src=)", text
            )


def test_one_small_file_a_view() -> None:
    for name, file in files().items():
        assert len(file.body.splitlines()) <= 400, name
