"""The experiment of paper B: sessions of relevance feedback, by simulated users.

`plan` holds everything that may be tuned; `space` lays descriptors out and draws queries; `methods`
are the learners; `sessions` lets all of them go through their rounds at once; `judging` measures
each ranking. `results`, `tables`, `curves` and `paper` show what was found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sightline.contracts import Compute, Json, Progress
from sightline.datasets.classed import Classed
from sightline.errors import MissingExtra
from sightline.feedback.passive_aggressive import PassiveAggressive
from sightline.reproduce.cache import ArrayCache
from sightline.reproduce.feedback.methods import LINEAR, METHODS, SHIPPED
from sightline.reproduce.feedback.plan import DESCRIPTORS, Plan
from sightline.reproduce.feedback.results import Ran, Results
from sightline.reproduce.feedback.sessions import Track, run_sessions
from sightline.reproduce.feedback.space import Int, Space, choose_queries
from sightline.reproduce.online.folds import Fold
from sightline.reproduce.online.pool import Describer


def run(c: Classed, plan: Plan, compute: Compute, cache: ArrayCache, progress: Progress) -> Results:
    """Measure every method on every set of features."""
    queries = choose_queries(c.labels, plan.queries)
    found = Results(_settings(c, plan))
    describer = Describer(c, compute, cache, progress)
    everything = Fold(0, np.arange(len(c)), np.arange(0))
    for features in plan.features:
        name = DESCRIPTORS[features]
        try:
            rows = describer.describe([everything], [name])[0][name]
        except MissingExtra as e:
            found.notes.append(f"{features} was left out: {e}")
            continue
        space = Space(rows, c.labels, plan.frames[features], plan.background)
        found.ran.append(_Experiment(space, queries, features, plan, progress, found.notes).run())
    return found


def _settings(c: Classed, plan: Plan) -> dict[str, Json]:
    return {
        "pictures": f"{c.kind.title}, {len(c):,} of {len(c.classes)} classes",
        "queries": f"{plan.queries}, covering all classes",
        "rounds": plan.rounds,
        "judged in each round": plan.shown,
        "T": f"min(class size - 1, {plan.most}); in the paper min(class size, {plan.most})",
        "query": "counts as judged relevant, is never shown",
        "frames": dict[str, Json](plan.frames),
        "first ranking": "inner product with the query's row",
        "background": f"{plan.background} pictures drawn once, seen by the blended learner alone",
        "harmed": "AP@T after the last round below that of the first ranking",
        "flipped": f"a user is wrong about {plan.flipped:.0%} of the pictures",
        "deep": f"{DESCRIPTORS['deep']}, from a network trained on ImageNet",
    }


class _Experiment:
    """One set of features."""

    def __init__(
        self,
        space: Space,
        queries: Int,
        features: str,
        plan: Plan,
        progress: Progress,
        notes: list[str],
    ) -> None:
        self.space, self.queries, self.plan = space, queries, plan
        self.progress, self.notes = progress, notes
        self.ran = Ran(features)

    def run(self) -> Ran:
        """Measure all methods, the sweep of C, and a user who errs."""
        for name in self.plan.methods:
            method = METHODS[name]
            try:
                track = self._track(name, method.learner, method.from_query)
            except MissingExtra as e:
                self.notes.append(f"{name} was left out: {e}")
                continue
            self.ran.tracks[name] = track
        for C in self.plan.sweep:
            self.ran.sweep[C] = self._swept(C)
        if self.plan.flipped and SHIPPED in self.plan.methods:
            wrong = f"{SHIPPED}, flipped judgements"
            learner = METHODS[SHIPPED].learner
            self.ran.noisy = self._track(wrong, learner, flipped=self.plan.flipped)
        return self.ran

    def _swept(self, C: float) -> Track:
        known = self.ran.tracks.get(LINEAR)
        if C == PassiveAggressive().C and known is not None:
            return known
        return self._track(f"{LINEAR}, C = {C:g}", lambda: PassiveAggressive(C=C), False)

    def _track(
        self, name: str, make: Callable[[], Any], from_query: bool = True, flipped: float = 0.0
    ) -> Track:
        plan = self.plan
        self.progress.start(f"{self.ran.features}: {name}", plan.rounds + 1)
        try:
            return run_sessions(
                make, self.space, self.queries, self.progress, rounds=plan.rounds,
                shown=plan.shown, most=plan.most, from_query=from_query, flipped=flipped,
            )  # fmt: skip
        finally:
            self.progress.finish()
