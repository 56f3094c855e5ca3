"""Results of a run, and its figures in the form of all experiments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sightline.measures.figures import Figure, Figures
from sightline_experiments.experiment import RunResults
from sightline_experiments.noise.suspected import CURVE, RECALL, Suspicion

CLEAN = "clean"
SUSPECTED = "suspected mislabels"


def condition(kind: str, share: float) -> str:
    """Return the name of a kind of noise.

    >>> condition("wrong", 0.2), condition("clean", 0.0)
    ('20 % wrong', 'clean')
    """
    return f"{100 * share:.0f} % {kind}" if share else kind


@dataclass(frozen=True, slots=True)
class Outcome:
    """A method trained under one condition, measured on clean test pictures.

    `avgp` is the mean of all queries, `single` that of queries of one word.
    """

    title: str
    method: str
    condition: str
    seed: int
    avgp: float
    single: float
    recipe: str


@dataclass(slots=True, eq=False)
class NoiseResults(RunResults):
    """All results of a run.

    Attributes
    ----------
    outcomes : list of Outcome
    suspicions : list of (str, str, int, Suspicion)
        By data set, condition and seed.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    suspicions: list[tuple[str, str, int, Suspicion]] = field(default_factory=list)

    def values(self, title: str, method: str, name: str, measure: str = "avgp") -> list[float]:
        """Return a measure of a method under one condition, seed by seed."""
        key = (title, method, name)
        return [
            float(getattr(o, measure))
            for o in self.outcomes
            if (o.title, o.method, o.condition) == key
        ]

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield each data set, method and condition, in the order of measuring."""
        yield from dict.fromkeys((o.title, o.method, o.condition) for o in self.outcomes)


_MEASURES = {"AvgP": "avgp", "AvgP of single words": "single"}


def figures_of(results: NoiseResults) -> Figures:
    """Return the figures of a run."""
    recipes: list[str] = [
        f"{o.title}, {o.condition}, seed {o.seed}: {o.method} {o.recipe}" for o in results.outcomes
    ]
    figures = results.figures("noise", {"recipes": list(recipes)})
    for title, method, name in results.rows():
        for measure, attribute in _MEASURES.items():
            values = results.values(title, method, name, attribute)
            figures.rows.append(_figure(method, measure, values, title, name))
            if name != CLEAN:
                (clean,) = results.values(title, method, CLEAN, attribute)
                lost = [clean - v for v in values]
                figures.rows.append(_figure(method, f"loss of {measure}", lost, title, name))
    for key in dict.fromkeys((title, name) for title, name, _, _ in results.suspicions):
        found = [s for title, name, _, s in results.suspicions if (title, name) == key]
        figures.rows += _suspected(found, *key)
    return figures


def _suspected(runs: list[Suspicion], title: str, name: str) -> Iterator[Figure]:
    shares = [s.suspected / s.tags for s in runs]
    yield _figure(SUSPECTED, "share suspected", shares, title, name)
    yield _figure(SUSPECTED, "share expected", [s.expected / s.tags for s in runs], title, name)
    if name == CLEAN:
        return
    for place, recall in enumerate(CURVE):
        precision = [s.curve[place] for s in runs]
        yield _figure(SUSPECTED, "precision", precision, title, name, at=f"recall {recall:g}")
    yield _figure(SUSPECTED, "recall", [s.recall for s in runs], title, name, at="precision 0.8")
    for low, high in dict.fromkeys((b.low, b.high) for s in runs for b in s.bins):
        bins = [b for s in runs for b in s.bins if b.low == low]
        tags = sum(b.tags for b in bins)
        for measure in ("predicted", "wrong"):
            mean = sum(getattr(b, measure) * b.tags for b in bins) / tags
            at = f"{low:g} to {high:g}"
            row = _figure(SUSPECTED, f"share {measure}", [mean], title, name, at=at, n=tags)
            yield row


def headline(suspicions: list[Suspicion]) -> float:
    """Return the mean precision at the recall that is asked for."""
    return float(np.mean([s.curve[CURVE.index(RECALL)] for s in suspicions]))


def _figure(
    method: str,
    measure: str,
    values: list[float],
    title: str,
    name: str,
    at: str | None = None,
    n: int | None = None,
) -> Figure:
    spread = float(np.std(values)) if len(values) > 1 else None
    return Figure(
        method, measure, float(np.mean(values)), protocol=title, subset=name, at=at,
        spread=spread, n=n,
    )  # fmt: skip
