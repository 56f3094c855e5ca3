"""PAMIR with a threshold: a ranker that also learns where each query's list should end.

The threshold of a query, theta(q) = q . h, is the score of a virtual picture: its features are all
0 but for one of its own, which no real picture has, and the weights of that feature are h. In place
of F(q, p+) >= F(q, p-) + 1, every triplet (q, p+, p-) of `pamir` asks that

    F(q, p+) >= theta(q) + 1/2        F(q, p-) <= theta(q) - 1/2

and takes a passive-aggressive step (`solvers.pa_step`) on W and h for each: two triplets of margin
1/2, one with the virtual picture as the other one, one with it as the relevant one. Both hold only
if p+ precedes p- by 1, as PAMIR asks. Pictures with F(q, p) >= theta(q) are shown.

Departures: the virtual picture is as long as a usual one (the root of the mean squared length), so
that h learns as fast as W, whatever the scale of the features. Other pictures are drawn uniformly,
and most of them are easy: where the aim is the best set for each query and not a ranker that comes
with one, `cutoff.CutOff` finds better thresholds over existing scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline._typing import Floats
from sightline.contracts import Mapper, Progress
from sightline.errors import ParameterError
from sightline.progress import NoProgress
from sightline.rankers import _pamir_fast
from sightline.rankers.pamir import PAMIR
from sightline.rankers.training import Loop, Rows, ValidationSet, Weights
from sightline.rankers.word_weights import Terms
from sightline.solvers.pa_step import variant_number
from sightline.solvers.rows import SparseMatrix
from sightline.solvers.targets import Targets
from sightline.solvers.triplets import Triplets, TripletSampler

_SILENT = NoProgress()
_SMALL = 65_536


class ThresholdPAMIR(PAMIR):
    """A linear ranker of pictures with a threshold on the score of those to show.

    Parameters
    ----------
    C : float, default=0.1
        As for `sightline.rankers.pamir.PAMIR`; a triplet counts as two steps.
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        As for `sightline.rankers.pamir.PAMIR`; a triplet counts as two steps.
    n_iter : int, default=3000000
        As for `sightline.rankers.pamir.PAMIR`; a triplet counts as two steps.
    eval_every : int, default=100000
        As for `sightline.rankers.pamir.PAMIR`; a triplet counts as two steps.
    patience : int, default=3
        As for `sightline.rankers.pamir.PAMIR`; a triplet counts as two steps.
    pairs_per_query : int, default=8
        As for `sightline.rankers.pamir.PAMIR`; a triplet counts as two steps.
    sampling : {"query", "triplet"}, default="query"
        As for `sightline.rankers.pamir.PAMIR`; a triplet counts as two steps.
    averaged : bool, default=False
        As for `sightline.rankers.pamir.PAMIR`; a triplet counts as two steps.
    max_len : int, default=1
        As for `sightline.rankers.pamir.PAMIR`; a triplet counts as two steps.
    random_state : int or numpy.random.Generator or None, default=0
        As for `sightline.rankers.pamir.PAMIR`; a triplet counts as two steps.
    max_bytes : int, default=2147483648
        As for `sightline.rankers.pamir.PAMIR`; a triplet counts as two steps.
    grades, weight : {"binary", "linear", "exponential"} or {"ndcg"}
        Must keep their defaults; a threshold separates relevant from other pictures.

    Attributes
    ----------
    h_ : ndarray of float32
        The words' part in thresholds.
    W_ : ndarray of shape (words, features)
        As for `PAMIR`, as are all others.

    Examples
    --------
    >>> X, y = [[1, 0, 0], [0, 1, 0], [1, 0, 1]], [[1, 0], [0, 1], [1, 0]]
    >>> ranker = ThresholdPAMIR(C=1.0).fit(X, y)
    >>> (ranker.decision_function(X)[:, 0] >= ranker.threshold([0])).tolist()
    [True, False, True]
    """

    _name: ClassVar[str] = "ThresholdPAMIR"
    _n_virtual: ClassVar[int] = 1
    h_: Floats
    _length: float

    def threshold(self, terms: Terms, weights: ArrayLike | None = None) -> float:
        """Return theta(q), the least score that is worth showing; 0 for a query without words.

        Parameters
        ----------
        terms : ndarray of int64
            Positions of words, or words where the ranker has their names.
        weights : array-like, optional
            The query vector's values; by default a unit vector of the words' idf.
        """
        ids, q = self._vector(terms, weights)
        return float(q @ self.h_[ids])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs, and the thresholds."""
        return {**super().to_arrays(), "h": self.h_}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted ranker as far as scoring goes."""
        ranker = super().from_arrays(arrays)
        ranker.h_ = arrays["h"]
        return ranker

    def _train(
        self,
        rows: Rows,
        targets: Targets,
        weights: Weights,
        held: ValidationSet | None = None,
        n: int | None = None,
        state: NDArray[np.uint64] | None = None,
        progress: Progress = _SILENT,
        compute: Mapper | None = None,
    ) -> None:
        length = self._length if state is not None else _usual_length(rows)
        wider = None if held is None else ValidationSet(_with_column(held.rows), held.targets)
        extended = _with_virtual(_with_column(rows), length)
        super()._train(extended, targets, weights, wider, n, state, progress)
        served = self.W_
        self.W_ = np.ascontiguousarray(served[:, :-1])
        self.h_, self._length = served[:, -1] * np.float32(length), length

    def _loop(self, rows: Rows, sampler: TripletSampler, weights: Weights) -> Loop:
        variant = variant_number(self.variant, self._name)
        return VirtualLoop(rows, sampler, weights, float(self.C), variant)

    def _check(self) -> None:
        super()._check()
        if self.grades != "binary":
            raise ParameterError.of("grades", self._name, "'binary'", self.grades)
        if self.shards != 1:
            raise ParameterError.of("shards", self._name, "1", self.shards)


class VirtualLoop(Loop):
    """Learns from each triplet twice, with the last row as its other and its relevant picture."""

    def __init__(
        self, rows: Rows, sampler: TripletSampler, weights: Weights, C: float, variant: int
    ) -> None:
        super().__init__(rows, sampler, weights, C, variant)
        self._virtual = rows.shape[0] - 1

    def _portions(self, n: int) -> Iterator[Triplets]:
        """Yield n triplets, two for each that is drawn."""
        n_left = n
        for drawn in self.sampler.portions(-(-n // 2)):
            twice = self._twice(drawn, n_left)
            n_left -= len(twice[0])
            yield twice

    def _required(self, drawn: Triplets) -> tuple[object, ...]:
        return np.full(len(drawn[0]), 0.5), np.zeros(0)

    def _kernel(self, sparse: bool) -> Callable[..., None]:
        return _pamir_fast.learn_sparse_by if sparse else _pamir_fast.learn_dense_by

    def _twice(self, drawn: Triplets, most: int) -> Triplets:
        query, plus, minus = drawn
        virtual = np.full(len(query), self._virtual, dtype=np.int32)
        above = np.stack((plus, virtual), axis=1).reshape(-1)
        below = np.stack((virtual, minus), axis=1).reshape(-1)
        return np.repeat(query, 2)[:most], above[:most], below[:most]


def _usual_length(rows: Rows) -> float:
    values = rows.values if isinstance(rows, SparseMatrix) else rows
    total = float(np.einsum("i,i->", values.reshape(-1), values.reshape(-1), dtype=np.float64))
    return float(np.sqrt(total / rows.shape[0])) or 1.0


def _with_column(rows: Rows) -> Rows:
    """Return rows with one more feature, which is 0 in all of them."""
    n, n_features = rows.shape[0], rows.shape[1] + 1
    if not isinstance(rows, SparseMatrix):
        return np.hstack((rows, np.zeros((n, 1), dtype=np.float32)))
    indices: Any = rows.indices.astype(np.uint16 if n_features <= _SMALL else np.uint32)
    return SparseMatrix(rows.start, indices, rows.values, (n, n_features))


def _with_virtual(rows: Rows, length: float) -> Rows:
    """Return rows and one more, which is 0 but for the last feature."""
    n, n_features = rows.shape
    if not isinstance(rows, SparseMatrix):
        virtual = np.zeros((1, n_features), dtype=np.float32)
        virtual[0, -1] = length
        return np.vstack((rows, virtual))
    last: Any = np.array([n_features - 1], dtype=rows.indices.dtype)
    indices: Any = np.concatenate([rows.indices, last])
    return SparseMatrix(
        np.append(rows.start, rows.start[-1] + np.uint64(1)),
        indices,
        np.append(rows.values, np.float32(length)),
        (n + 1, n_features),
    )
