"""Rankers across kinds that learn from the words pictures have."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sightline.errors import DataError, ParameterError, UsageError
from sightline.rankers.captions import (
    CaptionCCA,
    CaptionLSCMR,
    Captions,
    CaptionSSI,
    as_texts,
    with_words,
)
from sightline.rankers.concepts import CaptionConcepts, ConceptMatching

KINDS: list[type[Any]] = [CaptionLSCMR, CaptionSSI, CaptionCCA, CaptionConcepts]


def made(n: int = 80, seed: int = 0) -> tuple[Any, Any]:
    """Five words, each with a direction of its own among 12 columns; two words a picture."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((n, 5))
    for row in labels:
        row[rng.choice(5, 2, replace=False)] = 1
    directions = np.random.default_rng(9).normal(size=(5, 12))
    return labels @ directions + 0.3 * rng.normal(size=(n, 12)), labels


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("thin", [False, True])
def test_pictures_that_were_not_learnt_from_are_ranked(kind: type[Any], thin: bool) -> None:
    X, labels = made()
    other, truth = made(seed=1)
    ranker: Captions = kind(n_components=4)
    if thin:
        ranker.fit(sparse.csr_matrix(X), sparse.csr_matrix(labels))
        scores = ranker.decision_function(sparse.csr_matrix(other))
    else:
        scores = ranker.fit(X, labels).decision_function(other)
    mean = [s[t > 0].mean() - s[t == 0].mean() for s, t in zip(scores.T, truth.T, strict=True)]
    assert scores.shape == (80, 5) and min(mean) > 0
    some = np.array([3, 1])
    assert ranker.decision_function(other, some) == pytest.approx(scores[:, some], abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_ranker_scores_the_same_and_dimensions_are_lowered_to_what_there_is(
    kind: type[Any],
) -> None:
    X, labels = made()
    given = sparse.csr_matrix(labels, dtype=np.float64)
    given.data[::2] = 2.0
    ranker: Captions = kind(n_components=64).fit(X, given)
    assert given.max() == 2.0, "what is given stays as it is"
    assert ranker.word_points().shape[0] == 5 and ranker.word_points().shape[1] <= 5
    again = kind.from_arrays(ranker.to_arrays())
    assert np.array_equal(again.decision_function(X), ranker.decision_function(X))


def test_texts_are_of_length_one_and_words_have_lists_of_their_own() -> None:
    _, labels = made(n=30)
    Y = sparse.csr_matrix(labels)
    texts = as_texts(Y, np.ones(5, np.float32))
    assert np.sqrt(texts.multiply(texts).sum(axis=1)) == pytest.approx(1)
    Q, (candidates, relevant, query) = with_words(texts, Y, 10, 0)
    assert Q.shape == (35, 5) and query.tolist() == list(range(30)) + 6 * list(range(30, 35))
    for i in range(30):
        shared = labels[candidates[i]] @ labels[i] > 0
        assert np.array_equal(relevant[i], shared)
    for i in range(30, 60):
        assert np.array_equal(relevant[i], labels[candidates[i], query[i] - 30] > 0)


def test_how_a_training_went_is_kept() -> None:
    ranker = CaptionLSCMR(n_components=4, optimise="ndcg@5", max_rounds=5).fit(*made())
    assert ranker.stop_reason_ in ("converged", "max_rounds") and len(ranker.rounds_) <= 6
    assert ranker.objective_ <= ranker.rounds_[0].objective and ranker.violation_ >= 0


@pytest.mark.parametrize("kind", KINDS)
def test_texts_lie_where_their_words_say_and_empty_ones_at_zero(kind: type[Any]) -> None:
    X, labels = made()
    ranker: Captions = kind(n_components=4).fit(X, labels)
    texts = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 3, 1, 0, 0]])
    points = ranker.text_points(texts)
    assert points[0] == pytest.approx(ranker.word_points(np.array([0]))[0], abs=1e-5)
    assert not points[1].any() and points[2].any()
    # Of a text that names one word thrice and another once, the first counts more.
    far = np.linalg.norm(points[2] - ranker.word_points(np.array([1, 2])), axis=1)
    assert far[0] < far[1]


def test_many_words_take_no_table_of_words_by_words() -> None:
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(60), 40)
    labels = sparse.csr_matrix(
        (np.ones(2400), (rows, rng.integers(0, 50_000, 2400))), shape=(60, 50_000)
    )
    ranker = CaptionCCA(n_components=4).fit(rng.normal(size=(60, 8)), labels)
    tracemalloc.start()
    points = ranker.word_points()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert points.shape == (50_000, 4) and peak < 100e6


def test_concepts_are_the_most_frequent_words_and_shares_sum_to_one() -> None:
    X, labels = made()
    labels[:, 4] = 0
    labels[:2, 4] = 1
    ranker = ConceptMatching(n_concepts=4).fit(X, labels)
    assert sorted(ranker.concepts_.tolist()) == [0, 1, 2, 3]
    assert ranker.shares_.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert ranker.embed(X).sum(axis=1) == pytest.approx(1, abs=1e-5)
    # A word is of its own concept first.
    assert [ranker.concepts_[row.argmax()] for row in ranker.shares_[:4]] == [0, 1, 2, 3]
    with pytest.raises(DataError, match=r"two words on at least 3 pictures each\. Got 1"):
        ConceptMatching(n_concepts=4).fit(X, np.eye(80, 5) + (np.arange(5) == 0) * np.ones((80, 1)))
    with pytest.raises(ParameterError, match="'strength' parameter of ConceptMatching"):
        ConceptMatching(n_concepts=4, strength=0.0).fit(X, labels)


def test_sparse_pictures_stay_sparse_and_are_matched_as_dense_ones_are() -> None:
    rng = np.random.default_rng(0)
    _, labels = made(n=60)
    rows = np.where(rng.random((60, 5_000)) < 0.01, 1.0, 0.0)
    rows[:, :5] += 3 * labels
    tracemalloc.start()
    thin = ConceptMatching(n_concepts=5).fit(sparse.csr_matrix(rows), labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.7 * rows.nbytes + 20e6
    found = thin.embed(sparse.csr_matrix(rows))
    assert thin.embed(rows) == pytest.approx(found, abs=1e-6)
    scores = found @ thin.embed_queries(np.eye(5)).T
    assert scores[labels > 0].mean() > 1.5 * scores[labels == 0].mean()


def test_nothing_to_learn_from_is_refused() -> None:
    X, labels = made()
    with pytest.raises(DataError, match="No picture has a word"):
        CaptionLSCMR().fit(X, np.zeros_like(labels))
    with pytest.raises(DataError, match=r"80 pictures need words of as many\. Got 79"):
        CaptionLSCMR().fit(X, labels[1:])
    with pytest.raises(UsageError, match="CaptionSSI is not fitted yet"):
        CaptionSSI().decision_function(X)
