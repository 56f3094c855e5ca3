"""What online updates gain, replayed on held-out pictures.

The proof, which was fitted without the held-out pictures, is updated by the answers since the
training on the other pictures, as what is served is by all answers (`online`). Both are measured by
the held-out queries that have one of the answered words. The compact space was fitted to all
pictures, without any word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from sightline._typing import Doubles, Floats, Ints
from sightline.collection.models.dataset import as_view
from sightline.collection.models.held_out import HeldOutQueries, measure_rows
from sightline.collection.models.online import (
    LABEL_SCALE,
    OnlineSpace,
    coefficients_of,
    with_updates,
)
from sightline.collection.models.word_model import WordModel
from sightline.contracts import Json
from sightline.measures.splits import HELD_OUT, fold_of
from sightline.records import QuerySet
from sightline.similarity.compact import kernel_of_codes
from sightline.store.engines.word_updates import moved_by_logit
from sightline.store.folder import Reader
from sightline.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class OnlineGain:
    """Mean AvgP of held-out queries before and after online updates.

    Attributes
    ----------
    answers, words : int
        The answers on pictures that are not held out, and the number of their words.
    queries : int
        The held-out queries that have one of these words.
    avgp, updated : float or None
        Of the proof, and after the updates; None without queries.
    """

    answers: int
    words: int
    queries: int
    avgp: float | None
    updated: float | None

    def to_dict(self) -> dict[str, Json]:
        """Return it as JSON."""
        return asdict(self)


def replay(
    reader: Reader, model: WordModel, held: HeldOutQueries, rows: Floats, queries: QuerySet
) -> OnlineGain | None:
    """Return what the answers since the training gain; None if there are none.

    `rows` are what the proof publishes of the held-out pictures.
    """
    online = with_updates(reader, model).online
    if online is None or model.online_space is None:
        return None
    labels = {t: _of_others(known) for t, known in online.labels().items()}
    labels = {t: known for t, known in labels.items() if known}
    if not labels:
        return None
    updated = _updated(reader.snapshot, model, held, rows, labels)
    columns = np.searchsorted(model.terms, sorted(labels))
    asked = np.logical_or.reduceat(np.isin(queries.term, columns), queries.start[:-1])
    answers = sum(len(known) for known in labels.values())
    if not asked.any():
        return OnlineGain(answers, len(labels), 0, None, None)
    before, after = (measure_rows(r, queries, None).avgp[asked].mean() for r in (rows, updated))
    return OnlineGain(answers, len(labels), int(asked.sum()), float(before), float(after))


def _of_others(known: Mapping[int, bool]) -> dict[int, bool]:
    """Return the labels of pictures that are not held out."""
    ids = np.array(sorted(known), np.int64)
    return {p: known[p] for p in ids[fold_of(ids) != HELD_OUT].tolist()}


def _updated(
    snapshot: Snapshot,
    model: WordModel,
    held: HeldOutQueries,
    rows: Floats,
    labels: Mapping[int, Mapping[int, bool]],
) -> Floats:
    """Return what the proof publishes of the held-out pictures after updates."""
    space = _of_proof(model)
    answered = np.array(sorted({p for known in labels.values() for p in known}), np.int64)
    answered = answered[np.isin(answered, _with_features(snapshot, model))]
    views = {f: as_view(snapshot.rows(f, answered)) for f in model.features}
    codes, of_held = space.codes(model.served, views), space.codes(model.served, held.dataset.views)
    out = rows.copy()
    for term, known in labels.items():
        column = int(np.searchsorted(model.terms, term))
        at = np.flatnonzero(np.isin(answered, sorted(known)))
        if not len(at) or space.gain[column] <= 0:
            continue
        predicted = space.labels(_numbers(model, views, at, column), column)
        fits = np.array([known[p] for p in answered[at].tolist()])
        solution = coefficients_of(codes[at], fits - predicted, space.space.gamma)
        by = kernel_of_codes(of_held, codes[at], space.space.gamma) @ solution
        by = (by * space.gain[column]).astype(np.float32)
        is_log = model.proof_combination.how == "product"
        out[:, column] = moved_by_logit(rows[:, column], by) if is_log else rows[:, column] + by
    return out


def _of_proof(model: WordModel) -> OnlineSpace:
    """Return the space with the scale of the proof's scores, where these are on that of labels."""
    space, proof = model.online_space, model.proof_combination
    assert space is not None
    if model.proof.recipe.ranker != LABEL_SCALE:
        return space
    return replace(space, gain=proof.slope_, origin=proof.offset_)


def _numbers(model: WordModel, views: Mapping[str, Floats], at: Ints, column: int) -> Doubles:
    """Return the proof's numbers of a word, before logs are taken."""
    some = {f: view[at] for f, view in views.items()}
    scores = model.proof.scores(some, np.array([column]))[:, 0].astype(np.float64)
    proof = model.proof_combination
    return np.asarray(scores * proof.slope_[column] + proof.offset_[column])


def _with_features(snapshot: Snapshot, model: WordModel) -> Ints:
    parts = [s.ids for s in snapshot.segments if set(model.features) <= set(s.features)]
    return np.concatenate([*parts, np.zeros(0, np.int64)])
