"""Word completion."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from sightline.web.shapes import Served, number_of_results

router = APIRouter(prefix="/v1", tags=["words"])


class WordCountResponse(BaseModel):
    """A word, or a tag of several words, and its number of pictures."""

    word: str
    pictures: int


class WordCounts(BaseModel):
    """Words with a prefix, most frequent first."""

    version: int
    words: list[WordCountResponse]


@router.get("/words")
def words(
    service: Served,
    k: Annotated[int, number_of_results(10)],
    prefix: Annotated[str, Query(max_length=200)] = "",
) -> WordCounts:
    """Return the words of pictures that start with a prefix."""
    found, version = service.collection.words.vocabulary(prefix, k)
    return WordCounts(
        version=version,
        words=[WordCountResponse(word=w.word, pictures=w.pictures) for w in found],
    )
