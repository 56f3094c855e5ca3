"""The descriptor pool: every picture described once, by all features that any method may see.

Pictures are decoded and described by worker processes (`compute`). Codebooks are fitted to
development pictures alone. Rows are kept in the cache under the feature's fingerprint and the
checksum of the pictures, so that a second run describes nothing. What comes out is in two parts,
development and test, which from there on go different ways.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sightline import plugins
from sightline.compute.describing import (
    DESCRIBE_TASK,
    Row,
    describe_job,
    feature_class,
    fingerprint,
    is_fitted,
    load_feature,
    rows_of,
)
from sightline.contracts import Compute, Done, Feature, Job, Progress
from sightline.datasets.corel5k import NAME, Corel5K
from sightline.datasets.sources import DECODE_TASK
from sightline.errors import DataError
from sightline.reproduce.pamir.cache import ArrayCache, Arrays
from sightline.reproduce.pamir.seeing import View, parts_of
from sightline.reproduce.pamir.terms import (
    BlockTerms,
    fit_colors,
    fit_terms,
    is_gaussians,
    is_terms,
)

SIDE = 384
SEED = 0
_MEGAPIXELS = 10.0
_TERMS = "sightline.reproduce.pamir.terms"

RGB = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """Rows of each feature: of the development pictures in the order of their rows, and of the
    distinct test pictures in the order in which they are first listed."""

    development: dict[str, View]
    test: dict[str, View]
    fingerprints: dict[str, str]


def is_blocks(name: str) -> bool:
    """Say whether a feature is made of blocks, which are described by colours that all share."""
    return is_terms(name) or is_gaussians(name)


def _groups(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield what to describe at once: features that share most of their work."""
    terms = [n for n in names if is_blocks(n)]
    deep = [n for n in names if n.split("-")[0] == "deep"]
    yield from (group for group in (terms, deep) if group)
    yield from ([n] for n in names if n not in terms and n not in deep)


def decoded(c: Corel5K, pictures: Sequence[int], compute: Compute) -> Iterator[RGB]:
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


def colors_of(development: Sequence[RGB], cache: ArrayCache) -> NDArray[np.float32]:
    """Return the colours that all blocks are described by, from development pictures."""
    name = f"colors{BlockTerms.n_colors}-seed{SEED}"
    found = cache.get(name)
    if found is not None:
        return np.asarray(found["colors"], np.float32)
    made = fit_colors(development, SEED)
    cache.put(name, {"colors": made})
    return made


class Describer:
    """Fits and describes; pictures are decoded when first needed, and held as long as this is."""

    def __init__(self, c: Corel5K, compute: Compute, cache: ArrayCache, progress: Progress) -> None:
        self.c, self.compute, self.cache, self.progress = c, compute, cache, progress

    def describe(self, views: Iterable[str]) -> Described:
        """Return the rows of all features that some views are made of."""
        names = list(dict.fromkeys(part for view in views for part in parts_of(view)))
        places = {name: self._place(name) for name in names}
        prints = {n: fingerprint(load_feature(p), SIDE) for n, p in places.items()}
        rows = {n: found for n in names if (found := self.cache.get(prints[n])) is not None}
        for group in _groups([n for n in names if n not in rows]):
            made = self._rows(group, [places[n] for n in group])
            for name, found in zip(group, made, strict=True):
                rows[name] = found
                self.cache.put(prints[name], found)
        return _parted(self.c, rows, prints)

    @cached_property
    def pictures(self) -> list[RGB]:
        numbers = self.c.numbers()
        self.progress.start("decode", len(numbers))
        found = []
        for rgb in decoded(self.c, numbers, self.compute):
            found.append(rgb)
            self.progress.advance()
        self.progress.finish()
        return found

    @cached_property
    def colors(self) -> NDArray[np.float32]:
        return colors_of(self._development(), self.cache)

    def _development(self) -> list[RGB]:
        return self.pictures[: len(self.c.development)]

    def _place(self, name: str) -> str:
        """Return where workers find a feature, fitting its codebook if there is none."""
        if is_blocks(name):
            # Parts of the picture have the same codebook as the whole.
            book, place = name.partition("_s")[0], f"{_TERMS}:{name}"
        else:
            book, place = name, plugins.place("features", name)
            if not is_fitted(place):
                return place
        key = f"book-{book}-{_settings_of(feature_class(place), {'spatial'})}"
        file = self.cache.path(key)
        if file is None:
            arrays = self._fit(name, place)
            file = self.cache.put(key, arrays)
        return f"{place}@{file}"

    def _fit(self, name: str, place: str) -> Mapping[str, NDArray[np.float32]]:
        pictures = self._development()
        # Found first, since it has a bar of its own, or none.
        colors = self.colors if is_blocks(name) else None
        self.progress.start(f"fit {name}", None)
        try:
            if colors is not None:
                return fit_terms(name, pictures, colors, SEED)
            arrays: Mapping[str, NDArray[np.float32]] = feature_class(place).fit(pictures, SEED)
            return arrays
        finally:
            self.progress.finish()

    def _rows(self, names: Sequence[str], places: Sequence[str]) -> list[Arrays]:
        """Describe every picture by some features, all at once."""
        features = [load_feature(p) for p in places]
        pictures = self.pictures
        for f in features:
            # Compiled here, so that no worker spends its time limit on it.
            f.describe(pictures[0])
        jobs = (describe_job(b"", rgb, list(places)) for rgb in pictures)
        found: list[list[Row]] = [[] for _ in places]
        said = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        self.progress.start(f"describe by {said}", len(pictures))
        answers = self.compute.run(DESCRIBE_TASK, jobs, "describe")
        for picture, answer in zip(self.c.numbers(), answers, strict=True):
            if not isinstance(answer, Done):
                raise DataError(f"{NAME}: picture {picture} has no features: {answer.reason}.")
            for kept, row in zip(found, rows_of(answer), strict=True):
                kept.append(row)
            self.progress.advance()
        self.progress.finish()
        return [_stacked(f, kept) for f, kept in zip(features, found, strict=True)]


def _parted(c: Corel5K, rows: dict[str, Arrays], prints: dict[str, str]) -> Described:
    n, whole = len(c.development), len(c.numbers())
    views = {name: _matrix(arrays) for name, arrays in rows.items()}
    for name, view in views.items():
        if view.shape[0] != whole:
            raise DataError(
                f"The cache has {view.shape[0]} rows of {name}, but there are {whole} pictures. "
                "Run with --no-cache."
            )
    development = {name: view[:n] for name, view in views.items()}
    return Described(development, {name: view[n:] for name, view in views.items()}, prints)


def _settings_of(kind: type, besides: set[str]) -> str:
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


def _matrix(arrays: Arrays) -> View:
    if "rows" in arrays:
        return np.asarray(arrays["rows"], np.float32)
    from scipy.sparse import csr_matrix

    shape = (len(arrays["start"]) - 1, int(arrays["length"][0]))
    return csr_matrix((arrays["value"], arrays["index"], arrays["start"]), shape=shape)
