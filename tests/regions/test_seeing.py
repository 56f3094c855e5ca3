"""Regions, their descriptors and words, on pictures that are known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.regions.codewords import SIZES, Codewords
from sightline.regions.deep import pixel_shares, pooled, region_vectors
from sightline.regions.descriptors import (
    KINDS,
    choose_textons,
    colours,
    describe_regions,
    region_positions,
    resized_mask,
    shapes,
    textures,
)
from sightline.regions.segment import Segmenter, halved, merged, numbered

RGB = NDArray[np.uint8]


def quarters(height: int = 40, width: int = 60) -> RGB:
    """Return a picture of four plain quarters."""
    rgb = np.zeros((height, width, 3), np.uint8)
    rgb[: height // 2, width // 2 :] = (255, 0, 0)
    rgb[height // 2 :, : width // 2] = (0, 255, 0)
    rgb[height // 2 :, width // 2 :] = (0, 0, 255)
    return rgb


def striped() -> RGB:
    rgb = quarters()
    rgb[:20, :30:2] = 255
    return rgb


def test_plain_quarters_are_four_regions_numbered_row_by_row() -> None:
    found = Segmenter(sigma=0.1).cut(quarters())
    assert found.dtype == np.int32 and found.shape == (40, 60)
    assert [found[0, 0], found[0, 59], found[39, 0], found[39, 59]] == [0, 1, 2, 3]
    assert np.bincount(found.ravel()).tolist() == [600] * 4


def test_the_same_picture_gives_the_same_regions() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    one, two = (Segmenter(scale=30, smallest=0.002).cut(noise) for _ in range(2))
    assert (one == two).all()
    few = Segmenter(scale=30, smallest=0.002, most=5).cut(noise)
    assert few.max() + 1 <= 5
    assert set(np.unique(few).tolist()) == set(range(int(few.max()) + 1))


def test_a_picture_is_cut_finer_when_more_regions_are_needed() -> None:
    plain = np.full((30, 40, 3), 90, np.uint8)
    assert Segmenter().cut(plain).max() == 0
    found = Segmenter().cut(plain, at_least=7)
    assert found.max() + 1 == 7 and np.bincount(found.ravel()).min() >= 100


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (2, 2), (3, 3)])
def test_tiny_pictures_are_one_region_or_a_few(shape: tuple[int, int]) -> None:
    rgb = np.zeros((*shape, 3), np.uint8)
    assert Segmenter().cut(rgb).shape == shape
    assert Segmenter().cut(rgb, at_least=20).max() + 1 <= min(20, rgb[..., 0].size)


def test_merging_takes_the_smallest_to_the_most_similar_neighbour() -> None:
    labels = np.array([[0, 0, 1, 2, 2, 2]], np.int32)
    rgb = np.zeros((1, 6, 3), np.uint8)
    rgb[0, 2], rgb[0, 3:] = 80, 100
    assert merged(labels, rgb, 2).tolist() == [[0, 0, 1, 1, 1, 1]]
    assert merged(labels, rgb, 3).tolist() == labels.tolist()


def test_halves_and_numbers() -> None:
    assert halved(np.zeros((4, 2), np.int32), 2).tolist() == [[0, 0]] * 2 + [[1, 1]] * 2
    assert numbered(np.array([[5, 3], [3, 9]])).tolist() == [[0, 1], [1, 2]]


def test_segmenters_refuse_what_they_cannot_do() -> None:
    for made in (Segmenter(scale=0), Segmenter(smallest=1.0)):
        with pytest.raises(ParameterError):
            made.cut(quarters())
    with pytest.raises(ParameterError, match="at_least"):
        Segmenter(most=5).cut(quarters(), at_least=6)


def test_places_of_all_regions_fill_the_picture() -> None:
    labels = Segmenter(sigma=0.1).cut(quarters(41, 59))
    found = region_positions(labels, int(labels.max()) + 1)
    assert found[:, :64].sum(axis=0) == pytest.approx(np.ones(64), abs=1e-5)
    assert region_positions(np.zeros((5, 7), np.int32), 1)[0].tolist() == pytest.approx(
        [1] * 64 + [0, 1]
    )


def test_shapes_are_those_of_their_boxes() -> None:
    labels = np.zeros((32, 32), np.int32)
    labels[8:24, 8:16] = 1
    found = shapes(labels, 2)
    assert found[1, :256] == pytest.approx(np.ones(256))
    assert found[1, 256:].tolist() == pytest.approx([0.5, 0.25, 128 / 1024])
    assert found[0, 256:].tolist() == pytest.approx([1, 1, 896 / 1024])


def test_colours_are_means_deviations_and_steps() -> None:
    labels = Segmenter(sigma=0.1).cut(quarters())
    found = colours(quarters(), labels, 4)
    assert found.shape == (4, 39)
    assert found[1, :6].tolist() == pytest.approx([1, 0, 0, 0, 0, 0])
    assert found[1, 6:17].tolist() == pytest.approx([0] * 10 + [1])
    assert found[:, 6:].reshape(4, 3, 11).sum(axis=2) == pytest.approx(np.ones((4, 3)))


def test_textures_tell_stripes_from_plain() -> None:
    rgb = striped()
    labels = numbered(np.arange(40)[:, None] // 20 * 2 + np.arange(60)[None] // 30)
    textons = choose_textons([rgb], 6)
    found = textures(rgb, labels, 4, textons)
    assert found.sum(axis=1) == pytest.approx(np.ones(4))
    apart = np.abs(found[0] - found[3]).sum()
    assert apart > 1.9 > 2 * np.abs(found[1] - found[2]).sum()


def test_words_lie_in_their_ranges_and_rows_have_four_ones() -> None:
    pictures = [striped(), quarters(), striped()[::-1].copy()]
    textons = choose_textons(pictures, 8)
    cut = [Segmenter(sigma=0.1, scale=20, smallest=0.002).cut(p) for p in pictures]
    seen = [describe_regions(p, c, textons) for p, c in zip(pictures, cut, strict=True)]
    words = Codewords.fit(seen)
    assert all(n <= SIZES[k] for n, k in zip(words.sizes, KINDS, strict=True))
    for one in seen:
        found = words.of(one)
        assert found.shape == (len(one), 4) and (found >= 0).all()
        assert (found < np.array(words.sizes)).all()
        assert (words.rows(one).sum(axis=1) == 4).all()
    again = Codewords(words.to_arrays())
    assert (again.of(seen[0]) == words.of(seen[0])).all()
    mask = words.mask(0)
    assert mask.shape == (8, 8) and mask.min() >= 0 and mask.max() <= 1


def test_masks_shrink_and_grow_evenly() -> None:
    assert resized_mask(np.ones((3, 5), np.float32), 8) == pytest.approx(np.ones((8, 8)))
    half = np.zeros((4, 4), np.float32)
    half[:2] = 1
    assert resized_mask(half, 2).tolist() == [[1, 1], [0, 0]]


def test_means_over_regions_read_the_map_between_its_cells() -> None:
    labels = numbered(np.arange(40)[:, None] // 20 * 2 + np.arange(60)[None] // 30)
    shares = pixel_shares(labels, 3, 5)
    assert shares.sum(axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    ramp = np.arange(5, dtype=np.float32)[None, :, None].repeat(3, axis=0)
    found = pooled(ramp, labels)[:, 0]
    assert found[0] == pytest.approx(found[2]) and found[1] == pytest.approx(4 - found[0], abs=1e-4)
    assert pooled(np.full((1, 1, 2), 3, np.float32), labels).tolist() == [[3, 3]] * 4


def test_the_network_sees_regions_apart() -> None:
    pytest.importorskip("onnxruntime")
    rgb = np.random.default_rng(0).integers(0, 256, (64, 96, 3), np.uint8)
    rgb[:, 48:] = 40
    labels = numbered(np.zeros((64, 1), int) + np.arange(96)[None] // 48)
    found = region_vectors(rgb, labels, size=96)
    assert found.shape == (2, 1280 + 672)
    assert np.square(found).sum(axis=1) == pytest.approx([2, 2], abs=1e-4)
    assert found[0] @ found[1] < 1.9
    # A mirror image has the same regions on the other side.
    mirrored = region_vectors(rgb[:, ::-1].copy(), labels[:, ::-1].copy(), size=96)
    assert mirrored == pytest.approx(found, abs=1e-3)


def test_regions_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="do not fit"):
        describe_regions(quarters(), np.zeros((2, 2), np.int32), np.zeros((1, 15), np.float32))
    with pytest.raises(DataError, match="at least one picture"):
        choose_textons([])
    with pytest.raises(DataError, match="at least one picture"):
        Codewords.fit([])
