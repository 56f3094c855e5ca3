"""The task of a describe worker: one small picture in, one row of each feature out.

A feature is named by its class, `package.module:attribute`; if it was fitted to a collection, also
by the file of its arrays, `package.module:attribute@file`.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Done, Feature, Job, Json
from sightline.errors import DataError
from sightline.records import FeatureRows, SparseRows
from sightline.vectors import Fingerprint

SparseRow = tuple[NDArray[np.int32], NDArray[np.float32]]
Row = NDArray[np.float32] | SparseRow

DESCRIBE_TASK = "sightline.compute.features:describe"


@cache
def load_feature(place: str) -> Feature:
    """Return the feature of a name; it is created once in each process."""
    class_path, _, arrays = place.partition("@")
    kind = feature_class(class_path)
    feature = kind(load_arrays(arrays)) if arrays else kind()
    if not isinstance(feature, Feature):
        raise DataError(
            f"{place} is not a feature. Its class must implement sightline.contracts.Feature."
        )
    return feature


def feature_class(place: str) -> Any:
    """Return the class (or factory) at `package.module:attribute`."""
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)


def is_fitted(place: str) -> bool:
    """Return whether a feature has to be fitted to the pictures of a collection."""
    return callable(getattr(feature_class(place), "fit", None))


def load_arrays(file: str) -> dict[str, NDArray[np.float32]]:
    """Return the arrays of a fitted feature."""
    from safetensors.numpy import load_file

    arrays: dict[str, NDArray[np.float32]] = load_file(file)
    return arrays


def fingerprint(feature: Feature, working_size: int) -> str:
    """Return the name under which rows of a feature are stored; equal features have equal names."""
    about = json.dumps([feature.version, feature.parameters, working_size], sort_keys=True)
    return str(Fingerprint(feature.name, hashlib.sha256(about.encode()).hexdigest()[:12]))


def describe_job(name: bytes, rgb: NDArray[np.uint8], class_paths: list[str]) -> Job:
    """Return the job that computes features of one picture."""
    shape: list[Json] = list(rgb.shape)
    return Job(name, {"shape": shape, "features": list[Json](class_paths)}, rgb.tobytes())


def describe(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Compute the features of one picture (runs in a worker)."""
    shape, places = args["shape"], args["features"]
    if not isinstance(shape, list) or not isinstance(places, list):
        raise DataError("A describe job needs a shape and features.")
    rgb = np.frombuffer(blob, np.uint8).reshape([int(str(n)) for n in shape])
    features = [load_feature(str(p)) for p in places]
    rows = [_packed(f, _row(f, rgb)) for f in features]
    sparse: list[Json] = [_is_sparse(f) for f in features]
    return Done({"bytes": [len(r) for r in rows], "sparse": sparse}, b"".join(rows))


def _is_sparse(feature: Feature) -> bool:
    return bool(getattr(feature, "sparse", False))


def _packed(feature: Feature, row: NDArray[np.float32]) -> bytes:
    if not _is_sparse(feature):
        return row.tobytes()
    at = np.flatnonzero(row).astype(np.int32)
    return at.tobytes() + row[at].tobytes()


def _row(feature: Feature, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    row = np.asarray(feature.describe(rgb), np.float32)
    if row.shape != (feature.length,):
        raise DataError(f"{feature.name} returned shape {row.shape}, not ({feature.length},).")
    if not np.isfinite(row).all():
        raise DataError(f"{feature.name} returned a value that is not finite.")
    return row


def rows_of(done: Done) -> list[Row]:
    """Return the rows a worker sent, one for each feature."""
    sizes, sparse = done.value["bytes"], done.value["sparse"]
    if not isinstance(sizes, list) or not isinstance(sparse, list):
        raise DataError("A describe worker sent no sizes.")
    rows: list[Row] = []
    start = 0
    for size, is_sparse in zip(sizes, sparse, strict=True):
        part = done.blob[start : start + int(str(size))]
        start += len(part)
        rows.append(_unpacked(part) if is_sparse else np.frombuffer(part, np.float32))
    return rows


def _unpacked(part: bytes) -> SparseRow:
    half = len(part) // 2
    return np.frombuffer(part[:half], np.int32), np.frombuffer(part[half:], np.float32)


def stacked(fingerprint: str, length: int, rows: Sequence[Row]) -> FeatureRows | SparseRows:
    """Return the rows of several pictures as the store takes them."""
    dense = [r for r in rows if not isinstance(r, tuple)]
    if dense:
        return FeatureRows(fingerprint, np.stack(dense))
    sparse = [r for r in rows if isinstance(r, tuple)]
    start = np.zeros(len(sparse) + 1, np.int64)
    np.cumsum([len(index) for index, _ in sparse], out=start[1:])
    index = np.concatenate([index for index, _ in sparse])
    return SparseRows(fingerprint, length, start, index, np.concatenate([v for _, v in sparse]))
