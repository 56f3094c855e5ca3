"""What a word model or a text model published for a segment, each in a file beside it.

  terms                          the words that have scores, ascending
  scores                         for each word the scores of all rows
  points.NAME                    for each row its point in a space of the model
  codes                          for each row its point in the space of online updates, in bytes

Points are rows like those of a feature, and are ranked as such under the name `MODEL/NAME`. They
are removed with the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Ints
from sightline.errors import StoreDamaged, StoreError
from sightline.store.shards import Rows, open_arrays, write_arrays
from sightline.store.versions import FileEntry, ScoringKind, Segment

_POINTS, _CODES = "points.", "codes"


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of a segment's pictures by a model.

    Attributes
    ----------
    model : str
        The model's name.
    terms : ndarray of int64
        The words that have scores, ascending.
    rows : ndarray of shape (n_terms, n_pictures)
        The scores of all pictures for each word.
    points : mapping of str to ndarray of shape (n_pictures, n_dimensions)
        The pictures' points in the model's spaces, by name.
    codes : ndarray of uint8 or None
        The pictures' points in the space of online updates (`similarity.compact`); None for models
        that have none.
    """

    model: str
    terms: Ints
    rows: Floats
    points: Mapping[str, Floats] = field(default_factory=dict)
    codes: NDArray[np.uint8] | None = None

    def row(self, term: int) -> Floats | None:
        """Return the scores of all pictures for a word, or None if it has none."""
        i = int(np.searchsorted(self.terms, term))
        return self.rows[i] if i < len(self.terms) and self.terms[i] == term else None

    def named(self, feature: str) -> Floats | None:
        """Return the points that are ranked under a feature's name, or None."""
        model, _, name = feature.partition("/")
        return self.points.get(name) if model == self.model else None


def points_feature(model: str, name: str) -> str:
    """Return the name by which the points of a model are ranked.

    >>> points_feature("words-0123", "pictures")
    'words-0123/pictures'
    """
    return f"{model}/{name}"


def open_scores(folder: Path, s: Segment, kind: ScoringKind = "words") -> Scores | None:
    """Map what a model of a kind published for a segment; None if there is nothing."""
    file, model = s.published(kind)
    if file is None:
        return None
    arrays = open_arrays(folder / file.name)
    terms, rows, codes = (arrays.get(name) for name in ("terms", "scores", _CODES))
    points = {n.removeprefix(_POINTS): a for n, a in arrays.items() if n.startswith(_POINTS)}
    if (
        terms is None
        or rows is None
        or terms.dtype != np.int64
        or rows.dtype != np.float32
        or rows.shape != (terms.size, s.rows)
        or any(p.dtype != np.float32 or p.shape[:-1] != (s.rows,) for p in points.values())
        or (codes is not None and (codes.dtype != np.uint8 or codes.shape[:-1] != (s.rows,)))
    ):
        raise StoreDamaged(
            f"The file {file.name} does not hold the scores of {s.rows} pictures. "
            "Run: sightline store repair"
        )
    return Scores(model, terms, rows, points, codes)


def with_scores(folder: Path, s: Segment, scores: Scores, kind: ScoringKind = "words") -> Segment:
    """Write scores of a segment, and return the segment with them."""
    points = dict(scores.points)
    named = scores.model, scores.terms, scores.rows, points, scores.codes
    return _write_scores(folder, s, kind, *named)


def with_joined_scores(
    folder: Path,
    s: Segment,
    parts: Sequence[tuple[Scores | None, int, int]],
    kind: ScoringKind = "words",
) -> Segment:
    """Return a segment with scores joined from rows (scores, first, last + 1) of others.

    If they are not all of one model and for the same words, the segment stays without scores.
    """
    scored = [(p, first, last) for p, first, last in parts if p is not None]
    if len(scored) < len(parts) or not all(_same_layout(p, scored[0][0]) for p, _, _ in scored):
        return s
    template = scored[0][0]

    def rows() -> Iterator[Floats]:
        for t in range(len(template.terms)):
            yield np.concatenate([p.rows[t, first:last] for p, first, last in scored])

    blocks = Rows(rows(), (len(template.terms), s.rows), np.float32)

    def joined_points(name: str) -> Rows:
        pieces = (p.points[name][first:last] for p, first, last in scored)
        return Rows(pieces, (s.rows, template.points[name].shape[1]), np.float32)

    points = {name: joined_points(name) for name in template.points}
    codes = None
    if template.codes is not None:
        pieces = (p.codes[first:last] for p, first, last in scored if p.codes is not None)
        codes = Rows(pieces, (s.rows, template.codes.shape[1]), np.uint8)
    return _write_scores(folder, s, kind, template.model, template.terms, blocks, points, codes)


def _same_layout(a: Scores, b: Scores) -> bool:
    spaces_a, spaces_b = (_spaces(s) for s in (a, b))
    return a.model == b.model and np.array_equal(a.terms, b.terms) and spaces_a == spaces_b


def _spaces(s: Scores) -> dict[str, int]:
    """Return the number of dimensions of each space that the pictures have points in."""
    codes = {} if s.codes is None else {_CODES: s.codes.shape[1]}
    return {n: p.shape[1] for n, p in s.points.items()} | codes


def _write_scores(
    folder: Path,
    s: Segment,
    kind: ScoringKind,
    model: str,
    terms: Ints,
    rows: Floats | Rows,
    points: Mapping[str, Floats | Rows],
    codes: NDArray[np.uint8] | Rows | None = None,
) -> Segment:
    if rows.shape != (len(terms), s.rows):
        raise StoreError(f"Scores have the shape {rows.shape}, not {(len(terms), s.rows)}.")
    for name, p in points.items():
        if len(p.shape) != 2 or p.shape[0] != s.rows:
            raise StoreError(f"The points {name!r} have the shape {p.shape}, not {s.rows} rows.")
    arrays: dict[str, NDArray[Any] | Rows] = {"terms": terms, "scores": rows}
    arrays |= {f"{_POINTS}{name}": p for name, p in points.items()}
    arrays |= {} if codes is None else {_CODES: codes}
    file = FileEntry.of(write_arrays(folder, "scores", arrays))
    return s.with_published(kind, file, model)
