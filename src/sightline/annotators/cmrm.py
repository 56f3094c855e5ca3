"""CMRM: the words of the training pictures whose visual terms explain a picture best.

Jeon, Lavrenko and Manmatha, "Automatic image annotation and retrieval using cross-media relevance
models", SIGIR 2003, as used by Grangier and Bengio, "A discriminative kernel-based model to rank
images from text queries", 2008. Each training picture J makes words and visual terms by shares that
are smoothed by those of all pictures (Jelinek and Mercer), and a picture of counts n_v is drawn
from J:

    P(t|p) = sum_J w_J P(t|J)        w_J = softmax_J( sum_v n_v log P(v|J) )
    P(t|J) = (1 - alpha) n(t,J) / n(J) + alpha n(t,.) / n(.)        P(v|J) likewise, with beta

log P(v|J) is log(beta n(v,.) / n(.)), the same for all J, and log(1 + …), which is 0 where J lacks
v; so the exponents are a product of sparse matrices, and nothing underflows.

Departures: the paper leaves open whether n(J) counts words and visual terms together, as the
original does; `joint_counts` selects that, and P(t|p) is then divided by its sum over words. A
training picture without visual terms has those of all pictures. Visual terms that no training
picture has are dropped, and training pictures without words are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sightline.annotators._counts import (
    CountAnnotator,
    Counts,
    as_pairs,
    check_share,
    row_of,
)
from sightline.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline._typing import Doubles


# Cells of the tables of leave-one-out that are held at once.
_CELLS = 1_000_000


class CMRM(CountAnnotator):
    """P(t|p) by the training pictures that resemble p.

    Parameters
    ----------
    alpha : float, default=0.5
        How much the words of all pictures count, from 0 to 1. With 0 a word may have a probability
        of 0. It adds the same to all pictures and so puts them in no other order, unless counts are
        joint; but next to it float32 cannot tell small differences apart.
    beta : float, default=0.1
        How much the visual terms of all pictures count, above 0 and up to 1, where all training
        pictures explain a picture equally well.
    joint_counts : bool, default=False
        Whether n(J) counts words and visual terms together.

    Attributes
    ----------
    classes_ : ndarray of shape (words,)
        The label of each word; its position, where y was a table.
    n_visterms_, n_words_ : int
        Columns of X and Y.
    n_pictures_ : int
        Training pictures that have a word.
    leave_one_out_ : ndarray of float32
        P(t|p) of the training pictures by a fit without each of them, computed on first access,
        (pictures, words), float32; a model made from arrays has none. Uniform for the only picture
        there is.

    Examples
    --------
    >>> X, Y = [[3, 0, 1], [0, 2, 1], [0, 3, 0]], [[1, 0], [0, 1], [0, 1]]
    >>> model = CMRM().fit(X, Y)
    >>> model.decision_function([[2, 0, 0], [0, 1, 1], [0, 0, 0]]).round(2)
    array([[0.66, 0.34],
           [0.19, 0.81],
           [0.33, 0.67]], dtype=float32)
    """

    GRID: ClassVar[tuple[dict[str, float | int], ...]] = tuple(
        {"alpha": alpha, "beta": beta, "joint_counts": joint}
        for joint in (False, True)
        for alpha in (0.0, 0.2, 0.5)
        for beta in (0.05, 0.1, 0.2, 0.5, 0.8)
    )
    """Hyperparameters worth validating, around the paper's (.5, .1) and (.2, .1)."""

    def __init__(
        self, *, alpha: float = 0.5, beta: float = 0.1, joint_counts: bool = False
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.joint_counts = joint_counts

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from counts X of visual terms and the words y pictures have, 0 or 1.

        y may also be one label for each picture, which is then a word.
        """
        self._check()
        counts, words, has_word, self.classes_ = as_pairs(X, y, "CMRM")
        self._learn(counts[has_word], words)
        self._training = counts, has_word
        self.__dict__.pop("leave_one_out_", None)
        return self

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the counts and words that were learned from, and the parameters."""
        self._check_fitted()
        counts, words = self._shares.counts, self._shares.words
        return {
            "settings": np.array([self.alpha, self.beta, self.joint_counts], dtype=np.float64),
            "lengths": np.array([counts.shape[1], words.shape[1]], dtype=np.int64),
            "visterm_start": counts.indptr.astype(np.int64),
            "visterm": counts.indices.astype(np.int32),
            # Counts were read as float32.
            "count": counts.data.astype(np.float32),
            "word_start": words.indptr.astype(np.int64),
            "word": words.indices.astype(np.int32),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model that `to_arrays` described."""
        from scipy.sparse import csr_array

        alpha, beta, joint = arrays["settings"].tolist()
        n_visterms, n_words = arrays["lengths"].tolist()
        model = cls(alpha=alpha, beta=beta, joint_counts=bool(joint))
        model._check()
        start, word = arrays["visterm_start"], arrays["word"]
        n = len(start) - 1
        parts = (arrays["count"], arrays["visterm"], start)
        counts = csr_array(parts, shape=(n, n_visterms), dtype=np.float64)
        tagged = (np.ones(len(word)), word, arrays["word_start"])
        model._learn(counts, csr_array(tagged, shape=(n, n_words)))
        model.classes_ = np.arange(n_words)
        return model

    @cached_property
    def leave_one_out_(self) -> NDArray[np.float32]:
        """P(t|p) of each training picture by a fit without it."""
        counts, has_word = self._training
        out = np.empty((len(has_word), self.n_words_), dtype=np.float32)
        out[~has_word] = self.decision_function(counts[~has_word])
        out[has_word] = self._shares.left_out()
        return out

    def _learn(self, counts: Counts, words: Counts) -> None:
        self._shares = _Shares(counts, words, self.alpha, self.beta, self.joint_counts)
        self.n_pictures_, self.n_visterms_ = counts.shape
        self.n_words_ = words.shape[1]
        self._log_ratio = self._shares.log_ratio()

    def _probabilities(self, counts: Counts, words: NDArray[np.int64]) -> Doubles:
        shares = self._shares
        logits = (counts @ self._log_ratio).toarray()
        logits += (counts @ shares.is_known)[:, None] * shares.advantage
        return shares.mixed(logits, words)

    def _check(self) -> None:
        check_share("alpha", "CMRM", self.alpha)
        check_share("beta", "CMRM", self.beta, least=0)
        if not isinstance(self.joint_counts, bool | np.bool_):
            raise ParameterError.of("joint_counts", "CMRM", "True or False", self.joint_counts)


class _Shares:
    """Counts of the training pictures and what they are divided by."""

    def __init__(
        self, counts: Counts, words: Counts, alpha: float, beta: float, joint: bool
    ) -> None:
        self.counts, self.words = counts, words
        self.alpha, self.beta = float(alpha), float(beta)
        self.n_words: Doubles = words.sum(axis=1)
        n_visterms: Doubles = counts.sum(axis=1)
        both: Doubles = self.n_words + n_visterms
        self.word_size = both if joint else self.n_words
        self.visterm_size = both if joint else n_visterms
        self.by_word: Doubles = words.sum(axis=0)
        self.by_visterm: Doubles = counts.sum(axis=0)
        self.is_known = (self.by_visterm > 0).astype(np.float64)
        # A picture whose share of v is that of all pictures has not been smoothed: it lacks the
        # factor beta that log_ratio leaves out for all others.
        self.advantage = np.where(self.visterm_size > 0, 0.0, -np.log(self.beta))

    def log_ratio(self) -> Counts:
        """Return log(P(v|J) / (beta n(v,.) / n(.))), (visterms, pictures)."""
        ratio = self.counts.copy()
        background = np.log(self.by_visterm[ratio.indices] / self.visterm_size.sum())
        ratio.data = _log_ratio(self._log_share(ratio), background, self.beta)
        return ratio.T.tocsr()

    def mixed(self, logits: Doubles, words: NDArray[np.int64]) -> Doubles:
        """Return P(t|p) of some words, given the exponents of the softmax; overwrites these."""
        tagged = (self.words[:, words], self.by_word[words])
        return self._mixed(logits, *tagged, self.by_word.sum(), self.word_size.sum())

    def left_out(self) -> Doubles:
        """Return P(t|p) of each picture by the counts of all others."""
        n, n_words = self.words.shape
        if n == 1:
            return np.full((1, n_words), 1.0 / n_words)
        out = np.empty((n, n_words))
        columns = self.counts.tocsc()
        log_share = self._log_share(columns)
        for rows in self._groups(np.diff(columns.indptr)):
            logits = self._logits_of_others(rows, columns, log_share)
            counts_left_out = self.words[rows].toarray()
            background = self.by_word - counts_left_out
            total = self.word_size.sum() - self.word_size[rows]
            out[rows] = self._mixed(logits, self.words, background, background.sum(axis=1), total)
        return out

    def _log_share(self, counts: Counts) -> Doubles:
        """Return log((1 - beta) n(v,J) / n(J)) of each cell."""
        cells = counts.tocoo()
        share = (1.0 - self.beta) * cells.data / self.visterm_size[cells.row]
        # Without a share of its own (beta 1) a picture is as good as any: a ratio of 1.
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(share))

    def _mixed(
        self, logits: Doubles, tagged: Counts, background: Doubles, all_words: Any, total: Any
    ) -> Doubles:
        """Return sum_J w_J P(t|J) over its sum of all words t.

        Where words and visual terms are counted together, the shares of words alone do not sum to
        1; all else equal, a picture with more words among what it holds counts for more.
        """
        logits -= logits.max(axis=1, keepdims=True)
        omega = np.exp(logits, out=logits)
        omega /= omega.sum(axis=1, keepdims=True)
        scale = (1.0 - self.alpha) / self.word_size
        # The sum over words of what is below, by picture.
        divisor = omega @ (scale * self.n_words) + self.alpha * all_words / total
        smoothing = self.alpha * background / np.reshape(total, (-1, 1))
        mixed = (tagged.T @ (omega * scale).T).T + smoothing
        return np.asarray(mixed / divisor[:, None])

    def _groups(self, n_holders: NDArray[np.int64]) -> Iterator[slice]:
        """Yield pictures, as many as have some million cells in the columns of their terms."""
        n = self.counts.shape[0]
        cells = np.cumsum(np.bincount(row_of(self.counts), n_holders[self.counts.indices], n) + n)
        ends = np.append(np.flatnonzero(np.diff(cells // _CELLS)) + 1, n)
        for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
            yield slice(int(start), int(end))

    def _logits_of_others(self, rows: slice, columns: Counts, log_share: Doubles) -> Doubles:
        """Return the exponents of all pictures for some of them, with each one left out."""
        part, n = self.counts[rows], self.counts.shape[0]
        held = np.diff(columns.indptr)[part.indices]
        row, visterm, count = (
            values[held > 1] for values in (row_of(part), part.indices, part.data)
        )
        others = self.by_visterm[visterm] - count
        background = np.log(others / (self.visterm_size.sum() - self.visterm_size[rows][row]))
        length = held[held > 1]
        cell = np.repeat(np.arange(len(row)), length)
        place = np.arange(len(cell)) + np.repeat(
            columns.indptr[visterm] - (np.cumsum(length) - length), length
        )
        ratio = _log_ratio(log_share[place], background[cell], self.beta)
        into = row[cell] * n + columns.indices[place]
        m = part.shape[0]
        logits = np.asarray(np.bincount(into, ratio * count[cell], m * n), dtype=np.float64)
        logits = logits.reshape(m, n)
        known = np.bincount(row, count, m)
        logits += known[:, None] * self.advantage
        logits[np.arange(m), np.arange(rows.start, rows.stop)] = -np.inf
        return logits


def _log_ratio(log_share: Doubles, log_background: Doubles, beta: float) -> Doubles:
    """Return log(1 + share / (beta background)), whatever the sizes of these."""
    return np.asarray(np.logaddexp(0.0, log_share - np.log(beta) - log_background))
