"""Combining word scores: the laws of each way, calibration."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.words.combination import WAYS, Combination, How
from sightline.words.tfidf import query_vector
from tests.factories.fresh_python import imported_by
from tests.naive import combination as naive

SCORES = arrays(np.float32, (8, 3), elements=st.floats(-2, 2, width=32))
TAGGED = arrays(np.bool_, (8, 3))
each_way = pytest.mark.parametrize("how", WAYS)


def planted(
    n: int = 3000, n_words: int = 12, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.float64]]:
    """Scores, words, and the probabilities the words were drawn with."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0.1, 0.2, size=(n, n_words)).astype(np.float32)
    slope, offset = rng.uniform(8, 20, n_words), rng.uniform(-6, -3, n_words)
    p = 1 / (1 + np.exp(-(scores * slope + offset)))
    return scores, rng.random(p.shape) < p, p


@each_way
@settings(max_examples=40)
@given(SCORES, TAGGED)
def test_one_word_keeps_the_order_of_its_scores(
    how: How, scores: NDArray[np.float32], tagged: NDArray[np.bool_]
) -> None:
    rows = Combination(how).fit(scores, tagged).rows(scores)
    for g, r in zip(scores.T, rows.T, strict=True):
        if how != "average" or np.ptp(g) > 0:
            assert (np.diff(r[np.argsort(g)]) >= 0).all()


@each_way
def test_one_word_keeps_every_difference_that_matters(how: How) -> None:
    scores, tagged, _ = planted(500)
    scores = np.round(scores, 4)
    rows = Combination(how).fit(scores, tagged).rows(scores)
    for g, r in zip(scores.T, rows.T, strict=True):
        assert np.array_equal(np.argsort(g, kind="stable"), np.argsort(r, kind="stable"))


@settings(max_examples=30)
@given(SCORES, TAGGED, st.floats(0.1, 10), st.floats(-5, 5))
def test_an_average_does_not_feel_unit_and_zero_of_a_word(
    scores: NDArray[np.float32], tagged: NDArray[np.bool_], unit: float, zero: float
) -> None:
    assume(scores.std(axis=0).min() > 0.05)
    moved = scores.copy()
    moved[:, 1] = moved[:, 1] * unit + zero
    plain = Combination("average").fit(scores, tagged).rows(scores)
    assert Combination("average").fit(moved, tagged).rows(moved) == pytest.approx(plain, abs=1e-3)


def test_an_average_has_mean_zero_and_deviation_one() -> None:
    scores, _, _ = planted(200)
    scores[:, 3] = 0.1
    rows = Combination("average").fit(scores).rows(scores)
    assert rows.mean(axis=0) == pytest.approx(0, abs=1e-6)
    assert (rows[:, 3] == 0).all()
    assert np.delete(rows.std(axis=0), 3) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("n", [2, 3, 7, 10, 49, 1000])
@pytest.mark.parametrize("value", [0.1, 0.3, -7e-5, 1e7])
def test_equal_scores_average_to_nothing(n: int, value: float) -> None:
    scores = np.full((n, 1), value, dtype=np.float32)
    assert (Combination("average").fit(scores).rows(scores) == 0).all()


def test_an_average_is_frozen() -> None:
    scores, _, _ = planted(200)
    made = Combination("average").fit(scores)
    assert made.rows(scores[:5]).tobytes() == made.rows(scores)[:5].tobytes()


def test_a_sum_is_the_raw_score_weighted_by_idf() -> None:
    scores, tagged, _ = planted(50)
    made = Combination("sum").fit(scores, tagged)
    assert made.rows(scores).tobytes() == scores.tobytes()
    idf = np.array([4.0, 0.0, 3.0])
    assert made.weights(idf) == pytest.approx([0.8, 0.0, 0.6])
    ids, values = query_vector([0, 2], idf, [1.0, 2.0])
    assert made.weights(idf[ids], [1.0, 2.0]).tolist() == values.tolist()


def test_weights_of_the_other_ways_do_not_use_idf() -> None:
    assert Combination("average").weights([5.0, 1.0]).tolist() == [0.5, 0.5]
    assert Combination("average").weights([5.0, 1.0], [3.0, 1.0]).tolist() == [0.75, 0.25]
    assert Combination("product").weights([5.0, 1.0]).tolist() == [1.0, 1.0]
    assert Combination("product").weights([5.0, 1.0], [2.0, 1.0]).tolist() == [2.0, 1.0]


@each_way
def test_a_query_without_words_weighs_nothing(how: How) -> None:
    assert Combination(how).weights([]).shape == (0,)
    assert Combination(how).weights([1.0], [0.0]).tolist() == [0.0]


def test_a_product_multiplies_probabilities() -> None:
    scores, tagged, _ = planted(500)
    made = Combination("product").fit(scores, tagged)
    rows = made.rows(scores).astype(np.float64)
    p = 1 / (1 + np.exp(-(scores * made.slope_ + made.offset_)))
    assert np.exp(rows[:, 2] + rows[:, 5]) == pytest.approx(p[:, 2] * p[:, 5], rel=1e-4)
    assert (rows <= 0).all()
    weights = made.weights([1.0, 1.0], [2.0, 1.0])
    shown = made.probability(rows[:, [2, 5]] @ weights, weights)
    assert shown == pytest.approx((p[:, 2] ** 2 * p[:, 5]) ** (1 / 3), rel=1e-4)


def test_a_product_of_planted_words_finds_the_planted_probabilities() -> None:
    scores, tagged, p = planted()
    made = Combination("product").fit(scores, tagged)
    assert np.exp(made.rows(scores)) == pytest.approx(p, abs=0.12)
    assert np.abs(np.exp(made.rows(scores)) - p).mean() < 0.012


def test_probabilities_are_reliable_on_pictures_not_calibrated_on() -> None:
    scores, tagged, _ = planted(8000, 30, seed=4)
    found = np.exp(Combination("product").fit(scores[:1000], tagged[:1000]).rows(scores[1000:]))
    for low in np.arange(0, 1, 0.1):
        there = (found >= low) & (found < low + 0.1)
        assert tagged[1000:][there].mean() == pytest.approx(found[there].mean(), abs=0.03)


def test_a_rare_word_leans_on_the_others() -> None:
    scores, tagged, _ = planted(2000, 40, seed=2)
    rare = tagged.copy()
    rare[:, 0] = False
    first = int(np.flatnonzero(tagged[:, 0])[0])
    rare[first, 0] = True
    made = Combination("product").fit(scores, rare)
    assert made.slope_[1:].min() > 0
    assert 0.2 * np.median(made.slope_) < made.slope_[0] < 3 * np.median(made.slope_)
    alone = Combination("product").fit(scores[:, 1:], rare[:, 1:])
    assert made.slope_[1:] == pytest.approx(alone.slope_, rel=0.1)


def test_words_on_no_picture_and_on_all_are_calibrated_too() -> None:
    scores, tagged, _ = planted(300)
    tagged[:, 0], tagged[:, 1] = False, True
    made = Combination("product").fit(scores, tagged)
    p = np.exp(made.rows(scores))
    assert np.isfinite(made.rows(scores)).all()
    assert p[:, 0].mean() < 0.1 < 0.8 < p[:, 1].mean()
    nothing = Combination("product").fit(scores, np.zeros_like(tagged))
    assert (np.exp(nothing.rows(scores)).mean(axis=0) < 0.3).all()


def test_a_word_whose_scores_mislead_still_keeps_its_order() -> None:
    scores, tagged, _ = planted(500)
    tagged[:, 0] = scores[:, 0] < 0.1
    made = Combination("product").fit(scores, tagged)
    assert made.slope_[0] > 0
    rows = made.rows(scores)[:, 0]
    assert np.array_equal(np.argsort(scores[:, 0]), np.argsort(rows))


def test_calibration_is_a_minimum() -> None:
    scores, tagged, _ = planted(200, 3)
    from sightline.words import calibration

    prior = calibration._Prior(np.array([1.5, -2.0]), np.array([0.5, 2.0]))
    x = scores.astype(np.float64) * 4
    theta, _ = calibration._fit_columns(x, tagged, None, prior)
    for t in range(3):
        args = x[:, t].tolist(), tagged[:, t].tolist(), (1.5, -2.0), (0.5, 2.0)
        best = naive.calibration_loss(theta[0, t], theta[1, t], *args)
        for da, db in [(1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3)]:
            there = naive.calibration_loss(theta[0, t] + da, theta[1, t] + db, *args)
            assert best <= there


def test_many_pictures_are_calibrated_as_if_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from sightline.words import calibration

    rng = np.random.default_rng(0)
    tagged = rng.random((3_000, 6)) < np.array([0.3, 0.1, 0.03, 0.01, 0.001, 0.0])
    scores = (0.1 * rng.normal(size=tagged.shape) + 0.2 * tagged).astype(np.float32)
    binned = calibration.calibrate(scores, tagged)
    monkeypatch.setattr(calibration, "_BINNED", len(scores))
    exact = calibration.calibrate(scores, tagged)
    p, q = (1 / (1 + np.exp(-(slope * scores + offset))) for slope, offset in (binned, exact))
    assert np.abs(p - q).max() < 1e-3
    assert not np.array_equal(binned[0], exact[0])


@settings(max_examples=30)
@given(SCORES, TAGGED, st.sampled_from(WAYS))
def test_saved_and_made_again_it_gives_the_same_bytes(
    scores: NDArray[np.float32], tagged: NDArray[np.bool_], how: How
) -> None:
    made = Combination(how).fit(scores, tagged)
    again = Combination.from_arrays(how, made.to_arrays())
    assert again.rows(scores).tobytes() == made.rows(scores).tobytes()
    assert again.known_.tobytes() == made.known_.tobytes()
    total = scores @ made.weights([1.0, 2.0, 3.0])
    shown = made.probability(total, [1.0, 1.0, 1.0])
    assert again.probability(total, [1.0, 1.0, 1.0]).tobytes() == shown.tobytes()


def test_two_fits_give_the_same_bytes() -> None:
    scores, tagged, _ = planted(300)
    one, two = (Combination("product").fit(scores, tagged) for _ in range(2))
    assert one.rows(scores).tobytes() == two.rows(scores).tobytes()


@each_way
def test_a_known_picture_stands_above_most(how: How) -> None:
    scores, tagged, _ = planted(1000)
    tagged[:, 4] = False
    made = Combination(how).fit(scores, tagged)
    rows = made.rows(scores)
    assert made.known_.shape == (12,)
    assert ((rows < made.known_).mean(axis=0) > 0.9).all()
    if how == "product":
        assert (made.known_ == 0).all()


@each_way
def test_shown_probabilities_rise_with_the_score(how: How) -> None:
    scores, tagged, _ = planted(1000)
    made = Combination(how).fit(scores, tagged)
    weights = made.weights([1.0, 2.0])
    total = made.rows(scores)[:, [0, 1]] @ weights
    if how != "product":
        made.fit_shown(total, tagged[:, 0] & tagged[:, 1])
    p = made.probability(np.sort(total), weights)
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.diff(p) >= 0).all()
    if how != "product":
        assert p.mean() == pytest.approx((tagged[:, 0] & tagged[:, 1]).mean(), abs=0.02)


def test_many_scores_are_calibrated_in_bounded_memory() -> None:
    scores, tagged, p = planted(20_000, 60)
    for how in ("sum", "product"):
        tracemalloc.start()
        made = Combination(how).fit(scores, tagged)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 160 << 20
    assert np.abs(np.exp(made.rows(scores)) - p).mean() < 0.01


def test_impossible_input_is_refused() -> None:
    scores, tagged, _ = planted(20)
    with pytest.raises(ParameterError, match=r"'how' .* Got 'maximum'"):
        Combination("maximum")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'Y' parameter of Combination must be given"):
        Combination("product").fit(scores)
    with pytest.raises(DataError, match=r"word 1 for picture 0 is nan"):
        wrong = scores.copy()
        wrong[0, 1] = np.nan
        Combination("sum").fit(wrong)
    with pytest.raises(DataError, match=r"shape \(20, 12\), as the scores. Got \(20, 3\)"):
        Combination("sum").fit(scores, tagged[:, :3])
    with pytest.raises(DataError, match="else 0"):
        Combination("sum").fit(scores, tagged * 0.5)
    with pytest.raises(DataError, match="pictures by words"):
        Combination("sum").fit(scores[0])
    with pytest.raises(DataError, match=r"12 words. Got 3"):
        Combination("sum").fit(scores).rows(scores[:, :3])
    with pytest.raises(ParameterError, match="'user_weights'"):
        Combination("product").weights([1.0], [-1.0])
    with pytest.raises(DataError, match="'offset' is missing"):
        Combination.from_arrays("sum", {"slope": np.ones(1)})
    with pytest.raises(DataError, match="one relevance a score"):
        Combination("sum").fit(scores).fit_shown([1.0], [1, 0])


def test_sparse_words_are_the_same_as_dense_ones() -> None:
    from scipy.sparse import csr_matrix

    scores, tagged, _ = planted(100)
    dense: Any = Combination("product").fit(scores, tagged)
    sparse = Combination("product").fit(scores, csr_matrix(tagged))
    assert sparse.slope_.tobytes() == dense.slope_.tobytes()


def test_importing_it_does_not_import_scipy() -> None:
    assert not {"scipy"} & imported_by("sightline.words.combination")
