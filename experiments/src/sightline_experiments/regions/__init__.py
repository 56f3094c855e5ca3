"""The experiments of paper E: tags, the regions they belong to, and scenes, on MSRC v2.

`plan` holds everything that may be tuned; `pool` segments and describes pictures; `protocol` has
halves and what learners see of one, `methods` the learners; `evaluation` measures each choice once
on the test pictures; `results` and `report` have the figures beside those of `paper`.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from sightline._typing import Doubles
from sightline.contracts import Compute, Json, Progress
from sightline.errors import MissingExtra
from sightline.measures.annotation import f_measure
from sightline.regions.inference import augmented, choose_tags
from sightline.regions.programme import relax
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.msrc import MSRC
from sightline_experiments.experiment import Experiment, Trial, timed
from sightline_experiments.regions import paper
from sightline_experiments.regions.evaluation import MSRCTestSet
from sightline_experiments.regions.growth import grown
from sightline_experiments.regions.methods import Fitted, Learner, inputs
from sightline_experiments.regions.plan import Plan
from sightline_experiments.regions.pool import NETWORK, SIZE, Pool
from sightline_experiments.regions.protocol import DESIGNED_ON, HalfData, RegionInputs, make_halves
from sightline_experiments.regions.results import HalfResult, RegionResults, Relaxation
from sightline_experiments.tuning import Settings


def run(
    c: MSRC, plan: Plan, compute: Compute, cache: ArrayCache, progress: Progress
) -> RegionResults:
    """Measure every method on every half."""
    experiment = _Experiment(c, plan, compute, cache, progress)
    for features in plan.features:
        try:
            experiment.run_halves(features)
        except MissingExtra as e:
            experiment.run_results.notes.append(f"{features} was left out: {e}")
    return experiment.run_results


def _settings(plan: Plan) -> dict[str, Json]:
    return {
        "halves": plan.splits,
        "scenes": plan.scenes,
        "left out": ["void", "horse", "mountain"],
        "settings chosen by": "F of tags on a fifth of the pictures to learn from; scenes and "
        "pixels have no say; K-means and what is built on it has nothing to choose but C and rows",
        "the latent model's start": "designed by cross-validation of F, NMI and pixels within the "
        "pictures of halves 0 and 1 that are not for their tests; some of them are for the test of "
        "others",
        "the latent model's rows": "of codewords, whole pictures by a chi-squared kernel of their "
        "shares; baselines have counts or shares, as validation chooses, those named chi2 the "
        "same kernel",
        "scenes found": "of the latent model by Ward's tree of rows, tags and what ridge says; "
        "of all others by k-means, the best of 8 starts",
        "fitted to": "all pictures that are not for the test, by what was chosen",
        "codebooks and reductions from": "pictures that are not for the test",
        "regions": {
            f: f"scale {s.scale:g}, sigma {s.sigma:g}, smallest {s.smallest:g}, most {s.most}"
            for f, s in plan.cuts.items()
        },
        "codewords": "20, 25, 40, 8 for shape, texture, colour, place",
        "pixels": "by predicted tags; a region without one takes the best of its picture's",
        "SVM": "linear, squared hinge; a threshold of tags' scores by validation",
        "deep": f"{NETWORK.name} at {SIZE}, trained on ImageNet, reduced to {plan.reduced}",
    }


class _Experiment(Experiment[Learner, Fitted, HalfResult]):
    unit = "half"

    def __init__(
        self, c: MSRC, plan: Plan, compute: Compute, cache: ArrayCache, progress: Progress
    ) -> None:
        self.run_results = RegionResults(_settings(plan), words=c.words)
        super().__init__(self.run_results, progress)
        self.plan = plan
        # A run of fewer halves still knows which pictures nothing was designed on.
        halves, tests = make_halves(c.scenes, max(plan.splits, DESIGNED_ON))
        self.halves = halves[: plan.splits]
        self.test_set = MSRCTestSet(c, tests)
        pool = Pool(c, compute, cache, progress)
        self.inputs_by_half = RegionInputs(c, pool, dict(plan.cuts), plan.reduced)

    def run_halves(self, features: str) -> None:
        """Measure all methods on one set of features."""
        for half in self.halves:
            inputs_of_half = self.inputs_by_half.of_half(features, half)
            learner = Learner(inputs_of_half, self.plan.scenes)
            fits = self.run(learner, half.number, (features,), self.plan.searches[features])
            if half.number == 0 and paper.LATENT in fits:
                self.run_results.models[features] = fits[paper.LATENT], inputs_of_half
                self.run_results.relaxation[features] = self._relaxed(
                    fits[paper.LATENT], inputs_of_half
                )
                if not self.run_results.growth:
                    self.run_results.growth = grown(inputs_of_half, self.plan.scenes)

    def fit(self, method: str, settings: Settings, split: Learner) -> tuple[Fitted, float]:
        """Fit a method to training pictures."""
        return timed(lambda: split.fit(method, settings, split.data.half.train))

    def value(self, method: str, fitted: Fitted, split: Learner) -> float:
        """Return F of tags; without tags, the share of scenes that equal the clusters."""
        validation = split.data.half.validation
        predicted = (fitted.tagger or fitted.predict)(split.data, validation)
        if predicted.tags is not None:
            return f_measure(split.data.tags[validation], predicted.tags).micro
        assert predicted.scenes is not None
        return float(np.mean(predicted.scenes == split.pseudo_scenes(validation)))

    def refit(
        self, method: str, trial: Trial, fitted: Fitted, split: Learner
    ) -> tuple[Trial, Fitted]:
        """Fit the selected settings to all development pictures."""
        development = split.data.half.development
        final, seconds = timed(lambda: split.fit(method, trial.settings, development))
        return replace(trial, seconds=seconds), final

    def measure(self, result: HalfResult, fitted: Fitted, split: Learner) -> None:
        """Add the results on the test pictures."""
        outcome = self.test_set.measure(result.method, result.features, fitted, split.data)
        result.outcomes.append(outcome)

    def _relaxed(self, fitted: Fitted, data: HalfData) -> Relaxation:
        """Compare exact inference with the relaxation on validation pictures, in every scene."""
        model = fitted.model
        assert model is not None
        some = data.half.validation[: self.plan.relaxed]
        problems = model.problems(*inputs(data, some))
        free = [(a, np.maximum(b, 0.0)) for a, b in problems]
        tags = data.tags[np.repeat(some, model.n_scenes)]
        augmented_ones = [(a, augmented(b, y)[0]) for (a, b), y in zip(problems, tags, strict=True)]
        fractional, exact, relaxed = _timed(problems)
        hard, _, _ = _timed(augmented_ones)
        _, assigned, free_relaxed = _timed(free)
        n = len(problems)
        return Relaxation(fractional, exact, relaxed, n, hard, assigned, free_relaxed)


def _timed(problems: list[tuple[Doubles, Doubles]]) -> tuple[float, float, float]:
    """Return the share of fractional relaxations, and seconds of exact and relaxed inference."""
    choose_tags(*problems[0])
    began = time.process_time()
    for a, b in problems:
        choose_tags(a, b)
    middle = time.process_time()
    fractional = [relax(a, b).fractional for a, b in problems]
    n = len(problems)
    return float(np.mean(fractional)), (middle - began) / n, (time.process_time() - middle) / n
