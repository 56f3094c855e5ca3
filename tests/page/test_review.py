"""The review: words proposed and doubted, answered by keyboard; scenes, topics, and why."""

from __future__ import annotations

import csv
import io
import re

from tests.factories.servers import Served
from tests.page.visit import Page, Visits, expect


def asked(page: Page) -> str:
    """Return the question that is asked."""
    question = page.locator("#review-question")
    expect(question).to_contain_text("picture?")
    return question.inner_text()


def test_words_are_answered_by_keyboard_and_taken_back(visit: Visits, learnt: Served) -> None:
    visitor = visit(learnt)
    page = visitor.go("#/review")
    page.get_by_label("Required precision").select_option("8 in 10")
    told = page.locator("#review-told")
    expect(told).to_contain_text(re.compile(r"^1 of "))
    first = asked(page)
    expect(page.locator("#review-picture")).to_have_js_property("complete", True)
    expect(page.locator(".card")).to_contain_text(re.compile(r"\d+ % |Over 99 %"))
    page.keyboard.press("y")
    expect(told).to_contain_text("1 yes, 0 no, 0 skipped")
    page.keyboard.press("n")
    expect(told).to_contain_text("1 yes, 1 no, 0 skipped")
    third = asked(page)
    page.keyboard.press("s")
    expect(told).to_contain_text("1 yes, 1 no, 1 skipped · saved")
    assert asked(page) != third
    page.keyboard.press("u")
    assert asked(page) == third
    page.keyboard.press("u")
    page.keyboard.press("u")
    expect(page.locator("#review-question")).to_have_text(first)
    page.keyboard.press("y")
    expect(told).to_contain_text("1 yes, 0 no, 0 skipped · saved")
    # One session holds them all, and leaving makes pictures have what was accepted.
    with page.expect_response(re.compile("/v1/tags/carry")):
        page.keyboard.press("1")
    visitor.said("changed")


def test_precision_is_told_for_each_word_and_what_is_asked_can_be_narrowed(
    visit: Visits, learnt: Served
) -> None:
    page = visit(learnt).go("#/review")
    page.get_by_label("Required precision").select_option("8 in 10")
    for kind, badge in (
        ("Words to add", "+ Word to add"),
        ("Words to remove", "− Word to remove"),
    ):
        page.get_by_label("Ask about").select_option(kind)
        expect(page.locator(".card .badge")).to_contain_text(badge)
    page.get_by_label("Ask about").select_option("Words to add")
    expect(page.locator(".card")).to_contain_text(
        re.compile(r"was right \d+ of \d+ times on held-out pictures")
    )


def test_words_are_exported(visit: Visits, learnt: Served) -> None:
    page = visit(learnt).go("#/review")
    page.get_by_role("combobox", name=re.compile("xport")).select_option("All words of pictures")
    with page.expect_download() as got:
        page.get_by_role("link", name="Export as CSV").click()
    rows = list(csv.reader(io.StringIO(got.value.path().read_text(encoding="utf-8"))))
    assert len(rows) > 100 and any("grass" in cell for row in rows for cell in row)


def test_scenes_and_topics_lead_to_searches(visit: Visits, learnt: Served) -> None:
    visitor = visit(learnt)
    page = visitor.go("#/scenes")
    expect(page.get_by_role("heading", level=2)).to_have_count(2)
    expect(page.locator(".strip img").first).to_be_visible()
    page.get_by_role("link", name=re.compile(r"^(grass|sand) ")).first.click()
    expect(visitor.tiles.first).to_be_visible()
    visitor.go("#/topics")
    expect(page.get_by_role("heading", name="Dimension 0")).to_be_visible()
    page.get_by_label("Words near").fill("cow")
    page.keyboard.press("Enter")
    expect(page.locator(".picks").first.get_by_role("link").first).to_be_visible()


def test_a_picture_shows_why_it_was_found_and_where_the_word_lies(
    visit: Visits, learnt: Served
) -> None:
    visitor = visit(learnt)
    page = visitor.go("#/search?q=cow")
    expect(visitor.tiles.first).to_be_visible()
    visitor.grid.focus()
    page.keyboard.press("Enter")
    why = page.get_by_role("dialog").locator(".why")
    expect(why).to_contain_text("Why, for “cow”")
    button = why.get_by_role("button").first
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    canvas = page.get_by_role("dialog").locator("canvas")
    expect(canvas).to_be_visible()
    painted = (
        "(c) => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v > 0)"
    )
    assert canvas.evaluate(painted)
    button.click()
    expect(canvas).to_be_hidden()
