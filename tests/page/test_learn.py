"""Training and measuring on the page: jobs as they go, reports, versions, and the way back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.factories.photos import paint
from tests.factories.servers import Served, hold_trainings, painted, running
from tests.page.visit import Locator, Page, Visitor, Visits, expect


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a collection with enough held-out pictures for curves."""
    with running(painted(tmp_path_factory.mktemp("large"), train=False, n=150)) as found:
        yield found


def learning(visit: Visits, served: Served) -> Visitor:
    """Look at the view that learns."""
    visitor = visit(served)
    visitor.go("#/train")
    expect(visitor.page.locator("#status")).to_contain_text("Pictures")
    return visitor


def job(page: Page) -> Locator:
    """The newest job."""
    return page.get_by_role("list", name="Jobs").get_by_role("listitem").first


def test_a_training_is_followed_and_cancelled(
    visit: Visits, large: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold_trainings(monkeypatch)
    visitor = learning(visit, large)
    page = visitor.page
    version = large.service.collection.store.version()
    page.get_by_role("form", name="Train").get_by_role("button", name="Train").click()
    expect(job(page)).to_contain_text("Running")
    bar = job(page).get_by_role("progressbar")
    expect(bar).to_be_visible()
    # It is told live what is done: a step that has a name, and how far it is.
    expect(job(page).locator(".notes")).to_contain_text(re.compile(r"\w+"))
    # Searching goes on meanwhile.
    assert large.client.search("red").hits
    job(page).get_by_role("button", name="Cancel").click()
    expect(job(page)).to_contain_text("Cancelled")
    expect(job(page)).to_contain_text("Nothing was published")
    assert large.service.collection.store.version() == version


def test_a_training_ends_with_its_proof(visit: Visits, own: Served) -> None:
    visitor = learning(visit, own)
    page = visitor.page
    form = page.get_by_role("form", name="Train")
    form.get_by_text("Options").click()
    # Rankers are tried by a search alone; without a budget it ends with the quick model.
    expect(form.get_by_label("ridge", exact=True)).to_be_hidden()
    form.get_by_label("Search for a better model").check()
    form.get_by_label("ridge", exact=True).check()
    form.get_by_label("Seconds to search").fill("0")
    form.get_by_role("button", name="Train").click()
    expect(job(page)).to_contain_text("Done")
    expect(job(page)).to_contain_text(re.compile(r"held-out quer\w+: mean AvgP \.?\d"))
    expect(job(page)).to_contain_text(re.compile(r"Published as version \d+"))
    version = own.service.collection.store.version()
    served = page.get_by_role("region", name="Kept versions").get_by_role("row")
    expect(served.filter(has_text="Current")).to_contain_text(str(version))


def test_a_text_model_is_trained_from_the_page(visit: Visits, own: Served) -> None:
    visitor = learning(visit, own)
    page = visitor.page
    form = page.get_by_role("form", name="Train")
    form.get_by_label("What to train").select_option("text")
    form.get_by_role("button", name="Train").click()
    expect(job(page)).to_contain_text("Trained the text model of")
    expect(job(page)).to_contain_text(re.compile(r"Published as version \d+"))
    kept = page.get_by_role("region", name="Kept versions").get_by_role("row")
    expect(kept.filter(has_text="Current")).to_contain_text("Texts")
    visitor.go("#/topics")
    expect(page.locator("h2").first).to_contain_text("Dimension 0")


def test_pictures_that_were_added_are_indexed_from_the_page(visit: Visits, tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=12)
    with running(c) as s:
        page = learning(visit, s).page
        paint(tmp_path / "photos", 3, True, 5, start=700)
        page.get_by_role("form", name="Index").get_by_role("button", name="Index").click()
        expect(job(page)).to_contain_text("3 new")
        expect(page.locator("#status")).to_contain_text("27")


def test_the_report_on_own_data_has_curves_and_p_values(visit: Visits, large: Served) -> None:
    done = large.client.finish(large.client.start("train", rankers=["cca"]).id)
    assert done.state == "done"
    page = learning(visit, large).page
    page.get_by_role("form", name="Evaluate").get_by_role("button", name="Evaluate").click()
    expect(job(page)).to_contain_text("Done")
    for chart in ("Learning curve", "Precision and recall"):
        drawn = job(page).get_by_role("img", name=re.compile(chart))
        expect(drawn).to_be_visible()
        assert drawn.locator("path, polyline, line, circle").count() > 3
    gained = job(page).get_by_role("region", name="Gain over the untrained order")
    expect(gained.get_by_role("columnheader", name="p-value")).to_be_visible()
    expect(gained.get_by_role("columnheader", name="Worse than chance")).to_be_visible()
    expect(job(page)).to_contain_text("Worse than chance are queries that 95 of 100 random orders")


def test_versions_are_compared_and_rolled_back(visit: Visits, own: Served) -> None:
    c = own.service.collection
    first = c.store.version()
    c.train(rankers=["ridge"], force=True)
    second = c.store.version()
    visitor = learning(visit, own)
    page = visitor.page
    page.get_by_label("From version", exact=True).select_option(str(first))
    page.get_by_label("To version", exact=True).select_option(str(second))
    page.get_by_role("button", name="Compare").click()
    compared = page.get_by_role("region", name=f"Version {first} and version {second}")
    expect(compared).to_contain_text("AvgP")
    page.get_by_role("button", name=f"Roll back to version {first}").click()
    sure = page.get_by_role("dialog", name=f"Roll back to version {first}?")
    page.keyboard.press("Escape")
    expect(sure).to_have_count(0)
    assert c.store.version() == second
    page.get_by_role("button", name=f"Roll back to version {first}").click()
    sure.get_by_role("button", name="Roll back").click()
    visitor.said(f"Version {first} is published again")
    assert c.store.version() > second


def test_a_job_that_cannot_be_done_says_why(visit: Visits, tmp_path: Path) -> None:
    with running(painted(tmp_path, train=False, n=12)) as s:
        page = learning(visit, s).page
        page.get_by_role("form", name="Evaluate").get_by_role("button", name="Evaluate").click()
        expect(job(page)).to_contain_text("Failed")
        expect(job(page)).to_contain_text("There is no word model yet")
