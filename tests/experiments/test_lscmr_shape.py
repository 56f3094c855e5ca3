"""Shapes of Wikipedia's pictures: what is read off shares, and that it reaches the methods."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.contracts import Json
from sightline_experiments.datasets.wikipedia import Pairs
from sightline_experiments.lscmr.methods import METHODS, SVM, SVM_WORDS
from sightline_experiments.lscmr.protocol import Task, sides
from sightline_experiments.lscmr.shape import (
    BINS,
    MASS,
    descriptors,
    log_aspects,
    shape_columns,
    with_shapes,
    words_alone,
)


def shares(n: int, seed: int = 0, words: int = 30) -> np.ndarray:
    """Return the shares of n points among words, one of which is seen once."""
    rng = np.random.default_rng(seed)
    counts = np.bincount(rng.integers(1, words, n - 1), minlength=words)
    counts[0] = 1
    return counts / n


@pytest.mark.parametrize("n", [37 * 27, 36 * 26, 37 * 36, 111, 1295])
def test_the_number_of_points_is_read_off_what_six_digits_leave(n: int) -> None:
    rows = np.array([shares(n, seed).astype(np.float32) for seed in range(20)], dtype=np.float64)
    assert descriptors(np.round(rows, 8)).tolist() == [n] * 20


def test_rows_that_are_no_shares_of_points_have_no_shape() -> None:
    drawn = np.random.default_rng(0).dirichlet(np.ones(30), 40)
    assert not descriptors(drawn).any() and not descriptors(np.zeros((1, 30))).any()
    columns = shape_columns(np.vstack([drawn, np.zeros((1, 30))]))
    assert not columns[:, :BINS].any() and columns[:, BINS] == pytest.approx(MASS)


def test_shapes_are_told_from_grids_as_they_are_laid_over_pictures() -> None:
    for height in range(5, 37):
        (found,) = log_aspects(np.array([37 * height]))
        assert found == pytest.approx(np.log(37 / height))
    for width in range(5, 36):
        (found,) = log_aspects(np.array([36 * width]))
        assert found == pytest.approx(np.log(width / 36))


def test_near_shapes_are_near_and_all_have_the_same_mass() -> None:
    rows = np.array([shares(n) for n in (37 * 24, 37 * 25, 36 * 24, 37 * 8, 704)])
    columns = shape_columns(rows)
    assert columns.min() >= 0 and columns.sum(axis=1) == pytest.approx(MASS)
    away = np.abs(columns - columns[0]).sum(axis=1)
    assert 0 < away[1] < away[2] and away[1] < away[3]
    assert columns[4, BINS] == pytest.approx(MASS) and not columns[:4, BINS].any()


def pairs_told_by_shape(n: int = 80) -> Pairs:
    """Return pairs of two classes, of which the words of a picture say nothing, its shape all."""
    rng = np.random.default_rng(1)
    classes = np.arange(n) % 2
    grids = [37 * rng.integers(22, 29) if c else 36 * rng.integers(22, 29) for c in classes]
    pictures = np.array([shares(int(g), seed) for seed, g in enumerate(grids)])
    return Pairs(pictures, rng.dirichlet([2.0, 2.0], n) * 0.2 + 0.8 * np.eye(2)[classes], classes)


def test_methods_see_shapes_unless_they_are_named_for_words() -> None:
    pytest.importorskip("sklearn")
    bare = pairs_told_by_shape()
    pairs = with_shapes(bare)
    assert np.array_equal(words_alone(pairs.pictures), bare.pictures)
    train, held = pairs.at(np.arange(60)), pairs.at(np.arange(60, 80))
    start: dict[str, Json] = {"model": "chi2-svm", "q_factor": 0.5, "d_factor": 0.5}
    for task in Task.both(0, train, held, 10):
        told = task.value(METHODS[SVM](task, {**start}).scorer)
        blind = METHODS[SVM_WORDS](task, {**start, "shapes": False}).scorer
        assert told > 0.85 > 0.75 > task.value(blind)
        # Without shapes no column of them is looked at.
        q, d = sides(held, task.direction)
        changed = Pairs(held.pictures + np.r_[np.zeros(30), np.ones(BINS + 1)], held.texts,
                        held.classes)  # fmt: skip
        assert np.array_equal(blind(q, d), blind(*sides(changed, task.direction)))
