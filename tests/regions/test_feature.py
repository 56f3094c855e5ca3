"""Regions as features: the contract, pictures of a pixel, without colour, of one part, or none."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline import plugins
from sightline.errors import DataError, MissingExtra
from sightline.features.deep.session import is_available
from sightline.regions.cut_picture import CutPicture, unpacked
from sightline.regions.feature import AT_LEAST, DeepRegions, RegionWords
from sightline.registry import NO_VECTORS
from sightline.testing import check_feature
from tests.factories.tagged_collections import painted

needs_network = pytest.mark.skipif(not is_available(DeepRegions.network), reason="extra 'deep'")
Kind = type[RegionWords] | type[DeepRegions]
Fitted = Callable[[Kind], dict[str, NDArray[Any]]]
KINDS = [RegionWords, pytest.param(DeepRegions, marks=needs_network)]


@pytest.fixture(scope="module")
def pictures() -> list[NDArray[np.uint8]]:
    return [painted(i) for i in range(12)]


@pytest.fixture(scope="module")
def fitted(pictures: list[NDArray[np.uint8]]) -> Fitted:
    """Return what each kind learns from the pictures, learnt once."""
    learnt: dict[Kind, dict[str, NDArray[Any]]] = {}

    def fit(kind: Kind) -> dict[str, NDArray[Any]]:
        if kind not in learnt:
            learnt[kind] = dict(kind.fit(pictures))
        return learnt[kind]

    return fit


def cut(kind: Kind, fitted: Fitted, rgb: NDArray[np.uint8]) -> CutPicture:
    row = kind(fitted(kind)).describe(rgb)
    at = np.flatnonzero(row)
    return unpacked(at, row[at])


@pytest.mark.parametrize("kind", KINDS)
def test_regions_keep_the_contract_of_features(
    kind: Kind, pictures: list[NDArray[np.uint8]], fitted: Fitted
) -> None:
    arrays = fitted(kind)
    check_feature(kind(arrays))
    assert plugins.load("features", kind.name) is kind and kind.name in NO_VECTORS
    again = kind.fit(pictures)
    assert all((again[name] == arrays[name]).all() for name in arrays)
    with pytest.raises(DataError, match=r"lack .*index --refit"):
        kind({})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (2, 3), (48, 64)])
def test_pictures_of_few_pixels_or_of_one_part_have_regions(
    kind: Kind, fitted: Fitted, shape: tuple[int, int]
) -> None:
    found = cut(kind, fitted, np.full((*shape, 3), 120, np.uint8))
    assert len(found.rows) == min(AT_LEAST, shape[0] * shape[1]) and np.isfinite(found.rows).all()
    assert found.labels.shape == shape and set(np.unique(found.labels)) == set(
        range(len(found.rows))
    )


@pytest.mark.parametrize("kind", KINDS)
def test_grey_pictures_have_regions(
    kind: Kind, pictures: list[NDArray[np.uint8]], fitted: Fitted
) -> None:
    grey = pictures[0].mean(axis=2, keepdims=True).astype(np.uint8).repeat(3, axis=2)
    found = cut(kind, fitted, grey)
    assert len(found.rows) >= AT_LEAST and found.areas.sum() == pytest.approx(1.0)


def test_the_parts_of_a_picture_are_told_apart(
    pictures: list[NDArray[np.uint8]], fitted: Fitted
) -> None:
    found = cut(RegionWords, fitted, pictures[0])
    top, bottom = found.labels[0, 0], found.labels[-1, 0]
    assert top != bottom and (found.rows[top] != found.rows[bottom]).any()


def test_without_scikit_image_the_extra_is_named(
    pictures: list[NDArray[np.uint8]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    with pytest.raises(MissingExtra, match=r"sightline\[regions\]"):
        RegionWords.fit(pictures)
