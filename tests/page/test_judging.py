"""Feedback on the page, by keyboard alone; what was said is in the log."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.factories.judging_collections import events_of
from tests.factories.servers import Served
from tests.page.visit import Locator, Page, Visitor, Visits, expect


@pytest.fixture
def judge(visit: Visits, own: Served) -> Visitor:
    """Search, and stand on the first picture."""
    visitor = visit(own)
    visitor.go()
    visitor.search("red")
    expect(visitor.tiles.first).to_be_visible()
    visitor.grid.focus()
    return visitor


def bar(page: Page) -> Locator:
    """What was said so far."""
    return page.get_by_role("region", name="Your judgements")


def say(visitor: Visitor, keys: str) -> None:
    """Press keys one after the other, and wait until all that was said is counted."""
    before = len(judged(visitor.served))
    for key in keys:
        visitor.page.keyboard.press(key)
    new = "1 answer is new" if len(keys) == 1 else f"{len(keys)} answers are new"
    expect(bar(visitor.page)).to_contain_text(f"{new}. All are saved.")
    assert len(judged(visitor.served)) == before + len(keys)


def rank(visitor: Visitor) -> list[int]:
    """Ask for the next round; return the pictures of its list, the best first."""
    with visitor.page.expect_response(re.compile(r"/hits\?")) as reply:
        visitor.page.keyboard.press("r")
    return [h["id"] for h in reply.value.json()["hits"]]


def judged(own: Served) -> list[tuple[int | None, Any]]:
    """Return what the log holds of judgements: pictures, and whether they fit."""
    return [(e.picture, e.body["relevance"]) for e in events_of(own.service.collection, "judged")]


def test_three_rounds_by_keyboard(judge: Visitor) -> None:
    page = judge.page
    for n in range(1, 4):
        say(judge, "yyn")
        first = rank(judge)
        expect(bar(page)).to_contain_text(f"Round {n}.")
        expect(bar(page)).to_contain_text("Among the first 20")
        expect(judge.grid).to_be_focused()
        # What fits leads the list, what does not ends it.
        said = dict(judged(judge.served))
        fits = {p for p, relevance in said.items() if relevance and relevance > 0}
        assert set(first[: len(fits)]) == fits and first[-1] not in fits
        # Go beyond what was judged, for the next round to say something new.
        for _ in range(len(fits)):
            page.keyboard.press("ArrowRight")
    (session,) = judge.served.client.get("/v1/sessions")["sessions"]
    assert (session["relevant"], session["other"], session["query"]) == (6, 3, "red")
    assert len(judged(judge.served)) == 9


def test_what_is_pressed_fast_is_all_heard(judge: Visitor) -> None:
    expected = [judge.tiles.nth(i).get_attribute("aria-label") for i in range(8)]
    say(judge, "yyyynnnn")
    names = {
        p: judge.served.client.get(f"/v1/pictures/{p}")["name"] for p, _ in judged(judge.served)
    }
    told = [str(label).partition(",")[0] for label in expected]
    assert list(names.values()) == told
    assert [bool(r and r > 0) for _, r in judged(judge.served)] == [True] * 4 + [False] * 4


def test_in_an_open_picture_that_picture_is_judged(judge: Visitor) -> None:
    page = judge.page
    judge.watch.expect(r"409.*/v1/where")  # No model of regions here.
    first = page.evaluate("() => document.querySelector('.tile img').src.split('/').at(-2)")
    page.keyboard.press("Enter")
    opened = page.get_by_role("dialog")
    for key, name in (("y", "Fits"), ("n", "Does not fit")):
        page.keyboard.press(key)
        pressed = opened.get_by_role("button", name=name, exact=True)
        expect(pressed).to_have_attribute("aria-pressed", "true")
        expect(opened.get_by_text("Saved.")).to_be_visible()
        expect(bar(page)).to_contain_text("All are saved.")
    assert [p for p, _ in judged(judge.served)] == [int(first)] * 2
    page.keyboard.press("ArrowRight")
    expect(opened.get_by_role("button", name="Does not fit", exact=True)).to_have_attribute(
        "aria-pressed", "false"
    )


def test_a_key_that_is_held_says_nothing_twice(judge: Visitor) -> None:
    for _ in range(5):
        judge.page.keyboard.down("y")
    judge.page.keyboard.up("y")
    expect(bar(judge.page)).to_contain_text("1 picture fits, 0 do not. 1 answer is new. All are")
    assert len(judged(judge.served)) == 1


def test_a_round_that_comes_late_replaces_no_other_search(judge: Visitor) -> None:
    page = judge.page
    say(judge, "y")
    held: list[Any] = []
    page.route(re.compile(r"/hits\?"), lambda route: held.append(route))
    page.keyboard.press("r")
    judge.search("blue")
    expect(page.locator(".told p").first).to_contain_text("version")
    labels = judge.tiles.first.get_attribute("aria-label")
    with page.expect_response(re.compile(r"/hits\?")):
        held[0].continue_()
    expect(bar(page)).to_be_hidden()
    expect(judge.tiles.first).to_have_attribute("aria-label", str(labels))


def test_before_and_after_a_round(judge: Visitor) -> None:
    page = judge.page
    labels = """() => [...document.querySelectorAll('.tile')].slice(0, 12)
        .map((t) => t.getAttribute('aria-label').split(',')[0])"""
    before = page.evaluate(labels)
    say(judge, "nny")
    rank(judge)
    expect(bar(page)).to_contain_text("Round 1.")
    after = page.evaluate(labels)
    assert after != before
    expect(judge.grid.get_by_text("▲").or_(judge.grid.get_by_text("new")).first).to_be_visible()
    flip = bar(page).get_by_role("button", name="Before")
    page.keyboard.press("b")
    judge.said("Before the round")
    expect(flip).to_have_attribute("aria-pressed", "true")
    assert page.evaluate(labels) == before
    page.keyboard.press("b")
    judge.said("After the round")
    expect(flip).to_have_attribute("aria-pressed", "false")
    assert page.evaluate(labels) == after


def test_undo_takes_back_what_was_said_last(judge: Visitor) -> None:
    page = judge.page
    say(judge, "yn")
    expect(judge.grid.locator(".fits, .unfit")).to_have_count(2)
    page.keyboard.press("u")
    judge.said("undone")
    expect(judge.grid.locator(".unfit")).to_have_count(0)
    expect(judge.grid.locator(".fits")).to_have_count(1)
    expect(bar(page)).to_contain_text("1 picture fits, 0 do not.")
    (session,) = judge.served.client.get("/v1/sessions")["sessions"]
    assert (session["relevant"], session["other"]) == (1, 0)


def test_a_selection_is_judged_at_once(judge: Visitor) -> None:
    page = judge.page
    page.keyboard.press("Space")
    for _ in range(4):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("y")
    judge.said("5 pictures fit.")
    expect(judge.grid.locator(".fits")).to_have_count(5)
    expect(judge.grid.locator("[aria-selected='true']")).to_have_count(0)
    assert len(judged(judge.served)) == 5


def test_what_fits_becomes_a_word(judge: Visitor) -> None:
    page = judge.page
    say(judge, "yyy")
    page.keyboard.press("w")
    expect(bar(page).get_by_label("A word for the pictures that fit")).to_be_focused()
    page.keyboard.type("crimson")
    page.keyboard.press("Enter")
    judge.said("3 pictures have the word “crimson” now.")
    judge.search("+crimson")
    expect(judge.tiles).to_have_count(3)


def test_reset_takes_everything_back(judge: Visitor) -> None:
    page = judge.page
    say(judge, "yyn")
    rank(judge)
    expect(bar(page)).to_contain_text("Round 1.")
    bar(page).get_by_role("button", name="Reset").click()
    asked = page.get_by_role("dialog", name="Revert this session?")
    asked.get_by_role("button", name="Cancel").click()
    expect(bar(page)).to_contain_text("2 pictures fit, 1 does not.")
    bar(page).get_by_role("button", name="Reset").click()
    asked.get_by_role("button", name="Revert").click()
    judge.said("was reverted")
    expect(bar(page)).to_be_hidden()
    expect(judge.grid.locator(".fits, .unfit")).to_have_count(0)
    (session,) = judge.served.client.get("/v1/sessions")["sessions"]
    assert session["state"] == "reverted"


def test_sessions_are_listed_gone_on_with_and_reverted(judge: Visitor) -> None:
    page = judge.page
    say(judge, "yyn")
    rank(judge)
    expect(bar(page)).to_contain_text("Round 1.")
    page.keyboard.press("3")
    entry = page.get_by_role("list", name="Sessions, the newest first").get_by_role("listitem")
    expect(entry).to_have_count(1)
    expect(entry).to_contain_text("2 pictures fit, 1 does not")
    entry.get_by_role("link", name="Resume “red”").click()
    expect(bar(page)).to_contain_text("2 pictures fit, 1 does not.")
    expect(judge.grid.locator(".fits")).to_have_count(2)
    page.keyboard.press("3")
    entry.get_by_role("button", name="Revert “red”").click()
    sure = page.get_by_role("dialog", name="Revert “red”?")
    sure.get_by_role("button", name="Revert").click()
    expect(entry).to_contain_text("Reverted")
    expect(entry.get_by_role("link", name="Resume “red”")).to_have_count(0)
    (session,) = judge.served.client.get("/v1/sessions")["sessions"]
    assert session["state"] == "reverted"


def test_a_picture_that_is_open_can_be_judged(judge: Visitor) -> None:
    judge.watch.expect("/v1/where")
    page = judge.page
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.keyboard.press("y")
    judge.said("1 picture fits. Saved.")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(judge.grid.locator(".fits")).to_have_count(1)
