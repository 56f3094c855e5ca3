"""The pieces by which hits are explained: blocks, numbers, exact shares, and the drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from sightline.collection.explain import Explanation, OcclusionMap, WordShare
from sightline.collection.explain.additive import of_blocks
from sightline.collection.explain.drawing import color_of, draw_sheet, is_drawing, overlay_heat
from sightline.collection.explain.occlusion import losses, variants
from sightline.collection.explain.results import Blocks
from sightline.collection.explain.words import QueryScorer
from sightline.collection.models.dataset import Weighting
from sightline.collection.models.recipe import Fitted
from sightline.collection.models.word_model import WordModel
from sightline.features.local.layout import rgb_to_lab
from sightline.records import Hit
from sightline.words.combination import WAYS, Combination, How
from tests.factories.picture_files import pattern

# -- blocks ----------------------------------------------------------------------------------------

SIDES = st.integers(1, 400)


@given(SIDES, SIDES, st.integers(1, 9))
def test_blocks_overlap_by_half_and_cover_every_pixel(height: int, width: int, along: int) -> None:
    where = Blocks.of(height, width, along)
    count = np.zeros((height, width), int)
    for box in where.boxes():
        assert count[box].size
        count[box] += 1
    assert count.min() >= 1 and count.max() <= 4
    assert len(list(where.boxes())) == len(where) <= along**2
    assert max(where.rows, where.columns) <= along
    for edges in (where.down, where.right):
        if len(edges) > 3:
            cells = np.diff(edges)
            assert cells.max() - cells.min() <= 1 and cells.min() >= 1


@given(SIDES, SIDES, st.integers(1, 6), st.integers(0, 9))
def test_a_cell_has_the_mean_of_the_blocks_over_its_pixels(
    height: int, width: int, along: int, seed: int
) -> None:
    where = Blocks.of(height, width, along)
    values = np.random.default_rng(seed).normal(size=(where.rows, where.columns))
    total, count = np.zeros((height, width)), np.zeros((height, width))
    for box, value in zip(where.boxes(), values.ravel(), strict=True):
        total[box] += value
        count[box] += 1
    cells = where.in_cells(values)
    for i, (top, bottom) in enumerate(zip(where.down, where.down[1:], strict=False)):
        for j, (left, right) in enumerate(zip(where.right, where.right[1:], strict=False)):
            there = (total / count)[top:bottom, left:right]
            assert np.allclose(there, cells[i, j], atol=1e-5)


def test_sizes_as_they_come() -> None:
    assert Blocks.of(256, 384, 5) == Blocks(
        256, 384, (0, 64, 128, 192, 256), (0, 64, 128, 192, 256, 320, 384)
    )
    tall = Blocks.of(101, 37, 4)
    assert (tall.rows, tall.columns, tall.down) == (4, 1, (0, 20, 40, 60, 80, 101))
    assert len(Blocks.of(2, 2, 6)) == 1 and len(Blocks.of(1, 384, 6)) == 6


def test_a_hidden_block_has_the_mean_colour_and_nothing_else_changes() -> None:
    rgb = pattern(31, 17)
    where = Blocks.of(17, 31, 3)
    whole, *without = variants(rgb, where)
    assert np.array_equal(whole, rgb) and len(without) == len(where)
    for box, other in zip(where.boxes(), without, strict=True):
        changed = (other != rgb).any(axis=2)
        assert np.ptp(other[box].reshape(-1, 3), axis=0).max() == 0 and changed[box].any()
        changed[box] = False
        assert not changed.any()
        assert abs(other[box][0, 0] - rgb.reshape(-1, 3).mean(axis=0)).max() <= 0.5


# -- numbers and shares ---------------------------------------------------------------------------


def linear(W: NDArray[np.float32], idf: NDArray[np.float32] | None = None) -> Fitted:
    """Return what scores weighted counts by a matrix, as a linear ranker does."""
    weighting = Weighting(np.ones(W.shape[1], np.float32) if idf is None else idf)

    def scores(views: Any, words: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.asarray(weighting(views["counts-0"]) @ W[words].T, np.float32)

    return cast(Fitted, SimpleNamespace(scores=scores, weightings=(weighting,)))


def model_of(served: Fitted, how: How) -> QueryScorer:
    rng = np.random.default_rng(3)
    combination = Combination(how).fit(rng.normal(size=(40, 2)), rng.random((40, 2)) < 0.4)

    def numbers(views: Any, columns: NDArray[np.int64], ids: object) -> NDArray[np.float32]:
        return combination.some(columns).rows(served.scores(views, columns))

    parts = SimpleNamespace(served=served, combination=combination, numbers=numbers)
    learnt = cast(WordModel, parts)
    at = np.arange(2)
    weights = combination.weights([1.0, 1.0])
    return QueryScorer(learnt, at, weights, combination.known_.astype(np.float32), weights)


@pytest.mark.parametrize("how", WAYS)
def test_likely_is_what_a_search_for_the_word_alone_would_show(how: How) -> None:
    model = model_of(linear(np.eye(2, 8, dtype=np.float32)), how)
    for i, number in enumerate((0.4, -0.7)):
        numbers = np.zeros(2)
        numbers[i] = number
        alone = model.word_model.combination.probability(number, [1.0])
        assert model.likely(numbers)[1 + i] == pytest.approx(float(alone))
    together = np.array([0.4, -0.7]) @ model.weights
    both = model.word_model.combination.probability(together, [1.0, 1.0])
    assert model.likely([0.4, -0.7])[0] == pytest.approx(float(both))


def test_the_strongest_part_is_left_out_of_the_probability_told() -> None:
    model = model_of(linear(np.eye(2, 8, dtype=np.float32)), "sum")
    where = Blocks.of(30, 20, 2)
    numbers = np.array([[1.0, 0.5], [0.2, 0.6], [0.9, 2.5]], np.float32)
    parts = losses(model, where, numbers)
    assert parts.of_words.shape == (2, 2, 1)
    lost = np.array([[0.8, 0.1], [-0.1, -2.0]])
    assert np.allclose(parts.of_words[:, :, 0], lost * model.weights[:, None])
    assert parts.without[0] == model.likely(numbers[2])[0]
    assert parts.without[1:] == (model.likely(numbers[1])[1], model.likely(numbers[2])[2])


@given(st.integers(0, 99), st.sampled_from(["sum", "average"]))
def test_shares_add_up_to_the_number(seed: int, how: How) -> None:
    rng = np.random.default_rng(seed)
    idf = rng.uniform(0, 2, 50).astype(np.float32) * (rng.random(50) < 0.9)
    model = model_of(linear(rng.normal(size=(2, 50)).astype(np.float32), idf), how)
    terms = rng.integers(0, 50, int(rng.integers(1, 80)))
    each, rest, whole = of_blocks(model, "counts-0", 50, terms)
    assert each.shape == (len(terms), 2)
    assert np.allclose(each.sum(axis=0) + rest, whole, atol=1e-4)
    same = terms == terms[0]
    assert (each[same] == each[0]).all()


# -- the drawing -----------------------------------------------------------------------------------


def drawn(values: Sequence[Sequence[float]], words: int = 1) -> Explanation:
    rgb = np.full((90, 90, 3), 128, np.uint8)
    of_words = np.array([values] * words, np.float32)
    where = Blocks.of(90, 90, of_words.shape[2])
    likely = (0.9,) * (1 + words)
    parts = OcclusionMap(where, of_words, 0.3, likely, likely)
    shares = tuple(WordShare(f"word{i}", i == 0, 1.0, 0.2, 0.2, 0.9) for i in range(words))
    return Explanation(
        Hit(1, "a/caf\xe9\n.jpg".encode(), 0.4, "predicted", learned=True),
        shares,
        parts,
        picture=rgb,
    )


def test_what_raises_the_score_is_orange_and_what_lowers_it_blue() -> None:
    values = np.zeros((3, 5), np.float32)
    values[0, 0], values[2, 4] = 1, -1
    where = Blocks.of(60, 90, 5)
    out = overlay_heat(np.full((60, 90, 3), 128, np.uint8), where, values).astype(int)
    red, green, blue = out[2, 2]
    assert red > green > blue and red - blue > 80
    red, green, blue = out[-3, -3]
    assert blue > green > red and blue - red > 80
    assert np.ptp(out[30, 45]) <= 2
    nothing = overlay_heat(np.full((60, 90, 3), 128, np.uint8), where, values * 0)
    assert np.ptp(nothing) == 0


def test_colours_darken_alike_on_both_sides() -> None:
    strength = np.linspace(0, 1, 21)
    up, down = (rgb_to_lab(color_of(sign * strength))[:, 0] for sign in (1, -1))
    assert np.abs(up - down).max() < 3
    assert (np.diff(up) < 0).all() and (np.diff(down) < 0).all()


def test_a_sheet_has_a_row_for_each_hit_and_at_most_four_words(tmp_path: Path) -> None:
    one, many = drawn([[1, 0], [0, -1]]), drawn([[1, 0], [0, -1]], words=6)
    assert draw_sheet([one]).width < draw_sheet([many]).width
    assert draw_sheet([many]).width == draw_sheet([drawn([[1, 0], [0, -1]], words=4)]).width
    assert draw_sheet([one, one, one]).height > 2 * draw_sheet([one]).height
    unread = replace(many, parts=None, picture=None, problem="it cannot be read: " + "x " * 40)
    assert draw_sheet([many, unread], "long " * 50).height > draw_sheet([many]).height
    one.heat_map(tmp_path / "one.png")
    assert is_drawing(tmp_path / "one.png") and not is_drawing(tmp_path / "none.png")
    Image.new("RGB", (9, 9)).save(tmp_path / "other.png")
    assert not is_drawing(tmp_path / "other.png")
