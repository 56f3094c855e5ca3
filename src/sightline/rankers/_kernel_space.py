"""The rows that kernel PAMIR learns from: pictures by a kernel, and the loop over its table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from sightline._typing import Floats, Ints
from sightline.contracts import Progress
from sightline.errors import DataError
from sightline.rankers import _kernel_pamir_fast
from sightline.rankers.pamir import PAMIR
from sightline.rankers.training import Loop, Rows, Weights
from sightline.similarity.grams import (
    check_budget,
    check_symmetric,
    count,
    gram_bytes,
    inverse_root,
    some,
)
from sightline.similarity.kernels import MeanKernel, as_views
from sightline.solvers.pa_step import variant_number
from sightline.solvers.rows import as_rows
from sightline.solvers.triplets import TripletSampler

_BLOCK = 1024


class Space:
    """Pictures as rows that a linear ranker can learn from, and what its weights mean.

    Over all pictures, rows are the kernel's and weights are alpha. Over landmarks, rows are
    coordinates k(p, landmarks) R whose inner products stand for the kernel, and alpha = W R'.
    """

    def __init__(self, pictures: Any, kernel: MeanKernel | None, chosen: Ints | None) -> None:
        self.pictures, self.kernel, self.chosen = pictures, kernel, chosen
        if chosen is not None:
            self.root = inverse_root(self._similarity(some(pictures, chosen)))
            if not self.root.size:
                raise DataError("Every landmark has similarity 0 to itself. Use another kernel.")

    def rows(self, pictures: Any = None) -> Floats:
        """Return rows of these pictures, or of the training pictures."""
        if self.chosen is None:
            if pictures is None and self.kernel is not None:
                return self.kernel(self.pictures)
            return self._similarity(self.pictures if pictures is None else pictures)
        inputs = self.pictures if pictures is None else pictures
        out = np.empty((count(inputs), self.root.shape[1]), dtype=np.float32)
        for block in blocks(len(out)):
            out[block] = self._similarity(some(inputs, block)) @ self.root
        return out

    def alpha(self, W: Floats) -> tuple[Floats, Ints]:
        """Return the weights of pictures, and which pictures these are."""
        if self.chosen is None:
            return W, np.arange(W.shape[1])
        return (W @ self.root.T).astype(np.float32), self.chosen

    def _similarity(self, pictures: Any) -> Floats:
        if self.kernel is None:
            table: Floats = pictures if self.chosen is None else pictures[:, self.chosen]
            return table
        landmarks = self.pictures if self.chosen is None else some(self.pictures, self.chosen)
        return self.kernel(pictures, landmarks)


class OverLandmarks(PAMIR):
    """PAMIR over coordinates; messages name it by its public name."""

    _name: ClassVar[str] = "KernelPAMIR"


class OverPictures(OverLandmarks):
    """PAMIR whose rows are a kernel's, and whose weights lie over the training pictures."""

    def _loop(self, rows: Rows, sampler: TripletSampler, weights: Weights) -> Loop:
        variant = variant_number(self.variant, self._name)
        self._table = KernelLoop(rows, sampler, weights, float(self.C), variant)
        return self._table

    def _train(self, *args: Any, **kwargs: Any) -> None:
        super()._train(*args, **kwargs)
        self.n_negative_ = self._table.n_negative[self.best_iter_]
        del self._table


class KernelLoop(Loop):
    """Learns from triplets of one sampler, block by block, by a kernel's table.

    `n_negative` is how many squared distances were below 0, by the number of triplets after each
    run.
    """

    def __init__(
        self, K: Rows, sampler: TripletSampler, weights: Weights, C: float, variant: int
    ) -> None:
        super().__init__(K, sampler, weights, C, variant)
        self._negative = np.zeros(1, dtype=np.int64)
        self._pictures = (np.asarray(K), np.zeros_like(weights.W), self._negative)
        self._learn = _kernel_pamir_fast.learn
        self.n_negative: dict[int, int] = {}

    def run(self, n: int, progress: Progress) -> None:
        """Learn from n more triplets."""
        super().run(n, progress)
        self.n_negative[self.weights.n_triplets] = int(self._negative[0])


def check_memory(
    n: int, n_landmarks: int | None, n_words: int, budget: int, *, averaged: bool, table: bool
) -> None:
    """Raise where training would exceed the memory budget; a given `table` takes no more of it.

    Counted are the kernel, alpha, its best copy, the scores of training pictures and, where weights
    are averaged, two tables of sums.
    """
    each = 12 + (16 if averaged else 0)
    if n_landmarks is None:
        needed = (0 if table else gram_bytes(n)) + gram_bytes(n_words, n, each)
        fits = min(max(budget // (8 * n), 1), 4000)
        instead = f"Set landmarks={fits}, use PAMIR, which is linear, or raise the budget."
    else:
        needed = gram_bytes(n, n_landmarks) + 2 * gram_bytes(n_landmarks, itemsize=8)
        needed += gram_bytes(n_words, n_landmarks, each)
        instead = "Take fewer landmarks, use PAMIR, which is linear, or raise the budget."
    check_budget(needed, budget, f"{n} pictures with {n_words} words", instead)


def kernel_of(
    X: Any,
    names: str | tuple[str, ...],
    factors: float | tuple[float, ...],
    weights: tuple[float, ...] | None,
    seed: int,
) -> tuple[MeanKernel | None, Any]:
    """Return the kernel, with bandwidths, and training pictures as it takes them.

    For "precomputed" there is no kernel, and X is the table of similarities.
    """
    if names == "precomputed":
        table = as_pictures(X, None)
        check_symmetric(table)
        return None, table
    inputs = X if isinstance(X, tuple) else (X,)
    names = names if isinstance(names, tuple) else (names,) * len(inputs)
    factors = factors if isinstance(factors, tuple) else (factors,) * len(inputs)
    views = as_views(inputs, names)
    kernel = MeanKernel.of(views, names, factors=factors, weights=weights, random_state=seed)
    return kernel, views


def as_pictures(X: Any, kernel: MeanKernel | None, n_pictures: int | None = None) -> Any:
    """Return pictures as the kernel takes them; without one, as similarities to so many."""
    if kernel is not None:
        return as_views(X if isinstance(X, tuple) else (X,), kernel.names)
    if hasattr(X, "tocsr"):
        raise DataError("Sparse data is not supported: precomputed similarities must be dense.")
    return as_rows(X, "KernelPAMIR", n_pictures)


def blocks(n: int) -> Iterator[slice]:
    """Yield slices of pictures, large enough to be worth a call."""
    for start in range(0, n, _BLOCK):
        yield slice(start, min(start + _BLOCK, n))
