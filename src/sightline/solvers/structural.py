"""Structural training with one slack: the cutting-plane method, whatever model is being trained.

Joachims, Finley and Yu, "Cutting-plane training of structural SVMs", Machine Learning 77(1), 2009.
With margin rescaling and one slack for all examples, a model's parameters w are to minimise

    penalty(w) + xi      so that for every batch b of wrong answers, one for each example,
                         mean delta F_w(b) >= mean Delta(b) - xi

There are too many batches to list. The method keeps a few of them, and in turn solves for these and
adds the batch that is violated most, until that one is violated by no more than xi + eps.

What a model must have is `Structured`: a separation oracle (`separate`) and an inner solver
(`solve`). The batch that the oracle returns is the worst of all there are, so its violation gives
the true objective penalty(w) + max(0, violation), which bounds the training loss from above.

Departures: the parameters with the best true objective are kept, since the inner problem need not
be convex and may be solved roughly; training also ends when that objective has not become better
for some rounds; and of very many batches, the least violated is let go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from sightline.contracts import Progress
from sightline.progress import NoProgress

Batch = TypeVar("Batch")
Stop = Literal["converged", "stalled", "max_rounds"]
_SILENT = NoProgress()
_BETTER = 1e-4


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


@dataclass(frozen=True, slots=True)
class Round:
    """One round: what was reached on the batches there were, and what the oracle then found.

    `xi` is the slack on the batches solved for, `violation` that of the worst batch of all, and
    `objective` the true one.
    """

    number: int
    n_batches: int
    penalty: float
    xi: float
    violation: float

    @property
    def objective(self) -> float:
        """penalty + max(0, violation), which is no less than the one solved for."""
        return self.penalty + max(0.0, self.violation)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a training went: all rounds, the number of the one that was kept, and why it ended."""

    rounds: tuple[Round, ...]
    best: int
    stop: Stop

    @property
    def kept(self) -> Round:
        """The round whose parameters were kept; round 0 is the start."""
        return self.rounds[self.best]


def cutting_planes(
    model: Structured[Batch],
    eps: float = 0.01,
    max_rounds: int = 200,
    patience: int = 50,
    max_batches: int = 100,
    progress: Progress = _SILENT,
    told: Callable[[Round], None] | None = None,
) -> Outcome:
    """Train a model; it ends with the parameters of the best round.

    Parameters
    ----------
    model : holds the start. The first batch is made there, never an empty set solved, which would
        minimise the penalty alone.
    eps : by how much the worst batch of all may be violated more than the ones solved for.
    max_rounds, patience : the most rounds, and how many may pass without a better objective.
    max_batches : how many are kept at once.
    progress : advanced by each round.
    told : called with each round as it ends.
    """
    batches = [model.separate()]
    (violation,) = model.violations(batches)
    rounds = [Round(0, 1, model.penalty(), violation, violation)]
    model.remember()
    best, stop = 0, _stop(rounds, 0, eps, max_rounds, patience)
    progress.start("cutting planes", max_rounds)
    # The start has only its own worst batch, so its gap says nothing.
    while stop is None or (stop == "converged" and len(rounds) == 1):
        model.solve(batches)
        xi = max(0.0, max(model.violations(batches)))
        found = model.separate()
        (violation,) = model.violations([found])
        rounds.append(Round(len(rounds), len(batches), model.penalty(), xi, violation))
        progress.advance()
        if told is not None:
            told(rounds[-1])
        if rounds[-1].objective < rounds[best].objective:
            best = len(rounds) - 1
            model.remember()
        stop = _stop(rounds, best, eps, max_rounds, patience)
        _keep(model, batches, found, max_batches)
    progress.finish()
    model.recall()
    return Outcome(tuple(rounds), best, stop)


def _stop(
    rounds: Sequence[Round], best: int, eps: float, max_rounds: int, patience: int
) -> Stop | None:
    last = rounds[-1]
    if last.violation <= last.xi + eps:
        return "converged"
    if last.number >= max_rounds:
        return "max_rounds"
    before = [r.objective for r in rounds[: max(0, len(rounds) - patience)]]
    now = rounds[best].objective
    if before and min(before) - now <= _BETTER * max(abs(now), math.ulp(1.0)):
        return "stalled"
    return None


def _keep(model: Structured[Batch], batches: list[Batch], found: Batch, max_batches: int) -> None:
    """Add a batch; let the least violated go where there are too many."""
    if len(batches) >= max_batches:
        violations = list(model.violations(batches))
        del batches[violations.index(min(violations))]
    batches.append(found)
