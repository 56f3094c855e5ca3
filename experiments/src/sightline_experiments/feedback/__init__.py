"""The experiment of paper B: sessions of relevance feedback, by simulated users.

`plan` holds everything that may be tuned; `space` scales descriptors and draws queries; `methods`
are the learners; `sessions` runs the rounds of all of them; `judging` measures each ranking.
`results` and `report` have the figures, `paper` what the paper says of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sightline._typing import Ints
from sightline.contracts import Compute, Json, Progress
from sightline.errors import MissingExtra
from sightline.feedback.passive_aggressive import PassiveAggressive
from sightline.similarity.scaling import COMPACT
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.classed import Classed
from sightline_experiments.feedback.methods import LINEAR, METHODS, REDUCED, SHIPPED
from sightline_experiments.feedback.plan import DESCRIPTORS, Plan
from sightline_experiments.feedback.results import FeatureResult, FeedbackResults
from sightline_experiments.feedback.sessions import Track, run_sessions
from sightline_experiments.feedback.space import Space, choose_queries
from sightline_experiments.online.pool import Describer
from sightline_experiments.online.protocol import Fold


def run(
    c: Classed, plan: Plan, compute: Compute, cache: ArrayCache, progress: Progress
) -> FeedbackResults:
    """Measure every method on every set of features."""
    queries = choose_queries(c.labels, plan.queries)
    results = FeedbackResults(_settings(c, plan))
    describer = Describer(c, compute, cache, progress)
    everything = Fold(0, np.arange(len(c)), np.arange(0))
    for features in plan.features:
        name = DESCRIPTORS[features]
        try:
            rows = describer.describe([everything], [name])[0][name]
        except MissingExtra as e:
            results.notes.append(f"{features} was left out: {e}")
            continue
        scalings = {METHODS[name].scaling or plan.scaling for name in plan.methods} | {plan.scaling}
        spaces = {kind: Space(rows, c.labels, kind, plan.background) for kind in scalings}
        experiment = _Experiment(spaces, queries, features, plan, progress, results.notes)
        results.features.append(experiment.run())
    return results


def _settings(c: Classed, plan: Plan) -> dict[str, Json]:
    return {
        "pictures": f"{c.kind.title}, {len(c):,} of {len(c.classes)} classes",
        "queries": f"{plan.queries}, covering all classes",
        "rounds": plan.rounds,
        "judged in each round": plan.shown,
        "T": f"min(class size - 1, {plan.most}); in the paper min(class size, {plan.most})",
        "query": "counts as judged relevant, is never shown",
        "frame": f"{plan.scaling}; {REDUCED} has one of its own, that of {COMPACT}",
        SHIPPED: "the learner of sessions, which places judged pictures first and last, as do they",
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
        spaces: Mapping[str, Space],
        queries: Ints,
        features: str,
        plan: Plan,
        progress: Progress,
        notes: list[str],
    ) -> None:
        self.spaces, self.space = spaces, spaces[plan.scaling]
        self.queries, self.plan = queries, plan
        self.progress, self.notes = progress, notes
        self.result = FeatureResult(features)

    def run(self) -> FeatureResult:
        """Measure all methods, the sweep of C, and a user who errs."""
        for name in self.plan.methods:
            method = METHODS[name]
            try:
                space = self.spaces[method.scaling or self.plan.scaling]
                track = self._track(
                    name, method.learner, space, method.from_query, place=method.placed
                )
            except MissingExtra as e:
                self.notes.append(f"{name} was left out: {e}")
                continue
            self.result.tracks[name] = track
        for C in self.plan.sweep:
            self.result.sweep[C] = self._swept(C)
        if self.plan.flipped and SHIPPED in self.plan.methods:
            wrong = f"{SHIPPED}, flipped judgements"
            learner = METHODS[SHIPPED].learner
            self.result.noisy = self._track(wrong, learner, self.space, flipped=self.plan.flipped)
        return self.result

    def _swept(self, C: float) -> Track:
        known = self.result.tracks.get(LINEAR)
        if C == PassiveAggressive().C and known is not None:
            return known
        name = f"{LINEAR}, C = {C:g}"
        return self._track(name, lambda: PassiveAggressive(C=C), self.space, False)

    def _track(
        self,
        name: str,
        make: Callable[[], Any],
        space: Space,
        from_query: bool = True,
        flipped: float = 0.0,
        place: bool = True,
    ) -> Track:
        plan = self.plan
        self.progress.start(f"{self.result.features}: {name}", plan.rounds + 1)
        try:
            return run_sessions(
                make, space, self.queries, self.progress, rounds=plan.rounds,
                shown=plan.shown, most=plan.most, from_query=from_query, flipped=flipped,
                place=place,
            )  # fmt: skip
        finally:
            self.progress.finish()
