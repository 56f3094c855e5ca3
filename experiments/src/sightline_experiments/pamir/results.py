"""Results of a run, and its figures in the form of all experiments."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import product

import numpy as np

from sightline._typing import Doubles
from sightline.contracts import Json
from sightline.measures.figures import Compared, Figure, Figures
from sightline.measures.significance import PairedTest, wilcoxon
from sightline_experiments.experiment import MethodResult, Results
from sightline_experiments.pamir import paper
from sightline_experiments.pamir.evaluation import Outcome
from sightline_experiments.pamir.kernels import KernelTrial
from sightline_experiments.pamir.protocol import Statistics
from sightline_experiments.tuning import settings_text

MEASURES = ("P10", "BEP", "AvgP")
SIGNIFICANT = 0.05
RANKING = ("PAMIR", "log-product")
PROTOCOL = "4,000 to train, 500 to validate, 500 to test"


@dataclass(slots=True, eq=False)
class SplitResult(MethodResult[Outcome]):
    """A method on one set of features, which is its group."""

    @property
    def features(self) -> str:
        """The set of features."""
        return self.group[0]

    def values(self, measure: str) -> list[Doubles]:
        """Return a measure by query, for each split."""
        at = {"AvgP": "avgp", "P10": "p10", "BEP": "bep"}[measure]
        return [np.asarray(getattr(o.measured, at)) for o in self.outcomes]

    def means(self, measure: str, group: str = "all") -> list[float]:
        """Return the mean over the queries of a group, for each split; NaN if it has none."""
        pairs = zip(self.values(measure), self.outcomes, strict=True)
        return [float(v[o.groups[group]].mean()) if o.groups[group].any() else np.nan
                for v, o in pairs]  # fmt: skip

    def averaged(self, measure: str, group: str = "all") -> Doubles:
        """Return the measure by query, averaged over splits, of queries that are always in a group.

        The pictures and queries are the same in every split, so that each counts once.
        """
        always = np.logical_and.reduce([o.groups[group] for o in self.outcomes])
        mean: Doubles = np.mean(self.values(measure), axis=0)[always]
        return mean


@dataclass(slots=True, eq=False, kw_only=True)
class PamirResults(Results[SplitResult]):
    """All results of a run.

    Attributes
    ----------
    train, validation : list of Statistics
        Of each split.
    test : Statistics
        Of the test pictures.
    ceiling : float
        The best P10 that a ranking can have.
    sizes : dict
        Queries in each group of test queries, for each split.
    kernels : list
        Kernels without a codebook, by validation queries.
    curve : dict
        (training pictures, mean AvgP of validation queries), by method.
    """

    train: list[Statistics]
    validation: list[Statistics]
    test: Statistics
    ceiling: float
    sizes: dict[str, list[int]]
    kernels: list[KernelTrial] = field(default_factory=list)
    curve: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def new(self, method: str, group: tuple[str, ...]) -> SplitResult:
        """Return an empty result of a method."""
        return SplitResult(method, group)

    def features(self) -> list[str]:
        """Return the sets of features that were measured."""
        return [features for (features,) in self.groups()]


def compare(a: SplitResult, b: SplitResult, measure: str, group: str = "all") -> PairedTest:
    """Test whether two methods differ, by query, each query averaged over splits."""
    return wilcoxon(a.averaged(measure, group), b.averaged(measure, group))


def compared(ran: dict[str, SplitResult]) -> list[tuple[SplitResult, SplitResult]]:
    """Return the pairs that are compared: each learning-to-rank method with each other method."""
    ours = [ran[name] for name in RANKING if name in ran]
    return [(mine, other) for mine in ours for other in ran.values() if other is not mine]


def figures_of(results: PamirResults) -> Figures:
    """Return the figures of a run."""
    more: dict[str, Json] = {
        "statistics": _statistics(results),
        "ceiling": {"P10": results.ceiling},
        "chosen": {
            r.name: [{**t.settings, **t.details} for t in r.chosen] for r in results.methods
        },
    }
    figures = results.figures("pamir", more)
    for ran in results.methods:
        figures.rows += _test_rows(results, ran) + _other_rows(ran)
    for name, points in results.curve.items():
        method, _, features = name.partition(" (")
        figures.rows += [
            Figure(method, "AvgP", value, features.rstrip(")"), "learning curve",
                   "validation", at=n)
            for n, value in points
        ]  # fmt: skip
    figures.rows += [
        Figure("PAMIR", "AvgP", k.avgp, "classic-strict", f"{k.kernel} kernel", "validation",
               at=settings_text(k.settings))
        for k in results.kernels
    ]  # fmt: skip
    figures.tests = _tests(results)
    return figures


def _statistics(results: PamirResults) -> dict[str, Json]:
    return {
        "train": [asdict(s) for s in results.train],
        "validation": [asdict(s) for s in results.validation],
        "test": asdict(results.test),
        "groups": {name: list[Json](sizes) for name, sizes in results.sizes.items()},
    }


def _test_rows(results: PamirResults, ran: SplitResult) -> list[Figure]:
    rows = []
    for group, measure in product(results.sizes, MEASURES):
        means = ran.means(measure, group)
        if not np.isfinite(means).all():
            continue
        settings_text = paper.FIGURES.get((ran.method, group, measure))
        is_paper_feature = ran.features.startswith("classic")
        rows.append(
            Figure(ran.method, measure, float(np.mean(means)), ran.features, PROTOCOL, group,
                   spread=float(np.std(means)), n=round(float(np.mean(results.sizes[group]))),
                   paper=settings_text if is_paper_feature else None)
        )  # fmt: skip
    return rows


def _other_rows(ran: SplitResult) -> list[Figure]:
    """Return the trials on validation queries, and the cost of indexing and of queries."""
    rows = [
        Figure(ran.method, "AvgP", t.value, ran.features, f"validation, split {t.split}",
               "validation", at=settings_text(t.settings))
        for t in ran.trials
    ]  # fmt: skip
    pairs = list(zip(ran.chosen, ran.outcomes, strict=True))
    index = [t.seconds + o.word_seconds for t, o in pairs]
    query = [o.query_seconds for _, o in pairs]
    for what, seconds in (("index", index), ("query", query)):
        rows.append(
            Figure(ran.method, "seconds", float(np.mean(seconds)), ran.features, PROTOCOL,
                   at=what, spread=float(np.std(seconds)))
        )  # fmt: skip
    return rows


def _tests(results: PamirResults) -> list[Compared]:
    tests = []
    for features in results.features():
        for (ours, other), measure in product(compared(results.of(features)), MEASURES):
            p = compare(ours, other, measure).p
            tests.append(Compared(ours.name, other.name, measure, p))
            pairs = zip(ours.chosen, ours.values(measure), other.values(measure), strict=True)
            for trial, mine, theirs in pairs:
                a, b = (f"{r.method} ({features}, split {trial.split})" for r in (ours, other))
                tests.append(Compared(a, b, measure, wilcoxon(mine, theirs).p))
    return tests
