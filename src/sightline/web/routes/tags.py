"""Suggestions of words to add to pictures, with their regions; and suspected mislabels."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sightline.collection.tagging.suggest import Suggestion as Found
from sightline.records import shown
from sightline.web.routes.regions import PlaceResponse, place
from sightline.web.shapes import Chosen, Ids, Limit, Served

router = APIRouter(prefix="/v1/tags", tags=["tags"])

Precision = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]


class TagBody(Chosen):
    """The pictures, all by default, and the required precision."""

    pictures: Ids = ()
    precision: Precision = 0.9
    k: Limit = 100
    removals: bool = True


class SuggestionResponse(PlaceResponse):
    """A word to add to a picture, or (`add` false) to remove from it."""

    picture: int
    name: str
    word: str
    add: bool
    confidence: float
    scene: int


class PromiseResponse(BaseModel):
    """A word that can be suggested, with its precision on held-out pictures.

    Of the `proposed` (earlier `given`) held-out pictures above its threshold, `right` have the
    word; `promised` is the lower confidence bound of that share. `pictures` is the number of
    pictures with the word.
    """

    word: str
    pictures: int
    proposed: int
    given: int
    right: int
    promised: float


class AbstainedResponse(BaseModel):
    """A word that is never suggested, with the reason."""

    word: str
    pictures: int
    why: str


class SuggestionsResponse(BaseModel):
    """Suggestions, most confident first."""

    version: int
    suggestions: list[SuggestionResponse]
    words: list[PromiseResponse]
    abstained: list[AbstainedResponse]
    pictures: int
    without_regions: int
    judged: int


@router.post("")
def tags(body: TagBody, service: Served) -> SuggestionsResponse:
    """Suggest words to add to pictures, with their regions, and words to remove."""
    pictures, chosen = service.here(body.pictures), body.filters_in(service)
    version, suggestions = service.of_one_version(
        lambda: service.collection.tag(
            *pictures, precision=body.precision, k=body.k, removals=body.removals,
            filters=chosen,
        )
    )  # fmt: skip
    return SuggestionsResponse(
        version=version,
        suggestions=[_suggestion(s) for s in suggestions.suggestions],
        words=[PromiseResponse(**asdict(w), given=w.proposed) for w in suggestions.words],
        abstained=[
            AbstainedResponse(word=a.word, pictures=a.pictures, why=a.why)
            for a in suggestions.abstained
        ],
        pictures=suggestions.pictures,
        without_regions=suggestions.without_regions,
        judged=suggestions.judged,
    )  # fmt: skip


class SuspectedBody(Chosen):
    """The pictures, all by default, and the least probability that a tag is wrong."""

    pictures: Ids = ()
    confidence: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.5
    k: Limit = 100


class SuspectedTagResponse(BaseModel):
    """A tag that is probably wrong, and the probability that it is."""

    id: int
    path: str
    word: str
    confidence: float


class SuspectedTagsResponse(BaseModel):
    """Suspected mislabels, most doubtful first.

    Of the `tags` that the model learned from about `expected` are wrong. `judged` counts suspected
    mislabels that are left out because somebody has judged them.
    """

    version: int
    model: str
    suggestions: list[SuspectedTagResponse]
    tags: int
    expected: float
    judged: int


@router.post("/suspected")
def suspected(body: SuspectedBody, service: Served) -> SuspectedTagsResponse:
    """Return tags that are probably wrong, by the word model."""
    pictures, chosen = service.here(body.pictures), body.filters_in(service)
    tags = service.collection.tagging.suspected(
        *pictures, confidence=body.confidence, k=body.k, filters=chosen
    )
    return SuspectedTagsResponse(
        version=tags.version,
        model=tags.model,
        suggestions=[
            SuspectedTagResponse(
                id=s.picture, path=shown(s.path), word=s.word, confidence=s.confidence
            )
            for s in tags.suggestions
        ],
        tags=tags.tags,
        expected=round(tags.expected, 2),
        judged=tags.judged,
    )


def _suggestion(s: Found) -> SuggestionResponse:
    return SuggestionResponse(
        **place(s.box, s.mask).model_dump(), picture=s.picture, name=shown(s.path), word=s.word,
        add=s.add, confidence=s.confidence, scene=s.scene,
    )  # fmt: skip
