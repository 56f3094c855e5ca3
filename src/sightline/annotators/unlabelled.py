"""Positive-unlabelled learning: unlabelled pictures that likely have a word are no negatives.

Where a person marked a few pictures of many, the others are mostly, but not all, without the word.
With all of them as negatives, pictures like the marked ones would be learned not to fit. The spy
technique finds the ones to leave out (Liu, Lee, Yu and Li, "Partially supervised classification of
text documents", 2002): positives are scored as if they had been unlabelled, and an unlabelled
picture that scores as high as they do is neither a positive nor a negative.

Departures: spies need no second fit, since kernel ridge has the scores of left-out pictures in
closed form, so that every positive is one; at most a fifth of the unlabelled pictures is left out,
however low a spy scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MOST_LEFT_OUT = 0.2


def likely_positive(
    left_out: ArrayLike, Y: Any, unlabelled: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which unlabelled cells, (pictures, words), score as high as a word's own pictures.

    Parameters
    ----------
    left_out : array-like
        Scores of pictures by words, each picture as if it had not been learned from.
    Y : array-like
        1 where a picture has a word, dense or sparse.
    unlabelled : ndarray of bool
        True where that is unknown.

    Examples
    --------
    >>> scores = np.array([[0.6], [0.5], [0.7], [0.2], [0.1], [0.0], [0.0]])
    >>> tagged = np.array([[1], [1], [0], [0], [0], [0], [0]])
    >>> likely_positive(scores, tagged, tagged == 0)[:, 0].tolist()
    [False, False, True, False, False, False, False]
    """
    scores = np.asarray(left_out, dtype=np.float64)
    tagged = np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y) > 0
    out = np.zeros(scores.shape, dtype=np.bool_)
    for word in range(scores.shape[1]):
        positives, free = scores[tagged[:, word], word], np.flatnonzero(unlabelled[:, word])
        if not positives.size or not free.size:
            continue
        order = free[np.argsort(-scores[free, word], kind="stable")]
        best = order[: int(MOST_LEFT_OUT * len(order))]
        out[best, word] = scores[best, word] >= positives.min()
    return out


def fit_without(
    K: NDArray[np.float32],
    Y: NDArray[np.float32],
    alpha: float,
    excluded: NDArray[np.bool_],
    dual: NDArray[np.float64],
    left_out: NDArray[np.float32],
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return coefficients and left-out scores of kernel ridge, fitted without some cells.

    Words without such cells keep `dual` and `left_out`, those of a fit to all pictures.
    """
    from sightline.annotators._smoothers import solved

    dual, left_out = dual.copy(), left_out.copy()
    for word in np.flatnonzero(excluded.any(axis=0)):
        rows = np.flatnonzero(~excluded[:, word])
        dual_of_rows, left_out_rows = solved(K[np.ix_(rows, rows)], Y[rows][:, [word]], alpha)
        dual[:, word] = 0.0
        dual[rows, word] = dual_of_rows[:, 0]
        # Pictures that were left out of the fit get its plain scores.
        left_out[:, word] = K @ dual[:, word]
        left_out[rows, word] = left_out_rows[:, 0]
    return dual, left_out
