"""Scenes: pictures in groups by the kind that was learned."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from sightline.collection.filters import Filters
from sightline.web.limits import NAMED
from sightline.web.shapes import Served

router = APIRouter(prefix="/v1", tags=["scenes"])


class SceneWordResponse(BaseModel):
    """A word of a scene: the share of its pictures that have it, and that of all pictures."""

    word: str
    share: float
    usual: float


class SceneResponse(BaseModel):
    """A scene: how many pictures it has, and those that fit best."""

    scene: int
    words: list[SceneWordResponse]
    size: int
    pictures: list[int]


class ScenesResponse(BaseModel):
    """Scenes, the largest first."""

    version: int
    scenes: list[SceneResponse]
    without_regions: int


@router.get("/scenes")
def scenes(
    service: Served,
    words: Annotated[int, Query(ge=1, le=100)] = 5,
    pictures: Annotated[int, Query(ge=0, le=NAMED)] = 20,
    untagged: bool = False,
    tagged: bool = False,
) -> ScenesResponse:
    """Group pictures by the scenes that were learned."""
    groups = service.collection.tagging.scenes(
        words=words, filters=Filters(untagged=untagged, tagged=tagged)
    )
    return ScenesResponse(
        version=groups.version,
        scenes=[
            SceneResponse(
                scene=s.number, size=len(s.pictures), pictures=list(s.pictures[:pictures]),
                words=[
                    SceneWordResponse(word=w.word, share=w.share, usual=w.usual) for w in s.words
                ],
            )
            for s in groups
        ],
        without_regions=groups.without_regions,
    )  # fmt: skip
