"""Words and texts for pictures, and the topics of the shared space."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel

from sightline.collection.search.annotate import Annotation
from sightline.collection.search.texts import TextMatches
from sightline.records import shown
from sightline.web.routes.search import PICTURE
from sightline.web.shapes import Id, Served, Words, number_of_results

router = APIRouter(prefix="/v1", tags=["describe"])


class Word(BaseModel):
    """A word: its probability, whether that is above the cut-off, whether the picture has it.

    `lift` is how many times as likely it is as on any picture with words. If it is not `proven`,
    too few held-out pictures measure it, and `score` is no calibrated probability.
    """

    word: str
    score: float
    fits: bool
    tagged: bool
    carried: bool
    lift: float
    proven: bool = True


class DescribedWords(BaseModel):
    """Words for a picture, those first that are likely, and more so than on any picture."""

    version: int
    picture: int | None
    words: list[Word]


class Text(BaseModel):
    """A text of the collection, the first picture that has it, and its probability."""

    picture: int
    name: str
    text: str
    pictures: int
    score: float
    fits: bool
    own: bool


class DescribedTexts(BaseModel):
    """Texts for a picture, most probable first."""

    version: int
    picture: int | None
    texts: list[Text]


class TopicResponse(BaseModel):
    """A dimension of the shared space: words and pictures at both ends."""

    dimension: int
    high: list[str]
    low: list[str]
    high_pictures: list[int]
    low_pictures: list[int]


class Topics(BaseModel):
    """All dimensions of the shared space, or one."""

    version: int
    topics: list[TopicResponse]


class NearWord(BaseModel):
    """A word and its cosine similarity to another."""

    word: str
    cosine: float


class NearWords(BaseModel):
    """The nearest words in the shared space."""

    version: int
    words: list[NearWord]


Shown = Annotated[int, number_of_results(10)]
Few = Annotated[int, Query(ge=0, le=100)]


@router.get("/pictures/{picture}/words")
def words(picture: Annotated[Id, Path()], service: Served, k: Shown) -> DescribedWords:
    """Rank the learned words for a picture."""
    return _words(service.collection.pictures.describe(service.here([picture])[0], k))


@router.get("/pictures/{picture}/texts")
def texts(picture: Annotated[Id, Path()], service: Served, k: Shown) -> DescribedTexts:
    """Rank the texts of the collection for a picture."""
    return _texts(service.collection.pictures.describe_texts(service.here([picture])[0], k))


@router.post("/describe/words", openapi_extra=PICTURE)
async def words_of_sent(request: Request, service: Served, k: Shown) -> DescribedWords:
    """Rank the learned words for an uploaded picture."""
    describe, sent = service.collection.pictures.describe, await request.body()
    return await service.describer.run(sent, lambda path, by: _words(describe(path, k, compute=by)))


@router.post("/describe/texts", openapi_extra=PICTURE)
async def texts_of_sent(request: Request, service: Served, k: Shown) -> DescribedTexts:
    """Rank the texts of the collection for an uploaded picture."""
    describe, sent = service.collection.pictures.describe_texts, await request.body()
    return await service.describer.run(sent, lambda path, by: _texts(describe(path, k, compute=by)))


@router.get("/topics")
def topics(
    service: Served,
    words: Annotated[int, Query(ge=1, le=100)] = 8,
    pictures: Few = 0,
    dimension: Annotated[int | None, Query(ge=0, le=10_000)] = None,
) -> Topics:
    """Return the words and pictures at both ends of each dimension."""
    version, dimensions = service.of_one_version(
        lambda: service.collection.words.topics(words, pictures=pictures, dimension=dimension)
    )
    return Topics(
        version=version,
        topics=[
            TopicResponse(
                dimension=t.dimension, high=list(t.high), low=list(t.low),
                high_pictures=list(t.high_pictures), low_pictures=list(t.low_pictures),
            )
            for t in dimensions
        ],
    )  # fmt: skip


@router.get("/topics/near")
def near(word: Annotated[Words, Query()], service: Served, k: Shown) -> NearWords:
    """Return the nearest words of a word."""
    version, neighbours = service.of_one_version(lambda: service.collection.words.near(word, k))
    return NearWords(version=version, words=[NearWord(word=w, cosine=c) for w, c in neighbours])


def _words(description: Annotation) -> DescribedWords:
    return DescribedWords(
        version=description.version, picture=description.picture,
        words=[Word.model_validate(w.to_dict()) for w in description.words],
    )  # fmt: skip


def _texts(matches: TextMatches) -> DescribedTexts:
    return DescribedTexts(
        version=matches.version, picture=matches.picture,
        texts=[
            Text(
                picture=t.picture, name=shown(t.path), text=t.text, pictures=t.pictures,
                score=t.score, fits=t.fits, own=t.own,
            )
            for t in matches.texts
        ],
    )  # fmt: skip
