"""Structural training with one slack: the cutting-plane method, whatever model is being trained.

Joachims, Finley and Yu, "Cutting-plane training of structural SVMs", Machine Learning 77(1), 2009.
With margin rescaling and one slack for all examples, a model's parameters w are to minimise

    penalty(w) + xi      so that for every batch b of wrong answers, one for each example,
                         mean delta F_w(b) >= mean Delta(b) - xi

There are too many batches to enumerate. The method keeps a few of them, and alternately solves for
these and adds the most violated batch, until that one is violated by no more than xi + eps.

A model implements `Structured`: a separation oracle (`separate`) and an inner solver (`solve`). The
batch that the oracle returns is the worst of all there are, so its violation gives the true
objective penalty(w) + max(0, violation), which bounds the training loss from above.

Departures: the parameters with the best true objective are kept, since the inner problem need not
be convex and may be solved roughly. Few batches approximate the objective badly far from where they
were made, so that the first solutions are often worse than the start: where one is no better than
the best so far, points on the way to it are tried, and their batches kept too (after Franc and
Sonnenburg, "Optimized cutting plane algorithm for large-scale risk minimization", 2009). Training
also ends when the objective has not improved for some rounds, and of very many batches the least
violated is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, get_args

from sightline.contracts import Progress
from sightline.progress import NoProgress

Batch = TypeVar("Batch")
Stop = Literal["converged", "stalled", "max_rounds"]
STOPS: tuple[Stop, ...] = get_args(Stop)
_SILENT = NoProgress()
_BETTER = 1e-4
# Points on the way to a solution that are tried where that is no better.
_SHARES = (0.5, 0.2, 0.05)


class Structured(Protocol[Batch]):
    """A model that can be trained: it holds its present parameters."""

    def separate(self) -> Batch:
        """Return the batch that the present parameters violate most."""
        ...

    def violations(self, batches: Sequence[Batch]) -> Sequence[float]:
        """Return mean Delta - mean delta F of batches under the present parameters."""
        ...

    def penalty(self) -> float:
        """Return the regulariser of the present parameters."""
        ...

    def solve(self, batches: Sequence[Batch]) -> None:
        """Move the parameters towards the least penalty + max(0, largest violation)."""
        ...

    def remember(self) -> None:
        """Keep the present parameters, in place of those kept before."""
        ...

    def recall(self) -> None:
        """Go back to the parameters kept last."""
        ...

    def blend(self, share: float) -> None:
        """Move from the parameters kept last a share of the way to those of `solve`."""
        ...


@dataclass(frozen=True, slots=True)
class TrainingRound:
    """One round: the solution on the current batches, and the oracle's worst batch at it.

    `xi` is the slack on the batches solved for, `violation` that of the worst batch of all, and
    `objective` the true one. A `share` below 1 is a point on the way to what was solved for.
    """

    number: int
    n_batches: int
    penalty: float
    xi: float
    violation: float
    share: float = 1.0

    @property
    def objective(self) -> float:
        """The penalty + max(0, violation), which is no less than the one solved for."""
        return self.penalty + max(0.0, self.violation)

    def __str__(self) -> str:
        return (
            f"round {self.number}: objective {self.objective:.4f} (penalty {self.penalty:.4f}, "
            f"violation {self.violation:.4f})"
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a training went: all rounds, the one that was kept, and why it ended.

    Round 0 is the start. What was kept is as good as the best round, or better where it lies on the
    way to one.
    """

    rounds: tuple[TrainingRound, ...]
    kept: TrainingRound
    stop: Stop


def cutting_planes(
    model: Structured[Batch],
    eps: float = 0.01,
    max_rounds: int = 200,
    patience: int = 50,
    max_batches: int = 100,
    progress: Progress = _SILENT,
    on_round: Callable[[TrainingRound], None] | None = None,
) -> Outcome:
    """Train a model; it ends with the best parameters that were evaluated.

    Parameters
    ----------
    model : Structured
        Holds the start, where the first batch is made: solving for no batch would minimise the
        penalty alone.
    eps : float, default=0.01
        By how much the worst batch of all may be violated more than the ones solved for.
    max_rounds, patience : int
        The most rounds, and how many may pass without a better objective.
    max_batches : int, default=100
        How many are kept at once.
    progress : Progress, optional
        Advanced by each round.
    on_round : callable, optional
        Called with each round as it ends.
    """
    batches = [model.separate()]
    (violation,) = model.violations(batches)
    best = TrainingRound(0, 1, model.penalty(), violation, violation)
    rounds, bests = [best], [best.objective]
    stop: Stop | None = None
    model.remember()
    progress.start("cutting planes", max_rounds)
    while stop is None:
        model.solve(batches)
        xi = max(0.0, max(model.violations(batches)))
        last = _evaluated(model, batches, len(rounds), xi, 1.0, max_batches)
        rounds.append(last)
        for share in _SHARES if last.objective >= best.objective else ():
            model.blend(share)
            last = _evaluated(model, batches, len(rounds) - 1, xi, share, max_batches)
            if last.objective < best.objective:
                break
        if last.objective < best.objective:
            best = last
            model.remember()
        if last.share < 1:
            model.blend(1.0)
        bests.append(best.objective)
        progress.advance()
        if on_round is not None:
            on_round(rounds[-1])
        stop = _stop(rounds[-1], bests, eps, max_rounds, patience)
    progress.finish()
    model.recall()
    return Outcome(tuple(rounds), best, stop)


def _evaluated(
    model: Structured[Batch],
    batches: list[Batch],
    number: int,
    xi: float,
    share: float,
    max_batches: int,
) -> TrainingRound:
    """Call the oracle at the present parameters, and add its batch."""
    n = len(batches)
    worst = model.separate()
    (violation,) = model.violations([worst])
    evaluated = TrainingRound(number, n, model.penalty(), xi, violation, share)
    _keep(model, batches, worst, max_batches)
    return evaluated


def _stop(
    last: TrainingRound, bests: Sequence[float], eps: float, max_rounds: int, patience: int
) -> Stop | None:
    if last.violation <= last.xi + eps:
        return "converged"
    if last.number >= max_rounds:
        return "max_rounds"
    before = bests[: max(0, len(bests) - patience)]
    if before and before[-1] - bests[-1] <= _BETTER * max(abs(bests[-1]), math.ulp(1.0)):
        return "stalled"
    return None


def _keep(model: Structured[Batch], batches: list[Batch], batch: Batch, max_batches: int) -> None:
    """Add a batch; drop the least violated one where there are too many."""
    if len(batches) >= max_batches:
        violations = list(model.violations(batches))
        del batches[violations.index(min(violations))]
    batches.append(batch)


def course_summary(arrays: Mapping[str, Any]) -> str:
    """Summarise a training by lists, from the saved arrays; "" for other rankers.

    >>> import numpy as np
    >>> course = np.array([[0.1, 0.9, 1.0], [0.2, 0.4, 0.6]])
    >>> course_summary({"course": course, "stop": np.array(0)})
    '1 round, objective 0.6000 (penalty 0.2000, violation 0.4000), converged'
    """
    if "course" not in arrays:
        return ""
    course = arrays["course"]
    penalty, violation, objective = course[course[:, 2].argmin()].tolist()
    n = len(course) - 1
    return (
        f"{n} round{'s' * (n != 1)}, objective {objective:.4f} (penalty {penalty:.4f}, violation "
        f"{violation:.4f}), {STOPS[int(arrays['stop'])]}"
    )
