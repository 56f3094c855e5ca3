"""Queries that rank all other pictures of a dataset, with phi of each."""

from __future__ import annotations

import numpy as np

from sightline._typing import Floats, Ints
from sightline.combiners.examples import JudgedLists
from sightline.similarity.context import Context
from sightline.similarity.pairs import Phi

Views = tuple[Floats, ...]


def ranked_lists(
    phi: Phi, views: Views, labels: Ints, queries: Ints, context: Context | None = None
) -> JudgedLists:
    """Return phi of each query with all other pictures; those of its class are relevant."""
    n, m = len(queries), len(labels)
    rows = np.empty((n, m - 1, phi.n_components), dtype=np.float32)
    asked = tuple(v[queries] for v in views)
    for some, columns, block in phi.blocks(asked, views):
        there = np.arange(columns.start, columns.stop)
        if context is not None:
            block = context(block, there)
        for one, i in zip(block, range(some.start, some.stop), strict=True):
            others = one[there != queries[i]]
            # The query itself is left out, so that what follows it moves up.
            begin = columns.start - int(queries[i] < columns.start)
            rows[i, begin : begin + len(others)] = others
    fits = labels[None, :] == labels[queries][:, None]
    kept = np.arange(m)[None, :] != queries[:, None]
    relevance = fits[kept].astype(np.float64)
    start = np.arange(n + 1, dtype=np.int64) * (m - 1)
    return JudgedLists(rows.reshape(n * (m - 1), -1), relevance, start)
