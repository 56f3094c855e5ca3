"""AROW and SCW: online weights with an estimate of their uncertainty.

Components of phi are many measures of the same descriptors, so they are highly correlated. A
first-order learner moves along x whatever came before; these move further along directions that are
still uncertain, with a covariance S of all components or its diagonal alone (`solvers.second_order`
has the steps). Paper D names them as an extension of its own learners.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from sightline._typing import Doubles, Floats
from sightline.combiners import _second_order_fast
from sightline.combiners.linear import positive
from sightline.combiners.online import OnlineCombiner
from sightline.errors import ParameterError
from sightline.solvers import second_order

SCWVariant = Literal["SCW-I", "SCW-II"]


class SecondOrder(OnlineCombiner):
    """A learner with a covariance.

    Attributes
    ----------
    covariance_ : ndarray of shape (components, components)
        Or (1, components) where it is a diagonal.
    """

    _more: ClassVar[tuple[str, ...]] = ("covariance",)
    full: bool

    @property
    def covariance_(self) -> Doubles:
        """The uncertainty of the weights."""
        self._check_fitted()
        return self._covariance

    def _start(self, n: int) -> None:
        super()._start(n)
        self._covariance: Doubles = np.eye(n) if self.full else np.ones((1, n))

    @abstractmethod
    def _rule(self) -> tuple[int, float, float]:
        """Return the kernel's rule, C and z."""

    def _learn(self, rows: Floats) -> None:
        _second_order_fast.learn(
            self._now, self._late, int(self._seen[0]), self._covariance, rows, *self._rule(),
            self._counts, self._totals,
        )  # fmt: skip


class AROW(SecondOrder):
    """Adaptive regularisation of weights.

    Parameters
    ----------
    r : float, default=1.0
        Greater than 0; a larger one takes smaller steps and reduces the covariance more slowly.
    full : bool, default=True
        Keep the whole covariance, which costs (components)^2 for each step, or its diagonal.
    averaged : bool, default=False
        See `opar.FirstOrder`.
    n_epochs : int, default=1
        See `opar.FirstOrder`.
    shuffle : bool, default=False
        See `opar.FirstOrder`.
    n_pairs : int, default=200000
        See `opar.FirstOrder`.
    random_state : int, default=0
        See `opar.FirstOrder`.

    Examples
    --------
    >>> learner = AROW(r=1.0).fit([[1.0, 0.0], [0.0, 1.0]])
    >>> learner.w_.tolist(), learner.covariance_.tolist()
    ([0.5, 0.5], [[0.5, 0.0], [0.0, 0.5]])
    """

    def __init__(
        self,
        *,
        r: float = 1.0,
        full: bool = True,
        averaged: bool = False,
        n_epochs: int = 1,
        shuffle: bool = False,
        n_pairs: int = 200_000,
        random_state: int = 0,
    ) -> None:
        self.r = r
        self.full = full
        self.averaged = averaged
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.n_pairs = n_pairs
        self.random_state = random_state

    def _rule(self) -> tuple[int, float, float]:
        return second_order.AROW, float(self.r), 0.0

    def _check(self) -> None:
        positive("r", self.r, "AROW")
        super()._check()


class SCW(SecondOrder):
    """Soft confidence-weighted learning.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness, greater than 0.
    eta : float, default=0.9
        How likely the order of a difference should be right, above a half and below 1.
    variant : {"SCW-I", "SCW-II"}, default="SCW-I"
        "SCW-I" or "SCW-II".
    full : bool, default=True
        Keep the whole covariance, or its diagonal.
    averaged : bool, default=False
        See `opar.FirstOrder`.
    n_epochs : int, default=1
        See `opar.FirstOrder`.
    shuffle : bool, default=False
        See `opar.FirstOrder`.
    n_pairs : int, default=200000
        See `opar.FirstOrder`.
    random_state : int, default=0
        See `opar.FirstOrder`.

    Examples
    --------
    >>> learner = SCW(C=1.0, eta=0.9).fit([[1.0, 0.0], [0.0, 1.0]])
    >>> learner.w_.round(2).tolist()
    [0.79, 0.79]
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        eta: float = 0.9,
        variant: SCWVariant = "SCW-I",
        full: bool = True,
        averaged: bool = False,
        n_epochs: int = 1,
        shuffle: bool = False,
        n_pairs: int = 200_000,
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.eta = eta
        self.variant = variant
        self.full = full
        self.averaged = averaged
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.n_pairs = n_pairs
        self.random_state = random_state

    def _rule(self) -> tuple[int, float, float]:
        rule = second_order.SCW_I if self.variant == "SCW-I" else second_order.SCW_II
        return rule, float(self.C), second_order.deviations(self.eta, "SCW")

    def _check(self) -> None:
        positive("C", self.C, "SCW")
        second_order.deviations(self.eta, "SCW")
        if self.variant not in ("SCW-I", "SCW-II"):
            raise ParameterError.of("variant", "SCW", "'SCW-I' or 'SCW-II'", self.variant)
        super()._check()
