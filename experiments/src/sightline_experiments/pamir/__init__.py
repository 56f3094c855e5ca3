"""The experiments of paper A: PAMIR and its rivals on Corel5K.

`plan` holds everything that may be tuned; `pool` describes the pictures once; `protocol` makes
splits and queries; `methods` fits; `selection` chooses settings by validation queries; `evaluation`
holds the test pictures and measures each choice once; `tables`, `sheets` and `curves` show it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sightline.contracts import Compute, Json, Progress
from sightline.errors import MissingExtra
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.corel5k import Corel5K
from sightline_experiments.extraction import View
from sightline_experiments.pamir.evaluation import CorelTestSet
from sightline_experiments.pamir.kernels import try_kernels
from sightline_experiments.pamir.methods import METHODS
from sightline_experiments.pamir.plan import SHEETS, Plan
from sightline_experiments.pamir.pool import Describer
from sightline_experiments.pamir.protocol import Split, make_splits, statistics
from sightline_experiments.pamir.results import PamirResults, SplitResult
from sightline_experiments.pamir.selection import Selection, attempt


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
    found = PamirResults(
        settings=_settings(plan, prints, twice),
        train=[statistics(s.train) for s in splits],
        validation=[statistics(s.validation) for s in splits],
        test=test_set.statistics,
        ceiling=test_set.ceiling,
        sizes=test_set.sizes(splits),
        notes=list(notes.values()),
    )
    underway = [
        _Underway(SplitResult(name, (features,)), Selection(METHODS[name], search))
        for features, searches in plan.searches.items()
        if features not in notes
        for name, search in searches.items()
    ]
    # Split by split, since methods share what they see of one.
    for split in splits:
        for method in underway:
            method.measure(split, test_set, progress)
    for method in underway:
        method.report(found)
    if plan.kernels is not None:
        found.kernels = try_kernels(plan.kernels, c, splits[0], compute, cache, progress)
    _draw_curve(plan, splits[0], found, progress)
    return found


def _described(
    plan: Plan, describer: Describer
) -> tuple[dict[str, View], dict[str, View], dict[str, str], dict[str, str]]:
    """Return rows for development and for test, fingerprints, and which features cannot be had."""
    development: dict[str, View] = {}
    test: dict[str, View] = {}
    prints: dict[str, str] = {}
    notes: dict[str, str] = {}
    for features in plan.searches:
        try:
            found = describer.describe(plan.views(features))
        except MissingExtra as e:
            notes[features] = f"The features {features} were left out: {e}"
            continue
        development |= found.development
        test |= found.test
        prints |= found.fingerprints
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


@dataclass(slots=True, eq=False)
class _Underway:
    """A method on a set of features: what was chosen and measured of it so far."""

    ran: SplitResult
    selection: Selection
    left_out: str = ""

    def measure(self, split: Split, test_set: CorelTestSet, progress: Progress) -> None:
        """Choose settings on a split and measure the choice."""
        if self.left_out:
            return
        progress.start(f"split {split.number}, {self.ran.name}", None)
        try:
            best = self.selection.choose(split, progress)
            self.ran.outcomes.append(test_set.measure(self.ran.name, best.scorer, split))
            self.selection.forget()
            self.ran.chosen.append(self.selection.same(best))
        except MissingExtra as e:
            self.left_out = f"{self.ran.name} was left out: {e}"
        finally:
            progress.finish()

    def report(self, results: PamirResults) -> None:
        """Add what was measured, or why it was not."""
        if self.left_out:
            results.notes.append(self.left_out)
            return
        self.ran.trials = self.selection.trials
        results.methods.append(self.ran)


def _draw_curve(plan: Plan, split: Split, found: PamirResults, progress: Progress) -> None:
    """Fit PAMIR to fewer and fewer training pictures, and ask the validation queries."""
    for ran in found.methods:
        if ran.method != "PAMIR" or not plan.curve:
            continue
        points = []
        progress.start(f"learning curve, {ran.features}", len(plan.curve))
        for n in plan.curve:
            if n <= len(split.train):
                smaller = split if n == len(split.train) else split.smaller(n)
                trial = attempt(METHODS["PAMIR"], smaller, ran.chosen[0].settings)
                points.append((n, trial.value))
            progress.advance()
        progress.finish()
        found.curve[ran.name] = points
