"""Many sessions at once: as `feedback.simulation`, but round by round for all queries.

Linear learners of all sessions rank by one product of matrices, the others by distances that were
computed once for all (`Space.squared`); otherwise a session is the same as on its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightline._typing import Doubles, Floats, Ints
from sightline.contracts import Progress
from sightline.feedback.blend import placed
from sightline.feedback.nearness import NearnessLearner
from sightline.feedback.simulation import SimulatedUser
from sightline_experiments.feedback.judging import Measured, best, depth, measured
from sightline_experiments.feedback.space import Space

_AT_ONCE = 64
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """Measurements of the sessions of one method, (rounds + 1, queries) each; see `Measured`.

    Attributes
    ----------
    seconds : CPU seconds of training, per session and round.
    blended : the share of the initial ranking after the last round, if the learner blends.
    """

    precision: Doubles
    average: Doubles
    paper_precision: Doubles
    paper_average: Doubles
    unjudged: Doubles
    seconds: float
    blended: Doubles

    def harmed(self) -> float:
        """Return the share of queries whose AP@T is lower in the end than without feedback."""
        return float((self.average[-1] < self.average[0] - _TOLERANCE).mean())

    def gain(self) -> float:
        """Return the gain of feedback in mean AP@T."""
        return float((self.average[-1] - self.average[0]).mean())


@dataclass(slots=True, eq=False)
class _Session:
    query: int
    learner: Any
    user: SimulatedUser
    judged: Ints


def run_sessions(
    make: Callable[[], Any],
    space: Space,
    queries: Ints,
    progress: Progress,
    *,
    rounds: int = 9,
    shown: int = 20,
    most: int = 180,
    from_query: bool = True,
    flipped: float = 0.0,
    place: bool = True,
) -> Track:
    """Run the rounds of a session for each query, and measure every ranking.

    Parameters
    ----------
    make : returns a new learner.
    from_query : start it with the query's row, or from zero.
    flipped : share of pictures that a user judges wrongly.
    place : put judged pictures first and last, if the learner has places for them.
    """
    sessions = []
    for q in queries.tolist():
        user = SimulatedUser(space.labels == space.labels[q], flipped, random_state=q)
        learner = make().start(space.rows[q] if from_query else None, space.background)
        sessions.append(_Session(q, learner, user, np.array([q], dtype=np.int64)))
    by_round: list[list[Measured]] = []
    spent = 0.0
    for number in range(rounds + 1):
        begun = time.process_time()
        if number:
            for s in sessions:
                s.learner.partial_fit(
                    space.rows[s.judged], np.append(1, s.user.judge(s.judged[1:]))
                )
        spent += time.process_time() - begun
        by_round.append(_measure_all(sessions, space, number > 0, place, shown, most))
        progress.advance()
    table = np.array(by_round).transpose(2, 0, 1)
    shares = [getattr(s.learner, "weight_", np.nan) for s in sessions]
    p, a, paper_p, paper_a, unjudged = table
    seconds = spent / max(rounds * len(sessions), 1)
    return Track(p, a, paper_p, paper_a, unjudged, seconds, np.array(shares))


def _measure_all(
    sessions: Sequence[_Session], space: Space, learnt: bool, place: bool, shown: int, most: int
) -> list[Measured]:
    """Rank and measure all sessions, and let their users judge the best pictures."""
    measurements = []
    for begin in range(0, len(sessions), _AT_ONCE):
        some = sessions[begin : begin + _AT_ONCE]
        for s, scores in zip(some, _scores(some, space, learnt, place), strict=True):
            order = best(scores, depth(len(s.judged), shown, most))
            measurements.append(measured(order, s.user.fits, s.query, s.judged, shown, most))
            first = order[order != s.query][:shown]
            s.judged = np.append(s.judged, first[~np.isin(first, s.judged)])
    return measurements


def _scores(sessions: Sequence[_Session], space: Space, learnt: bool, place: bool) -> list[Any]:
    """Return the scores of all pictures, for each session."""
    weights = np.empty((len(sessions), space.rows.shape[1]), dtype=np.float32)
    for row, s in zip(weights, sessions, strict=True):
        has_weights = learnt and s.learner.ready and s.learner.linear
        row[:] = s.learner.w_ if has_weights else space.rows[s.query]
    products: Floats = weights @ space.rows.T
    session_scores: list[Any] = list(products)
    for i, s in enumerate(sessions):
        if not learnt or not s.learner.ready or s.learner.linear:
            continue
        if isinstance(s.learner, NearnessLearner):
            session_scores[i] = s.learner.scores_by_distance(space.squared[s.judged].T)
        else:
            session_scores[i] = s.learner.decision_function(space.rows)
    if not learnt or not place:
        return session_scores
    return [_placed(s, scores) for s, scores in zip(sessions, session_scores, strict=True)]


def _placed(s: _Session, scores: Any) -> Any:
    """Put judged pictures at the places that the learner has for them, if any."""
    stands = getattr(s.learner, "stands_", None)
    return scores if stands is None else placed(scores, s.judged, stands)
