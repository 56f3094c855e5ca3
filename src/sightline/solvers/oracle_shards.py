"""Separation oracles mapped over shards of lists, which are independent.

Lists are sent once, in shards of about as many candidates; in each round scores are sent, and
inversions and losses returned. An oracle processes one list at a time, so that the result is, bit
by bit, that of one machine.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Arrays, Doubles
from sightline.contracts import Json, Mapper, Part, SerialMapper
from sightline.errors import ParameterError
from sightline.solvers.oracles import CandidateLists, Criterion, Separated, separate


class OracleShards:
    """The oracles of one set of lists.

    Examples
    --------
    >>> lists = CandidateLists.of([[0, 1, 2], [0, 1]], [[1, 0, 0], [0, 1]])
    >>> oracles = OracleShards(lists, Criterion.named("auc"), shards=2)
    >>> oracles.separate(np.array([0.1, 0.4, 0.0, 0.0, 2.0])).counts.tolist()
    [2, -1, -1, 0, 0]
    """

    def __init__(
        self,
        lists: CandidateLists,
        criterion: Criterion,
        shards: int = 1,
        compute: Mapper | None = None,
    ) -> None:
        if isinstance(shards, bool) or not isinstance(shards, int | np.integer) or shards < 1:
            raise ParameterError.of("shards", "LSCMR", "a whole number of at least 1", shards)
        self._lists, self._criterion = lists, criterion
        self._compute: Mapper = SerialMapper() if compute is None else compute
        # Bounds of shards with about as many candidates each.
        even = np.linspace(0, lists.start[-1], shards + 1)
        ends = np.unique(np.searchsorted(lists.start, even))
        self._parts = list(itertools.pairwise(ends.tolist()))
        self._held = [self._compute.hold(self._arrays(a, b)) for a, b in self._parts]

    def separate(self, scores: Doubles) -> Separated:
        """Return the worst order of every list."""
        if len(self._parts) == 1:
            return separate(scores, self._lists, self._criterion)
        start, about = self._lists.start, self._criterion
        args: dict[str, Json] = {"name": about.name, "kind": about.kind, "k": about.k}
        parts = (
            Part(args, {"scores": scores[start[a] : start[b]]}, (held,))
            for (a, b), held in zip(self._parts, self._held, strict=True)
        )
        separated = [done.arrays for done in self._compute.map(separate_some, parts)]
        return Separated(
            *(np.concatenate([f[n] for f in separated]) for n in ("counts", "losses", "values"))
        )

    def _arrays(self, first: int, last: int) -> Arrays:
        start = self._lists.start[first : last + 1]
        some = slice(start[0], start[-1])
        return {
            "start": start - start[0], "candidate": self._lists.candidate[some],
            "relevant": self._lists.relevant[some], "query": self._lists.query[first:last],
        }  # fmt: skip


def separate_some(
    args: dict[str, Json], arrays: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, Json], Arrays]:
    """Find the worst orders of some lists."""
    lists = CandidateLists(
        arrays["start"], arrays["candidate"], arrays["relevant"], arrays["query"]
    )
    criterion = Criterion(str(args["name"]), int(str(args["kind"])), int(str(args["k"])))
    separated = separate(arrays["scores"], lists, criterion)
    return {}, {"counts": separated.counts, "losses": separated.losses, "values": separated.values}
