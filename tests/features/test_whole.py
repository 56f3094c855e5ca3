"""Whole-picture features: what they see, what they do not, and their contract."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline import plugins
from sightline.compute.describing import load_feature
from sightline.features.whole.color import Color, ColorCells, soft_bins, to_lab
from sightline.features.whole.edges import Edges
from sightline.features.whole.texture import Texture, TextureCells
from sightline.testing import check_feature

NAMES = ("color", "color-cells", "texture", "texture-cells", "edges")
ALL = (Color, ColorCells, Texture, TextureCells, Edges)


def picture(seed: int = 0, height: int = 60, width: int = 80) -> NDArray[np.uint8]:
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return np.kron(coarse, np.ones((height // 6, width // 8, 1), np.uint8))


@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_the_contract(name: str) -> None:
    check_feature(load_feature(plugins.place("features", name)))


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (3, 2), (700, 20), (384, 256)])
def test_pictures_of_any_shape_have_length_one(kind: type[Color], shape: tuple[int, int]) -> None:
    rgb = np.random.default_rng(1).integers(0, 256, (*shape, 3), dtype=np.uint8)
    row = kind().describe(rgb)
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5) or (kind is Edges and not row.any())


def test_lab_is_that_of_scikit_image() -> None:
    from skimage.color import rgb2lab

    rgb = picture()
    assert np.allclose(to_lab(rgb), rgb2lab(rgb), atol=0.1)


def test_soft_bins_share_a_pixel_fairly() -> None:
    bins, weights = soft_bins(to_lab(picture()))
    assert np.allclose(weights.sum(axis=-1), 1) and bins.min() >= 0 and bins.max() < 180


def test_edges_are_nearly_those_of_scikit_image() -> None:
    from PIL import Image
    from skimage.feature import hog

    rgb = picture(2, 72, 72)
    want = hog(np.asarray(Image.fromarray(rgb).convert("L")), 9, (8, 8), (2, 2))
    ours = Edges().describe(rgb)
    assert ours @ want / np.linalg.norm(want) > 0.98


def test_a_shifted_picture_keeps_its_colours_but_not_their_places() -> None:
    rgb = picture()
    turned = rgb[::-1, ::-1]
    assert np.allclose(Color().describe(rgb), Color().describe(turned), atol=1e-5)
    assert ColorCells().describe(rgb) @ ColorCells().describe(turned) < 0.9


def test_brighter_is_another_colour_and_the_same_texture() -> None:
    rgb = picture() // 2
    brighter = rgb + np.uint8(60)
    assert np.allclose(Texture().describe(rgb), Texture().describe(brighter))
    assert Color().describe(rgb) @ Color().describe(brighter) < 0.8


def test_alike_pictures_are_nearer_than_others() -> None:
    rng = np.random.default_rng(3)
    for kind in (Color, ColorCells, Edges):  # noise is a texture of its own
        one, other = picture(4), picture(5)
        noisy = np.clip(one.astype(int) + rng.integers(-6, 7, one.shape), 0, 255).astype(np.uint8)
        a, b, c = (kind().describe(p) for p in (one, noisy, other))
        assert a @ b > a @ c
