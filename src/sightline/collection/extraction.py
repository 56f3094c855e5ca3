"""Pixels and features of picture files that are not in the store, computed now.

Files are hostile: they are decoded and described by limited workers, as in indexing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from sightline import plugins
from sightline._typing import RGB
from sightline.collection.models.dataset import View, as_view
from sightline.collection.similarity.descriptors import DescribedPictures
from sightline.compute.features import (
    DESCRIBE_TASK,
    describe_job,
    fingerprint,
    is_fitted,
    load_feature,
    rows_of,
    stacked,
)
from sightline.compute.local import LocalCompute
from sightline.contracts import Compute, Failed
from sightline.errors import DataError, SightlineError
from sightline.pictures.folder import PictureFile
from sightline.pictures.reading import READ_TASK, ReadLimits, answer, request
from sightline.records import shown
from sightline.registry import definitions
from sightline.settings import Settings
from sightline.store.folder import Reader
from sightline.store.models import arrays_file
from sightline.vectors import Fingerprint


@dataclass(frozen=True, slots=True, eq=False)
class DecodedPicture:
    """A picture, downscaled and upright; `failure` says why there is none."""

    rgb: RGB | None = None
    failure: str = ""


class Extractor:
    """Decodes and describes picture files in limited workers.

    Workers start when they are first needed. The extractor closes those it started, not those it
    was given.

    Parameters
    ----------
    settings : Settings
        Limits of size and time.
    compute : Compute, optional
        Where to compute; by default in workers of its own.
    workers : int, default=1
        How many of its own; 0 is one for each core.

    Attributes
    ----------
    limits : ReadLimits
        How files are read.
    compute : Compute
        Where it computes.
    """

    def __init__(
        self, settings: Settings, compute: Compute | None = None, *, workers: int = 1
    ) -> None:
        self.limits = ReadLimits.of(settings)
        self.compute = compute or LocalCompute(workers, seconds=settings.seconds)
        self._owned = compute is None

    def pixels(self, root: bytes, paths: Iterable[bytes]) -> Iterator[DecodedPicture]:
        """Yield the pictures at some paths below a folder, in order."""
        return self._decoded(root, paths, self.limits)

    def describe(
        self,
        reader: Reader,
        files: Sequence[bytes],
        fingerprints: Sequence[str],
        lengths: Sequence[int],
    ) -> DescribedPictures:
        """Compute features of files; those that cannot be computed here are missing.

        Raises
        ------
        DataError
            A file cannot be read or decoded.
        """
        paths = feature_class_paths(reader, fingerprints, self.limits.side)
        usable = [i for i, f in enumerate(fingerprints) if paths[f]]
        class_paths = [paths[fingerprints[i]] for i in usable]
        have = np.zeros((len(files), len(fingerprints)), bool)
        have[:, usable] = True
        pictures = [self._named(f) for f in files]
        views: list[View] = [np.zeros((len(files), n), np.float32) for n in lengths]
        if not class_paths:
            return DescribedPictures(tuple(views), have)
        jobs = [describe_job(f, rgb, class_paths) for f, rgb in zip(files, pictures, strict=True)]
        rows_by_file = []
        answers = self.compute.run(DESCRIBE_TASK, jobs, "describe")
        for file, done in zip(files, answers, strict=True):
            if isinstance(done, Failed):
                raise DataError(f"{shown(file)} cannot be described: {done.reason}.")
            rows_by_file.append(rows_of(done))
        for column, (i, path) in enumerate(zip(usable, class_paths, strict=True)):
            rows = [of_file[column] for of_file in rows_by_file]
            views[i] = as_view(stacked(fingerprints[i], load_feature(path).length, rows))
        return DescribedPictures(tuple(views), have)

    def close(self) -> None:
        """Close the workers it started."""
        if self._owned:
            self.compute.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _decoded(
        self, root: bytes, paths: Iterable[bytes], limits: ReadLimits
    ) -> Iterator[DecodedPicture]:
        files = (PictureFile(path, 0, 0) for path in paths)
        jobs = [request(root, f, limits, pixels=True, known="") for f in files]
        for result in self.compute.run(READ_TASK, jobs, "decode"):
            if isinstance(result, Failed):
                yield DecodedPicture(failure=result.reason)
                continue
            try:
                rgb = answer(result).rgb
            except (KeyError, ValueError):
                rgb = None
            yield DecodedPicture(rgb, "" if rgb is not None else "the decoder sent no picture")

    def _named(self, file: bytes) -> RGB:
        # The user named this file, so links are followed wherever they lead.
        folder, name = os.path.split(os.path.realpath(file))
        for decoded in self._decoded(folder, [name], replace(self.limits, follow=False)):
            if decoded.rgb is not None:
                return decoded.rgb
            raise DataError(
                f"{shown(file)} cannot be read: {decoded.failure}. Name a picture that opens."
            )
        raise DataError(f"{shown(file)} was not decoded. Name another file.")


def feature_class_paths(reader: Reader, fingerprints: Sequence[str], size: int) -> dict[str, str]:
    """Return the class paths of stored features; empty for one that cannot be computed here."""
    codebooks = reader.store_folder.versions.read(reader.snapshot.version).codebooks
    return {f: _class_path(reader, f, codebooks, size) for f in fingerprints}


def _class_path(reader: Reader, expected: str, codebooks: Sequence[str], size: int) -> str:
    name = Fingerprint.parse(expected).name
    try:
        place = plugins.place("features", name)
        places = list(definitions(name, place))
        if is_fitted(place):
            of_feature = [b for b in codebooks if Fingerprint.parse(b).name == name]
            places = [f"{place}@{arrays_file(reader.store_folder.models, b)}" for b in of_feature]
        for candidate in places:
            if fingerprint(load_feature(candidate), size) == expected:
                return candidate
    except (SightlineError, ImportError, AttributeError, OSError):
        pass  # Its plugin, extra or codebook is missing; its stored rows are still usable.
    return ""
