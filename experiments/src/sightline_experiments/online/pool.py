"""The descriptor pool of paper D: every picture described once, by all features of all folds.

Nine descriptors: five of the whole picture, four bags of words; `deep-large`, from a network
trained on ImageNet, may be the tenth. Codebooks are fitted to the training pictures of a fold
alone, so that there are as many as folds; a picture's local descriptors are computed once and then
counted by all of them. Rows are cached.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import overload

from sightline import plugins
from sightline._typing import RGB, Arrays, Floats
from sightline.compute.features import feature_class, fingerprint, is_fitted, load_feature
from sightline.contracts import Compute, Progress
from sightline.registry import FEATURE_SETS
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.classed import Classed
from sightline_experiments.extraction import SEED, SIDE, decoded, described, matrix, settings_of
from sightline_experiments.online.protocol import Fold

NINE = FEATURE_SETS["whole-all"]
DEEP = "deep-large"


class Describer:
    """Fits codebooks and computes features, and caches both."""

    def __init__(self, c: Classed, compute: Compute, cache: ArrayCache, progress: Progress) -> None:
        self.c, self.compute, self.cache, self.progress = c, compute, cache, progress

    def describe(self, folds: Sequence[Fold], names: Sequence[str]) -> list[dict[str, Floats]]:
        """Return the rows of all pictures by descriptor, for each fold."""
        places = [{name: self._place(name, fold) for name in names} for fold in folds]
        self._make(list(dict.fromkeys(p for of_fold in places for p in of_fold.values())))
        rows: dict[str, Floats] = {}
        for of_fold in places:
            for name, place in of_fold.items():
                if place not in rows:
                    arrays = self.cache.get(_key(place))
                    rows[place] = matrix(name, arrays or {}, len(self.c))
        return [{name: rows[place] for name, place in of_fold.items()} for of_fold in places]

    def _make(self, places: Sequence[str]) -> None:
        """Compute the features that are not cached, those that share work at once."""
        missing = [p for p in places if self.cache.path(_key(p)) is None]
        bags = [p for p in missing if "@" in p]
        whole = [p for p in missing if p not in bags and p != plugins.place("features", DEEP)]
        deep = [p for p in missing if p not in bags and p not in whole]
        for group, label in ((whole, "whole pictures"), (bags, "bags of words"), (deep, DEEP)):
            if group:
                for place, rows in zip(group, self._rows(group, label), strict=True):
                    self.cache.put(_key(place), rows)

    def _rows(self, places: Sequence[str], label: str) -> list[Arrays]:
        n = len(self.c)
        self.progress.start(f"{self.c.kind.title}: describe, {label}", n)
        try:
            return described(
                decoded(self.c, range(n), self.compute),
                lambda at: f"{self.c.source.where}: {self.c.files[at]}",
                places,
                self.compute,
                self.progress,
            )
        finally:
            self.progress.finish()

    def _place(self, name: str, fold: Fold) -> str:
        """Return where workers find a feature, fitting its codebook if there is none."""
        place = plugins.place("features", name)
        if not is_fitted(place):
            return place
        pictures = hashlib.sha256(fold.train.tobytes()).hexdigest()[:8]
        key = f"book-{name}-{settings_of(feature_class(place), set())}-{pictures}"
        file = self.cache.path(key)
        if file is None:
            self.progress.start(f"{self.c.kind.title}: fit {name}, fold {fold.number}", None)
            try:
                some = _Lazily(self.c, fold.train.tolist(), self.compute)
                file = self.cache.put(key, feature_class(place).fit(some, SEED))
            finally:
                self.progress.finish()
        return f"{place}@{file}"


def _key(place: str) -> str:
    return fingerprint(load_feature(place), SIDE)


class _Lazily(Sequence[RGB]):
    """Pictures that are decoded when read, since a codebook needs few of them."""

    def __init__(self, c: Classed, pictures: Sequence[int], compute: Compute) -> None:
        self._c, self._pictures, self._compute = c, pictures, compute

    def __len__(self) -> int:
        return len(self._pictures)

    @overload
    def __getitem__(self, at: int) -> RGB: ...

    @overload
    def __getitem__(self, at: slice) -> list[RGB]: ...

    def __getitem__(self, at: int | slice) -> RGB | list[RGB]:
        numbers = self._pictures[at]
        if isinstance(numbers, int):
            return next(iter(decoded(self._c, [numbers], self._compute)))
        return list(decoded(self._c, numbers, self._compute))
