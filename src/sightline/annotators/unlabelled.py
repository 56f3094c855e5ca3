"""Pictures that nobody labelled for a word: some of them carry it, and must not count against it.

Where a person marked a few pictures of many, the others are mostly, but not all, without the word.
Learning from all of them as negatives teaches that pictures like the marked ones do not fit. The
spy technique finds the ones to pass over (Liu, Lee, Yu and Li, "Partially supervised classification
of text documents", 2002): positives are scored as if they had been unlabelled, and an unlabelled
picture that scores as high as they do is neither a positive nor a negative.

Departures: spies need no second fit, since kernel ridge has the scores of left-out pictures in
closed form, so that every positive is one; at most a fifth of the unlabelled pictures is passed
over, however low a spy scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MOST_PASSED_OVER = 0.2


def likely_positive(
    left_out: ArrayLike, Y: Any, unlabelled: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which unlabelled cells, (pictures, words), score as high as a word's own pictures.

    Parameters
    ----------
    left_out : array-like
        Scores of pictures by words, each picture as if it had not been learnt from.
    Y : array-like
        1 where a picture carries a word, dense or sparse.
    unlabelled : ndarray of bool
        True where nobody said whether it does.

    Examples
    --------
    >>> scores = np.array([[0.6], [0.5], [0.7], [0.2], [0.1], [0.0], [0.0]])
    >>> carried = np.array([[1], [1], [0], [0], [0], [0], [0]])
    >>> likely_positive(scores, carried, carried == 0)[:, 0].tolist()
    [False, False, True, False, False, False, False]
    """
    scores = np.asarray(left_out, dtype=np.float64)
    carried = np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y) > 0
    out = np.zeros(scores.shape, dtype=np.bool_)
    for word in range(scores.shape[1]):
        own, free = scores[carried[:, word], word], np.flatnonzero(unlabelled[:, word])
        if not own.size or not free.size:
            continue
        order = free[np.argsort(-scores[free, word], kind="stable")]
        best = order[: int(MOST_PASSED_OVER * len(order))]
        out[best, word] = scores[best, word] >= own.min()
    return out


def fit_without(
    K: NDArray[np.float32],
    Y: NDArray[np.float32],
    alpha: float,
    passed_over: NDArray[np.bool_],
    dual: NDArray[np.float64],
    left_out: NDArray[np.float32],
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return coefficients and left-out scores of kernel ridge, fitted without some cells.

    Words that pass over nothing keep `dual` and `left_out`, those of a fit to all pictures.
    """
    from sightline.annotators._smoothers import solved

    dual, left_out = dual.copy(), left_out.copy()
    for word in np.flatnonzero(passed_over.any(axis=0)):
        kept = np.flatnonzero(~passed_over[:, word])
        own, unseen = solved(K[np.ix_(kept, kept)], Y[kept][:, [word]], alpha)
        dual[:, word] = 0.0
        dual[kept, word] = own[:, 0]
        # What was not learnt from is scored as it is.
        left_out[:, word] = K @ dual[:, word]
        left_out[kept, word] = unseen[:, 0]
    return dual, left_out
