"""Words that are searched in place of mistyped ones."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.words import spelling
from sightline.words.spelling import Spellings, distance
from tests.naive.words import edits

TERMS = ("dog", "mountain", "fountain", "castle", "tent", "dock", "sheep", "ship", "лошадь", "café",
         "شجرة كبيرة", "東京タワー", "ต้นไม้", "golden gate", "2024", "h2oman", "don't")  # fmt: skip


@pytest.fixture(scope="module")
def spellings() -> Spellings:
    return Spellings([(term, 1 + at) for at, term in enumerate(TERMS)])


@pytest.mark.parametrize(
    ("word", "term"),
    [
        ("dgo", "dog"),
        ("odg", "dog"),
        ("dogg", "dog"),
        ("moutain", "mountain"),
        ("mountian", "mountain"),
        ("muontian", "mountain"),
        ("casstle", "castle"),
        ("cestle", "castle"),
        ("лошдаь", "лошадь"),
        ("cfaé", "café"),
    ],
)
def test_typos_are_corrected(spellings: Spellings, word: str, term: str) -> None:
    assert spellings.correction(word) == term


@pytest.mark.parametrize(
    "word",
    ["dig", "dg", "do", "test", "duck", "eountain", "2025", "2024a", "h2omna", "東京タワ", "ต้นไม",
     "dont", "d'og", "goldn gate", "gldoen gate", "❤", "zebra", "x" * 300, ""],
)  # fmt: skip
def test_what_may_be_a_word_of_its_own_is_not_corrected(spellings: Spellings, word: str) -> None:
    assert spellings.correction(word) is None


def test_the_more_probable_of_two_terms_is_taken() -> None:
    assert Spellings([("sheep", 3), ("ship", 9)]).correction("shep") == "sheep"
    assert Spellings([("castle", 3), ("cattle", 9)]).correction("catle") == "cattle"
    assert Spellings([("castle", 9), ("cattle", 3)]).correction("catle") == "castle"


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("東京夜景", ("東京", "夜景")),
        ("夜景の東京と夜", ("夜景", "東京", "夜")),
        ("東京の", ("東京",)),
        ("東の夜", ()),
        ("の", ()),
        ("ต้นไม้ใหญ่", ("ต้นไม้", "ใหญ่")),
        ("เต้นไม้", ()),
    ],
)
def test_a_run_without_spaces_is_divided_into_its_words(run: str, words: tuple[str, ...]) -> None:
    terms = ("東京", "夜景", "夜", "ต้นไม้", "ใหญ่", "ไม้")
    assert Spellings([(term, 1) for term in terms]).words_meant(run) == words


@given(st.text("abcdeй", max_size=9), st.lists(st.text("abcdeй", min_size=1, max_size=10)))
def test_a_correction_is_near_and_has_the_fewest_edits(word: str, terms: list[str]) -> None:
    found = Spellings(dict.fromkeys(terms, 1).items()).correction(word)
    if found is not None:
        assert found in terms and 0 < edits(word, found) <= (1 if len(word) < 8 else 2)
        assert {word[0], word[1]} & {found[0]}


def test_few_of_100_000_terms_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(0)
    letters = "etaoinshrdlucmfwypvbgk"
    drawn = ("".join(random.choices(letters, k=random.randint(3, 12))) for _ in range(100_000))
    terms = dict.fromkeys(drawn, 1)
    spellings, compared = Spellings(terms.items()), [0]

    def counted(a: str, b: str, limit: int) -> int:
        compared[0] += 1
        return distance(a, b, limit)

    monkeypatch.setattr(spelling, "distance", counted)
    long = [t for t in terms if len(t) >= 6][:20]
    corrected = sum(spellings.correction(t[:3] + t[4] + t[3] + t[5:]) == t for t in long)
    assert corrected >= 18 and compared[0] <= 20 * 500
