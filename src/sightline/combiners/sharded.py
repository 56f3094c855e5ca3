"""Online combiners in shards, which divide each round's differences; weights are mixed after it.

`solvers.mixing` has the method. A learner's state is its weights, the sums for averaging, how many
differences were processed and their outcomes; a round maps one mixed state to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Arrays, Doubles, Floats
from sightline.combiners import _opar_fast
from sightline.contracts import Json, Mapper, Part, SerialMapper
from sightline.solvers.mixing import Mix, mixed, shard
from sightline.solvers.pa_step import N_OUTCOMES


class Rounds:
    """Moves weights by differences, so many at a time, in shards.

    Parameters
    ----------
    rule, length : int or float
        Which learner, and its C or eta.
    shards, mix, mix_every : int or {"add", "mean"}
        How many shards, how they are mixed, and differences of a round.
    compute : Mapper, optional
        Where shards learn; in this process by default.
    """

    def __init__(
        self,
        rule: int,
        length: float,
        shards: int,
        mix: Mix,
        mix_every: int,
        compute: Mapper | None = None,
    ) -> None:
        self._settings: dict[str, Json] = {"rule": rule, "length": length}
        self._shards, self._mix, self._every = shards, mix, mix_every
        self._compute: Mapper = SerialMapper() if compute is None else compute

    def learn(
        self,
        now: Doubles,
        late: Doubles,
        processed: int,
        rows: Floats,
        counts: Any,
        totals: Doubles,
    ) -> None:
        """Learn from differences in turn, as the kernel does with one shard."""
        for begin in range(0, len(rows), self._every):
            part = rows[begin : begin + self._every]
            self._round(now, late, processed + begin, part, counts, totals)

    def _round(
        self,
        now: Doubles,
        late: Doubles,
        processed: int,
        rows: Floats,
        counts: Any,
        totals: Doubles,
    ) -> None:
        members = [shard(len(rows), self._shards, s) for s in range(self._shards)]
        parts_of_rows = [rows[m] for m in members if len(m)]
        parts = (
            Part({**self._settings, "averaged": bool(len(late))}, {"rows": d, "w": now})
            for d in parts_of_rows
        )
        results = [done.arrays for done in self._compute.map(learn_shard, parts)]
        sizes = [len(d) for d in parts_of_rows]
        if len(late):
            # `late` is such that the mean of all weights so far is now - late / processed.
            means = [a["w"] - a["late"] / n for a, n in zip(results, sizes, strict=True)]
            total = processed * now - late + len(rows) * mixed(now, means, sizes, self._mix)
        now[:] = mixed(now, [a["w"] for a in results], sizes, self._mix)
        if len(late):
            late[:] = (processed + len(rows)) * now - total
        for a in results:
            counts += a["counts"]
            totals += a["totals"]


def learn_shard(
    args: dict[str, Json], arrays: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, Json], Arrays]:
    """Learn from the differences of one shard, from weights that all shards start from."""
    w = arrays["w"].astype(np.float32)
    late = np.zeros(len(w) if args["averaged"] else 0)
    counts, totals = np.zeros(N_OUTCOMES, dtype=np.int64), np.zeros(2)
    rule, length = int(str(args["rule"])), float(str(args["length"]))
    rows = np.ascontiguousarray(arrays["rows"])
    _opar_fast.learn(w, late, 0, rows, rule, length, counts, totals)
    return {}, {"w": w.astype(np.float64), "late": late, "counts": counts, "totals": totals}
