"""Contributions of features to a prediction, and features recomputed from pixels in workers.

A feature's contribution is the loss of score when the picture's vector is replaced by the mean
vector of the collection: score(picture) - score(without its information). As with blocks, this
needs nothing but scores. Contributions need not add up to the score if features are redundant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.collection.explain.results import FeatureShare
from sightline.collection.explain.words import QueryScorer
from sightline.collection.extraction import feature_class_paths
from sightline.collection.models.dataset import View, as_view
from sightline.collection.models.word_model import WordModel
from sightline.compute.features import Row, load_feature, stacked
from sightline.store.folder import Reader
from sightline.store.snapshot import Snapshot
from sightline.vectors import Fingerprint


@dataclass(frozen=True, slots=True)
class FeatureRecomputer:
    """How the vectors of a model's features are computed again.

    Attributes
    ----------
    class_paths : dict
        Maps the fingerprints of features that can be computed here to their classes.
    held : tuple of str
        Fingerprints of the others, such as imported vectors; their stored vectors are used.
    """

    class_paths: dict[str, str]
    held: tuple[str, ...]

    @classmethod
    def of(cls, reader: Reader, model: WordModel, size: int) -> FeatureRecomputer:
        """Look up each feature by name, and use it only if its fingerprint is the same."""
        paths = feature_class_paths(reader, model.features, size)
        computable = {f: path for f, path in paths.items() if path}
        return cls(computable, tuple(f for f in paths if f not in computable))

    @property
    def held_names(self) -> tuple[str, ...]:
        """The names of features that cannot be computed again."""
        return tuple(Fingerprint.parse(f).name for f in self.held)

    def views(self, rows: Sequence[Sequence[Row]], reader: Reader, picture: int) -> dict[str, View]:
        """Return the model's input: one row for each variant of a picture, from workers' rows."""
        views: dict[str, View] = {}
        for i, (f, class_path) in enumerate(self.class_paths.items()):
            views[f] = as_view(stacked(f, load_feature(class_path).length, [r[i] for r in rows]))
        for f in self.held:
            stored = as_view(reader.snapshot.rows(f, np.array([picture], np.int64)))
            views[f] = stored[np.zeros(len(rows), np.int64)]
        return views

    def has_stored(self, reader: Reader, picture: int) -> bool:
        """Return whether a picture has the stored vectors that cannot be recomputed."""
        groups = reader.snapshot.by_features(np.array([picture], np.int64))
        return any(set(self.held) <= set(have) for have, _ in groups)


# Pictures to average for the mean vector of the collection.
_USUAL = 500


def feature_shares(
    model: QueryScorer | None, snapshot: Snapshot, pictures: Sequence[int]
) -> dict[int, tuple[FeatureShare, ...]]:
    """Return each feature's contribution for the pictures that have all features."""
    shares: dict[int, tuple[FeatureShare, ...]] = {}
    if model is None or not pictures:
        return shares
    model_features = model.word_model.features
    names = [Fingerprint.parse(f).name for f in model_features]
    usual = {f: _mean(snapshot, f) for f in model_features}
    for features, ids in snapshot.by_features(np.unique(np.array(pictures, np.int64))):
        if not set(model_features) <= set(features):
            continue
        views = {f: as_view(snapshot.rows(f, ids)) for f in model_features}
        score = model.word_scores(views) @ model.weights
        lost = [score - model.word_scores({**views, f: _rows(usual[f], len(ids), views[f])})
                @ model.weights for f in model_features]  # fmt: skip
        for i, picture in enumerate(ids.tolist()):
            each = zip(names, lost, strict=True)
            shares[picture] = tuple(FeatureShare(name, float(loss[i])) for name, loss in each)
    return shares


def _mean(snapshot: Snapshot, feature: str) -> NDArray[np.float32]:
    ids = np.sort(snapshot.having(feature))
    some = ids[np.linspace(0, len(ids) - 1, min(len(ids), _USUAL)).astype(np.int64)]
    rows = as_view(snapshot.rows(feature, some))
    return np.asarray(rows.mean(axis=0), np.float32).reshape(-1)


def _rows(row: NDArray[np.float32], n: int, like: View) -> View:
    """Repeat a row n times, in the format of the feature's other rows."""
    many = np.repeat(row[None], n, axis=0)
    if not hasattr(like, "tocsr"):
        return many
    from scipy.sparse import csr_matrix

    return csr_matrix(many)
