"""Results of a run, and its figures in the form of all experiments."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sightline._typing import Doubles
from sightline.contracts import Json
from sightline.measures.figures import Compared, Figure, Figures
from sightline.measures.significance import PairedTest, wilcoxon
from sightline_experiments.experiment import MethodResult, Results
from sightline_experiments.online import paper
from sightline_experiments.online.methods import BATCH, ONLINE
from sightline_experiments.online.simulation import Simulated
from sightline_experiments.tuning import settings_text

DIRECTION = "picture->picture"


@dataclass(slots=True, eq=False)
class FoldResult(MethodResult[Doubles]):
    """A method on one data set and set of features, which are its group.

    The outcome of a fold is the AvgP of its test queries.
    """

    @property
    def dataset(self) -> str:
        """The title of the data set."""
        return self.group[0]

    @property
    def features(self) -> str:
        """The set of features."""
        return self.group[1]

    def means(self) -> list[float]:
        """Return the mAP of the test queries of each fold."""
        return [float(np.nanmean(a)) for a in self.outcomes]

    def validation(self) -> float:
        """Return the mAP of validation queries with the chosen settings, the mean over folds."""
        return float(np.mean([t.value for t in self.chosen]))


@dataclass(slots=True, eq=False)
class Extras:
    """Measurements beside the table, on the first fold of one dataset.

    Attributes
    ----------
    times : (triplets, CPU seconds) by method.
    large : (CPU seconds, test mAP) by method, after `n_large` triplets.
    comparing : CPU seconds of comparing the pictures of these triplets.
    distracted : (distractors, test mAP) by method.
    simulated : the simulation of online learning.
    """

    dataset: str
    times: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    n_large: int = 0
    large: dict[str, tuple[float, float]] = field(default_factory=dict)
    comparing: float = 0.0
    distracted: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    n_distracted: int = 0
    simulated: Simulated | None = None


@dataclass(slots=True, eq=False)
class OnlineResults(Results[FoldResult]):
    """All results of a run.

    Attributes
    ----------
    scalings : dict
        The scaling of each descriptor, by data set and fold.
    extras : list
        What was measured beside the table, by data set.
    """

    scalings: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    extras: list[Extras] = field(default_factory=list)

    def new(self, method: str, group: tuple[str, ...]) -> FoldResult:
        """Return an empty result of a method."""
        return FoldResult(method, group)


def best(ran: dict[str, FoldResult], among: tuple[str, ...]) -> FoldResult | None:
    """Return the method with the best mAP on validation queries; test queries have no influence."""
    candidates = [ran[m] for m in among if m in ran and ran[m].chosen]
    return max(candidates, key=lambda r: r.validation(), default=None)


def compare(a: FoldResult, b: FoldResult) -> PairedTest:
    """Test whether two methods differ, by test query, of all folds."""
    return wilcoxon(np.concatenate(a.outcomes), np.concatenate(b.outcomes))


def compared(ran: dict[str, FoldResult]) -> list[tuple[FoldResult, FoldResult]]:
    """Return the pairs that are compared: the best online learner with each other method."""
    best_online = best(ran, ONLINE)
    if best_online is None:
        return []
    return [(best_online, r) for r in ran.values() if r is not best_online]


def best_batch(ran: dict[str, FoldResult]) -> FoldResult | None:
    """Return the best batch baseline, by validation queries."""
    return best(ran, BATCH)


def figures_of(results: OnlineResults) -> Figures:
    """Return the figures of a run."""
    more: dict[str, Json] = {
        "frames": {d: [dict[str, Json](f) for f in folds] for d, folds in results.scalings.items()},
        "chosen": results.chosen(),
    }
    figures = results.figures("online", more)
    for ran in results.methods:
        figures.rows += _rows(ran)
    for extras in results.extras:
        figures.rows += _extra_rows(extras)
    for dataset, features in results.groups():
        for a, b in compared(results.of(dataset, features)):
            figures.tests.append(Compared(a.name, b.name, "mAP", compare(a, b).p))
    return figures


def _rows(ran: FoldResult) -> list[Figure]:
    means = ran.means()
    paper_map = paper.MAP.get(ran.dataset, {}).get(ran.method) if ran.features == "nine" else None
    protocol = f"{ran.dataset}, {len(means)} folds"
    rows = [
        Figure(ran.method, "mAP", float(np.mean(means)), ran.features, protocol,
               direction=DIRECTION, spread=float(np.std(means)),
               n=sum(len(a) for a in ran.outcomes), paper=paper_map),
        Figure(ran.method, "seconds", ran.seconds(),
               ran.features, protocol, direction=DIRECTION, at="learning"),
    ]  # fmt: skip
    rows += [
        Figure(ran.method, "mAP", value, ran.features, protocol, direction=DIRECTION,
               at=f"fold {t.split}", n=len(a))
        for t, value, a in zip(ran.chosen, means, ran.outcomes, strict=True)
    ]  # fmt: skip
    rows += [
        Figure(ran.method, "mAP", t.value, ran.features,
               f"{protocol}, validation of fold {t.split}", "validation", DIRECTION,
               at=settings_text(t.settings))
        for t in ran.trials
    ]  # fmt: skip
    return rows


def _extra_rows(extras: Extras) -> list[Figure]:
    def figure(method: str, measure: str, value: float, protocol: str, **more: object) -> Figure:
        return Figure(method, measure, value, "nine", f"{extras.dataset}, {protocol}",
                      direction=DIRECTION, **more)  # type: ignore[arg-type]  # fmt: skip

    rows = [
        figure(m, "seconds", seconds, "triplets", at=n)
        for m, points in extras.times.items()
        for n, seconds in points
    ]
    for m, (seconds, value) in extras.large.items():
        paper_seconds = paper.SECONDS.get(m) if extras.n_large == paper.N_LARGE else None
        many = f"{extras.n_large:,} triplets"
        rows.append(figure(m, "seconds", seconds, many, paper=paper_seconds))
        rows.append(figure(m, "mAP", value, many))
    rows += [
        figure(m, "mAP", value, "made distractors", at=n, n=extras.n_distracted)
        for m, points in extras.distracted.items()
        for n, value in points
    ]
    if extras.simulated is not None:
        for m, values in extras.simulated.ndcg.items():
            n = len(values)
            rows.append(figure(m, "NDCG@50", float(values.mean()), "queries one by one", n=n))
            if m in extras.simulated.seconds:
                spent = float(extras.simulated.seconds[m][-1])
                rows.append(figure(m, "seconds", spent, "queries one by one", n=n))
    return rows
