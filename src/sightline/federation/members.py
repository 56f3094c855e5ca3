"""The members of a federation: a collection on this machine, or whatever answers like one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats
from sightline.collection import Collection
from sightline.collection.corrections import Correction
from sightline.collection.features import common_features, is_sparse
from sightline.collection.filters import NO_FILTERS, Filters, allowed_ids
from sightline.collection.query import not_learned_lines, unproven_lines
from sightline.collection.results import Results, best_hits
from sightline.collection.similarity.descriptors import lengths_of
from sightline.contracts import Compute
from sightline.errors import CollectionError, SightlineError, UsageError
from sightline.records import DenseQuery, Hit, shown
from sightline.vectors import Fingerprint, l2_normalize, l2_norms
from sightline.words.grammar import Query

# Why a member does not answer; other errors are bugs.
Failure = SightlineError | OSError


@dataclass(frozen=True, slots=True)
class WordRequest:
    """A search by words, as every member is asked.

    `verbatim` are words that this member is to search as they are typed, since another member has
    them.
    """

    query: Query
    filters: Filters = NO_FILTERS
    cut: bool = True
    predicted: bool = True
    verbatim: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """The query as text."""
        return str(replace(self.query, verbatim=self.query.verbatim | self.verbatim))


@dataclass(frozen=True, slots=True, eq=False)
class VectorRequest:
    """A search by a unit vector of one feature, given by its fingerprint."""

    feature: str
    vector: Floats
    filters: Filters = NO_FILTERS


@dataclass(frozen=True, slots=True)
class MemberHits:
    """The best hits of one member, in the order of `merge`.

    Attributes
    ----------
    contents : tuple of str
        The SHA-256 of the file of each hit, or empty where it is unknown.
    complete : bool
        Whether the list ends here.
    corrections : tuple of Correction
        Words that were searched in place of mistyped ones.
    unknown : tuple of str
        Words that none of its pictures has.
    server : str
        The URL of the server that answered; empty for a collection on this machine.
    """

    hits: tuple[Hit, ...]
    contents: tuple[str, ...]
    version: int
    complete: bool
    corrections: tuple[Correction, ...] = ()
    unknown: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    server: str = ""


class Member(Protocol):
    """A collection that is searched together with others; failures are `SightlineError`."""

    @property
    def label(self) -> str:
        """What names it where the owner does not."""
        ...

    @property
    def seconds(self) -> float | None:
        """How long an answer may take; None on this machine, where it is waited for."""
        ...

    def size(self) -> int:
        """Return the number of pictures."""
        ...

    def search(self, request: WordRequest, depth: int) -> MemberHits:
        """Return the first hits for words."""
        ...

    def features(self) -> tuple[str, ...]:
        """Return the fingerprints of dense features that nearly all pictures have."""
        ...

    def nearest(self, request: VectorRequest, depth: int) -> MemberHits:
        """Return the pictures with the largest cosine."""
        ...


class LocalMember:
    """A collection on this machine, as a member of a federation."""

    seconds: float | None = None

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.label = shown(collection.root)

    def size(self) -> int:
        """Return the number of pictures."""
        self.collection.store_folder.require_indexed()
        return len(self.collection)

    def search(self, request: WordRequest, depth: int) -> MemberHits:
        """Return the first hits for words."""
        c = self.collection
        c.store_folder.require_indexed()
        results = c.search(
            request.text, depth, filters=request.filters, cut=request.cut,
            predicted=request.predicted,
        )  # fmt: skip
        remarks = _remarks(results, request.predicted)
        words = results.corrections, tuple(u.word for u in results.unknown)
        return self._hits(results.hits, results.version, depth, words, remarks)

    def features(self) -> tuple[str, ...]:
        """Return the fingerprints of dense features that nearly all pictures have."""
        self.collection.store_folder.require_indexed()
        with self.collection.store_folder.reader() as reader:
            snapshot = reader.snapshot
            some = common_features(snapshot, snapshot.ids())
            return tuple(f for f in some if not is_sparse(snapshot, f))

    def nearest(self, request: VectorRequest, depth: int) -> MemberHits:
        """Return the pictures with the largest cosine."""
        c = self.collection
        if request.feature not in self.features():
            name = Fingerprint.parse(request.feature).name
            raise CollectionError(
                f"Its pictures lack {name} as it is computed here. Run: sightline index "
                f"--features {name}"
            )
        filters = request.filters
        with c.store_folder.reader() as reader:
            (length,) = lengths_of(reader.snapshot, [request.feature])
            if len(request.vector) != length:
                raise UsageError(
                    f"A vector of {length} numbers is needed, not {request.vector.size}."
                )
            allowed = allowed_ids(reader, filters.where(c.root), filters.untagged)
            query = DenseQuery(request.feature, request.vector, "cosine")
            top = reader.snapshot.top(query, depth, allowed)
            hits, missing = best_hits(reader, c.root, top.ids, top.scores, depth, "similar")
            version = reader.snapshot.version
        remarks = (_gone(missing),) if missing else ()
        reached = len(top.ids) < depth
        return replace(self._hits(hits, version, depth, ((), ()), remarks), complete=reached)

    def vector_of(self, file: bytes, feature: str, compute: Compute | None = None) -> Floats:
        """Return the unit vector of a picture file, by a feature that this collection has."""
        from sightline.collection.sessions.feature_space import FeatureSpace
        from sightline.collection.similarity.query import find

        c = self.collection
        with c.store_folder.reader() as reader:
            space = FeatureSpace(reader.snapshot, feature)
            return space.row_of(reader, find(reader, c.root, file), c.settings, compute)

    def _hits(
        self,
        hits: Sequence[Hit],
        version: int,
        depth: int,
        words: tuple[tuple[Correction, ...], tuple[str, ...]],
        remarks: tuple[str, ...],
    ) -> MemberHits:
        contents = self.collection.pictures.contents([h.picture for h in hits])
        each = tuple(contents.get(h.picture, "") for h in hits)
        return MemberHits(tuple(hits), each, version, len(hits) < depth, *words, remarks)


def unit_vector(values: Sequence[float] | NDArray[np.floating], feature: str) -> Floats:
    """Return a vector of a feature as a unit vector."""
    vector = np.asarray(values, np.float32)
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all() or not vector.any():
        raise UsageError(
            f"A vector of {Fingerprint.parse(feature).name} is one row of finite numbers, not all "
            f"of them 0. Got an array of shape {vector.shape}."
        )
    return np.asarray(l2_normalize(vector, l2_norms(vector, np.float64)))


def _gone(missing: int) -> str:
    return f"{missing} pictures are no longer where they were. Run: sightline index"


def _remarks(results: Results, predicted: bool) -> tuple[str, ...]:
    """Return what there is to say about the hits of one collection."""
    lines = [str(c) for c in results.corrections]
    lines += [f"no picture has the word {u.word!r}" for u in results.unknown]
    lines += results.wording.lines()
    if predicted and results.predicted is None and not results.wording.only_stop_words:
        lines.append("there is no word model yet, so nothing is predicted")
    lines += not_learned_lines(results.not_learned, results.predicted)
    lines += unproven_lines(results.unproven)
    lines += [str(c) for c in results.constraints]
    lines += results.suggested.lines()
    if results.missing:
        lines.append(_gone(results.missing))
    return (*lines, *filter(None, (results.served,)))


def problem_of(e: Failure) -> str:
    """Return why a member did not answer.

    >>> problem_of(CollectionError("There is no folder x."))
    'There is no folder x.'
    """
    return str(e) or type(e).__name__
