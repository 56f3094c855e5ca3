"""Cross-validation of a session: judged pictures scored by learners fitted without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Doubles, Floats
from sightline.feedback.scale import Scale


class HeldOutScores(NamedTuple):
    """Scores of pictures by learners that were fitted without their judgements.

    Attributes
    ----------
    judged : ndarray of float64
        Of the judged pictures, standardised over the pictures that are ranked, or over themselves
        if there are none.
    doubted : ndarray of float64
        The same, standardised over the background; 0 without one.
    background : ndarray of float64
        Of the background, standardised as `judged`, the mean over all folds; empty without one, or
        without pictures that are ranked.
    """

    judged: Doubles
    doubted: Doubles
    background: Doubles


def score_held_out(
    begun: Callable[[], Any],
    rows: Floats,
    relevant: Bools,
    n_folds: int,
    background: Floats,
    ranked: Floats,
) -> HeldOutScores:
    """Score judged pictures fold by fold.

    Parameters
    ----------
    begun : callable
        Returns a learner without judgements.
    rows, relevant : ndarray of float32 or ndarray of bool
        The judgements.
    n_folds : int
        Parts that are left out in turn; as many as judgements at most.
    background : ndarray of float32
        Rows of unjudged pictures; there may be none.
    ranked : ndarray of float32
        Rows over which scores are standardised; there may be none.
    """
    fold = _folds(relevant, n_folds)
    judged, doubted = np.zeros(len(rows)), np.zeros(len(rows))
    behind, total = np.zeros(len(background)), np.zeros(len(ranked))
    for number in range(int(fold.max()) + 1):
        out = fold == number
        learner = begun().partial_fit(rows[~out], np.where(relevant[~out], 1, -1))
        if not learner.ready:
            continue
        held_scores = learner.decision_function(rows[out])
        background_scores = learner.decision_function(background) if len(background) else behind
        doubted[out] = Scale.of(background_scores)(held_scores)
        if not len(ranked):
            judged[out] = held_scores
            continue
        ranked_scores = (
            background_scores if ranked is background else learner.decision_function(ranked)
        )
        scale = Scale.of(ranked_scores)
        judged[out] = scale(held_scores)
        behind, total = behind + scale(background_scores), total + scale(ranked_scores)
    if not len(ranked):
        return HeldOutScores(Scale.of(judged)(judged), doubted, np.zeros(0))
    return HeldOutScores(judged, doubted, Scale.of(total)(behind))


def _folds(relevant: Bools, n: int) -> NDArray[np.int64]:
    """Return the fold of each picture, so that both kinds are spread over all folds."""
    order = np.argsort(~relevant, kind="stable")
    fold = np.empty(len(relevant), dtype=np.int64)
    fold[order] = np.arange(len(order)) % min(n, len(order))
    return fold
