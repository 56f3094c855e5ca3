"""Results of a run, and its figures in the form of all experiments."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sightline._typing import Doubles
from sightline.contracts import Json
from sightline.measures.figures import Compared, Figure, Figures
from sightline.measures.significance import PairedTest, wilcoxon
from sightline_experiments.experiment import RunResults
from sightline_experiments.feedback import paper
from sightline_experiments.feedback.methods import LINEAR, PAPERS, SHIPPED
from sightline_experiments.feedback.sessions import Track

DIRECTION = "picture->picture"
HEADLINE, PAPERS_WAY = "query left out", "query ranked, as in the paper"


@dataclass(slots=True, eq=False)
class FeatureResult:
    """All that was measured of one set of features.

    Attributes
    ----------
    tracks : by method.
    sweep : linear PA, by C.
    noisy : the default learner with a user who sometimes judges wrongly.
    """

    features: str
    tracks: dict[str, Track] = field(default_factory=dict)
    sweep: dict[float, Track] = field(default_factory=dict)
    noisy: Track | None = None

    def kept(self) -> float:
        """Return the share of the clean gain in AP@T that is left with wrong judgements."""
        if self.noisy is None or SHIPPED not in self.tracks:
            return float("nan")
        clean = self.tracks[SHIPPED].gain()
        return self.noisy.gain() / clean if clean else float("nan")


@dataclass(slots=True, eq=False)
class FeedbackResults(RunResults):
    """All results of a run, by set of features."""

    features: list[FeatureResult] = field(default_factory=list)


def compared(ran: FeatureResult) -> list[tuple[str, str]]:
    """Return the pairs that are tested: the paper's method and ours, each with its baselines."""
    pairs = [(LINEAR, m) for m in PAPERS if m != LINEAR]
    pairs += [(SHIPPED, m) for m in ran.tracks if m != SHIPPED]
    return [(a, b) for a, b in pairs if a in ran.tracks and b in ran.tracks]


def compare(ran: FeatureResult, a: str, b: str) -> PairedTest:
    """Test whether two methods differ in AP@T after the last round, by query."""
    return wilcoxon(ran.tracks[a].average[-1], ran.tracks[b].average[-1])


def mean(values: Doubles) -> float:
    """Return the mean of the queries that have a value."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def figures_of(results: FeedbackResults) -> Figures:
    """Return the figures of a run."""
    statements: dict[str, Json] = {
        ran.features: {text: bool(so) for text, so in paper.claims(ran.features, ran.tracks)}
        for ran in results.features
    }
    figures = results.figures("feedback", {"paper's statements": statements})
    for ran in results.features:
        for name, track in ran.tracks.items():
            figures.rows += _rows(ran.features, name, track)
        figures.rows += _beside(ran)
        for a, b in compared(ran):
            of = f" ({ran.features})"
            figures.tests.append(Compared(a + of, b + of, "AP@T", compare(ran, a, b).p))
    return figures


def _rows(features: str, name: str, track: Track) -> list[Figure]:
    """Return the figures of one method, round by round."""
    rows = []
    measured = (
        ("P@20", HEADLINE, track.precision),
        ("AP@T", HEADLINE, track.average),
        ("unjudged P@20", HEADLINE, track.unjudged),
        ("P@20", PAPERS_WAY, track.paper_precision),
        ("AP@T", PAPERS_WAY, track.paper_average),
    )
    for measure, protocol, table in measured:
        for number, values in enumerate(table):
            n = int((~np.isnan(values)).sum())
            rows.append(Figure(name, measure, mean(values), features, protocol,
                               direction=DIRECTION, at=number, n=n))  # fmt: skip
    n, last = track.average.shape[1], len(track.average) - 1
    rows.append(Figure(name, "harmed", track.harmed(), features, HEADLINE, direction=DIRECTION,
                       at=last, n=n))  # fmt: skip
    rows.append(Figure(name, "seconds", track.seconds, features, "learning, of a session's round",
                       direction=DIRECTION, n=n))  # fmt: skip
    return rows


def _beside(ran: FeatureResult) -> list[Figure]:
    rows = []
    for C, track in ran.sweep.items():
        for measure, table in (("P@20", track.precision), ("AP@T", track.average)):
            rows.append(Figure(LINEAR, measure, mean(table[-1]), ran.features, f"C = {C:g}",
                               direction=DIRECTION, at=len(table) - 1,
                               n=table.shape[1]))  # fmt: skip
    if ran.noisy is not None:
        track, last = ran.noisy, len(ran.noisy.average) - 1
        figures = (("AP@T", mean(track.average[-1])), ("harmed", track.harmed()),
               ("gain kept", ran.kept()))  # fmt: skip
        rows += [Figure(SHIPPED, measure, value, ran.features, "flipped judgements",
                        direction=DIRECTION, at=last, n=track.average.shape[1])
                 for measure, value in figures]  # fmt: skip
    return rows
