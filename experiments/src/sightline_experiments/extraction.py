"""Pictures of a dataset described by features, in worker processes: what experiments share.

Pictures are decoded by one kind of worker and described by another (`compute`), one after the
other, so that only those under way are held. Whoever calls keeps the rows in a cache under the
feature's fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from sightline._typing import RGB, Arrays
from sightline.compute.features import DESCRIBE_TASK, Row, describe_job, load_feature, rows_of
from sightline.contracts import Compute, Done, Feature, Job, Progress
from sightline.errors import DataError
from sightline_experiments.datasets.sources import DECODE_TASK, Source

SIDE = 384
SEED = 0
_MEGAPIXELS = 10.0

View = Any  # a dense float32 matrix, or a scipy one in CSR form


class Files(Protocol):
    """File names by picture, a mapping or a sequence."""

    def __getitem__(self, picture: int, /) -> str: ...


class Pictures(Protocol):
    """A dataset as far as its pictures go."""

    @property
    def files(self) -> Files: ...

    @property
    def source(self) -> Source: ...

    def read(self, picture: int) -> bytes:
        """Return the file of a picture."""
        ...


def decoded(c: Pictures, pictures: Sequence[int], compute: Compute) -> Iterator[RGB]:
    """Yield pictures as small upright RGB, in order; one that cannot be read stops everything."""
    args = {"side": SIDE, "max_megapixels": _MEGAPIXELS}
    jobs = (Job(c.files[p].encode(), dict(args), c.read(p)) for p in pictures)
    for picture, answer in zip(pictures, compute.run(DECODE_TASK, jobs, "decode"), strict=True):
        if not isinstance(answer, Done):
            raise DataError(f"{c.source.where}: {c.files[picture]}: {answer.reason}.")
        shape = answer.value["shape"]
        if not isinstance(shape, list) or len(shape) != 3:
            raise DataError(f"{c.files[picture]} made the decoder send no picture.")
        yield np.frombuffer(answer.blob, np.uint8).reshape([int(str(s)) for s in shape])


def described(
    pictures: Iterable[RGB],
    name_of: Callable[[int], str],
    class_paths: Sequence[str],
    compute: Compute,
    progress: Progress,
) -> list[Arrays]:
    """Describe pictures by some features at once; return the rows of each feature.

    Parameters
    ----------
    name_of : what an error calls the picture at a position.
    class_paths : the features, as workers find them (`compute.features`).
    progress : advanced by every picture; the caller starts and finishes it.
    """
    features = [load_feature(p) for p in class_paths]
    feature_rows: list[list[Row]] = [[] for _ in class_paths]
    jobs = (describe_job(b"", rgb, list(class_paths)) for rgb in _warmed(pictures, features))
    for at, answer in enumerate(compute.run(DESCRIBE_TASK, jobs, "describe")):
        if not isinstance(answer, Done):
            raise DataError(f"{name_of(at)} has no features: {answer.reason}.")
        for collected, row in zip(feature_rows, rows_of(answer), strict=True):
            collected.append(row)
        progress.advance()
    return [_stacked(f, collected) for f, collected in zip(features, feature_rows, strict=True)]


def _warmed(pictures: Iterable[RGB], features: Sequence[Feature]) -> Iterator[RGB]:
    first = True
    for rgb in pictures:
        if first:
            # Compiled here, so that no worker spends its time limit on it.
            for f in features:
                f.describe(rgb)
            first = False
        yield rgb


def settings_of(kind: type, besides: set[str]) -> str:
    """Return a checksum of a class's settings: whatever plain values its attributes have."""
    plain = {
        name: value
        for above in reversed(kind.__mro__)
        for name, value in vars(above).items()
        if isinstance(value, int | float | str | tuple) and not name.startswith("_")
    }
    about = sorted((k, repr(v)) for k, v in plain.items() if k not in besides | {"name"})
    return hashlib.sha256(json.dumps([about, SEED]).encode()).hexdigest()[:8]


def _stacked(feature: Feature, rows: Sequence[Row]) -> Arrays:
    dense = [r for r in rows if not isinstance(r, tuple)]
    if dense:
        return {"rows": np.stack(dense)}
    sparse = [r for r in rows if isinstance(r, tuple)]
    start = np.zeros(len(sparse) + 1, np.int64)
    np.cumsum([len(index) for index, _ in sparse], out=start[1:])
    return {
        "start": start,
        "index": np.concatenate([index for index, _ in sparse]),
        "value": np.concatenate([value for _, value in sparse]),
        "length": np.array([feature.length], np.int64),
    }


def matrix(name: str, arrays: Arrays, n: int) -> View:
    """Return cached rows as a matrix, dense or sparse; there must be n of them."""
    if "rows" in arrays:
        rows: View = np.asarray(arrays["rows"], np.float32)
    else:
        from scipy.sparse import csr_matrix

        shape = (len(arrays["start"]) - 1, int(arrays["length"][0]))
        rows = csr_matrix((arrays["value"], arrays["index"], arrays["start"]), shape=shape)
    if rows.shape[0] != n:
        raise DataError(
            f"The cache has {rows.shape[0]} rows of {name}, but there are {n} pictures. "
            "Run with --no-cache."
        )
    return rows
