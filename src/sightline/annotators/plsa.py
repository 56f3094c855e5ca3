"""PLSA: pictures as mixtures of aspects, each of which has its own words and visual terms.

Hofmann, "Unsupervised learning by probabilistic latent semantic analysis", Machine Learning 42,
2001, in two steps, words first (Monay and Gatica-Perez, "PLSA-based image auto-annotation:
constraining the latent space", ACM Multimedia 2004), as used by Grangier and Bengio, "A
discriminative kernel-based model to rank images from text queries", 2008:

    P(t|p) = sum_k P(k|p) P(t|k)

1. P(k|p) and P(t|k) maximise sum n(t,p) log P(t|p) of the training captions.
2. P(v|k) maximise sum n(v,p) log sum_k P(k|p) P(v|k), with these P(k|p).
3. A new picture has the P(k|p) that maximise the same sum of its own, with these P(v|k).

Each is by expectation and maximisation: with r_k the share of aspect k in P(t|p), the new P(t|k) is
in proportion to sum_p n(t,p) r_k, and P(k|p) to sum_t n(t,p) r_k. No iteration lowers the sum.

Departures: P(k|p) and P(v|k) start from equal shares, so that only P(t|k) is random, and steps 2
and 3, whose sums are concave, do not depend on chance. Visual terms that no training picture has
are dropped, training pictures without words are left out, and there are no more aspects than
pictures.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from sightline.annotators._counts import (
    CountAnnotator,
    Counts,
    as_pairs,
    check_share,
    check_whole,
)
from sightline.annotators.targets import mean_average_precision
from sightline.contracts import Progress
from sightline.errors import ParameterError
from sightline.progress import NoProgress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline._typing import Doubles


_SILENT = NoProgress()
_ASPECTS = 400
# Smaller shares are set to 0: they change no sum, and subnormal products are slow.
_FLOOR, _FLOOR_SERVED = 1e-60, 1e-30


class History(NamedTuple):
    """The log-likelihood before each iteration of step 1 and of step 2."""

    captions: list[float]
    visterms: list[float]


class PLSA(CountAnnotator):
    """P(t|p) by the aspects that a picture's visual terms imply.

    Parameters
    ----------
    n_aspects : int, default=400
        Number of aspects; lowered to the number of training pictures with words, with a warning
        where a number other than the default was given.
    n_iter : int, default=100
        The most iterations of each step.
    tol : float, default=0.0001
        A step ends where its log-likelihood changes by no more than this, relatively.
    validation_fraction : float, default=0.0
        0, or the share of pictures whose captions are withheld to find after how many iterations of
        step 1 words rank these pictures best; the step is then repeated, with all captions and no
        more iterations. Where tried, this ranked no better than `tol` alone. The likelihood of
        withheld captions would be a worse guide: it was best after 3 iterations, with three
        quarters of the mean AvgP that 16 to 32 of them gave.
    random_state : int, default=0
        Seed of the P(t|k) that step 1 starts from, and of the captions that are withheld.

    Attributes
    ----------
    classes_ : ndarray of shape (words,)
        The label of each word; its position, where y was a table.
    word_shares_ : ndarray
        P(t|k), (words, aspects).
    aspect_shares_ : ndarray
        P(k|p) of the training pictures that have words, (pictures, aspects).
    visterm_shares_ : ndarray
        P(v|k), (visterms, aspects), float32; zeros for what no training picture has.
    n_aspects_ : int
        Aspects there are.
    history_ : History
        Log-likelihoods of `captions` and `visterms` before each iteration.
    held_out_history_ : list of tuple of (int, float)
        (iterations of step 1, mean AvgP on pictures with withheld captions).
    n_visterms_, n_words_ : int
        Columns of X and Y.

    Examples
    --------
    >>> X, Y = [[3, 0, 1], [0, 2, 1], [0, 3, 0]], [[1, 0], [0, 1], [0, 1]]
    >>> model = PLSA(n_aspects=2).fit(X, Y)
    >>> model.decision_function([[2, 0, 0], [0, 1, 0]]).round(1)
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    GRID: ClassVar[tuple[dict[str, float | int], ...]] = tuple(
        {"n_aspects": n_aspects} for n_aspects in (50, 100, 200, 400)
    )
    """Hyperparameters worth validating; the paper's are 400 and, of 15,000 pictures, 600."""

    def __init__(
        self,
        *,
        n_aspects: int = _ASPECTS,
        n_iter: int = 100,
        tol: float = 1e-4,
        validation_fraction: float = 0.0,
        random_state: int = 0,
    ) -> None:
        self.n_aspects = n_aspects
        self.n_iter = n_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any, progress: Progress = _SILENT) -> Self:
        """Learn from counts X of visual terms and the words y pictures have, 0 or 1.

        y may also be one label for each picture, which is then a word.
        """
        self._check()
        counts, words, has_word, self.classes_ = as_pairs(X, y, "PLSA")
        self.n_visterms_, self.n_words_ = counts.shape[1], words.shape[1]
        self.n_aspects_ = min(self.n_aspects, words.shape[0])
        if self.n_aspects_ < self.n_aspects and self.n_aspects != _ASPECTS:
            lowered = (
                f"There are {self.n_aspects_} training pictures with words: PLSA takes as many"
            )
            warnings.warn(f"{lowered} aspects, not {self.n_aspects}.", stacklevel=2)
        self.held_out_history_: list[tuple[int, float]] = []
        n_iter = self.n_iter
        if self.validation_fraction:
            n_iter = self._n_caption_steps(counts[has_word], words)
        progress.start("aspects", n_iter + self.n_iter)
        step = _CaptionStep(words, self.n_aspects_, self.random_state)
        captions: list[float] = []
        while len(captions) < n_iter and not _has_settled(captions, self.tol):
            captions.append(step.iterate())
            progress.advance()
        self.word_shares_, self.aspect_shares_ = step.word_shares, step.aspect_shares
        self.visterm_shares_, visterms = _visterm_shares(
            counts[has_word], self.aspect_shares_, self.n_iter, self.tol, progress
        )
        progress.finish()
        self.history_ = History(captions, visterms)
        return self

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return P(t|k), P(v|k) and when to stop."""
        self._check_fitted()
        return {
            "words": self.word_shares_,
            "visterms": self.visterm_shares_,
            "settings": np.array([self.n_iter, self.tol], dtype=np.float64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model that `to_arrays` described."""
        n_iter, tol = arrays["settings"].tolist()
        model = cls(n_aspects=arrays["words"].shape[1], n_iter=int(n_iter), tol=tol)
        model._check()
        model.word_shares_, model.visterm_shares_ = arrays["words"], arrays["visterms"]
        model.n_words_, model.n_aspects_ = model.word_shares_.shape
        model.n_visterms_ = len(model.visterm_shares_)
        model.classes_ = np.arange(model.n_words_)
        return model

    def _probabilities(self, counts: Counts, words: NDArray[np.int64]) -> Doubles:
        shares = _folded_in(counts, self.visterm_shares_, self.n_iter, self.tol)
        return np.asarray(shares @ self.word_shares_[words].T)

    def _n_caption_steps(self, counts: Counts, words: Counts) -> int:
        """Return after how many iterations words rank pictures without captions best."""
        n = words.shape[0]
        n_held = min(int(np.ceil(self.validation_fraction * n)), n - 1)
        is_held = np.zeros(n, dtype=np.bool_)
        rng = np.random.default_rng([self.random_state, 1])
        is_held[rng.choice(n, n_held, replace=False)] = True
        if not n_held:
            return self.n_iter
        held, Y = counts[is_held], words[is_held].toarray().astype(np.float32)
        step = _CaptionStep(words[~is_held], min(self.n_aspects_, n - n_held), self.random_state)
        likelihoods: list[float] = []
        while len(likelihoods) < self.n_iter and not _has_settled(likelihoods, self.tol):
            likelihoods.append(step.iterate())
            n_done = len(likelihoods)
            if n_done & (n_done - 1) == 0 or n_done == self.n_iter:
                shares, _ = _visterm_shares(
                    counts[~is_held], step.aspect_shares, self.n_iter, self.tol
                )
                aspects = _folded_in(held, shares, self.n_iter, self.tol)
                scores = (aspects @ step.word_shares.T).astype(np.float32)
                avgp = mean_average_precision(scores, Y)
                self.held_out_history_.append((n_done, avgp))
        return max(self.held_out_history_, key=lambda trial: trial[1])[0]

    def _check(self) -> None:
        check_whole("n_aspects", "PLSA", self.n_aspects)
        check_whole("n_iter", "PLSA", self.n_iter)
        check_whole("random_state", "PLSA", self.random_state, least=0)
        check_share("tol", "PLSA", self.tol)
        check_share("validation_fraction", "PLSA", self.validation_fraction)
        if self.validation_fraction == 1:
            raise ParameterError.of(
                "validation_fraction", "PLSA", "from 0 to less than 1", self.validation_fraction
            )


class _CaptionStep:
    """EM of P(t|k) and P(k|p) for the likelihood of the captions."""

    def __init__(self, words: Counts, n_aspects: int, random_state: int) -> None:
        self.by_picture, self.by_word = _cells(words), _cells(words.T.tocsr())
        self.tagged = np.diff(self.by_word[0]) > 0
        shape = (words.shape[1], n_aspects)
        self.word_shares = np.random.default_rng(random_state).standard_exponential(shape)
        self.word_shares[~self.tagged] = 0.0
        _normalise(self.word_shares, self.tagged)
        self.aspect_shares = np.full((words.shape[0], n_aspects), 1.0 / n_aspects)

    def iterate(self) -> float:
        """Run one iteration, and return the log-likelihood before it."""
        from sightline.annotators._plsa_fast import half_step

        of_words = np.empty_like(self.word_shares)
        of_pictures = np.empty_like(self.aspect_shares)
        likelihood = half_step(*self.by_word, self.aspect_shares, self.word_shares, of_words)
        half_step(*self.by_picture, self.word_shares, self.aspect_shares, of_pictures)
        _normalise(of_words, self.tagged)
        _normalise(of_pictures.T, np.ones(of_pictures.shape[1], dtype=np.bool_))
        self.word_shares, self.aspect_shares = of_words, of_pictures
        return float(likelihood)


def _visterm_shares(
    counts: Counts, aspect_shares: Doubles, n_iter: int, tol: float, progress: Progress = _SILENT
) -> tuple[NDArray[np.float32], list[float]]:
    """Return P(v|k), and the log-likelihood before each iteration."""
    from sightline.annotators._plsa_fast import half_step

    by_visterm = _cells(counts.T.tocsr())
    present = np.diff(by_visterm[0]) > 0
    free = np.zeros((len(present), aspect_shares.shape[1]))
    _normalise(free, present)
    out = np.empty_like(free)
    history: list[float] = []
    while len(history) < n_iter and not _has_settled(history, tol):
        history.append(half_step(*by_visterm, aspect_shares, free, out))
        free, out = out, free
        _normalise(free, present)
        progress.advance()
    free[free < _FLOOR_SERVED] = 0.0
    return free.astype(np.float32), history


def _folded_in(
    counts: Counts, visterm_shares: NDArray[np.float32], n_iter: int, tol: float
) -> Doubles:
    """Return P(k|p) of new pictures."""
    from sightline.annotators._plsa_fast import fold_in

    shares = np.empty((counts.shape[0], visterm_shares.shape[1]))
    fold_in(*_cells(counts), visterm_shares, n_iter, tol, _FLOOR, shares)
    return shares


def _normalise(table: Doubles, present: NDArray[np.bool_]) -> None:
    """Divide each column by its sum; one that is empty has equal shares of what is present."""
    sums = table.sum(axis=0)
    table /= np.where(sums > 0, sums, 1.0)
    table[table < _FLOOR] = 0.0
    empty = ~table.any(axis=0)
    table[:, empty] = (present / max(int(present.sum()), 1))[:, None]


def _has_settled(history: list[float], tol: float) -> bool:
    return len(history) > 1 and history[-1] - history[-2] <= tol * abs(history[-2])


def _cells(counts: Counts) -> tuple[NDArray[np.int64], NDArray[np.int32], Doubles]:
    """Return where rows start, and the column and number of each cell."""
    start, index = counts.indptr.astype(np.int64), counts.indices.astype(np.int32)
    return start, index, np.asarray(counts.data, dtype=np.float64)
