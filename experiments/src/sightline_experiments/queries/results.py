"""Results of a run, and its figures in the form of all experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sightline._typing import Bools, Doubles
from sightline.contracts import Json
from sightline.measures.figures import Compared, Figure, Figures
from sightline.measures.significance import wilcoxon
from sightline_experiments.experiment import RunResults
from sightline_experiments.queries.calibration import ShownHits, reliability
from sightline_experiments.queries.evaluation import Measures
from sightline_experiments.queries.questions import KINDS, MINUS, PLUS, Question

SIGHTLINE, RIDGE = "sightline", "ridge"
PLAIN = "plain question"
CALIBRATION_ERROR, BRIER_SKILL, RELIABILITY = "calibration error", "Brier skill", "right"
AVGP, P10, HITS, SHOWN = "AvgP", "P10", "hits", "shown"
# Of the first thirty: those that are shown, and those of the whole ranking.
SIGNED, SIGNED_UNCUT = "share with the signed word", "share with the signed word, uncut"


@dataclass(slots=True, eq=False)
class AnsweredQuestions:
    """The answers of all methods to the questions about one collection.

    Attributes
    ----------
    title, words_from : str
        The data set, and which words it has.
    measures : dict
        By method, of the questions and of the plain ones beside them.
    recipe : str
        What `train` selected.
    baseline : dict
        What the baseline chose on validation pictures.
    """

    title: str
    words_from: str
    tagged: int
    measured: int
    questions: tuple[Question, ...]
    measures: dict[str, tuple[Measures, Measures]] = field(default_factory=dict)
    recipe: str = ""
    baseline: dict[str, Json] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The data set and its words."""
        return f"{self.title}, {self.words_from}"

    def kinds(self) -> list[str]:
        """Return the kinds of questions there are."""
        present = {q.kind for q in self.questions}
        return [kind for kind in KINDS if kind in present]

    def of(self, kind: str) -> Bools:
        """Return which questions are of a kind."""
        return np.array([q.kind == kind for q in self.questions], np.bool_)


@dataclass(slots=True, eq=False)
class Calibrated:
    """The shown hits of collections of several sizes; of each size there is a list of draws."""

    title: str
    words_from: str
    sizes: dict[int, list[ShownHits]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class QueryResults(RunResults):
    """All results of a run."""

    answered: list[AnsweredQuestions] = field(default_factory=list)
    calibrated: list[Calibrated] = field(default_factory=list)


def figures_of(results: QueryResults) -> Figures:
    """Return the figures of a run."""
    collections: dict[str, Json] = {
        a.name: {
            "tagged": a.tagged, "measured": a.measured, "recipe": a.recipe, "ridge": a.baseline,
        }
        for a in results.answered
    }  # fmt: skip
    failed: dict[str, Json] = {
        f"{c.title}, {n}": h.why for c in results.calibrated
        for n, draws in c.sizes.items() for h in draws if h.why
    }  # fmt: skip
    figures = results.figures("queries", {"collections": collections, "nothing learned": failed})
    for answered in results.answered:
        figures.rows += _question_rows(answered)
        figures.tests += _tests(answered)
    for calibrated in results.calibrated:
        figures.rows += _calibration_rows(calibrated)
    return figures


def _question_rows(answered: AnsweredQuestions) -> Iterator[Figure]:
    for kind in answered.kinds():
        keep = answered.of(kind)
        has_plain = any(q.plain for q in answered.questions if q.kind == kind)
        for method, both in answered.measures.items():
            for at, measures in zip((None, PLAIN), both, strict=True):
                if at is None or has_plain:
                    for name, value in means(measures.only(keep), kind):
                        yield Figure(
                            method, name, value, answered.words_from, answered.title, kind, at=at,
                            n=int(keep.sum()),
                        )  # fmt: skip


def means(m: Measures, kind: str) -> list[tuple[str, float]]:
    """Return the figures of some questions by name."""
    rows: Sequence[tuple[str, Doubles]] = (
        (AVGP, m.avgp), (P10, m.p10), (HITS, m.hits), (SHOWN, m.shown),
    )  # fmt: skip
    named = [(name, float(values.mean())) for name, values in rows]
    if kind not in (MINUS, PLUS):
        return named
    return [*named, (SIGNED, m.share()), (SIGNED_UNCUT, m.share_uncut())]


def _tests(answered: AnsweredQuestions) -> Iterator[Compared]:
    for kind in answered.kinds():
        keep, place = answered.of(kind), f"({answered.name}, {kind})"
        pairs = {name: both[0].only(keep).avgp for name, both in answered.measures.items()}
        if SIGHTLINE in pairs:
            plain = answered.measures[SIGHTLINE][1].only(keep).avgp
            pairs[f"{SIGHTLINE}, {PLAIN}"] = plain
            for name in (RIDGE, f"{SIGHTLINE}, {PLAIN}"):
                if name in pairs and not np.array_equal(pairs[name], pairs[SIGHTLINE]):
                    p = wilcoxon(pairs[SIGHTLINE], pairs[name]).p
                    yield Compared(f"{SIGHTLINE} {place}", f"{name} {place}", AVGP, p)


def _calibration_rows(c: Calibrated) -> Iterator[Figure]:
    def figure(
        name: str, value: float, at: int | str, n: int, spread: float | None = None
    ) -> Figure:
        place = (c.words_from, c.title, "calibration")
        return Figure(SIGHTLINE, name, value, *place, at=at, spread=spread, n=n)

    for size, draws in c.sizes.items():
        learned = [h for h in draws if len(h.probability)]
        n_hits = sum(len(h.probability) for h in learned)
        for name, values in (
            (CALIBRATION_ERROR, [h.error for h in learned]),
            (BRIER_SKILL, [h.skill for h in learned]),
        ):
            if values:
                spread = float(np.std(values)) if len(values) > 1 else None
                yield figure(name, float(np.mean(values)), size, n_hits, spread)
        for probability, share, n in reliability(learned):
            yield figure(f"{RELIABILITY} at {size}", share, f"{probability:.4f}", n)
