"""WARP: a linear ranker that optimises the top of the list, learned by passive-aggressive steps.

Weston, Bengio and Usunier, "Large scale image annotation: learning to rank with joint word-image
embeddings", Machine Learning 81, 2010. For a query q and a picture p+ that fits it, other pictures
are drawn until one, p-, violates the margin, 1 + F(q, p-) > F(q, p+). If that took N of them, about
floor(n- / N) of the n- other pictures stand above p+ or too near below, and a mistake at that rank
weighs

    L(k) = 1 + 1/2 + … + 1/k        or L(k) = k, which weights every wrong pair equally ("auc")

In the terms of `solvers.pa_step`, with F and the features of `pamir`:

    W <- W + min(C L(floor(n- / N)) / L(n-), l / ||x||^2) x
    x = q (p+ - p-)'        l = 1 - F(q, p+) + F(q, p-)

Departures: the paper takes gradient steps of a length that L multiplies, in a space of few
dimensions; here the step is passive-aggressive, L multiplies the limit C, and W has full rank. L is
divided by L(n-), so that C means the same as for PAMIR: no step is longer, and a violation at the
first trial, when p+ may stand anywhere, takes all of it. The search ends after `max_trials`, not
only after n-. With one trial this is PAMIR, byte for byte.

On photographs, learning from sets of up to three words, it ranked held-out pictures about a point
of AvgP better than PAMIR (three splits) and took several times as long; learning from single words,
it did not. More than 50 trials gained nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles
from sightline.errors import ParameterError
from sightline.rankers import _warp_fast
from sightline.rankers.pamir import PAMIR
from sightline.rankers.training import MOST_BYTES, Loop, Rows, Weights
from sightline.solvers.graded import Grading
from sightline.solvers.pa_step import variant_number
from sightline.solvers.targets import Targets
from sightline.solvers.triplets import Sampling, Triplets, TripletSampler

RankLoss = Literal["harmonic", "auc"]


class WARP(PAMIR):
    """A linear ranker of pictures for queries of words, for the top of the list.

    Parameters
    ----------
    C : float, default=0.05
        Aggressiveness, greater than 0: no step is longer than this.
    variant : {"PA-I", "PA-II"}, default="PA-I"
        "PA-I" or "PA-II"; PA has no C that a rank could weigh.
    rank_loss : {"harmonic", "auc"}, default="harmonic"
        "harmonic" emphasises the top, "auc" weights every pair equally.
    max_trials : int, default=50
        Most other pictures to try before a pair counts as learned; never more than there are.
    n_iter : int, default=3000000
        The most pairs of query and relevant picture to learn from.
    eval_every : int, default=100000
        As for `sightline.rankers.pamir.PAMIR`.
    patience : int, default=3
        As for `sightline.rankers.pamir.PAMIR`.
    pairs_per_query : int, default=8
        As for `sightline.rankers.pamir.PAMIR`.
    sampling : {"query", "triplet"}, default="query"
        As for `sightline.rankers.pamir.PAMIR`.
    averaged : bool, default=False
        As for `sightline.rankers.pamir.PAMIR`.
    max_len : int, default=1
        As for `sightline.rankers.pamir.PAMIR`.
    random_state : int or numpy.random.Generator or None, default=0
        As for `sightline.rankers.pamir.PAMIR`.
    max_bytes : int, default=2147483648
        As for `sightline.rankers.pamir.PAMIR`.
    grades : {"binary", "linear", "exponential"}, default="binary"
        As for `PAMIR`; n- are then the pictures of lower grades.

    Attributes
    ----------
    W_ : ndarray
        As for `PAMIR`.
    words_ : tuple of str or None
        As for `PAMIR`.
    idf_ : ndarray
        As for `PAMIR`.
    n_iter_ : int
        As for `PAMIR`.
    best_iter_ : int
        As for `PAMIR`.
    best_score_ : float
        As for `PAMIR`.
    history_ : list of tuple of (int, float)
        As for `PAMIR`.
    n_updates_ : int
        As for `PAMIR`.
    n_zero_ : int
        As for `PAMIR`.
    n_rejected_ : int
        As for `PAMIR`.
    n_dropped_ : int
        As for `PAMIR`.

    Examples
    --------
    >>> X, y = [[1, 0, 0], [0, 1, 0], [1, 0, 1]], [[1, 0], [0, 1], [1, 0]]
    >>> ranker = WARP(C=1.0).fit(X, y)
    >>> ranker.score(X, y)
    1.0
    >>> ranker.query([0]).round(1).tolist()
    [0.5, -0.5, 0.0]
    """

    _name: ClassVar[str] = "WARP"

    def __init__(
        self,
        *,
        C: float = 0.05,
        variant: Literal["PA-I", "PA-II"] = "PA-I",
        rank_loss: RankLoss = "harmonic",
        max_trials: int = 50,
        n_iter: int = 3_000_000,
        eval_every: int = 100_000,
        patience: int = 3,
        pairs_per_query: int = 8,
        sampling: Sampling = "query",
        averaged: bool = False,
        max_len: int = 1,
        random_state: int | np.random.Generator | None = 0,
        grades: Grading = "binary",
        max_bytes: int = MOST_BYTES,
    ) -> None:
        super().__init__(
            C=C,
            variant=variant,
            n_iter=n_iter,
            eval_every=eval_every,
            patience=patience,
            pairs_per_query=pairs_per_query,
            sampling=sampling,
            averaged=averaged,
            max_len=max_len,
            random_state=random_state,
            grades=grades,
            max_bytes=max_bytes,
        )
        self.rank_loss = rank_loss
        self.max_trials = max_trials

    def _among(self, rows: Rows, targets: Targets) -> int:
        # Further other pictures are drawn from all.
        return 0

    def _loop(self, rows: Rows, sampler: TripletSampler, weights: Weights) -> Loop:
        L = rank_weights(rows.shape[0], self.rank_loss)
        variant = variant_number(self.variant, self._name)
        return WarpLoop(rows, sampler, weights, float(self.C), variant, L, self.max_trials)

    def _check(self) -> None:
        super()._check()
        self._whole("max_trials", self.max_trials)
        if self.variant == "PA":
            raise ParameterError.of("variant", self._name, "'PA-I' or 'PA-II'", self.variant)
        if self.rank_loss not in ("harmonic", "auc"):
            must_be = "'harmonic' or 'auc'"
            raise ParameterError.of("rank_loss", self._name, must_be, self.rank_loss)


def rank_weights(n: int, rank_loss: RankLoss = "harmonic") -> Doubles:
    """Return L(0) to L(n).

    >>> rank_weights(3).round(2).tolist(), rank_weights(3, "auc").tolist()
    ([0.0, 1.0, 1.5, 1.83], [0.0, 1.0, 2.0, 3.0])
    """
    ranks = np.arange(n + 1, dtype=np.float64)
    if rank_loss == "auc":
        return ranks
    ranks[1:] = np.cumsum(1.0 / ranks[1:])
    return ranks


class WarpLoop(Loop):
    """Learns from triplets, drawing further other pictures until one violates the margin."""

    def __init__(
        self,
        rows: Rows,
        sampler: TripletSampler,
        weights: Weights,
        C: float,
        variant: int,
        L: Doubles,
        max_trials: int,
    ) -> None:
        super().__init__(rows, sampler, weights, C, variant)
        # A stream of its own: how many trials there were must not change which triplets come next.
        seed = int(sampler.state[0])
        self._trials = np.random.default_rng(seed).integers(1, 2**64, size=1, dtype=np.uint64)
        t, none = sampler.targets, np.zeros(0, dtype=np.int64)
        relevant = (t.queries.relevant_start, t.queries.relevant)
        if t.graded is None:
            others = (t.negative_start, t.negative, t.n_pictures, none, np.zeros(0))
        else:
            g = t.graded
            others = (g.lower_start, g.lower, t.n_pictures, g.n_lower, g.gains)
        self._source = (*relevant, *others, L, max_trials)

    @property
    def state(self) -> NDArray[np.uint64]:
        """The state of all random numbers, to go on from."""
        return np.concatenate((self.sampler.state, self._trials))

    @state.setter
    def state(self, state: NDArray[np.uint64]) -> None:
        self.sampler.state, self._trials = state[:1].copy(), state[1:].copy()

    def _kernel(self, sparse: bool) -> Callable[..., None]:
        return _warp_fast.learn_sparse if sparse else _warp_fast.learn_dense

    def _required(self, drawn: Triplets) -> tuple[object, ...]:
        return (self._trials, *self._source)
