"""The experiments of paper A: PAMIR and its baselines on Corel5K.

`plan` holds everything that may be tuned; `pool` computes descriptors once; `protocol` makes splits
and queries; `methods` fits; `evaluation` holds the test pictures and measures each choice once;
`results` and `report` have the figures beside those of `paper`.
"""

from __future__ import annotations

from collections.abc import Mapping

from sightline.contracts import Compute, Json, Progress
from sightline.errors import MissingExtra
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.corel5k import Corel5K
from sightline_experiments.experiment import Experiment, timed
from sightline_experiments.extraction import View
from sightline_experiments.pamir.evaluation import CorelTestSet
from sightline_experiments.pamir.kernels import try_kernels
from sightline_experiments.pamir.methods import METHODS
from sightline_experiments.pamir.plan import SHEETS, Plan
from sightline_experiments.pamir.pool import Describer
from sightline_experiments.pamir.protocol import Scorer, Split, make_splits, statistics
from sightline_experiments.pamir.results import PamirResults, SplitResult
from sightline_experiments.tuning import Settings


def run(
    c: Corel5K,
    plan: Plan,
    compute: Compute,
    cache: ArrayCache,
    progress: Progress,
    twice: bool = True,
    n_train: int | None = None,
) -> PamirResults:
    """Describe, split, choose, measure.

    Parameters
    ----------
    twice : count the test picture that is listed twice two times, as the paper does.
    n_train : training pictures of a split; 4,000 by default.
    """
    describer = Describer(c, compute, cache, progress)
    development, test, prints, notes = _described(plan, describer)
    splits = make_splits(c, development, plan.seeds, n_train)
    test_set = CorelTestSet(c, test, twice, SHEETS)
    del describer  # and with it the pictures
    results = PamirResults(
        settings=_settings(plan, prints, twice),
        train=[statistics(s.train) for s in splits],
        validation=[statistics(s.validation) for s in splits],
        test=test_set.statistics,
        ceiling=test_set.ceiling,
        sizes=test_set.sizes(splits),
        notes=list(notes.values()),
    )
    experiments = {
        features: _Experiment(features, test_set, results, progress)
        for features in plan.features
        if features not in notes
    }
    # Split by split, since methods share what they see of one.
    for split in splits:
        for features, experiment in experiments.items():
            experiment.run(split, split.number, (features,), plan.searches[features])
    if plan.kernels is not None and "classic-strict" in plan.features:
        results.kernels = try_kernels(plan.kernels, c, splits[0], compute, cache, progress)
    _draw_curve(plan, splits[0], results, progress)
    return results


def _described(
    plan: Plan, describer: Describer
) -> tuple[dict[str, View], dict[str, View], dict[str, str], dict[str, str]]:
    """Return rows for development and for test, fingerprints, and which features cannot be had."""
    development: dict[str, View] = {}
    test: dict[str, View] = {}
    prints: dict[str, str] = {}
    notes: dict[str, str] = {}
    for features in plan.features:
        try:
            described = describer.describe(plan.views(features))
        except MissingExtra as e:
            notes[features] = f"The features {features} were left out: {e}"
            continue
        development |= described.development
        test |= described.test
        prints |= described.fingerprints
    return development, test, prints, notes


def _settings(plan: Plan, prints: dict[str, str], twice: bool) -> dict[str, Json]:
    return {
        "seeds": list[Json](plan.seeds),
        "features": dict[str, Json](prints),
        "picture listed twice counts": 2 if twice else 1,
        "vocabulary": "words of at least two test pictures, as in the paper",
        "query weights": "idf of training captions, log(N/n)",
        "settings chosen by": "mean AvgP of validation queries; views on the first split",
        "note": "features named deep come from a network trained on ImageNet",
    }


class _Experiment(Experiment[Split, Scorer, SplitResult]):
    """One set of features."""

    def __init__(
        self, features: str, test_set: CorelTestSet, results: PamirResults, progress: Progress
    ) -> None:
        super().__init__(results, progress, features)
        self.test_set = test_set

    def fit(self, method: str, settings: Settings, split: Split) -> tuple[Scorer, float]:
        """Fit a method to training pictures."""
        return timed(lambda: METHODS[method].fit(split, settings))

    def value(self, method: str, fitted: Scorer, split: Split) -> float:
        """Return the mean AvgP of validation queries."""
        return split.value(fitted)

    def details(self, fitted: Scorer) -> Mapping[str, Json]:
        """Return what fitting selected, such as the number of steps."""
        return fitted.details

    def measure(self, result: SplitResult, fitted: Scorer, split: Split) -> None:
        """Add what a method reached on the test queries."""
        result.outcomes.append(self.test_set.measure(result.name, fitted, split))


def _draw_curve(plan: Plan, split: Split, results: PamirResults, progress: Progress) -> None:
    """Fit PAMIR to fewer and fewer training pictures, and ask the validation queries."""
    for ran in results.methods:
        if ran.method != "PAMIR" or not plan.curve:
            continue
        points = []
        progress.start(f"learning curve, {ran.features}", len(plan.curve))
        for n in plan.curve:
            if n <= len(split.train):
                smaller = split if n == len(split.train) else split.smaller(n)
                scorer = METHODS["PAMIR"].fit(smaller, dict(ran.chosen[0].settings))
                points.append((n, smaller.value(scorer)))
            progress.advance()
        progress.finish()
        results.curve[ran.name] = points
