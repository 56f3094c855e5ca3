"""What each descriptor did for what a model sees in a picture.

A descriptor's contribution is what the score loses when the picture's row of it is replaced by the
mean row of the collection, all others staying as they are: score(picture) - score(without what
this one tells). As of blocks, that asks nothing of a model but scores, and contributions need not
add up to the score where descriptors say the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sightline.collection.explaining.answers import FeatureShare
from sightline.collection.explaining.wording import WordModel
from sightline.collection.learning.views import View, as_view
from sightline.store.snapshot import Snapshot

# So many pictures say well enough what is usual.
_USUAL = 500


def feature_shares(
    model: WordModel | None, snapshot: Snapshot, pictures: Sequence[int]
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
