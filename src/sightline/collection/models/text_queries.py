"""Texts and pictures as queries for each other, by which text models are selected and measured.

A text is all words of one picture. Every text ranks all pictures, and every picture all texts. A
text and a picture are relevant to each other if the picture's own words share one with the text:
the relevance of paper C's sets of pictures with tags, by which the rankers learn. A picture and its
own text belong together, as in paper C, so they are ranked too; neither was seen by the model that
is measured.

The figure of a picture is the mean of its two AvgP, as the query and by its text as the query.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline._typing import Bools, Doubles, Ints
from sightline.collection.models.any_word import measure_any_word
from sightline.collection.models.dataset import Dataset, aligned, split
from sightline.collection.models.lifecycle import GateReport
from sightline.collection.models.queries import only, picture_counts
from sightline.collection.models.recipe import Fitted
from sightline.collection.models.text_model import TextModel
from sightline.collection.models.versions import TEXT
from sightline.contracts import Json
from sightline.measures.many import (
    ManyMeasured,
    average_precisions,
    untrained_average_precision,
)
from sightline.measures.significance import wilcoxon
from sightline.records import QuerySet

if TYPE_CHECKING:
    from sightline.collection.models.word_model import WordModel

# Figures of the held-out pictures, with the fields of `GateReport`.
HELD_OUT_TEXTS = {
    "pictures": "n", "avgp": "candidate", "untrained": "baseline", "p": "p", "helped": "helped",
    "harmed": "harmed", "harmed_rate": "harmed_rate", "text_to_picture": "text_to_picture",
    "picture_to_text": "picture_to_text", "word_model": "word_model", "current": "current",
    "against_current": "candidate_on_common", "common_pictures": "n_common",
    "not_compared": "not_compared",
}  # fmt: skip
# Every text ranks every picture, so that time and memory grow with the square of this.
AT_MOST = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class TextMeasures:
    """The measures of texts as queries, and of pictures as queries, picture by picture."""

    text_to_picture: ManyMeasured
    picture_to_text: ManyMeasured

    def mean(self) -> ManyMeasured:
        """Return the means of both directions."""
        a, b = self.text_to_picture, self.picture_to_text
        return ManyMeasured((a.avgp + b.avgp) / 2, (a.p10 + b.p10) / 2, (a.bep + b.bep) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class TextQueries:
    """Pictures with texts that were not learned from.

    Attributes
    ----------
    dataset : Dataset
        The pictures; each has a word that training pictures have.
    queries : QuerySet
        The words of each text, and the pictures that share one of them.
    rows : ndarray of int64
        The picture of each query. A text that all pictures share a word with measures nothing and
        is no query.
    """

    dataset: Dataset
    queries: QuerySet
    rows: Ints

    @classmethod
    def of(cls, dataset: Dataset, known_words: Bools) -> TextQueries:
        """Return the texts of some pictures, by the words that training pictures have."""
        from scipy.sparse import csr_matrix, diags

        labels = csr_matrix(dataset.labels @ diags(known_words.astype(np.float64)))
        labels.eliminate_zeros()
        with_text = np.flatnonzero(np.diff(labels.indptr) > 0)
        if len(with_text) > AT_MOST:
            rng = np.random.default_rng(0)
            with_text = np.sort(rng.choice(with_text, AT_MOST, replace=False))
        dataset, labels = dataset.only(with_text), labels[with_text]
        labels.sort_indices()
        shared = csr_matrix(labels @ labels.T)
        shared.sort_indices()
        rows = np.flatnonzero(np.diff(shared.indptr) < len(dataset))
        queries = QuerySet(
            labels.indptr.astype(np.int64), labels.indices.astype(np.int64),
            np.ones(labels.nnz, np.float32), shared.indptr.astype(np.int64),
            shared.indices.astype(np.int64),
        )  # fmt: skip
        asked = np.zeros(len(dataset), np.bool_)
        asked[rows] = True
        return cls(dataset, only(queries, asked), rows)

    @classmethod
    def held_out(cls, dataset: Dataset) -> TextQueries:
        """Return the texts of the held-out pictures of a data set."""
        is_held_out, _ = split(dataset)
        known = picture_counts(dataset.labels[~is_held_out]) > 0
        return cls.of(dataset.only(is_held_out), known)

    def __len__(self) -> int:
        return len(self.rows)

    def untrained(self) -> Doubles:
        """Return the expected AvgP of each query in a random order, the same in both directions."""
        n = max(len(self.dataset), 1)
        return untrained_average_precision(np.diff(self.queries.relevant_start), n)

    def measure(self, fitted: Fitted, labels: Any = None) -> TextMeasures:
        """Measure a fitted recipe; `labels` are the words of the pictures as it numbers them."""
        labels = self.dataset.labels if labels is None else labels
        scores = fitted.points(self.dataset.views) @ fitted.text_points(labels).T
        return TextMeasures(
            average_precisions(scores.T[self.rows], self.queries),
            average_precisions(scores[self.rows], self.queries),
        )

    def measure_words(self, model: WordModel) -> ManyMeasured | None:
        """Measure how a word model's proof ranks pictures for the texts; None if it cannot be."""
        if model.about.get("proof_seen") or not set(model.features) <= set(self.dataset.views):
            return None
        return measure_any_word(model, self.dataset, self.rows, self.queries)


def measure_candidate(
    held: TextQueries, fitted: Fitted, current: TextModel | None, words: WordModel | None
) -> GateReport:
    """Measure a candidate, the text model in use and the word model in use on held-out pictures."""
    if not len(held):
        return GateReport.unmeasured(TEXT)
    measured, untrained = held.measure(fitted), held.untrained()
    means = measured.mean()
    test = wilcoxon(means.avgp, untrained)
    extra = {
        "text_to_picture": measured.text_to_picture.mean_avgp,
        "picture_to_text": measured.picture_to_text.mean_avgp,
    }
    by_words = None if words is None else held.measure_words(words)
    if by_words is not None:
        extra["word_model"] = by_words.mean_avgp
    report = GateReport(
        TEXT, len(held), means.mean_avgp, float(untrained.mean()), p=test.p, helped=test.helped,
        harmed=test.harmed, extra=extra,
    )  # fmt: skip
    # The proof of a model was fitted to the held-out pictures if there were no others.
    if current is None or current.about.get("proof_seen"):
        return report
    if not set(current.features) <= set(held.dataset.views):
        return replace(report, not_compared=True)
    common = _known_texts(held, current)
    if not common.any():
        return report
    now = aligned(held.dataset, current.terms, current.aliases)
    of_current = held.measure(current.proof, now.labels).mean()
    return replace(
        report,
        current=float(of_current.avgp[common].mean()),
        candidate_on_common=float(means.avgp[common].mean()),
        n_common=int(common.sum()),
    )


def _known_texts(held: TextQueries, current: TextModel) -> Bools:
    """Return for each text whether the model in use knows all of its words."""
    known = current.knows(current.aliases.names_of(held.dataset.terms))[held.queries.term]
    return np.asarray(np.logical_and.reduceat(known, held.queries.start[:-1]), np.bool_)


@dataclass(frozen=True, slots=True)
class TextEvaluation:
    """The text model in use on held-out pictures and their texts, as the gate measures it."""

    recipe: str
    report: GateReport

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values."""
        return {"recipe": self.recipe, **self.report.figures(HELD_OUT_TEXTS)}


def evaluate_texts(
    model: TextModel, dataset: Dataset, words: WordModel | None
) -> TextEvaluation | None:
    """Measure the proof of a text model, and the word model for the same texts; None if it cannot.

    The data set has the words and features that are known now.
    """
    if model.about.get("proof_seen") or not set(model.features) <= set(dataset.views):
        return None
    held = TextQueries.held_out(aligned(dataset, model.terms, model.aliases))
    if not len(held):
        return None
    return TextEvaluation(
        str(model.served.recipe), measure_candidate(held, model.proof, None, words)
    )
