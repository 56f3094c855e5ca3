"""What pictures are compared by: rows of the store, and rows made on the fly of other pictures.

A descriptor is a feature that (nearly) all pictures have, computed or imported. A picture that
lacks one has a row of zeros in its place and is known to lack it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sightline import plugins
from sightline.collection.explain.features import place_of
from sightline.collection.models.dataset import View, as_view, common_features
from sightline.compute.describing import (
    DESCRIBE_TASK,
    describe_job,
    load_feature,
    rows_of,
    stacked,
)
from sightline.contracts import Compute, Failed
from sightline.errors import CollectionError, DataError, NoFeatures, UsageError
from sightline.pictures.folder import PictureFile
from sightline.pictures.reading import READ_TASK, ReadLimits, answer, request
from sightline.records import shown
from sightline.store.home import Reader
from sightline.store.snapshot import Snapshot

Int = NDArray[np.int64]
Bool = NDArray[np.bool_]


def name_of(fingerprint: str) -> str:
    """Return the name people know a descriptor by.

    >>> name_of("deep-stages-0a1b2c3d4e5f")
    'deep-stages'
    """
    return fingerprint.rpartition("-")[0]


@dataclass(frozen=True, slots=True, eq=False)
class _ByDescriptor:
    """Pictures by descriptor: a matrix for each, and which pictures have which, (pictures, n)."""

    views: tuple[View, ...]
    have: Bool

    def __len__(self) -> int:
        return len(self.have)

    def only(self, rows: Int | Bool) -> Self:
        """Return some of the pictures."""
        return type(self)(tuple(v[rows] for v in self.views), self.have[rows])


class DescribedPictures(_ByDescriptor):
    """Pictures with rows as the store has them."""


class Framed(_ByDescriptor):
    """Pictures with rows as they are compared (`similarity.frames`)."""


def descriptors_of(snapshot: Snapshot, requested: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the descriptors, by fingerprint, that pictures can be compared by.

    `requested` names those to take; by default all that nearly every picture has.
    """
    ids = snapshot.ids()
    if len(ids) < 2:
        n = len(ids)
        raise CollectionError(
            f"There is nothing to compare in {n} picture{'s' * (n != 1)}. Index more pictures."
        )
    found = {name_of(f): f for f in common_features(snapshot, ids)}
    if not found:
        raise NoFeatures(
            f"No descriptor is on at least nine tenths of the {len(ids)} pictures, so they cannot "
            "be compared. Run: sightline index --features whole-all"
        )
    names = plugins.expanded(requested) or sorted(found)
    missing = [n for n in names if n not in found]
    if missing:
        raise UsageError(
            f"The pictures have no descriptor {missing[0]!r} (they have: {', '.join(found)}). "
            f"Run: sightline index --features {','.join(dict.fromkeys([*found, *names]))}"
        )
    return tuple(found[n] for n in names)


def partly(snapshot: Snapshot, descriptors: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return the names of descriptors that some pictures lack, with how many do."""
    n = len(snapshot.ids())
    have = dict.fromkeys(descriptors, 0)
    for s in snapshot.segments:
        for d in have.keys() & s.features.keys():
            have[d] += len(s.ids) - len(s.dead)
    return tuple((name_of(d), n - m) for d, m in have.items() if m < n)


def too_rare(snapshot: Snapshot, descriptors: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return the names of descriptors that too few pictures have to compare by, with how many."""
    every = {f for s in snapshot.segments for f in s.features}
    common = set(common_features(snapshot, snapshot.ids())) | set(descriptors)
    lost = dict(partly(snapshot, sorted(every - common)))
    return tuple((name, len(snapshot.ids()) - n) for name, n in lost.items())


def lengths_of(snapshot: Snapshot, descriptors: Sequence[str]) -> tuple[int, ...]:
    """Return how many numbers each descriptor has; 0 for one that no picture has."""
    found = {f: int(m.shape[1]) for s in snapshot.segments for f, m in s.features.items()}
    return tuple(found.get(d, 0) for d in descriptors)


def stored(
    snapshot: Snapshot, ids: Int, descriptors: Sequence[str], lengths: Sequence[int]
) -> DescribedPictures:
    """Return rows of the store for some pictures, ids ascending."""
    groups = snapshot.by_features(ids)
    have = np.zeros((len(ids), len(descriptors)), bool)
    for features, group in groups:
        here = np.isin(descriptors, features)
        have[np.searchsorted(ids, group)] = here
    views = []
    for v, (d, length) in enumerate(zip(descriptors, lengths, strict=True)):
        at = np.flatnonzero(have[:, v])
        rows = as_view(snapshot.rows(d, ids[at])) if len(at) else None
        views.append(_spread(rows, at, len(ids), length))
    return DescribedPictures(tuple(views), have)


def _spread(rows: View | None, at: Int, n: int, length: int) -> View:
    """Return n rows, those at some places given, the others zero."""
    if rows is not None and len(at) == n:
        return rows
    if rows is None or not hasattr(rows, "tocsr"):
        out = np.zeros((n, length), np.float32)
        if rows is not None:
            out[at] = rows
        return out
    from scipy.sparse import csr_matrix

    cells = (np.ones(len(at), np.float32), (at, np.arange(len(at))))
    return csr_matrix(cells, shape=(n, len(at))) @ rows


def describe_files(
    reader: Reader,
    files: Sequence[bytes],
    descriptors: Sequence[str],
    lengths: Sequence[int],
    limits: ReadLimits,
    compute: Compute,
) -> DescribedPictures:
    """Describe pictures that lie anywhere; a descriptor that cannot be computed here is lacking.

    Raises
    ------
    DataError
        A file cannot be read or decoded.
    """
    books = reader.home.versions.read(reader.snapshot.version).codebooks
    places = [place_of(reader, d, books, limits.side) for d in descriptors]
    usable = [v for v, place in enumerate(places) if place]
    have = np.zeros((len(files), len(descriptors)), bool)
    have[:, usable] = True
    pictures = [_pixels(f, limits, compute) for f in files]
    wanted = [places[v] for v in usable]
    jobs = [describe_job(f, rgb, wanted) for f, rgb in zip(files, pictures, strict=True)]
    views: list[View] = [np.zeros((len(files), n), np.float32) for n in lengths]
    if not wanted:
        return DescribedPictures(tuple(views), have)
    told = []
    for file, done in zip(files, compute.run(DESCRIBE_TASK, jobs, "describe"), strict=True):
        if isinstance(done, Failed):
            raise DataError(f"{shown(file)} cannot be described: {done.reason}.")
        told.append(rows_of(done))
    for i, v in enumerate(usable):
        length = load_feature(places[v]).length
        views[v] = as_view(stacked(descriptors[v], length, [rows[i] for rows in told]))
    return DescribedPictures(tuple(views), have)


def _pixels(file: bytes, limits: ReadLimits, compute: Compute) -> NDArray[np.uint8]:
    real = os.path.realpath(file)
    folder, name = os.path.split(real)
    job = request(folder, PictureFile(name, 0, 0), limits, pixels=True)
    for result in compute.run(READ_TASK, [job], "decode"):
        if isinstance(result, Failed):
            raise DataError(
                f"{shown(file)} cannot be compared: {result.reason}. Name a picture that opens."
            )
        try:
            rgb = answer(result).rgb
        except (KeyError, ValueError):
            rgb = None
        if rgb is not None:
            return rgb
    raise DataError(f"{shown(file)} made the decoder send what makes no sense. Name another file.")
