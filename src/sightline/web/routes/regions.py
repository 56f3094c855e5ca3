"""Where in a picture: regions of words, and which parts made a score (heat maps)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sightline.collection.tagging.where import HitPlaces
from sightline.contracts import Compute
from sightline.regions.outlines import Box as FoundBox
from sightline.regions.outlines import Mask as FoundMask
from sightline.web.shapes import Chosen, Hit, Served, Words, hit, words_only

router = APIRouter(prefix="/v1", tags=["regions"])


class Box(BaseModel):
    """The least box around a region, as shares of the picture."""

    left: float
    top: float
    width: float
    height: float


class Mask(BaseModel):
    """A region in run lengths, as COCO has them: outside and inside by turns, down the columns."""

    size: tuple[int, int]
    counts: list[int]


class Place(BaseModel):
    """Where something lies in a picture."""

    box: Box
    mask: Mask


class WordPlace(Place):
    """Where a word lies, and how likely it is there at all."""

    word: str
    likely: float
    carried: bool


class HitPlace(BaseModel):
    """A hit with the places of the query's words; `problem` says why there are none."""

    hit: Hit
    words: list[WordPlace]
    scene: int | None
    problem: str


class Places(BaseModel):
    """Hits with where the words of the query lie."""

    version: int
    hits: list[HitPlace]
    unknown: list[str]


class Explained(BaseModel):
    """A hit with what made its score, as `search --why --json` tells it."""

    hit: Hit
    why: dict[str, Any]


class Explanations(BaseModel):
    """Hits with heat maps: a contribution for each block of the picture, by word and together."""

    version: int
    hits: list[Explained]


class WhereBody(Chosen):
    """Words, and which pictures may appear."""

    query: Words
    limit: Annotated[int, Field(ge=1, le=50)] = 10


class WhyBody(WhereBody):
    """The same, and how finely pictures are looked at; each takes a second or so."""

    limit: Annotated[int, Field(ge=1, le=12)] = 4
    blocks: Annotated[int, Field(ge=1, le=12)] = 6


@router.post("/where")
def where(body: WhereBody, service: Served) -> Places:
    """Say where the words of a query lie in its hits."""
    query, chosen = words_only(body.query), body.chosen(service)
    version, found = service.of_one_version(
        lambda: service.collection.where(query, body.limit, **chosen)
    )
    return Places(
        version=version, hits=[_hit_place(h) for h in found.hits], unknown=list(found.unknown)
    )


@router.post("/why")
async def why(body: WhyBody, service: Served) -> Explanations:
    """Say which words and which parts of each picture made its score."""
    c, query = service.collection, words_only(body.query)

    def look(compute: Compute) -> Explanations:
        found = c.search(query, body.limit, **body.chosen(service))
        told = c.why(query, hits=found.hits, blocks=body.blocks, compute=compute)
        hits = [
            Explained(hit=hit(h), why=w.as_json()) for h, w in zip(found.hits, told, strict=True)
        ]
        return Explanations(version=found.version, hits=hits)

    return await service.describer.lend(look)


def place(box: FoundBox, mask: FoundMask) -> Place:
    """Return where something lies, as it is sent."""
    return Place(
        box=Box(left=box.left, top=box.top, width=box.width, height=box.height),
        mask=Mask(size=(mask.height, mask.width), counts=list(mask.counts)),
    )


def _hit_place(h: HitPlaces) -> HitPlace:
    words = [
        WordPlace(
            **place(w.box, w.mask).model_dump(), word=w.word, likely=w.likely, carried=w.carried
        )
        for w in h.words
    ]
    return HitPlace(hit=hit(h.hit), words=words, scene=h.scene, problem=h.problem)
