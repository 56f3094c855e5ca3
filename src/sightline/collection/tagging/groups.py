"""Groups of similar pictures: what `scenes` shows where no region model was trained.

Unit vectors of the feature that sessions learn with are grouped by Ward's tree. Words only name the
groups, so that a collection without any word has groups too.
"""

from __future__ import annotations

import numpy as np

from sightline._typing import Doubles, Ints
from sightline.collection.index.options import quick_feature
from sightline.collection.models.dataset import tag_pairs
from sightline.collection.sessions.feature_space import FeatureSpace, choose
from sightline.collection.tagging.scenes import Scene, Scenes, SceneWord
from sightline.errors import NoFeatures
from sightline.store.folder import Reader
from sightline.vectors import Fingerprint

# A name is worth reading if this share of a group's tagged pictures has it.
_LEAST_SHARE = 0.1
_FEWEST_GROUPS, _MOST_GROUPS = 2, 40


def similar_groups(reader: Reader, pictures: Ints | None, n_words: int) -> Scenes:
    """Return pictures, all by default, in groups of similar ones, the largest first."""
    from sightline.regions.scenes import tree_clusters

    snapshot = reader.snapshot
    feature = choose(snapshot)
    if not feature:
        raise NoFeatures(
            "No dense feature is on at least nine tenths of the pictures, so there is nothing to "
            f"group them by. Run: sightline index --features {quick_feature()}"
        )
    space = FeatureSpace(snapshot, feature)
    every = snapshot.ids() if pictures is None else np.unique(pictures)
    ids = every[space.has(every)]
    rows = np.asarray(space.rows(ids.tolist()), np.float64)
    labels = tree_clusters(rows, _number_of_groups(len(ids))) if len(ids) else ids
    names = _Names(reader, ids)
    scenes = []
    for group in np.unique(labels):
        members = np.flatnonzero(labels == group)
        near = rows[members] @ rows[members].mean(axis=0)
        order = members[np.argsort(-near, kind="stable")]
        scenes.append((names.of(ids[members], n_words), tuple(ids[order].tolist())))
    scenes.sort(key=lambda s: (-len(s[1]), s[1]))
    numbered = tuple(Scene(n, words, shown) for n, (words, shown) in enumerate(scenes))
    without = len(every) - len(ids)
    return Scenes(numbered, without, snapshot.version, by=Fingerprint.parse(feature).name)


def _number_of_groups(n_pictures: int) -> int:
    """Return how many groups a person can look through.

    >>> [_number_of_groups(n) for n in (3, 200, 5_000, 1_000_000)]
    [2, 10, 40, 40]
    """
    return int(np.clip(round((n_pictures / 2) ** 0.5), _FEWEST_GROUPS, _MOST_GROUPS))


class _Names:
    """The words that name a group: more frequent in it than among all tagged pictures."""

    def __init__(self, reader: Reader, ids: Ints) -> None:
        picture, term = tag_pairs(reader.snapshot)
        present = np.isin(picture, ids)
        self.picture, self.term = picture[present], term[present]
        self.spelled = dict(reader.catalogue.terms())
        self.n_tagged = max(len(np.unique(self.picture)), 1)
        self.terms, self.counts = np.unique(self.term, return_counts=True)

    def of(self, members: Ints, n_words: int) -> tuple[SceneWord, ...]:
        """Return the words of a group, the one with the largest gain in share first."""
        inside = np.isin(self.picture, members)
        n_tagged = len(np.unique(self.picture[inside]))
        if not n_tagged:
            return ()
        terms, counts = np.unique(self.term[inside], return_counts=True)
        share: Doubles = counts / n_tagged
        usual: Doubles = self.counts[np.searchsorted(self.terms, terms)] / self.n_tagged
        best = np.argsort(-(share - usual), kind="stable")[:n_words]
        return tuple(
            SceneWord(self.spelled[int(terms[j])], round(float(share[j]), 4),
                      round(float(usual[j]), 4))
            for j in best.tolist()
            if share[j] > usual[j] and share[j] >= _LEAST_SHARE
        )  # fmt: skip
