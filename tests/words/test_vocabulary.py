"""Terms and their numbers, and the terms near a word."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import DataError, ParameterError
from sightline.words import spelling
from sightline.words.spelling import distance
from sightline.words.vocabulary import Vocabulary, near
from tests.naive import words as naive

SHORT = st.text("abcñ", max_size=9)
CAPTIONS = st.lists(st.lists(st.sampled_from(["tree", "snow", "barn", "木", "x y"])))


@given(CAPTIONS)
def test_ids_and_terms_lead_to_each_other(captions: list[list[str]]) -> None:
    words = Vocabulary.from_captions(captions)
    assert list(words) == sorted({term for caption in captions for term in caption})
    assert [words.id_of(term) for term in words] == list(range(len(words)))
    assert words.n_documents == len(captions)
    for term, count in zip(words.terms, words.document_counts, strict=True):
        assert term in words
        assert count == sum(term in caption for caption in captions)


def test_the_order_of_captions_does_not_matter() -> None:
    captions = [["tree", "snow"], ["barn"], ["snow", "snow"]]
    assert Vocabulary.from_captions(captions) == Vocabulary.from_captions(captions[::-1])


def test_rare_terms_can_be_left_out() -> None:
    words = Vocabulary.from_captions([["tree", "snow"], ["tree", "tree"], ["barn", "barn"]], 2)
    assert words == Vocabulary(("tree",), (2,), 3)


def test_unknown_terms_have_no_id() -> None:
    words = Vocabulary(("tree", "snow"), (1, 1), 1)
    assert words.id_of("zebra") is None
    assert "zebra" not in words
    assert words.ids_of(["snow", "zebra", "tree", "snow"]) == (1, 0, 1)


@pytest.mark.parametrize(
    ("terms", "counts", "n_documents"),
    [(("a", "a"), (1, 1), 2), (("a", "b"), (1,), 2), (("a",), (3,), 2), (("a",), (-1,), 2)],
)
def test_a_vocabulary_must_fit_together(
    terms: tuple[str, ...], counts: tuple[int, ...], n_documents: int
) -> None:
    with pytest.raises(DataError):
        Vocabulary(terms, counts, n_documents)


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match=r"'min_count' parameter of Vocabulary .* Got 0"):
        Vocabulary.from_captions([], min_count=0)
    with pytest.raises(ParameterError, match=r"'n' parameter of near .* Got 0"):
        near("tree", ["tree"], 0)


@given(SHORT, SHORT, st.integers(0, 3))
def test_distance_equals_the_naive_one(a: str, b: str, limit: int) -> None:
    assert distance(a, b, limit) == min(naive.edits(a, b), limit + 1)


@given(st.text("abcd", max_size=8), st.lists(st.text("abcd", min_size=1, max_size=9)))
def test_near_equals_the_naive_one(word: str, terms: list[str]) -> None:
    assert near(word, terms, 4) == naive.near(word, terms, 4)


@given(st.text("ab木京", max_size=4), st.lists(st.text("ab木京", min_size=1, max_size=5)))
def test_near_equals_the_naive_one_with_ideographs(word: str, terms: list[str]) -> None:
    assert near(word, terms, 4) == naive.near(word, terms, 4)


@pytest.mark.parametrize(
    ("word", "term"),
    [
        ("SNWO", "snow"),
        ("trees", "tree"),
        ("mountian", "mountain"),
        ("berries", "berry"),
        ("mount", "mountain"),
        ("firetruck", "truck"),
        ("gate", "golden gate"),
        ("strase", "strasse"),
        ("ёлки", "ёлка"),
        ("पेढ", "पेड"),
        ("夜の京都", "京都"),
        ("京", "京都"),
        ("شجره", "شجرة"),
    ],
)
def test_what_people_mean_is_near(word: str, term: str) -> None:
    assert near(word, [term, "zebra", "quilt", "ox", "a"]) == (term,)


def test_near_prefers_in_the_documented_order() -> None:
    terms = ["the mountainous", "mountbins", "mountain view", "mountains", "mountxyz", "mountain"]
    assert near("mountain", terms, 9) == (
        "mountains",
        "mountain view",
        "mountbins",
        "mountxyz",
        "the mountainous",
    )


@pytest.mark.parametrize(
    ("word", "term", "is_near"),
    [
        ("abcdefgh", "abdcegfh", True),
        ("abcdef", "abxyef", True),
        ("abcde", "abxye", False),
        ("ab", "xb", True),
        ("a", "b", False),
    ],
)
def test_how_many_typos_are_forgiven(word: str, term: str, is_near: bool) -> None:
    assert near(word, [term]) == ((term,) if is_near else ())


def test_near_is_the_same_in_any_order_of_terms() -> None:
    terms = [f"tre{c}" for c in "abcdfghi"]
    assert near("tree", terms) == near("tree", terms[::-1]) == ("trea", "treb", "trec")


@pytest.mark.parametrize("word", ["", "a", "x" * 101, "\u200b", "❤"])
def test_nothing_is_near_these(word: str) -> None:
    assert near(word, ["ab", "b", "tree", "x" * 100, "❤❤"]) == ()


def test_few_of_many_terms_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(0)
    terms = ["".join(random.choices("abcdefghijklmnoprstuvwz", k=8)) for _ in range(20_000)]
    numbered = [f"img{i:05d}" for i in range(20_000)]
    compared: list[str] = []

    def counted(a: str, b: str, limit: int) -> int:
        compared.append(b)
        return distance(a, b, limit)

    monkeypatch.setattr(spelling, "distance", counted)
    assert terms[7] in near(terms[7][1:] + "e", terms)
    assert len(compared) <= 500
    assert near("imgg00123", numbered)[0] == "img00123"
    assert len(compared) <= 1_000


def test_a_vocabulary_knows_what_is_near() -> None:
    words = Vocabulary(("tree", "barn"), (1, 1), 1)
    assert words.near("tre") == ("tree",)
    assert words.near("born", n=1) == ("barn",)
