"""The features a model sees, ready to be computed again from pixels in a describe worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline import plugins
from sightline.collection.learning.serving import Learnt
from sightline.collection.learning.views import View, as_view
from sightline.compute.describing import Row, fingerprint, is_fitted, load_feature, stacked
from sightline.errors import SightlineError
from sightline.store.home import Reader
from sightline.store.models import arrays_file


@dataclass(frozen=True, slots=True)
class Again:
    """How the rows of a model's features are made again.

    Attributes
    ----------
    places : fingerprint to place, of those that can be computed here.
    held : fingerprints of the others, such as imported vectors; they stay as they are stored.
    """

    places: dict[str, str]
    held: tuple[str, ...]

    @classmethod
    def of(cls, reader: Reader, learnt: Learnt, size: int) -> Again:
        """Find each feature by its name, and believe it only if its fingerprint is the same."""
        books = reader.home.versions.read(reader.snapshot.version).codebooks
        found = {f: place_of(reader, f, books, size) for f in learnt.features}
        places = {f: place for f, place in found.items() if place}
        return cls(places, tuple(f for f, place in found.items() if not place))

    @property
    def held_names(self) -> tuple[str, ...]:
        """The names of features that stay as they are."""
        return tuple(f.rpartition("-")[0] for f in self.held)

    def views(self, rows: Sequence[Sequence[Row]], reader: Reader, picture: int) -> dict[str, View]:
        """Return what the model sees: a row for each variant of a picture, as workers sent them."""
        out: dict[str, View] = {}
        for i, (f, place) in enumerate(self.places.items()):
            out[f] = as_view(stacked(f, load_feature(place).length, [r[i] for r in rows]))
        for f in self.held:
            stored = as_view(reader.snapshot.rows(f, np.array([picture], np.int64)))
            out[f] = stored[np.zeros(len(rows), np.int64)]
        return out

    def can_look_at(self, reader: Reader, picture: int) -> bool:
        """Say whether the rows that are held are there."""
        groups = reader.snapshot.by_features(np.array([picture], np.int64))
        return any(set(self.held) <= set(have) for have, _ in groups)


def place_of(reader: Reader, wanted: str, codebooks: Sequence[str], size: int) -> str:
    """Return where a feature of the store can be computed; nothing where it cannot be here."""
    name = wanted.rpartition("-")[0]
    try:
        place = plugins.place("features", name)
        places = [place]
        if is_fitted(place):
            mine = [b for b in codebooks if b.rpartition("-")[0] == name]
            places = [f"{place}@{arrays_file(reader.home.models, b)}" for b in mine]
        for candidate in places:
            if fingerprint(load_feature(candidate), size) == wanted:
                return candidate
    except (SightlineError, ImportError, AttributeError, OSError):
        pass  # Its plugin, extra or codebook is gone; its rows in the store are still there.
    return ""
