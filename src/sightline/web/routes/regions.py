"""Regions of words in pictures, and explanations of scores (heat maps)."""

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
    CorrectionResponse,
    HitResponse,
    Id,
    NotLearnedResponse,
    Served,
    Words,
    corrections,
    hit,
    not_learned,
    words_only,
)

router = APIRouter(prefix="/v1", tags=["regions"])


class BoxResponse(BaseModel):
    """The bounding box of a region, as fractions of the picture."""

    left: float
    top: float
    width: float
    height: float


class MaskResponse(BaseModel):
    """A region as uncompressed COCO RLE: alternating run lengths, column by column."""

    size: tuple[int, int]
    counts: list[int]


class PlaceResponse(BaseModel):
    """The box and the mask of a region."""

    box: BoxResponse
    mask: MaskResponse


class WordPlace(PlaceResponse):
    """The region of a word, and the probability of the word."""

    word: str
    likely: float
    tagged: bool
    carried: bool


class HitPlace(BaseModel):
    """A hit with the regions of the query's words; `problem` says why there are none."""

    hit: HitResponse
    words: list[WordPlace]
    scene: int | None
    problem: str


class LocalizedHitsResponse(BaseModel):
    """Hits with the regions of the query's words.

    `unknown` lists words that cannot be localized; `not_learned` and `corrections` as in a search.
    """

    version: int
    hits: list[HitPlace]
    unknown: list[str]
    not_learned: tuple[NotLearnedResponse, ...] = ()
    corrections: tuple[CorrectionResponse, ...] = ()


class WhyWord(BaseModel):
    """The contribution of a word: `contribution` is `weight` times `number`.

    `seen` is how likely the picture, by its looks alone, fits this word alone; `parts` what each
    block of the picture did for it. Both are null where no model looked. `learned` is false for a
    word that the model has not learned, which counts nothing in what is predicted.
    """

    word: str
    tagged: bool
    carried: bool
    weight: float
    number: float
    contribution: float
    seen: float | None
    learned: bool
    proven: bool
    parts: list[list[float]] | None = None


class WhySign(BaseModel):
    """What a word with a plus (`required`) or a minus did to a hit; `text` says it in words.

    `by` "tags" decide on pictures that have any; "prediction" on the others, if the word was
    learned. `probability` is that of the word on the picture, null for a tag and if it is not
    `proven`. A prediction multiplied the probability of the hit by `factor`; hits of a search for
    the word have at least the probability `cutoff`.
    """

    word: str
    required: bool
    tagged: bool
    by: str
    probability: float | None
    cutoff: float | None
    factor: float | None
    proven: bool
    text: str


class WhyFeature(BaseModel):
    """A feature, and the loss of score without it."""

    feature: str
    contribution: float


class Why(BaseModel):
    """The explanation of a score, as in `search --why --json`.

    `parts` has a contribution for each block, by rows; block (i, j) lies from `down[i]` to
    `down[i + 2]` and from `right[j]` to `right[j + 2]`, in shares of height and width. `exact`
    parts add up to `seen_score` less `rest`; others are what is lost without the block. `held` are
    features that could not be computed again. `problem` says why there are no parts.
    """

    words: list[WhyWord]
    signs: list[WhySign]
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
    """A hit with the explanation of its score."""

    hit: HitResponse
    why: Why


class Explanations(BaseModel):
    """Hits with the explanations of their scores; `model` is null if none was used.

    `not_learned` and `corrections` as in a search.
    """

    version: int
    model: str | None
    recipe: str | None
    hits: list[ExplainedResponse]
    not_learned: tuple[NotLearnedResponse, ...] = ()
    corrections: tuple[CorrectionResponse, ...] = ()


# Maximum number of pictures that one request can explain.
Few = Annotated[tuple[Id, ...], Field(max_length=12)]


class WhereBody(Chosen):
    """Words, and filters of pictures.

    `pictures` (ids) replace the first hits, in their order, whatever their rank and the filters; a
    picture that the query does not rank has the score 0.
    """

    query: Words
    pictures: Few = ()
    k: Annotated[int, Field(ge=1, le=50)] = 10


class WhyBody(WhereBody):
    """As `WhereBody`, with the resolution of heat maps; a picture takes about a second."""

    k: Annotated[int, Field(ge=1, le=12)] = 4
    blocks: Annotated[int, Field(ge=1, le=12)] = 6


@router.post("/where")
def where(body: WhereBody, service: Served) -> LocalizedHitsResponse:
    """Return the regions of the query's words in its hits."""
    query, chosen = words_only(body.query), body.filters_in(service)
    c, pictures = service.collection, service.here(body.pictures)

    def look() -> tuple[Results, FoundPlaces]:
        hits = (
            c.pictures.as_hits(query, pictures)
            if pictures
            else c.search(query, body.k, filters=chosen)
        )
        return hits, c.tagging.localize(query, hits=hits.hits)

    version, (hits, found) = service.of_one_version(look)
    return LocalizedHitsResponse(
        version=version, hits=[_hit_place(h) for h in found.hits], unknown=list(found.unknown),
        not_learned=not_learned(hits.not_learned), corrections=corrections(hits.corrections),
    )  # fmt: skip


@router.post("/why")
async def why(body: WhyBody, service: Served) -> Explanations:
    """Explain the scores of hits by words and parts of pictures."""
    c, query = service.collection, words_only(body.query)

    def look(compute: Compute) -> Explanations:
        pictures, chosen = service.here(body.pictures), body.filters_in(service)
        results = (
            c.pictures.as_hits(query, pictures)
            if pictures
            else c.search(query, body.k, filters=chosen)
        )
        explained = c.explain(query, hits=results.hits, blocks=body.blocks, compute=compute)
        hits = [
            ExplainedResponse(hit=hit(h), why=Why.model_validate(w.to_dict()))
            for h, w in zip(results.hits, explained, strict=True)
        ]
        model, recipe = (explained[0].model, explained[0].recipe) if explained else ("", "")
        return Explanations(
            version=results.version, model=model or None, recipe=recipe or None, hits=hits,
            not_learned=not_learned(results.not_learned),
            corrections=corrections(results.corrections),
        )  # fmt: skip

    return await service.describer.lend(look)


def place(box: FoundBox, mask: FoundMask) -> PlaceResponse:
    """Return the response of a box and a mask."""
    return PlaceResponse(
        box=BoxResponse(left=box.left, top=box.top, width=box.width, height=box.height),
        mask=MaskResponse(size=(mask.height, mask.width), counts=list(mask.counts)),
    )


def _hit_place(h: LocalizedHit) -> HitPlace:
    words = [
        WordPlace(
            **place(w.box, w.mask).model_dump(),
            word=w.word,
            likely=w.likely,
            tagged=w.tagged,
            carried=w.tagged,
        )
        for w in h.words
    ]
    return HitPlace(hit=hit(h.hit), words=words, scene=h.scene, problem=h.problem)
