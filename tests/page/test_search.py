"""Searching on the page: words, suggestions, grammar, filters, pictures, and what hits tell."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from PIL import Image

from tests.factories.photos import COLOURS
from tests.factories.servers import painted, running
from tests.page.visit import Visitor, Visits, expect


@pytest.fixture
def red(tmp_path: Path) -> Path:
    """Return a picture that is not of the collection, and red."""
    Image.new("RGB", (50, 40), COLOURS["red"]).save(tmp_path / "mine.png")
    return tmp_path / "mine.png"


def names(visitor: Visitor, n: int) -> list[str]:
    """Return what is told of the first tiles."""
    expect(visitor.tiles.first).to_be_visible()
    found = [visitor.tiles.nth(i).get_attribute("aria-label") or "" for i in range(n)]
    return [name.partition(",")[0] for name in found]


def colour_of(name: str) -> str:
    """Return the colour that a picture of the collection was painted in."""
    return list(COLOURS)[int(name.rpartition("/")[2][:3]) % len(COLOURS)]


def test_the_first_search_shows_pictures_with_their_kind_of_match(visitor: Visitor) -> None:
    page = visitor.go()
    expect(page.get_by_text("102 pictures, 90 of them with words")).to_be_visible()
    tiles = visitor.search("red")
    expect(tiles.first).to_have_attribute("aria-label", re.compile(r"\.png, exact$"))
    assert {colour_of(n) for n in names(visitor, 15)} == {"red"}
    # The rest is predicted: its pictures do not have the word.
    predicted = visitor.grid.locator(".predicted").first
    expect(predicted).to_have_attribute("aria-label", re.compile(r"\d %, predicted"))
    expect(predicted.locator("img")).to_have_js_property("complete", True)
    assert predicted.locator("img").evaluate("(i) => i.naturalWidth") > 0
    assert page.url.endswith("#/search?q=red")


def test_the_cut_off_is_a_line_between_pictures(visitor: Visitor) -> None:
    visitor.go()
    visitor.search("red")
    line = visitor.grid.locator(".cutoff")
    expect(line).to_be_visible()
    told = visitor.page.locator(".told").first
    expect(told).to_contain_text(re.compile(r"\d+ of 102 pictures above the line"))
    within = int(re.search(r"(\d+) of 102", told.inner_text()).group(1))  # type: ignore[union-attr]
    assert 15 <= within < 102
    line.scroll_into_view_if_needed()
    where = line.bounding_box()
    last, next_one = (visitor.grid.locator(f"[data-at='{within - i}']") for i in (1, 0))
    above, below = last.bounding_box(), next_one.bounding_box()
    assert where and above and below
    assert above["y"] + above["height"] <= where["y"] + 1
    assert where["y"] + where["height"] <= below["y"] + 1


def test_words_are_suggested_and_taken_by_keyboard(visitor: Visitor) -> None:
    page = visitor.go()
    box = page.get_by_role("combobox", name="Words to search for")
    box.press_sequentially("re")
    choices = page.get_by_role("listbox", name="Words").get_by_role("option")
    expect(choices.first).to_contain_text("red")
    expect(choices.first).to_contain_text("15 pictures")
    expect(box).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    expect(choices.first).to_have_attribute("aria-selected", "true")
    expect(box).to_have_attribute("aria-activedescendant", "suggestion-0")
    page.keyboard.press("Enter")
    expect(box).to_have_value("red ")
    box.press_sequentially("-col")
    expect(choices.first).to_contain_text("cold")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    expect(box).to_have_value("red -cold ")
    expect(box).to_be_focused()
    page.keyboard.press("Enter")
    expect(visitor.tiles.first).to_be_visible()
    expect(choices).to_have_count(0)


def test_escape_closes_suggestions_and_words_can_be_typed_to_the_end(visitor: Visitor) -> None:
    page = visitor.go()
    box = page.get_by_role("combobox", name="Words to search for")
    box.press_sequentially("gre")
    expect(page.locator("#suggestions")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#suggestions")).to_be_hidden()
    expect(box).to_have_value("gre")


@pytest.mark.parametrize(
    ("query", "colours"),
    [
        ("+warm -red", {"yellow"}),
        ("+cold +blue", {"blue"}),
        ("+cold -blue -green -black", {"white"}),
    ],
)
def test_the_grammar_of_queries(visitor: Visitor, query: str, colours: set[str]) -> None:
    visitor.go()
    visitor.search(query)
    # Tags decide where there are any; pictures without tags follow by prediction.
    expect(visitor.tiles.nth(15)).to_have_attribute("aria-label", re.compile("predicted"))
    assert {colour_of(n) for n in names(visitor, 15)} == colours


def test_a_query_that_cannot_be_read_says_why(visitor: Visitor) -> None:
    visitor.watch.expect("status of 400")
    page = visitor.go()
    visitor.search('"red')
    expect(page.get_by_role("alert")).to_contain_text(re.compile("quote", re.IGNORECASE))
    visitor.search("red")
    expect(visitor.tiles.first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_an_unknown_word_has_near_ones_to_take(visitor: Visitor) -> None:
    page = visitor.go()
    visitor.search('"yelow"')
    expect(page.get_by_text("No picture has the word “yelow”.")).to_be_visible()
    page.get_by_role("button", name="yellow").click()
    expect(page.get_by_role("combobox", name="Words to search for")).to_have_value("yellow")
    expect(visitor.tiles.first).to_have_attribute("aria-label", re.compile("exact"))


def test_filters_narrow_what_is_found(visitor: Visitor) -> None:
    page = visitor.go("#/search?q=red")
    expect(visitor.tiles.first).to_be_visible()
    page.get_by_text("Filters", exact=True).click()
    told = page.locator(".told").first
    for label, choice, found in (
        ("Words", "Without any word", 12), ("Words", "With words", 90),
        ("Words", "With or without words", 102), ("Folder", "late (12)", 12),
        ("Folder", "All folders", 102),
    ):  # fmt: skip
        page.get_by_role("combobox", name=label, exact=True).select_option(choice)
        expect(told).to_contain_text(re.compile(rf"of {found} pictures|^{found} pictures"))
    for label, value, found in (
        ("Longer side at least (pixels)", "41", 0), ("Longer side at least (pixels)", "40", 102),
        ("File at least (MB)", "1", 0), ("File at least (MB)", "", 102),
    ):  # fmt: skip
        page.get_by_label(label).fill(value)
        page.keyboard.press("Tab")
        expect(told).to_contain_text(re.compile(rf"\b{found} pictures"))


def test_a_picture_is_chosen_and_taken_away_again(visitor: Visitor, red: Path) -> None:
    page = visitor.go()
    with page.expect_response(re.compile("/v1/search/picture")):
        page.get_by_label("A picture to search by").set_input_files(red)
    expect(page.get_by_text("mine.png")).to_be_visible()
    assert {colour_of(n) for n in names(visitor, 5)} == {"red"}
    page.get_by_role("button", name="Without mine.png").click()
    expect(page.get_by_text("mine.png")).to_be_hidden()


def test_words_and_a_picture_are_searched_for_together(visitor: Visitor, red: Path) -> None:
    page = visitor.go()
    visitor.search("yellow")
    with page.expect_response(re.compile("/v1/search/words-and-picture")) as reply:
        page.get_by_label("A picture to search by").set_input_files(red)
    assert reply.value.status == 200
    assert {"yellow", "red"} >= {colour_of(n) for n in names(visitor, 6)}


@pytest.mark.parametrize("how", ["drop", "paste"])
def test_a_picture_is_dropped_or_pasted(visitor: Visitor, red: Path, how: str) -> None:
    page = visitor.go()
    expect(page.get_by_role("search")).to_be_visible()
    given = base64.b64encode(red.read_bytes()).decode()
    with page.expect_response(re.compile("/v1/search/picture")):
        page.evaluate(
            """async ([how, given]) => {
              const bytes = Uint8Array.from(atob(given), (c) => c.charCodeAt(0));
              const data = new DataTransfer();
              data.items.add(new File([bytes], "mine.png", { type: "image/png" }));
              const event = how === "drop"
                ? new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data })
                : new ClipboardEvent("paste", { bubbles: true, clipboardData: data });
              document.querySelector("main").dispatchEvent(event);
            }""",
            [how, given],
        )
    assert {colour_of(n) for n in names(visitor, 5)} == {"red"}


def test_words_go_with_positive_and_negative_examples(visitor: Visitor) -> None:
    visitor.watch.expect("/v1/where")
    page = visitor.go()
    visitor.search("warm")
    chips = page.locator(".examples .chip")
    for i, (button, said, fields) in enumerate(
        (
            ("Add as a negative example", "not similar to this", (0, 1)),
            ("Add as a positive example", "similar to this", (1, 1)),
        )
    ):
        expect(visitor.tiles.first).to_be_visible()
        visitor.grid.focus()
        page.keyboard.press("Enter")
        with page.expect_request(lambda r: r.url.endswith("/v1/search")) as asked:
            page.get_by_role("dialog").get_by_role("button", name=button).click()
        body = asked.value.post_data_json
        assert body is not None
        assert body["query"] == "warm"
        assert (len(body["positive"]), len(body["negative"])) == fields
        expect(chips).to_have_count(i + 1)
        expect(chips.filter(has_text=re.compile(f"^{said}"))).to_have_count(1)
        # An example is no hit.
        first = int(body["negative"][0])
        expect(page.locator(".told").first).to_contain_text(" ms")
        served = visitor.served.client.post("/v1/search", {**body, "k": 200})
        assert first not in {h["id"] for h in served["hits"]}
    assert "positive=" in page.url and "negative=" in page.url
    page.reload()
    expect(chips).to_have_count(2)
    chips.filter(has_text="not similar").get_by_role("button").click()
    expect(chips).to_have_count(1)
    assert "negative=" not in page.url
    visitor.go("#/search?negative=1")
    expect(page.get_by_text("Add words or a positive example")).to_be_visible()


def test_a_file_that_is_no_picture_is_refused_with_a_reason(
    visitor: Visitor, tmp_path: Path
) -> None:
    visitor.watch.expect("status of 4")
    (tmp_path / "no.png").write_bytes(b"this is text")
    page = visitor.go()
    page.get_by_label("A picture to search by").set_input_files(tmp_path / "no.png")
    expect(page.get_by_role("alert")).to_be_visible()


def test_a_question_mark_lists_the_keys(visitor: Visitor) -> None:
    page = visitor.go("#/search?q=red")
    expect(visitor.tiles.first).to_be_visible()
    visitor.grid.focus()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    for key in ("y, n", "r", "b", "u", "w", "/"):
        expect(dialog.locator("kbd", has_text=re.compile(f"^{re.escape(key)}$"))).to_be_visible()
    # Keys belong to the dialog while it is open.
    page.keyboard.press("2")
    assert page.url.endswith("#/search?q=red")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Words to search for")).to_be_focused()


def test_a_picture_is_opened_with_its_facts_words_and_others_like_it(visitor: Visitor) -> None:
    # No model of regions was trained here, which the dialog says.
    visitor.watch.expect("/v1/where")
    page = visitor.go("#/search?q=red")
    expect(visitor.tiles.first).to_be_visible()
    visitor.grid.focus()
    page.keyboard.press("Enter")
    (first, second) = names(visitor, 2)
    dialog = page.get_by_role("dialog", name=first)
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("40 × 30, PNG")
    expect(dialog).to_contain_text("red, warm")
    expect(dialog.locator(".strip img").first).to_be_visible()
    dialog.get_by_text("Details", exact=True).click()
    expect(dialog.get_by_text("red: ")).to_contain_text("times as likely as on any picture")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("dialog", name=second)).to_be_visible()
    page.get_by_role("link", name="Similar to this").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".chip", has_text="similar to this")).to_be_visible()
    expect(visitor.tiles.first).to_be_visible()
    assert "red" in {colour_of(n) for n in names(visitor, 3)}


def test_the_theme_can_be_changed_and_stays(visitor: Visitor) -> None:
    page = visitor.go()
    ground = "() => getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Light or dark").click()
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    assert page.evaluate(ground) == dark


def test_words_that_were_not_learned_are_named_above_the_hits(visitor: Visitor) -> None:
    visitor.go()
    visitor.search("red xyzzy")
    line = visitor.page.locator(".told .not-learned")
    expect(line).to_have_text("not learned: xyzzy (on no picture)")
    expect(visitor.grid.locator(".predicted").first).to_be_visible()
    visitor.search("red")
    expect(line).to_have_count(0)
    visitor.search("xyzzy")
    expect(line).to_contain_text("Nothing is predicted")
    visitor.page.get_by_role("link", name="red", exact=True).click()
    expect(visitor.grid.locator(".predicted").first).to_be_visible()


def test_what_decided_on_words_with_a_sign_stands_above_the_hits(visitor: Visitor) -> None:
    visitor.go()
    visitor.search("warm -red")
    line = visitor.page.locator(".told .constraints")
    expect(line).to_have_text("−red by tags, and by prediction on pictures without tags")
    visitor.search("warm")
    expect(line).to_have_count(0)
    visitor.watch.expect("/v1/where")
    visitor.search("warm -red")
    expect(line).to_have_count(1)
    visitor.grid.focus()
    visitor.page.keyboard.press("Enter")
    signs = visitor.page.get_by_role("dialog").locator(".why tr.sign")
    expect(signs.first).to_contain_text(re.compile("by tags: |predicted: "))


def test_mistyped_words_are_searched_as_what_was_meant(visitor: Visitor) -> None:
    page = visitor.go()
    visitor.search("warm -Yelow")
    line = page.locator(".told .corrected")
    expect(line).to_have_text("Searched yellow for “yelow”. Search “yelow” instead")
    expect(page.locator(".told .constraints")).to_contain_text("−yellow")
    expect(visitor.tiles.first).to_be_visible()
    line.get_by_role("button").click()
    expect(line).to_have_count(0)
    box = page.get_by_role("combobox", name="Words to search for")
    expect(box).to_have_value('warm -"yelow"')


def test_a_text_that_is_too_long_for_a_query_is_searched_as_a_text(visitor: Visitor) -> None:
    visitor.watch.expect("/v1/search")
    page = visitor.go()
    visitor.search("many words " * 300)
    expect(page.get_by_text("A query may have 64 words and 1,000 characters.")).to_be_visible()
    with page.expect_response(lambda r: r.url.endswith("/v1/search/text")):
        page.get_by_role("button", name="Search by the whole text").click()


def test_hits_by_a_word_that_is_not_yet_proven_say_so(visit: Visits, tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=24)
    c.train(rankers=["ridge"], force=True)
    with c.judge(pictures=1) as session:
        session.mark(positive=[7, 13], negative=[2, 3])
        session.save_as("scarlet")
    c.train(rankers=["ridge"], force=True)
    with running(c) as served:
        visitor = visit(served)
        page = visitor.go("#/search?q=scarlet")
        expect(page.locator(".unproven")).to_contain_text("scarlet (learned from 2 pictures)")
        predicted = visitor.grid.locator(".predicted").first
        expect(predicted).to_have_attribute("aria-label", re.compile("not yet proven"))
        expect(predicted).to_contain_text("◇ not yet proven")
        expect(visitor.grid.locator(".predicted", has_text="%")).to_have_count(0)
