"""Words of the collection, for whoever types one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from sightline.web.shapes import Limit, Served

router = APIRouter(prefix="/v1", tags=["words"])


class CarriedWordResponse(BaseModel):
    """A word, or a tag of several words, and how many pictures carry it."""

    word: str
    pictures: int


class CarriedWords(BaseModel):
    """Words that begin so, the most carried first."""

    version: int
    words: list[CarriedWordResponse]


@router.get("/words")
def words(
    service: Served,
    prefix: Annotated[str, Query(max_length=200)] = "",
    limit: Annotated[Limit, Query()] = 10,
) -> CarriedWords:
    """Suggest words that pictures carry, by how they begin."""
    found, version = service.collection.words.vocabulary(prefix, limit)
    return CarriedWords(
        version=version,
        words=[CarriedWordResponse(word=w.word, pictures=w.pictures) for w in found],
    )
