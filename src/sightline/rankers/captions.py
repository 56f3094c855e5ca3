"""Rankers across kinds, learned from the words on pictures.

`lscmr`, `ssi` and `cca` rank between any two kinds of rows. Here one kind is texts: the words of a
picture weighted by how rare they are, as a unit vector, whether they are one word or an article.
They learn from two kinds of lists,

    captions   a picture's words ask for pictures that share one of them, `n_candidates` at random
    words      a single word asks for some that have it, among others that do not

with about as many of either kind, so that rare words count: with one list a word the mean AvgP of
Corel5K's words was .36 on validation pictures described by a network, with ten .46 (PAMIR: .52).
CCA needs no lists, only the pairs. The fitted ranker maps words and pictures into one space, so
that the score of a word is an inner product there, and an article is the sum of its words.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Ints
from sightline.contracts import PersistentEstimator
from sightline.errors import DataError
from sightline.rankers.cca import CCA
from sightline.rankers.low_rank import TwoSided, as_side
from sightline.rankers.lscmr import LSCMR
from sightline.rankers.ssi import SSI
from sightline.solvers.structural import STOPS, TrainingRound
from sightline.validation import as_indicator

_MOST_LISTS = 20_000
_MOST_TAGGED, _MOST_REPEATS = 10, 20


class Captions(PersistentEstimator):
    """A ranker across kinds as a ranker of pictures for words.

    Attributes
    ----------
    classes_ : ndarray of shape (words,)
        The label of each word; its position, where y was a table.
    idf_ : ndarray
        How rare each word is.
    ranker_ : TwoSided
        What was fitted; its queries are texts, its documents pictures.
    """

    _kind: ClassVar[type[Any]]
    _saved = ("classes_",)
    n_components: int

    def fit(
        self, X: Any, y: Any, *, on_round: Callable[[TrainingRound], None] | None = None
    ) -> Self:
        """Learn from rows of pictures, and the words of each, (pictures, words).

        There are at most as many dimensions as words or columns. `on_round` is called with each
        round, by rankers that have any.
        """
        X = as_side(X, "X", type(self).__name__, min_samples=2)
        table, self.classes_ = as_indicator(y, type(self).__name__)
        labels = _as_labels(table)
        if labels.shape[0] != X.shape[0]:
            raise DataError(f"{X.shape[0]} pictures need words of as many. Got {labels.shape[0]}.")
        counts = np.asarray(labels.sum(axis=0)).ravel()
        self.idf_ = np.where(
            counts > 0, np.log1p(labels.shape[0] / np.maximum(counts, 1)), 0.0
        ).astype(np.float32)
        texts = as_texts(labels, self.idf_)
        k = min(self.n_components, labels.shape[1], X.shape[1])
        self.ranker_ = self._fitted(texts, X, labels, k, on_round)
        return self

    @abstractmethod
    def _fitted(
        self,
        texts: Any,
        X: Any,
        labels: Any,
        k: int,
        on_round: Callable[[TrainingRound], None] | None,
    ) -> TwoSided: ...

    @property
    def n_features_in_(self) -> int:
        """Number of columns that X had in `fit`."""
        return self.ranker_.n_document_features_

    def decision_function(self, X: Any, words: Ints | None = None) -> Floats:
        """Return the score of each word, or of the words at some positions, for each picture."""
        self._check_fitted()
        rows = as_side(X, "X", type(self).__name__, self.n_features_in_)
        product: Floats = self.ranker_.embed(rows) @ self.word_points(words).T
        return product

    def word_points(self, words: Ints | None = None) -> Floats:
        """Return words as points of the shared space, (words, k)."""
        from scipy.sparse import identity

        self._check_fitted()
        rows = identity(len(self.idf_), format="csr")
        return self.ranker_.embed_queries(rows if words is None else rows[words])

    def text_points(self, labels: Any) -> Floats:
        """Return texts, given by the words of each, as points of the shared space, (texts, k).

        Words may be counted; a text of none lies at 0.
        """
        self._check_fitted()
        texts = as_texts(labels, self.idf_)
        has_words = np.diff(texts.indptr) > 0
        points = np.zeros(
            (len(has_words), self.word_points(np.zeros(1, np.int64)).shape[1]), np.float32
        )
        if has_words.any():
            points[has_words] = self.ranker_.embed_queries(texts[has_words])
        return points

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs."""
        self._check_fitted()
        return {"caption_idf": self.idf_, **self.ranker_.to_arrays()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted ranker as far as scoring goes, with default parameters."""
        ranker = cls()
        ranker.idf_ = np.asarray(arrays["caption_idf"])
        ranker.classes_ = np.arange(len(ranker.idf_))
        ranker.ranker_ = cls._kind.from_arrays(arrays)
        return ranker


class CaptionLSCMR(Captions):
    """`LSCMR` between captions and pictures.

    Parameters
    ----------
    n_components : int, default=64
        Dimensions of the shared space, at most.
    lam : float, default=0.0001
        As of `LSCMR`.
    optimise : str, default="map"
        As of `LSCMR`.
    max_rounds : int, default=100
        As of `LSCMR`.
    random_state : int, default=0
        As of `LSCMR`.
    n_candidates : int, default=40
        Candidates of a list.

    Examples
    --------
    >>> X, Y = np.eye(4), np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> ranker = CaptionLSCMR(lam=0.01).fit(X, Y)
    >>> ranker.decision_function(X).argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """

    _kind: ClassVar[type[Any]] = LSCMR

    def __init__(
        self,
        *,
        n_components: int = 64,
        lam: float = 1e-4,
        optimise: str = "map",
        n_candidates: int = 40,
        max_rounds: int = 100,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.lam = lam
        self.optimise = optimise
        self.n_candidates = n_candidates
        self.max_rounds = max_rounds
        self.random_state = random_state

    def _fitted(
        self,
        texts: Any,
        X: Any,
        labels: Any,
        k: int,
        on_round: Callable[[TrainingRound], None] | None,
    ) -> LSCMR:
        Q, lists = with_words(texts, labels, self.n_candidates, self.random_state)
        ranker = LSCMR(
            n_components=k,
            lam=self.lam,
            optimise=self.optimise,
            max_rounds=self.max_rounds,
            random_state=self.random_state,
        )
        ranker.fit(Q, X, *lists, on_round=on_round)
        self.objective_, self.violation_ = ranker.objective_, ranker.violation_
        self.course_ = np.array(
            [[r.penalty, r.violation, r.objective] for r in ranker.rounds_], np.float32
        )
        self.rounds_, self.stop_reason_ = ranker.rounds_, ranker.stop_reason_
        self.n_dropped_, self.n_empty_ = ranker.n_dropped_, ranker.n_empty_
        return ranker

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs, and how training went.

        `solvers.structural.course_said` reads the latter.
        """
        arrays = super().to_arrays()
        stop = np.array(STOPS.index(self.stop_reason_))
        return {**arrays, "course": self.course_, "stop": stop}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted ranker as far as scoring goes, and how its training went."""
        ranker = super().from_arrays(arrays)
        if "course" in arrays:
            ranker.course_, ranker.stop_reason_ = arrays["course"], STOPS[int(arrays["stop"])]
        return ranker


class CaptionSSI(Captions):
    """`SSI` between captions and pictures; parameters as of `CaptionLSCMR` and `SSI`."""

    _kind: ClassVar[type[Any]] = SSI

    def __init__(
        self,
        *,
        n_components: int = 64,
        eta: float = 0.01,
        n_iter: int = 500_000,
        n_candidates: int = 40,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.eta = eta
        self.n_iter = n_iter
        self.n_candidates = n_candidates
        self.random_state = random_state

    def _fitted(
        self,
        texts: Any,
        X: Any,
        labels: Any,
        k: int,
        on_round: Callable[[TrainingRound], None] | None,
    ) -> SSI:
        Q, lists = with_words(texts, labels, self.n_candidates, self.random_state)
        ranker = SSI(
            n_components=k, eta=self.eta, n_iter=self.n_iter, random_state=self.random_state
        )
        return ranker.fit(Q, X, *lists)


class CaptionCCA(Captions):
    """`CCA` between captions and pictures, which come in pairs."""

    _kind: ClassVar[type[Any]] = CCA

    def __init__(self, *, n_components: int = 64, kappa: float = 0.1, max_rank: int = 200) -> None:
        self.n_components = n_components
        self.kappa = kappa
        self.max_rank = max_rank

    def _fitted(
        self,
        texts: Any,
        X: Any,
        labels: Any,
        k: int,
        on_round: Callable[[TrainingRound], None] | None,
    ) -> CCA:
        while True:
            try:
                return CCA(n_components=k, kappa=self.kappa, max_rank=self.max_rank).fit(texts, X)
            except DataError:
                # Rows may differ in fewer directions than they have columns.
                if k == 1:
                    raise
                k = max(1, k // 2)


def as_texts(labels: Any, idf: Floats) -> Any:
    """Return the words of each picture weighted by idf, as unit vectors; scipy's CSR."""
    from scipy.sparse import csr_matrix, diags

    rows = csr_matrix(labels, dtype=np.float64) @ diags(idf.astype(np.float64))
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return csr_matrix(diags(1.0 / np.where(lengths > 0, lengths, 1.0)) @ rows)


def with_words(texts: Any, labels: Any, n: int, seed: int) -> tuple[Any, tuple[Any, Any, Ints]]:
    """Return captions and, below them, single words as queries; and lists of both.

    Lists are candidates, which of them are relevant, and the row of each list's query.
    """
    from scipy.sparse import identity, vstack

    rng = np.random.default_rng(seed)
    pictures, words = labels.shape
    sampled = np.arange(pictures)
    if pictures > _MOST_LISTS:
        sampled = np.sort(rng.choice(pictures, _MOST_LISTS, replace=False))
    n = min(n, pictures)
    drawn = [np.sort(rng.choice(pictures, n, replace=False)) for _ in sampled]
    shared = [
        np.asarray((labels[rows] @ labels[i].T).todense()).ravel() > 0
        for i, rows in zip(sampled, drawn, strict=True)
    ]
    by_word = labels.tocsc()
    repeats = min(_MOST_REPEATS, max(1, len(sampled) // words))
    for word in np.tile(np.arange(words), repeats):
        tagged = by_word.indices[by_word.indptr[word] : by_word.indptr[word + 1]]
        few = rng.permutation(tagged)[:_MOST_TAGGED]
        others = np.setdiff1d(rng.choice(pictures, n, replace=False), tagged)
        drawn.append(np.concatenate([few, others]).astype(np.int64))
        shared.append(np.arange(len(drawn[-1])) < len(few))
    query = np.concatenate([sampled, np.tile(pictures + np.arange(words), repeats)])
    return vstack([texts, identity(words, format="csr")], format="csr"), (drawn, shared, query)


def _as_labels(Y: Any) -> Any:
    from scipy.sparse import csr_matrix

    labels = csr_matrix(Y, dtype=np.float64, copy=True)
    labels.data[:] = labels.data > 0
    labels.eliminate_zeros()
    if not labels.nnz:
        raise DataError("No picture has a word, so there is nothing to learn from.")
    return labels
