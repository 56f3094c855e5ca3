"""Texts as rows of weighted words."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.errors import DataError, ParameterError, UsageError
from sightline.words.documents import Documents
from sightline.words.tfidf import idf

TEXTS = ["red barn red", "red sea", "calm sea", "barn by the sea", "the calm barn"]


def test_numbers_are_counts_times_idf_of_length_one() -> None:
    made = Documents().fit(TEXTS)
    assert made.words_ == ("calm", "red", "the")  # barn and sea are in more than half
    row = made.transform(["Red red the nothing"]).toarray()[0]
    weights = idf([2, 2, 2], 5) * [0, 2, 1]
    assert row == pytest.approx(weights / np.linalg.norm(weights))
    both = Documents(most_share=1.0, sublinear=True).fit(TEXTS)
    assert both.words_ == ("barn", "calm", "red", "sea", "the")
    row = both.transform([TEXTS[0]]).toarray()[0]
    weights = both.idf_ * [1, 0, 1 + np.log(2), 0, 0]
    assert row == pytest.approx(weights / np.linalg.norm(weights))


def test_the_most_frequent_words_are_kept() -> None:
    texts = [f"common{i % 3} rare{i // 2}" for i in range(30)]
    assert Documents(n_words=3).fit(texts).words_ == ("common0", "common1", "common2")
    assert len(Documents(n_words=5).fit(texts).words_) == 5
    assert Documents(n_words=3).fit(reversed(texts)).words_ == ("common0", "common1", "common2")


def test_texts_of_unknown_words_and_empty_ones_are_zero() -> None:
    rows = Documents().fit(TEXTS).transform(["", "zyxwvut", "red"])
    assert np.diff(rows.indptr).tolist() == [0, 0, 1]
    assert Documents().fit(TEXTS).transform([]).shape == (0, 3)


def test_fitted_rows_equal_those_made_later() -> None:
    made = Documents()
    first = made.fit_transform(TEXTS)
    assert (first != made.transform(TEXTS)).nnz == 0
    assert np.sqrt(first.multiply(first).sum(axis=1)).A1[:3] == pytest.approx(1)


def test_what_tells_nothing_apart_is_refused() -> None:
    with pytest.raises(DataError, match=r"Of 2 words of 2 texts none is in at least 2"):
        Documents().fit(["one", "two"])
    with pytest.raises(UsageError, match="Call fit first"):
        Documents().transform(["x"])
    with pytest.raises(ParameterError, match=r"'n_words' parameter of Documents .* Got 0"):
        Documents(n_words=0).fit(TEXTS)
    with pytest.raises(ParameterError, match=r"'most_share' .* Got 1\.5"):
        Documents(most_share=1.5).fit(TEXTS)
