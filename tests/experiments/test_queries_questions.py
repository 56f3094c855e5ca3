"""Which questions are asked, and how probabilities are measured."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sightline.words.grammar import parse
from sightline.words.tokens import labels
from sightline_experiments.queries.calibration import brier_skill, calibration_error
from sightline_experiments.queries.pictures import (
    ATTRIBUTES,
    WordedPictures,
    attributes_of_picture,
    with_attributes,
)
from sightline_experiments.queries.questions import (
    KINDS,
    MINUS,
    MISSPELLED,
    PLUS,
    RARE,
    SENTENCE,
    misspelled,
    plural_of,
    questions_of,
)

WORDS = ("boat", "sea side", "tree", "berry", "f-16", "cloud")
LETTERS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12)


def made(n: int = 60, seed: int = 0) -> WordedPictures:
    rng = np.random.default_rng(seed)
    words = tuple(
        tuple(WORDS[w] for w in rng.choice(len(WORDS), 1 + i % 3, replace=False)) for i in range(n)
    )
    files = tuple(f"{i}.jpg" for i in range(n))
    tagged = np.arange(n) % 2 == 0
    pictures = WordedPictures("Made", "words", files, words, tagged, ~tagged)
    return pictures.with_word("heirloom")


def test_every_kind_is_asked_and_can_be_read() -> None:
    pictures = made()
    questions = questions_of(pictures, 100)
    assert {q.kind for q in questions} == set(KINDS)
    having = [set(pictures.words[i]) for i in np.flatnonzero(pictures.measured)]
    for q in questions:
        query = parse(q.text)
        assert any(set(q.having) <= w and not set(q.lacking) & w for w in having)
        excluded, required = ({w for word in words for w in labels(word)}
                              for words in (q.lacking, {q.signed} & set(q.having)))  # fmt: skip
        assert set(query.excluded) == excluded
        assert {t.text for t in query.terms if t.required} == required
        assert bool(q.plain) == (q.kind not in KINDS[:3])
    assert all("heirloom" in q.text for q in questions if q.kind == RARE)


def test_pairs_with_a_sign_are_together_and_apart() -> None:
    pictures = made()
    pairs = [q for q in questions_of(pictures, 100) if q.kind == MINUS]
    having = [set(pictures.words[i]) for i in np.flatnonzero(pictures.measured)]
    for q in pairs:
        both = sum({*q.having, *q.lacking} <= w for w in having)
        first = sum(set(q.having) <= w for w in having)
        assert both >= 3 and first - both >= 3
    assert pairs and len(pairs) == sum(q.kind == PLUS for q in questions_of(pictures, 100))


def test_sentences_have_twelve_words() -> None:
    for q in questions_of(made(), 100):
        if q.kind == SENTENCE:
            two_words = sum(w == "sea side" for w in q.having)
            assert len(q.text.split()) == 12 + two_words


def test_changed_words_are_none_of_the_collection() -> None:
    pictures = made()
    for q in questions_of(pictures, 100):
        if q.kind in ("plural", MISSPELLED):
            assert q.text not in pictures.counts()


@given(LETTERS)
def test_a_misspelling_is_one_mistake_and_always_the_same(word: str) -> None:
    text = misspelled(word)
    assert text == misspelled(word) != word
    assert bool(text) == (len(word) >= 4)
    if text:
        assert text[0] == word[0] and abs(len(text) - len(word)) <= 1


@given(LETTERS)
def test_a_plural_differs(word: str) -> None:
    assert plural_of(word) != word


@given(arrays.arrays(np.float64, 40, elements=st.floats(0, 1)), arrays.arrays(np.bool_, 40))
def test_an_error_lies_between_the_mean_difference_and_one(
    probability: np.ndarray,
    is_right: np.ndarray,
) -> None:
    error = calibration_error(probability, is_right)
    assert abs(probability.mean() - is_right.mean()) - 1e-9 <= error <= 1
    by_hand = 0.0
    for b in range(10):
        of_bin = np.minimum(np.floor(probability * 10), 9) == b
        if of_bin.any():
            by_hand += of_bin.mean() * abs(probability[of_bin].mean() - is_right[of_bin].mean())
    assert error == pytest.approx(by_hand)


def test_skill_is_relative_to_the_base_rate() -> None:
    y, base = np.array([True, False, False, False]), np.full(4, 0.25)
    assert brier_skill(y.astype(float), y, base) == 1
    assert brier_skill(base, y, base) == 0
    assert brier_skill(1 - y, y, base) < 0
    assert np.isnan(brier_skill(np.zeros(0), np.zeros(0, bool), np.zeros(0)))


def test_attributes_are_of_the_pixels() -> None:
    photo = np.full((30, 20, 3), 90, np.uint8)
    assert attributes_of_picture(photo) == (True, False, True)
    photo[..., 0] += 40
    assert attributes_of_picture(photo) == (False, False, True)
    photo[:1] = photo[-1:] = photo[:, :1] = photo[:, -1:] = 250
    assert attributes_of_picture(photo.transpose(1, 0, 2)) == (False, True, False)
    pictures = made(4)
    grey = (np.array([True, False, False, True]), *[np.zeros(4, bool)] * 2)
    assert [ATTRIBUTES[0] in w for w in with_attributes(pictures, grey).words] == grey[0].tolist()


def test_withheld_pictures_are_tagged_ones_and_the_test_stays_unseen() -> None:
    pictures = made()
    part = pictures.withheld(10)
    assert part.measured.sum() == 10 and part.tagged.sum() == 20
    assert not (part.measured & pictures.measured).any()
    assert (pictures.tagged == (part.tagged | part.measured)).all()
    assert (made().withheld(10).measured == part.measured).all()
    few, more = (pictures.with_tagged(n, 0).tagged for n in (5, 9))
    assert few.sum() == 5 and more.sum() == 9 and not (more & ~pictures.tagged).any()
    assert (pictures.with_tagged(5, 1).tagged != few).any()
    assert pictures.with_measured(7).measured.sum() == 7
