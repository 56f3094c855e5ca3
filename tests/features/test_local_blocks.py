"""Blocks: the grid of the paper, descriptors against their slow twin, and pictures of any shape."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.features.local.blocks import block_descriptors, grid
from sightline.features.local.color import choose_colors, color_table, sample_pixels, table_indices
from sightline.features.local.lbp import padded_grey, pattern_codes
from tests.naive import local as naive

RGB = NDArray[np.uint8]


def picture(height: int, width: int, seed: int = 0) -> RGB:
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (-(-height // 5), -(-width // 5), 3), dtype=np.uint8)
    smooth = coarse.repeat(5, 0).repeat(5, 1)[:height, :width]
    return np.asarray(smooth // 2 + rng.integers(0, 128, smooth.shape, dtype=np.uint8))


@pytest.fixture(scope="module")
def colors() -> NDArray[np.float32]:
    return choose_colors(sample_pixels([picture(90, 90)], 4_000), 12)


@pytest.mark.parametrize(
    "block, count",
    [(32, 345), (48, 135), (64, 77), (96, 28), (128, 15), (192, 3), (256, 2)],
)
def test_the_grid_has_the_papers_number_of_blocks(block: int, count: int) -> None:
    assert len(grid(256, 384, block, relative=False)) == count
    assert len(grid(256, 384, block)) == count


@given(st.integers(2, 400), st.integers(2, 400), st.integers(1, 100), st.booleans())
def test_the_grid_follows_the_formula(h: int, w: int, half: int, relative: bool) -> None:
    found = grid(h, w, 2 * half, relative)
    b = found.side
    assert b % 2 == 0 and 2 <= b <= min(h, w)
    assert found.columns == (w - b) // (b // 2) + 1
    assert found.rows == (h - b) // (b // 2) + 1
    if not relative:
        assert b == min(2 * half, h // 2 * 2, w // 2 * 2)
    centers = found.centers()
    assert centers.shape == (len(found), 2) and centers.min() > 0 and centers.max() < 1


@pytest.mark.parametrize("size, side", [((256, 384), 64), ((128, 192), 32), ((36, 54), 10),
                                        ((20, 30), 8), ((72, 72), 12)])  # fmt: skip
def test_relative_blocks_shrink_with_the_picture(size: tuple[int, int], side: int) -> None:
    assert grid(*size).side == side


def test_an_odd_block_or_step_is_refused() -> None:
    with pytest.raises(ParameterError, match="must be even"):
        grid(100, 100, 33)
    with pytest.raises(ParameterError, match="must be 1 or 2"):
        block_descriptors(picture(9, 9), np.zeros(64**3, np.uint8), 1, every=3)


@pytest.mark.parametrize("height, width, block, every", [
    (48, 64, 16, 1), (41, 67, 10, 2), (80, 111, 50, 2), (72, 97, 48, 2), (79, 50, 50, 2),
    (9, 30, 64, 1), (2, 2, 2, 1),
])  # fmt: skip
def test_descriptors_equal_their_twin(
    colors: NDArray[np.float32], height: int, width: int, block: int, every: int
) -> None:
    rgb = picture(height, width)
    table = color_table(colors)
    ((where, rows),) = block_descriptors(rgb, table, len(colors), (block,), False, every)
    step = every if where.cell >= 24 else 1
    found, tints = pattern_codes(padded_grey(rgb)), table[table_indices(rgb)]
    twin = naive.block_rows(found, tints, len(colors), where.side, step)
    assert rows.shape == (len(where), 59 + len(colors)) and rows.dtype == np.float32
    np.testing.assert_allclose(rows, twin, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 3), (3, 2), (8, 8), (5, 384), (384, 2),
                                   (63, 65), (256, 384)])  # fmt: skip
def test_halves_sum_to_one_whatever_the_shape(
    colors: NDArray[np.float32], shape: tuple[int, int]
) -> None:
    found = block_descriptors(picture(*shape), color_table(colors), len(colors), (64, 16))
    for where, rows in found:
        assert len(rows) == len(where) >= 1
        np.testing.assert_allclose(rows[:, :59].sum(axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(rows[:, 59:].sum(axis=1), 1, atol=1e-5)


def test_a_constant_block_has_one_pattern_and_one_color(colors: NDArray[np.float32]) -> None:
    rgb = np.full((64, 96, 3), 90, np.uint8)
    ((_, rows),) = block_descriptors(rgb, color_table(colors), len(colors))
    assert (rows > 0).sum(axis=1).tolist() == [2] * 77
    assert rows[:, 57].tolist() == [1.0] * 77, "the code 11111111"


def test_a_turn_by_90_degrees_turns_blocks_and_patterns(colors: NDArray[np.float32]) -> None:
    rgb, table = picture(64, 96), color_table(colors)
    ((where, rows),) = block_descriptors(rgb, table, len(colors), (16,), False, 1)
    ((_, turned),) = block_descriptors(np.rot90(rgb), table, len(colors), (16,), False, 1)
    here = np.rot90(rows.reshape(where.rows, where.columns, -1)).reshape(len(where), -1)
    uniform = naive.uniform_codes()
    order = [uniform.index((c << 2 | c >> 6) & 255) for c in uniform]
    np.testing.assert_allclose(turned[:, order], here[:, :58], atol=1e-6)
    np.testing.assert_allclose(turned[:, 58:], here[:, 58:], atol=1e-6)


def test_some_pixels_tell_nearly_the_same_as_all(colors: NDArray[np.float32]) -> None:
    rgb, table = picture(256, 384), color_table(colors)
    ((_, half),) = block_descriptors(rgb, table, len(colors))
    ((_, whole),) = block_descriptors(rgb, table, len(colors), every=1)
    assert 0 < np.abs(half - whole).sum(axis=1).mean() < 0.35, "of at most 4"


def test_pictures_may_be_views_and_are_left_as_they_were(colors: NDArray[np.float32]) -> None:
    rgb, table = picture(80, 120), color_table(colors)
    mirrored = rgb[:, ::-1]
    before = mirrored.copy()
    ((_, rows),) = block_descriptors(mirrored, table, len(colors))
    ((_, copied),) = block_descriptors(before, table, len(colors))
    assert np.array_equal(rows, copied) and np.array_equal(mirrored, before)
    assert mirrored.flags.writeable
    with pytest.raises(DataError):
        block_descriptors(rgb[..., 0], table, len(colors))


_TINY = """
import sys
import numpy as np
from sightline.features.local.blocks import block_descriptors
from sightline.features.local.codebook import assign, codebook
from sightline.features.local.layout import Classic

rng = np.random.default_rng(5)
rgb = rng.integers(0, 256, (54, 60, 3), dtype=np.uint8)
table = rng.integers(0, 3, 64**3, dtype=np.uint8)
found = block_descriptors(rgb, table, 3, (16, 50), relative=False)
points = np.concatenate([rows for _, rows in found])
centers = codebook(points, 4, seed=1, passes=2)
row = Classic().describe(rgb)
for array in (points, centers, assign(points, centers).astype(np.float32), row):
    sys.stdout.buffer.write(array.tobytes())
"""


def test_kernels_give_the_same_without_the_compiler() -> None:
    def run(**env: str) -> bytes:
        command = [sys.executable, "-W", "error", "-c", _TINY]
        return subprocess.run(
            command, env={**os.environ, **env}, capture_output=True, check=True
        ).stdout

    compiled, plain = run(), run(NUMBA_DISABLE_JIT="1")
    assert len(plain) > 1_000
    one, other = (np.frombuffer(raw, np.float32) for raw in (compiled, plain))
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)
