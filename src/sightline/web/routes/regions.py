"""Where in a picture: regions of words, and which parts made a score (heat maps)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sightline.collection.results import Results
from sightline.collection.tagging.localize import LocalizedHit
from sightline.collection.tagging.localize import LocalizedHits as FoundPlaces
from sightline.contracts import Compute
from sightline.regions.outlines import Box as FoundBox
from sightline.regions.outlines import Mask as FoundMask
from sightline.web.shapes import (
    Chosen,
    HitResponse,
    Id,
    NotLearnedResponse,
    Served,
    Words,
    hit,
    not_learned,
    words_only,
)

router = APIRouter(prefix="/v1", tags=["regions"])


class BoxResponse(BaseModel):
    """The least box around a region, as fractions of the picture."""

    left: float
    top: float
    width: float
    height: float


class MaskResponse(BaseModel):
    """A region in run lengths, as COCO has them: outside and inside by turns, down the columns."""

    size: tuple[int, int]
    counts: list[int]


class PlaceResponse(BaseModel):
    """Where something lies in a picture."""

    box: BoxResponse
    mask: MaskResponse


class WordPlace(PlaceResponse):
    """Where a word lies, and how likely it is there at all."""

    word: str
    likely: float
    carried: bool


class HitPlace(BaseModel):
    """A hit with the places of the query's words; `problem` says why there are none."""

    hit: HitResponse
    words: list[WordPlace]
    scene: int | None
    problem: str


class LocalizedHitsResponse(BaseModel):
    """Hits with where the words of the query lie.

    `unknown` are words that cannot be placed; `not_learned` are as of a search.
    """

    version: int
    hits: list[HitPlace]
    unknown: list[str]
    not_learned: tuple[NotLearnedResponse, ...] = ()


class WhyWord(BaseModel):
    """What a word did: `contribution` is `weight` times `number`.

    `seen` is how likely the picture, by its looks alone, fits this word alone; `parts` what each
    block of the picture did for it. Both are null where no model looked. `learned` is false for a
    word that the model has not learned, which counts nothing in what is predicted.
    """

    word: str
    carried: bool
    weight: float
    number: float
    contribution: float
    seen: float | None
    learned: bool
    parts: list[list[float]] | None = None


class WhyFeature(BaseModel):
    """A feature, and what the score would lose if it told nothing of the picture."""

    feature: str
    contribution: float


class Why(BaseModel):
    """What made a score, as `search --why --json` tells it.

    `parts` has a contribution for each block, by rows; block (i, j) lies from `down[i]` to
    `down[i + 2]` and from `right[j]` to `right[j + 2]`, in shares of height and width. `exact`
    parts add up to `seen_score` less `rest`; others are what is lost without the block. `held` are
    features that could not be computed again. `problem` says why there are no parts.
    """

    words: list[WhyWord]
    features: list[WhyFeature]
    parts: list[list[float]] | None
    rows: int
    columns: int
    down: list[float] = []
    right: list[float] = []
    seen_score: float | None = None
    exact: bool = False
    rest: float = 0.0
    held: list[str] = []
    model: str | None
    recipe: str | None
    problem: str


class ExplainedResponse(BaseModel):
    """A hit with what made its score."""

    hit: HitResponse
    why: Why


class Explanations(BaseModel):
    """Hits with what made their scores; `model` is the one that looked, null where none did.

    `not_learned` are as of a search.
    """

    version: int
    model: str | None
    recipe: str | None
    hits: list[ExplainedResponse]
    not_learned: tuple[NotLearnedResponse, ...] = ()


# Pictures that one request may have explained.
Few = Annotated[tuple[Id, ...], Field(max_length=12)]


class WhereBody(Chosen):
    """Words, and which pictures may appear.

    `pictures` (ids) are looked at in place of the first hits, in their order, wherever the query
    has them and whatever filters say; one that it does not rank has the score 0.
    """

    query: Words
    pictures: Few = ()
    limit: Annotated[int, Field(ge=1, le=50)] = 10


class WhyBody(WhereBody):
    """The same, and how finely pictures are looked at; each takes a second or so."""

    limit: Annotated[int, Field(ge=1, le=12)] = 4
    blocks: Annotated[int, Field(ge=1, le=12)] = 6


@router.post("/where")
def where(body: WhereBody, service: Served) -> LocalizedHitsResponse:
    """Say where the words of a query lie in its hits."""
    query, chosen = words_only(body.query), body.filters_in(service)
    c, pictures = service.collection, service.here(body.pictures)

    def look() -> tuple[Results, FoundPlaces]:
        hits = (
            c.pictures.as_hits(query, pictures)
            if pictures
            else c.search(query, body.limit, filters=chosen)
        )
        return hits, c.tagging.localize(query, hits=hits.hits)

    version, (hits, found) = service.of_one_version(look)
    return LocalizedHitsResponse(
        version=version, hits=[_hit_place(h) for h in found.hits], unknown=list(found.unknown),
        not_learned=not_learned(hits.not_learned),
    )  # fmt: skip


@router.post("/why")
async def why(body: WhyBody, service: Served) -> Explanations:
    """Say which words and which parts of each picture made its score."""
    c, query = service.collection, words_only(body.query)

    def look(compute: Compute) -> Explanations:
        pictures, chosen = service.here(body.pictures), body.filters_in(service)
        results = (
            c.pictures.as_hits(query, pictures)
            if pictures
            else c.search(query, body.limit, filters=chosen)
        )
        explained = c.explain(query, hits=results.hits, blocks=body.blocks, compute=compute)
        hits = [
            ExplainedResponse(hit=hit(h), why=Why.model_validate(w.as_json()))
            for h, w in zip(results.hits, explained, strict=True)
        ]
        model, recipe = (explained[0].model, explained[0].recipe) if explained else ("", "")
        return Explanations(
            version=results.version, model=model or None, recipe=recipe or None, hits=hits,
            not_learned=not_learned(results.not_learned),
        )  # fmt: skip

    return await service.describer.lend(look)


def place(box: FoundBox, mask: FoundMask) -> PlaceResponse:
    """Return where something lies, as it is sent."""
    return PlaceResponse(
        box=BoxResponse(left=box.left, top=box.top, width=box.width, height=box.height),
        mask=MaskResponse(size=(mask.height, mask.width), counts=list(mask.counts)),
    )


def _hit_place(h: LocalizedHit) -> HitPlace:
    words = [
        WordPlace(
            **place(w.box, w.mask).model_dump(), word=w.word, likely=w.likely, carried=w.carried
        )
        for w in h.words
    ]
    return HitPlace(hit=hit(h.hit), words=words, scene=h.scene, problem=h.problem)
