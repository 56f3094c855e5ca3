"""PAMIR: a linear ranker of pictures for queries of words, learned from triplets.

Grangier and Bengio, "A discriminative kernel-based model to rank images from text queries", IEEE
Transactions on Pattern Analysis and Machine Intelligence 30(8), 2008. Each word t has weights w_t
over the picture's features, and a query q scores a picture p by

    F(q, p) = q . W p = sum_t q_t (w_t . p)

W is learned by one passive-aggressive step (`solvers.pa_step`) for each drawn triplet of a query, a
picture p+ that fits it and one that does not, p-, on x = q (p+ - p-)', so that F(q, p+) >= F(q, p-)
+ 1:

    W <- W + min(C, (1 - F(q, p+) + F(q, p-)) / (||q||^2 ||p+ - p-||^2)) q (p+ - p-)'

It starts from W = 0 and stops where the mean AvgP of validation queries is best.

Departures: triplets are learned from in the order of their queries within a block
(`pairs_per_query`, 1 is the paper; `solvers.triplets` has the reason); without validation the
number of steps follows the number of relevant pictures. Judgements may have grades, whose
difference is then the margin in place of 1 (`solvers.graded`), and training stops by NDCG. Pictures
may be divided into shards that learn in parallel (`rankers.sharded`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Json, Mapper, Progress
from sightline.errors import DataError, ParameterError, UsageError
from sightline.progress import NoProgress
from sightline.rankers.ndcg import Swaps
from sightline.rankers.sharded import ShardedLoop
from sightline.rankers.training import (
    MOST_BYTES,
    BlockLoop,
    Loop,
    Rows,
    ValidationSet,
    Weights,
    check_bytes,
    pictures_in_cache,
    pictures_of_a_block,
    rounds_of,
    train_until_best,
)
from sightline.rankers.word_weights import WordWeights
from sightline.records import QuerySet
from sightline.solvers.graded import Grading, check_grading
from sightline.solvers.mixing import Mix, check_mixing
from sightline.solvers.pa_step import Variant, check_aggressiveness, variant_number
from sightline.solvers.rows import RowBlocks, as_rows
from sightline.solvers.targets import (
    QueryWords,
    Targets,
    from_indicator,
    from_judgements,
    from_queries,
)
from sightline.solvers.triplets import Sampling, TripletSampler
from sightline.validation import Classes, as_indicator, check_labels, check_shape, class_labels

# The paper's 2.53 million steps are 66 for each of its queries' relevant pictures.
_STEPS_PER_RELEVANT, _LEAST_STEPS = 64, 20_000
_LEAST_ROUND = 1_000
_SILENT = NoProgress()


class PAMIR(WordWeights):
    """A linear ranker of pictures for queries of words.

    Parameters
    ----------
    C : float, default=0.1
        Aggressiveness, greater than 0: no step is longer than this ("PA-I").
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        "PA", "PA-I" (the paper) or "PA-II".
    n_iter : int, default=3000000
        The most triplets to learn from.
    eval_every : int, default=100000
        Triplets between two evaluations on the validation pictures.
    patience : int, default=3
        Training ends after this many validations without a better mean AvgP.
    pairs_per_query : int, default=8
        Triplets of a query that are learned from in a row, on average; 1 is the paper, in the order
        in which they are drawn, and takes three times as long.
    sampling : {"query", "triplet"}, default="query"
        "query" draws queries uniformly, "triplet" draws triplets uniformly.
    averaged : bool, default=False
        Serve the mean of the weights after each triplet instead of the last ones.
    max_len : int, default=1
        Words that a query made from a table of pictures and words may have.
    random_state : int or numpy.random.Generator or None, default=0
        Seed of the draws; the same number gives the same weights, byte for byte.
    grades : {"binary", "linear", "exponential"}, default="binary"
        Of judgements with a qid: "binary" asks whether they are above 0; "linear" and "exponential"
        compare all that differ, by the difference of r or of 2^r - 1, the largest of which is a
        margin of 1.
    weight : {"ndcg"}, optional
        "ndcg" multiplies C by what changing places of the two pictures would change of NDCG, the
        largest change in a query being 1. It needs grades; ranks are updated once a portion of some
        ten thousand triplets.
    max_bytes : int, default=2147483648
        The most memory that weights may take while they are learned.
    shards, mix, mix_every : int or {"add", "mean"}
        Parts of the pictures that learn in parallel, 1 for none; "add" what they change or take the
        "mean" (`solvers.mixing`); triplets of a round, by default five for every two pictures.
        Judgements with a qid are learned in one part.

    Attributes
    ----------
    classes_ : ndarray of shape (words,)
        The label of each word; its position, where y was a table.
    W_ : ndarray of shape (words, features)
        In float32. A word that no training query holds has zeros.
    words_ : tuple of str or None
        The words by position, where queries were given as strings; else None.
    idf_ : ndarray
        How much each word counts in a query.
    n_iter_, best_iter_ : int
        Triplets learned from, and after how many `W_` was taken.
    best_score_ : float
        Mean AvgP, or with grades NDCG, on the validation pictures then; NaN without any.
    history_ : list of tuple of (int, float)
        (triplets, mean AvgP or NDCG) at each evaluation.
    n_updates_, n_zero_, n_rejected_ : int
        Triplets that changed the weights, whose pictures are the same, and whose numbers
        overflowed.
    n_dropped_ : int
        Queries not learned from, for want of a relevant or an other picture.

    Examples
    --------
    >>> X, y = [[1, 0, 0], [0, 1, 0], [1, 0, 1]], [[1, 0], [0, 1], [1, 0]]
    >>> ranker = PAMIR(C=1.0).fit(X, y)
    >>> ranker.score(X, y)
    1.0
    >>> ranker.query([0]).round(1).tolist()
    [0.5, -0.5, 0.0]
    """

    _name: ClassVar[str] = "PAMIR"
    # Features that no picture has.
    _n_virtual: ClassVar[int] = 0

    def __init__(
        self,
        *,
        C: float = 0.1,
        variant: Variant = "PA-I",
        n_iter: int = 3_000_000,
        eval_every: int = 100_000,
        patience: int = 3,
        pairs_per_query: int = 8,
        sampling: Sampling = "query",
        averaged: bool = False,
        max_len: int = 1,
        random_state: int | np.random.Generator | None = 0,
        grades: Grading = "binary",
        weight: Literal["ndcg"] | None = None,
        max_bytes: int = MOST_BYTES,
        shards: int = 1,
        mix: Mix = "add",
        mix_every: int | None = None,
    ) -> None:
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
        self.grades = grades
        self.weight = weight
        self.max_bytes = max_bytes
        self.shards = shards
        self.mix = mix
        self.mix_every = mix_every

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
        compute: Mapper | None = None,
    ) -> Self:
        """Learn from pictures and what fits them.

        Parameters
        ----------
        X : array-like of shape (pictures, features)
            Dense or scipy's sparse.
        y : array-like of shape (pictures, words) or (pictures,), optional
            With 1 where a word fits, dense or sparse; or one label for each picture, which is then
            a word; or, with `qid`, the relevance of each row to its query, above 0 for relevant; or
            `Targets`.
        qid : array-like, optional
            The query each row is judged for: a whole number, which is then a word of its own, or a
            string of words. Only rows of the same query are compared.
        validation : tuple of array-like, optional
            Pictures to stop by: (X, y), (X, y, qid) or (X, queries). Without it, training takes 64
            steps for each relevant picture of a query, at least 20,000 and at most the parameter
            `n_iter`.
        queries, n_words : QuerySet or int
            Queries over the rows of X made by the caller, in place of y, and the size of their
            vocabulary.
        n_iter : int, optional
            Number of triplets, such as were best before; the maximum, with validation.
        progress : Progress, optional
            Notified of how many triplets are done.
        compute : Mapper, optional
            Where shards learn; in this process by default.
        """
        self._check()
        rows = as_rows(X, self._name)
        targets = self._targets(rows, y, qid, queries, n_words)
        classes = class_labels(y, qid, targets.n_words)
        held = self._held_out(validation, rows, targets.vocabulary, classes)
        weights = self._no_weights(rows, targets, held)
        self._train(rows, targets, weights, held, n_iter, progress=progress, compute=compute)
        self._remember(targets, classes)
        return self

    def fit_blocks(
        self, rows: RowBlocks, y: Any, *, n_iter: int | None = None, progress: Progress = _SILENT
    ) -> Self:
        """Learn from rows that are read in blocks, as those of a file that memory does not hold.

        Parameters
        ----------
        rows : RowBlocks
            Dense rows, finite; some thousand neighbours by neighbours are read at a time.
        y : array-like of shape (pictures, words)
            With 1 where a word fits, dense or sparse.
        n_iter : int, optional
            Number of triplets; as in `fit` by default.
        progress : Progress, optional
            Notified of how many triplets are done.
        """
        self._check()
        if self.max_len > 1 or self.pairs_per_query == 1 or self.shards > 1:
            must_be = "1, with several pairs a query and one shard, to learn from blocks"
            raise ParameterError.of("max_len", self._name, must_be, self.max_len)
        n, length = rows.shape
        check_shape((n, 1), self._name, min_samples=2)
        table, _ = as_indicator(y, self._name)
        targets = from_indicator(table, n)
        check_bytes(targets.n_words, length, self.averaged, False, self.max_bytes, self._name)
        weights = Weights.zeros(targets.n_words, length, self.averaged)
        sampler = TripletSampler(
            targets, self.sampling, self.pairs_per_query, self.random_state,
            rounds=rounds_of(targets, weights), among=pictures_of_a_block(rows),
        )  # fmt: skip
        variant = variant_number(self.variant, self._name)
        loop = BlockLoop(rows, sampler, weights, float(self.C), variant)
        steps = self._n_steps(targets, sampler, None) if n_iter is None else n_iter
        progress.start("training", self._whole("n_iter", steps))
        loop.run(steps, progress)
        progress.finish()
        self._keep(loop, sampler, weights, weights, [])
        self._remember(targets, class_labels(y, None, targets.n_words))
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        qid: Sequence[Any] | NDArray[Any] | None = None,
        *,
        queries: QuerySet | None = None,
        n_words: int | None = None,
        n_iter: int | None = None,
    ) -> Self:
        """Continue training from the current weights, with `n_iter` more triplets.

        A first call fits; later ones take the same features and words.
        """
        self._check()
        vocabulary = self._query_words() if hasattr(self, "W_") else None
        if vocabulary and not hasattr(self, "_weights"):
            raise UsageError(
                f"This {self._name} was loaded for scoring alone. Call fit to train anew."
            )
        rows = as_rows(X, self._name, None if vocabulary is None else self.W_.shape[1])
        labels = self.classes_ if vocabulary else None
        targets = self._targets(rows, y, qid, queries, n_words, vocabulary, True, labels)
        weights = self._weights.copy() if vocabulary else self._no_weights(rows, targets)
        self._train(rows, targets, weights, None, n_iter, state=self._drawn if vocabulary else None)
        if vocabulary is None:
            self._remember(targets, class_labels(y, qid, targets.n_words))
        return self

    def score(self, X: Any, y: Any, qid: Sequence[Any] | NDArray[Any] | None = None) -> float:
        """Return the mean AvgP of the queries that y, or y with qid, makes of these pictures.

        Where judgements have grades, it is the mean NDCG. A query of unknown words puts pictures in
        no order, and counts what a random one would.
        """
        self._check_fitted()
        rows = as_rows(X, self._name, self.W_.shape[1])
        targets = self._targets(
            rows, y, qid, None, None, self._query_words(), classes=self.classes_
        )
        if not len(targets.queries.term):
            raise DataError(f"{self._name} was fitted to none of these words.")
        return ValidationSet(rows, targets).quality(self.W_)

    def _query_words(self) -> QueryWords:
        return QueryWords(self.idf_, self.words_)

    def _remember(self, targets: Targets, classes: Classes) -> None:
        self.classes_ = classes
        self.idf_, self.words_ = targets.vocabulary
        self._unit = None if targets.graded is None else targets.graded.unit

    def _no_weights(
        self, rows: Rows, targets: Targets, held: ValidationSet | None = None
    ) -> Weights:
        size = targets.n_words, rows.shape[1] + self._n_virtual
        check_bytes(*size, self.averaged, held is not None, self.max_bytes, self._name)
        return Weights.zeros(*size, self.averaged)

    def _targets(
        self,
        rows: Rows,
        y: Any,
        qid: Any,
        queries: QuerySet | None,
        n_words: int | None,
        vocabulary: QueryWords | None = None,
        strict: bool = False,
        classes: Classes | None = None,
    ) -> Targets:
        """Return what to learn, or to judge by, in the vocabulary there is if one is known."""
        n = rows.shape[0]
        check_shape((n, 1), self._name, min_samples=2)
        if isinstance(y, Targets):
            return y
        if isinstance(y, QuerySet):
            queries = y
        if queries is not None:
            return from_queries(queries, n, n_words if vocabulary is None else len(vocabulary.idf))
        if y is None or qid is None:
            table, labels = as_indicator(y, self._name, classes)
            if strict and classes is not None and np.ndim(y) == 1:
                check_labels(y, labels)
            return from_indicator(table, n, self.max_len, vocabulary)
        unit = None if vocabulary is None else getattr(self, "_unit", None)
        if vocabulary is None and n_words is not None:
            vocabulary = QueryWords(np.ones(n_words))
        return from_judgements(y, qid, n, vocabulary, strict, self.grades, unit)

    def _held_out(
        self,
        validation: tuple[Any, ...] | None,
        rows: Rows,
        vocabulary: QueryWords,
        classes: Classes | None = None,
    ) -> ValidationSet | None:
        if validation is None:
            return None
        if not isinstance(validation, tuple) or len(validation) not in (2, 3):
            must_be = "(X, y), (X, y, qid) or (X, queries)"
            raise ParameterError.of("validation", "fit", must_be, type(validation).__name__)
        held = as_rows(validation[0], self._name, rows.shape[1])
        qid = validation[2] if len(validation) == 3 else None
        targets = self._targets(held, validation[1], qid, None, None, vocabulary, classes=classes)
        if not len(targets.queries.relevant):
            raise DataError("No validation query has a relevant picture to judge by.")
        return ValidationSet(held, targets)

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
        sampler = TripletSampler(
            targets, self.sampling, self.pairs_per_query, self.random_state,
            rounds=rounds_of(targets, weights), among=self._among(rows, targets),
        )  # fmt: skip
        loop: Loop | ShardedLoop = self._loop(rows, sampler, weights)
        if self.shards > 1:
            loop = self._sharded(rows, targets, weights, compute)
        if state is not None:
            loop.state = state
        steps = self._n_steps(targets, sampler, held) if n is None else self._whole("n_iter", n)
        history: list[tuple[int, float]] = []
        progress.start("training", steps)
        if held is None:
            loop.run(steps, progress)
            best = weights
        else:
            best, history = train_until_best(
                loop, steps, self.eval_every, self.patience, held, progress
            )
        progress.finish()
        self._keep(loop, sampler, weights, best, history)

    def _keep(
        self,
        loop: Loop | ShardedLoop,
        sampler: TripletSampler,
        weights: Weights,
        best: Weights,
        history: list[tuple[int, float]],
    ) -> None:
        self.n_iter_, self.best_iter_, self.n_dropped_ = (
            weights.n_triplets,
            best.n_triplets,
            sampler.n_dropped,
        )
        self.history_, self.best_score_ = history, max((s for _, s in history), default=math.nan)
        _, self.n_updates_, self.n_zero_, self.n_rejected_ = best.counts.tolist()
        self.W_, self._weights, self._drawn = best.served(), best, loop.state

    def _among(self, rows: Rows, targets: Targets) -> int:
        """Return how many pictures a portion of triplets has, 0 for all."""
        return pictures_in_cache(rows, targets)

    def _loop(self, rows: Rows, sampler: TripletSampler, weights: Weights) -> Loop:
        graded = sampler.targets.graded
        shares = None
        if graded is not None and self.weight == "ndcg":
            shares = Swaps(rows, sampler.targets).shares
        variant = variant_number(self.variant, self._name)
        return Loop(rows, sampler, weights, float(self.C), variant, shares)

    def _sharded(
        self, rows: Rows, targets: Targets, weights: Weights, compute: Mapper | None
    ) -> ShardedLoop:
        settings: dict[str, Json] = {
            "C": float(self.C), "variant": variant_number(self.variant, self._name),
            "sampling": self.sampling, "pairs_per_query": int(self.pairs_per_query),
        }  # fmt: skip
        every = self.mix_every or max(_LEAST_ROUND, 5 * rows.shape[0] // 2)
        return ShardedLoop(
            rows, targets, weights, settings, self.random_state, self.shards, self.mix, every,
            compute,
        )  # fmt: skip

    def _n_steps(
        self, targets: Targets, sampler: TripletSampler, held: ValidationSet | None
    ) -> int:
        if held is not None:
            return self.n_iter
        relevant = int(np.diff(targets.queries.relevant_start)[sampler.usable].sum())
        return min(self.n_iter, max(_LEAST_STEPS, _STEPS_PER_RELEVANT * relevant))

    def _check(self) -> None:
        check_aggressiveness(self.C, self._name)
        variant_number(self.variant, self._name)
        for name in ("n_iter", "eval_every", "patience", "pairs_per_query", "max_len", "max_bytes"):
            self._whole(name, getattr(self, name))
        if self.sampling not in ("query", "triplet"):
            raise ParameterError.of("sampling", self._name, "'query' or 'triplet'", self.sampling)
        check_grading(self.grades, self._name)
        every = 1 if self.mix_every is None else self.mix_every
        check_mixing(self.shards, self.mix, every, self._name)
        if self.weight not in (None, "ndcg") or (self.weight and self.grades == "binary"):
            must_be = "None, or 'ndcg' where grades are not 'binary'"
            raise ParameterError.of("weight", self._name, must_be, self.weight)

    def _whole(self, name: str, value: Any) -> int:
        return _whole(name, value, self._name)


def _whole(name: str, value: Any, owner: str = "PAMIR") -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError.of(name, owner, "a whole number of at least 1", value)
    return int(value)
