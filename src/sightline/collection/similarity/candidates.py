"""Pictures like others: candidates by the strongest descriptors, ranked by the combination.

Up to a thousand pictures are all compared. Of more, those nearest to each picture asked for, by
each descriptor of the shortlist, are candidates; how many of the truly best are among them is
measured when the combination is trained, and kept with it.

Of several pictures asked for, the mean of their phi counts; of several unwanted, the mean of theirs
is taken off.

The shortlist: which descriptors find candidates, and how many of the truly best they miss.

Descriptors are taken one after another, each time the one that adds most of the best ten of a full
scan, until they hold .99 of them or eight are taken. That is decided by pictures that are not held
out; what the shortlist recalls is then measured on pictures that are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sightline.collection.filters import NO_FILTERS, Filters, allowed_ids
from sightline.collection.results import Results, best_hits
from sightline.collection.similarity.descriptors import Int, partly, stored
from sightline.collection.similarity.model import Doubles, Floats, Shortlist, SimilarityModel
from sightline.collection.similarity.online import in_use
from sightline.collection.similarity.query import PictureQuery, QueryPicture, find, question
from sightline.contracts import Compute
from sightline.errors import CollectionError, UsageError
from sightline.records import DenseQuery, Hit, shown
from sightline.settings import Settings
from sightline.store.home import Reader
from sightline.store.snapshot import Snapshot

if TYPE_CHECKING:
    from sightline.collection.pictures import PictureLike
    from sightline.words.grammar import PictureTerm

    Weighted = tuple[PictureLike, float]

# So many pictures are all compared.
ALL = 1_000
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Share:
    """What one descriptor contributed to a score, in all and by measure."""

    descriptor: str
    value: float
    measures: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        of = ", ".join(f"{name} {value:+.3f}" for name, value in self.measures)
        return f"{self.descriptor} {self.value:+.3f} ({of})"


@dataclass(frozen=True, slots=True)
class SimilarResults(Results):
    """Pictures like others, best first.

    Attributes
    ----------
    said : str
        What there is to say of the combination where nothing was learnt; else empty.
    lacking : tuple of tuple of (str, int)
        Names of descriptors that pictures asked for lack, with how many of them do.
    partly : tuple of tuple of (str, int)
        The same of all pictures of the collection; such a descriptor counts 0 for these.
    learnt : bool
        Whether the combination was learnt.
    compared : int
        Pictures that were ranked; all that filters leave, or the shortlist.
    shares : tuple of tuple of Share
        For each hit what each descriptor contributed, the largest first; it is their sum.
    """

    said: str = ""
    lacking: tuple[tuple[str, int], ...] = ()
    partly: tuple[tuple[str, int], ...] = ()
    learnt: bool = False
    compared: int = 0
    shares: tuple[tuple[Share, ...], ...] = ()


def by_sign(terms: Sequence[PictureTerm]) -> tuple[list[Weighted], list[Weighted]]:
    """Return the pictures that a query names, wanted and unwanted, with their weights."""
    positive: list[Weighted] = [(t.path, t.weight) for t in terms if not t.unwanted]
    negative: list[Weighted] = [(t.path, t.weight) for t in terms if t.unwanted]
    return positive, negative


def similar(
    reader: Reader,
    root: bytes,
    settings: Settings,
    positive: Sequence[Weighted],
    negative: Sequence[Weighted],
    k: int,
    filters: Filters = NO_FILTERS,
    exact: bool = False,
    compute: Compute | None = None,
) -> SimilarResults:
    """Rank pictures by how similar they are to some, and dissimilar to others, with weights."""
    if k < 1:
        raise UsageError(f"At least 1 hit must be asked for. Got {k}.")
    if not os.path.isdir(root):
        raise CollectionError(f"The folder {shown(root)} is not there. Is its disk mounted?")
    for_, against = ([find(reader, root, *p) for p in part] for part in (positive, negative))
    if not for_:
        raise UsageError("Name at least one picture to look for, besides those unwanted.")
    both = {a.file for a in for_} & {a.file for a in against}
    if both:
        raise UsageError(f"{shown(min(both))} is both wanted and unwanted. Leave out one.")
    alike, notes = in_use(reader)
    asked = question(reader, alike, for_, against, settings, compute)
    allowed = allowed_ids(reader, filters.where(root), filters.untagged)
    ids = candidates(reader.snapshot, alike, asked, allowed, exact)
    scores = scored(reader.snapshot, alike, asked, ids)
    order, learned = np.lexsort((ids, -scores)), bool(alike.name)
    hits, missing = best_hits(reader, root, ids[order], scores[order], k, "similar", learned)
    shares = _shares(reader.snapshot, alike, asked, hits)
    return SimilarResults(
        tuple(hits), (), reader.snapshot.version, missing, notes,
        tuple(asked.lacking.items()), partly(reader.snapshot, alike.descriptors),
        learned, len(ids), shares, served=reader.notice(), home=reader.home,
    )  # fmt: skip


def candidates(
    snapshot: Snapshot,
    model: SimilarityModel,
    query: PictureQuery,
    allowed: Int | None,
    exact: bool = False,
) -> Int:
    """Return the pictures to rank, ids ascending, without those asked for."""
    if allowed is None and not exact and snapshot.size() > ALL + len(query.ids):
        return shortlisted(snapshot, model, query, None)
    every = snapshot.ids()
    # What filters leave may name pictures the version has no rows of.
    left = every if allowed is None else np.intersect1d(every, allowed, assume_unique=True)
    left = _without(left, query.ids)
    if exact or len(left) <= ALL:
        return left
    return shortlisted(snapshot, model, query, None if allowed is None else left)


def _without(ids: Int, few: Int) -> Int:
    """Return ascending ids less a few.

    >>> _without(np.array([2, 3, 5, 9]), np.array([9, 3, 4])).tolist()
    [2, 5]
    """
    at = np.searchsorted(ids, few)
    there = at < len(ids)
    at, few = at[there], few[there]
    return np.delete(ids, at[ids[at] == few])


def shortlisted(
    snapshot: Snapshot, model: SimilarityModel, pictures: PictureQuery, where: Int | None
) -> Int:
    """Return the pictures nearest to any that is wanted, by each descriptor of the shortlist."""
    found = [np.zeros(0, np.int64)]
    there = {f for s in snapshot.segments for f in s.features}
    # As many more as may have to be left out again.
    depth = model.shortlist.depth + len(pictures.ids)
    for v, by in model.shortlist.descriptors:
        d = model.descriptors[v]
        if d not in there:
            continue
        for i in np.flatnonzero((pictures.weights > 0) & pictures.rows.have[:, v]).tolist():
            row = pictures.rows.views[v][i : i + 1]
            weights = np.asarray(row.toarray() if hasattr(row, "tocsr") else row, np.float32)[0]
            query = DenseQuery(d, weights, "cosine" if by == "cosine" else "distance")
            found.append(snapshot.top(query, depth, where).ids)
    return np.setdiff1d(np.concatenate(found), pictures.ids)


def scored(snapshot: Snapshot, model: SimilarityModel, query: PictureQuery, ids: Int) -> Doubles:
    """Return the score of each picture, ids ascending; phi is held for some pictures at a time."""
    out = np.zeros(len(ids))
    for start in range(0, len(ids), _BLOCK):
        part = slice(start, start + _BLOCK)
        out[part] = combined(snapshot, model, query, ids[part]) @ model.w
    return out


def combined(snapshot: Snapshot, model: SimilarityModel, query: PictureQuery, ids: Int) -> Doubles:
    """Return phi of each picture with all that were asked for, weighted, (pictures, components)."""
    rows = stored(snapshot, ids, model.descriptors, model.lengths)
    found: Floats = model.compare(model.framed(query.rows), model.framed(rows))
    return np.asarray(np.einsum("q,qpc->pc", query.weights, found))


def _shares(
    snapshot: Snapshot, alike: SimilarityModel, asked: PictureQuery, hits: Sequence[Hit]
) -> tuple[tuple[Share, ...], ...]:
    """Return what each descriptor contributed to each hit, the largest first."""
    ids = np.array([h.picture for h in hits], np.int64)
    order = np.argsort(ids)
    parts = np.zeros((len(ids), alike.phi.n_components))
    parts[order] = combined(snapshot, alike, asked, ids[order]) * alike.w
    shape = (len(ids), len(alike.names), len(alike.phi.kinds))
    return tuple(_told(alike, row) for row in parts.reshape(shape))


def _told(alike: SimilarityModel, parts: Doubles) -> tuple[Share, ...]:
    found = [
        Share(name, float(row.sum()), tuple(zip(alike.phi.kinds, row.tolist(), strict=True)))
        for name, row in zip(alike.names, parts, strict=True)
    ]
    return tuple(sorted(found, key=lambda s: (-abs(s.value), s.descriptor)))


BEST = 10
DEPTH = 100
MOST = 8
ENOUGH = 0.99
QUERIES = 40
# Numbers compared for a choice or a measurement: a bound on its time.
_WORK = 1e10


def choose_shortlist(
    snapshot: Snapshot, model: SimilarityModel, queries: Int, depth: int = DEPTH
) -> Shortlist:
    """Return the descriptors by which the best of a full scan are found."""
    options = [(v, by) for v in range(len(model.descriptors)) for by in ("cosine", "distance")]
    questions = [_question(snapshot, model, q) for q in _some(snapshot, model, queries)]
    best = [_best(snapshot, model, q) for q in questions]
    pairs = list(zip(best, questions, strict=True))
    found = np.array(
        [[np.isin(b, _near(snapshot, model, q, (o,), depth)) for b, q in pairs] for o in options]
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


def measure_recall(snapshot: Snapshot, model: SimilarityModel, queries: Int) -> Shortlist:
    """Return the shortlist with the share of the best ten that it holds, for these queries."""
    s = model.shortlist
    held = []
    for q in _some(snapshot, model, queries):
        asked = _question(snapshot, model, q)
        near = _near(snapshot, model, asked, s.descriptors, s.depth)
        held.append(np.isin(_best(snapshot, model, asked), near).mean())
    if not held:
        return s
    return replace(s, recall=float(np.mean(held)), queries=len(held))


def _near(
    snapshot: Snapshot,
    alike: SimilarityModel,
    asked: PictureQuery,
    descriptors: tuple[tuple[int, str], ...],
    depth: int,
) -> Int:
    return shortlisted(
        snapshot, replace(alike, shortlist=Shortlist(descriptors, depth)), asked, None
    )


def _best(snapshot: Snapshot, alike: SimilarityModel, asked: PictureQuery) -> Int:
    """Return the best pictures of a full scan."""
    ids = np.setdiff1d(snapshot.ids(), asked.ids)
    scores = scored(snapshot, alike, asked, ids)
    return np.asarray(ids[np.lexsort((ids, -scores))[:BEST]])


def _question(snapshot: Snapshot, alike: SimilarityModel, picture: int) -> PictureQuery:
    rows = stored(snapshot, np.array([picture], np.int64), alike.descriptors, alike.lengths)
    return PictureQuery((QueryPicture(picture, b""),), rows, np.ones(1), {})


def _some(snapshot: Snapshot, alike: SimilarityModel, queries: Int) -> list[int]:
    """Return as many queries as there is time to compare with every picture."""
    each = len(snapshot.ids()) * sum(alike.phi.lengths) * len(alike.phi.kinds)
    n = int(np.clip(_WORK / max(each, 1), 5, QUERIES))
    if len(queries) <= n:
        return [int(q) for q in queries]
    return sorted(np.random.default_rng(0).choice(queries, n, replace=False).tolist())
