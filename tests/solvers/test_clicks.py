"""Clicks: pairs, weights and estimates equal their slow twins, and undo the bias of a list."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import kendalltau, spearmanr

from sightline.errors import DataError, ParameterError
from sightline.solvers.clicks import (
    ClickPairs,
    click_weights,
    impression_table,
    over_others,
    pair_weights,
    relevance,
    skipped_above,
)
from sightline.solvers.pa_step import PassiveAggressiveWeights
from sightline.solvers.propensity import by_rank_changes, by_swaps, estimate_bias
from tests.naive import clicks as naive

Vector = NDArray[np.float64]


@st.composite
def a_list(draw: st.DrawFn) -> naive.List:
    pictures = draw(st.permutations(range(6)))[: draw(st.integers(0, 6))]
    clicked = draw(st.sets(st.sampled_from(pictures))) if pictures else set()
    return draw(st.integers(0, 2)), pictures, None, clicked


@given(st.lists(a_list(), max_size=12))
def test_pairs_equal_their_twins(lists: list[naive.List]) -> None:
    rows = impression_table(lists)
    for found, twin in (
        (skipped_above(rows), naive.skipped_above(lists)),
        (over_others(rows), naive.over_others(lists)),
    ):
        got = zip(
            *(a.tolist() for a in (found.query, found.plus, found.minus, found.rank)), strict=True
        )
        assert list(got) == twin


@given(st.lists(a_list(), max_size=12), st.floats(0, 2), st.floats(0.05, 1))
def test_relevance_equals_its_twin(lists: list[naive.List], eta: float, floor: float) -> None:
    found = relevance(impression_table(lists), eta, floor)
    twin = naive.relevance(lists, eta, floor)
    assert list(zip(found.query.tolist(), found.picture.tolist(), strict=True)) == sorted(twin)
    all_three = np.array([twin[key] for key in sorted(twin)]).reshape(-1, 3)
    np.testing.assert_allclose(found.worth, all_three[:, 0])
    np.testing.assert_allclose(found.error, all_three[:, 1])
    np.testing.assert_allclose(found.exposure, all_three[:, 2])


def test_weights_are_one_on_average_and_clipped() -> None:
    rows = impression_table([(0, list(range(50)), None, {k}) for k in range(50)])
    pairs = over_others(rows)
    assert click_weights(np.array([1, 3]), 1.0, 0.5).tolist() == [1.0, 2.0]
    free = pair_weights(pairs, 1.0, floor=0.001, most=np.inf)
    assert free.mean() == pytest.approx(1.0) and free.max() / free.min() == pytest.approx(50)
    assert pair_weights(pairs, 1.0, floor=0.001, most=1.5).max() == 1.5
    assert np.ptp(pair_weights(pairs, 0.0)) == 0
    assert not len(pair_weights(skipped_above(impression_table([])), 1.0))


def test_exposure_is_capped_without_moving_the_grade() -> None:
    rows = impression_table([(0, [1, 2], None, {2})] * 100)
    free, capped = relevance(rows, 1.0), relevance(rows, 1.0, most=20)
    np.testing.assert_allclose(capped.worth / capped.exposure, free.worth / free.exposure)
    assert capped.exposure.tolist() == [20, 20] and capped.clicks.tolist() == [0, 100]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ((0, [1, 2], [1], set()), "as many ranks"),
        ((0, [1, 1], None, set()), "each picture once"),
        ((0, [1, 2], [3, 3], set()), "each picture once"),
        ((0, [1, 2], [0, 1], set()), "count from 1. Got 0"),
        ((0, [1, 2], None, {3}), "3 was clicked and not shown"),
    ],
)
def test_lists_that_cannot_be_are_refused(
    wrong: tuple[int, list[int], list[int] | None, set[int]], said: str
) -> None:
    with pytest.raises(DataError, match=said):
        impression_table([wrong])


def test_a_floor_must_be_a_share() -> None:
    with pytest.raises(ParameterError, match="'floor' parameter"):
        click_weights(np.array([1]), 1.0, 0.0)


def world(seed: int) -> tuple[Vector, Vector, Vector]:
    """Return pictures, how well each fits, and an old ranking that has it upside down."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 8))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    meant = X @ rng.normal(size=8)
    fits = 0.05 + 0.75 / (1 + np.exp(-6 * (meant - np.quantile(meant, 0.7))))
    return X, fits, -fits


@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0, 1.5])
def test_eta_is_found_from_rank_changes(eta: float) -> None:
    _, fits, old = world(1)
    lists = naive.clicks(fits, old, 0.3, eta, 3000, seed=1)
    found = estimate_bias(impression_table(lists))
    assert found.how == "rank changes"
    assert found.eta == pytest.approx(eta, abs=min(3 * found.error + 0.01, 0.12))
    assert found.eta == pytest.approx(naive.best_eta(lists), abs=0.011)


def test_eta_is_found_from_swaps_where_there_are_some() -> None:
    """Lists of two orders, which differ in the second and sixth picture having changed places."""
    rng = np.random.default_rng(3)
    fits = rng.uniform(0.3, 0.9, 8)
    lists: list[naive.List] = []
    for order in ([0, 1, 2, 3, 4, 5, 6, 7], [0, 5, 2, 3, 4, 1, 6, 7]):
        rank = np.argsort(order).astype(np.float64)
        lists += naive.clicks(fits, -rank, 0.0, 1.2, 2000, seed=len(lists))
    found = estimate_bias(impression_table(lists))
    assert found.how == "swaps" and found.eta == pytest.approx(1.2, abs=3 * found.error)
    assert found.error < 0.1


def test_three_pictures_that_change_places_are_no_swap() -> None:
    rows = impression_table([(0, [1, 2, 3], None, {1}), (0, [2, 3, 1], None, {1})] * 50)
    assert by_swaps(rows).clicks == 0 and by_rank_changes(rows).clicks == 100
    other_query = impression_table([(0, [1, 2], None, {1}), (1, [2, 1], None, {1})] * 50)
    assert by_swaps(other_query).clicks == by_rank_changes(other_query).clicks == 0


def four_in_any_order(seed: int, n: int, fits: float = 0.5) -> list[naive.List]:
    """Return lists of four pictures in random order, one swap away from many others each."""
    rng = np.random.default_rng(seed)
    return [
        (0, order.tolist(), None, set(order[rng.random(4) < fits / np.arange(1, 5)].tolist()))
        for order in (rng.permutation(4) for _ in range(n))
    ]


def test_a_click_counts_once_however_many_swaps_it_is_in() -> None:
    for seed in range(5):
        lists = four_in_any_order(seed, 60)
        real = sum(len(clicked) for *_, clicked in lists)
        assert real / 2 < by_swaps(impression_table(lists)).clicks <= real
    # One order with three others a swap away: each clicks picture 1 once, so that is four.
    orders = [[1, 2, 3, 4], [2, 1, 3, 4], [3, 2, 1, 4], [4, 2, 3, 1]]
    assert by_swaps(impression_table([(0, order, None, {1}) for order in orders])).clicks == 4


def test_the_error_of_swaps_is_how_far_estimates_lie_off() -> None:
    found = [by_swaps(impression_table(four_in_any_order(seed, 600, 0.1))) for seed in range(200)]
    off = np.array([(f.eta - 1.0) / f.error for f in found])
    assert abs(off.mean()) < 0.25 and 0.85 < off.std() < 1.15


def test_without_rank_changes_eta_is_assumed() -> None:
    for lists in ([], [(0, [1, 2], None, {1})] * 500, [(0, [1, 2], None, set[int]())]):
        found = estimate_bias(impression_table(lists))
        assert (found.eta, found.how, found.clicks) == (1.0, "assumed", 0)


def learn(X: Vector, pairs: ClickPairs, weights: Vector) -> Vector:
    """Return scores after passive-aggressive steps on pairs drawn at random, C -> a C."""
    learner = PassiveAggressiveWeights(X.shape[1], C=2e-3)
    for i in np.random.default_rng(0).integers(0, len(pairs), 6_000):
        learner.step(X[pairs.plus[i]] - X[pairs.minus[i]], weight=weights[i])
    return X @ learner.averaged()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_steps_on_weighted_pairs_approach_the_unbiased_ranking_and_on_plain_ones_do_not(
    seed: int, record_property: Callable[[str, object], None]
) -> None:
    """Of pairs alone, which `train` does not use: grades, which it does, are tested below."""
    X, fits, old = world(seed)
    biased = impression_table(naive.clicks(fits, old, 0.15, 1.5, 2000, seed=seed))
    unbiased = over_others(
        impression_table(naive.clicks(fits, old, 0.15, 0.0, 2000, seed=seed + 9))
    )
    aim = learn(X, unbiased, np.ones(len(unbiased)))
    pairs, eta = over_others(biased), estimate_bias(biased).eta
    plain = kendalltau(learn(X, pairs, np.ones(len(pairs))), aim)[0]
    weighted = kendalltau(learn(X, pairs, pair_weights(pairs, eta, floor=0.02)), aim)[0]
    record_property("Kendall's tau to unbiased clicks", f"{weighted:.3f} against {plain:.3f}")
    assert weighted > 0.7 and weighted > plain + 0.2


def test_the_error_is_how_far_the_worth_of_other_clicks_lies_off() -> None:
    _, fits, old = world(4)
    found = [
        relevance(impression_table(naive.clicks(fits, old, 0.2, 1.0, 100, seed=s)), 1.0, 0.02)
        for s in range(300)
    ]
    # All lists show all pictures, so that the estimates of one picture differ by chance alone.
    spread = np.std([r.worth for r in found], axis=0)
    said = np.sqrt(np.mean([r.error**2 for r in found], axis=0))
    assert np.all(said > 0.9 * spread) and np.all(said < 1.5 * spread)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_estimated_relevance_is_what_fits_and_click_rates_are_not(seed: int) -> None:
    """Of grades, before the error is taken off: what training learns from."""
    _, fits, old = world(seed)
    rows = impression_table(naive.clicks(fits, old, 0.2, 1.5, 4000, seed=seed))
    found = relevance(rows, estimate_bias(rows).eta, floor=0.02)
    rates = found.clicks / np.bincount(rows.picture)
    assert spearmanr(found.grade, fits)[0] > 0.85
    assert spearmanr(rates, fits)[0] < 0.5
    assert np.abs(found.grade - fits).mean() < 0.06
    clipped = relevance(rows, estimate_bias(rows).eta, floor=0.1)
    assert np.abs(clipped.grade - fits).mean() < 0.06
