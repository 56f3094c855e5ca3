"""Coming in: by the address that was printed, once, and what those see who do not."""

from __future__ import annotations

from tests.factories.servers import Served
from tests.page.visit import VIEWS, Visits, expect


def test_the_printed_address_opens_the_page_once(visit: Visits, own: Served) -> None:
    visitor = visit(own, enter=False)
    visitor.page.goto(own.address.login)
    expect(visitor.page).to_have_title("Search · Sightline")
    assert visitor.page.url.startswith(own.address.url + "/")
    assert "code" not in visitor.page.url
    expect(visitor.page.get_by_role("combobox", name="Words to search for")).to_be_focused()
    # Scripts cannot read the cookie, and the code is spent.
    assert visitor.page.evaluate("document.cookie") == ""
    late = visit(own, enter=False)
    late.watch.expect("status of 401")
    reply = late.page.goto(own.address.login)
    assert reply is not None and reply.status == 401
    expect(late.page.get_by_role("heading", level=1)).to_have_text("A token is needed")
    expect(late.page.get_by_role("main")).to_contain_text("sightline serve")


def test_who_did_not_come_in_sees_a_page_that_says_how(visit: Visits, own: Served) -> None:
    stranger = visit(own, enter=False)
    stranger.watch.expect("status of 401")
    reply = stranger.page.goto(own.address.url)
    assert reply is not None and reply.status == 401
    assert reply.headers["content-type"].startswith("text/html")
    expect(stranger.page.get_by_role("main")).to_contain_text("sightline serve")


def test_an_unknown_address_is_a_page_too(visit: Visits, own: Served) -> None:
    visitor = visit(own)
    visitor.watch.expect("status of 404")
    reply = visitor.go("nonsense/<script>alert(1)</script>")
    assert visitor.page.title() == "There is no such thing · Sightline"
    visitor.page.get_by_role("link", name="Sightline").click()
    expect(visitor.page).to_have_title("Search · Sightline")
    assert reply is visitor.page


def test_every_view_has_a_title_and_a_place_in_the_menu(visit: Visits, own: Served) -> None:
    visitor = visit(own)
    # No model of regions was trained here, and the view that needs it says so.
    visitor.watch.expect("/v1/tags")
    for view in VIEWS:
        visitor.go(f"#/{view}")
        link = visitor.page.get_by_role("navigation").get_by_role("link", name=view.capitalize())
        expect(link).to_have_attribute("aria-current", "page")
        expect(visitor.page).to_have_title(f"{view.capitalize()} · Sightline")
        expect(visitor.page.get_by_role("heading", level=1)).to_have_count(1)
    visitor.page.keyboard.press("1")
    expect(visitor.page).to_have_title("Search · Sightline")
