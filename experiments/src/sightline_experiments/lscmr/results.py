"""What a run found, and its figures in the form in which all experiments write them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sightline import __version__
from sightline.contracts import Json
from sightline.measures.figures import Compared, Figure, Figures
from sightline.measures.significance import PairedTest, wilcoxon
from sightline_experiments.lscmr import paper
from sightline_experiments.lscmr.corel import Swept
from sightline_experiments.lscmr.evaluation import Measured
from sightline_experiments.lscmr.methods import RIVALS, STACKED
from sightline_experiments.tuning import Settings, said

FIXED, RANDOM, NUS = "published split", "random splits", "NUS-WIDE"
FEATURES = "published"
MEASURES = ("MAP@50", "MAP")
OURS = {FIXED: STACKED, RANDOM: "LSCMR", NUS: "LSCMR"}
# The paper has no figures of the published split.
THEIRS = {RANDOM: paper.WIKIPEDIA, NUS: paper.NUS_WIDE}


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings tried on a split, the mean AvgP of validation queries, and CPU seconds."""

    split: int
    settings: Settings
    value: float
    seconds: float


@dataclass(slots=True, eq=False)
class Ran:
    """One method in one direction of one protocol; lists have an entry for each split."""

    protocol: str
    direction: str
    method: str
    trials: list[Trial] = field(default_factory=list)
    chosen: list[Trial] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """How tests name it."""
        return f"{self.method} ({self.protocol}, {self.direction})"

    def means(self, measure: str) -> list[float]:
        """Return a measure's mean over the test queries of each split."""
        values = [m.at_50 if measure == "MAP@50" else m.avgp for m in self.measured]
        return [float(np.nanmean(v)) for v in values]

    def mean(self, measure: str) -> float:
        """Return the mean of a measure over splits."""
        return float(np.mean(self.means(measure)))


@dataclass(slots=True, eq=False)
class Results:
    """All that a run found.

    `dimensions` holds (k, validation AvgP of LSCMR) by direction, `swept` what Corel5K gave;
    `unavailable` are titles of datasets that are not there.
    """

    settings: dict[str, Json]
    classes: tuple[str, ...]
    ran: list[Ran] = field(default_factory=list)
    dimensions: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    swept: list[Swept] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unavailable: list[str] = field(default_factory=list)

    def ran_of(self, protocol: str, direction: str, method: str) -> Ran:
        """Return what a method found, made if it is new."""
        for r in self.ran:
            if (r.protocol, r.direction, r.method) == (protocol, direction, method):
                return r
        self.ran.append(Ran(protocol, direction, method))
        return self.ran[-1]

    def groups(self) -> list[tuple[str, str]]:
        """Return protocols and directions that were measured."""
        return list(dict.fromkeys((r.protocol, r.direction) for r in self.ran))

    def of(self, protocol: str, direction: str) -> dict[str, Ran]:
        """Return the methods measured, by name."""
        return {
            r.method: r
            for r in self.ran
            if (r.protocol, r.direction) == (protocol, direction) and r.measured
        }


def compared(ran: dict[str, Ran], protocol: str) -> list[tuple[Ran, Ran]]:
    """Return our method beside each rival."""
    mine = ran.get(OURS[protocol])
    return [] if mine is None else [(mine, r) for r in ran.values() if r is not mine]


def compare(a: Ran, b: Ran) -> PairedTest:
    """Test whether two methods differ, by the AvgP of test queries of all splits."""
    return wilcoxon(
        np.concatenate([m.avgp for m in a.measured]), np.concatenate([m.avgp for m in b.measured])
    )


def theirs(ran: Ran, measure: str) -> float | None:
    """Return the paper's own figure, if it has one."""
    table = THEIRS.get(ran.protocol)
    return None if table is None else table[ran.direction, measure].get(ran.method)


def gain(
    ran: dict[str, Ran], measure: str, ours: str = "LSCMR", inputs: str = ""
) -> tuple[str, float] | None:
    """Return the best of the paper's rivals, and by what share one of ours is above it.

    `inputs` is what the names of rivals end with that see the same as ours: nothing for mapped
    rows, or " stacked" for class probabilities.
    """
    rivals = {m + inputs: ran[m + inputs].mean(measure) for m in RIVALS if m + inputs in ran}
    if ours not in ran or not rivals:
        return None
    best = max(rivals, key=lambda m: rivals[m])
    return best, ran[ours].mean(measure) / rivals[best] - 1.0


def figures_of(found: Results) -> Figures:
    """Return the figures of a run."""
    settings: dict[str, Json] = {
        **found.settings,
        "sightline": __version__,
        "classes": list[Json](found.classes),
        "chosen": {r.name: [dict(t.settings) for t in r.chosen] for r in found.ran},
        "remarks": {r.name: list[Json](r.remarks) for r in found.ran if r.remarks},
        "notes": list[Json](found.notes),
        "unavailable": list[Json](found.unavailable),
        "read on Corel5K": [_reading(s) for s in found.swept if s.topics],
    }
    figures = Figures("lscmr", settings)
    for ran in found.ran:
        figures.rows += _rows(ran)
    for direction, points in found.dimensions.items():
        figures.rows += [
            Figure("LSCMR", "MAP", value, FEATURES, "dimensions", "validation", direction, k)
            for k, value in points
        ]
    for s in found.swept:
        figures.rows += _swept_rows(s)
    for protocol, direction in found.groups():
        for a, b in compared(found.of(protocol, direction), protocol):
            figures.tests.append(Compared(a.name, b.name, "MAP", compare(a, b).p))
    return figures


def _rows(ran: Ran) -> list[Figure]:
    rows = []
    n = sum(len(m.avgp) for m in ran.measured)
    for measure in MEASURES if ran.measured else ():
        means = ran.means(measure)
        rows.append(
            Figure(ran.method, measure, float(np.mean(means)), FEATURES, ran.protocol,
                   direction=ran.direction, spread=float(np.std(means)), n=n,
                   paper=theirs(ran, measure))
        )  # fmt: skip
    rows += [
        Figure(ran.method, "MAP", t.value, FEATURES, ran.protocol, "validation", ran.direction,
               f"split {t.split}: {said(t.settings)}")
        for t in ran.trials
    ]  # fmt: skip
    if ran.chosen:
        seconds = float(np.mean([t.seconds for t in ran.chosen]))
        rows.append(
            Figure(ran.method, "seconds", seconds, FEATURES, ran.protocol,
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
