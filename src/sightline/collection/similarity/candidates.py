"""Similarity search: candidates by the strongest descriptors, ranked by the similarity model.

Up to a thousand pictures are all compared. In larger collections the candidates are the nearest
neighbours of each query picture by each descriptor of a shortlist. Their recall is measured when
the model is trained, and stored with it. The score uses the weighted mean of phi over the positive
query pictures minus that over the negative ones.

Descriptors are added to the shortlist greedily: each time the one that adds most of the ten best
pictures of a full scan, until .99 of them are covered or there are eight descriptors. The shortlist
is chosen on pictures that are not held out; its recall is measured on held-out ones.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sightline._typing import Doubles, Floats, Ints
from sightline.collection.filters import NO_FILTERS, Filters, allowed_ids
from sightline.collection.results import Results, best_hits
from sightline.collection.similarity.descriptors import partly, stored
from sightline.collection.similarity.model import CandidateSearch, SimilarityModel
from sightline.collection.similarity.online import in_use
from sightline.collection.similarity.query import PictureQuery, QueryPicture, find, resolve_query
from sightline.contracts import Compute, Json
from sightline.errors import CollectionError, UsageError
from sightline.records import DenseQuery, Hit, shown
from sightline.settings import Settings
from sightline.store.folder import Reader
from sightline.store.snapshot import Snapshot

if TYPE_CHECKING:
    from sightline.collection.pictures import PictureLike
    from sightline.words.grammar import PictureTerm

    Weighted = tuple[PictureLike, float]

# Up to this number of pictures all are compared.
ALL = 1_000
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Share:
    """The contribution of one descriptor to a score, in total and by measure."""

    descriptor: str
    value: float
    measures: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        of = ", ".join(f"{name} {value:+.3f}" for name, value in self.measures)
        return f"{self.descriptor} {self.value:+.3f} ({of})"

    def to_dict(self) -> dict[str, Json]:
        """Return the contribution as JSON."""
        measures: dict[str, Json] = dict(self.measures)
        return {"descriptor": self.descriptor, "contribution": self.value, "measures": measures}


@dataclass(frozen=True, slots=True)
class SimilarResults(Results):
    """Similar pictures, best first.

    Attributes
    ----------
    remark : str
        A remark on the model if it is not trained; else empty.
    lacking : tuple of tuple of (str, int)
        Names of descriptors that query pictures lack, and the number of these pictures.
    partly : tuple of tuple of (str, int)
        Names of descriptors that pictures of the collection lack, and the number of these pictures.
        Such a descriptor contributes 0 to their scores.
    trained : bool
        Whether the similarity model was trained.
    compared : int
        Number of ranked pictures: all that pass the filters, or the candidates.
    shares : tuple of tuple of Share
        The contributions of the descriptors to each hit's score, the largest first; they add up to
        it.
    """

    remark: str = ""
    lacking: tuple[tuple[str, int], ...] = ()
    partly: tuple[tuple[str, int], ...] = ()
    trained: bool = False
    compared: int = 0
    shares: tuple[tuple[Share, ...], ...] = ()

    def to_dict(self, root: bytes = b"", *, why: bool = False) -> dict[str, Json]:
        """Return the answer as JSON, with the contributions of features where `why`.

        `learnt` is what `trained` was called in earlier releases.
        """
        hits: list[dict[str, Json]] = [dict[str, Json](h.to_dict(root)) for h in self.hits]
        if why:
            for hit, shares in zip(hits, self.shares, strict=True):
                hit["why"] = [s.to_dict() for s in shares]
        return {
            "version": self.version, "trained": self.trained, "learnt": self.trained,
            "compared": self.compared, "left_out": [name for name, _ in self.lacking],
            "served": self.served, "hits": list[Json](hits),
        }  # fmt: skip


def by_sign(terms: Sequence[PictureTerm]) -> tuple[list[Weighted], list[Weighted]]:
    """Return the positive and the negative pictures of a query, with their weights."""
    positive: list[Weighted] = [(t.path, t.weight) for t in terms if not t.negative]
    negative: list[Weighted] = [(t.path, t.weight) for t in terms if t.negative]
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
    """Rank pictures by their similarity to positive and dissimilarity to negative ones."""
    if k < 1:
        raise UsageError(f"At least 1 hit must be asked for. Got {k}.")
    if not os.path.isdir(root):
        raise CollectionError(f"The folder {shown(root)} is not there. Is its disk mounted?")
    positives, negatives = ([find(reader, root, *p) for p in part] for part in (positive, negative))
    if not positives:
        raise UsageError("Name at least one positive picture, besides the negative ones.")
    both = {a.file for a in positives} & {a.file for a in negatives}
    if both:
        raise UsageError(
            f"{shown(min(both))} is both a positive and a negative picture. Leave out one."
        )
    model, remark = in_use(reader)
    query = resolve_query(reader, model, positives, negatives, settings, compute)
    allowed = allowed_ids(reader, filters.where(root), filters.untagged)
    ids = candidates(reader.snapshot, model, query, allowed, exact)
    scores = scored(reader.snapshot, model, query, ids)
    order, learned = np.lexsort((ids, -scores)), bool(model.name)
    hits, missing = best_hits(reader, root, ids[order], scores[order], k, "similar", learned)
    shares = _shares(reader.snapshot, model, query, hits)
    return SimilarResults(
        tuple(hits), (), reader.snapshot.version, missing, remark,
        tuple(query.lacking.items()), partly(reader.snapshot, model.descriptors),
        learned, len(ids), shares, served=reader.notice(), store_folder=reader.store_folder,
    )  # fmt: skip


def candidates(
    snapshot: Snapshot,
    model: SimilarityModel,
    query: PictureQuery,
    allowed: Ints | None,
    exact: bool = False,
) -> Ints:
    """Return the pictures to rank, ids ascending, without the query pictures."""
    if allowed is None and not exact and snapshot.size() > ALL + len(query.ids):
        return shortlisted(snapshot, model, query, None)
    every = snapshot.ids()
    # The filters may pass pictures that have no rows in this version.
    left = every if allowed is None else np.intersect1d(every, allowed, assume_unique=True)
    left = _without(left, query.ids)
    if exact or len(left) <= ALL:
        return left
    return shortlisted(snapshot, model, query, None if allowed is None else left)


def _without(ids: Ints, few: Ints) -> Ints:
    """Return ascending ids without a few of them.

    >>> _without(np.array([2, 3, 5, 9]), np.array([9, 3, 4])).tolist()
    [2, 5]
    """
    at = np.searchsorted(ids, few)
    in_range = at < len(ids)
    at, few = at[in_range], few[in_range]
    return np.delete(ids, at[ids[at] == few])


def shortlisted(
    snapshot: Snapshot, model: SimilarityModel, pictures: PictureQuery, where: Ints | None
) -> Ints:
    """Return the nearest neighbours of the positive pictures by each shortlisted descriptor."""
    neighbours = [np.zeros(0, np.int64)]
    stored_features = {f for s in snapshot.segments for f in s.features}
    # Query pictures are removed afterwards.
    depth = model.shortlist.depth + len(pictures.ids)
    for v, by in model.shortlist.descriptors:
        d = model.descriptors[v]
        if d not in stored_features:
            continue
        for i in np.flatnonzero((pictures.weights > 0) & pictures.rows.have[:, v]).tolist():
            row = pictures.rows.views[v][i : i + 1]
            weights = np.asarray(row.toarray() if hasattr(row, "tocsr") else row, np.float32)[0]
            query = DenseQuery(d, weights, "cosine" if by == "cosine" else "distance")
            neighbours.append(snapshot.top(query, depth, where).ids)
    return np.setdiff1d(np.concatenate(neighbours), pictures.ids)


def scored(snapshot: Snapshot, model: SimilarityModel, query: PictureQuery, ids: Ints) -> Doubles:
    """Return the score of each picture, ids ascending; phi is computed in blocks."""
    out = np.zeros(len(ids))
    for start in range(0, len(ids), _BLOCK):
        part = slice(start, start + _BLOCK)
        out[part] = combined(snapshot, model, query, ids[part]) @ model.w
    return out


def combined(snapshot: Snapshot, model: SimilarityModel, query: PictureQuery, ids: Ints) -> Doubles:
    """Return the weighted sum of phi over the query pictures, (pictures, components)."""
    rows = stored(snapshot, ids, model.descriptors, model.lengths)
    phi: Floats = model.compare(model.scaled(query.rows), model.scaled(rows))
    return np.asarray(np.einsum("q,qpc->pc", query.weights, phi))


def _shares(
    snapshot: Snapshot, model: SimilarityModel, query: PictureQuery, hits: Sequence[Hit]
) -> tuple[tuple[Share, ...], ...]:
    """Return the contributions of the descriptors to each hit, the largest first."""
    ids = np.array([h.picture for h in hits], np.int64)
    order = np.argsort(ids)
    parts = np.zeros((len(ids), model.phi.n_components))
    parts[order] = combined(snapshot, model, query, ids[order]) * model.w
    shape = (len(ids), len(model.names), len(model.phi.kinds))
    return tuple(_sorted_shares(model, row) for row in parts.reshape(shape))


def _sorted_shares(model: SimilarityModel, parts: Doubles) -> tuple[Share, ...]:
    shares = [
        Share(name, float(row.sum()), tuple(zip(model.phi.kinds, row.tolist(), strict=True)))
        for name, row in zip(model.names, parts, strict=True)
    ]
    return tuple(sorted(shares, key=lambda s: (-abs(s.value), s.descriptor)))


BEST = 10
DEPTH = 100
MOST = 8
ENOUGH = 0.99
QUERIES = 40
# Largest number of values compared when choosing or measuring; bounds the time.
_WORK = 1e10


def choose_shortlist(
    snapshot: Snapshot, model: SimilarityModel, queries: Ints, depth: int = DEPTH
) -> CandidateSearch:
    """Choose the descriptors that retrieve the best pictures of a full scan."""
    options = [(v, by) for v in range(len(model.descriptors)) for by in ("cosine", "distance")]
    questions = [_question(snapshot, model, q) for q in _some(snapshot, model, queries)]
    best = [_best(snapshot, model, q) for q in questions]
    pairs = list(zip(best, questions, strict=True))
    retrieved = np.array(
        [[np.isin(b, _near(snapshot, model, q, (o,), depth)) for b, q in pairs] for o in options]
    ).reshape(len(options), -1)
    chosen: list[tuple[int, str]] = []
    covered = np.zeros(retrieved.shape[1], bool)
    while len(chosen) < MOST and (not chosen or covered.mean() < ENOUGH):
        gain = (retrieved & ~covered).sum(axis=1)
        if chosen and not gain.max():
            break
        best_at = int(np.argmax(gain))
        chosen.append(options[best_at])
        covered |= retrieved[best_at]
    return CandidateSearch(tuple(chosen), depth)


def measure_recall(snapshot: Snapshot, model: SimilarityModel, queries: Ints) -> CandidateSearch:
    """Return the shortlist with its recall of the ten best pictures for these queries."""
    s = model.shortlist
    recalls = []
    for q in _some(snapshot, model, queries):
        query = _question(snapshot, model, q)
        near = _near(snapshot, model, query, s.descriptors, s.depth)
        recalls.append(np.isin(_best(snapshot, model, query), near).mean())
    if not recalls:
        return s
    return replace(s, recall=float(np.mean(recalls)), queries=len(recalls))


def _near(
    snapshot: Snapshot,
    model: SimilarityModel,
    query: PictureQuery,
    descriptors: tuple[tuple[int, str], ...],
    depth: int,
) -> Ints:
    return shortlisted(
        snapshot, replace(model, shortlist=CandidateSearch(descriptors, depth)), query, None
    )


def _best(snapshot: Snapshot, model: SimilarityModel, query: PictureQuery) -> Ints:
    """Return the best pictures of a full scan."""
    ids = np.setdiff1d(snapshot.ids(), query.ids)
    scores = scored(snapshot, model, query, ids)
    return np.asarray(ids[np.lexsort((ids, -scores))[:BEST]])


def _question(snapshot: Snapshot, model: SimilarityModel, picture: int) -> PictureQuery:
    rows = stored(snapshot, np.array([picture], np.int64), model.descriptors, model.lengths)
    return PictureQuery((QueryPicture(picture, b""),), rows, np.ones(1), {})


def _some(snapshot: Snapshot, model: SimilarityModel, queries: Ints) -> list[int]:
    """Return a sample of the queries that can be compared with every picture in bounded time."""
    each = len(snapshot.ids()) * sum(model.phi.lengths) * len(model.phi.kinds)
    n = int(np.clip(_WORK / max(each, 1), 5, QUERIES))
    if len(queries) <= n:
        return [int(q) for q in queries]
    return sorted(np.random.default_rng(0).choice(queries, n, replace=False).tolist())
