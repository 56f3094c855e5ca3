"""The experiments of paper E: tags, the regions they belong to, and scenes, on MSRC v2.

`plan` holds everything that may be tuned; `halves` shares the pictures out; `pool` cuts and
describes them; `seeing` is what learners see of a half, `methods` what they do with it;
`evaluation` measures each choice once on the test pictures; `results`, `tables`, `sheets` show it.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles
from sightline.contracts import Compute, Json, Progress
from sightline.errors import MissingExtra
from sightline.measures.annotation import f_measure
from sightline.regions.inference import augmented, choose_tags
from sightline.regions.programme import relax
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.msrc import MSRC
from sightline_experiments.experiment import Trial
from sightline_experiments.regions import paper
from sightline_experiments.regions.evaluation import MSRCTestSet
from sightline_experiments.regions.growth import grown
from sightline_experiments.regions.halves import DESIGNED_ON, Half, make_halves
from sightline_experiments.regions.inputs import RegionInputs, Seen
from sightline_experiments.regions.methods import Fitted, Learner, inputs
from sightline_experiments.regions.plan import Plan
from sightline_experiments.regions.pool import NETWORK, SIZE, Pool
from sightline_experiments.regions.results import HalfResult, RegionResults, Relaxation
from sightline_experiments.tuning import Choice, Settings


def run(
    c: MSRC, plan: Plan, compute: Compute, cache: ArrayCache, progress: Progress
) -> RegionResults:
    """Measure every method on every half."""
    experiment = _Experiment(c, plan, compute, cache, progress)
    for features in plan.features:
        try:
            experiment.run(features)
        except MissingExtra as e:
            experiment.found.notes.append(f"{features} was left out: {e}")
    return experiment.found


def _settings(plan: Plan) -> dict[str, Json]:
    return {
        "halves": plan.halves,
        "scenes": plan.scenes,
        "left out": ["void", "horse", "mountain"],
        "settings chosen by": "F of tags on a fifth of the pictures to learn from; scenes and "
        "pixels have no say; K-means and what is built on it has nothing to choose but C and rows",
        "the latent model's start": "designed by cross-validation of F, NMI and pixels within the "
        "pictures of halves 0 and 1 that are not for their tests; some of them are for the test of "
        "others",
        "the latent model's rows": "of codewords, whole pictures by a chi-squared kernel of their "
        "shares; rivals have counts or shares, as validation chooses, and those named chi2 the "
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


class _Experiment:
    def __init__(
        self, c: MSRC, plan: Plan, compute: Compute, cache: ArrayCache, progress: Progress
    ) -> None:
        self.plan, self.progress = plan, progress
        self.found = RegionResults(_settings(plan), words=c.words)
        # A run of fewer halves still knows which pictures nothing was designed on.
        halves, tests = make_halves(c.scenes, max(plan.halves, DESIGNED_ON))
        self.halves = halves[: plan.halves]
        self.test_set = MSRCTestSet(c, tests)
        pool = Pool(c, compute, cache, progress)
        self.seeing = RegionInputs(c, pool, dict(plan.cuts), plan.reduced)

    def run(self, features: str) -> None:
        """Measure all methods on one set of features."""
        ran: dict[str, HalfResult] = {}
        choices = {name: Choice[Trial](s) for name, s in self.plan.searches[features].items()}
        left_out: set[str] = set()
        for half in self.halves:
            seen = self.seeing.seen(features, half)
            learner = Learner(seen, self.plan.scenes)
            for name, choice in choices.items():
                if name in left_out:
                    continue
                self.progress.start(f"{features}, half {half.number}: {name}", None)
                try:
                    own = ran.setdefault(name, HalfResult(name, (features,)))
                    fitted = self._chosen(own, choice, learner, half)
                except MissingExtra as e:
                    left_out.add(name)
                    ran.pop(name, None)
                    self.found.notes.append(f"{name} was left out: {e}")
                    continue
                finally:
                    self.progress.finish()
                own.outcomes.append(self.test_set.measure(name, features, fitted, seen))
                if name == paper.LATENT and half.number == 0:
                    self.found.models[features] = fitted, seen
                    self.found.relaxation[features] = self._relaxed(fitted, seen)
                    if not self.found.growth:
                        self.found.growth = grown(seen, self.plan.scenes)
        self.found.methods += ran.values()

    def _chosen(
        self, ran: HalfResult, choice: Choice[Trial], learner: Learner, half: Half
    ) -> Fitted:
        """Choose settings on validation pictures, and fit to all that are not for the test."""

        def attempt(settings: Settings) -> Trial:
            began = time.process_time()
            fitted = learner.fit(ran.method, settings, half.train)
            seconds = time.process_time() - began
            value = _worth(learner, fitted, half.validation)
            trial = Trial(half.number, settings, value, seconds)
            ran.trials.append(trial)
            self.progress.advance()
            return trial

        best = choice.best(attempt, lambda trial: trial.value, half.number == 0)
        began = time.process_time()
        fitted = learner.fit(ran.method, best.settings, half.development)
        seconds = time.process_time() - began
        ran.chosen.append(Trial(half.number, best.settings, best.value, seconds))
        return fitted

    def _relaxed(self, fitted: Fitted, seen: Seen) -> Relaxation:
        """Compare exact inference with the relaxation on validation pictures, in every scene."""
        model = fitted.model
        assert model is not None
        some = seen.half.validation[: self.plan.relaxed]
        problems = model.problems(*inputs(seen, some))
        free = [(a, np.maximum(b, 0.0)) for a, b in problems]
        tags = seen.tags[np.repeat(some, model.n_scenes)]
        augmented_ones = [(a, augmented(b, y)[0]) for (a, b), y in zip(problems, tags, strict=True)]
        fractional, exact, relaxed = _timed(problems)
        hard, _, _ = _timed(augmented_ones)
        _, assigned, free_relaxed = _timed(free)
        n = len(problems)
        return Relaxation(fractional, exact, relaxed, n, hard, assigned, free_relaxed)


def _timed(problems: list[tuple[Doubles, Doubles]]) -> tuple[float, float, float]:
    """Return the share that is fractional when relaxed, and CPU seconds of both ways for each."""
    choose_tags(*problems[0])
    began = time.process_time()
    for a, b in problems:
        choose_tags(a, b)
    middle = time.process_time()
    fractional = [relax(a, b).fractional for a, b in problems]
    n = len(problems)
    return float(np.mean(fractional)), (middle - began) / n, (time.process_time() - middle) / n


def _worth(learner: Learner, fitted: Fitted, validation: NDArray[np.int64]) -> float:
    """Return F of tags; of what gives none, how many scenes are those of clustered pictures."""
    said = (fitted.tagger or fitted.say)(learner.seen, validation)
    if said.tags is not None:
        return f_measure(learner.seen.tags[validation], said.tags).micro
    assert said.scenes is not None
    return float(np.mean(said.scenes == learner.pseudo_scenes(validation)))
