"""PAMIR in shards: pictures are divided among them, and weights mixed in rounds (`solvers.mixing`).

A shard has every n-th picture and, of each query, the relevant ones among them; it draws its
triplets from a random stream of its own. Its pictures are sent once, and in each round only weights
are. So pictures may be on as many machines as there are shards.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Arrays
from sightline.contracts import Json, Mapper, Part, Progress, SerialMapper
from sightline.errors import DataError, ParameterError
from sightline.progress import NoProgress
from sightline.rankers.training import Loop, Rows, Weights
from sightline.records import QuerySet
from sightline.solvers.mixing import Mix, mixed, quotas, shard
from sightline.solvers.rows import SparseMatrix
from sightline.solvers.targets import Targets, from_queries
from sightline.solvers.triplets import TripletSampler

# Shards whose triplets a process is ready to draw; their pictures are not kept.
_MOST_READY = 32


class ShardedLoop:
    """Learns from triplets of all shards, round by round; `train_until_best` takes it for a `Loop`.

    Parameters
    ----------
    rows, targets : ndarray or sparse matrix or Targets
        Pictures, and queries over all of them.
    weights : Weights
        The initial weights, which training updates.
    settings : dict
        Of the learner: C, variant, sampling, pairs_per_query.
    seed : int or numpy.random.Generator or None
        Seed of every shard's stream.
    shards, mix, mix_every : int or {"add", "mean"}
        How many shards, how they are mixed, and triplets of a round.
    compute : Mapper, optional
        Where shards learn; in this process by default.
    """

    def __init__(
        self,
        rows: Rows,
        targets: Targets,
        weights: Weights,
        settings: dict[str, Json],
        seed: int | np.random.Generator | None,
        shards: int,
        mix: Mix,
        mix_every: int,
        compute: Mapper | None = None,
    ) -> None:
        if targets.graded is not None or len(targets.negative_start):
            raise ParameterError.of(
                "shards", "PAMIR", "1 where pictures are judged for one query each", shards
            )
        if shards * 2 > rows.shape[0]:
            must_be = f"at most {rows.shape[0] // 2}, so that a shard has two pictures"
            raise ParameterError.of("shards", "PAMIR", must_be, shards)
        self.weights, self._settings = weights, settings
        self._shards, self._mix, self._every = shards, mix, mix_every
        self._compute: Mapper = SerialMapper() if compute is None else compute
        self.states = np.random.default_rng(seed).integers(1, 2**64, size=shards, dtype=np.uint64)
        parts = [_shard_arrays(rows, targets.queries, shard(rows.shape[0], shards, s))
                 for s in range(shards)]  # fmt: skip
        self._keys = [_checksum(p) for p in parts]
        self._usable = [_is_usable(p) for p in parts]
        if not any(self._usable):
            raise DataError(
                f"None of {shards} shards has a query with both a picture that fits and one that "
                "does not. Use fewer shards, or judge more pictures."
            )
        self._held = [self._compute.hold(p) for p in parts]

    @property
    def state(self) -> NDArray[np.uint64]:
        """The state of all random numbers, to go on from."""
        return self.states

    @state.setter
    def state(self, state: NDArray[np.uint64]) -> None:
        if len(state) != self._shards:
            raise DataError("The number of shards changed since the first fit. Call fit again.")
        self.states = state.copy()

    def run(self, n: int, progress: Progress) -> None:
        """Learn from n more triplets."""
        for done in range(0, n, self._every):
            size = min(self._every, n - done)
            self._round(size)
            progress.advance(size)

    def _round(self, n: int) -> None:
        weights, quota = self.weights, quotas(n, self._shards)
        todo = [s for s in range(self._shards) if quota[s] and self._usable[s]]
        settings: dict[str, Json] = {**self._settings, "averaged": bool(len(weights.U))}
        start = self._compute.hold({"W": weights.W})
        parts = (
            Part(
                {**settings, "n": quota[s], "key": self._keys[s]},
                {"state": self.states[s : s + 1]},
                (self._held[s], start),
            )
            for s in todo
        )
        results = [done.arrays for done in self._compute.map(learn_shard, parts)]
        sizes = [quota[s] for s in todo]
        for s, arrays in zip(todo, results, strict=True):
            self.states[s] = arrays["state"][0]
            weights.counts += arrays["counts"]
        if len(weights.U):
            # U is such that the mean of all weights so far is W - U / n_triplets.
            means = [a["W"] - a["U"] / size for a, size in zip(results, sizes, strict=True)]
            total = weights.n_triplets * weights.W.astype(np.float64) - weights.U
            total += n * mixed(weights.W, means, sizes, self._mix)
        weights.W[:] = mixed(weights.W, [a["W"] for a in results], sizes, self._mix)
        weights.n_triplets += n
        if len(weights.U):
            weights.U[:] = weights.n_triplets * weights.W.astype(np.float64) - total


_ready: OrderedDict[str, TripletSampler] = OrderedDict()


def learn_shard(
    args: dict[str, Json], arrays: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, Json], Arrays]:
    """Learn from triplets of one shard, from weights that all shards start from."""
    rows = _rows(arrays)
    sampler = _prepared(args, arrays, rows.shape[0])
    sampler.state = np.array(arrays["state"])
    W = np.array(arrays["W"])
    weights = Weights(W, np.zeros(W.shape if args["averaged"] else (0, 0)))
    loop = Loop(rows, sampler, weights, float(str(args["C"])), int(str(args["variant"])))
    loop.run(int(str(args["n"])), NoProgress())
    return {}, {"W": W, "U": weights.U, "counts": weights.counts, "state": sampler.state}


def _prepared(
    args: dict[str, Json], arrays: Mapping[str, NDArray[Any]], pictures: int
) -> TripletSampler:
    """Return the sampler of a shard's triplets, made once in each process."""
    key = f"{args['key']} {args['sampling']} {args['pairs_per_query']} {len(arrays['W'])}"
    if key not in _ready:
        targets = from_queries(_queries(arrays), pictures, len(arrays["W"]))
        how: Any = args["sampling"]
        _ready[key] = TripletSampler(targets, how, int(str(args["pairs_per_query"])), 0)
    _ready.move_to_end(key)
    while len(_ready) > _MOST_READY:
        _ready.popitem(last=False)
    return _ready[key]


def _shard_arrays(rows: Rows, queries: QuerySet, members: NDArray[np.int64]) -> Arrays:
    """Return some pictures and what is relevant among them, as arrays."""
    at = np.full(rows.shape[0], -1, dtype=np.int64)
    at[members] = np.arange(len(members))
    here = at[queries.relevant] >= 0
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(here, dtype=np.int64)])
    queries_within: Arrays = {
        "q.start": queries.start, "q.term": queries.term, "q.weight": queries.weight,
        "q.relevant_start": before[queries.relevant_start],
        "q.relevant": at[queries.relevant[here]],
    }  # fmt: skip
    if not isinstance(rows, SparseMatrix):
        return {**queries_within, "x": rows[members]}
    start = rows.start.astype(np.int64)
    lengths = np.diff(start)[members]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    cells = np.repeat(start[members] - ends[:-1], lengths) + np.arange(ends[-1])
    return {
        **queries_within, "x.start": ends.astype(np.uint64), "x.indices": rows.indices[cells],
        "x.values": rows.values[cells], "x.columns": np.array([rows.shape[1]]),
    }  # fmt: skip


def _rows(arrays: Mapping[str, NDArray[Any]]) -> Rows:
    if "x" in arrays:
        return arrays["x"]
    shape = len(arrays["x.start"]) - 1, int(arrays["x.columns"][0])
    return SparseMatrix(arrays["x.start"], arrays["x.indices"], arrays["x.values"], shape)


def _queries(arrays: Mapping[str, NDArray[Any]]) -> QuerySet:
    names = ("start", "term", "weight", "relevant_start", "relevant")
    return QuerySet(*(arrays[f"q.{n}"] for n in names))


def _is_usable(arrays: Arrays) -> bool:
    """Return whether a triplet can be drawn."""
    n = len(arrays["x"]) if "x" in arrays else len(arrays["x.start"]) - 1
    fits = np.diff(arrays["q.relevant_start"])
    return bool(((fits > 0) & (fits < n) & (np.diff(arrays["q.start"]) > 0)).any())


def _checksum(arrays: Arrays) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name, a in sorted(arrays.items()):
        digest.update(f"{name} {a.dtype} {a.shape} ".encode())
        digest.update(np.ascontiguousarray(a).data)
    return digest.hexdigest()
