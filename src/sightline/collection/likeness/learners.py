"""The learners that a combination is chosen from, and how one is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.collection.likeness.combination import Alike, Doubles, Floats, even_weights
from sightline.collection.likeness.descriptors import Framed, Int
from sightline.collection.likeness.grounds import Grounds, query_set
from sightline.combiners.online import OnlineCombiner
from sightline.combiners.opar import OGDR, OPARI, OPARII, OPR
from sightline.combiners.second_order import AROW, SCW
from sightline.measures.many import average_precisions
from sightline.similarity.pairs import Phi

UNIFORM = "uniform"
_QUERIES = 32

ONLINE: dict[str, OnlineCombiner] = {
    "OPR": OPR(averaged=True),
    **{f"OPAR-I C={c:g}": OPARI(C=c, averaged=True) for c in (1e-4, 1e-3, 1e-2, 0.1)},
    **{f"OPAR-II C={c:g}": OPARII(C=c, averaged=True) for c in (1e-4, 1e-3, 1e-2)},
    **{f"OGDR eta={e:g}": OGDR(eta=e, averaged=True) for e in (1e-4, 1e-3, 1e-2)},
    **{f"AROW r={r:g}": AROW(r=r) for r in (1.0, 100.0, 10_000.0)},
    **{f"SCW-I C={c:g}": SCW(C=c) for c in (1e-3, 1e-2)},
}
"""The online learners by name, with the settings that are tried."""


def weights_of(learner: str, phi: Phi, rows: Floats, single: int) -> Doubles:
    """Learn the weights of one learner from differences, scaled to a mean margin of 1.

    Scale changes no order, but judgements go on from these weights by steps of a known length.
    `single` is the component that is best alone.
    """
    if learner == UNIFORM:
        w = even_weights(phi)
    elif learner in ONLINE:
        made = type(ONLINE[learner])(**ONLINE[learner].get_params())
        w = np.where(phi.factor > 0, made.fit(rows).w_, 0.0)
    else:
        w = np.zeros(phi.n_components)
        w[single] = 1.0
    margin = float((rows.astype(np.float64) @ w).mean()) if len(rows) else 0.0
    return w / margin if margin > 0 else w


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """Queries of one kind, and the pictures they rank, by position."""

    grounds: Grounds
    data: Framed
    queries: Int
    pictures: Int

    def __len__(self) -> int:
        return len(self.queries)

    def avgp(self, alike: Alike, weights: Sequence[Doubles]) -> NDArray[np.float64]:
        """Return the AvgP of each query by each of several weights, (weights, queries)."""
        W = np.array(weights, np.float32).T
        out = np.full((len(weights), len(self.queries)), np.nan)
        ranked = self.data.only(self.pictures)
        for start in range(0, len(self.queries), _QUERIES):
            some = self.queries[start : start + _QUERIES]
            relevance = self.grounds.relevance(some, self.pictures)
            queries, away = query_set(relevance), relevance < 0
            scores = alike.compare(self.data.only(some), ranked) @ W
            scores[away] = -np.inf
            for i in range(len(weights)):
                found = average_precisions(np.ascontiguousarray(scores[:, :, i]), queries)
                out[i, start : start + len(some)] = found.avgp
        return out


def asking(grounds: Grounds, data: Framed, queries: Int, pictures: Int, most: int) -> Asking:
    """Return at most so many of the queries that have both pictures that belong and others."""
    usable = []
    for start in range(0, len(queries), _QUERIES):
        some = queries[start : start + _QUERIES]
        relevance = grounds.relevance(some, pictures)
        usable.append(some[(relevance == 1).any(axis=1) & (relevance == 0).any(axis=1)])
    found = np.concatenate([np.zeros(0, np.int64), *usable])
    if len(found) > most:
        found = np.sort(np.random.default_rng(0).choice(found, most, replace=False))
    return Asking(grounds, data, found, pictures)
