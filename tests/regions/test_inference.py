"""Inference finds what trying every way finds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.regions import _inference_fast as fast
from sightline.regions import inference
from sightline.regions.inference import augmented, choose_tags, place_tags
from sightline.regions.programme import by_integers, by_relaxation, relax
from tests.naive import regions as naive

Doubles = NDArray[np.float64]
ODD = np.array([[1.0, -10.0, 1.0], [1.0, 1.0, -10.0], [-10.0, 1.0, 1.0]])


def made(seed: int, sign: float = 0.0) -> tuple[Doubles, Doubles]:
    """Return a small problem; gains of tags are about `sign`."""
    random = np.random.default_rng(seed)
    regions, tags = int(random.integers(1, 6)), int(random.integers(1, 5))
    return random.normal(size=(regions, tags)), random.normal(sign, 1.0, tags)


def value_of(a: Doubles, b: Doubles, owner: NDArray[np.int64]) -> float:
    return naive.worth(a, b, tuple(owner.tolist()))


@pytest.mark.parametrize("sign", [-2.0, -0.7, 0.0, 0.7, 2.0])
def test_the_best_tags_are_those_that_trying_everything_finds(sign: float) -> None:
    for seed in range(60):
        a, b = made(seed, sign)
        found = choose_tags(a, b)
        assert found.value == pytest.approx(naive.best_value(a, b), abs=1e-9)
        assert value_of(a, b, found.owner) == pytest.approx(found.value, abs=1e-9)


def test_where_no_tag_costs_anything_the_assignment_is_exact() -> None:
    for seed in range(150):
        a, b = made(seed)
        b = np.abs(b)
        a -= seed % 3
        found = choose_tags(a, b)
        assert found.value == pytest.approx(naive.best_value(a, b), abs=1e-9)
        assert value_of(a, b, found.owner) == pytest.approx(found.value, abs=1e-9)
        owner = np.empty(len(a), np.int64)
        prices = np.zeros(len(a))
        searched = fast.best_tags(np.ascontiguousarray(a.T), b, -1.0, 10_000, owner, prices)[0]
        assert searched == pytest.approx(found.value, abs=1e-9)


def test_given_tags_are_placed_best() -> None:
    tried = 0
    for seed in range(150):
        a, _ = made(seed)
        tags = np.asarray(np.random.default_rng(seed).random(a.shape[1]) < 0.6)
        if tags.sum() > len(a):
            continue
        tried += 1
        found = place_tags(a, tags)
        assert found.value == pytest.approx(naive.best_placing(a, tags), abs=1e-9)
        assert found.tags(a.shape[1]).tolist() == tags.tolist()
    assert tried > 100


def test_integer_programming_finds_the_same() -> None:
    for seed in range(50):
        a, b = made(seed, -0.7)
        found = by_integers(a, b)
        assert found.value == pytest.approx(naive.best_value(a, b), abs=1e-6)
        assert value_of(a, b, found.owner) == pytest.approx(found.value, abs=1e-6)


@pytest.mark.parametrize("kind", ["random", "covering"])
def test_branch_and_bound_agrees_with_integer_programming_at_full_size(kind: str) -> None:
    for seed in range(6):
        random = np.random.default_rng(seed)
        a = random.normal(size=(25, 20))
        if kind == "covering":
            a = np.where(random.random((25, 20)) < 0.2, 1.0, -3.0)
        b = random.normal(-2.0, 1.0, 20)
        assert choose_tags(a, b).value == pytest.approx(by_integers(a, b).value, abs=1e-6)


def test_an_odd_cycle_fools_the_relaxation_and_not_the_search() -> None:
    b = np.full(3, -1.0)
    found = relax(ODD, b)
    assert found.bound == pytest.approx(1.5) and found.fractional
    assert found.z.max() == pytest.approx(0.5)
    assert choose_tags(ODD, b).value == pytest.approx(1.0)
    assert by_integers(ODD, b).value == pytest.approx(1.0)


def test_the_relaxation_bounds_and_its_repair_is_no_better_than_the_best() -> None:
    gaps = 0
    for seed in range(40):
        a, b = made(seed, -1.0)
        exact, mended = choose_tags(a, b), by_relaxation(a, b)
        assert relax(a, b).bound >= exact.value - 1e-7
        assert mended.value <= exact.value + 1e-9
        assert value_of(a, b, mended.owner) == pytest.approx(mended.value, abs=1e-9)
        gaps += relax(a, b).fractional
    assert gaps < 40


def test_the_loss_is_counted_and_leaves_no_gap_below_zero() -> None:
    for seed in range(60):
        a, b = made(seed)
        yes = np.asarray(np.random.default_rng(seed).random(a.shape[1]) < 0.5)
        if yes.sum() > len(a):
            continue
        gains, constant = augmented(b, yes)
        most = choose_tags(a, gains)
        right = place_tags(a, yes).value + b[yes].sum()
        gap = most.value + constant - right
        predicted = choose_tags(a, b)
        wrong = (predicted.tags(a.shape[1]) != yes).sum()
        assert gap >= -1e-9 and gap >= wrong - 1e-9


def test_the_best_scene_is_compared_with_its_constant() -> None:
    for seed in range(40):
        a, _ = made(seed)
        random = np.random.default_rng(seed)
        B, const = random.normal(-0.5, 1.0, (3, a.shape[1])), random.normal(size=3)
        owner = np.empty(len(a), np.int64)
        value, scene, _ = fast.best_scene(np.ascontiguousarray(a.T), B, const, 10_000, owner)
        assert value == pytest.approx(naive.best_scene(a, B, const), abs=1e-9)
        assert value_of(a, B[scene], owner) + const[scene] == pytest.approx(value, abs=1e-9)


def test_pieces_of_the_kernel_do_what_their_twins_do() -> None:
    for seed in range(40):
        a, b = made(seed, -0.5)
        cost = np.abs(a.T) if a.shape[0] >= a.shape[1] else np.abs(a)
        rep = np.empty(len(cost), np.int64)
        w = np.empty(cost.shape[1] + 1)
        fast.representatives(np.ascontiguousarray(cost), rep, w)
        assert len(set(rep.tolist())) == len(rep)
        assert cost[np.arange(len(rep)), rep].sum() == pytest.approx(naive.least_assignment(cost))
        v, gain = np.zeros(len(a)), np.zeros(a.shape[1])
        state = np.zeros(a.shape[1], np.int8)
        bound = fast.descend(np.ascontiguousarray(a.T), b, state, v, 5, -1.0, gain)
        assert bound == pytest.approx(naive.dual_bound(a, b, v))
        assert bound >= naive.best_value(a, b) - 1e-9


def test_an_assignment_is_exact_and_its_prices_bound_it() -> None:
    for seed in range(40):
        a, b = made(seed, 0.0)
        b = np.abs(b)
        owner, v = np.empty(len(a), np.int64), np.empty(len(a))
        part = np.ones(len(b), np.int8)
        value = fast.matched(np.ascontiguousarray(a.T), b, part, owner, v)
        assert value == pytest.approx(naive.best_value(a, b)), seed
        assert value == pytest.approx(naive.dual_bound(a, b, v)), seed
        assert value_of(a, b, owner) == pytest.approx(value)


def test_more_tags_that_pay_than_regions_take_one_node() -> None:
    random = np.random.default_rng(0)
    a, b = random.normal(0.0, 0.01, (12, 21)), np.where(np.arange(21) < 3, -1.0, 1.0)
    owner, prices = np.empty(12, np.int64), np.zeros(12)
    value, nodes = fast.best_tags(np.ascontiguousarray(a.T), b, -1.0, 50, owner, prices)
    assert nodes <= 3 and value == pytest.approx(by_integers(a, b).value)


def test_a_search_that_is_given_up_is_done_by_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "MOST_NODES", 1)
    assert choose_tags(ODD, np.full(3, -1.0)).value == pytest.approx(1.0)


def test_without_tags_or_worth_nothing_is_placed() -> None:
    assert choose_tags(np.full((2, 3), -1.0), np.full(3, -1.0)).owner.tolist() == [-1, -1]
    assert place_tags(np.ones((2, 3)), np.zeros(3, bool)).owner.tolist() == [-1, -1]
    assert choose_tags(np.zeros((2, 0)), np.zeros(0)).value == 0.0


def test_all_tags_are_on_where_only_having_them_counts() -> None:
    found = choose_tags(np.zeros((5, 4)), np.ones(4))
    assert found.tags(4).all() and found.value == 4.0
    assert choose_tags(np.zeros((3, 4)), np.ones(4)).tags(4).sum() == 3


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(DataError, match="2 tags cannot lie in 1 regions"):
        place_tags(np.ones((1, 2)), np.ones(2, bool))
    with pytest.raises(DataError, match="NaN"):
        choose_tags(np.array([[np.nan]]), np.zeros(1))
    with pytest.raises(DataError, match="finite gain"):
        choose_tags(np.ones((1, 2)), np.zeros(3))
    with pytest.raises(DataError, match="row for each region"):
        choose_tags(np.ones((0, 2)), np.zeros(2))
