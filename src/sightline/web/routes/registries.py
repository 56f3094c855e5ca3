"""What can be named in requests: rankers, features and export formats."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from sightline import plugins
from sightline.registry import EXPORT_FORMATS, FEATURE_SETS
from sightline.web.shapes import Served

router = APIRouter(prefix="/v1", tags=["registries"])


class Ranker(BaseModel):
    """A ranker.

    `default` says whether it is tried by default, `available` whether its requirements are
    installed.
    """

    name: str
    about: str
    default: bool
    available: bool


class Rankers(BaseModel):
    """All rankers, in the order in which they are tried."""

    version: int
    rankers: list[Ranker]


class FeatureEntryResponse(BaseModel):
    """A feature.

    `length` is the number of its values, 0 if that depends on the pictures it is fitted to;
    `vector` says whether pictures can be ranked and compared by it.
    """

    name: str
    about: str
    kind: str
    length: int
    vector: bool


class FeatureSet(BaseModel):
    """Features that can be named together."""

    name: str
    features: list[str]


class Features(BaseModel):
    """All features, and names of sets of them."""

    version: int
    features: list[FeatureEntryResponse]
    sets: list[FeatureSet]


class ExportFormat(BaseModel):
    """An export format; `file` and `media_type` are empty if it cannot be downloaded."""

    name: str
    about: str
    file: str
    media_type: str


class ExportFormats(BaseModel):
    """All export formats."""

    version: int
    formats: list[ExportFormat]


@router.get("/rankers")
def rankers(service: Served) -> Rankers:
    """Return the rankers that a train job may name."""
    return Rankers(
        version=service.collection.store.version(),
        rankers=[
            Ranker(name=n, about=r.about, default=not r.opt_in, available=r.available)
            for n, r in plugins.rankers().items()
        ],
    )


@router.get("/features")
def features(service: Served) -> Features:
    """Return the features that index and train jobs may name."""
    return Features(
        version=service.collection.store.version(),
        features=[
            FeatureEntryResponse(
                name=n, about=f.about, kind=f.kind, length=f.length, vector=f.vector
            )
            for n, f in plugins.features().items()
        ],
        sets=[FeatureSet(name=n, features=list(names)) for n, names in FEATURE_SETS.items()],
    )


@router.get("/export-formats")
def export_formats(service: Served) -> ExportFormats:
    """Return the formats in which words are exported."""
    return ExportFormats(
        version=service.collection.store.version(),
        formats=[
            ExportFormat(name=n, about=e.about, file=e.file, media_type=e.media_type)
            for n, e in EXPORT_FORMATS.items()
        ],
    )
