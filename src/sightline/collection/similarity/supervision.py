"""Supervision of the similarity model: which pictures of a collection belong together.

    judgements   somebody compared pictures; used where 30 queries or more were judged
    tags         pictures share a word; words on more than a quarter of the pictures do not count,
                 or, where no other is left, on more than half of them
    classes      pictures share a word, and each that has any has exactly one
    folders      pictures are in the same folder

Unless a source is named, the first that covers 100 pictures or more is used; where none does, the
one that covers most.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Ints
from sightline.collection.models.dataset import tag_pairs
from sightline.errors import CollectionError, UsageError
from sightline.records import QuerySet, SimilarityJudgement
from sightline.solvers.picture_triplets import PictureTriplets, of_judgements, of_tags
from sightline.store.catalogue import Catalogue
from sightline.store.snapshot import Snapshot

Source = Literal["judgements", "tags", "classes", "folders"]
SOURCES: tuple[Source, ...] = ("judgements", "tags", "classes", "folders")
# Judged queries that are enough supervision by themselves.
FEWEST_JUDGED = 30
ENOUGH = 100
_COMMON = (0.25, 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class Supervision:
    """Which pictures of a collection belong together.

    Attributes
    ----------
    source : {"judgements", "tags", "classes", "folders"}
        Where it comes from.
    ids : ndarray of int64
        The pictures it covers, ascending.
    labels : array-like
        Sparse matrix (pictures, labels); pictures with a common label belong together. None for
        judgements.
    judgements : tuple of SimilarityJudgement
        The judgements, if they are the source.
    copies : ndarray of int64
        A group number for each picture, equal for pictures with equal bytes.
    """

    source: Source
    ids: Ints
    labels: Any
    judgements: tuple[SimilarityJudgement, ...]
    copies: Ints

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, rows: Ints) -> Supervision:
        """Return the supervision of some of the pictures, by position."""
        ids = self.ids[rows]
        labels = None if self.labels is None else self.labels[rows]
        present = set(ids.tolist())
        judgements = tuple(
            j for j in self.judgements if j.query in present and j.picture in present
        )
        return Supervision(self.source, ids, labels, judgements, self.copies[rows])

    def triplets(self, queries: Bools, pictures: Bools, n: int, seed: int = 0) -> PictureTriplets:
        """Sample triplets whose query and pictures are in the given masks."""
        if self.labels is not None:
            return of_tags(
                self.labels, n, queries=np.flatnonzero(queries), pictures=np.flatnonzero(pictures),
                copies=self.copies, law="queries", random_state=seed,
            )  # fmt: skip
        q, p, alike = self._judged()
        kept = queries[q] & pictures[p]
        parts = q[kept], p[kept], alike[kept].astype(np.float64)
        return of_judgements(*parts, n, copies=self.copies, random_state=seed)

    def relevance(self, queries: Ints, pictures: Ints) -> NDArray[np.int8]:
        """Return (queries, pictures): 1 belongs together, 0 does not, -1 is left out.

        A query, its copies and pictures it was never compared with are left out.
        """
        if self.labels is not None:
            shared = (self.labels[queries] @ self.labels[pictures].T).toarray()
            out = (np.asarray(shared) > 0).astype(np.int8)
        else:
            out = np.full((len(queries), len(pictures)), -1, np.int8)
            row, column = np.full((2, len(self.ids)), -1, np.int64)
            row[queries], column[pictures] = np.arange(len(queries)), np.arange(len(pictures))
            q, p, alike = self._judged()
            kept = (row[q] >= 0) & (column[p] >= 0)
            out[row[q[kept]], column[p[kept]]] = alike[kept]
        out[self.copies[queries][:, None] == self.copies[pictures][None, :]] = -1
        return out

    def _judged(self) -> tuple[Ints, Ints, NDArray[np.int8]]:
        q = np.searchsorted(self.ids, [j.query for j in self.judgements])
        p = np.searchsorted(self.ids, [j.picture for j in self.judgements])
        return q, p, np.array([j.similar for j in self.judgements], np.int8)


def check_source(source: str) -> None:
    """Raise for an unknown source; empty means the first that covers enough pictures."""
    if source and source not in SOURCES:
        raise UsageError(f"Similarity is learned from {', '.join(SOURCES)}. Got {source!r}.")


def find_supervision(
    snapshot: Snapshot,
    catalogue: Catalogue,
    judgements: Sequence[SimilarityJudgement],
    source: str = "",
) -> Supervision:
    """Return the supervision by the named source, or by the first that covers enough pictures."""
    check_source(source)
    every = _everything(snapshot, catalogue, judgements)
    have = [supervision for supervision in every.values() if supervision is not None]
    if source:
        for supervision in have:
            if supervision.source == source:
                return supervision
        names = ", ".join(g.source for g in have)
        of = f"It has: {names}." if have else "It has none of the others either."
        raise UsageError(f"The collection has no {source} that distinguish pictures. {of}")
    usable = [g for g in have if g.labels is not None or len(_queries(g)) >= FEWEST_JUDGED]
    large = [g for g in usable if g.labels is None or len(g) >= ENOUGH]
    if usable:
        return large[0] if large else max(usable, key=len)
    raise CollectionError(
        "Nothing shows which pictures belong together: none share a word that others lack, they do "
        "not lie in different folders, and under 30 were judged. Add words, or sort pictures "
        "into folders, then: sightline index"
    )


def _queries(supervision: Supervision) -> set[int]:
    return {j.query for j in supervision.judgements}


def _everything(
    snapshot: Snapshot, catalogue: Catalogue, judgements: Sequence[SimilarityJudgement]
) -> dict[Source, Supervision | None]:
    ids = snapshot.ids()
    known = {k.picture: k for k in catalogue.known()}
    ids = ids[np.isin(ids, list(known))]
    shas = [known[i].sha or str(i) for i in ids.tolist()]
    copies = np.unique(shas, return_inverse=True)[1].reshape(-1).astype(np.int64)
    folders = [os.path.dirname(known[i].path) for i in ids.tolist()]
    classes = _of_words(snapshot, ids, copies, "classes", 1.0)
    if classes is not None and int(np.diff(classes.labels.indptr).max()) > 1:
        classes = None
    tags = (_of_words(snapshot, ids, copies, "tags", most) for most in _COMMON)
    return {
        "judgements": _of_judgements(ids, judgements, copies),
        "tags": None if classes is not None else next((t for t in tags if t is not None), None),
        "classes": classes,
        "folders": _of_folders(ids, folders, copies),
    }


def _of_judgements(
    ids: Ints, judgements: Sequence[SimilarityJudgement], copies: Ints
) -> Supervision | None:
    present = set(ids.tolist())
    # The last judgement of a pair counts.
    last = {
        (j.query, j.picture): j for j in judgements if j.query in present and j.picture in present
    }
    judged = sorted({i for pair in last for i in pair})
    if not judged:
        return None
    rows = np.searchsorted(ids, judged)
    return Supervision("judgements", ids[rows], None, tuple(last.values()), copies[rows])


def _of_words(
    snapshot: Snapshot, ids: Ints, copies: Ints, source: Source, most: float
) -> Supervision | None:
    picture, term = tag_pairs(snapshot)
    present = np.isin(picture, ids)
    return _labelled(source, ids, picture[present], term[present], copies, most)


def _of_folders(ids: Ints, folders: Sequence[bytes], copies: Ints) -> Supervision | None:
    label = np.unique(np.array(folders, object).astype("S"), return_inverse=True)[1].reshape(-1)
    return _labelled("folders", ids, ids, label, copies, 1.0)


def _labelled(
    source: Source, ids: Ints, picture: Ints, label: Ints, copies: Ints, most: float
) -> Supervision | None:
    """Return the labels that some pictures share and others lack; None if there are none."""
    from scipy.sparse import csr_matrix

    if not len(picture):
        return None
    labels, column, counts = np.unique(label, return_inverse=True, return_counts=True)
    usable = (counts >= 2) & (counts <= max(2, int(most * len(ids)))) & (counts < len(ids))
    is_usable = usable[column.reshape(-1)]
    if not is_usable.any():
        return None
    row = np.searchsorted(ids, picture[is_usable])
    cells = (np.ones(len(row), np.int32), (row, column.reshape(-1)[is_usable]))
    table = csr_matrix(cells, shape=(len(ids), len(labels)))
    table.sum_duplicates()
    some = np.flatnonzero(np.diff(table.indptr))
    if len(np.unique(table.indices)) < 2:
        return None  # All labelled pictures belong together: there are no negatives.
    return Supervision(source, ids[some], table[some], (), copies[some])


def query_set(relevance: NDArray[np.int8]) -> QuerySet:
    """Return the queries of the matrix `Supervision.relevance`.

    >>> query_set(np.array([[1, 0, 1], [0, 0, -1]], np.int8)).relevant_to(0).tolist()
    [0, 2]
    """
    query, fit = np.nonzero(relevance == 1)
    n = len(relevance)
    start = np.searchsorted(query, np.arange(n + 1)).astype(np.int64)
    words = np.zeros(n + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
    return QuerySet(*words, start, fit.astype(np.int64))
