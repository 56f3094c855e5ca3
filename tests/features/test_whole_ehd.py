"""The edge histogram: known pictures, its slow twin, mirror images, and both distances."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.features.whole._ehd_fast import kind_of
from sightline.features.whole.ehd import (
    CENTERS,
    DISTANCES,
    EdgeHistogram,
    library_distance,
    quantized,
    shares,
    standard_distance,
    values_of,
)
from sightline.testing import check_feature
from tests.factories.fresh_python import imported_by
from tests.factories.photos import patches
from tests.naive import whole as naive

RGB = NDArray[np.uint8]
Floats = NDArray[np.float32]


def noise(height: int, width: int, seed: int = 0) -> RGB:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def codes(rgb: RGB) -> NDArray[np.float32]:
    return EdgeHistogram().describe(rgb).reshape(16, 5)


def test_it_keeps_the_contract() -> None:
    check_feature(EdgeHistogram())


@pytest.mark.parametrize("level", [0, 77, 255])
def test_a_constant_picture_has_no_edges(level: int) -> None:
    assert not codes(np.full((64, 64, 3), level, np.uint8)).any()


def test_stripes_and_checkers_are_what_they_are() -> None:
    y, x = np.indices((64, 64))
    for ones, wanted in ((x, (7, 0, 0, 0, 0)), (y, (0, 7, 0, 0, 0)), (x + y, (0, 0, 0, 0, 7))):
        rgb = np.repeat((ones % 2 * 255).astype(np.uint8)[..., None], 3, axis=2)
        assert (codes(rgb) == wanted).all()


def test_diagonals_have_their_own_kinds() -> None:
    rgb = np.zeros((64, 64, 3), np.uint8)
    tile = np.array([[255, 128], [128, 0]], np.uint8)
    rgb[:] = np.tile(tile, (32, 32))[..., None]
    assert (codes(rgb) == (0, 0, 7, 0, 0)).all()
    assert (codes(rgb[:, ::-1]) == (0, 0, 0, 7, 0)).all()


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 5), (1, 90), (8, 8), (33, 47), (70, 101)])
def test_shares_equal_the_slow_twin(shape: tuple[int, int]) -> None:
    for rgb in (noise(*shape), patches(1, *shape), patches(2, *shape)):
        found = shares(rgb)
        np.testing.assert_allclose(found, naive.edge_shares(rgb), atol=1e-12)
        twin = [[naive.edge_code(v, CENTERS[k]) for k, v in enumerate(row)] for row in found]
        assert np.array_equal(quantized(found), twin)


def test_the_first_of_equal_strengths_decides() -> None:
    levels = range(0, 40, 5)
    tied = 0
    for means in product(levels, repeat=4):
        strengths = naive.edge_strengths(list(means))
        best = max(strengths)
        tied += strengths.count(best) > 1 and best >= 11
        assert kind_of(*map(float, means)) == (strengths.index(best) if best >= 11 else -1)
    assert tied > 5


def test_a_part_without_tiles_has_no_edges() -> None:
    assert not codes(noise(1, 1)).any() and not codes(noise(1, 400)).any()
    # Tiles begin at 0 and 2: the second and fourth column and row of parts have none.
    found = codes(np.tile(np.array([[0, 255]], np.uint8), (4, 2))[..., None].repeat(3, axis=2))
    assert found[[0, 2, 8, 10], 0].tolist() == [7] * 4 and found.sum() == 28


@given(st.integers(0, 2**32 - 1), st.sampled_from([(64, 64), (256, 384), (32, 128)]))
def test_a_mirror_image_has_mirrored_edges(seed: int, shape: tuple[int, int]) -> None:
    rgb = patches(seed, *shape)
    found, mirrored = (shares(p).reshape(4, 4, 5) for p in (rgb, rgb[:, ::-1]))
    np.testing.assert_allclose(mirrored[:, ::-1][..., [0, 1, 3, 2, 4]], found, atol=1e-12)
    upside_down = shares(rgb[::-1, ::-1]).reshape(4, 4, 5)
    np.testing.assert_allclose(upside_down[::-1, ::-1], found, atol=1e-12)


def test_borders_of_codes_belong_to_the_lower_code() -> None:
    borders = (CENTERS[:, :-1] + CENTERS[:, 1:]) / 2
    for j in range(7):
        assert (quantized(borders[:, j]) == j).all()
        assert (quantized(borders[:, j] + 1e-9) == j + 1).all()
    assert np.array_equal(quantized(CENTERS.T), np.repeat(np.arange(8)[:, None], 5, axis=1))


_codes = arrays(np.float32, (3, 80), elements=st.sampled_from([float(i) for i in range(8)]))


@given(_codes)
def test_distances_are_distances(rows: Floats) -> None:
    a, b, c = rows
    for distance in DISTANCES.values():
        assert distance(a, a) == 0 <= distance(a, b)
        assert distance(a, b) == pytest.approx(float(distance(b, a)))
        assert distance(a, c) <= distance(a, b) + distance(b, c) + 1e-9
        assert distance(rows, a).tolist() == [float(distance(r, a)) for r in rows]


@given(_codes)
def test_the_standard_distance_adds_parts_groups_and_the_whole(rows: Floats) -> None:
    one, other = values_of(rows[:2]).reshape(2, 4, 4, 5)
    total = np.abs(one - other).sum() + 5 * np.abs((one - other).mean(axis=(0, 1))).sum()
    for axis in (0, 1):
        total += np.abs((one - other).mean(axis=axis)).sum()
    for y, x in ((0, 0), (0, 2), (2, 0), (2, 2), (1, 1)):
        total += np.abs((one - other)[y : y + 2, x : x + 2].mean(axis=(0, 1))).sum()
    assert standard_distance(rows[0], rows[1]) == pytest.approx(total)


def test_the_library_counts_the_first_part_five_times() -> None:
    zero, first, later = np.zeros((3, 80), np.float32)
    first[0] = later[5] = 3
    share = CENTERS[0, 3] - CENTERS[0, 0]
    assert library_distance(zero, first) == pytest.approx(15 + share)
    assert library_distance(zero, later) == pytest.approx(3 + share)


@pytest.mark.parametrize("row", [np.zeros(79), np.full(80, 8.0), np.full(80, 0.5), -np.ones(80)])
def test_what_are_no_codes_is_refused(row: Floats) -> None:
    for distance in DISTANCES.values():
        with pytest.raises(DataError, match="80 whole numbers"):
            distance(row, row)


def test_what_is_no_picture_is_refused() -> None:
    with pytest.raises(DataError, match="8-bit RGB"):
        EdgeHistogram().describe(np.zeros((4, 4), np.uint8))


def test_importing_it_does_not_load_the_compiler() -> None:
    modules = [f"sightline.features.whole.{name}" for name in ("ehd", "cedd", "gist", "edges")]
    assert not {"numba", "scipy"} & imported_by(*modules)
