"""Pictures grouped by learned scenes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from sightline.collection.filters import Filters
from sightline.web.limits import NAMED
from sightline.web.shapes import Served

router = APIRouter(prefix="/v1", tags=["scenes"])


class SceneWordResponse(BaseModel):
    """A word of a scene: its share in the scene, and its share in all pictures."""

    word: str
    share: float
    usual: float


class SceneResponse(BaseModel):
    """A scene: its number of pictures, and the most probable ones."""

    scene: int
    words: list[SceneWordResponse]
    size: int
    pictures: list[int]


class ScenesResponse(BaseModel):
    """Scenes, largest first."""

    version: int
    scenes: list[SceneResponse]
    without_regions: int
    by: str


@router.get("/scenes")
def scenes(
    service: Served,
    words: Annotated[int, Query(ge=1, le=100)] = 5,
    pictures: Annotated[int, Query(ge=0, le=NAMED)] = 20,
    untagged: bool = False,
    tagged: bool = False,
) -> ScenesResponse:
    """Group pictures by learned scenes, or by similarity where no region model is trained."""
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
        without_regions=groups.without_regions, by=groups.by,
    )  # fmt: skip
