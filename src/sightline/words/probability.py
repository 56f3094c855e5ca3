"""From the score of a query to the probability that a picture fits it.

A way to combine words makes scores that rank well, which are not yet probabilities (`combination`).
With s the score of a query, W the sum of its weights and r = s / W its mean published number, the
base logit x of a picture is r, or for a product, where r is the log of a geometric mean,
log(e^r / (1 - e^r)). Platt's curves of the words t, weighted as in the query, and what n
independent words would have together give

    v = logit(sigmoid(a x + b)^n)        a = mean_w a_t, b = mean_w b_t

and the probability is a beta calibration of it (Kull, Silva Filho and Flach, "Beta calibration: a
well-founded and easily implemented improvement on logistic calibration", 2017),

    logit P = u_n log sigmoid(v) - w_n log sigmoid(-v) + c_n        u_n, w_n > 0

with one (u, w, c) for all words, one for queries of two words, and one for those of more. The first
corrects what a line in the logit leaves where people look, at the first hits. The others correct
independence too: words of one picture come together. All have a normal prior at (1, 1, 0), which
changes nothing, so that few examples do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Queries of one word, of two, and of more have a beta calibration each.
LENGTHS = 3
# The first hits of each query count one by one. Of the rest as many are drawn, and together they
# count as much: they keep the low end of the curve in place.
_FIRST_HITS = 20
_PRIOR = np.array([1.0, 1.0, 0.0])
_VARIANCE_OF_WORDS = np.array([0.1, 0.1, 0.1])
_VARIANCE_OF_SETS = np.array([0.1, 0.1, 1.0])
_LEAST_SLOPE = 0.05
_NEWTON_STEPS = 50
# A logit beyond this is certain in float64.
MOST_LOGIT = 36.0


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityCurves:
    """What turns scores of queries into probabilities.

    Attributes
    ----------
    slope, offset : ndarray of float64
        Platt's curve of each word.
    beta : ndarray of shape (3, 3)
        The beta calibration (u, w, c) of queries of one word, of two, and of more.
    """

    slope: NDArray[np.float64]
    offset: NDArray[np.float64]
    beta: NDArray[np.float64]

    @classmethod
    def of(cls, slope: NDArray[np.float64], offset: NDArray[np.float64]) -> Self:
        """Return the curves of words alone, for independent words.

        >>> ProbabilityCurves.of(np.ones(1), np.zeros(1)).of_words(np.zeros((1, 1)), [0]).tolist()
        [[0.5]]
        """
        return cls(slope, offset, np.tile(_PRIOR, (LENGTHS, 1)))

    def some(self, words: NDArray[np.int64]) -> ProbabilityCurves:
        """Return the curves of the words at some positions alone."""
        return ProbabilityCurves(self.slope[words], self.offset[words], self.beta)

    def of_words(self, logits: NDArray[np.float64], words: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each word, from base logits with a column for each."""
        at = np.asarray(words, np.int64)
        return sigmoid(_beta_logit(logits * self.slope[at] + self.offset[at], self.beta[0]))

    def of_query(
        self, logits: NDArray[np.float64], words: ArrayLike, weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the probability of a query of weighted words, from the base logits of pictures."""
        n = max(1, int((weights > 0).sum()))
        return sigmoid(
            _beta_logit(self.joint_logit(logits, words, weights), self.beta[_at_length(n)])
        )

    def joint_logit(
        self, logits: NDArray[np.float64], words: ArrayLike, weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return v, the logit that a query would have if its words were independent."""
        counted = weights > 0
        share = weights[counted] / weights[counted].sum() if counted.any() else np.zeros(0)
        at = np.asarray(words, np.int64)[counted]
        x = logits * float(share @ self.slope[at]) + float(share @ self.offset[at])
        n = int(counted.sum())
        return x if n <= 1 else logit_of_log(-n * np.logaddexp(0.0, -x))

    def with_first_hits(
        self, lists: Iterable[tuple[NDArray[np.float64], NDArray[np.bool_]]]
    ) -> ProbabilityCurves:
        """Return the curves with the beta calibration of words fitted to left-out pictures.

        `lists` has for each word v of the pictures, and whether they have it.
        """
        examples = [_examples(v, fits, w) for w, (v, fits) in enumerate(lists)]
        return self._with_beta(0, examples, _VARIANCE_OF_WORDS)

    def with_sets(
        self, n_words: int, lists: Sequence[tuple[NDArray[np.float64], NDArray[np.bool_]]]
    ) -> ProbabilityCurves:
        """Return the curves with the beta calibration of queries of so many words.

        `lists` has for each query v of left-out pictures, and whether they have all of its words.
        """
        examples = [_examples(v, fits, i) for i, (v, fits) in enumerate(lists)]
        return self._with_beta(_at_length(n_words), examples, _VARIANCE_OF_SETS)

    def _with_beta(
        self, length: int, examples: Sequence[_Examples], variance: NDArray[np.float64]
    ) -> ProbabilityCurves:
        beta = self.beta.copy()
        beta[length] = _fit_beta(examples, variance)
        return replace(self, beta=beta)

    def to_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the arrays that `from_arrays` makes the same curves of."""
        return {"word_slope": self.slope, "word_offset": self.offset, "beta": self.beta}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.float64]]) -> Self | None:
        """Return saved curves; None for a model of an earlier release, which has none."""
        if "beta" not in arrays:
            return None
        names = ("word_slope", "word_offset", "beta")
        slope, offset, beta = (np.asarray(arrays[name], np.float64) for name in names)
        return cls(slope, offset, beta)


_Examples = tuple["NDArray[np.float64]", "NDArray[np.bool_]", "NDArray[np.float64]"]


def sigmoid(x: ArrayLike) -> NDArray[np.float64]:
    """Return 1 / (1 + e^-x) without overflow.

    >>> sigmoid([0.0, 800.0, -800.0]).tolist()
    [0.5, 1.0, 0.0]
    """
    return np.asarray(np.exp(-np.logaddexp(0.0, -np.asarray(x, np.float64))))


def logit_of_log(r: ArrayLike) -> NDArray[np.float64]:
    """Return the logit of a probability given by its log.

    >>> logit_of_log(np.log([0.5, 0.9])).round(3).tolist()
    [0.0, 2.197]
    """
    log = np.minimum(np.asarray(r, np.float64), 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.minimum(log - np.log(-np.expm1(log)), MOST_LOGIT))


def _at_length(n_words: int) -> int:
    return min(n_words, LENGTHS) - 1


def _beta_logit(v: ArrayLike, beta: NDArray[np.float64]) -> NDArray[np.float64]:
    x = np.asarray(v, np.float64)
    up, down = np.logaddexp(0.0, -x), np.logaddexp(0.0, x)
    return np.asarray(beta[1] * down - beta[0] * up + beta[2])


def _examples(v: NDArray[np.float64], fits: NDArray[np.bool_], seed: int) -> _Examples:
    """Return the first hits of a query and some of the rest, with the weight of each."""
    if len(v) > _FIRST_HITS:
        first = np.argpartition(-v, _FIRST_HITS - 1)[:_FIRST_HITS]
        is_rest = np.ones(len(v), np.bool_)
        is_rest[first] = False
        rest = np.flatnonzero(is_rest)
    else:
        first, rest = np.arange(len(v)), np.zeros(0, np.int64)
    if len(rest) > _FIRST_HITS:
        drawn = np.random.default_rng(seed).choice(len(rest), _FIRST_HITS, replace=False)
        rest = rest[drawn]
    chosen = np.concatenate([first, rest])
    stands_for = (len(v) - len(first)) / max(len(rest), 1)
    weights = np.concatenate([np.ones(len(first)), np.full(len(rest), stands_for)])
    return v[chosen], fits[chosen], weights


def _fit_beta(examples: Sequence[_Examples], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (u, w, c) by Newton's method, with a normal prior."""
    if not examples:
        return _PRIOR.copy()
    v, fits, weights = (np.concatenate(part) for part in zip(*examples, strict=True))
    n_first = sum(min(len(e[0]), _FIRST_HITS) for e in examples)
    is_rest = np.concatenate([np.arange(len(e[0])) >= _FIRST_HITS for e in examples])
    weights[is_rest] *= n_first / max(float(weights[is_rest].sum()), 1.0)
    F = np.stack((-np.logaddexp(0.0, -v), np.logaddexp(0.0, v), np.ones(len(v))))
    theta = _PRIOR.copy()
    for _ in range(_NEWTON_STEPS):
        p = sigmoid(theta @ F)
        gradient = F @ (weights * (p - fits)) + (theta - _PRIOR) / variance
        hessian = (F * (weights * p * (1.0 - p))) @ F.T + np.diag(1.0 / variance)
        before = theta
        theta = theta - np.linalg.solve(hessian, gradient)
        # Both must rise, so that probabilities keep the order of scores.
        theta[:2] = np.maximum(theta[:2], _LEAST_SLOPE)
        if np.abs(theta - before).max() < 1e-6:
            break
    return theta
