"""Local binary patterns: the laws of the paper's texture half, and the kernel's slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.features.local.lbp import UNIFORM, bins, changes, padded_grey, pattern_codes
from tests.naive import local as naive

RGB = NDArray[np.uint8]


def pictures(most: int = 255) -> st.SearchStrategy[RGB]:
    shapes = st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3))
    return arrays(np.uint8, shapes, elements=st.integers(0, most))


def codes(rgb: RGB) -> NDArray[np.uint8]:
    return pattern_codes(padded_grey(rgb))


def turned(code: int) -> int:
    """A code after the picture was turned by 90 degrees: every point is two further."""
    return (code << 2 | code >> 6) & 255


def test_there_are_58_uniform_codes_and_59_bins() -> None:
    assert UNIFORM.tolist() == naive.uniform_codes()
    assert len(UNIFORM) == 58 == sum(changes(c) <= 2 for c in range(256))
    table = bins()
    assert sorted(table[UNIFORM].tolist()) == list(range(58))
    assert set(np.delete(table, UNIFORM).tolist()) == {58}


@given(pictures())
def test_grey_equals_its_twin(rgb: RGB) -> None:
    padded = padded_grey(rgb)
    assert np.array_equal(padded, np.pad(naive.grey(rgb), 2, "edge"))


@given(pictures(most=14))
def test_codes_equal_exact_arithmetic_while_differences_are_small(rgb: RGB) -> None:
    assert np.array_equal(codes(rgb), naive.codes(rgb))


def test_codes_hardly_ever_differ_from_exact_arithmetic_in_noise() -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (60, 70, 3), dtype=np.uint8)
    assert np.mean(codes(rgb) == naive.codes(rgb)) > 0.9995


@given(pictures(most=200), st.integers(0, 55))
def test_a_constant_added_changes_nothing(rgb: RGB, more: int) -> None:
    assert np.array_equal(codes(rgb), codes(rgb + np.uint8(more)))


@given(pictures())
def test_a_turn_by_90_degrees_turns_the_codes_by_two_steps(rgb: RGB) -> None:
    there = codes(np.ascontiguousarray(np.rot90(rgb)))
    here = np.rot90(codes(rgb))
    assert np.array_equal(there, [[turned(int(c)) for c in row] for row in here])


@pytest.mark.parametrize("value", [0, 128, 255])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (40, 50)])
def test_a_constant_picture_has_one_pattern(shape: tuple[int, int], value: int) -> None:
    assert set(codes(np.full((*shape, 3), value, np.uint8)).ravel().tolist()) == {255}


def test_codes_equal_those_of_scikit_image() -> None:
    feature = pytest.importorskip("skimage.feature")
    rng = np.random.default_rng(1)
    smooth = np.cumsum(np.cumsum(rng.normal(size=(90, 120, 3)), 0), 1)
    rgb = (255 * (smooth - smooth.min()) / np.ptp(smooth)).astype(np.uint8)
    rgb = np.clip(rgb + rng.integers(-9, 10, rgb.shape), 0, 255).astype(np.uint8)
    padded = padded_grey(rgb)
    theirs = feature.local_binary_pattern(padded, 8, 2, "default")[2:-2, 2:-2]
    assert np.mean(theirs == pattern_codes(padded)) > 0.995


@pytest.mark.parametrize(
    "wrong", [np.zeros((3, 3), np.uint8), np.zeros((0, 4, 3), np.uint8), np.zeros((3, 3, 3))]
)
def test_what_is_no_picture_is_refused(wrong: NDArray[np.uint8]) -> None:
    with pytest.raises(DataError, match="8-bit RGB"):
        padded_grey(wrong)
