"""Structural training without planes: the true objective itself, by a quasi-Newton method.

With one slack for all examples the worst batch consists of every example's own worst output, so
that

    penalty(w) + max over batches (mean Delta - mean delta F_w)
        = penalty(w) + mean over examples of max over outputs (Delta - delta F_w)

A mean over many examples has a kink almost everywhere and a sharp one nowhere: L-BFGS (Liu and
Nocedal, 1989), which needs a gradient, minimises it as if it were smooth. Each step calls the
oracle once. Where the inner problem of cutting planes is not convex and is solved roughly, as for
low-rank models, this ends at lower objectives and sooner; it lacks their bound of the distance to
the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from sightline._typing import Doubles
from sightline.contracts import Progress
from sightline.progress import NoProgress
from sightline.solvers.structural import Outcome, Stop, Structured, TrainingRound

Batch = TypeVar("Batch")
_SILENT = NoProgress()
# Steps remembered, and the share of the objective by which a step that ends the training lowers it.
_MEMORY, _FALL = 20, 1e-6


class Sloped(Structured[Batch], Protocol[Batch]):
    """A structured model whose parameters are one row of numbers, with a gradient."""

    def parameters(self) -> Doubles:
        """Return the present parameters."""
        ...

    def put(self, parameters: Doubles) -> None:
        """Make these the present parameters."""
        ...

    def slope(self, batch: Batch) -> Doubles:
        """Return the gradient of penalty + the violation of a batch."""
        ...


def descend(
    model: Sloped[Batch],
    max_rounds: int = 200,
    progress: Progress = _SILENT,
    on_round: Callable[[TrainingRound], None] | None = None,
) -> Outcome:
    """Train a model from where it is; it ends with the best parameters that were evaluated.

    Parameters
    ----------
    max_rounds : int, default=200
        Steps at most.
    progress, on_round : Progress or callable
        Advanced by each step, and called with it. The slack `xi` of a step is that of its own
        batch, which is the worst of all.
    """
    from scipy.optimize import minimize

    evaluated: list[TrainingRound] = []
    best: list[TrainingRound] = []
    steps: list[TrainingRound] = []

    def cost(parameters: Doubles) -> tuple[float, Doubles]:
        model.put(parameters)
        batch = model.separate()
        (violation,) = model.violations([batch])
        xi = max(0.0, violation)
        evaluated[:] = [TrainingRound(len(steps), 1, model.penalty(), xi, violation)]
        if not best or evaluated[0].objective < best[0].objective:
            best[:] = evaluated
            model.remember()
        # The true order is among all orders, so the worst one's violation is at least 0.
        return evaluated[0].objective, model.slope(batch)

    def stepped(parameters: Doubles) -> None:
        steps.append(evaluated[0])
        progress.advance()
        if on_round is not None:
            on_round(evaluated[0])

    progress.start("descent", max_rounds)
    cost(model.parameters())
    steps.append(evaluated[0])
    result = minimize(
        cost, model.parameters(), jac=True, method="L-BFGS-B", callback=stepped,
        options={"maxiter": max_rounds, "maxcor": _MEMORY, "ftol": _FALL, "maxls": 40},
    )  # fmt: skip
    progress.finish()
    model.recall()
    stop: Stop = "max_rounds" if result.status == 1 else "converged"
    return Outcome(tuple(steps), best[0], stop)
