"""The check that every feature must pass."""

from __future__ import annotations

import json
import re

import numpy as np
from numpy.typing import NDArray

from sightline.compute.features import fingerprint
from sightline.contracts import Feature

_SIZES = ((64, 96), (96, 64), (33, 47), (384, 256), (8, 8))


def check_feature(feature: object, working_size: int = 384) -> None:
    """Check that a feature implements the `Feature` contract.

    It has a name, version, length and plain parameters; it describes pictures of any size by
    finite float32 rows of that length; it gives the same row each time, whatever it saw between;
    it leaves the picture as it was; and it does not give every picture the same row.
    """
    if not isinstance(feature, Feature):
        raise AssertionError(f"{feature!r} lacks name, version, length, parameters or describe")
    _check_identity(feature, working_size)
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 256, (*size, 3), dtype=np.uint8) for size in _SIZES]
    pictures += [np.full((64, 64, 3), v, np.uint8) for v in (0, 128, 255)]
    first = [_described(feature, p) for p in pictures]
    again = [_described(feature, p) for p in reversed(pictures)][::-1]
    for a, b in zip(first, again, strict=True):
        _require(np.array_equal(a, b), feature, "gives another row for the same picture")
    _require(len({row.tobytes() for row in first}) > 1, feature, "gives every picture one row")


def _check_identity(feature: Feature, working_size: int) -> None:
    name_fits = re.fullmatch("[A-Za-z0-9_-]+", str(feature.name)) is not None
    _require(name_fits, feature, f"has the name {feature.name!r}; letters, digits, - and _ only")
    _require(type(feature.version) is int, feature, f"has the version {feature.version!r}")
    fits = type(feature.length) is int and feature.length > 0
    _require(fits, feature, f"has the length {feature.length!r}")
    try:
        json.dumps(feature.parameters, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise AssertionError(f"{feature.name} has parameters that are not plain: {e}") from e
    same = fingerprint(feature, working_size) == fingerprint(feature, working_size)
    _require(same, feature, "has a fingerprint that changes")


def _described(feature: Feature, picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    copy = picture.copy()
    copy.flags.writeable = False
    try:
        row = feature.describe(copy)
    except Exception as e:
        what = f"fails at a picture of shape {picture.shape}, which it may not change: {e}"
        raise AssertionError(f"{feature.name} {what}") from e
    _require(np.array_equal(copy, picture), feature, "changes the picture")
    _require(isinstance(row, np.ndarray), feature, f"gives a {type(row).__name__}, not an array")
    _require(row.dtype == np.float32, feature, f"gives {row.dtype}, not float32")
    _require(row.shape == (feature.length,), feature, f"gives the shape {row.shape}")
    _require(bool(np.isfinite(row).all()), feature, "gives values that are not finite")
    return row.copy()


def _require(holds: bool, feature: Feature, what: str) -> None:
    if not holds:
        raise AssertionError(f"{feature.name or feature!r} {what}")
