"""Learning in shards: each learns from its own examples, and their weights are mixed in rounds.

McDonald, Hall and Mann, "Distributed training strategies for the structured perceptron", NAACL
2010: iterative parameter mixing. In each round every shard s starts from the same weights w, learns
from some of its examples and ends with w_s; the next round starts from

    mean:  sum_s mu_s w_s               mu_s the shard's part of the round's examples (the paper)
    add:   w + sum_s (w_s - w)          what all of them changed

The mean converges wherever one learner does, in at most as many rounds as there are shards times
more: where shards agree, its step is only as long as that of one of them. Adding is as fast as one
learner over all examples, as long as rounds are so short that shards do not all correct the same
mistake. That suits PAMIR, where an example moves the few rows of its words: eight shards of Corel5K
reach the AvgP of one learner in as many triplets, and by the mean stay .015 below it on a network's
features. It does not suit combiners, whose examples move all of a few weights: adding four shards'
changes of 2,500 differences each gave weights that rank worse than none, and the mean those of one
learner.

The numbers depend on the examples, the seed, the number of shards and the length of rounds, never
on where shards are computed: sums are taken in the order of the shards, in double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Ints
from sightline.errors import ParameterError

Mix = Literal["add", "mean"]
WAYS: tuple[str, ...] = get_args(Mix)


def mixed(
    before: NDArray[Any], after: Sequence[NDArray[Any]], sizes: Sequence[int], mix: Mix
) -> NDArray[np.float64]:
    """Return the weights after a round.

    Parameters
    ----------
    before : ndarray
        The weights that every shard started from.
    after : sequence of ndarray
        The weights each ended with.
    sizes : sequence of int
        Number of examples of each shard.
    mix : {"add", "mean"}
        "add" or "mean".

    Examples
    --------
    >>> ends = [np.array([1.0, 2.0]), np.array([3.0, 0.0])]
    >>> mixed(np.ones(2), ends, [1, 1], "mean").tolist(), mixed(np.ones(2), ends, [1, 1], "add")
    ([2.0, 1.0], array([3., 1.]))
    """
    start = np.asarray(before, dtype=np.float64)
    total = np.zeros(start.shape)
    parts = sum(sizes)
    if not parts:
        return start.copy()
    for end, size in zip(after, sizes, strict=True):
        if mix == "add":
            total += end - start
        else:
            total += end * (size / parts)
    return start + total if mix == "add" else total


def shard(n: int, shards: int, number: int) -> Ints:
    """Return which of n examples a shard has: every `shards`-th, so that all have about as many.

    >>> shard(7, 3, 1).tolist()
    [1, 4]
    """
    return np.arange(number, n, shards, dtype=np.int64)


def quotas(n: int, shards: int) -> list[int]:
    """Return how many of a round's n examples each shard draws.

    >>> quotas(8, 3)
    [3, 3, 2]
    """
    return [n // shards + (s < n % shards) for s in range(shards)]


def check_mixing(shards: Any, mix: Any, mix_every: Any, owner: str) -> None:
    """Raise ParameterError for values out of range."""
    for name, value in (("shards", shards), ("mix_every", mix_every)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ParameterError.of(name, owner, "a whole number of at least 1", value)
    if mix not in WAYS:
        raise ParameterError.of("mix", owner, "'add' or 'mean'", mix)
