"""The base of online combiners: one pass over differences, and incremental learning."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats
from sightline.combiners.examples import Differences, Source, differences
from sightline.combiners.linear import LinearCombiner, whole_number
from sightline.contracts import Mapper
from sightline.errors import DataError, UsageError
from sightline.solvers.pa_step import N_OUTCOMES

_SAVED = ("now", "late", "seen", "counts", "totals")


class OnlineCombiner(LinearCombiner):
    """Weights that learn from one difference at a time.

    Attributes
    ----------
    w_ : ndarray of float64
        The weights that score, (components,), float64: the last ones, or the mean of all.
    n_seen_ : int
        Differences learned from, those that changed nothing too.
    n_updates_, n_zero_, n_rejected_ : int
        Differences that changed the weights, that are all zero, and that are not finite.
    n_mistakes_ : int
        Updates by a difference of which the order was wrong before, or a tie.
    loss_ : float
        Sum over all differences of the hinge loss at the weights before each.
    """

    averaged: bool
    n_epochs: int
    shuffle: bool
    n_pairs: int
    random_state: int
    # Further arrays that a learner saves, by attribute.
    _more: ClassVar[tuple[str, ...]] = ()
    _where: Mapper | None = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        source: Source | None = None,
        compute: Mapper | None = None,
    ) -> Self:
        """Learn from scratch, from differences, triplets or lists (see `sightline.combiners`).

        `compute` is where shards learn, where there are any.
        """
        self._check()
        examples = self._examples(X, y, qid, source)
        self._where = compute
        try:
            self._start(examples.n_components)
            for rows in self._passes(examples):
                self._take(rows)
        finally:
            self._where = None
        return self._served()

    def partial_fit(
        self, X: Any, y: Any = None, qid: Any = None, *, source: Source | None = None
    ) -> Self:
        """Continue from the current weights, with each difference once and in order.

        A first call starts from zero. Parts of a sequence give the same weights as the whole,
        but for rounding.
        """
        self._check()
        examples = self._examples(X, y, qid, source)
        if not hasattr(self, "_now"):
            self._start(examples.n_components)
        if bool(len(self._late)) != bool(self.averaged):
            raise UsageError("'averaged' changed since the first fit. Call fit to start over.")
        if examples.n_components != len(self._now):
            raise DataError(
                f"Differences must have {len(self._now)} components, as before. "
                f"Got {examples.n_components}."
            )
        for rows in examples.portions():
            self._take(rows)
        return self._served()

    def start_from(self, w: Any) -> Self:
        """Reset to given weights, from which `partial_fit` continues.

        With `averaged`, the mean of weights is these until the first `partial_fit`.
        """
        weights = np.array(w, dtype=np.float64)
        if weights.ndim != 1 or not weights.size or not np.isfinite(weights).all():
            raise DataError(f"Weights must be finite numbers in a row. Got {weights!r}.")
        self._check()
        self._start(len(weights))
        self._now[:] = weights
        return self._served()

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring and further training need."""
        self._check_fitted()
        return {name: getattr(self, f"_{name}") for name in (*_SAVED, *self._more)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a combiner that scores and, given the same parameters, continues as saved."""
        combiner = cls()
        for name in (*_SAVED, *cls._more):
            setattr(combiner, f"_{name}", np.array(arrays[name]))
        combiner.averaged = bool(len(combiner._late))
        return combiner._served()

    def _examples(self, X: Any, y: Any, qid: Any, source: Source | None) -> Differences:
        name = type(self).__name__
        return differences(X, y, qid, source, name, self.n_pairs, self.random_state)

    def _start(self, n: int) -> None:
        self._now: Doubles = np.zeros(n)
        self._late: Doubles = np.zeros(n if self.averaged else 0)
        self._seen: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._counts: NDArray[np.int64] = np.zeros(N_OUTCOMES, dtype=np.int64)
        # The sum of losses, and how many mistakes.
        self._totals: Doubles = np.zeros(2)

    def _passes(self, examples: Differences) -> Iterator[Floats]:
        if self.n_epochs == 1 and not self.shuffle:
            yield from examples.portions()
            return
        rows, random = examples.whole(), np.random.default_rng(self.random_state)
        for _ in range(self.n_epochs):
            order = random.permutation(len(rows)) if self.shuffle else np.arange(len(rows))
            step = 1 << 16
            for begin in range(0, len(rows), step):
                yield rows[order[begin : begin + step]]

    def _take(self, rows: Floats) -> None:
        self._learn(np.ascontiguousarray(rows, dtype=np.float32))
        self._seen += len(rows)

    @abstractmethod
    def _learn(self, rows: Floats) -> None:
        """Move the weights by each of some differences in turn."""

    def _served(self) -> Self:
        n_seen = int(self._seen[0])
        self.w_ = self._now - self._late / max(n_seen, 1) if len(self._late) else self._now.copy()
        self.n_seen_ = n_seen
        _, self.n_updates_, self.n_zero_, self.n_rejected_ = self._counts.tolist()
        self.loss_, self.n_mistakes_ = float(self._totals[0]), int(self._totals[1])
        return self

    def _check(self) -> None:
        name = type(self).__name__
        whole_number("n_epochs", self.n_epochs, name)
        whole_number("n_pairs", self.n_pairs, name)
