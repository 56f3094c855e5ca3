"""Paired tests."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sightline.errors import DataError, ParameterError
from sightline.measures import PairedTest, randomisation, wilcoxon
from tests.naive import measures as naive

NEW = np.array([0.61, 0.52, 0.77, 0.30, 0.85, 0.44, 0.90, 0.20, 0.55])
OLD = np.array([0.50, 0.54, 0.60, 0.25, 0.50, 0.48, 0.62, 0.20, 0.30])


def test_golden_numbers() -> None:
    # Ranks of |d|: .02 .04 .05 .11 .17 .25 .28 .35; the negative ones are 1 and 2, so T = 3, and
    # 5 of the 256 sign patterns give a rank sum of at most 3: {}, {1}, {2}, {3}, {1, 2}.
    found = wilcoxon(NEW, OLD)
    assert found.p == pytest.approx(2 * 5 / 256)
    assert (found.test, found.n, found.helped, found.harmed) == ("wilcoxon", 8, 6, 2)
    assert found.difference == pytest.approx(float(np.mean(NEW - OLD)))
    assert found.significant
    assert not wilcoxon(OLD[:3], NEW[:3]).significant


def test_wilcoxon_equals_the_twin() -> None:
    differences = [float(d) for d in np.round(NEW - OLD, 12) if d]
    twin = naive.sign_flip_p(differences, naive.signed_ranks)
    assert wilcoxon(NEW, OLD).p == pytest.approx(twin)


def test_wilcoxon_with_tied_differences_equals_the_twin() -> None:
    differences = [0.1, 0.1, -0.1, 0.2, 0.2, 0.3, -0.4, 0.5]
    found = wilcoxon(differences, [0.0] * 8)
    assert found.p == pytest.approx(naive.sign_flip_p(differences, naive.signed_ranks))


def test_randomisation_is_exact_when_few() -> None:
    differences = [float(d) for d in np.round(NEW - OLD, 12) if d]
    found = randomisation(NEW, OLD)
    assert found.p == pytest.approx(naive.sign_flip_p(differences, sum))
    assert (found.test, found.n, found.helped, found.harmed) == ("randomisation", 8, 6, 2)
    assert randomisation(NEW, OLD, seed=1) == found


def test_randomisation_draws_when_many() -> None:
    exact = randomisation(NEW, OLD).p
    drawn = randomisation(NEW, OLD, permutations=255, seed=3)
    assert drawn == randomisation(NEW, OLD, permutations=255, seed=3)
    assert drawn.p != exact
    assert drawn.p == pytest.approx(exact, abs=0.06)
    assert drawn.p * 256 == pytest.approx(round(drawn.p * 256))


def test_drawing_in_blocks_counts_every_permutation() -> None:
    generator = np.random.default_rng(0)
    old = generator.random(3000)
    same = randomisation(old + generator.normal(0, 0.1, 3000), old, permutations=1000)
    assert 0.05 < same.p <= 1
    better = randomisation(old + generator.normal(0.02, 0.1, 3000), old, permutations=1000)
    assert better.p == pytest.approx(1 / 1001)


@pytest.mark.parametrize("test", [wilcoxon, randomisation])
def test_the_sides_may_be_swapped(test: object) -> None:
    forth: PairedTest = test(NEW, OLD)  # type: ignore[operator]
    back: PairedTest = test(OLD, NEW)  # type: ignore[operator]
    assert forth.p == pytest.approx(back.p)
    assert (forth.helped, forth.harmed) == (back.harmed, back.helped)
    assert forth.difference == pytest.approx(-back.difference)


@pytest.mark.parametrize("test", [wilcoxon, randomisation])
def test_no_difference_at_all(test: object) -> None:
    for new, old in [([0.1, 0.2], [0.1, 0.2]), ([], []), ([math.nan], [math.nan])]:
        found: PairedTest = test(new, old)  # type: ignore[operator]
        assert (found.n, found.p, found.helped, found.harmed) == (0, 1.0, 0, 0)
        assert found.difference == 0


def test_rounding_noise_is_no_difference() -> None:
    found = wilcoxon([0.1 + 0.2, 0.5], [0.3, 0.4])
    assert (found.n, found.helped) == (1, 1)


def test_queries_without_a_value_are_left_out() -> None:
    nan = math.nan
    found = wilcoxon([nan, 0.5, 0.5], [nan, 0.4, 0.5])
    assert found.n == 1
    assert found.difference == pytest.approx(0.05)


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(DataError, match="Query 1 has a value for only one"):
        wilcoxon([0.1, math.nan], [0.1, 0.2])
    with pytest.raises(DataError, match="infinite"):
        randomisation([math.inf], [0.2])
    with pytest.raises(DataError, match="one length"):
        wilcoxon([0.1], [0.1, 0.2])
    with pytest.raises(ParameterError, match="'permutations' parameter"):
        randomisation([0.1], [0.2], permutations=0)
