"""PAMIR with a kernel: a ranker of pictures for queries of words whose weights lie over pictures.

Grangier and Bengio, "A discriminative kernel-based model to rank images from text queries", IEEE
Transactions on Pattern Analysis and Machine Intelligence 30(8), 2008. Each word t has a weight for
each training picture j, and a query q scores a picture p by its similarity k to them,

    F(q, p) = sum_t q_t sum_j alpha_tj k(j, p)

A drawn triplet (q, p+, p-) takes one passive-aggressive step (`solvers.pa_step`), as in `pamir`, in
the space whose inner product is k:

    alpha_t,p+ += tau q_t        alpha_t,p- -= tau q_t
    tau = min(C, (1 - F(q, p+) + F(q, p-)) / (||q||^2 (k(p+, p+) - 2 k(p+, p-) + k(p-, p-))))

With a linear kernel it is linear PAMIR. The pictures with a weight that is not 0 are the word's
support. A kernel that is no inner product can make the squared distance 0 or less: such a triplet
is skipped and counted. The ranker may be poor even so: with the match kernel of 1,500 photographs,
AvgP on 500 others was .133, and .179 with nearly all of them as landmarks, which keep only its
positive part.

All scores of training pictures, G = alpha K, are kept beside alpha: a triplet reads two of them for
each word, and only an update walks along rows. Recomputing sums of alpha for each triplet took 5 to
11 times as long on 4,000 photographs with 11,268 queries, of which 16 and later 5 in a hundred
triplets were updates.

Departures: those of `pamir`. The kernel of all pictures needs memory that grows with their square,
and beyond a budget `fit` raises an error. `landmarks` limit it (Williams and Seeger, "Using the
Nyström method to speed up kernel machines", 2001): all pictures are learned from, but alpha has
values for a seeded sample of them alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline._typing import Floats, Ints
from sightline.contracts import PersistentEstimator, Progress
from sightline.errors import ParameterError
from sightline.progress import NoProgress
from sightline.rankers._kernel_space import (
    OverLandmarks,
    OverPictures,
    Space,
    as_pictures,
    blocks,
    check_memory,
    kernel_of,
)
from sightline.rankers.pamir import PAMIR
from sightline.rankers.training import Weights
from sightline.rankers.word_weights import Terms
from sightline.records import QuerySet
from sightline.similarity.formulas import Rows
from sightline.similarity.grams import (
    BUDGET,
    check_budget,
    count,
    gram_bytes,
    some,
)
from sightline.similarity.kernels import MeanKernel, check_columns, input_kinds
from sightline.similarity.serialization import (
    kernel_from_arrays,
    kernel_to_arrays,
    rows_from_arrays,
    rows_to_arrays,
)
from sightline.solvers.pa_step import Variant
from sightline.solvers.triplets import Sampling
from sightline.validation import Classes, class_labels

KernelName = Literal["rbf", "exponential", "linear", "chi2", "likelihood", "precomputed"]
_SHARED = (
    "C", "variant", "n_iter", "eval_every", "patience", "pairs_per_query", "sampling", "averaged",
    "max_len", "random_state",
)  # fmt: skip
_SILENT = NoProgress()


class KernelPAMIR(PersistentEstimator):
    """A ranker of pictures for queries of words, by their similarity to training pictures.

    Parameters
    ----------
    kernel : str or tuple of str, default="rbf"
        Name in `sightline.similarity.formulas.KERNELS`, or one for each view; "precomputed" takes
        tables of similarities in place of pictures.
    factor : float or tuple of float, default=0.7
        Of the median distance, which is the bandwidth; or one for each view. At the default the rbf
        kernel of two pictures at the median distance is 1/e.
    weights : tuple of float, optional
        How much each view counts; equal by default.
    landmarks : int, optional
        Size of a seeded sample that has the weights; None takes all. With a kernel that is no
        inner product, any number, even that of all pictures, leaves its negative directions out,
        for both training and new pictures, at the price of eigenvectors.
    budget : int, default=2147483648
        Most bytes that the kernel of the training pictures and the weights may take.
    C : float, default=0.1
        As for `sightline.rankers.pamir.PAMIR`.
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        As for `sightline.rankers.pamir.PAMIR`.
    n_iter : int, default=3000000
        As for `sightline.rankers.pamir.PAMIR`.
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
    random_state : int, default=0
        Seed of the draws of triplets, of landmarks and of the pairs that give the bandwidth; the
        same number gives the same weights, byte for byte.

    Attributes
    ----------
    classes_ : ndarray of shape (words,)
        The label of each word; its position, where y was a table.
    alpha_ : ndarray of shape (words, support)
        In float32. A word that no training query holds has zeros.
    support_ : ndarray of int64
        Which training pictures have weights, ascending.
    support_rows_ : tuple of ndarray or sparse matrix
        Their views; empty for "precomputed".
    kernel_ : MeanKernel or None
        With its bandwidths; None for "precomputed".
    words_ : tuple of str or None
        As for `PAMIR`.
    idf_ : ndarray of float64
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
    n_rejected_ : int
        As for `PAMIR`.
    n_dropped_ : int
        As for `PAMIR`.
    n_zero_, n_negative_ : int
        Triplets that were skipped because their pictures are equal by the kernel, and those of them
        whose squared distance was below 0.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [[1, 0], [0, 1], [0, 1], [1, 0]]
    >>> ranker = KernelPAMIR(C=1.0, factor=0.5).fit(X, y)
    >>> ranker.score(X, y)
    1.0
    >>> ranker.support_.tolist(), (ranker.query([0]) > 0).tolist()
    ([0, 1, 2, 3], [True, False, False, True])
    """

    _saved = ("classes_",)
    alpha_: Floats
    support_: Ints
    support_rows_: tuple[Rows, ...]
    kernel_: MeanKernel | None
    idf_: NDArray[np.float64]
    words_: tuple[str, ...] | None
    classes_: Classes
    n_pictures_: int
    n_iter_: int
    best_iter_: int
    best_score_: float
    history_: list[tuple[int, float]]
    n_updates_: int
    n_zero_: int
    n_negative_: int
    n_rejected_: int
    n_dropped_: int

    def __init__(
        self,
        *,
        kernel: KernelName | tuple[str, ...] = "rbf",
        factor: float | tuple[float, ...] = 0.7,
        weights: tuple[float, ...] | None = None,
        landmarks: int | None = None,
        budget: int = BUDGET,
        C: float = 0.1,
        variant: Variant = "PA-I",
        n_iter: int = 3_000_000,
        eval_every: int = 100_000,
        patience: int = 3,
        pairs_per_query: int = 8,
        sampling: Sampling = "query",
        averaged: bool = False,
        max_len: int = 1,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.factor = factor
        self.weights = weights
        self.landmarks = landmarks
        self.budget = budget
        self.C = C
        self.variant = variant
        self.n_iter = n_iter
        self.eval_every = eval_every
        self.patience = patience
        self.pairs_per_query = pairs_per_query
        self.sampling = sampling
        self.averaged = averaged
        self.max_len = max_len
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Sequence[Any] | NDArray[Any] | None = None,
        *,
        validation: tuple[Any, ...] | None = None,
        queries: QuerySet | None = None,
        n_words: int | None = None,
        n_iter: int | None = None,
        progress: Progress = _SILENT,
    ) -> Self:
        """Learn from pictures and what fits them.

        Parameters
        ----------
        X : array-like of shape (pictures, features)
            Dense or sparse, or a tuple of such views; for "precomputed" the symmetric table of
            similarities, (pictures, pictures).
        validation : tuple of array-like, optional
            Pictures to stop by: (X, y), (X, y, qid) or (X, queries), for "precomputed" with the
            similarities of validation pictures to training pictures.
        y : array-like, optional
            As for `PAMIR.fit`.
        qid : sequence of array-like or ndarray, optional
            As for `PAMIR.fit`.
        queries : QuerySet, optional
            As for `PAMIR.fit`.
        n_words : int, optional
            As for `PAMIR.fit`.
        n_iter : int, optional
            As for `PAMIR.fit`.
        progress : Progress, optional
            As for `PAMIR.fit`.
        """
        self._check()
        if n_iter is not None:
            self._linear(OverLandmarks)._whole("n_iter", n_iter)
        kernel, pictures = kernel_of(X, self.kernel, self.factor, self.weights, self.random_state)
        n = count(pictures)
        chosen = self._chosen(n)
        ranker = self._linear(OverPictures if chosen is None else OverLandmarks)
        targets = ranker._targets(np.empty((n, 0), np.float32), y, qid, queries, n_words)
        check_memory(
            n,
            None if chosen is None else len(chosen),
            targets.n_words,
            self.budget,
            averaged=self.averaged,
            table=kernel is None,
        )
        space = Space(pictures, kernel, chosen)
        rows = space.rows()
        if isinstance(validation, tuple) and len(validation) > 1:
            held_pictures = as_pictures(validation[0], kernel, n)
            self._check_table(count(held_pictures), n if chosen is None else len(chosen))
            validation = (space.rows(held_pictures), *validation[1:])
        classes = class_labels(y, qid, targets.n_words)
        held = ranker._held_out(validation, rows, targets.vocabulary, classes)
        weights = Weights.zeros(targets.n_words, rows.shape[1], self.averaged)
        ranker._train(rows, targets, weights, held, n_iter, progress=progress)
        ranker.idf_, ranker.words_ = targets.vocabulary
        ranker.classes_ = classes
        self._keep(ranker, space)
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns that X had in `fit`, of all views."""
        if self.kernel_ is None:
            return self.n_pictures_
        return sum(int(rows.shape[1]) for rows in self.support_rows_)

    def decision_function(self, X: Any, words: ArrayLike | None = None) -> Floats:
        """Return the score of each picture for each word, (pictures, words).

        Parameters
        ----------
        X : array-like
            Pictures as in `fit`; for "precomputed", (pictures, training pictures).
        words : array-like, optional
            Positions of the words to score alone; pictures are then compared with those words'
            support only.
        """
        self._check_fitted()
        alpha, columns = self.alpha_, np.arange(len(self.support_))
        if words is not None:
            alpha = alpha[self._scorer()._places(np.asarray(words, dtype=np.int64))]
            columns = np.flatnonzero(alpha.any(axis=0))
            alpha = alpha[:, columns]
        pictures = as_pictures(X, self.kernel_, self.n_pictures_)
        if self.kernel_ is not None:
            check_columns(pictures, self.n_features_in_, type(self).__name__)
        out = np.zeros((count(pictures), len(alpha)), dtype=np.float32)
        # In float32 the last digits of a sum would depend on where a picture stands in the block.
        weights = alpha.T.astype(np.float64)
        for block, similarities in self._similarities(pictures, columns):
            out[block] = similarities.astype(np.float64) @ weights
        return out

    def score(self, X: Any, y: Any, qid: Sequence[Any] | NDArray[Any] | None = None) -> float:
        """Return the mean AvgP of the queries that y, or y with qid, makes of these pictures.

        A query of unknown words puts pictures in no order, and counts what a random one would.
        """
        self._check_fitted()
        pictures = as_pictures(X, self.kernel_, self.n_pictures_)
        if self.kernel_ is not None:
            check_columns(pictures, self.n_features_in_, type(self).__name__)
        n, m = count(pictures), len(self.support_)
        self._check_table(n, m)
        rows = np.zeros((n, max(m, 1)), dtype=np.float32)
        for block, similarities in self._similarities(pictures, np.arange(m)):
            rows[block, :m] = similarities
        return self._scorer().score(rows, y, qid)

    def query(self, terms: Terms, weights: ArrayLike | None = None) -> Floats:
        """Return a query as weights over the support, by which similarities to it are summed.

        Parameters
        ----------
        terms : ndarray of int64
            Positions of words, or words where the ranker has their names.
        weights : array-like, optional
            The query vector's values; by default a unit vector of the words' idf.
        """
        self._check_fitted()
        return self._scorer().query(terms, weights)[: len(self.support_)]

    def support_of(self, word: int | str) -> Ints:
        """Return which training pictures have a weight for the word, ascending."""
        self._check_fitted()
        (place,) = self._scorer()._places(np.array([word]))
        support: Ints = self.support_[np.flatnonzero(self.alpha_[place])]
        return support

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs: the support's rows and their weights."""
        self._check_fitted()
        arrays: dict[str, NDArray[Any]] = {
            "alpha": self.alpha_,
            "support": self.support_,
            "idf": self.idf_,
        }
        arrays["n_pictures"] = np.array([self.n_pictures_])
        if self.words_ is not None:
            arrays["words"] = np.frombuffer("\n".join(self.words_).encode(), np.uint8)
        if self.kernel_ is not None:
            arrays |= kernel_to_arrays(self.kernel_)
        for i, rows in enumerate(self.support_rows_):
            arrays |= rows_to_arrays(f"rows.{i}", rows)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a ranker that scores as the one that gave these arrays."""
        kernel = kernel_from_arrays(arrays) if "kernels" in arrays else None
        names: Any = "precomputed" if kernel is None else kernel.names
        ranker = cls(kernel=names)
        n_views = 0 if kernel is None else len(kernel.names)
        words = None
        if "words" in arrays:
            words = tuple(arrays["words"].tobytes().decode().split("\n"))
        ranker.kernel_, ranker.idf_, ranker.words_ = kernel, arrays["idf"], words
        ranker.alpha_, ranker.support_ = arrays["alpha"], arrays["support"]
        ranker.classes_ = np.arange(len(ranker.alpha_))
        ranker.n_pictures_ = int(arrays["n_pictures"][0])
        ranker.support_rows_ = tuple(rows_from_arrays(f"rows.{i}", arrays) for i in range(n_views))
        return ranker

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: what the kernels of `kernel` take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.positive_only = input_kinds(self.kernel)
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse &= not tags.input_tags.pairwise
        return tags

    def _chosen(self, n: int) -> Ints | None:
        if self.landmarks is None:
            return None
        rng = np.random.default_rng(self.random_state)
        return np.sort(rng.choice(n, min(self.landmarks, n), replace=False))

    def _linear(self, kind: type[PAMIR]) -> PAMIR:
        """Return the ranker that learns, over rows of the kernel."""
        ranker = kind(**{name: getattr(self, name) for name in _SHARED})
        ranker._check()
        return ranker

    def _scorer(self) -> PAMIR:
        """Return this ranker as a linear ranker over similarities to the support."""
        ranker = self._linear(OverLandmarks)
        ranker.W_ = (
            self.alpha_ if len(self.support_) else np.zeros((len(self.alpha_), 1), np.float32)
        )
        ranker.idf_, ranker.words_ = self.idf_, self.words_
        ranker.classes_ = self.classes_
        return ranker

    def _keep(self, ranker: PAMIR, space: Space) -> None:
        alpha, places = space.alpha(ranker.W_)
        used = np.flatnonzero(alpha.any(axis=0))
        support = places[used]
        fitted = {k: v for k, v in vars(ranker).items() if k.endswith("_") and k != "W_"}
        fitted |= {
            "alpha_": np.ascontiguousarray(alpha[:, used]),
            "support_": support,
            "support_rows_": () if space.kernel is None else some(space.pictures, support),
            "kernel_": space.kernel,
            "n_pictures_": count(space.pictures),
            "n_negative_": getattr(ranker, "n_negative_", 0),
        }
        # All at once, so that an interrupted fit leaves what there was.
        vars(self).update(fitted)

    def _similarities(self, pictures: Any, columns: Ints) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of pictures' similarities to some of the support."""
        whole = len(columns) == len(self.support_)
        support = self.support_rows_ if whole else some(self.support_rows_, columns)
        for block in blocks(count(pictures)) if len(columns) else ():
            if self.kernel_ is None:
                yield block, pictures[block][:, self.support_[columns]]
            else:
                yield block, self.kernel_(some(pictures, block), support)

    def _check_table(self, n: int, m: int) -> None:
        instead = "Take fewer pictures at once, or raise the budget."
        check_budget(gram_bytes(n, m), self.budget, f"{n} by {m} pictures", instead)

    def _check(self) -> None:
        name = type(self).__name__
        for parameter, least in (("landmarks", 1), ("budget", 1), ("random_state", 0)):
            value = getattr(self, parameter)
            if parameter == "landmarks" and value is None:
                continue
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not (whole and value >= least):
                must_be = f"a whole number of at least {least}"
                raise ParameterError.of(parameter, name, must_be, value)
