"""Models: the versions that are kept with their proofs, two of them compared, and going back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from sightline.collection.models.versions import ModelVersion
from sightline.web.shapes import Body, Id, Served, Writable

router = APIRouter(prefix="/v1/models", tags=["models"])

One = Annotated[Id, Query()]


class Model(BaseModel):
    """A model and its proof: its value by a measure on held-out pictures, and that without it.

    `current` and `against_current` are of the model before it and of it, on what both know.
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
    """A version that is kept; times are seconds since 1970."""

    version: int
    written: int
    pictures: int
    note: str
    current: bool
    finished: bool
    models: list[Model]


class VersionsResponse(BaseModel):
    """All versions that are kept, oldest first; `version` is the one served now."""

    version: int
    versions: list[VersionResponse]


class Difference(BaseModel):
    """What a kind of model gained from one version to the other, by its kept proofs.

    `comparable` is true if both were proven, by as many held-out queries.
    """

    kind: str
    before: Model | None
    after: Model | None
    gain: float | None
    comparable: bool


class ComparedResponse(BaseModel):
    """Two versions side by side."""

    version: int
    a: int
    b: int
    differences: list[Difference]


class RollbackBody(Body):
    """The version to go back to; without one, that before the one served."""

    version: Id | None = None


class Kept(BaseModel):
    """A version by number, when it was written (seconds since 1970), and its pictures."""

    version: int
    written: int
    pictures: int


class Rolled(BaseModel):
    """An older version is published again, under a new number: `left` was served before,
    `restored` is the one gone back to."""

    version: int
    left: Kept
    restored: Kept


@router.get("")
def models(service: Served) -> VersionsResponse:
    """Return the versions that are kept, with the models they serve."""
    version, found = service.of_one_version(service.collection.models.versions)
    return VersionsResponse(version=version, versions=[version_of(v) for v in found])


@router.get("/compare")
def compare(a: One, b: One, service: Served) -> ComparedResponse:
    """Compare the models of two versions by what was measured when they were trained."""
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
    """Publish an older version again, pictures and models as they were."""
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
