"""Rankings of one version that are kept, so that later parts of a list are cut from them.

A page shows a list part by part, and counts it first, for which everything is ranked. Rankings are
kept beside the open version that they are of, and go with it: a server holds one version at a time,
a command opens its own. What the pictures may be, by filters and signs, is looked up anew for each
part, since files can move within a version; where it differs, the ranking is made again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from sightline._typing import Ints
from sightline.records import MatchKind, Top
from sightline.store.snapshot import Snapshot

# The most rankings of a version, and the most bytes of them.
MOST, MOST_BYTES = 32, 64 << 20
# The factor by which a list that is read on is ranked deeper than was asked for.
DEEPER = 8


@dataclass(frozen=True, slots=True, eq=False)
class ListRanking:
    """The best pictures of a query in the groups of the results.

    Attributes
    ----------
    depth : int
        How many were asked for; if there are fewer, these are all.
    tops : list of tuple of (Top, str)
        The groups, in the order of the results, and how their pictures match.
    allowed : ndarray of int64 or None
        The only pictures that could appear, ascending; None for all.
    tagged, above : int
        Number of pictures before the predicted ones, and of predicted ones above the cut-off.
    served : str
        Why another engine answered than was asked to; mostly it is empty.
    """

    depth: int
    tops: list[tuple[Top, MatchKind]]
    allowed: Ints | None
    tagged: int
    above: int
    served: str

    def __len__(self) -> int:
        return sum(len(top.ids) for top, _ in self.tops)

    @property
    def n_bytes(self) -> int:
        """The memory it takes."""
        held = sum(top.ids.nbytes + top.scores.nbytes for top, _ in self.tops)
        return held + (0 if self.allowed is None else self.allowed.nbytes)

    def answers(self, depth: int, allowed: Ints | None) -> bool:
        """Return whether the first `depth` pictures of those allowed can be cut from it."""
        if self.depth < depth and len(self) >= self.depth:
            return False
        if allowed is None or self.allowed is None:
            return allowed is self.allowed
        return bool(np.array_equal(allowed, self.allowed))


class _Kept:
    """The rankings of one version, the ones used last at the end."""

    def __init__(self) -> None:
        self.rankings: OrderedDict[Hashable, ListRanking] = OrderedDict()
        self.n_bytes = 0

    def add(self, key: Hashable, ranking: ListRanking) -> None:
        self.n_bytes += ranking.n_bytes
        if (earlier := self.rankings.pop(key, None)) is not None:
            self.n_bytes -= earlier.n_bytes
        self.rankings[key] = ranking
        while len(self.rankings) > MOST or self.n_bytes > MOST_BYTES:
            self.n_bytes -= self.rankings.popitem(last=False)[1].n_bytes


_KEPT: WeakKeyDictionary[Snapshot, _Kept] = WeakKeyDictionary()
_LOCK = threading.Lock()


def ranking_of(
    snapshot: Snapshot,
    key: Hashable,
    depth: int,
    allowed: Ints | None,
    rank: Callable[[int], ListRanking],
) -> ListRanking:
    """Return a ranking of at least some depth: the one that is kept, or `rank(depth)`, kept now.

    Parameters
    ----------
    key : hashable
        All that a ranking depends on besides the version and the pictures allowed.
    """
    with _LOCK:
        kept = _KEPT.setdefault(snapshot, _Kept())
        ranking = kept.rankings.get(key)
        if ranking is not None and ranking.answers(depth, allowed):
            kept.rankings.move_to_end(key)
            return ranking
    ranking = rank(depth)
    with _LOCK:
        kept.add(key, ranking)
    return ranking
