"""Judgements of similarity: a person judges pictures, and the weights are updated at once.

Judgements are events of the log and durable before the caller gets an answer. No model is written:
every reader starts from the weights of the stored model and updates them by OPAR-I, one triplet at
a time, with the judgements made since. Besides the pictures judged dissimilar, randomly sampled
pictures serve as negatives of each positive: judged pictures are the best of a ranking and say
little about the rest of the collection. A reverted session therefore stops counting by itself, and
no writer waits for another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from sightline._typing import Floats, Ints
from sightline.collection.similarity.descriptors import ScaledPictures, stored, too_rare
from sightline.collection.similarity.model import (
    SimilarityModel,
    load_similarity_model,
    seeded,
    uniform,
)
from sightline.combiners.opar import OPARI
from sightline.contracts import Json
from sightline.errors import UsageError
from sightline.records import SimilarityJudgement
from sightline.solvers.picture_triplets import PictureTriplets, of_judgements
from sightline.store.events import EventLog, NewEvent
from sightline.store.folder import Reader, StoreFolder
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Judging

# Aggressiveness of a step; weights are scaled so that an average triplet has a margin of 1. Judged
# pictures are hard ones, the best of a list: on 30 classes of photographs, 100 judged queries took
# mean AvgP from .264 to .280 with these settings; with steps of .01 and no others drawn, already 3
# judged queries took it to .06.
STEP = 3e-4
OTHERS = 10
POOL = 200
# The most judgements and triplets used for updates; a training learns from all of them.
MOST = 1_000
MOST_TRIPLETS = 20_000


@dataclass(frozen=True, slots=True)
class Lesson:
    """The effect of judgements on the model.

    Attributes
    ----------
    noted : int
        Number of judgements that were written.
    triplets : int
        Number of triplets of judged pictures, over all judgements that count.
    contradicted : int
        Number of earlier judgements that later ones overrule.
    wrong_before, wrong_after : int
        Number of these triplets in the wrong order before the updates, and after them.
    """

    noted: int
    triplets: int
    contradicted: int
    wrong_before: int
    wrong_after: int


@dataclass(frozen=True, slots=True)
class _Served:
    """The model of an open version, updated by the judgements up to an event of the log."""

    base: SimilarityModel
    remark: str
    model: SimilarityModel
    up_to: int


# A version that stays open is asked many times; its model is read and updated where there is news.
_SERVED: WeakKeyDictionary[Snapshot, _Served] = WeakKeyDictionary()
# The events that change what was learned from judgements.
_NEWS = ("judged-similar", "session-reverted", "mark-undone")


def in_use(reader: Reader) -> tuple[SimilarityModel, str]:
    """Return the similarity model in use, and a remark if it is not trained."""
    served = _SERVED.get(reader.snapshot)
    with contextlib.closing(EventLog(reader.store_folder.events, write=False)) as log:
        last = log.last_seq()
        if served is not None and next(log.read(served.up_to, _NEWS), None) is None:
            return served.model, served.remark
    base, remark = _stored_or_even(reader) if served is None else (served.base, served.remark)
    model, _ = with_judgements(reader, base)
    # Events after `last` may have counted already; they are only read again.
    _SERVED[reader.snapshot] = _Served(base, remark, model, last)
    return model, remark


def _stored_or_even(reader: Reader) -> tuple[SimilarityModel, str]:
    """Return the stored model, or one of even weights with a remark."""
    model = load_similarity_model(reader.store_folder, reader.snapshot.similar)
    if model is not None and _usable(reader.snapshot, model):
        return model, ""
    remark = "There is no similarity model yet; all descriptors count equally"
    if model is not None:
        remark = f"The descriptors of the model ({', '.join(model.names)}) are gone from the "
        remark += "pictures; all that are there count equally"
    even = uniform(reader.snapshot)
    rare = too_rare(reader.snapshot, even.descriptors)
    remark += f" ({', '.join(even.names)})"
    remark += "".join(f"; {name} is left out, on {n} pictures alone" for name, n in rare)
    return even, f"{remark}. To train one: sightline train similarity"


def _usable(snapshot: Snapshot, model: SimilarityModel) -> bool:
    stored_features = {f for s in snapshot.segments for f in s.features}
    return bool(stored_features & set(model.descriptors))


def with_judgements(reader: Reader, model: SimilarityModel) -> tuple[SimilarityModel, Lesson]:
    """Update the weights by all judgements that the model was not trained on."""
    trained_up_to = model.about.get("judged_up_to", 0)
    with contextlib.closing(EventLog(reader.store_folder.events, write=False)) as log:
        judgements = log.similarity_judgements(
            trained_up_to if isinstance(trained_up_to, int) else 0
        )
    judged, drawn, ids = triplets_of(judgements[-MOST:], reader.snapshot.ids())
    if not len(judged) + len(drawn):
        return model, Lesson(0, 0, judged.n_contradicted, 0, 0)
    data = model.scaled(stored(reader.snapshot, ids, model.descriptors, model.lengths))
    rows = _differences(model, data, judged)
    every = np.concatenate([rows, _differences(model, data, drawn)])
    order = np.random.default_rng(0).permutation(len(every))
    learner = OPARI(C=STEP).start_from(model.w).partial_fit(every[order])
    before, after = (int(np.count_nonzero(rows @ w <= 0)) for w in (model.w, learner.w_))
    lesson = Lesson(0, len(rows), judged.n_contradicted, before, after)
    return replace(model, w=learner.w_, judged=len(every)), lesson


def _differences(model: SimilarityModel, data: ScaledPictures, t: PictureTriplets) -> Floats:
    difference = model.pairs(data, t.query, t.first)
    difference -= model.pairs(data, t.query, t.second)
    return difference


def triplets_of(
    judgements: Sequence[SimilarityJudgement], live: Ints
) -> tuple[PictureTriplets, PictureTriplets, Ints]:
    """Return triplets of judged pictures, triplets with sampled negatives, and their picture ids.

    Only pictures that still exist count, and the last judgement of each pair.
    """
    present = set(live.tolist())
    judgements = [j for j in judgements if j.query in present and j.picture in present]
    pool = seeded(live, POOL)
    q, p = (np.array([getattr(j, n) for j in judgements], np.int64) for n in ("query", "picture"))
    ids = np.unique(np.concatenate([q, p, pool]))
    alike = np.array([float(j.similar) for j in judgements])
    at_q, at_p = np.searchsorted(ids, q), np.searchsorted(ids, p)
    judged = of_judgements(at_q, at_p, alike, MOST_TRIPLETS)
    last = {(j.query, j.picture): j.similar for j in judgements}
    fit = [pair for pair, like in last.items() if like]
    drawn = [
        (query, picture, other)
        for query, picture in fit
        # Seeded by the pair alone, so later judgements do not change its negatives.
        for other in np.random.default_rng([query, picture]).choice(pool, OTHERS).tolist()
        if (query, other) not in last
    ]
    parts = np.searchsorted(ids, np.array(drawn, np.int64).reshape(-1, 3)).T
    return judged, PictureTriplets.of(*parts), ids


def learn(
    store_folder: StoreFolder,
    query: int,
    positive: Sequence[int],
    negative: Sequence[int],
    session: str,
    source: str,
) -> Lesson:
    """Write judgements to the log, then return their effect on the weights."""
    check_judgement(query, positive, negative)
    body: dict[str, Json] = {"query": query, "source": source}
    events = [
        NewEvent("judged-similar", p, {**body, "alike": like}, session or None)
        for pictures, like in ((positive, True), (negative, False))
        for p in dict.fromkeys(pictures)
    ]
    with store_folder.reader() as reader:
        # Raises before anything is written if pictures cannot be compared.
        combination = load_similarity_model(store_folder, reader.snapshot.similar) or uniform(
            reader.snapshot
        )
        with Judging(store_folder) as judging:
            judging.append(events)
        _, lesson = with_judgements(reader, combination)
    return replace(lesson, noted=len(events))


def check_judgement(query: int, positive: Sequence[int], negative: Sequence[int]) -> None:
    """Raise if judgements contradict each other or are empty, before any is written."""
    both = sorted(set(positive) & set(negative))
    if both:
        raise UsageError(
            f"Picture {both[0]} is judged both similar to picture {query} and not. Leave out one."
        )
    if query in positive or query in negative:
        raise UsageError(f"Picture {query} cannot be judged against itself. Name other pictures.")
    if not positive and not negative:
        raise UsageError(
            "No picture is judged. Name some that are similar to the query, or that are not."
        )
