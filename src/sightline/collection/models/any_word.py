"""How the word model ranks pictures for a text: by the probability that they have one of its words.

A text and a picture fit each other if they share a word. From the probability p_w of each word,

    evidence   e = sum_w v_w (-log(1 - p_w)),   with v_w in proportion to count_w idf_w, of mean 1
    chance     1 - exp(-e)

so that with equal weights the chance is that of having any of the words, were they independent. A
word that the text repeats, or that few pictures have, counts more, so that frequent words, such as
"the" in collections of sentences, add next to nothing. A picture that has a word certainly
(as a tag) counts as having it with `CERTAIN`, so that two shared words are more than one.

This is no inner product with published rows, unlike a query of words that all have to be there, so
`Store.top` cannot rank by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline._typing import Doubles, Floats, Ints
from sightline.collection.models.dataset import Dataset, aligned
from sightline.measures.many import ManyMeasured, average_precisions
from sightline.records import QuerySet, Top
from sightline.store.engines.flat import Best
from sightline.store.engines.word_updates import updated_row
from sightline.store.segments import OpenSegment
from sightline.store.snapshot import Snapshot

if TYPE_CHECKING:
    from sightline.collection.models.word_model import WordModel

# The probability of a word that a picture has, and the highest of one that is predicted.
CERTAIN = 0.999
# Pictures whose evidence is summed at once.
_BLOCK = 256


def evidence(probability: ArrayLike) -> Doubles:
    """Return -log(1 - p) of probabilities, where none is more than `CERTAIN`.

    >>> evidence([0.0, 0.5, 1.0]).round(2).tolist()
    [0.0, 0.69, 6.91]
    """
    return -np.log1p(-np.minimum(np.asarray(probability, np.float64), CERTAIN))


def chance(total: ArrayLike) -> Doubles:
    """Return the probabilities that belong to sums of evidence.

    >>> chance(evidence([0.5]) + evidence([0.5])).tolist()
    [0.75]
    """
    return -np.expm1(-np.asarray(total, np.float64))


def rank_by_any_word(
    snapshot: Snapshot,
    model: WordModel,
    terms: Ints,
    counts: Sequence[int],
    k: int,
    allowed: Ints | None,
) -> Top:
    """Return the k pictures that most likely have one of some learned words, with the chances.

    `counts` say how often the text has each word; `allowed` are the only ids that may appear.
    """
    columns = np.searchsorted(model.terms, terms)
    weights = _weights(model, columns, np.asarray(counts, np.float64))
    best = Best(k)
    for s in snapshot.segments:
        rows = s.alive() if allowed is None else s.alive() & np.isin(s.ids, allowed)
        if rows.any():
            best.offer(s.ids[rows], _summed(s, model, terms, weights)[rows])
    top = best.top()
    found = top.scores > 0
    return Top(top.ids[found], chance(top.scores[found]).astype(np.float32))


def _weights(model: WordModel, columns: Ints, counts: Doubles) -> Doubles:
    """Return the weights of words of a text, of mean 1; equal ones if all idf are 0."""
    weights = counts * model.idf[columns]
    return weights / weights.mean() if weights.any() else np.ones(len(columns))


def _summed(s: OpenSegment, model: WordModel, terms: Ints, weights: Doubles) -> Floats:
    """Return the evidence of all pictures of a segment, summed over words."""
    total = np.zeros(len(s.ids))
    columns = np.searchsorted(model.terms, terms)
    words = zip(terms.tolist(), columns.tolist(), weights.tolist(), strict=True)
    for (term, column, weight), row in zip(words, _rows(s, model, terms), strict=True):
        likely = np.zeros(len(s.ids))
        if row is not None:
            likely = model.combination.word_probabilities(row[:, None], [column])[:, 0]
        for form in model.aliases.forms_of(term).tolist():
            likely[s.postings(form)] = 1.0
        total += weight * evidence(likely)
    return total.astype(np.float32)


def _rows(s: OpenSegment, model: WordModel, terms: Ints) -> list[Floats | None]:
    """Return the scores of words as published; None where the segment was not scored."""
    if s.scores is None or s.scores.model != model.name:
        return [None] * len(terms)
    rows = [s.scores.row(t) for t in terms.tolist()]
    rare = [i for i, row in enumerate(rows) if row is None]
    more = model.more(s, terms[rare]) if rare else None
    for i, row in zip(rare, () if more is None else more, strict=False):
        rows[i] = row
    updates = {} if model.online is None else model.online.of(terms)
    for i, (term, row) in enumerate(zip(terms.tolist(), rows, strict=True)):
        if term in updates and row is not None:
            rows[i] = updated_row(s, s.scores, row, updates[term])
    return rows


def measure_any_word(
    model: WordModel, dataset: Dataset, texts: NDArray[np.int64], queries: QuerySet
) -> ManyMeasured:
    """Measure how the proof of a word model ranks pictures for some of their texts.

    `texts` are the pictures whose texts ask; the tags of the pictures that are ranked are hidden.
    """
    proof, columns = model.proof_combination, np.arange(len(model.terms))
    rows = proof.rows(model.proof.scores(dataset.views))
    labels = aligned(dataset, model.terms, model.aliases).labels[texts].multiply(model.idf).tocsr()
    scores = np.empty((len(texts), len(dataset)), np.float32)
    for start in range(0, len(dataset), _BLOCK):
        part = slice(start, start + _BLOCK)
        by_word = evidence(proof.word_probabilities(rows[part], columns))
        scores[:, part] = labels @ by_word.T
    return average_precisions(scores, queries)
