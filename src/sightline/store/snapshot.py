"""A reader's view: one published version, unchanged however often others publish.

The files of a version are mapped into memory when opened; the operating system keeps them readable
even after a later publish has unlinked them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Ints
from sightline.errors import CollectionError
from sightline.records import (
    Batch,
    DenseQuery,
    FeatureRows,
    SparseQuery,
    SparseRows,
    Top,
    WordQuery,
)
from sightline.store.engines import flat, word_rows
from sightline.store.engines.candidates import Engine
from sightline.store.engines.quantised import Quantised
from sightline.store.engines.tables import Published
from sightline.store.matrices import taken_rows
from sightline.store.segments import OpenSegment
from sightline.store.stored_rows import StoredRows
from sightline.store.versions import Version
from sightline.words.tfidf import idf as idf_of


class Snapshot:
    """One version, open for reading; it implements the `Store` contract.

    Attributes
    ----------
    fast : bool, default=False
        Whether word queries are answered by compiled code; a server sets it.
    engine : Engine or None, default=None
        What answers queries, as far as it can; all others are answered by a scan.
    quantised : Quantised or None, default=None
        Rounded rows that answer dense queries of large tables instead of a scan, as it would; a
        server keeps them.
    """

    fast = False
    engine: Engine | None = None
    quantised: Quantised | None = None

    def __init__(self, shards: Path, version: Version) -> None:
        self.version = version.number
        self._listed, self._returned = version.segments, version.returned
        self.model = version.model
        self.similar = version.similar
        self.regions = version.regions
        self.text = version.text
        self.segments = [OpenSegment.open(shards, s) for s in version.segments]

    @property
    def contents(self) -> tuple[tuple[str, int], ...]:
        """What the words of the pictures depend on: checksum and dead rows of each segment."""
        return tuple((s.base.sha256, s.dead_rows) for s in self._listed)

    @cached_property
    def published(self) -> Published:
        """The version as engines see it."""
        return Published(
            self.version, self.model, self.segments, self._listed, self._returned, self.text
        )

    def ids(self) -> Ints:
        """Return the ids of all pictures, ascending; the array cannot be written to."""
        return self._ids

    @cached_property
    def _ids(self) -> Ints:
        parts = [s.ids[s.alive()] if len(s.dead) else s.ids for s in self.segments]
        ids = np.concatenate([*parts, np.zeros(0, np.int64)])
        if not (ids[1:] > ids[:-1]).all():
            ids.sort()
        ids.flags.writeable = False
        return ids

    def size(self) -> int:
        """Return how many pictures there are."""
        return self._counts[2]

    def top(
        self,
        query: DenseQuery | SparseQuery | WordQuery,
        k: int,
        where: Ints | None = None,
        score_words: word_rows.ScoreWords | None = None,
        without: Ints | None = None,
    ) -> Top:
        """Return the k best pictures.

        Parameters
        ----------
        query : DenseQuery, SparseQuery or WordQuery
            What to rank by.
        k : int
            How many pictures to return.
        where : ndarray of int64, optional
            The only ids that may appear.
        score_words : callable, optional
            For a `WordQuery`: scores words that have no published row.
        without : ndarray of int64, optional
            For a `WordQuery`: ids that must not appear.

        Returns
        -------
        Top
            Ids and scores, the best first.
        """
        where, without = _ascending(where), _ascending(without)
        # Engines hold scores as they were published.
        updated = isinstance(query, WordQuery) and bool(query.updates)
        if self.engine is not None and not updated:
            top = self.engine.top(self.published, query, k, where, score_words, without)
            if top is not None:
                return top
        if isinstance(query, DenseQuery):
            if self.quantised is not None:
                top = self.quantised.top(self.published, query, k, where)
                if top is not None:
                    return top
            return flat.dense_top(self.segments, query, k, where)
        if isinstance(query, WordQuery):
            return word_rows.word_top(
                self.segments,
                self.model,
                query,
                k,
                where,
                score_words,
                without=without,
                fast=self.fast,
            )
        idf = dict(zip(query.terms.tolist(), self.idf_of(query.groups).tolist(), strict=True))
        return flat.sparse_top(self.segments, query, idf, self._idf, k, where)

    def ranks_without_scan(self, feature: str, k: int) -> bool:
        """Return whether the k best by a feature are mostly ranked without scoring all pictures."""
        if self.engine is not None:
            return True
        return self.quantised is not None and self.quantised.serves(self.published, feature, k)

    def top_by(
        self,
        query: DenseQuery,
        k: int,
        where: Ints | None,
        rank: Callable[[Ints], Top],
        added: NDArray[np.float32],
    ) -> Top | None:
        """Return the k best by a dense score and a number added to it; None if all must be scored.

        Parameters
        ----------
        rank : callable
            Returns the best of some pictures, ids ascending, as they are to be ranked, k at most.
        added : ndarray of float32
            The number of each row, in the order of `row_ids`.
        """
        if self.quantised is None:
            return None
        return self.quantised.top_by(self.published, query, k, _ascending(where), rank, added)

    def row_ids(self, feature: str) -> Ints:
        """Return the picture of every row of a feature, dead ones included, in storage order."""
        ids = [s.ids for s in self.segments if s.matrix(feature) is not None]
        return np.concatenate([*ids, np.zeros(0, np.int64)])

    def scores(self, query: DenseQuery) -> tuple[Ints, NDArray[np.float32]]:
        """Return every picture that has a feature, in storage order, and the score of each."""
        return flat.dense_scores(self.segments, query)

    def having(self, feature: str) -> Ints:
        """Return every picture that has a feature, in the order of `scores`."""
        return flat.ids_with(self.segments, feature)

    def lengths(self, feature: str) -> NDArray[np.float32]:
        """Return the norms of the rows of a feature, in the order of `scores`."""
        return flat.row_lengths(self.segments, feature)

    def tagged_with(self, terms: Sequence[int], *, every: bool) -> Ints:
        """Return the ids of the pictures that have all (`every`), or any, of some terms."""
        ids = np.array(terms, np.int64)
        return self.tagged_with_every(
            tuple(ids[i : i + 1] for i in range(len(ids))) if every else (ids,)
        )

    def tagged_with_every(self, groups: Sequence[Ints]) -> Ints:
        """Return the ids of the pictures that have some term of each group."""
        parts: list[Ints] = []
        for s in self.segments if len(groups) else ():
            joined = s.have_any(groups[0])
            for group in groups[1:]:
                joined &= s.have_any(group)
            parts.append(s.ids[s.living(np.flatnonzero(joined))])
        return np.sort(np.concatenate(parts)) if parts else np.zeros(0, np.int64)

    def without_words(self) -> Ints:
        """Return the ids of the pictures that have no word, ascending."""
        return self._having_words(False)

    def with_words(self) -> Ints:
        """Return the ids of the pictures that have some word, ascending."""
        return self._having_words(True)

    def _having_words(self, expected: bool) -> Ints:
        rows = [
            s.alive() & ((np.diff(s.base["word_start"]) > 0) == expected) for s in self.segments
        ]
        parts = [s.ids[r] for s, r in zip(self.segments, rows, strict=True)]
        return np.sort(np.concatenate(parts)) if parts else np.zeros(0, np.int64)

    @cached_property
    def _counts(self) -> tuple[Ints, Ints, int]:
        """Return all terms, the number of pictures that have each, and that of all pictures."""
        terms = [s.base["terms"] for s in self.segments]
        counts = [s.term_counts() for s in self.segments]
        all_terms, at = np.unique(
            np.concatenate([*terms, np.zeros(0, np.int64)]), return_inverse=True
        )
        total = np.zeros(len(all_terms), np.int64)
        np.add.at(total, at, np.concatenate([*counts, np.zeros(0, np.int64)]))
        return all_terms, total, sum(len(s.ids) - len(s.dead) for s in self.segments)

    @cached_property
    def _idf(self) -> tuple[Ints, NDArray[np.float64]]:
        terms, counts, n = self._counts
        return terms, np.asarray(idf_of(counts, n), np.float64)

    def idf(self, terms: Ints) -> NDArray[np.float64]:
        """Return the idf of each term; a term without pictures has 0."""
        all_terms, values = self._idf
        if not len(all_terms):
            return np.zeros(len(terms))
        at = np.minimum(np.searchsorted(all_terms, terms), len(all_terms) - 1)
        return np.where(self.in_use(terms), values[at], 0.0)

    def idf_of(self, groups: Sequence[Ints]) -> NDArray[np.float64]:
        """Return the idf of groups of terms: that of one term on the pictures with any of them."""
        single = np.array([g[0] if len(g) else 0 for g in groups], np.int64)
        values = self.idf(single)
        for i, group in enumerate(groups):
            if len(group) > 1:
                n = len(self.tagged_with(group.tolist(), every=False))
                values[i] = idf_of(np.array([n]), self.size())[0]
        return values

    def in_use(self, terms: Ints) -> NDArray[np.bool_]:
        """Return for each term whether any picture has it."""
        is_in_use: NDArray[np.bool_] = self.n_pictures(terms) > 0
        return is_in_use

    def n_pictures(self, terms: Ints) -> Ints:
        """Return how many pictures have each term."""
        all_terms, counts, _ = self._counts
        if not len(all_terms):
            return np.zeros(len(terms), np.int64)
        at = np.minimum(np.searchsorted(all_terms, terms), len(all_terms) - 1)
        return np.where(all_terms[at] == terms, counts[at], 0)

    def vocabulary(self) -> tuple[Ints, Ints]:
        """Return the terms some picture has, and how many pictures have each."""
        all_terms, counts, _ = self._counts
        return all_terms[counts > 0], counts[counts > 0]

    def thumbnail(self, picture: int) -> bytes:
        """Return a picture's thumbnail, a small file without any metadata."""
        s, row = self._find(picture)
        return s.thumbnail(row)

    def rows(self, feature: str, pictures: Ints) -> FeatureRows | SparseRows:
        """Return the rows of one feature for some pictures, ids ascending, in that order."""
        parts, ids = [], []
        for s in self.segments:
            at = s.rows_of(pictures)
            if len(at):
                parts.append(s.features[feature][at])
                ids.append(s.ids[at])
        found_ids = np.concatenate([*ids, np.zeros(0, np.int64)])
        if len(found_ids) != len(pictures):
            missing = np.setdiff1d(pictures, found_ids)
            raise CollectionError(
                f"{len(missing)} pictures have no rows of {feature!r}, such as {int(missing[0])}. "
                "Run: sightline index"
            )
        return taken_rows(feature, parts, np.argsort(found_ids))

    def length(self, feature: str) -> int:
        """Return how many numbers a row of a feature has; 0 if there is none."""
        matrices = (s.features[feature] for s in self.segments if feature in s.features)
        return next((int(m.shape[1]) for m in matrices), 0)

    def stored_rows(self, feature: str, pictures: Ints) -> StoredRows:
        """Return the same, dense, to be read when they are asked for."""
        parts: list[NDArray[np.float32]] = []
        part, row, ids = [], [], []
        for s in self.segments:
            at = s.rows_of(pictures)
            if len(at):
                part.append(np.full(len(at), len(parts), np.int32))
                parts.append(np.asarray(s.features[feature]))
                row.append(at)
                ids.append(s.ids[at])
        order = np.argsort(np.concatenate(ids), kind="stable")
        return StoredRows(parts, np.concatenate(part)[order], np.concatenate(row)[order])

    def features(self) -> tuple[str, ...]:
        """Return the features every picture has, by fingerprint."""
        sets = [set(s.features) for s in self.segments]
        return tuple(sorted(set.intersection(*sets))) if sets else ()

    def by_features(self, pictures: Ints) -> list[tuple[tuple[str, ...], Ints]]:
        """Return pictures (ids ascending) in groups that have the same features."""
        groups: dict[tuple[str, ...], list[Ints]] = {}
        for s in self.segments:
            group = s.ids[s.rows_of(pictures)]
            if len(group):
                groups.setdefault(tuple(sorted(s.features)), []).append(group)
        return [(features, np.sort(np.concatenate(ids))) for features, ids in groups.items()]

    def batch(self, pictures: Ints, features: Iterable[str]) -> Batch:
        """Return pictures (ids ascending) as they are stored, with some of their features."""
        terms: dict[int, tuple[int, ...]] = {}
        thumbnails: dict[int, bytes] = {}
        for s in self.segments:
            for row in s.rows_of(pictures).tolist():
                picture = int(s.ids[row])
                terms[picture] = tuple(s.words(row).tolist())
                thumbnails[picture] = s.thumbnail(row)
        ids = pictures.tolist()
        return Batch(
            ids=pictures,
            terms=tuple(terms[i] for i in ids),
            thumbnails=tuple(thumbnails[i] for i in ids),
            features=tuple(self.rows(f, pictures) for f in features),
        )

    def _find(self, picture: int) -> tuple[OpenSegment, int]:
        for s in self.segments:
            rows = s.rows_of(np.array([picture], np.int64))
            if len(rows):
                return s, int(rows[0])
        raise CollectionError(f"Picture {picture} is not in the collection. Run: sightline index")


def _ascending(ids: Ints | None) -> Ints | None:
    return ids if ids is None or (ids[1:] > ids[:-1]).all() else np.unique(ids)
