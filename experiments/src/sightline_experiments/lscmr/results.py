"""What a run found, and its figures in the form in which all experiments write them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sightline.contracts import Json
from sightline.measures.figures import Compared, Figure, Figures
from sightline.measures.significance import PairedTest, wilcoxon
from sightline_experiments.experiment import MethodResult, Results
from sightline_experiments.lscmr import paper
from sightline_experiments.lscmr.corel import Swept
from sightline_experiments.lscmr.evaluation import Measured
from sightline_experiments.lscmr.methods import BASELINES, STACKED
from sightline_experiments.tuning import settings_text

FIXED, RANDOM, NUS = "published split", "random splits", "NUS-WIDE"
FEATURES = "published"
MEASURES = ("MAP@50", "MAP")
OURS = {FIXED: STACKED, RANDOM: "LSCMR", NUS: "LSCMR"}
# The paper has no figures of the published split.
THEIRS = {RANDOM: paper.WIKIPEDIA, NUS: paper.NUS_WIDE}


@dataclass(slots=True, eq=False)
class DirectionResult(MethodResult[Measured]):
    """A method in one direction of one protocol, which are its group.

    Attributes
    ----------
    remarks : list of str
        What fitting had to say.
    """

    remarks: list[str] = field(default_factory=list)

    @property
    def protocol(self) -> str:
        """The protocol, which says which pairs are for what."""
        return self.group[0]

    @property
    def direction(self) -> str:
        """What is ranked for what."""
        return self.group[1]

    def means(self, measure: str) -> list[float]:
        """Return a measure's mean over the test queries of each split."""
        values = [m.at_50 if measure == "MAP@50" else m.avgp for m in self.outcomes]
        return [float(np.nanmean(v)) for v in values]

    def mean(self, measure: str) -> float:
        """Return the mean of a measure over splits."""
        return float(np.mean(self.means(measure)))


@dataclass(slots=True, eq=False)
class LscmrResults(Results[DirectionResult]):
    """All results of a run.

    Attributes
    ----------
    classes : tuple of str
    dimensions : dict
        (k, validation AvgP of LSCMR) by direction.
    swept : list
        The sweep over dimensions on Corel5K.
    """

    classes: tuple[str, ...] = ()
    dimensions: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    swept: list[Swept] = field(default_factory=list)

    def new(self, method: str, group: tuple[str, ...]) -> DirectionResult:
        """Return an empty result of a method."""
        return DirectionResult(method, group)


def compared(
    ran: dict[str, DirectionResult], protocol: str
) -> list[tuple[DirectionResult, DirectionResult]]:
    """Return our method beside each baseline."""
    ours = ran.get(OURS[protocol])
    return [] if ours is None else [(ours, r) for r in ran.values() if r is not ours]


def compare(a: DirectionResult, b: DirectionResult) -> PairedTest:
    """Test whether two methods differ, by the AvgP of test queries of all splits."""
    return wilcoxon(
        np.concatenate([m.avgp for m in a.outcomes]), np.concatenate([m.avgp for m in b.outcomes])
    )


def paper_figure(ran: DirectionResult, measure: str) -> float | None:
    """Return the paper's own figure, if it has one."""
    table = THEIRS.get(ran.protocol)
    return None if table is None else table[ran.direction, measure].get(ran.method)


def gain(
    ran: dict[str, DirectionResult], measure: str, ours: str = "LSCMR", inputs: str = ""
) -> tuple[str, float] | None:
    """Return the best of the paper's baselines, and by what share one of ours is above it.

    `inputs` is what the names of baselines end with that see the same as ours: nothing for mapped
    rows, or " stacked" for class probabilities.
    """
    baselines = {m + inputs: ran[m + inputs].mean(measure) for m in BASELINES if m + inputs in ran}
    if ours not in ran or not baselines:
        return None
    best = max(baselines, key=lambda m: baselines[m])
    return best, ran[ours].mean(measure) / baselines[best] - 1.0


def figures_of(results: LscmrResults) -> Figures:
    """Return the figures of a run."""
    more: dict[str, Json] = {
        "classes": list[Json](results.classes),
        "chosen": results.chosen(),
        "remarks": {r.name: list[Json](r.remarks) for r in results.methods if r.remarks},
        "read on Corel5K": [_reading(s) for s in results.swept if s.topics],
    }
    figures = results.figures("lscmr", more)
    for ran in results.methods:
        figures.rows += _rows(ran)
    for direction, points in results.dimensions.items():
        figures.rows += [
            Figure("LSCMR", "MAP", value, FEATURES, "dimensions", "validation", direction, k)
            for k, value in points
        ]
    for s in results.swept:
        figures.rows += _swept_rows(s)
    for protocol, direction in results.groups():
        for a, b in compared(results.of(protocol, direction), protocol):
            figures.tests.append(Compared(a.name, b.name, "MAP", compare(a, b).p))
    return figures


def _rows(ran: DirectionResult) -> list[Figure]:
    rows = []
    n = sum(len(m.avgp) for m in ran.outcomes)
    for measure in MEASURES if ran.outcomes else ():
        means = ran.means(measure)
        rows.append(
            Figure(ran.method, measure, float(np.mean(means)), FEATURES, ran.protocol,
                   direction=ran.direction, spread=float(np.std(means)), n=n,
                   paper=paper_figure(ran, measure))
        )  # fmt: skip
    rows += [
        Figure(ran.method, "MAP", t.value, FEATURES, ran.protocol, "validation", ran.direction,
               f"split {t.split}: {settings_text(t.settings)}")
        for t in ran.trials
    ]  # fmt: skip
    if ran.chosen:
        rows.append(
            Figure(ran.method, "seconds", ran.seconds(), FEATURES, ran.protocol,
                   direction=ran.direction, at="learning")
        )  # fmt: skip
    return rows


def _swept_rows(s: Swept) -> list[Figure]:
    protocol = f"Corel5K by {s.relevance}"
    rows = [
        Figure("LSCMR", "MAP", value, s.features, protocol, "validation", s.direction, k)
        for k, value in s.points
    ]
    return rows + [
        Figure("LSCMR", measure, value, s.features, protocol, "all", s.direction, s.at, n=s.n)
        for measure, value in (("MAP", s.avgp), ("MAP@50", s.at_50))
    ]


def _reading(s: Swept) -> Json:
    return {
        "features": s.features,
        "relevance": s.relevance,
        "lam": s.lam,
        "lists dropped": s.n_dropped,
        "topics": [[list[Json](high), list[Json](low)] for high, low in s.topics],
        "nearest words": {word: list[Json](near) for word, near in s.near.items()},
    }
