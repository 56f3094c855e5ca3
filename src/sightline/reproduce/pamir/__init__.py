"""The experiments of paper A: PAMIR and its rivals on Corel5K.

`plan` holds everything that may be tuned; `pool` describes the pictures once; `protocol` makes
splits and queries; `methods` fits; `selection` chooses settings by validation queries; `sealed`
holds the test pictures and measures each choice once; `tables`, `sheets` and `curves` show it.
"""

from __future__ import annotations

from collections.abc import Iterable

from sightline.contracts import Compute, Json, Progress
from sightline.datasets.corel5k import Corel5K
from sightline.errors import MissingExtra
from sightline.reproduce.pamir.cache import ArrayCache
from sightline.reproduce.pamir.kernels import try_kernels
from sightline.reproduce.pamir.methods import METHODS, Method
from sightline.reproduce.pamir.plan import SHEETS, Plan
from sightline.reproduce.pamir.pool import Describer
from sightline.reproduce.pamir.protocol import Split, make_splits, statistics
from sightline.reproduce.pamir.results import Ran, Results
from sightline.reproduce.pamir.sealed import Sealed
from sightline.reproduce.pamir.seeing import View
from sightline.reproduce.pamir.selection import Search, Selection, attempt


def run(
    c: Corel5K,
    plan: Plan,
    compute: Compute,
    cache: ArrayCache,
    progress: Progress,
    twice: bool = True,
    n_train: int | None = None,
) -> Results:
    """Describe, split, choose, measure.

    Parameters
    ----------
    twice : count the test picture that is listed twice two times, as the paper does.
    n_train : training pictures of a split; 4,000 by default.
    """
    describer = Describer(c, compute, cache, progress)
    development, test, prints, notes = _described(plan, describer)
    splits = make_splits(c, development, plan.seeds, n_train)
    sealed = Sealed(c, test, twice, SHEETS)
    del describer  # and with it the pictures
    found = Results(
        _settings(plan, prints, twice),
        [statistics(s.train) for s in splits],
        [statistics(s.validation) for s in splits],
        sealed.statistics,
        sealed.ceiling,
        sealed.sizes(splits),
        notes=list(notes.values()),
    )
    for features, searches in plan.searches.items():
        for name, search in searches.items() if features not in notes else ():
            _measure(METHODS[name], features, search, splits, sealed, found, progress)
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


def _measure(
    method: Method,
    features: str,
    search: Search,
    splits: Iterable[Split],
    sealed: Sealed,
    found: Results,
    progress: Progress,
) -> None:
    """Choose settings and measure the choice, split by split."""
    ran, selection = Ran(method.name, features), Selection(method, search)
    progress.start(ran.name, None)
    try:
        for split in splits:
            best = selection.choose(split, progress)
            ran.outcomes.append(sealed.measure(ran.name, best.scorer, split))
            selection.forget()
            ran.chosen.append(selection.same(best))
    except MissingExtra as e:
        found.notes.append(f"{ran.name} was left out: {e}")
        return
    finally:
        progress.finish()
    ran.trials = selection.trials
    found.ran.append(ran)


def _draw_curve(plan: Plan, split: Split, found: Results, progress: Progress) -> None:
    """Fit PAMIR to fewer and fewer training pictures, and ask the validation queries."""
    for ran in found.ran:
        if ran.method != "PAMIR" or not plan.curve:
            continue
        points = []
        progress.start(f"learning curve, {ran.features}", len(plan.curve))
        for n in plan.curve:
            if n <= len(split.train):
                smaller = split if n == len(split.train) else split.smaller(n)
                trial = attempt(METHODS["PAMIR"], smaller, ran.chosen[0].settings)
                points.append((n, trial.avgp))
            progress.advance()
        progress.finish()
        found.curve[ran.name] = points
