"""How many lists of an inverted file a query searches: the fewest that reach a recall.

Rows of the table, drawn at random, serve as queries; recall is measured against a full scan. The
number is chosen once, when the table is built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sightline._typing import Floats, Ints
from sightline.records import DenseQuery
from sightline.store.engines import flat
from sightline.store.engines.tables import EngineTable, Published, ids_of, rows_at

K = 50
RECALL = 0.965  # of the 50 best; .95 is promised, and real queries differ from the sample
# The same with a filter: what it leaves is deeper in the ranking, where more is missed.
FILTERED_RECALL = 0.995
# Session models are harder queries than rows of the table. At 1M x 128, with half of the pictures,
# the chosen number of lists missed .021 of the 50 best, twice as many .001.
_SAFETY = 3
QUERIES = 64
# From this many rows on a table gets lists; below, a scan of all rows takes a few milliseconds.
LISTED_ROWS = 1_000_000

Probe = Callable[[Floats, int], Ints]


@dataclass(frozen=True, slots=True)
class Probes:
    """How many lists of a table a query searches.

    Attributes
    ----------
    lists : int
        How many lists there are; 0 is a scan of all rows.
    plain : int
        How many are searched without a filter.
    filtered : int
        How many are searched with a filter that leaves all rows; fewer rows take more lists.
    recall : float
        The share of the 50 best that is found without a filter.
    """

    lists: int = 0
    plain: int = 0
    filtered: int = 0
    recall: float = 1.0

    def for_share(self, share: float | None) -> int:
        """Return how many lists to search if a filter leaves this share of the rows.

        >>> Probes(100, 3, 5).for_share(None), Probes(100, 3, 5).for_share(0.5)
        (3, 10)
        """
        if share is None:
            return self.plain
        return min(self.lists, int(np.ceil(self.filtered / share)))


def lists_for(rows: int, factor: float = 1.0) -> int:
    """Return how many lists rows are put into: about the root of their number, times a factor.

    >>> lists_for(1_000_000), lists_for(1_000_000, 4), lists_for(500)
    (1024, 4096, 16)
    """
    return int(2 ** np.clip(np.round(np.log2(factor * np.sqrt(max(rows, 1)))), 4, 16))


def sample(p: Published, table: EngineTable, n: int = QUERIES) -> list[tuple[Floats, Ints]]:
    """Return queries, each with the best pictures that a full scan finds for it.

    Half of them are rows of random pictures; half are sums and differences of rows, like learned
    weights. For word scores they are single words and pairs.
    """
    rng = np.random.default_rng(5)
    if table.by == "words":
        weights = np.zeros((n, table.length), np.float32)
        for i, w in enumerate(weights):
            w[rng.choice(table.length, min(1 + i % 2, table.length), replace=False)] = 1.0
    else:
        ids = ids_of(p, table)
        drawn = np.unique(rng.choice(ids, min(3 * n, len(ids)), replace=False))
        rows = rng.permutation(rows_at(p, table, drawn))
        n = len(rows) // 3
        weights = rows[:n].copy()
        weights[1::2] += rows[n : 2 * n][1::2] - rows[2 * n : 3 * n][1::2]
    return [(w, _exact(p, table, w)) for w in weights]


def _exact(p: Published, table: EngineTable, weights: Floats) -> Ints:
    if table.by != "words":
        return flat.dense_top(p.segments, DenseQuery(table.feature, weights, table.by), K, None).ids
    best = flat.Best(K)
    at = np.flatnonzero(weights)
    for s in p.segments:
        if s.scores is not None:
            alive = np.flatnonzero(s.alive())
            best.offer(s.ids[alive], s.scores.rows[at].sum(axis=0)[alive])
    return best.top().ids


def choose_probes(queries: list[tuple[Floats, Ints]], lists: int, probe: Probe) -> Probes:
    """Return the smallest numbers of lists that reach `RECALL` and `FILTERED_RECALL`.

    Each number tried is about a quarter larger than the last.
    """
    probes, plain, plain_recall = 1, 0, 0.0
    while True:
        share = recall(queries, lambda w, n=probes: probe(w, n))  # type: ignore[misc]
        if not plain and (share >= RECALL or probes >= lists):
            plain, plain_recall = probes, share
        if share >= FILTERED_RECALL or probes >= lists:
            return Probes(lists, plain, min(lists, _SAFETY * probes), plain_recall)
        probes = min(lists, max(probes + 1, probes * 5 // 4))


def recall(queries: list[tuple[Floats, Ints]], ask: Callable[[Floats], Ints]) -> float:
    """Return an engine's recall of the best pictures, for the kind of query where it is lower."""
    shares = [len(np.intersect1d(ask(w), best)) / max(1, len(best)) for w, best in queries]
    kinds = [float(np.mean(part)) for part in (shares[::2], shares[1::2]) if part]
    return min(kinds, default=1.0)
