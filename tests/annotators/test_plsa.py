"""PLSA: compiled steps against plain ones, rising likelihoods, aspects, pictures folded in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sightline.annotators._plsa_fast import fold_in, half_step
from sightline.annotators.plsa import PLSA, _cells, _normalise
from tests.factories.recorded_progress import RecordedProgress
from tests.naive import media as naive
from tests.naive.media import Table, problem


def shares(n_items: int, n_aspects: int, seed: int = 0) -> Table:
    table: Table = np.random.default_rng(seed).standard_exponential((n_items, n_aspects))
    return np.asarray(table / table.sum(axis=0))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 9))
def test_half_steps_equal_the_naive_step(seed: int, n: int, n_aspects: int) -> None:
    words = problem(n, 7, 4, seed)[1]
    P_word, P_aspect = shares(4, n_aspects, seed), shares(n_aspects, n, seed + 1).T.copy()
    sparse = csr_array(words)
    of_words, of_pictures = np.empty_like(P_word), np.empty_like(P_aspect)
    found = half_step(*_cells(sparse.T.tocsr()), P_aspect, P_word, of_words)
    again = half_step(*_cells(sparse), P_word, P_aspect, of_pictures)
    tagged = np.asarray(words.any(axis=0))
    _normalise(of_words, tagged)
    with np.errstate(invalid="ignore"):
        expected = naive.plsa_step(words, P_word, P_aspect)
    assert found == pytest.approx(expected[2]) == again
    assert of_words[tagged] == pytest.approx(expected[0][tagged])
    assert of_pictures / of_pictures.sum(axis=1, keepdims=True) == pytest.approx(expected[1])


@pytest.mark.parametrize("n_iter", [1, 2, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_folding_in_equals_the_naive_one(n_iter: int, dtype: Any) -> None:
    X = problem(8)[0]
    X[2:4] = 0
    X[3, 5] = 2
    table = shares(12, 4).astype(dtype)
    table[5] = 0
    found = np.empty((8, 4))
    fold_in(*_cells(csr_array(X)), table, n_iter, -1.0, 0.0, found)
    expected = [naive.fold_in(p, table.astype(np.float64), n_iter) for p in X]
    assert found == pytest.approx(np.array(expected), abs=1e-9)
    assert found[2:4].tolist() == [[0.25] * 4] * 2


def test_folding_in_stops_where_the_likelihood_does_not_change() -> None:
    X, table = csr_array(problem(8)[0]), shares(12, 4)
    long, short, once = (np.empty((8, 4)) for _ in range(3))
    fold_in(*_cells(X), table, 10_000, 1e-12, 0.0, long)
    fold_in(*_cells(X), table, 10_000, 1e-3, 0.0, short)
    fold_in(*_cells(X), table, 2, -1.0, 0.0, once)
    assert np.abs(long - short).max() > 1e-4
    assert np.abs(once - short).max() > 1e-4


def test_shares_below_the_floor_are_0() -> None:
    table = np.array([[0.9, 0.1], [0.1, 0.9]])
    found = [np.empty((1, 2)) for _ in range(2)]
    for floor, out in zip((0.0, 1e-3), found, strict=True):
        fold_in(*_cells(csr_array([[50.0, 0.0]])), table, 5, -1.0, floor, out)
    assert 0 < found[0][0, 1] < 1e-3
    assert found[1].tolist() == [[1.0, 0.0]]


def by_hand(X: Table, Y: Table, model: PLSA) -> tuple[Table, Table, Table]:
    """Fit as the model was, by the naive step."""
    K = model.n_aspects_
    P_word = np.random.default_rng(model.random_state).standard_exponential((Y.shape[1], K))
    P_word /= P_word.sum(axis=0)
    P_aspect = np.full((len(Y), K), 1 / K)
    for expected in model.history_.captions:
        P_word, P_aspect, likelihood = naive.plsa_step(Y, P_word, P_aspect)
        assert likelihood == pytest.approx(expected)
    P_visterm = np.full((X.shape[1], K), 1 / X.shape[1])
    for expected in model.history_.visterms:
        P_visterm, _, likelihood = naive.plsa_step(X, P_visterm, P_aspect)
        assert likelihood == pytest.approx(expected)
    return P_word, P_aspect, P_visterm


@pytest.mark.parametrize("n_aspects", [1, 3, 8])
def test_it_equals_the_naive_one(n_aspects: int) -> None:
    X, Y = problem(25)
    model = PLSA(n_aspects=n_aspects, n_iter=15, tol=1e-5).fit(X, Y)
    P_word, P_aspect, P_visterm = by_hand(X, Y, model)
    assert model.word_shares_ == pytest.approx(P_word, abs=1e-9)
    assert model.aspect_shares_ == pytest.approx(P_aspect, abs=1e-9)
    assert model.visterm_shares_ == pytest.approx(P_visterm, abs=1e-6)
    same = PLSA.from_arrays({**model.to_arrays(), "settings": np.array([15, 0.0])})
    expected = np.array([naive.fold_in(p, P_visterm, 15) for p in X]) @ P_word.T
    assert same.decision_function(X) == pytest.approx(expected, abs=1e-4)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(2, 30))
def test_likelihoods_never_fall_and_shares_sum_to_1(seed: int, n_aspects: int, n: int) -> None:
    X, Y = problem(n, 9, 5, seed)
    # As many as there are pictures: more would be lowered to that, with a warning.
    model = PLSA(n_aspects=min(n, n_aspects), n_iter=40, tol=0, random_state=seed).fit(X, Y)
    for history in model.history_:
        assert len(history) >= 1
        assert (np.diff(history) >= -1e-9 * np.abs(history[0])).all()
    assert model.n_aspects_ == min(n, n_aspects)
    assert model.word_shares_.sum(axis=0) == pytest.approx(1)
    assert model.aspect_shares_.sum(axis=1) == pytest.approx(1)
    assert model.visterm_shares_.sum(axis=0) == pytest.approx(1, abs=1e-5)
    scores = model.decision_function(X)
    assert scores.dtype == np.float32
    assert scores.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert (scores >= 0).all()


def test_one_aspect_is_the_shares_of_all_pictures() -> None:
    X, Y = problem()
    model = PLSA(n_aspects=1).fit(X, Y)
    assert model.word_shares_[:, 0] == pytest.approx(Y.sum(axis=0) / Y.sum())
    assert model.visterm_shares_[:, 0] == pytest.approx(X.sum(axis=0) / X.sum(), abs=1e-6)
    expected = np.tile(Y.sum(axis=0) / Y.sum(), (40, 1))
    assert model.decision_function(X) == pytest.approx(expected, abs=1e-6)


def test_the_second_step_leaves_the_aspects_of_pictures_as_they_are() -> None:
    X, Y = problem()
    looks = np.random.default_rng(4).permutation(X)
    first, second = PLSA(n_aspects=4).fit(X, Y), PLSA(n_aspects=4).fit(looks, Y)
    assert first.aspect_shares_.tobytes() == second.aspect_shares_.tobytes()
    assert first.word_shares_.tobytes() == second.word_shares_.tobytes()
    assert first.visterm_shares_.tobytes() != second.visterm_shares_.tobytes()


def test_the_order_of_aspects_does_not_matter() -> None:
    X, Y = problem()
    model = PLSA(n_aspects=6).fit(X, Y)
    order = np.random.default_rng(1).permutation(6)
    arrays = model.to_arrays()
    arrays["words"] = np.ascontiguousarray(arrays["words"][:, order])
    arrays["visterms"] = np.ascontiguousarray(arrays["visterms"][:, order])
    found = PLSA.from_arrays(arrays).decision_function(X)
    assert found == pytest.approx(model.decision_function(X), abs=1e-5)


def test_a_step_ends_where_little_changes() -> None:
    X, Y = problem()
    for tol in (1e-2, 1e-4):
        for history in PLSA(n_aspects=4, n_iter=1000, tol=tol).fit(X, Y).history_:
            change = np.diff(history) / np.abs(history[:-1])
            assert len(history) < 1000
            assert change[-1] <= tol
            assert (change[:-1] > tol).all()
    assert [len(h) for h in PLSA(n_aspects=4, n_iter=3, tol=0).fit(X, Y).history_] == [3, 3]


def test_withheld_captions_say_when_to_end() -> None:
    X, Y = problem(80)
    model = PLSA(n_aspects=6, n_iter=20, tol=0, validation_fraction=0.25).fit(X, Y)
    looks = dict(model.held_out_history_)
    assert list(looks) == [1, 2, 4, 8, 16, 20]
    best = max(looks, key=lambda n: looks[n])
    assert len(model.history_.captions) == best
    exactly = PLSA(n_aspects=6, n_iter=best, tol=0).fit(X, Y)
    assert model.word_shares_.tobytes() == exactly.word_shares_.tobytes()
    assert PLSA(n_aspects=6).fit(X, Y).held_out_history_ == []


def test_withheld_captions_are_judged_on_pictures_that_taught_nothing() -> None:
    X, Y = problem(60)
    rng = np.random.default_rng([0, 1])
    held = np.zeros(60, dtype=bool)
    held[rng.choice(60, 20, replace=False)] = True
    model = PLSA(n_aspects=5, n_iter=4, tol=0, validation_fraction=1 / 3).fit(X, Y)
    alone = PLSA(n_aspects=5, n_iter=4, tol=0).fit(X[~held], Y[~held])
    assert model.held_out_history_[-1] == (4, alone.score(X[held], Y[held]))


@pytest.mark.filterwarnings("ignore:There are .* training pictures with words")
def test_one_picture_cannot_be_withheld() -> None:
    model = PLSA(n_aspects=3, n_iter=5, validation_fraction=0.5).fit([[1, 2]], [[1, 0]])
    assert model.held_out_history_ == []
    assert model.decision_function([[1, 0]]).tolist() == [[1.0, 0.0]]


def test_there_are_no_more_aspects_than_pictures_with_words() -> None:
    X, Y = problem(12)
    Y[:4] = 0
    model = PLSA(n_aspects=400).fit(X, Y)
    assert model.n_aspects_ == model.aspect_shares_.shape[1] == len(model.aspect_shares_) == 8


def test_pictures_without_a_known_visual_term_have_all_aspects_alike() -> None:
    X, Y = problem()
    X[:, 3] = 0
    model = PLSA(n_aspects=4).fit(X, Y)
    strange = np.zeros((2, 12))
    strange[1, 3] = 4
    prior = model.word_shares_.mean(axis=1)
    assert model.decision_function(strange) == pytest.approx(np.tile(prior, (2, 1)), abs=1e-6)
    with_it = X[:1].copy()
    with_it[0, 3] = 7
    assert (model.decision_function(with_it) == model.decision_function(X[:1])).all()


def test_training_pictures_without_visual_terms_teach_their_words() -> None:
    X, Y = problem(10)
    model = PLSA(n_aspects=2).fit(X * 0, Y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.decision_function(X).sum(axis=1) == pytest.approx(1)
    assert (model.visterm_shares_ == 0).all()


def test_empty_columns_have_equal_shares_of_what_was_seen() -> None:
    table = np.array([[2.0, 0.0, 1.0], [2.0, 0.0, 1e-70], [0.0, 0.0, 0.0]])
    _normalise(table, np.array([True, True, False]))
    assert table.tolist() == [[0.5, 0.5, 1.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]


def test_hundreds_of_blocks_do_not_underflow() -> None:
    X, Y = problem()
    model = PLSA(n_aspects=5).fit(X * 1000, Y)
    assert np.isfinite(model.history_.visterms).all()
    assert model.decision_function(X * 10_000).sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert model.score(X * 1000, Y) > 0.8


def test_neighbours_do_not_change_a_pictures_scores() -> None:
    X, Y = problem(40)
    model = PLSA(n_aspects=5).fit(X, Y)
    alone = np.vstack([model.decision_function(X[i : i + 1]) for i in range(40)])
    assert alone == pytest.approx(model.decision_function(X), abs=1e-6)


def test_the_same_seed_gives_the_same_bytes_and_another_other_ones() -> None:
    X, Y = problem()
    one, same, other = (
        PLSA(n_aspects=4, random_state=s).fit(X, Y).decision_function(X) for s in (1, 1, 2)
    )
    assert one.tobytes() == same.tobytes()
    assert one.tobytes() != other.tobytes()


def test_progress_is_told() -> None:
    told = RecordedProgress()
    PLSA(n_aspects=3, n_iter=4, tol=0).fit(*problem(), progress=told)
    assert told.all()[1:] == (8, 8, True)


def test_more_aspects_than_pictures_are_lowered_and_said() -> None:
    X, Y = np.eye(3), np.eye(3, 2)
    with pytest.warns(UserWarning, match="2 training pictures with words: PLSA takes as many asp"):
        assert PLSA(n_aspects=5).fit(X, Y).n_aspects_ == 2
    # The usual number is an upper bound for any collection.
    assert PLSA().fit(X, Y).n_aspects_ == 2
