"""The tables an engine is loaded with: the rows of a version, one table for each measure.

An engine ranks a table by one measure, so a feature that is searched by cosine and by distance is
two tables. The digest of a table follows from the names of the files it is made of, which are named
after their content: equal digests mean equal rows, whatever the number of the version.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from sightline._typing import Floats, Ints
from sightline.errors import StoreError
from sightline.records import DenseQuery, WordQuery
from sightline.store.matrices import StoredSparseMatrix
from sightline.store.scores import points_feature
from sightline.store.segments import OpenSegment
from sightline.store.versions import SCORING_KINDS, ScoringKind, Segment
from sightline.vectors import l2_normalize

Measure = Literal["product", "cosine", "distance", "words"]
# Measures by which features are ranked; a model's points and word scores are ranked by product.
MEASURES: tuple[Measure, ...] = ("cosine", "distance")


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """One version as engines see it.

    Attributes
    ----------
    version : int
        Its number.
    model : str
        The word model that it serves, "" for none.
    segments : sequence of OpenSegment
        Its segments, opened.
    listed : sequence of Segment
        The files they were opened from.
    returned : int
        The last version up to this one that was made by a rollback; 0 for none.
    text : str
        The text model that it serves, "" for none.
    """

    version: int
    model: str
    segments: Sequence[OpenSegment]
    listed: Sequence[Segment]
    returned: int = 0
    text: str = ""
    _tables: dict[tuple[str, Measure], EngineTable] = field(default_factory=dict)
    # By table and holder: the segments an engine holds and the rest, cached by `coverage.split`.
    splits: dict[tuple[str, str], tuple[Published, Published]] = field(default_factory=dict)

    def table(self, feature: str, by: Measure) -> EngineTable:
        """Return one table; it is described once."""
        if (feature, by) not in self._tables:
            self._tables[feature, by] = engine_table(self, feature, by)
        return self._tables[feature, by]


@dataclass(frozen=True, slots=True)
class EngineTable:
    """A table that an engine may hold.

    Attributes
    ----------
    feature : str
        The feature, points or model whose rows it holds.
    by : Measure
        The measure it is ranked by.
    length : int
        How many numbers a row has.
    rows : int
        How many rows it has.
    digest : str
        Follows from the files the rows are in.
    """

    feature: str
    by: Measure
    length: int
    rows: int
    digest: str

    @property
    def name(self) -> str:
        """A name of letters, digits and underscores that no other table of a store has.

        >>> EngineTable("deep-1a2b", "cosine", 4, 2, "").name
        'deep_1a2b_cosine_ba446c0c'
        """
        plain = re.sub(r"\W", "_", self.feature, flags=re.ASCII)[:40]
        mark = hashlib.sha256(f"{self.feature} {self.by}".encode()).hexdigest()[:8]
        return f"{plain}_{self.by}_{mark}"


def engine_tables(p: Published, measures: Sequence[Measure] = MEASURES) -> list[EngineTable]:
    """Return every table that can be made of a version, by name; sparse features have none."""
    features = sorted({f for s in p.segments for f in s.features})
    pairs: list[tuple[str, Measure]] = [
        (f, by) for f in features if _length(p, f) for by in measures
    ]
    models: dict[ScoringKind, str] = {"words": p.model, "text": p.text}
    for kind, model in models.items():
        all_scores = (s.published(kind) for s in p.segments)
        points = sorted({n for s in all_scores if s is not None for n in s.points})
        pairs += [(points_feature(model, n), "product") for n in points if model]
    if _common_terms(p) is not None:
        pairs.append((p.model, "words"))
    return [engine_table(p, f, by) for f, by in pairs]


def engine_table(p: Published, feature: str, by: Measure) -> EngineTable:
    """Return one table of a version."""
    digest, rows = hashlib.sha256(f"{feature} {by}".encode()), 0
    for s, listed in zip(p.segments, p.listed, strict=True):
        names = _files(s, listed, feature, by)
        if names:
            names += [listed.dead.name] if listed.dead else []
            rows += listed.live
            digest.update(" ".join(names).encode() + b"\n")
    terms = _common_terms(p) if by == "words" else None
    length = len(terms) if terms is not None else _length(p, feature)
    return EngineTable(feature, by, length, rows, digest.hexdigest()[:20])


def _files(s: OpenSegment, listed: Segment, feature: str, by: Measure) -> list[str]:
    """Return the files of a segment's part of a table; empty if it has none."""
    files = [f.file.name for f in listed.features if f.feature == feature]
    if by == "words":
        has = s.scores is not None and s.scores.model == feature
        files = [listed.scores.name] if has and listed.scores else []
    elif not files and s.matrix(feature) is not None:
        published = (listed.published(kind) for kind in SCORING_KINDS)
        model = feature.partition("/")[0]
        files = [file.name for file, by in published if file is not None and by == model]
    return [listed.base.name, *files] if files else []


def part_files(s: OpenSegment, listed: Segment, table: EngineTable) -> list[str]:
    """Return the files of a segment's part of a table; empty if it has none."""
    return _files(s, listed, table.feature, table.by)


def _length(p: Published, feature: str) -> int:
    """Return the length of a feature's rows; 0 if they are sparse or missing."""
    matrices = [m for s in p.segments if (m := s.matrix(feature)) is not None]
    if not matrices or any(isinstance(m, StoredSparseMatrix) for m in matrices):
        return 0
    return int(matrices[0].shape[1])


def _common_terms(p: Published) -> Ints | None:
    """Return the words that all segments have scores of; None if segments differ."""
    all_scores = (s.scores for s in p.segments)
    published_scores = [s for s in all_scores if s is not None and s.model == p.model]
    if not p.model or not published_scores or len(published_scores) < len(p.segments):
        return None
    same = all(np.array_equal(s.terms, published_scores[0].terms) for s in published_scores)
    return published_scores[0].terms if same and len(published_scores[0].terms) else None


def ids_of(p: Published, table: EngineTable) -> Ints:
    """Return the pictures of a table, ascending."""
    parts = [s.ids[s.alive()] for s in _having(p, table)]
    return np.sort(np.concatenate([*parts, np.zeros(0, np.int64)]))


def _having(p: Published, table: EngineTable) -> list[OpenSegment]:
    if table.by == "words":
        return [s for s in p.segments if s.scores is not None and s.scores.model == table.feature]
    return [s for s in p.segments if s.matrix(table.feature) is not None]


def rows_at(p: Published, table: EngineTable, ids: Ints) -> Floats:
    """Return the rows of some pictures as an engine ranks by them, ids ascending."""
    ids_there, rows = existing_rows(p, table, ids)
    if len(ids_there) != len(ids):
        n_missing = len(ids) - len(ids_there)
        raise StoreError(f"{n_missing} of {len(ids)} pictures have no row of {table.name}.")
    return rows


def existing_rows(p: Published, table: EngineTable, ids: Ints) -> tuple[Ints, Floats]:
    """Return those of some pictures that have a live row, and these rows; ids ascending."""
    rows, has_row = np.zeros((len(ids), table.length), np.float32), np.zeros(len(ids), bool)
    for s in _having(p, table):
        at = s.rows_of(ids)
        if len(at):
            positions = np.searchsorted(ids, s.ids[at])
            rows[positions], has_row[positions] = _rows(s, table, at), True
    return (ids, rows) if has_row.all() else (ids[has_row], rows[has_row])


def _rows(s: OpenSegment, table: EngineTable, at: Ints) -> Floats:
    if table.by == "words" and s.scores is not None:
        return np.ascontiguousarray(s.scores.rows[:, at].T)
    matrix = s.matrix(table.feature)
    if matrix is None or isinstance(matrix, StoredSparseMatrix):
        raise StoreError(f"The rows of {table.feature} are not dense.")
    rows = np.asarray(matrix[at], np.float32)
    if table.by != "cosine":
        return rows
    return np.asarray(l2_normalize(rows, np.sqrt(np.vecdot(rows, rows))))


def blocks(p: Published, table: EngineTable, step: int) -> Iterator[tuple[Ints, Floats]]:
    """Yield the whole table by ascending id, `step` rows at a time."""
    ids = ids_of(p, table)
    for start in range(0, len(ids), step):
        part = ids[start : start + step]
        yield part, rows_at(p, table, part)


def weights_of(p: Published, table: EngineTable, query: DenseQuery | WordQuery) -> Floats | None:
    """Return a query as weights over a table's rows; None if a word of it has no column."""
    if isinstance(query, DenseQuery):
        return np.ascontiguousarray(query.weights, np.float32)
    terms = _common_terms(p)
    if terms is None or not len(query.terms):
        return None
    at = np.searchsorted(terms, query.terms)
    if (at >= len(terms)).any() or (terms[at] != query.terms).any():
        return None
    weights = np.zeros(table.length, np.float32)
    np.add.at(weights, at, np.asarray(query.weights, np.float32))
    return weights
