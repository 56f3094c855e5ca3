"""Choosing settings by the mean AvgP of validation queries, in stages (`tuning`).

What was tried before is not tried again. Stages that choose what a method sees are tried on the
first split alone and hold for all of them, as the paper chooses features on its one split.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from sightline.contracts import Json, Progress
from sightline.measures.many import average_precisions
from sightline_experiments.experiment import Trial
from sightline_experiments.pamir.inputs import view_of
from sightline_experiments.pamir.methods import Method
from sightline_experiments.pamir.protocol import Scorer, Split
from sightline_experiments.tuning import Choice, Search


def views_of(search: Search) -> set[str]:
    """Return every view that a search may look at."""
    tried = [search.start, *(c for s in search.stages for c in s.changes)]
    found = {str(c["view"]) for c in tried if "view" in c}
    blocks, sizes = ([c[k] for c in tried if k in c] for k in ("block", "terms"))
    return found | {view_of({"block": b, "terms": n}) for b in blocks for n in sizes}


@dataclass(frozen=True, slots=True, eq=False)
class FittedTrial(Trial):
    """A trial whose value is the mean AvgP of validation queries, with what was fitted."""

    scorer: Scorer


@dataclass(slots=True, eq=False)
class Selection:
    """All that was tried for one method on one set of features."""

    method: Method
    search: Search
    trials: list[FittedTrial] = field(default_factory=list)
    _choice: Choice[FittedTrial] | None = None

    def choose(self, split: Split, progress: Progress) -> FittedTrial:
        """Return the best trial of a split; only it keeps what was fitted."""
        first = self._choice is None
        self._choice = self._choice or Choice(self.search)
        return self._choice.best(
            lambda settings: self._try(split, settings, progress), lambda t: t.value, first
        )

    def _try(self, split: Split, settings: dict[str, Json], progress: Progress) -> FittedTrial:
        progress.advance()
        for before in self.trials:
            if before.split == split.number and before.settings == settings:
                return before
        trial = attempt(self.method, split, settings)
        self.trials.append(trial)
        return trial

    def same(self, trial: FittedTrial) -> FittedTrial:
        """Return the trial of the same split and settings that is kept."""
        return next(
            t for t in self.trials if (t.split, t.settings) == (trial.split, trial.settings)
        )

    def forget(self) -> None:
        """Let go of everything that was fitted; the figures stay."""
        self.trials = [
            FittedTrial(t.split, t.settings, t.value, t.seconds, _gone(t.scorer))
            for t in self.trials
        ]


def attempt(method: Method, split: Split, settings: dict[str, Json]) -> FittedTrial:
    """Fit a method and measure it on the validation queries."""
    begun = time.process_time()
    scorer = method.fit(split, settings)
    seconds = time.process_time() - begun
    scores = scorer(split.validation.views, split.validation_queries)
    avgp = average_precisions(scores, split.validation_queries).mean_avgp
    return FittedTrial(split.number, settings, avgp, seconds, scorer)


def _gone(scorer: Scorer) -> Scorer:
    def refuse(*given: Any) -> Any:
        raise LookupError("This fit was let go of.")

    return Scorer(refuse, refuse, scorer.found)
