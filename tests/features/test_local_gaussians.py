"""Gaussians of blocks: means and variances, no smaller than the floor."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline import plugins
from sightline.contracts import FittedFeature
from sightline.errors import DataError
from sightline.features.local.blocks import block_descriptors
from sightline.features.local.color import color_table
from sightline.features.local.gaussians import Gaussians
from sightline.testing import check_feature
from tests.factories.fresh_python import imported_by
from tests.factories.photos import patches

Floats = NDArray[np.float32]


class Two(Gaussians):
    """Two block sizes."""

    blocks = (64, 96)
    n_colors = 8


PICTURES = [patches(seed) for seed in range(8)]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Floats]:
    return Gaussians.fit(PICTURES, seed=1)


def test_it_keeps_the_contract(fitted: dict[str, Floats]) -> None:
    gaussians = Gaussians(fitted)
    assert isinstance(gaussians, FittedFeature) and not gaussians.sparse
    assert gaussians.length == 2 * (59 + 50)
    check_feature(gaussians)
    two = Two(Two.fit(PICTURES))
    check_feature(two)
    assert two.length == 4 * (59 + 8)
    assert plugins.place("features", "gaussians").endswith(":Gaussians")


def test_a_row_is_means_then_logarithms_of_variances(fitted: dict[str, Floats]) -> None:
    picture = patches(50, 256, 384)
    table = color_table(fitted["colors"])
    ((_, points),) = block_descriptors(picture, table, 50, (64,), True, 2)
    row = Gaussians(fitted).describe(picture)
    assert row[:109] == pytest.approx(points.mean(axis=0), abs=1e-6)
    least = np.maximum(points.var(axis=0), fitted["floor64"])
    assert np.exp(row[109:]) == pytest.approx(least, rel=1e-4)


def test_the_floor_is_a_ten_thousandth_of_the_spread_of_all_blocks(
    fitted: dict[str, Floats],
) -> None:
    table = color_table(fitted["colors"])
    blocks = [block_descriptors(p, table, 50, (64,), True, 2)[0][1] for p in PICTURES]
    spread = np.concatenate(blocks).astype(np.float64).var(axis=0)
    varies = spread > 0
    assert fitted["floor64"][varies] == pytest.approx(
        np.maximum(1e-4 * spread[varies], 1e-8), rel=1e-3
    )
    assert (fitted["floor64"] > 0).all()


def test_pictures_of_one_colour_have_numbers() -> None:
    grey = np.full((64, 96, 3), 90, np.uint8)
    made = Gaussians(Gaussians.fit([grey, grey]))
    assert np.isfinite(made.describe(grey)).all()


def test_missing_arrays_are_named(fitted: dict[str, Floats]) -> None:
    with pytest.raises(DataError, match=r"gaussians lack floor64\. Fit it again"):
        Gaussians({"colors": fitted["colors"]})


def test_importing_it_needs_neither_scipy_nor_numba() -> None:
    found = imported_by("sightline.features.local.gaussians")
    assert not {"scipy", "numba", "sklearn"} & found
