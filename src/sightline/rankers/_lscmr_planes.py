"""Batches of orders as cutting planes of LSCMR's training.

A batch has an order for each of N lists, given by its inversions c. With s_i = 2 / (n+ n- N) of
list i, its violation is linear in U'V:

    mean Delta - <U'V, M>        M = sum_i q_i v_i'        v_i = s_i sum_d c_d d

In `Counted` M is never formed: c is kept, and the gradients by U and V are sums over lists and over
documents. Where queries and documents have so few columns that M has no more numbers than c,
`Formed` keeps M, and evaluating a batch again costs as little as M is small.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles
from sightline.contracts import Mapper
from sightline.rankers import _lscmr_fast
from sightline.solvers.oracle_shards import OracleShards
from sightline.solvers.oracles import CandidateLists, Criterion, Separated


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """One batch: its mean loss, and either its inversions or its matrix M, as one row."""

    loss: float
    row: NDArray[Any]


class Planes(ABC):
    """Makes batches of one set of lists."""

    def __init__(
        self,
        Q: Any,
        D: Any,
        lists: CandidateLists,
        criterion: Criterion,
        oracles: OracleShards | None = None,
    ) -> None:
        self.Q, self.D, self.lists = Q, D, lists
        self.oracles = oracles or OracleShards(lists, criterion)
        self.scale = 2.0 / (lists.pairs() * len(lists))
        all_in_order = np.array_equal(lists.query, np.arange(Q.shape[0]))
        self.list_queries = Q if all_in_order else Q[lists.query]
        self._each = np.repeat(self.scale, np.diff(lists.start))
        self._scores = np.empty(len(lists.candidate))

    def separate(self, U: Doubles, V: Doubles) -> Plane:
        """Return the batch that these factors violate most."""
        orders = self.oracles.separate(self.scores(U, V))
        return Plane(float(orders.losses.mean()), self._row(orders))

    def scores(self, U: Doubles, V: Doubles) -> Doubles:
        """Return the score of every candidate of every list; the array is used again."""
        lists = self.lists
        A, B = np.asarray(self.Q @ U.T), np.asarray(self.D @ V.T)
        _lscmr_fast.list_scores(A, B, lists.start, lists.candidate, lists.query, self._scores)
        return self._scores

    @abstractmethod
    def _row(self, orders: Separated) -> NDArray[Any]: ...

    @abstractmethod
    def together(self, planes: Sequence[Plane]) -> Together:
        """Return batches that are to be evaluated many times."""


@dataclass(frozen=True, slots=True, eq=False)
class Together(ABC):
    """Some batches side by side."""

    planes: Planes
    losses: Doubles
    rows: NDArray[Any]

    @abstractmethod
    def violations(self, U: Doubles, V: Doubles) -> Doubles:
        """Return mean Delta - mean delta F of each batch."""

    @abstractmethod
    def toward_u(self, i: int, V: Doubles) -> Doubles:
        """Return V M', in which direction U lowers the violation of batch i."""

    @abstractmethod
    def toward_v(self, i: int, U: Doubles) -> Doubles:
        """Return U M, in which direction V lowers the violation of batch i."""


class Counted(Planes):
    """Batches by their inversions."""

    def _row(self, orders: Separated) -> NDArray[np.int32]:
        return orders.counts

    def together(self, planes: Sequence[Plane]) -> Together:
        """Return batches side by side."""
        return _Counted(self, *_stacked(planes))


class _Counted(Together):
    def violations(self, U: Doubles, V: Doubles) -> Doubles:
        products = np.empty(len(self.losses))
        weighted = self.planes.scores(U, V) * self.planes._each
        _lscmr_fast.inner_products(self.rows, weighted, products)
        return self.losses - products

    def toward_u(self, i: int, V: Doubles) -> Doubles:
        planes, lists = self.planes, self.planes.lists
        sums = np.empty((len(lists), len(V)))
        _lscmr_fast.sum_of_candidates(
            np.asarray(planes.D @ V.T), lists.start, lists.candidate, self.rows[i], planes.scale,
            sums,
        )  # fmt: skip
        return np.ascontiguousarray((planes.list_queries.T @ sums).T)

    def toward_v(self, i: int, U: Doubles) -> Doubles:
        planes, lists = self.planes, self.planes.lists
        sums = np.zeros((planes.D.shape[0], len(U)))
        _lscmr_fast.sum_of_queries(
            np.asarray(planes.Q @ U.T), lists.start, lists.candidate, lists.query, self.rows[i],
            planes.scale, sums,
        )  # fmt: skip
        return np.ascontiguousarray((planes.D.T @ sums).T)


class Formed(Planes):
    """Batches by their matrices; both sides are dense."""

    def _row(self, orders: Separated) -> Doubles:
        lists = self.lists
        sums = np.empty((len(lists), self.D.shape[1]))
        _lscmr_fast.sum_of_candidates(
            self.D, lists.start, lists.candidate, orders.counts, self.scale, sums
        )
        row: Doubles = (self.list_queries.T @ sums).ravel()
        return row

    def together(self, planes: Sequence[Plane]) -> Together:
        """Return batches side by side."""
        return _Formed(self, *_stacked(planes))


class _Formed(Together):
    def violations(self, U: Doubles, V: Doubles) -> Doubles:
        return np.asarray(self.losses - self.rows @ (U.T @ V).ravel())

    def toward_u(self, i: int, V: Doubles) -> Doubles:
        return np.asarray(V @ self._matrix(i).T)

    def toward_v(self, i: int, U: Doubles) -> Doubles:
        return np.asarray(U @ self._matrix(i))

    def _matrix(self, i: int) -> Doubles:
        return np.asarray(self.rows[i]).reshape(self.planes.Q.shape[1], -1)


def planes_of(
    Q: Any,
    D: Any,
    lists: CandidateLists,
    criterion: Criterion,
    shards: int = 1,
    compute: Mapper | None = None,
) -> Planes:
    """Return batches in the form that costs less; oracles work in shards, on `compute`."""
    oracles = OracleShards(lists, criterion, shards, compute)
    dense = not (hasattr(Q, "tocsr") or hasattr(D, "tocsr"))
    small = Q.shape[1] * D.shape[1] <= len(lists.candidate)
    return (Formed if dense and small else Counted)(Q, D, lists, criterion, oracles)


def _stacked(planes: Sequence[Plane]) -> tuple[Doubles, NDArray[Any]]:
    return np.array([p.loss for p in planes]), np.stack([p.row for p in planes])
