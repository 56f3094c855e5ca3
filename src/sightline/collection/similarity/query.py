"""The pictures of a similarity query, positive and negative: stored rows, or rows computed now."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sightline.collection.extraction import Extractor
from sightline.collection.pictures import find_picture
from sightline.collection.similarity.descriptors import DescribedPictures, stored
from sightline.collection.similarity.model import SimilarityModel
from sightline.contracts import Compute
from sightline.errors import CollectionError
from sightline.records import shown
from sightline.settings import Settings
from sightline.store.folder import Reader

if TYPE_CHECKING:
    from sightline.collection.pictures import PictureLike


@dataclass(frozen=True, slots=True)
class QueryPicture:
    """A picture of a query: its id if it is in the collection, its file and its weight."""

    picture: int | None
    file: bytes
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class PictureQuery:
    """The pictures of a query with their rows and weights.

    Weights of positive pictures sum to 1, those of negative ones to -1. `lacking` maps the name of
    each descriptor that some of these pictures lack to the number of these.
    """

    pictures: tuple[QueryPicture, ...]
    rows: DescribedPictures
    weights: NDArray[np.float64]
    lacking: dict[str, int]

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids of the pictures that are in the collection."""
        return np.array(
            sorted({a.picture for a in self.pictures if a.picture is not None}), np.int64
        )


def find(reader: Reader, root: bytes, picture: PictureLike, weight: float = 1.0) -> QueryPicture:
    """Return the picture that a path, an id or a hit refers to, in the collection or not.

    A picture that is catalogued but has no rows is treated like one outside the collection.
    """
    ref = find_picture(reader, root, picture)
    if ref.id is None:
        return QueryPicture(None, ref.file, weight)
    ids = np.array([ref.id], np.int64)
    has_rows = any(len(s.rows_of(ids)) for s in reader.snapshot.segments)
    return QueryPicture(ref.id if has_rows else None, ref.file, weight)


def resolve_query(
    reader: Reader,
    model: SimilarityModel,
    positive: Sequence[QueryPicture],
    negative: Sequence[QueryPicture],
    settings: Settings,
    compute: Compute | None = None,
) -> PictureQuery:
    """Look up or compute the rows of all query pictures.

    A picture of the collection that lacks a descriptor is described now, if its file exists.
    """
    pictures = (*positive, *negative)
    parts: list[DescribedPictures] = []
    with Extractor(settings, compute) as extractor:
        for a in pictures:
            rows_of_one = None if a.picture is None else _stored(reader, model, a.picture)
            if rows_of_one is None or (not rows_of_one.have.all() and os.path.exists(a.file)):
                computed = extractor.describe(reader, [a.file], model.descriptors, model.lengths)
                rows_of_one = computed if rows_of_one is None else _filled(rows_of_one, computed)
            parts.append(rows_of_one)
    rows = joined(parts)
    if not rows.have.any(axis=1).all():
        lost = pictures[int(np.argmin(rows.have.any(axis=1)))]
        raise CollectionError(
            f"{shown(lost.file)} has none of the descriptors {', '.join(model.names)}, and they "
            "cannot be computed here. Name another picture, or index more features."
        )
    weights = np.concatenate([_shares(positive, 1.0), _shares(negative, -1.0)])
    missing = (~rows.have).sum(axis=0).tolist()
    lacking = {n: m for n, m in zip(model.names, missing, strict=True) if m}
    return PictureQuery(pictures, rows, weights, lacking)


def _shares(pictures: Sequence[QueryPicture], sign: float) -> NDArray[np.float64]:
    weights = np.array([a.weight for a in pictures], np.float64)
    return sign * weights / weights.sum() if len(weights) else weights


def _stored(reader: Reader, model: SimilarityModel, picture: int) -> DescribedPictures:
    ids = np.array([picture], np.int64)
    return stored(reader.snapshot, ids, model.descriptors, model.lengths)


def _filled(rows: DescribedPictures, computed: DescribedPictures) -> DescribedPictures:
    """Return the stored rows of a picture, with computed rows for the missing ones."""
    parts = zip(rows.views, computed.views, rows.have[0].tolist(), strict=True)
    views = [k if has else m for k, m, has in parts]
    return DescribedPictures(tuple(views), rows.have | computed.have)


def joined(parts: Sequence[DescribedPictures]) -> DescribedPictures:
    """Stack the rows of several parts."""
    views = []
    for of_view in zip(*(p.views for p in parts), strict=True):
        if all(hasattr(v, "tocsr") for v in of_view):
            from scipy.sparse import vstack

            views.append(vstack(of_view, format="csr"))
        else:
            views.append(np.vstack([v.toarray() if hasattr(v, "tocsr") else v for v in of_view]))
    return DescribedPictures(tuple(views), np.vstack([p.have for p in parts]))
