"""Suspected mislabels: a list of tags that are probably wrong, each kept or removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from sightline.collection import Collection
from sightline.collection.tagging.suspected import SuspectedTags
from sightline.compute.inline import InlineCompute
from tests.factories.servers import Served, running
from tests.factories.tagged_collections import SCENES, copied, painted
from tests.page.axe import faults, violations
from tests.page.visit import Visits, expect
from tests.sharing import built_once
from tests.waiting import until

VIEW = "#/review?list=suspected"


@pytest.fixture(scope="session")
def ridged() -> Path:
    """Return the folder of painted scenes, some with a wrong tag, and a model that suspects it."""

    def build(folder: Path) -> None:
        (folder / "photos").mkdir()
        for i in range(80):
            Image.fromarray(painted(i)).save(folder / "photos" / f"{i:03d}.png")
            ground = SCENES[(i % 2 == 0) if i % 10 == 1 else i % 2][0]
            (folder / "photos" / f"{i:03d}.txt").write_text(ground)
        c = Collection.open(folder / "photos", store=folder / "store", workers=1)
        c.index(features=["color"], compute=InlineCompute())
        c.train(rankers=["ridge"], force=True)

    return built_once("ridged", build)


@pytest.fixture
def doubtful(ridged: Path, tmp_path: Path) -> Iterator[Served]:
    with running(copied(ridged, tmp_path)) as served:
        yield served


def listed(served: Served) -> SuspectedTags:
    return served.service.collection.tagging.suspected()


def test_tags_are_kept_and_removed_and_leave_the_list(visit: Visits, doubtful: Served) -> None:
    before = listed(doubtful)
    assert len(before) >= 3
    visitor = visit(doubtful)
    visitor.watch.expect("/v1/tags")
    page = visitor.go("#/review")
    page.get_by_role("link", name="Suspected mislabels").click()
    rows = page.get_by_role("list", name="Suspected mislabels").get_by_role("listitem")
    expect(rows).to_have_count(len(before))
    first, second = before.suggestions[:2]
    expect(rows.first).to_contain_text(re.compile(r"wrong with a probability of (> )?\d+ %"))
    expect(rows.first).to_contain_text(first.word)
    told = page.locator("#suspected-told")
    with page.expect_response(re.compile("/v1/tags/answers")):
        page.get_by_role("button", name="Remove").first.click()
    with page.expect_response(re.compile("/v1/tags/answers")):
        page.get_by_role("button", name="Keep").first.click()
    expect(told).to_contain_text("1 kept, 1 removed · saved")
    expect(rows).to_have_count(len(before) - 2)
    # Both answers are judgements of one session.
    after = listed(doubtful)
    assert after.judged == 2 and not {first, second} & set(after.suggestions)
    (session,) = doubtful.service.collection.sessions.all()
    assert session.positive + session.negative == 2
    page.reload()
    expect(rows).to_have_count(len(before) - 2)


def test_tags_are_answered_by_keyboard_and_answers_undone(visit: Visits, doubtful: Served) -> None:
    n = len(listed(doubtful))
    page = visit(doubtful).go(VIEW)
    rows = page.get_by_role("list", name="Suspected mislabels").get_by_role("listitem")
    expect(rows).to_have_count(n)
    words = rows.locator("strong").all_inner_texts()
    told = page.locator("#suspected-told")
    page.keyboard.press("y")
    expect(told).to_contain_text("0 kept, 1 removed · saved")
    page.get_by_role("button", name="Keep").first.focus()
    page.keyboard.press("Enter")
    expect(told).to_contain_text("1 kept, 1 removed · saved")
    # The focus goes to the same button of the next tag.
    expect(page.get_by_role("button", name="Keep").first).to_be_focused()
    page.keyboard.press("u")
    page.keyboard.press("u")
    expect(told).to_have_text(re.compile(f"^{n} suspected mislabels?$"))
    assert rows.locator("strong").all_inner_texts() == words
    until(lambda: len(listed(doubtful)) == n)


def test_the_list_is_accessible(visit: Visits, doubtful: Served) -> None:
    page = visit(doubtful).go(VIEW)
    expect(page.get_by_role("button", name="Keep").first).to_be_visible()
    assert faults(page) == []


def test_without_a_model_that_can_tell_the_page_says_what_to_train(
    visit: Visits, tagged: Path, learnt: Served, tmp_path: Path
) -> None:
    with running(copied(tagged, tmp_path / "plain")) as plain:
        for served, button in ((plain, "Train words"), (learnt, "Train kernel ridge")):
            visitor = visit(served)
            visitor.watch.expect("/v1/tags/suspected")
            page = visitor.go(VIEW)
            expect(page.get_by_role("button", name=button)).to_be_visible()
            expect(page.get_by_role("list", name="Suspected mislabels")).to_be_empty()
            assert violations(page) == []


def test_where_no_tag_is_suspected_the_page_says_so(visit: Visits, doubtful: Served) -> None:
    with doubtful.service.collection.tagging.review(suspected=True) as review:
        for suspect in review.suggestions:
            review.answer(suspect, yes=False)
    page = visit(doubtful).go(VIEW)
    expect(page.get_by_role("heading", name="No tag is suspected")).to_be_visible()
    expect(page.locator(".notice")).to_contain_text("judged before")
