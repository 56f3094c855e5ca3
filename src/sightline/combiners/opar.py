"""OPR, OPAR-I, OPAR-II and OGDR: similarities combined by weights that learn one triplet at a time.

Wan, Wu, Hoi, Zhao, Gao, Wang, Zhang and Li, "Online learning to rank for content-based image
retrieval", IJCAI 2015. Of a query q and two pictures, y is 1 if the first is more similar to q,
else -1,

    x = y (phi(q, p1) - phi(q, p2)),        l(w) = max(0, 1 - w.x)

    OPR      w <- w + x                                      where w.x <= 0          (eq. 1)
    OPAR-I   min 1/2 ||w - w_t||^2 + C l(w)                  PA-I of `pa_step`       (eq. 2, 4, 5)
    OPAR-II  min 1/2 ||w - w_t||^2 + C l(w)^2                PA-II of `pa_step`      (eq. 3, 4)
    OGDR     w <- w + eta x                                  where l(w) > 0          (eq. 6, 7)

Departures: OPR moves on ties too; by the paper's "<" it would never leave w = 0. Differences that
are zero or not finite change nothing and are counted. The mean of all weights may be served instead
of the last ones. Defaults of C and eta were not measured: choose them on validation lists.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sightline._typing import Floats
from sightline.combiners import _opar_fast
from sightline.combiners.linear import positive
from sightline.combiners.online import OnlineCombiner
from sightline.combiners.sharded import Rounds
from sightline.solvers.mixing import Mix, check_mixing
from sightline.solvers.pa_step import check_aggressiveness


class FirstOrder(OnlineCombiner):
    """A learner whose steps go along the current difference.

    Parameters
    ----------
    averaged : bool, default=False
        Serve the mean of the weights after each difference instead of the last ones.
    n_epochs : int, default=1
        How often `fit` goes over its differences.
    shuffle : bool, default=False
        Take them in a new random order each time, instead of as given.
    n_pairs : int, default=200000
        How many pairs to draw where lists are given.
    random_state : int, default=0
        Seed of these draws; the same number gives the same weights, byte for byte.
    shards, mix, mix_every : int or {"add", "mean"}
        Parts of the differences that learn in parallel, 1 for none; take the "mean" or "add" what
        they change (`solvers.mixing`); differences of a round. Every difference moves all weights,
        so that shards correct the same mistake, and adding overshoots.
    """

    _rule: ClassVar[int]

    def __init__(
        self,
        *,
        averaged: bool = False,
        n_epochs: int = 1,
        shuffle: bool = False,
        n_pairs: int = 200_000,
        random_state: int = 0,
        shards: int = 1,
        mix: Mix = "mean",
        mix_every: int = 10_000,
    ) -> None:
        self.averaged = averaged
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.n_pairs = n_pairs
        self.random_state = random_state
        self.shards = shards
        self.mix = mix
        self.mix_every = mix_every

    @property
    def _length(self) -> float:
        """The C of the kernel."""
        return 1.0

    def _check(self) -> None:
        check_mixing(self.shards, self.mix, self.mix_every, type(self).__name__)
        super()._check()

    def _learn(self, rows: Floats) -> None:
        if self.shards > 1:
            how = (self._rule, self._length, self.shards, self.mix, self.mix_every, self._where)
            Rounds(*how).learn(
                self._now, self._late, int(self._seen[0]), rows, self._counts, self._totals
            )
            return
        w = self._now.astype(np.float32)
        _opar_fast.learn(
            w, self._late, int(self._seen[0]), rows, self._rule, self._length,
            self._counts, self._totals,
        )  # fmt: skip
        self._now[:] = w


class OPR(FirstOrder):
    """Online perceptron ranking: weights move by x where the order is wrong.

    Parameters
    ----------
    averaged : bool, default=False
        See `FirstOrder`.
    n_epochs : int, default=1
        See `FirstOrder`.
    shuffle : bool, default=False
        See `FirstOrder`.
    n_pairs : int, default=200000
        See `FirstOrder`.
    random_state : int, default=0
        See `FirstOrder`.
    shards : int, default=1
        See `FirstOrder`.
    mix : {"add", "mean"}, default="mean"
        See `FirstOrder`.
    mix_every : int, default=10000
        See `FirstOrder`.

    Examples
    --------
    >>> learner = OPR().fit([[2.0, 0.0], [1.0, 1.0], [-1.0, 3.0]])
    >>> learner.w_.tolist(), learner.n_updates_
    ([1.0, 3.0], 2)
    >>> learner.decision_function([[1.0, 0.0], [0.0, 1.0]]).tolist()
    [1.0, 3.0]
    """

    _rule = _opar_fast.OPR


class OPARI(FirstOrder):
    """Online passive-aggressive ranking with the hinge loss.

    Parameters
    ----------
    C : float, default=0.01
        Aggressiveness, greater than 0: no step is longer than this.
    averaged : bool, default=False
        See `FirstOrder`.
    n_epochs : int, default=1
        See `FirstOrder`.
    shuffle : bool, default=False
        See `FirstOrder`.
    n_pairs : int, default=200000
        See `FirstOrder`.
    random_state : int, default=0
        See `FirstOrder`.
    shards : int, default=1
        See `FirstOrder`.
    mix : {"add", "mean"}, default="mean"
        See `FirstOrder`.
    mix_every : int, default=10000
        See `FirstOrder`.

    Examples
    --------
    >>> OPARI(C=10.0).fit([[2.0, 0.0], [0.0, 1.0]]).w_.tolist()
    [0.5, 1.0]
    """

    _rule = _opar_fast.PA_I

    def __init__(
        self,
        *,
        C: float = 0.01,
        averaged: bool = False,
        n_epochs: int = 1,
        shuffle: bool = False,
        n_pairs: int = 200_000,
        random_state: int = 0,
        shards: int = 1,
        mix: Mix = "mean",
        mix_every: int = 10_000,
    ) -> None:
        super().__init__(
            averaged=averaged,
            n_epochs=n_epochs,
            shuffle=shuffle,
            n_pairs=n_pairs,
            random_state=random_state,
            shards=shards,
            mix=mix,
            mix_every=mix_every,
        )
        self.C = C

    @property
    def _length(self) -> float:
        return float(self.C)

    def _check(self) -> None:
        check_aggressiveness(self.C, type(self).__name__)
        super()._check()


class OPARII(OPARI):
    """Online passive-aggressive ranking with the squared hinge loss.

    Parameters
    ----------
    C : float, default=0.01
        Aggressiveness, greater than 0.
    averaged : bool, default=False
        See `FirstOrder`.
    n_epochs : int, default=1
        See `FirstOrder`.
    shuffle : bool, default=False
        See `FirstOrder`.
    n_pairs : int, default=200000
        See `FirstOrder`.
    random_state : int, default=0
        See `FirstOrder`.
    shards : int, default=1
        See `FirstOrder`.
    mix : {"add", "mean"}, default="mean"
        See `FirstOrder`.
    mix_every : int, default=10000
        See `FirstOrder`.

    Examples
    --------
    >>> OPARII(C=0.5).fit([[2.0, 0.0], [0.0, 1.0]]).w_.round(6).tolist()
    [0.4, 0.5]
    """

    _rule = _opar_fast.PA_II


class OGDR(FirstOrder):
    """Online gradient descent ranking: a step of one length wherever the margin is below 1.

    Its losses are bounded: for any weights u,

        sum_t l_t(w_t) <= ||u||^2 / (2 eta) + eta / 2 sum_t ||x_t||^2 + sum_t l_t(u)

    Parameters
    ----------
    eta : float, default=0.001
        The learning rate, greater than 0.
    averaged : bool, default=False
        See `FirstOrder`.
    n_epochs : int, default=1
        See `FirstOrder`.
    shuffle : bool, default=False
        See `FirstOrder`.
    n_pairs : int, default=200000
        See `FirstOrder`.
    random_state : int, default=0
        See `FirstOrder`.
    shards : int, default=1
        See `FirstOrder`.
    mix : {"add", "mean"}, default="mean"
        See `FirstOrder`.
    mix_every : int, default=10000
        See `FirstOrder`.

    Examples
    --------
    >>> learner = OGDR(eta=0.25).fit([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    >>> learner.w_.tolist(), learner.loss_
    ([0.5, 0.0], 1.0)
    """

    _rule = _opar_fast.OGDR

    def __init__(
        self,
        *,
        eta: float = 0.001,
        averaged: bool = False,
        n_epochs: int = 1,
        shuffle: bool = False,
        n_pairs: int = 200_000,
        random_state: int = 0,
        shards: int = 1,
        mix: Mix = "mean",
        mix_every: int = 10_000,
    ) -> None:
        super().__init__(
            averaged=averaged,
            n_epochs=n_epochs,
            shuffle=shuffle,
            n_pairs=n_pairs,
            random_state=random_state,
            shards=shards,
            mix=mix,
            mix_every=mix_every,
        )
        self.eta = eta

    @property
    def _length(self) -> float:
        return float(self.eta)

    def _check(self) -> None:
        positive("eta", self.eta, type(self).__name__)
        super()._check()
