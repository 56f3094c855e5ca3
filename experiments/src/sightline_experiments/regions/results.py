"""Results of a run, and its figures in the form of all experiments."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sightline.measures.figures import Compared, Figure, Figures
from sightline.measures.significance import PairedTest, wilcoxon
from sightline_experiments.experiment import MethodResult, Results
from sightline_experiments.regions import judging, paper
from sightline_experiments.regions.evaluation import Outcome
from sightline_experiments.regions.methods import Fitted
from sightline_experiments.regions.protocol import HalfData
from sightline_experiments.tuning import settings_text

DIRECTION = "picture->text"
# Measured as F with another count: the name of the measure, and what of it.
_AT = {judging.F_PICTURE: (judging.F, "mean over pictures")}
# Pictures whose scene is that of their cluster, by rows and tags.
_CHOSEN_BY = dict.fromkeys((paper.PSEUDO_LABEL, paper.PSEUDO_LABEL_CHI2), "agreement")
_PAPER = {judging.F: paper.F, judging.NMI: paper.NMI}


@dataclass(slots=True, eq=False)
class HalfResult(MethodResult[Outcome]):
    """A method on one set of features, which is its group."""

    @property
    def features(self) -> str:
        """The set of features."""
        return self.group[0]

    def values(self, measure: str) -> list[float]:
        """Return a measure on each half; nothing if the method does not predict it."""
        return [o.measures[measure] for o in self.outcomes if measure in o.measures]

    def clean(self, measure: str) -> list[float]:
        """Return a measure on pictures that nothing was designed on, of halves that have some."""
        return [o.clean[measure] for o in self.outcomes if measure in o.clean]

    def each(self) -> NDArray[np.float64] | None:
        """Return F of each test picture of all halves."""
        f_measures = [o.each for o in self.outcomes if o.each is not None]
        return np.concatenate(f_measures) if f_measures else None


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The paper's relaxation compared with exact inference, on pictures and all scenes.

    Attributes
    ----------
    fractional : share of problems whose relaxed solution is not integral.
    exact, relaxed : CPU seconds of one problem.
    n : problems.
    hard : share of fractional ones in loss-augmented inference, as in training.
    assigned, free_relaxed : CPU seconds of one problem in which no tag has a cost.
    """

    fractional: float
    exact: float
    relaxed: float
    n: int
    hard: float
    assigned: float
    free_relaxed: float


@dataclass(frozen=True, slots=True)
class Growth:
    """CPU seconds of training, and of tagging one picture, at some size."""

    pictures: int
    tags: int
    learning: float
    iterations: int
    inference: float


@dataclass(slots=True, eq=False)
class RegionResults(Results[HalfResult]):
    """All results of a run.

    Attributes
    ----------
    words : tuple of str
        The tags.
    relaxation : dict
        The linear programme beside exact inference, by features.
    models : dict
        The latent model of the first half, and what it was fitted to, by features.
    growth : list
        Time against pictures and tags.
    """

    words: tuple[str, ...] = ()
    relaxation: dict[str, Relaxation] = field(default_factory=dict)
    models: dict[str, tuple[Fitted, HalfData]] = field(default_factory=dict)
    growth: list[Growth] = field(default_factory=list)

    def new(self, method: str, group: tuple[str, ...]) -> HalfResult:
        """Return an empty result of a method."""
        return HalfResult(method, group)

    def features(self) -> list[str]:
        """Return the sets of features that were measured."""
        return [features for (features,) in self.groups()]


def compare(a: HalfResult, b: HalfResult) -> PairedTest | None:
    """Test whether two methods differ, by the F of each test picture of all halves."""
    one, other = a.each(), b.each()
    return None if one is None or other is None else wilcoxon(one, other)


def compared(ran: dict[str, HalfResult]) -> list[tuple[HalfResult, HalfResult, PairedTest]]:
    """Return the pairs that are compared: the latent model with each other method with tags."""
    latent = ran.get(paper.LATENT)
    if latent is None:
        return []
    tests = [(latent, r, compare(latent, r)) for r in ran.values() if r is not latent]
    return [(a, b, test) for a, b, test in tests if test is not None]


def figures_of(results: RegionResults) -> Figures:
    """Return the figures of a run."""
    figures = results.figures("regions", {"chosen": results.chosen()})
    for ran in results.methods:
        figures.rows += _rows(ran)
    for features, relaxation in results.relaxation.items():
        figures.rows += _relaxation_rows(features, relaxation)
    for features, (fitted, _) in results.models.items():
        figures.rows += _course_rows(features, fitted)
    for g in results.growth:
        at = f"{g.pictures} pictures, {g.tags} tags"
        for name, value in (("learning", g.learning), ("inference", g.inference)):
            figures.rows.append(Figure(paper.LATENT, "seconds", value, "classic", f"growth, {name}",
                                       direction=DIRECTION, at=at))  # fmt: skip
    for features in results.features():
        for a, b, test in compared(results.of(features)):
            figures.tests.append(Compared(a.name, b.name, judging.F, test.p))
    return figures


def _rows(ran: HalfResult) -> list[Figure]:
    protocol = f"{len(ran.outcomes)} halves"
    rows: list[Figure] = []
    n = sum(o.n for o in ran.outcomes)
    for measure in judging.MEASURES:
        values = ran.values(measure)
        if not values:
            continue
        name, at = _AT.get(measure, (measure, None))
        theirs = _PAPER.get(measure, {}).get(ran.method) if ran.features == "classic" else None
        rows.append(
            Figure(ran.method, name, float(np.mean(values)), ran.features, protocol, at=at,
                   direction=DIRECTION, spread=float(np.std(values)), n=n, paper=theirs)
        )  # fmt: skip
        if at is None:
            rows += [
                Figure(ran.method, name, v, ran.features, protocol, at=f"half {t.split}",
                       direction=DIRECTION)
                for t, v in zip(ran.chosen, values, strict=True)
            ]  # fmt: skip
    rows += _clean_rows(ran)
    rows.append(Figure(ran.method, "seconds", ran.seconds(), ran.features, protocol, at="learning",
                       direction=DIRECTION))  # fmt: skip
    rows += [
        Figure(ran.method, _CHOSEN_BY.get(ran.method, judging.F), t.value, ran.features,
               f"{protocol}, validation of half {t.split}", "validation", DIRECTION,
               at=settings_text(t.settings))
        for t in ran.trials
        if ran.method != paper.K_MEANS
    ]  # fmt: skip
    return rows


def _clean_rows(ran: HalfResult) -> list[Figure]:
    """Return the measures on pictures that nothing was designed on."""
    n = sum(o.n_clean for o in ran.outcomes)
    rows = []
    for measure in judging.MEASURES:
        values = ran.clean(measure)
        if values:
            name, at = _AT.get(measure, (measure, None))
            rows.append(
                Figure(ran.method, name, float(np.mean(values)), ran.features,
                       f"{len(values)} halves", "never designed on", DIRECTION, at=at,
                       spread=float(np.std(values)), n=n)
            )  # fmt: skip
    return rows


def _course_rows(features: str, fitted: Fitted) -> list[Figure]:
    """Return the course of training on the first half, iteration by iteration."""
    return [
        Figure(paper.LATENT, name, value, features, "learning, half 0", "training", DIRECTION,
               at=f"iteration {step.iteration}")
        for step in fitted.course
        for name, value in (("objective", step.value), ("gap", step.gap), (judging.F, step.f))
    ]  # fmt: skip


def _relaxation_rows(features: str, r: Relaxation) -> list[Figure]:
    def figure(method: str, measure: str, value: float) -> Figure:
        return Figure(method, measure, value, features, "inference", direction=DIRECTION, n=r.n)

    return [
        figure("linear programme", "fractional", r.fractional),
        figure("linear programme", "seconds", r.relaxed),
        figure("linear programme", "fractional, wrong tags counted", r.hard),
        figure("branch and bound", "seconds", r.exact),
        figure("assignment, no tag costs anything", "seconds", r.assigned),
        figure("linear programme, no tag costs anything", "seconds", r.free_relaxed),
    ]
