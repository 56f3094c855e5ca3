"""What a model says of the pictures of a segment, in a file of its own beside them.

  terms                          the words that have scores, ascending
  scores                         for each word the scores of all rows
  points.NAME                    for each row where it lies in a space of the model

Points are rows like those of a feature, and are ranked as such under the name `model/NAME`. They go
when the model goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Ints
from sightline.errors import StoreDamaged, StoreError
from sightline.store.shards import Rows, open_arrays, write_arrays
from sightline.store.versions import FileEntry, Segment

_POINTS = "points."


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """A row of scores for each word of a model, and points of its spaces, by name."""

    model: str
    terms: Ints
    rows: Floats
    points: Mapping[str, Floats] = field(default_factory=dict)

    def row(self, term: int) -> Floats | None:
        """Return the scores of all pictures for a word, or None if it has none."""
        i = int(np.searchsorted(self.terms, term))
        return self.rows[i] if i < len(self.terms) and self.terms[i] == term else None

    def named(self, feature: str) -> Floats | None:
        """Return the points that go by a feature's name, or None."""
        model, _, name = feature.partition("/")
        return self.points.get(name) if model == self.model else None


def points_feature(model: str, name: str) -> str:
    """Return the name by which the points of a model are ranked.

    >>> points_feature("words-0123", "pictures")
    'words-0123/pictures'
    """
    return f"{model}/{name}"


def open_scores(folder: Path, s: Segment) -> Scores | None:
    """Map what a model says of a segment; None if none does."""
    if s.scores is None:
        return None
    arrays = open_arrays(folder / s.scores.name)
    terms, rows = arrays.get("terms"), arrays.get("scores")
    points = {n.removeprefix(_POINTS): a for n, a in arrays.items() if n.startswith(_POINTS)}
    if (
        terms is None
        or rows is None
        or terms.dtype != np.int64
        or rows.dtype != np.float32
        or rows.shape != (terms.size, s.rows)
        or any(p.dtype != np.float32 or p.shape[:-1] != (s.rows,) for p in points.values())
    ):
        raise StoreDamaged(
            f"The file {s.scores.name} does not hold the scores of {s.rows} pictures. "
            "Run: sightline store repair"
        )
    return Scores(s.scored_by, terms, rows, points)


def with_scores(folder: Path, s: Segment, scores: Scores) -> Segment:
    """Return a segment with what a model says of it."""
    return _written(folder, s, scores.model, scores.terms, scores.rows, dict(scores.points))


def with_joined_scores(
    folder: Path, s: Segment, parts: Sequence[tuple[Scores | None, int, int]]
) -> Segment:
    """Return a segment with scores put together from rows (first, last + 1) of others.

    Only where one model gave them all, for the same words; otherwise it stays without any.
    """
    scored = [(p, first, last) for p, first, last in parts if p is not None]
    if len(scored) < len(parts) or not all(_alike(p, scored[0][0]) for p, _, _ in scored):
        return s
    one = scored[0][0]

    def rows() -> Iterator[Floats]:
        for t in range(len(one.terms)):
            yield np.concatenate([p.rows[t, first:last] for p, first, last in scored])

    blocks = Rows(rows(), (len(one.terms), s.rows), np.float32)

    def of(name: str) -> Rows:
        pieces = (p.points[name][first:last] for p, first, last in scored)
        return Rows(pieces, (s.rows, one.points[name].shape[1]), np.float32)

    points = {name: of(name) for name in one.points}
    return _written(folder, s, one.model, one.terms, blocks, points)


def _alike(a: Scores, b: Scores) -> bool:
    mine, others = ({n: p.shape[1] for n, p in s.points.items()} for s in (a, b))
    return a.model == b.model and np.array_equal(a.terms, b.terms) and mine == others


def _written(
    folder: Path,
    s: Segment,
    model: str,
    terms: Ints,
    rows: Floats | Rows,
    points: Mapping[str, Floats | Rows],
) -> Segment:
    if rows.shape != (len(terms), s.rows):
        raise StoreError(f"Scores have the shape {rows.shape}, not {(len(terms), s.rows)}.")
    for name, p in points.items():
        if len(p.shape) != 2 or p.shape[0] != s.rows:
            raise StoreError(f"The points {name!r} have the shape {p.shape}, not {s.rows} rows.")
    arrays: dict[str, NDArray[Any] | Rows] = {"terms": terms, "scores": rows}
    arrays |= {f"{_POINTS}{name}": p for name, p in points.items()}
    file = FileEntry.of(write_arrays(folder, "scores", arrays))
    return replace(s, scores=file, scored_by=model)
