"""The features a model sees, ready to be computed again from pixels in a describe worker.

What each descriptor did for what a model sees in a picture.

A descriptor's contribution is what the score loses when the picture's row of it is replaced by the
mean row of the collection, all others staying as they are: score(picture) - score(without what
this one tells). As of blocks, that asks nothing of a model but scores, and contributions need not
add up to the score where descriptors say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline import plugins
from sightline.collection.explain.results import FeatureShare
from sightline.collection.explain.words import QueryScorer
from sightline.collection.models.dataset import View, as_view
from sightline.collection.models.word_model import WordModel
from sightline.compute.describing import Row, fingerprint, is_fitted, load_feature, stacked
from sightline.errors import SightlineError
from sightline.store.home import Reader
from sightline.store.models import arrays_file
from sightline.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class FeatureRecomputer:
    """How the rows of a model's features are made again.

    Attributes
    ----------
    places : dict
        Fingerprint to place, of those that can be computed here.
    held : tuple of str
        Fingerprints of the others, such as imported vectors; they stay as they are stored.
    """

    places: dict[str, str]
    held: tuple[str, ...]

    @classmethod
    def of(cls, reader: Reader, model: WordModel, size: int) -> FeatureRecomputer:
        """Find each feature by its name, and believe it only if its fingerprint is the same."""
        books = reader.home.versions.read(reader.snapshot.version).codebooks
        found = {f: place_of(reader, f, books, size) for f in model.features}
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


def place_of(reader: Reader, expected: str, codebooks: Sequence[str], size: int) -> str:
    """Return where a feature of the store can be computed; nothing where it cannot be here."""
    name = expected.rpartition("-")[0]
    try:
        place = plugins.place("features", name)
        places = [place]
        if is_fitted(place):
            mine = [b for b in codebooks if b.rpartition("-")[0] == name]
            places = [f"{place}@{arrays_file(reader.home.models, b)}" for b in mine]
        for candidate in places:
            if fingerprint(load_feature(candidate), size) == expected:
                return candidate
    except (SightlineError, ImportError, AttributeError, OSError):
        pass  # Its plugin, extra or codebook is gone; its rows in the store are still there.
    return ""


# So many pictures say well enough what is usual.
_USUAL = 500


def feature_shares(
    model: QueryScorer | None, snapshot: Snapshot, pictures: Sequence[int]
) -> dict[int, tuple[FeatureShare, ...]]:
    """Return what each descriptor did for each of some pictures that have all the model sees."""
    found: dict[int, tuple[FeatureShare, ...]] = {}
    if model is None or not pictures:
        return found
    wanted = model.learnt.features
    names = [f.rpartition("-")[0] for f in wanted]
    usual = {f: _mean(snapshot, f) for f in wanted}
    for features, ids in snapshot.by_features(np.unique(np.array(pictures, np.int64))):
        if not set(wanted) <= set(features):
            continue
        views = {f: as_view(snapshot.rows(f, ids)) for f in wanted}
        score = model.numbers(views) @ model.weights
        lost = [score - model.numbers({**views, f: _rows(usual[f], len(ids), views[f])})
                @ model.weights for f in wanted]  # fmt: skip
        for i, picture in enumerate(ids.tolist()):
            each = zip(names, lost, strict=True)
            found[picture] = tuple(FeatureShare(name, float(loss[i])) for name, loss in each)
    return found


def _mean(snapshot: Snapshot, feature: str) -> NDArray[np.float32]:
    ids = np.sort(snapshot.having(feature))
    some = ids[np.linspace(0, len(ids) - 1, min(len(ids), _USUAL)).astype(np.int64)]
    rows = as_view(snapshot.rows(feature, some))
    return np.asarray(rows.mean(axis=0), np.float32).reshape(-1)


def _rows(row: NDArray[np.float32], n: int, like: View) -> View:
    """Return a row n times, in the form that other rows of the feature have."""
    many = np.repeat(row[None], n, axis=0)
    if not hasattr(like, "tocsr"):
        return many
    from scipy.sparse import csr_matrix

    return csr_matrix(many)
