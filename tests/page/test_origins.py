"""Pages of others: they can neither read nor change anything, whatever they make a browser send."""

from __future__ import annotations

import json

import pytest

from sightline.collection import Collection
from tests.factories.judging_collections import events_of
from tests.factories.servers import Served
from tests.page.browser import EVIL
from tests.page.site import hosting
from tests.page.visit import Visits, expect

# What a page of somebody else tries; each gives what it could read, or "" for nothing.
READS = {
    "fetch": "fetch(url, {credentials: 'include'}).then((r) => r.text())",
    "fetch without cors": """
        fetch(url, {credentials: 'include', mode: 'no-cors'}).then((r) => r.text())""",
    "picture": """new Promise((yes, no) => {
        const i = new Image(); i.onload = () => yes(`${i.width} wide`); i.onerror = no;
        i.src = url; })""",
    "script": """new Promise((yes, no) => {
        const s = document.createElement('script'); s.onload = () => yes('ran'); s.onerror = no;
        s.src = url; document.head.append(s); })""",
    "style": """new Promise((yes, no) => {
        const s = document.createElement('link'); s.rel = 'stylesheet'; s.onerror = no;
        s.onload = () => yes(String(s.sheet.cssRules.length)); s.href = url;
        document.head.append(s); })""",
    "frame": """new Promise((yes, no) => {
        const f = document.createElement('iframe');
        f.onload = () => yes(f.contentDocument?.body?.textContent ?? ''); f.onerror = no;
        f.src = url; document.body.append(f); })""",
}
WRITES = {
    "json": """fetch(url, {method: 'POST', credentials: 'include', body,
        headers: {'Content-Type': 'application/json'}})""",
    "plain": "fetch(url, {method: 'POST', credentials: 'include', mode: 'no-cors', body})",
    "beacon": """
        Promise.resolve(navigator.sendBeacon(url, new Blob([body], {type: 'application/json'})))""",
}
FORM = """<!doctype html><title>x</title><form method=post enctype=text/plain action="{url}">
<input name='{body}' value=''></form><script>document.forms[0].submit()</script>"""


def state(c: Collection) -> tuple[int, int]:
    """Return what changes when anything does: the version, and how many events there are."""
    return c.store.version(), len(events_of(c))


def attempts(own: Served) -> list[tuple[str, str]]:
    """Return addresses to write to, with bodies that would count if they were ours."""
    session = own.client.begin("red").session
    own.client.judge(session, [1])
    return [
        (f"/v1/sessions/{session}/judgements", json.dumps({"relevant": [2]})),
        (f"/v1/sessions/{session}/undo", "{}"),
        (f"/v1/sessions/{session}/word", json.dumps({"word": "planted"})),
        (f"/v1/sessions/{session}/revert", "{}"),
        ("/v1/sessions", json.dumps({"query": "red"})),
        ("/v1/jobs", json.dumps({"verb": "index", "refit": True})),
    ]


@pytest.mark.parametrize("host", ["127.0.0.1", EVIL])
def test_a_page_of_another_site_reads_nothing(visit: Visits, own: Served, host: str) -> None:
    thief = visit(own)
    thief.watch.expect(".")
    with hosting({"/": "<!doctype html><title>x</title><body></body>"}) as site:
        thief.page.goto(f"http://{host}:{site.port}/")
        for path in ("/v1/report", "/v1/pictures/1/thumbnail", "/v1/words", "/", "/page/main.js"):
            for how, script in READS.items():
                url = json.dumps(own.address.url + path)
                read = thief.page.evaluate(
                    f"(async (url) => {{ try {{ return await ({script}); }}"
                    f" catch {{ return ''; }} }})({url})"
                )
                assert read == "", (path, how)
    # The browser is ours all the same, and the page works in it.
    thief.go()
    expect(thief.page).to_have_title("Search · Sightline")


@pytest.mark.parametrize("host", ["127.0.0.1", EVIL])
def test_a_page_of_another_site_changes_nothing(visit: Visits, own: Served, host: str) -> None:
    thief = visit(own)
    thief.watch.expect(".")
    tried = attempts(own)
    before = state(own.service.collection)
    forms = {
        f"/form{i}": FORM.format(url=own.address.url + path, body=body)
        for i, (path, body) in enumerate(tried)
    }
    with hosting({"/": "<!doctype html><title>x</title>", **forms}) as site:
        thief.page.goto(f"http://{host}:{site.port}/")
        for path, body in tried:
            url = json.dumps(own.address.url + path)
            for script in WRITES.values():
                thief.page.evaluate(
                    f"(async (url, body) => {{ try {{ await ({script}); }} catch {{ }} }})"
                    f"({url}, {json.dumps(body)})"
                )
            thief.page.goto(own.address.url + path.replace("/judgements", ""))
            thief.page.goto(f"http://{host}:{site.port}/")
        for form in forms:
            with thief.page.expect_navigation(url=f"{own.address.url}/**"):
                thief.page.goto(f"http://{host}:{site.port}{form}", wait_until="commit")
            expect(thief.page.get_by_role("heading", level=1)).to_have_text("Refused")
    assert state(own.service.collection) == before
    assert own.client.get("/v1/jobs")["jobs"] == []


def test_a_name_that_was_pointed_here_is_refused(visit: Visits, own: Served) -> None:
    lured = visit(own)
    lured.watch.expect("status of 403")
    lured.watch.expect("request elsewhere")
    # It is told nothing at all, not even how a page looks.
    lured.watch.expect("Refused to apply style")
    lured.watch.expect("Cross-Origin-Opener-Policy header has been ignored")
    reply = lured.page.goto(f"http://{EVIL}:{own.port}/")
    assert reply is not None and reply.status == 403
    expect(lured.page.get_by_role("heading", level=1)).to_have_text("Refused")
    assert "Sightline" not in lured.page.evaluate("fetch('/v1').then((r) => r.text())")


def test_what_the_page_itself_sends_is_taken(visit: Visits, own: Served) -> None:
    """The same requests from our own page count, so that refusing them says something."""
    visitor = visit(own)
    visitor.go()
    (path, body), *_ = attempts(own)
    before = state(own.service.collection)
    status = visitor.page.evaluate(
        "([url, body]) => fetch(url, {method: 'POST', body,"
        " headers: {'Content-Type': 'application/json'}}).then((r) => r.status)",
        [path, body],
    )
    assert status == 200 and state(own.service.collection) != before
