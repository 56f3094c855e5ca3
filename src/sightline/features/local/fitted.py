"""Fitted arrays of a feature: which it needs, and their checksum."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from sightline._typing import Floats
from sightline.errors import DataError


def needed(feature: str, arrays: Mapping[str, Floats], names: Sequence[str]) -> dict[str, Floats]:
    """Return the arrays of these names, float32 and in C order.

    >>> needed("gaussians", {}, ["colors"])
    Traceback (most recent call last):
    sightline.errors.DataError: The arrays of gaussians lack colors. Fit it again: sightline index --refit
    """  # noqa: E501
    missing = [name for name in names if name not in arrays]
    if missing:
        raise DataError(
            f"The arrays of {feature} lack {', '.join(missing)}. "
            "Fit it again: sightline index --refit"
        )
    return {name: np.ascontiguousarray(arrays[name], np.float32) for name in names}


def checksum(arrays: Mapping[str, Floats]) -> str:
    """Return the SHA-256 of arrays, with their names and shapes.

    >>> checksum({"a": np.zeros(1, np.float32)}) == checksum({"b": np.zeros(1, np.float32)})
    False
    """
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
