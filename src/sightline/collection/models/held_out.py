"""Measuring a word model on held-out pictures, by queries made of their words.

Each word that a held-out picture has is a query, and so are sets of words. The candidate, which
was fitted without these pictures, ranks them for every query. So does the proof of the model in
use, which was also fitted without them. The baseline is the untrained order, a random one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Floats, Ints
from sightline.collection.models.dataset import Dataset, split, spread
from sightline.collection.models.lifecycle import GateReport
from sightline.collection.models.queries import combined, evaluation_queries, idf_in, picture_counts
from sightline.collection.models.recipe import Fitted
from sightline.collection.models.remote import measure_remote
from sightline.collection.models.versions import WORDS
from sightline.collection.models.word_model import WordModel
from sightline.contracts import Mapper
from sightline.measures.many import (
    ManyMeasured,
    measure_queries,
    untrained_average_precision,
    untrained_lower_bound,
)
from sightline.measures.significance import wilcoxon
from sightline.records import QuerySet
from sightline.words.combination import Combination

_ROUNDING = 1e-9
# Of more scores than this, some of the held-out pictures are measured, but never fewer than these.
_MOST_CELLS, _FEWEST_PICTURES = 1 << 25, 6_000


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutQueries:
    """The held-out pictures, some of them if they are many, and the queries their words make."""

    dataset: Dataset
    queries: QuerySet
    idf: NDArray[np.float64]

    @classmethod
    def of(cls, dataset: Dataset) -> HeldOutQueries:
        """Return the held-out part of a dataset and its evaluation queries."""
        is_held_out, _ = split(dataset)
        training_labels, held_out = dataset.labels[~is_held_out], dataset.only(is_held_out)
        held_out = held_out.only(_measured(held_out))
        idf = idf_in(training_labels) if training_labels.shape[0] else np.ones(len(dataset.terms))
        known = picture_counts(training_labels) > 0
        return cls(held_out, evaluation_queries(held_out.labels, idf, known), idf)

    def untrained(self) -> NDArray[np.float64]:
        """Return the expected AvgP of each query in a random order."""
        n = max(len(self.dataset), 1)
        return untrained_average_precision(np.diff(self.queries.relevant_start), n)

    def significantly_harmed(self, avgp: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which queries are ranked worse than in 95 of 100 random orders."""
        n = max(len(self.dataset), 1)
        bound = untrained_lower_bound(np.diff(self.queries.relevant_start), n)
        # The same AvgP, summed in another order.
        return np.asarray(avgp < bound - _ROUNDING)


def _measured(held_out: Dataset) -> Ints:
    """Return the positions of the pictures that are measured; of many some, always the same."""
    most = max(_FEWEST_PICTURES, _MOST_CELLS // max(len(held_out.terms), 1))
    if len(held_out) <= most:
        return np.arange(len(held_out))
    return np.sort(np.searchsorted(held_out.ids, spread(held_out.ids)[:most]))


def measure_candidate(
    held: HeldOutQueries,
    fitted: Fitted,
    combination: Combination,
    current: WordModel | None,
    compute: Mapper | None = None,
    scores: Floats | None = None,
) -> GateReport:
    """Measure a candidate, and the model in use, on the held-out pictures.

    `scores` are those of the candidate, if they are known.
    """
    if not len(held.queries):
        return GateReport.unmeasured(WORDS)
    measured = measure(fitted, combination, held, compute, scores)
    untrained = held.untrained()
    test = wilcoxon(measured.avgp, untrained)
    report = GateReport(
        WORDS, len(untrained), measured.mean_avgp, float(untrained.mean()), p=test.p,
        helped=test.helped, harmed=test.harmed,
        extra={
            "p10": float(np.nanmean(measured.p10)), "bep": float(np.nanmean(measured.bep)),
            "significantly_harmed": int(held.significantly_harmed(measured.avgp).sum()),
        },
    )  # fmt: skip
    # The proof of a model was fitted to the held-out pictures if there were no others.
    if current is None or current.about.get("proof_seen"):
        return report
    if not set(current.features) <= set(held.dataset.views):
        return replace(report, not_compared=True)
    avgp_of_current, common = _current(held, current)
    if not common.any():
        return report
    return replace(
        report,
        current=float(avgp_of_current[common].mean()),
        candidate_on_common=float(measured.avgp[common].mean()),
        n_common=int(common.sum()),
    )


def _current(held: HeldOutQueries, current: WordModel) -> tuple[NDArray[np.float64], Bools]:
    """Return the AvgP of the served model's proof, and for which queries it knows all words."""
    terms = current.aliases.names_of(held.dataset.terms)
    knows = current.knows(terms)
    common = np.logical_and.reduceat(knows[held.queries.term], held.queries.start[:-1])
    columns = np.minimum(np.searchsorted(current.terms, terms), len(current.terms) - 1)
    rows = current.proof_combination.rows(current.proof.scores(held.dataset.views))[:, columns]
    # Words count as for the candidate: what is served knows how many held-out pictures have them.
    queries = combined(held.queries, current.proof_combination, held.idf)
    return measure_queries(rows, queries).avgp, common


def measure(
    fitted: Fitted,
    combination: Combination,
    held: HeldOutQueries,
    compute: Mapper | None = None,
    scores: Floats | None = None,
) -> ManyMeasured:
    """Measure a fitted model on the held-out pictures; `compute` is where, if not here."""
    rows = combination.rows(fitted.scores(held.dataset.views) if scores is None else scores)
    return measure_rows(rows, combined(held.queries, combination, held.idf), compute)


def measure_rows(rows: Floats, queries: QuerySet, compute: Mapper | None) -> ManyMeasured:
    """Measure weighted queries on rows of word scores; `compute` is where, if not here."""
    return (
        measure_queries(rows, queries)
        if compute is None
        else measure_remote(rows, queries, compute)
    )
