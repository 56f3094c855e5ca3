"""The shortlist: which descriptors find candidates, and how many of the truly best they miss.

Descriptors are taken one after another, each time the one that adds most of the best ten of a full
scan, until they hold .99 of them or eight are taken. That is decided by pictures that are not held
out; what the shortlist recalls is then measured on pictures that are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sightline.collection.likeness.asking import Asked, Question
from sightline.collection.likeness.combination import Alike, Shortlist
from sightline.collection.likeness.descriptors import Int, stored
from sightline.collection.likeness.ranking import scored, shortlisted
from sightline.store.snapshot import Snapshot

BEST = 10
DEPTH = 100
MOST = 8
ENOUGH = 0.99
QUERIES = 40
# Numbers compared for a choice or a measurement: a bound on its time.
_WORK = 1e10


def choose_shortlist(
    snapshot: Snapshot, alike: Alike, queries: Int, depth: int = DEPTH
) -> Shortlist:
    """Return the descriptors by which the best of a full scan are found."""
    options = [(v, by) for v in range(len(alike.descriptors)) for by in ("cosine", "distance")]
    questions = [_question(snapshot, alike, q) for q in _some(snapshot, alike, queries)]
    best = [_best(snapshot, alike, q) for q in questions]
    pairs = list(zip(best, questions, strict=True))
    found = np.array(
        [[np.isin(b, _near(snapshot, alike, q, (o,), depth)) for b, q in pairs] for o in options]
    ).reshape(len(options), -1)
    chosen: list[tuple[int, str]] = []
    covered = np.zeros(found.shape[1], bool)
    while len(chosen) < MOST and (not chosen or covered.mean() < ENOUGH):
        gain = (found & ~covered).sum(axis=1)
        if chosen and not gain.max():
            break
        best_at = int(np.argmax(gain))
        chosen.append(options[best_at])
        covered |= found[best_at]
    return Shortlist(tuple(chosen), depth)


def measure_recall(snapshot: Snapshot, alike: Alike, queries: Int) -> Shortlist:
    """Return the shortlist with the share of the best ten that it holds, for these queries."""
    s = alike.shortlist
    held = []
    for q in _some(snapshot, alike, queries):
        asked = _question(snapshot, alike, q)
        near = _near(snapshot, alike, asked, s.descriptors, s.depth)
        held.append(np.isin(_best(snapshot, alike, asked), near).mean())
    if not held:
        return s
    return replace(s, recall=float(np.mean(held)), queries=len(held))


def _near(
    snapshot: Snapshot,
    alike: Alike,
    asked: Question,
    descriptors: tuple[tuple[int, str], ...],
    depth: int,
) -> Int:
    return shortlisted(
        snapshot, replace(alike, shortlist=Shortlist(descriptors, depth)), asked, None
    )


def _best(snapshot: Snapshot, alike: Alike, asked: Question) -> Int:
    """Return the best pictures of a full scan."""
    ids = np.setdiff1d(snapshot.ids(), asked.ids)
    scores = scored(snapshot, alike, asked, ids)
    return np.asarray(ids[np.lexsort((ids, -scores))[:BEST]])


def _question(snapshot: Snapshot, alike: Alike, picture: int) -> Question:
    rows = stored(snapshot, np.array([picture], np.int64), alike.descriptors, alike.lengths)
    return Question((Asked(picture, b""),), rows, np.ones(1), {})


def _some(snapshot: Snapshot, alike: Alike, queries: Int) -> list[int]:
    """Return as many queries as there is time to compare with every picture."""
    each = len(snapshot.ids()) * sum(alike.phi.lengths) * len(alike.phi.kinds)
    n = int(np.clip(_WORK / max(each, 1), 5, QUERIES))
    if len(queries) <= n:
        return [int(q) for q in queries]
    return sorted(np.random.default_rng(0).choice(queries, n, replace=False).tolist())
