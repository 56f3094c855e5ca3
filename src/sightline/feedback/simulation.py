"""A simulated user, who judges by class with some errors, and their sessions with a learner.

A session of paper B: pictures are ranked by the query, the best 20 are judged, the learner learns
from all judgements so far and ranks again, and so on for 9 rounds. The query itself counts as
judged relevant. Judged pictures stay in the ranking; where a learner has `stands_`, as `Blend`
does, they are placed by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightline._typing import Bools, Doubles, Ints
from sightline.contracts import FeedbackLearner
from sightline.errors import DataError
from sightline.feedback.blend import placed
from sightline.feedback.learner import finite_rows, number, whole_number


class SimulatedUser:
    """A user who searches for the pictures of one class, and gives a share of wrong answers.

    The answer about a picture is always the same.

    Parameters
    ----------
    fits : array-like
        For each picture of the collection, whether it is relevant.
    flipped : float, default=0.0
        The share of pictures with a wrong answer, from 0 to 1.
    random_state : int, default=0
        Seed of the choice of these.

    Examples
    --------
    >>> SimulatedUser([True, True, False]).judge([2, 0]).tolist()
    [-1, 1]
    """

    def __init__(self, fits: Any, flipped: float = 0.0, random_state: int = 0) -> None:
        self.fits: Bools = np.asarray(fits, dtype=bool)
        number("flipped", flipped, "SimulatedUser", 0.0, 1.0)
        wrong = np.random.default_rng([random_state, 1]).random(len(self.fits)) < flipped
        self._answers = np.where(self.fits != wrong, 1, -1)

    def judge(self, pictures: Any) -> Ints:
        """Return +1 or -1 for each picture, by its position."""
        return np.asarray(self._answers[np.asarray(pictures, dtype=np.int64)], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class FeedbackRound:
    """A ranking that was shown.

    Attributes
    ----------
    number : int
        0 is the untrained order.
    scores : ndarray of float64
        Of all pictures.
    shown : ndarray of int64
        Positions of the pictures that were judged because of it, best first.
    judged : ndarray of int64
        Positions of all that had been judged when it was made, the query first.
    """

    number: int
    scores: Doubles
    shown: Ints
    judged: Ints


def simulate(
    learner: FeedbackLearner,
    X: Any,
    query: int,
    user: SimulatedUser,
    n_rounds: int = 9,
    n_shown: int = 20,
    from_query: bool = True,
) -> Iterator[FeedbackRound]:
    """Yield the rankings of a session, the untouched one first.

    Parameters
    ----------
    X : array-like
        A row for each picture; the untouched ranking is by the inner product with the query's.
    query : int
        The position of the query picture, which is not shown.
    from_query : bool, default=True
        Start the learner with the query's row, or else without a query.

    Examples
    --------
    >>> from sightline.feedback.rocchio import Rocchio
    >>> X = [[1.0, 0.0], [0.9, 0.4], [0.8, -0.6], [0.6, 0.8]]
    >>> user = SimulatedUser([True, True, False, True])
    >>> [r.shown.tolist() for r in simulate(Rocchio(), X, 0, user, n_rounds=1, n_shown=2)]
    [[1, 2], [1, 3]]
    """
    rows = finite_rows(X, "simulate")
    whole_number("n_shown", n_shown, "simulate")
    if not 0 <= query < len(rows) or len(user.fits) != len(rows):
        raise DataError(
            f"There are {len(rows)} pictures. Got query {query} and a user for {len(user.fits)}."
        )
    learner.start(rows[query] if from_query else None)
    untouched = np.asarray(rows @ rows[query], dtype=np.float64)
    scores, judged = untouched, np.array([query], dtype=np.int64)
    for number_of in range(n_rounds + 1):
        if number_of:
            learner.partial_fit(rows[judged], np.append(1, user.judge(judged[1:])))
            scores = learner.decision_function(rows) if learner.ready else untouched
            stands = getattr(learner, "stands_", None)
            scores = scores if stands is None else placed(scores, judged, stands)
        order = np.argsort(-scores, kind="stable")
        shown = order[order != query][:n_shown]
        yield FeedbackRound(number_of, scores, shown, judged)
        judged = np.append(judged, shown[~np.isin(shown, judged)])
