"""Search: by words, by a long text, by pictures, by words and pictures together."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from sightline import collection
from sightline.contracts import Compute
from sightline.web.limits import DEEPEST, TEXT
from sightline.web.service import Service
from sightline.web.shapes import (
    Chosen,
    Cursor,
    Feature,
    FiltersRequest,
    HitResponse,
    HitsResponse,
    Ids,
    Limit,
    Page,
    Served,
    Words,
    hits,
    words_only,
)

router = APIRouter(prefix="/v1", tags=["search"])

# A picture is sent as it is, not as a form.
PICTURE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class Listed(Chosen):
    """What all searches take: how many hits, where the list goes on, and filters."""

    limit: Limit = 10
    cursor: Cursor | None = None


class SearchBody(Listed):
    """Words, in the grammar of the command line, and pictures (ids) that fit or do not.

    With `like` words and looks count alike; from `unlike` it is learned what does not fit. `offset`,
    in place of a cursor, begins a page at any rank, of whatever version is served; `count` has
    words alone say how long the list is, and how much of it lies above the cut-off.
    """

    query: Words
    offset: Annotated[int, Field(ge=0, lt=DEEPEST)] | None = None
    count: bool = False
    like: Ids = ()
    unlike: Ids = ()
    cut: bool = True
    learnt: bool = True


class TextBody(Listed):
    """A long text, such as an article, without any grammar."""

    text: Annotated[str, Field(min_length=1, max_length=TEXT)]


class SimilarBody(Listed):
    """Pictures, by id, that hits should look like, and that they should not."""

    like: Annotated[Ids, Field(min_length=1)]
    unlike: Ids = ()
    exact: bool = False


class PictureQueryRequest(FiltersRequest):
    """How many hits, where the list goes on (the picture is sent again), and filters."""

    limit: Limit = 10
    cursor: Cursor | None = None
    untagged: bool = False
    tagged: bool = False

    def filters_in(self, service: Service) -> collection.Filters:
        """Return which pictures may appear, as methods of a collection take it."""
        values = self.values(service)
        return collection.Filters(**values, tagged=self.tagged, untagged=self.untagged)


class WordsQuery(PictureQueryRequest):
    """Words that go with a picture that is sent, and more pictures (ids) to look like, or unlike.

    Looks are compared by one feature, `feature`; by default the strongest that pictures have.
    """

    query: Annotated[Words, Field(min_length=1)]
    like: Ids = ()
    unlike: Ids = ()
    feature: Feature = ""


class ShareResponse(BaseModel):
    """What one feature contributed to a score."""

    descriptor: str
    value: float


class SimilarHit(HitResponse):
    """A hit with what each feature contributed; the score is their sum."""

    shares: list[ShareResponse]


class SimilarHits(HitsResponse):
    """Pictures like others."""

    hits: list[SimilarHit]  # type: ignore[assignment]
    compared: int


@router.post("/search")
def search(body: SearchBody, service: Served) -> HitsResponse:
    """Find pictures by words, or by words and examples together."""
    c, page = service.collection, Page(body.limit, body.cursor, body.offset)
    query, chosen = words_only(body.query), body.filters_in(service)
    if body.like or body.unlike:
        like, unlike = service.here(body.like), service.here(body.unlike)
        both = c.sessions.refine(
            query, pictures=like, negative=unlike, k=page.depth, filters=chosen
        )
        return hits(both, page, both.said)
    results = c.search(
        query, page.limit, offset=page.offset, count=body.count, cut=body.cut,
        predicted=body.learnt, filters=chosen,
    )  # fmt: skip
    return hits(results, page)


@router.post("/search/text")
def search_text(body: TextBody, service: Served) -> HitsResponse:
    """Find pictures for a long text, in the space that texts and pictures share."""
    page = Page(body.limit, body.cursor)
    found = service.collection.search_text(body.text, page.depth, filters=body.filters_in(service))
    return hits(found, page)


@router.post("/search/picture", openapi_extra=PICTURE)
async def search_picture(
    request: Request, service: Served, asked: Annotated[PictureQueryRequest, Query()]
) -> SimilarHits:
    """Find pictures like the one sent, which a limited worker looks at; it is not kept."""
    c, page = service.collection, Page(asked.limit, asked.cursor)

    def look(path: str, compute: Compute) -> SimilarHits:
        found = c.similar(path, k=page.depth, compute=compute, filters=asked.filters_in(service))
        return _alike(found, page)

    return await service.describer.run(await request.body(), look)


@router.post("/search/words-and-picture", openapi_extra=PICTURE)
async def search_words_and_picture(
    request: Request, service: Served, asked: Annotated[WordsQuery, Query()]
) -> HitsResponse:
    """Find pictures by words and by the picture sent, which count alike; it is not kept."""
    c, page = service.collection, Page(asked.limit, asked.cursor)

    def look(path: str, compute: Compute) -> HitsResponse:
        query, unlike = words_only(asked.query), service.here(asked.unlike)
        results = c.sessions.refine(
            query, pictures=[path, *service.here(asked.like)], negative=unlike,
            k=page.depth, feature=asked.feature, compute=compute,
            filters=asked.filters_in(service),
        )  # fmt: skip
        return hits(results, page, results.said)

    return await service.describer.run(await request.body(), look)


@router.post("/similar")
def similar(body: SimilarBody, service: Served) -> SimilarHits:
    """Find pictures that look like some, and unlike others."""
    page, chosen = Page(body.limit, body.cursor), body.filters_in(service)
    like, unlike = service.here(body.like), service.here(body.unlike)
    found = service.collection.similar(
        *like, negative=unlike, k=page.depth, exact=body.exact, filters=chosen
    )
    return _alike(found, page)


def _alike(results: Any, page: Page) -> SimilarHits:
    plain = hits(results, page, [results.said] if results.said else [])
    some = results.shares[page.offset : page.offset + len(plain.hits)]
    return SimilarHits(
        **plain.model_dump(exclude={"hits"}),
        hits=[
            SimilarHit(
                **h.model_dump(),
                shares=[ShareResponse(descriptor=s.descriptor, value=s.value) for s in shares],
            )
            for h, shares in zip(plain.hits, some, strict=True)
        ],
        compared=results.compared,
    )
