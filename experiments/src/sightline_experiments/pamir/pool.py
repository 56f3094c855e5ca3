"""The descriptor pool: all features that any method uses, computed once for every picture.

Pictures are decoded and described by worker processes (`extraction`). Codebooks are fitted to
development pictures alone. Rows are cached under the feature's fingerprint and the checksum of the
pictures, so that a second run computes nothing. The result has two parts, development and test,
which are kept apart from there on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sightline import plugins
from sightline._typing import RGB, Arrays
from sightline.compute.features import feature_class, fingerprint, is_fitted, load_feature
from sightline.contracts import Compute, Progress
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.corel5k import NAME, Corel5K
from sightline_experiments.extraction import (
    SEED,
    SIDE,
    View,
    decoded,
    described,
    matrix,
    settings_of,
)
from sightline_experiments.pamir.inputs import parts_of
from sightline_experiments.pamir.terms import (
    BlockTerms,
    fit_colors,
    fit_terms,
    is_gaussians,
    is_terms,
)

_TERMS = "sightline_experiments.pamir.terms"


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """Rows of each feature: of the development pictures in the order of their rows, and of the
    distinct test pictures in the order in which they are first listed."""

    development: dict[str, View]
    test: dict[str, View]
    fingerprints: dict[str, str]


def is_blocks(name: str) -> bool:
    """Return whether a feature is made of blocks, which share a table of colours."""
    return is_terms(name) or is_gaussians(name)


def _groups(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield groups of features that share most of their work."""
    terms = [n for n in names if is_blocks(n)]
    deep = [n for n in names if n.split("-")[0] == "deep"]
    yield from (group for group in (terms, deep) if group)
    yield from ([n] for n in names if n not in terms and n not in deep)


def colors_of(development: Sequence[RGB], cache: ArrayCache) -> NDArray[np.float32]:
    """Return the colours that all blocks are described by, from development pictures."""
    name = f"colors{BlockTerms.n_colors}-seed{SEED}"
    cached = cache.get(name)
    if cached is not None:
        return np.asarray(cached["colors"], np.float32)
    colors = fit_colors(development, SEED)
    cache.put(name, {"colors": colors})
    return colors


class Describer:
    """Fits codebooks and computes features; pictures are decoded when first needed, and kept."""

    def __init__(self, c: Corel5K, compute: Compute, cache: ArrayCache, progress: Progress) -> None:
        self.c, self.compute, self.cache, self.progress = c, compute, cache, progress

    def describe(self, views: Iterable[str]) -> Described:
        """Return the rows of all features in some views."""
        names = list(dict.fromkeys(part for view in views for part in parts_of(view)))
        places = {name: self._place(name) for name in names}
        fingerprints = {n: fingerprint(load_feature(p), SIDE) for n, p in places.items()}
        rows = {n: arrays for n in names if (arrays := self.cache.get(fingerprints[n])) is not None}
        for group in _groups([n for n in names if n not in rows]):
            computed = self._rows(group, [places[n] for n in group])
            for name, arrays in zip(group, computed, strict=True):
                rows[name] = arrays
                self.cache.put(fingerprints[name], arrays)
        return _divided(self.c, rows, fingerprints)

    @cached_property
    def pictures(self) -> list[RGB]:
        numbers = self.c.numbers()
        self.progress.start("decode", len(numbers))
        pictures = []
        for rgb in decoded(self.c, numbers, self.compute):
            pictures.append(rgb)
            self.progress.advance()
        self.progress.finish()
        return pictures

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
        key = f"book-{book}-{settings_of(feature_class(place), {'spatial'})}"
        file = self.cache.path(key)
        if file is None:
            arrays = self._fit(name, place)
            file = self.cache.put(key, arrays)
        return f"{place}@{file}"

    def _fit(self, name: str, place: str) -> Mapping[str, NDArray[np.float32]]:
        pictures = self._development()
        # Computed first, since it has a progress bar of its own, or none.
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
        """Compute some features of every picture, all at once."""
        pictures, numbers = self.pictures, self.c.numbers()
        label = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        self.progress.start(f"describe by {label}", len(pictures))
        try:
            return described(
                pictures,
                lambda at: f"{NAME}: picture {numbers[at]}",
                places,
                self.compute,
                self.progress,
            )
        finally:
            self.progress.finish()


def _divided(c: Corel5K, rows: dict[str, Arrays], fingerprints: dict[str, str]) -> Described:
    n, whole = len(c.development), len(c.numbers())
    views = {name: matrix(name, arrays, whole) for name, arrays in rows.items()}
    development = {name: view[:n] for name, view in views.items()}
    return Described(development, {name: view[n:] for name, view in views.items()}, fingerprints)
