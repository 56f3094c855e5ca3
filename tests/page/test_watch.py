"""The watch notices: each fault is planted in a page, and must be complained of."""

from __future__ import annotations

import pytest

from tests.page.browser import Browser
from tests.page.site import hosting
from tests.page.watch import Watch

# Under our policy, what each page does and what is said of it.
FAULTS = {
    "inline script": ("<script>window.bad = 1</script>", "policy violated: script-src-elem"),
    "handler": ("<p onclick='bad()'>x</p>", "policy violated: script-src-attr"),
    "style": ("<p style='color: red'>x</p>", "policy violated: style-src-attr"),
    "picture elsewhere": ("<img src='http://evil.test/x.png'>", "policy violated: img-src"),
    "frame": ("<iframe src='http://evil.test/'></iframe>", "policy violated: frame-src"),
    "markup": ("<script src='/markup.js'></script>", "policy violated: require-trusted-types"),
    "thrown": ("<script src='/thrown.js'></script>", "thrown: .*planted"),
    "rejected": ("<script src='/rejected.js'></script>", "thrown: .*planted"),
    "told": ("<script src='/told.js'></script>", "error: planted"),
    "dialog": ("<script src='/dialog.js'></script>", "dialog: planted"),
    "missing": ("<img src='/nothing.png'>", "status of 404"),
}
SCRIPTS = {
    "/markup.js": "try { document.documentElement.innerHTML = '<b>x</b>'; } catch { }",
    "/thrown.js": "throw new Error('planted');",
    "/rejected.js": "Promise.reject(new Error('planted'));",
    "/told.js": "console.error('planted');",
    "/dialog.js": "alert('planted');",
}


def looked_at(browser: Browser, body: str, policy: bool) -> Watch:
    """Return what is noticed of a page."""
    page = f"<!doctype html><html lang=en><title>x</title><link rel=icon href='/icon'>{body}"
    with hosting({"/": page, "/icon": "", **SCRIPTS}, policy) as site:
        context = browser.new_context()
        watch = Watch(site.host).over(context)
        opened = context.new_page()
        opened.goto(f"http://{site.host}/")
        # What is told before this is answered has arrived.
        opened.evaluate("1")
        context.close()
    return watch


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(browser: Browser, fault: str) -> None:
    body, complaint = FAULTS[fault]
    watch = looked_at(browser, body, policy=True)
    assert watch.verdict()
    watch.expect(complaint)
    assert f"did not happen: {complaint}" not in watch.verdict()


def test_requests_elsewhere_are_noticed_without_any_policy(browser: Browser) -> None:
    watch = looked_at(browser, "<img src='http://evil.test:9/x.png'>", policy=False)
    assert any(c.startswith("request elsewhere: http://evil.test:9/") for c in watch.verdict())


def test_a_sound_page_is_not_complained_of(browser: Browser) -> None:
    assert looked_at(browser, "<p>x</p>", policy=True).verdict() == []


def test_what_is_expected_must_happen(browser: Browser) -> None:
    watch = looked_at(browser, "<p>x</p>", policy=True)
    watch.expect("status of 404")
    assert watch.verdict() == ["did not happen: status of 404"]
