"""The pictures somebody asks for, or against: found in the store, or read and described now."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sightline.collection.pictures import find_picture
from sightline.collection.similarity.descriptors import DescribedPictures, describe_files, stored
from sightline.collection.similarity.model import SimilarityModel
from sightline.compute.local import LocalCompute
from sightline.contracts import Compute
from sightline.errors import CollectionError
from sightline.pictures.reading import ReadLimits
from sightline.records import shown
from sightline.settings import Settings
from sightline.store.home import Reader

if TYPE_CHECKING:
    from sightline.collection.pictures import PictureLike


@dataclass(frozen=True, slots=True)
class QueryPicture:
    """A picture of a query: its id, where it is in the collection, else its file."""

    picture: int | None
    file: bytes
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class PictureQuery:
    """Pictures that were asked for, with their rows and weights; those unwanted have negative ones.

    Weights of the wanted pictures sum to 1, those of the unwanted to -1. `lacking` names, for each
    descriptor that some of these pictures lack, how many do.
    """

    asked: tuple[QueryPicture, ...]
    rows: DescribedPictures
    weights: NDArray[np.float64]
    lacking: dict[str, int]

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids of those that are in the collection."""
        return np.array(sorted({a.picture for a in self.asked if a.picture is not None}), np.int64)


def find(reader: Reader, root: bytes, picture: PictureLike, weight: float = 1.0) -> QueryPicture:
    """Return the picture somebody means, in the collection or not.

    One that the catalogue knows and that has no rows is described again, as if it was outside.
    """
    ref = find_picture(reader, root, picture)
    if ref.id is None:
        return QueryPicture(None, ref.file, weight)
    ids = np.array([ref.id], np.int64)
    has_rows = any(len(s.rows_of(ids)) for s in reader.snapshot.segments)
    return QueryPicture(ref.id if has_rows else None, ref.file, weight)


def question(
    reader: Reader,
    model: SimilarityModel,
    positive: Sequence[QueryPicture],
    negative: Sequence[QueryPicture],
    settings: Settings,
    compute: Compute | None = None,
) -> PictureQuery:
    """Look up or make the rows of all pictures asked for.

    A picture of the collection that lacks a descriptor is described now, if its file is there.
    """
    asked = (*positive, *negative)
    parts: list[DescribedPictures] = []
    own = compute
    try:
        for a in asked:
            known = None if a.picture is None else _stored(reader, model, a.picture)
            if known is None or (not known.have.all() and os.path.exists(a.file)):
                own = own or LocalCompute(1, seconds=settings.seconds)
                made = _described(reader, model, a.file, settings, own)
                known = made if known is None else _filled(known, made)
            parts.append(known)
    finally:
        if own is not None and compute is None:
            own.close()
    rows = joined(parts)
    if not rows.have.any(axis=1).all():
        lost = asked[int(np.argmin(rows.have.any(axis=1)))]
        raise CollectionError(
            f"{shown(lost.file)} has none of the descriptors {', '.join(model.names)}, and they "
            "cannot be computed here. Name another picture, or index more features."
        )
    weights = np.concatenate([_shares(positive, 1.0), _shares(negative, -1.0)])
    missing = (~rows.have).sum(axis=0).tolist()
    lacking = {n: m for n, m in zip(model.names, missing, strict=True) if m}
    return PictureQuery(asked, rows, weights, lacking)


def _shares(asked: Sequence[QueryPicture], sign: float) -> NDArray[np.float64]:
    given = np.array([a.weight for a in asked], np.float64)
    return sign * given / given.sum() if len(given) else given


def _stored(reader: Reader, alike: SimilarityModel, picture: int) -> DescribedPictures:
    ids = np.array([picture], np.int64)
    return stored(reader.snapshot, ids, alike.descriptors, alike.lengths)


def _described(
    reader: Reader, alike: SimilarityModel, file: bytes, s: Settings, compute: Compute
) -> DescribedPictures:
    # A query may lie anywhere, behind a link too: whoever asks named it.
    limits = ReadLimits(s.working_size, s.max_megapixels, int(s.max_file_mb * 1e6), False)
    return describe_files(reader, [file], alike.descriptors, alike.lengths, limits, compute)


def _filled(known: DescribedPictures, made: DescribedPictures) -> DescribedPictures:
    """Return a picture's stored rows, and those made now in place of the ones it lacks."""
    parts = zip(known.views, made.views, known.have[0].tolist(), strict=True)
    views = [k if has else m for k, m, has in parts]
    return DescribedPictures(tuple(views), known.have | made.have)


def joined(parts: Sequence[DescribedPictures]) -> DescribedPictures:
    """Return pictures of several parts, one below the other."""
    views = []
    for of_view in zip(*(p.views for p in parts), strict=True):
        if all(hasattr(v, "tocsr") for v in of_view):
            from scipy.sparse import vstack

            views.append(vstack(of_view, format="csr"))
        else:
            views.append(np.vstack([v.toarray() if hasattr(v, "tocsr") else v for v in of_view]))
    return DescribedPictures(tuple(views), np.vstack([p.have for p in parts]))
