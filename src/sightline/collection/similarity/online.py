"""Judgements: somebody says which pictures are like another one, and the weights move at once.

Judgements are events of the log, durable before anybody is told. No model is written: whoever
compares pictures takes the model there is and goes on from its weights by OPAR-I, one triplet at a
time, with the judgements that have come since. Besides the pictures that were judged unlike, some
drawn at random come after each that was judged alike: what is judged are the best of a list, which
say little of how they differ from all the others. A reverted session therefore stops counting by
itself, and no writer ever waits for another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from sightline.collection.similarity.descriptors import Framed, Int, stored, too_rare
from sightline.collection.similarity.model import (
    Floats,
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
from sightline.store.home import Home, Reader
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Judging

# Aggressiveness of a step; weights are scaled so that an average triplet has a margin of 1. Judged
# pictures are hard ones, the best of a list: on 30 classes of photographs, 100 judged queries took
# mean AvgP from .264 to .280 with these settings; with steps of .01 and no others drawn, already 3
# judged queries took it to .06.
STEP = 3e-4
OTHERS = 10
POOL = 200
# The most judgements and triplets that are gone on with; to learn from all of them, train.
MOST = 1_000
MOST_TRIPLETS = 20_000


@dataclass(frozen=True, slots=True)
class Lesson:
    """What judgements did.

    Attributes
    ----------
    noted : int
        Judgements that were written.
    triplets : int
        Pairs of judged pictures, over all judgements that still stand, in a known order.
    contradicted : int
        Earlier judgements that later ones overrule.
    wrong_before, wrong_after : int
        How many of these triplets were in the wrong order before any judgement was learnt from, and
        are now.
    """

    noted: int
    triplets: int
    contradicted: int
    wrong_before: int
    wrong_after: int


_UNTRAINED: WeakKeyDictionary[Snapshot, SimilarityModel] = WeakKeyDictionary()


def in_use(reader: Reader) -> tuple[SimilarityModel, str]:
    """Return the combination that compares pictures now, and what there is to say about it."""
    alike = load_similarity_model(reader.home, reader.snapshot.similar)
    said = ""
    if alike is None:
        said = "Nothing was learnt of likeness yet; all descriptors count alike"
    elif not _usable(reader.snapshot, alike):
        said = f"The descriptors that were learnt ({', '.join(alike.names)}) are gone from the "
        said += "pictures; all that are there count alike"
        alike = None
    if alike is not None:
        return with_judgements(reader, alike)[0], ""
    # Scales are learnt once for each version that is open.
    found = _UNTRAINED.get(reader.snapshot) or uniform(reader.snapshot)
    _UNTRAINED[reader.snapshot] = found
    rare = too_rare(reader.snapshot, found.descriptors)
    said += f" ({', '.join(found.names)})"
    said += "".join(f"; {name} is left out, on {n} pictures alone" for name, n in rare)
    said += ". To learn: sightline train --similar"
    return with_judgements(reader, found)[0], said


def _usable(snapshot: Snapshot, alike: SimilarityModel) -> bool:
    there = {f for s in snapshot.segments for f in s.features}
    return bool(there & set(alike.descriptors))


def with_judgements(reader: Reader, model: SimilarityModel) -> tuple[SimilarityModel, Lesson]:
    """Go on from the weights there are with all judgements they have not seen."""
    seen = model.about.get("judged_up_to", 0)
    with contextlib.closing(EventLog(reader.home.events, write=False)) as log:
        said = log.likenesses(seen if isinstance(seen, int) else 0)
    judged, drawn, ids = triplets_of(said[-MOST:], reader.snapshot.ids())
    if not len(judged) + len(drawn):
        return model, Lesson(0, 0, judged.n_contradicted, 0, 0)
    data = model.framed(stored(reader.snapshot, ids, model.descriptors, model.lengths))
    rows = _differences(model, data, judged)
    every = np.concatenate([rows, _differences(model, data, drawn)])
    order = np.random.default_rng(0).permutation(len(every))
    learner = OPARI(C=STEP).start_from(model.w).partial_fit(every[order])
    before, after = (int(np.count_nonzero(rows @ w <= 0)) for w in (model.w, learner.w_))
    lesson = Lesson(0, len(rows), judged.n_contradicted, before, after)
    return replace(model, w=learner.w_, judged=len(every)), lesson


def _differences(alike: SimilarityModel, data: Framed, t: PictureTriplets) -> Floats:
    found = alike.pairs(data, t.query, t.first)
    found -= alike.pairs(data, t.query, t.second)
    return found


def triplets_of(
    judgements: Sequence[SimilarityJudgement], live: Int
) -> tuple[PictureTriplets, PictureTriplets, Int]:
    """Return triplets of judged pictures, of judged and drawn ones, and the ids they number.

    Only pictures that are still there count, and of each pair what was said last.
    """
    there = set(live.tolist())
    judgements = [j for j in judgements if j.query in there and j.picture in there]
    pool = seeded(live, POOL)
    q, p = (np.array([getattr(j, n) for j in judgements], np.int64) for n in ("query", "picture"))
    ids = np.unique(np.concatenate([q, p, pool]))
    alike = np.array([float(j.alike) for j in judgements])
    at_q, at_p = np.searchsorted(ids, q), np.searchsorted(ids, p)
    judged = of_judgements(at_q, at_p, alike, MOST_TRIPLETS)
    last = {(j.query, j.picture): j.alike for j in judgements}
    fit = [pair for pair, like in last.items() if like]
    drawn = [
        (query, picture, other)
        for query, picture in fit
        # By the pair alone, so that later judgements do not change what was drawn for this one.
        for other in np.random.default_rng([query, picture]).choice(pool, OTHERS).tolist()
        if (query, other) not in last
    ]
    parts = np.searchsorted(ids, np.array(drawn, np.int64).reshape(-1, 3)).T
    return judged, PictureTriplets.of(*parts), ids


def learn(
    home: Home,
    query: int,
    positive: Sequence[int],
    negative: Sequence[int],
    session: str,
    source: str,
) -> Lesson:
    """Write judgements to the log, then say what the weights make of all there are."""
    check_judgement(query, positive, negative)
    body: dict[str, Json] = {"query": query, "source": source}
    events = [
        NewEvent("judged-similar", p, {**body, "alike": like}, session or None)
        for pictures, like in ((positive, True), (negative, False))
        for p in dict.fromkeys(pictures)
    ]
    with home.reader() as reader:
        # Where pictures cannot be compared, say so before anything is written.
        combination = load_similarity_model(home, reader.snapshot.similar) or uniform(
            reader.snapshot
        )
        with Judging(home) as judging:
            judging.append(events)
        _, lesson = with_judgements(reader, combination)
    return replace(lesson, noted=len(events))


def check_judgement(query: int, positive: Sequence[int], negative: Sequence[int]) -> None:
    """Refuse judgements that contradict each other, or say nothing, before any is written."""
    both = sorted(set(positive) & set(negative))
    if both:
        raise UsageError(
            f"Picture {both[0]} is judged both like and unlike picture {query}. Leave out one."
        )
    if query in positive or query in negative:
        raise UsageError(f"Picture {query} cannot be judged against itself. Name other pictures.")
    if not positive and not negative:
        raise UsageError("No picture is judged. Name some that are like the query, or are not.")
