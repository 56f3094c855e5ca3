"""Words, labels and captions in many scripts, and hostile text."""

from __future__ import annotations

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.records import Tags
from sightline.words import tokens as module
from sightline.words.tokens import (
    MAX_TERMS,
    MAX_TEXT,
    caption_terms,
    fold,
    labels,
    split_labels,
    tag_terms,
    tokens,
    visible,
)
from tests.factories.counted_work import calls
from tests.naive import words as naive

ANY_TEXT = st.text(st.characters())
MIXED = st.text(st.sampled_from("aBcß9 -_'.,/|;\néΣİиहि์ท東ー❤😀\u0301\u0308½ﬁ①"), max_size=40)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Große Straße", ["grosse", "strasse"]),
        ("ISTANBUL İstanbul ısı", ["istanbul", "i\u0307stanbul", "ısı"]),
        ("Ο ΔΡΟΜΟΣ δρόμος", ["ο", "δρομοσ", "δρόμοσ"]),
        ("Ёлка, СНЕГ", ["ёлка", "снег"]),
        ("हिन्दी में पेड़", ["हिन्दी", "में", unicodedata.normalize("NFKC", "पेड़")]),
        ("ต้นไม้ ภูเขา", ["ต้นไม้", "ภูเขา"]),
        ("東京タワー、夜景", ["東京タワー", "夜景"]),
        ("ﾄｳｷｮｳ", ["トウキョウ"]),
        ("شَجَرَة، ثلج", ["شَجَرَة", "ثلج"]),
        ("don't don’t donʼt don`t don´t", ["don't"] * 5),
        ("'quoted' ‘words’ rock''n", ["quoted", "words", "rock", "n"]),
        ("well-known snake_case 3.5km", ["well", "known", "snake", "case", "3", "5km"]),
        ("ﬁre ½ x²", ["fire", "1", "2", "x2"]),
        ("tree❤️snow 😀 !!!", ["tree", "snow"]),
        ("cafe\u0301 CAFÉ", ["café", "café"]),
        ("❤\u0301x", ["x"]),
        ("", []),
    ],
)
def test_words_of_many_scripts(text: str, words: list[str]) -> None:
    assert tokens(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "tr\u200bee",
        "tr\x00ee",
        "\ufefftree",
        "tr\u00adee",
        "t\u202eree",
        "tre\ufe0fe",
        "\udcfftree",
    ],
)
def test_invisible_characters_are_removed(text: str) -> None:
    assert tokens(text) == ["tree"]
    assert visible(text) == "tree"


def test_spaces_of_all_kinds_part_words() -> None:
    assert tokens("a\tb\nc\u3000d\x1ce\u2028f\xa0g") == list("abcdefg")


def test_long_words_are_cut_out() -> None:
    assert tokens("x" * 100 + " " + "y" * 101 + " z") == ["x" * 100, "z"]


def test_long_texts_are_cut() -> None:
    assert tokens("a " * (MAX_TEXT // 2) + "b")[-1] == "a"


def test_a_row_of_marks_takes_no_quadratic_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def noted(form: Literal["NFKC"], text: str) -> str:
        given.append(text)
        return unicodedata.normalize(form, text)

    monkeypatch.setattr(module, "normalize", noted)
    row = "\u0300\u0316"
    # What normalising costs is the square of the marks in a row, so it must be given few.
    assert calls(lambda: tokens("a" + row * 100_000)) < 1_000
    assert given and max(len(text) for text in given) < 100
    assert calls(lambda: tokens(f"a{row * 1_000} " * 100)) < 1_000
    assert max(len(run) for text in given for run in text.split()) < 100


@given(MIXED)
def test_words_equal_the_naive_ones(text: str) -> None:
    assert tokens(text) == naive.tokens(text)


@given(ANY_TEXT)
def test_words_of_words_are_the_same(text: str) -> None:
    words = tokens(text)
    assert tokens(" ".join(words)) == words
    assert all(0 < len(word) <= 100 for word in words)
    "".join(words).encode()


def test_folding_twice_is_folding_once() -> None:
    every = map(chr, range(0x20000))
    assert [c for c in every if fold(fold(c)) != fold(c)] == []


@pytest.mark.parametrize(
    ("tag", "terms"),
    [
        ("Tree", ("tree",)),
        ("Golden  Gate Bridge!", ("golden gate bridge", "golden", "gate", "bridge")),
        ("Places/Germany/Berlin", ("places", "germany", "berlin")),
        ("Places|New York|Tree", ("places", "new york", "new", "york", "tree")),
        ("tree/tree", ("tree",)),
        ("❤️", ("❤",)),
        ("👨‍👩‍👧", ("👨👩👧",)),
        ("€ $", ("€ $",)),
        ("I ❤ snow", ("i snow", "i", "snow")),
        ("??? !", ()),
        ("/|/", ()),
        ("well-known", ("well known", "well", "known")),
        ("x" * 101, ()),
        ("x" * 60 + " " + "y" * 60, ("x" * 60, "y" * 60)),
        ("x" * 101 + " y z", ("y", "z")),
    ],
)
def test_terms_of_a_tag(tag: str, terms: tuple[str, ...]) -> None:
    assert tag_terms(tag) == terms


@given(ANY_TEXT)
def test_labels_of_labels_are_the_same(text: str) -> None:
    for label in labels(text):
        assert labels(label) == (label,)
        assert label in tag_terms(text)


def test_a_caption_keeps_the_first_of_each_term() -> None:
    tags = Tags("xmp", ("Snow", "oak tree"), "Tree, snow and an oak 😀")
    assert caption_terms(tags) == ("snow", "oak tree", "oak", "tree", "and", "an")


def test_a_caption_has_at_most_ten_thousand_terms() -> None:
    text = " ".join(f"w{i}" for i in range(MAX_TERMS + 5))
    terms = caption_terms(Tags("text", ("a b",), text))
    assert len(terms) == MAX_TERMS == 10_000
    assert terms[:4] == ("a b", "a", "b", "w0")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tree, snow ,people", ("tree", "snow", "people")),
        ("tree\nOak Tree\r\nsnow\n", ("tree", "Oak Tree", "snow")),
        ("oak tree;snow;;oak tree", ("oak tree", "snow")),
        ("木、雪", ("木", "雪")),
        ("شجرة، ثلج", ("شجرة", "ثلج")),
        ("Golden\tGate Bridge", ("Golden Gate Bridge",)),
        ("don't", ("don't",)),
        ("Places/Germany/Berlin/Mitte/Old Park", ("Places/Germany/Berlin/Mitte/Old Park",)),
        ("the very old bridge, tree", ("the very old bridge", "tree")),
        ("\ufefftree\u200b,", ("tree",)),
    ],
)
def test_labels_are_found(text: str, found: tuple[str, ...]) -> None:
    assert split_labels(text) == (found, "")


@pytest.mark.parametrize(
    "text",
    [
        "four words without commas",
        "A tree.",
        "Hello, world!",
        "What: trees",
        "the big red old bridge, tree",
        "An oak\nIt stands in the snow.",
        "夜景。",
    ],
)
def test_running_text_is_found(text: str) -> None:
    assert split_labels(text) == ((), text)


@pytest.mark.parametrize("text", ["", " \n ", "\u200b", ",;\n"])
def test_no_labels_in_nothing(text: str) -> None:
    found, running = split_labels(text)
    assert found == ()
    assert tokens(running) == []


def test_labels_are_capped() -> None:
    assert len(split_labels("\n".join(map(str, range(MAX_TERMS + 9))))[0]) == MAX_TERMS


@given(ANY_TEXT)
def test_a_text_is_labels_or_running_text(text: str) -> None:
    found, running = split_labels(text)
    assert not (found and running)
    if not found:
        assert tokens(running) == tokens(text)
