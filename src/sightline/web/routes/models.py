"""Models: the stored versions with their held-out measures, comparison, and rollback."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from sightline.collection.models.versions import ModelVersion
from sightline.web.shapes import Body, Id, Served, Writable

router = APIRouter(prefix="/v1/models", tags=["models"])

One = Annotated[Id, Query()]


class Model(BaseModel):
    """A model and its measure on held-out pictures, with that of the baseline.

    `current` and `against_current` are the measures of the previous model and of this one on the
    words that both have learned.
    """

    model: str
    kind: str
    trained: int | None
    queries: int
    measure: str
    value: float | None
    untrained: float | None
    p: float | None
    current: float | None
    against_current: float | None
    unproven: bool
    forced: bool


class VersionResponse(BaseModel):
    """A stored version; times are seconds since 1970."""

    version: int
    written: int
    pictures: int
    note: str
    current: bool
    finished: bool
    models: list[Model]


class VersionsResponse(BaseModel):
    """All stored versions, oldest first; `version` is the current one."""

    version: int
    versions: list[VersionResponse]


class Difference(BaseModel):
    """The gain of a kind of model between two versions, from the stored measures.

    `comparable` is true if both were measured on the same number of held-out queries.
    """

    kind: str
    before: Model | None
    after: Model | None
    gain: float | None
    comparable: bool


class ComparedResponse(BaseModel):
    """The comparison of two versions."""

    version: int
    a: int
    b: int
    differences: list[Difference]


class RollbackBody(Body):
    """The version to roll back to; by default the previous one."""

    version: Id | None = None


class Kept(BaseModel):
    """A version: its number, time (seconds since 1970), and number of pictures."""

    version: int
    written: int
    pictures: int


class Rolled(BaseModel):
    """An older version was published again under a new number.

    `left` is the version that was current before, `restored` the one that was restored.
    """

    version: int
    left: Kept
    restored: Kept


@router.get("")
def models(service: Served) -> VersionsResponse:
    """Return the stored versions with their models."""
    version, versions = service.of_one_version(service.collection.models.versions)
    return VersionsResponse(version=version, versions=[version_of(v) for v in versions])


@router.get("/compare")
def compare(a: One, b: One, service: Served) -> ComparedResponse:
    """Compare the models of two versions by their measures at training time."""
    c = service.collection
    version, (first, second) = service.of_one_version(
        lambda: (c.models.version(a), c.models.version(b))
    )
    before, after = ({m.kind: m for m in version_of(v).models} for v in (first, second))
    kinds = sorted({*before, *after})
    differences = [_difference(k, before.get(k), after.get(k)) for k in kinds]
    return ComparedResponse(version=version, a=a, b=b, differences=differences)


@router.post("/rollback")
def rollback(body: RollbackBody, service: Writable) -> Rolled:
    """Publish an older version again, with its pictures and models."""
    done = service.collection.store.rollback(body.version)
    left, restored = (
        Kept(version=v.number, written=v.written, pictures=v.pictures)
        for v in (done.left, done.restored)
    )
    return Rolled(version=done.version, left=left, restored=restored)


def _difference(kind: str, before: Model | None, after: Model | None) -> Difference:
    scores = [m.value for m in (before, after) if m is not None and m.value is not None]
    gain = scores[1] - scores[0] if len(scores) == 2 else None
    proven = [m.queries for m in (before, after) if m is not None and not m.unproven]
    comparable = gain is not None and len(proven) == 2 and proven[0] == proven[1]
    return Difference(kind=kind, before=before, after=after, gain=gain, comparable=comparable)


def version_of(v: ModelVersion) -> VersionResponse:
    """Return the response of a version."""
    return VersionResponse(
        version=v.version, written=v.written, pictures=v.pictures, note=v.note, current=v.current,
        finished=v.finished,
        models=[
            Model(
                model=m.model, kind=m.kind, trained=m.trained, queries=m.queries,
                measure=m.measure, value=m.candidate, untrained=m.untrained, p=m.p,
                current=m.current, against_current=m.against_current, unproven=m.unproven,
                forced=m.forced,
            )
            for m in v.models
        ],
    )  # fmt: skip
