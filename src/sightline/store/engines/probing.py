"""How many lists of an inverted file to look into: as few as find what is asked of them.

Rows of the table itself, drawn at random, serve as queries; what a full scan finds for them is the
measure. The number is chosen once, when the table is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sightline._typing import Floats, Ints
from sightline.records import DenseQuery
from sightline.store.engines import flat
from sightline.store.engines.views import EngineTable, Published, ids_of, rows_at

K = 50
ENOUGH = 0.965  # of the 50 best; .95 is promised, and queries to come are others than these
# The same where a filter is on: what is left lies deeper in a ranking, where more is missed.
NEARLY_ALL = 0.995
# Weights of sessions are harder than rows of the table. At 1M x 128, with half of the pictures, so
# many lists as were chosen missed .021 of the 50 best, twice as many .001.
_SAFE = 3
QUERIES = 64
# Above so many rows a table gets lists; below, a scan of all rows takes a few milliseconds.
LISTED_ROWS = 1_000_000

Probe = Callable[[Floats, int], Ints]


@dataclass(frozen=True, slots=True)
class Probes:
    """Into how many of all lists a query looks, `filtered` where a filter is on, and the share of
    the 50 best that it finds without one; 0 lists are a scan of all rows."""

    lists: int = 0
    plain: int = 0
    filtered: int = 0
    recall: float = 1.0

    def for_share(self, share: float | None) -> int:
        """Return how many lists to look into if a filter leaves this share of the rows.

        >>> Probes(100, 3, 5).for_share(None), Probes(100, 3, 5).for_share(0.5)
        (3, 10)
        """
        if share is None:
            return self.plain
        return min(self.lists, int(np.ceil(self.filtered / share)))


def lists_for(rows: int, factor: float = 1.0) -> int:
    """Return into how many lists rows are put: about the root of their number, times a factor.

    >>> lists_for(1_000_000), lists_for(1_000_000, 4), lists_for(500)
    (1024, 4096, 16)
    """
    return int(2 ** np.clip(np.round(np.log2(factor * np.sqrt(max(rows, 1)))), 4, 16))


def sample(p: Published, view: EngineTable, n: int = QUERIES) -> list[tuple[Floats, Ints]]:
    """Return queries, each with the best pictures that a full scan finds for it.

    Half of them are rows of pictures drawn at random, half are sums of some less others, as
    learned weights are. Of word scores they are single words and pairs.
    """
    rng = np.random.default_rng(5)
    if view.by == "words":
        weights = np.zeros((n, view.length), np.float32)
        for i, w in enumerate(weights):
            w[rng.choice(view.length, min(1 + i % 2, view.length), replace=False)] = 1.0
    else:
        ids = ids_of(p, view)
        drawn = np.unique(rng.choice(ids, min(3 * n, len(ids)), replace=False))
        rows = rng.permutation(rows_at(p, view, drawn))
        n = len(rows) // 3
        weights = rows[:n].copy()
        weights[1::2] += rows[n : 2 * n][1::2] - rows[2 * n : 3 * n][1::2]
    return [(w, _exact(p, view, w)) for w in weights]


def _exact(p: Published, view: EngineTable, weights: Floats) -> Ints:
    if view.by != "words":
        return flat.dense_top(p.segments, DenseQuery(view.feature, weights, view.by), K, None).ids
    best = flat.Best(K)
    at = np.flatnonzero(weights)
    for s in p.segments:
        if s.scores is not None:
            alive = np.flatnonzero(s.alive())
            best.offer(s.ids[alive], s.scores.rows[at].sum(axis=0)[alive])
    return best.top().ids


def choose_probes(queries: list[tuple[Floats, Ints]], lists: int, probe: Probe) -> Probes:
    """Return the least numbers of lists that find enough, and nearly all.

    Numbers are tried in steps of about a quarter more.
    """
    probes, few, found = 1, 0, 0.0
    while True:
        share = recall(queries, lambda w, n=probes: probe(w, n))  # type: ignore[misc]
        if not few and (share >= ENOUGH or probes >= lists):
            few, found = probes, share
        if share >= NEARLY_ALL or probes >= lists:
            return Probes(lists, few, min(lists, _SAFE * probes), found)
        probes = min(lists, max(probes + 1, probes * 5 // 4))


def recall(queries: list[tuple[Floats, Ints]], ask: Callable[[Floats], Ints]) -> float:
    """Return the share of the best pictures that an engine finds, by the kind it finds less of."""
    shares = [len(np.intersect1d(ask(w), best)) / max(1, len(best)) for w, best in queries]
    kinds = [float(np.mean(part)) for part in (shares[::2], shares[1::2]) if part]
    return min(kinds, default=1.0)
