"""PAMIR in shards: bit by bit what mixing by hand gives, one model however shards are computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from sightline.contracts import Part, PartDone, PartTask, SerialMapper
from sightline.errors import DataError, ParameterError, UsageError
from sightline.progress import NoProgress
from sightline.rankers.pamir import PAMIR
from sightline.rankers.sharded import ShardedLoop
from sightline.rankers.threshold import ThresholdPAMIR
from sightline.rankers.training import Loop, Weights
from sightline.solvers.rows import as_rows
from sightline.solvers.targets import from_indicator
from sightline.solvers.triplets import TripletSampler

Floats = NDArray[np.float32]


def made(n: int = 120, words: int = 6, sparse: bool = False) -> tuple[Any, NDArray[np.int64]]:
    """Make pictures that lie near the middle of their words."""
    rng = np.random.default_rng(5)
    y = (rng.random((n, words)) < 0.25).astype(np.int64)
    y[np.arange(n), np.arange(n) % words] = 1
    X = (y @ rng.standard_normal((words, 12)) + rng.standard_normal((n, 12))).astype(np.float32)
    if sparse:
        X[np.abs(X) < 1.0] = 0
        return csr_matrix(X), y
    return X, y


class Backwards(SerialMapper):
    """Computes parts from the last to the first, as machines of different speed might."""

    def map(self, task: PartTask, parts: Iterable[Part]) -> Iterator[PartDone]:
        return reversed(list(super().map(task, reversed(list(parts)))))


def by_hand(X: Any, y: Any, shards: int, mix: str, every: int, n: int) -> Floats:
    """Mix shards by hand: rows, queries, streams and sums spelled out."""
    W = np.zeros((y.shape[1], X.shape[1]), np.float32)
    whole = from_indicator(y, X.shape[0])
    states = np.random.default_rng(0).integers(1, 2**64, size=shards, dtype=np.uint64)
    for done in range(0, n, every):
        size = min(every, n - done)
        ends, sizes = [], []
        for s in range(shards):
            mine = np.arange(s, X.shape[0], shards)
            targets = from_indicator(y[mine], len(mine), 1, whole.vocabulary)
            sampler = TripletSampler(targets, "query", 8, 0)
            sampler.state = states[s : s + 1].copy()
            weights = Weights(W.copy(), np.zeros((0, 0)))
            quota = size // shards + (s < size % shards)
            Loop(as_rows(X[mine], "x"), sampler, weights, 0.1, 1).run(quota, NoProgress())
            states[s] = sampler.state[0]
            ends.append(weights.W.astype(np.float64))
            sizes.append(quota)
        if mix == "add":
            W = (W + np.sum([e - W for e in ends], axis=0)).astype(np.float32)
        else:
            W = np.sum([e * (k / size) for e, k in zip(ends, sizes, strict=True)], axis=0)
            W = W.astype(np.float32)
    return W


@pytest.mark.parametrize("mix", ["add", "mean"])
@pytest.mark.parametrize("sparse", [False, True])
def test_shards_are_what_mixing_by_hand_gives(mix: Any, sparse: bool) -> None:
    X, y = made(sparse=sparse)
    ranker = PAMIR(C=0.1, shards=3, mix=mix, mix_every=500).fit(X, y, n_iter=2300)
    assert np.allclose(ranker.W_, by_hand(X, y, 3, mix, 500, 2300), rtol=0, atol=1e-6)
    assert ranker.n_iter_ == 2300


@pytest.mark.parametrize("averaged", [False, True])
def test_one_shard_is_the_serial_model_bit_by_bit(averaged: bool) -> None:
    X, y = made()
    serial = PAMIR(C=0.1, averaged=averaged).fit(X, y, n_iter=4000)
    assert (
        PAMIR(C=0.1, averaged=averaged, shards=1, mix_every=7).fit(X, y, n_iter=4000).W_.tobytes()
        == serial.W_.tobytes()
    )
    # Also by way of what mixes them, in one round.
    weights = Weights.zeros(y.shape[1], X.shape[1], averaged)
    settings = {"C": 0.1, "variant": 1, "sampling": "query", "pairs_per_query": 8}
    targets = from_indicator(y, len(X))
    loop = ShardedLoop(as_rows(X, "x"), targets, weights, settings, 0, 1, "add", 4000)  # type: ignore[arg-type]
    loop.run(4000, NoProgress())
    if averaged:
        assert np.allclose(weights.served(), serial.W_, atol=1e-6)
    else:
        assert weights.served().tobytes() == serial.W_.tobytes()
    assert weights.counts.tolist()[1] == serial.n_updates_


@pytest.mark.parametrize("averaged", [False, True])
def test_where_shards_are_computed_changes_no_bit(averaged: bool) -> None:
    X, y = made()
    settings: dict[str, Any] = {"shards": 4, "mix_every": 300, "averaged": averaged}
    first = PAMIR(**settings).fit(X, y, n_iter=2000)
    again = PAMIR(**settings).fit(X, y, n_iter=2000, compute=Backwards())
    assert first.W_.tobytes() == again.W_.tobytes()
    assert first.n_updates_ == again.n_updates_ > 0


@pytest.mark.parametrize("mix", ["add", "mean"])
def test_the_mean_of_all_weights_is_served_where_it_is_asked_for(mix: Any) -> None:
    X, y = made()
    ranker = PAMIR(C=0.1, averaged=True, shards=2, mix=mix, mix_every=1).fit(X, y, n_iter=60)
    steps = [by_hand(X, y, 2, mix, 1, n).astype(np.float64) for n in range(1, 61)]
    # A round of one triplet is one step, and the mean that of the weights after each.
    assert np.allclose(ranker.W_, np.mean(steps, axis=0), atol=1e-5)


def test_shards_rank_about_as_well_as_one() -> None:
    X, y = made(400, 8)
    held, labels = X[:100], y[:100]
    one = PAMIR(C=0.1).fit(X[100:], y[100:], n_iter=40_000).score(held, labels)
    for shards in (2, 8):
        found = PAMIR(C=0.1, shards=shards, mix_every=2_000).fit(X[100:], y[100:], n_iter=40_000)
        assert abs(found.score(held, labels) - one) < 0.03


def test_learning_goes_on_in_the_same_shards_only() -> None:
    X, y = made()
    ranker = PAMIR(shards=2, mix_every=200).fit(X, y, n_iter=400)
    before = ranker.W_.copy()
    ranker.partial_fit(X, y, n_iter=400)
    whole = PAMIR(shards=2, mix_every=200).fit(X, y, n_iter=800)
    assert ranker.W_.tobytes() == whole.W_.tobytes() != before.tobytes()
    with pytest.raises(DataError, match="number of shards changed"):
        ranker.set_params(shards=3).partial_fit(X, y, n_iter=400)


def test_what_cannot_be_sharded_is_refused() -> None:
    X, y = made(20)
    with pytest.raises(ParameterError, match="'shards' parameter of PAMIR must be at most 10"):
        PAMIR(shards=11).fit(X, y)
    with pytest.raises(ParameterError, match="1 where pictures are judged for one query each"):
        PAMIR(shards=2).fit(X, y[:, 0], np.zeros(20, np.int64))
    with pytest.raises(ParameterError, match="'shards' parameter of ThresholdPAMIR must be 1"):
        ThresholdPAMIR(shards=2).fit(X, y)
    with pytest.raises((DataError, UsageError)):
        PAMIR(shards=2).fit(np.ones((4, 2)), np.ones((4, 1)))
