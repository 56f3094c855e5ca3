"""Collections in which every word has few tags: the others are taken away, drawn by a seed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sightline._typing import Bools
from sightline.collection.models.dataset import Dataset
from sightline.collection.models.queries import picture_counts
from sightline_experiments.noise.inputs import TaggedSet

_PART = 4


def with_few_tags(dataset: Dataset, n: int, seed: int) -> Dataset:
    """Return the pictures that keep a tag where every word keeps at most n of its own.

    The tags of a smaller n are among those of a larger one with the same seed.
    """
    from scipy.sparse import csr_matrix

    cells = dataset.labels.tocoo()
    order = np.lexsort((np.random.default_rng(seed).permutation(cells.nnz), cells.col))
    column = cells.col[order]
    start = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=cells.shape[1]))])
    kept = order[np.arange(len(order)) - start[column] < n]
    values = np.ones(len(kept), np.float32)
    labels: Any = csr_matrix((values, (cells.row[kept], cells.col[kept])), shape=cells.shape)
    labels.sort_indices()
    tagged: Bools = np.diff(labels.indptr) > 0
    return replace(dataset, labels=labels).only(tagged)


def measured_words(s: TaggedSet, most: int) -> Bools:
    """Return the words that have at least that number of tags, and a test picture."""
    return (picture_counts(s.training.labels) >= most) & (picture_counts(s.test.labels) > 0)


def without_test(s: TaggedSet) -> TaggedSet:
    """Return the same with a quarter of the training pictures in the place of the test."""
    away = np.random.default_rng(1).permutation(len(s.training)) < len(s.training) // _PART
    return replace(s, training=s.training.only(~away), test=s.training.only(away))
