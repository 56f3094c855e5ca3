"""Codebooks of points in shards: each assigns its own, and sums are added up.

A pass of k-means (`features.local.codebook`) compares points with centres, which costs most by far
and needs one point at a time, and then takes means, which need nothing but sums and counts. So
points are sent once, centres in each pass, and sums returned; they are added in the order of the
shards, in double precision. Assignments are exact, so the centres differ from those of one shard by
the rounding of sums alone, and depend on the number of shards, never on where they are computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Arrays, Floats
from sightline.contracts import Json, Mapper, Part, SerialMapper, SharedArrays
from sightline.features.local import codebook

Given = Mapping[str, NDArray[Any]]
Result = tuple[dict[str, Json], Arrays]


class Shards:
    """Points in shards, each in the order of their coarse cells."""

    def __init__(
        self,
        points: Floats,
        cells: NDArray[np.int32],
        n_cells: int,
        shards: int,
        compute: Mapper | None,
    ) -> None:
        self._compute: Mapper = SerialMapper() if compute is None else compute
        self._held: list[SharedArrays] = []
        for s in range(shards):
            # Every n-th point, so that shards are similar.
            members = np.arange(s, len(points), shards)
            order = members[np.argsort(cells[members], kind="stable")]
            ends = np.searchsorted(cells[order], np.arange(n_cells + 1))
            held: Arrays = {"points": points[order], "ends": ends, "place": order}
            self._held.append(self._compute.hold(held))

    def moved(self, centers: Floats, doors: NDArray[np.int64], near: NDArray[np.int64]) -> Floats:
        """Return the mean of each centre's points; an empty one starts elsewhere."""
        now = self._compute.hold({"centers": centers, "doors": doors, "near": near})
        sums, counts = np.zeros(centers.shape), np.zeros(len(centers), np.int64)
        for done in self._compute.map(add_up_shard, self._parts({}, now)):
            sums += done.arrays["sums"]
            counts += done.arrays["counts"]
        means = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
        empty = np.flatnonzero(counts == 0)
        if len(empty):
            parts = self._parts({"n": len(empty)}, now)
            worst_points = [done.arrays for done in self._compute.map(worst_of_shard, parts)]
            off, place = (np.concatenate([f[n] for f in worst_points]) for n in ("off", "place"))
            points = np.concatenate([f["points"] for f in worst_points])
            worst = np.lexsort((place, -off))[: len(empty)]
            means[empty[: len(worst)]] = points[worst]
        return means

    def _parts(self, args: dict[str, Json], now: SharedArrays) -> list[Part]:
        return [Part(args, held=(held, now)) for held in self._held]


def add_up_shard(args: dict[str, Json], arrays: Given) -> Result:
    """Assign the points of a shard, and add up those of each centre."""
    from sightline.features.local._codebook_fast import add_up

    centers = arrays["centers"]
    sums, counts = np.zeros(centers.shape), np.zeros(len(centers), np.int64)
    add_up(arrays["points"], _labels(arrays), sums, counts)
    return {}, {"sums": sums, "counts": counts}


def worst_of_shard(args: dict[str, Json], arrays: Given) -> Result:
    """Return the points of a shard that lie farthest from their centres."""
    points = arrays["points"]
    off = codebook.residuals_of(points, arrays["centers"], _labels(arrays))
    worst = np.lexsort((arrays["place"], -off))[: int(str(args["n"]))]
    return {}, {"off": off[worst], "place": arrays["place"][worst], "points": points[worst]}


def _labels(arrays: Given) -> NDArray[np.int32]:
    ends, doors, near = arrays["ends"], arrays["doors"], arrays["near"]
    return codebook.labels_by_cell(arrays["points"], ends, arrays["centers"], doors, near)
