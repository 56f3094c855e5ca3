"""Nouns and classes: every class is found by its name, and nouns above it by theirs."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.words.nouns import TABLE, noun_table, squashed

# Classes by place, in the order in which the networks' last layers give them.
KNOWN = {0: "tench", 1: "goldfish", 7: "cock", 99: "goose", 151: "Chihuahua", 281: "tabby",
         340: "zebra", 404: "airliner", 417: "balloon", 499: "cleaver", 620: "laptop",
         713: "photocopier", 779: "school bus", 817: "sports car", 879: "umbrella", 954: "banana",
         963: "pizza", 980: "volcano", 998: "ear", 999: "toilet tissue"}  # fmt: skip


def test_classes_stand_in_the_order_of_the_network() -> None:
    names = noun_table().class_names
    assert len(names) == 1000
    assert {i: names[i] for i in KNOWN} == KNOWN


def test_each_of_the_1000_classes_is_found_by_its_name() -> None:
    table = noun_table()
    for i, name in enumerate(table.class_names):
        noun = table.noun(name)
        assert noun is not None, name
        assert noun.weights[i] > 0, name


@pytest.mark.parametrize(
    ("noun", "within", "n"),
    [("dog", range(151, 269), 118), ("bird", range(7, 147), 59), ("zebra", range(340, 341), 1)],
)
def test_a_noun_above_classes_is_led_by_them(noun: str, within: range, n: int) -> None:
    found = noun_table().noun(noun)
    assert found is not None and found.closeness > 0.5
    leading = np.flatnonzero(found.weights >= 0.5 * found.weights.max())
    assert len(leading) == n and set(leading.tolist()) <= set(within)


def test_a_noun_that_is_no_class_is_near_its_relatives() -> None:
    giraffe = noun_table().noun("giraffe")
    assert giraffe is not None and 0 < giraffe.closeness < 0.5
    assert {"gazelle", "bison", "llama"} <= set(giraffe.classes(6))


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("Dogs", "dog"), ("butterflies", "butterfly"), ("churches", "church"), ("geese", "goose"),
        ("wolves", "wolf"), ("T-Shirts", "t shirt"), ("cellphone", "cell phone"),
        ("binocular", "binoculars"),
    ],
)  # fmt: skip
def test_forms_of_a_noun_mean_the_same(written: str, same: str) -> None:
    first, second = noun_table().noun(written), noun_table().noun(same)
    assert first is not None and second is not None
    np.testing.assert_array_equal(first.weights, second.weights)


def test_phrases_are_found_before_their_words() -> None:
    find = noun_table().find
    assert [n.text for n in find(["grand", "piano"])] == ["grand piano"]
    assert [n.text for n in find(["red", "sports", "car", "xyzzy"])][-1] == "sports car"
    assert find(["xyzzy", "!", ""]) == []


def test_names_of_persons_do_not_count_where_a_thing_has_the_name() -> None:
    crane = noun_table().noun("crane")
    assert crane is not None and crane.classes(5) == ("crane", "crane")


def test_the_table_is_sorted_whole_and_has_its_licence() -> None:
    table = noun_table()
    assert table.nouns == sorted(set(table.nouns)) and len(table.nouns) > 60_000
    assert all(squashed(n) == n for n in table.nouns[::97])
    assert "Princeton University" in (TABLE.parent / "LICENSE").read_text()
    start, index = table.arrays["class_start"], table.arrays["class_index"]
    assert start[-1] == len(index) and index.max() < 1000
