"""Wrong tags: how probable it is that a tag is wrong, by the scores of left-out pictures.

A picture with word t has a score for it by a model that was fitted without the picture. With u the
share of pictures without the word that score at least as high, and z = log((1 - u) / u), a tag that
was put on any picture has z ~ logistic(0, 1), whatever the word and the model. One that is right
has a higher z, the more so the better the word can be predicted. So tags are a mixture of two
groups,

    z ~ e logistic(0, 1) + (1 - e) logistic(m_t, s)        m_t ~ normal(m + k log n_t, d^2)

and a tag's probability of being wrong is that of the first group, its local false discovery rate
(Efron, "Large-scale inference", 2010, chapter 5). Logistic distributions have the tails that right
tags need, since some pictures are unlike all others with the same word. All are estimated by
expectation-maximisation. The prior of m_t, which all words share, rises with the number n_t of
pictures that have the word, and keeps a word on two pictures near what such words usually have
(empirical Bayes).

Departures: the m_t that a tag is held against does not count the tag itself. The density of right
tags does not fall beyond their mean, and z and scale are bounded, so that a higher score never
makes a tag more suspect. A word that cannot be predicted has m_t near 0: none of its tags
stands out, and all have about the probability e.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROUNDS = 50
_WORDS_AT_ONCE, _FEW_TAGS = 64, 40
# What is assumed of wrong tags before any is seen: so many of so many.
_WRONG, _TAGS = 2.0, 40.0
# Tags at least this surely wrong are left out of a fit, of words that so many pictures have.
SURELY = 0.8
LEAST_TAGS = 5
# The variance of the logistic distribution of scale 1, and the least that right tags may have.
_UNIT = np.pi**2 / 3.0
_LEAST_VARIANCE = 0.5
# Below the first and beyond the second a lower score would make a tag less suspect.
_LOWEST, _WIDEST = -2.0, 1.25


def wrong_tag_probabilities(left_out: Any, Y: Any) -> NDArray[np.float64]:
    """Return for each tag the probability that it is wrong, picture by picture.

    Parameters
    ----------
    left_out : array-like
        Scores of pictures by words, each picture as if it had not been learned from.
    Y : sparse matrix
        In CSR form, 1 where a picture has a word. The probabilities are in the order of its cells.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> rng = np.random.default_rng(0)
    >>> tagged = rng.random((200, 3)) < 0.2
    >>> scores = 4.0 * tagged + rng.normal(size=tagged.shape)
    >>> tagged[0], scores[0] = [True, False, False], -1.0
    >>> wrong = wrong_tag_probabilities(scores, csr_matrix(tagged))
    >>> int(wrong.argmax()), bool(wrong.max() > 0.8)
    (0, True)
    """
    z, word = _log_odds(left_out, Y)
    return _two_groups(z, word, Y.shape[1]) if len(z) else np.zeros(0)


def without_wrong_tags(left_out: Any, Y: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return targets in which tags that are surely wrong count for nothing.

    Such a tag gets the score of its picture when left out, which is what ridge fits where a picture
    does not count for a word. Tags of words on few pictures stay, since nothing would be left.

    Parameters
    ----------
    left_out : array-like
        As of `wrong_tag_probabilities`.
    Y : ndarray of float32
        1 where a picture has a word.
    """
    from scipy.sparse import csr_matrix

    table = csr_matrix(Y)
    table.sort_indices()
    row, word = (at[_surely_wrong(left_out, table)] for at in table.nonzero())
    targets = Y.copy()
    targets[row, word] = np.asarray(left_out)[row, word]
    return targets


def tags_kept(left_out: Any, Y: Any) -> Any:
    """Return a table of tags, in CSR form, without those that are surely wrong.

    >>> from scipy.sparse import csr_matrix
    >>> tags_kept(np.zeros((2, 1)), csr_matrix([[1.0], [0.0]])).nnz
    1
    """
    kept = Y.copy()
    kept.data = np.where(_surely_wrong(left_out, Y), 0, kept.data).astype(kept.dtype)
    kept.eliminate_zeros()
    return kept


def _surely_wrong(left_out: Any, Y: Any) -> NDArray[np.bool_]:
    """Return which tags are, picture by picture, of words on enough pictures."""
    word = Y.tocoo().col
    enough = np.bincount(word, minlength=Y.shape[1])[word] >= LEAST_TAGS
    return np.asarray(enough & (wrong_tag_probabilities(left_out, Y) >= SURELY))


def _log_odds(left_out: Any, Y: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the z of each tag, and its word, picture by picture."""
    scores = np.asarray(left_out)
    tags = Y.tocoo()
    row, word = tags.row.astype(np.int64), tags.col.astype(np.int64)
    u = np.empty(len(row))
    order = np.argsort(word, kind="stable")
    start = np.searchsorted(word[order], np.arange(Y.shape[1] + 1))
    for begin in range(0, Y.shape[1], _WORDS_AT_ONCE):
        # Columns one after the other in memory.
        columns = np.ascontiguousarray(scores[:, begin : begin + _WORDS_AT_ONCE].T)
        for t, of_all in enumerate(columns, begin):
            of_word = order[start[t] : start[t + 1]]
            if not len(of_word):
                continue
            tagged = of_all[row[of_word]]
            n_others = len(of_all) - len(of_word)
            above = _at_least(of_all, tagged) - _at_least(tagged, tagged)
            u[of_word] = (above + 0.5) / (n_others + 1.0)
    return np.log1p(-u) - np.log(u), word


def _at_least(values: NDArray[Any], bounds: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each bound how many values are at least as high."""
    if len(bounds) <= _FEW_TAGS:
        # So few passes take less time than sorting.
        return np.array([np.count_nonzero(values >= b) for b in bounds], np.int64)
    ordered = np.sort(values)
    return np.asarray(len(ordered) - np.searchsorted(ordered, bounds, side="left"), np.int64)


def _two_groups(
    z: NDArray[np.float64], word: NDArray[np.int64], n_words: int
) -> NDArray[np.float64]:
    """Return the probability that each tag is of the group of wrong ones."""
    n_tags = np.bincount(word, minlength=n_words)
    share, between, within = _WRONG / _TAGS, 1.0, _UNIT
    mean = np.full(n_words, max(float(np.median(z)), 1.0))
    right = np.full(len(z), 1.0 - share)
    wrong = 1.0 - right
    z = np.maximum(z, _LOWEST)
    of_wrong = np.exp(-z) / np.square(1.0 + np.exp(-z))
    for _ in range(_ROUNDS):
        count = np.bincount(word, right, n_words)
        total = np.bincount(word, right * z, n_words)
        # Each tag is held against the mean of its word's other tags.
        others, sum_of_others = count[word] - right, total[word] - right * z
        precision = others / within + 1.0 / between
        centre = np.maximum((sum_of_others / within + mean[word] / between) / precision, 0.0)
        scale = np.minimum(np.sqrt((within + 1.0 / precision) / _UNIT), _WIDEST)
        of_right = _density(z - centre, scale)
        wrong = share * of_wrong / (share * of_wrong + (1.0 - share) * of_right)
        right = 1.0 - wrong
        share = float((wrong.sum() + _WRONG) / (len(z) + _TAGS))
        # Means of words have a normal posterior, by which the shared numbers are estimated again.
        count = np.bincount(word, right, n_words)
        precision = count / within + 1.0 / between
        centres = (np.bincount(word, right * z, n_words) / within + mean / between) / precision
        off = np.square(z - centres[word]) + 1.0 / precision[word]
        within = max(float((right * off).sum() / right.sum()), _LEAST_VARIANCE)
        has = n_tags > 0
        mean[has] = _rising(np.log(n_tags[has]), centres[has])
        between = float((np.square(centres - mean) + 1.0 / precision)[has].mean())
    return np.asarray(wrong)


def _rising(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the line through points by least squares, level where it would fall."""
    off = x - x.mean()
    spread = float(off @ off)
    slope = max(float(off @ y) / spread, 0.0) if spread > 0 else 0.0
    return np.asarray(y.mean() + slope * off)


def _density(x: NDArray[np.float64], scale: Any) -> NDArray[np.float64]:
    """Return the logistic density, which is that of 0 where x is above 0."""
    e = np.exp(np.minimum(x, 0.0) / scale)
    return np.asarray(e / (np.square(1.0 + e) * scale))
