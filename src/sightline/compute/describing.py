"""The task of a describe worker: one small picture in, one row of each feature out."""

from __future__ import annotations

import hashlib
import importlib
import json
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Done, Feature, Job, Json
from sightline.errors import DataError

DESCRIBE_TASK = "sightline.compute.describing:describe"


@cache
def load_feature(place: str) -> Feature:
    """Return the feature at `package.module:attribute`, made once in each process."""
    module, _, attribute = place.partition(":")
    made = getattr(importlib.import_module(module), attribute)()
    if not isinstance(made, Feature):
        raise DataError(f"{place} does not keep the Feature contract.")
    return made


def fingerprint(feature: Feature, working_size: int) -> str:
    """Return the name under which rows of a feature are kept: they fit only an equal one."""
    about = json.dumps([feature.version, feature.parameters, working_size], sort_keys=True)
    return f"{feature.name}-{hashlib.sha256(about.encode()).hexdigest()[:12]}"


def describe_job(name: bytes, rgb: NDArray[np.uint8], places: list[str]) -> Job:
    """Return the job of describing one picture by some features."""
    shape: list[Json] = list(rgb.shape)
    return Job(name, {"shape": shape, "features": list[Json](places)}, rgb.tobytes())


def describe(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Describe one picture (runs in a worker)."""
    shape, places = args["shape"], args["features"]
    if not isinstance(shape, list) or not isinstance(places, list):
        raise DataError("A describe job needs a shape and features.")
    rgb = np.frombuffer(blob, np.uint8).reshape([int(str(n)) for n in shape])
    rows = [_row(load_feature(str(p)), rgb) for p in places]
    return Done({"lengths": [len(r) for r in rows]}, b"".join(r.tobytes() for r in rows))


def _row(feature: Feature, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    row = np.asarray(feature.describe(rgb), np.float32)
    if row.shape != (feature.length,):
        raise DataError(f"{feature.name} gave shape {row.shape}, not ({feature.length},).")
    if not np.isfinite(row).all():
        raise DataError(f"{feature.name} gave a value that is not finite.")
    return row


def rows_of(done: Done) -> list[NDArray[np.float32]]:
    """Return the rows a worker sent, one for each feature."""
    lengths = done.value["lengths"]
    if not isinstance(lengths, list):
        raise DataError("A describe worker sent no lengths.")
    ends = np.cumsum([int(str(n)) for n in lengths])
    return np.split(np.frombuffer(done.blob, np.float32), ends[:-1])
