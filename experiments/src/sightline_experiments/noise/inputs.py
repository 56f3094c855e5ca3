"""The data sets of the experiment: pictures with clean tags, to train on and to test on.

Corel5K keeps its split into 4,500 pictures for development and 499 for test. Of Caltech-101, whose
tags are the names of its classes, half is for training: pictures whose name has an odd SHA-256.
Every picture is described by the features that `sightline index` computes by default.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline._typing import Ints
from sightline.collection.models.dataset import Dataset, View
from sightline.contracts import Compute, Progress
from sightline.vectors import Fingerprint
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.classed import Classed
from sightline_experiments.datasets.corel5k import Corel5K
from sightline_experiments.online.pool import Describer
from sightline_experiments.online.protocol import Fold


@dataclass(frozen=True, slots=True, eq=False)
class TaggedSet:
    """A data set with clean tags.

    Attributes
    ----------
    title : str
    training, test : Dataset
        With the same words, in the same order.
    words : tuple of str
    """

    title: str
    training: Dataset
    test: Dataset
    words: tuple[str, ...]


def corel(
    tags: Corel5K,
    c: Classed,
    features: Sequence[str],
    compute: Compute,
    cache: ArrayCache,
    progress: Progress,
) -> TaggedSet:
    """Return Corel5K: `c` are its pictures by disc, `tags` their words."""
    place = {int(name.rpartition("/")[2].partition(".")[0]): i for i, name in enumerate(c.files)}
    training = {r.picture: r.words for r in tags.development if r.words}
    test = {r.picture: r.words for r in tags.test if r.words}
    views = _views(c, [place[p] for p in training], features, compute, cache, progress)
    return _tagged_set(
        c.kind.title,
        tags.words,
        [(place[p], w) for p, w in training.items()],
        [(place[p], w) for p, w in test.items()],
        views,
    )


def caltech(
    c: Classed, features: Sequence[str], compute: Compute, cache: ArrayCache, progress: Progress
) -> TaggedSet:
    """Return Caltech-101: every picture has one tag, its class."""
    odd = [hashlib.sha256(name.encode()).digest()[0] % 2 == 1 for name in c.files]
    rows = [(i, (label,)) for i, label in enumerate(c.labels)]
    training = [r for r, chosen in zip(rows, odd, strict=True) if chosen]
    test = [r for r, chosen in zip(rows, odd, strict=True) if not chosen]
    views = _views(c, [i for i, _ in training], features, compute, cache, progress)
    return _tagged_set(c.kind.title, c.classes, training, test, views)


def _views(
    c: Classed,
    training: Sequence[int],
    features: Sequence[str],
    compute: Compute,
    cache: ArrayCache,
    progress: Progress,
) -> dict[str, View]:
    fold = Fold(0, np.array(sorted(training), np.int64), np.zeros(0, np.int64))
    described = Describer(c, compute, cache, progress).describe([fold], features)[0]
    return {str(Fingerprint(name, "described")): view for name, view in described.items()}


def _tagged_set(
    title: str,
    words: Sequence[str],
    training: Sequence[tuple[int, tuple[int, ...]]],
    test: Sequence[tuple[int, tuple[int, ...]]],
    views: dict[str, View],
) -> TaggedSet:
    from scipy.sparse import csr_matrix

    def dataset(rows: Sequence[tuple[int, tuple[int, ...]]], first: int) -> Dataset:
        at: Ints = np.array([i for i, _ in rows], np.int64)
        row = np.repeat(np.arange(len(rows)), [len(w) for _, w in rows])
        column = np.array([w for _, tags in rows for w in tags], np.int64)
        cells = (np.ones(len(row), np.float32), (row, column))
        labels = csr_matrix(cells, shape=(len(rows), len(words)))
        labels.sort_indices()
        ids = np.arange(first, first + len(rows), dtype=np.int64)
        return Dataset(ids, np.arange(len(words)), labels, {f: v[at] for f, v in views.items()})

    return TaggedSet(title, dataset(training, 1), dataset(test, 1 + len(training)), tuple(words))
