"""Search by words, by a long text, by pictures, and by words and pictures."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from sightline import collection
from sightline.collection.results import Results
from sightline.collection.search.words import parse_words
from sightline.contracts import Compute
from sightline.federation.members import LocalMember, VectorRequest, unit_vector
from sightline.web.limits import DEEP, DEEPEST, NUMBERS, TEXT
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

Number = Annotated[float, Field(ge=-1e30, le=1e30, allow_inf_nan=False)]
# A picture is uploaded as the body, not as a form.
PICTURE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class Listed(Chosen):
    """The common fields of searches: number of hits, cursor and filters."""

    k: Limit = 10
    cursor: Cursor | None = None


class SearchBody(Listed):
    """Words, in the query syntax of the command line, and ids of example pictures.

    Words and the `positive` examples have equal weights. `offset`,
    in place of a cursor, starts a page at any rank of the current version. `count` returns the
    length of the list and of its part above the cut-off, for queries of words alone. `verbatim`
    searches every word as it is typed.
    """

    query: Words
    offset: Annotated[int, Field(ge=0, lt=DEEPEST)] | None = None
    count: bool = False
    positive: Ids = ()
    negative: Ids = ()
    cut: bool = True
    predicted: bool = True
    verbatim: bool = False


class TextBody(Listed):
    """A long text, such as an article, without query syntax."""

    text: Annotated[str, Field(min_length=1, max_length=TEXT)]


class SimilarBody(Listed):
    """Ids of positive and negative example pictures."""

    positive: Annotated[Ids, Field(min_length=1)]
    negative: Ids = ()
    exact: bool = False


class VectorBody(Listed):
    """A vector of a feature, by its fingerprint from GET /v1/search/vector; `offset` is a rank."""

    feature: Annotated[str, Field(pattern=r"^[0-9A-Za-z_.-]{1,100}$")]
    vector: Annotated[tuple[Number, ...], Field(min_length=1, max_length=NUMBERS)]
    offset: Annotated[int, Field(ge=0, lt=DEEP)] | None = None


class VectorFeatures(BaseModel):
    """The fingerprints of features by which pictures can be compared with a vector."""

    version: int
    features: list[str]


class PictureQueryRequest(FiltersRequest):
    """Number of hits, cursor (with the picture uploaded again), and filters."""

    k: Limit = 10
    cursor: Cursor | None = None
    untagged: bool = False
    tagged: bool = False

    def filters_in(self, service: Service) -> collection.Filters:
        """Return the filters as arguments of `Collection` methods."""
        values = self.values(service)
        return collection.Filters(**values, tagged=self.tagged, untagged=self.untagged)


class WordsQuery(PictureQueryRequest):
    """Words to combine with an uploaded picture, and ids of further examples.

    Pictures are compared by one feature, `feature`; by default the best that is indexed.
    """

    query: Annotated[Words, Field(min_length=1)]
    positive: Ids = ()
    negative: Ids = ()
    feature: Feature = ""


class ShareResponse(BaseModel):
    """The contribution of one feature to a score."""

    descriptor: str
    value: float


class SimilarHit(HitResponse):
    """A hit with the contribution of each feature; the score is their sum."""

    shares: list[ShareResponse]


class SimilarHits(HitsResponse):
    """Similar pictures."""

    hits: list[SimilarHit]  # type: ignore[assignment]
    compared: int


@router.post("/search")
def search(body: SearchBody, service: Served) -> HitsResponse:
    """Find pictures by words, or by words and examples."""
    c, page = service.collection, Page(body.k, body.cursor, body.offset)
    query, chosen = words_only(body.query), body.filters_in(service)
    if body.positive or body.negative:
        sides = service.here(body.positive), service.here(body.negative)
        both = c.search(
            query, page.depth, positive=sides[0], negative=sides[1], verbatim=body.verbatim,
            filters=chosen,
        )  # fmt: skip
        return hits(both, page)
    results = c.search(
        query, page.limit, offset=page.offset, count=body.count, cut=body.cut,
        predicted=body.predicted, verbatim=body.verbatim, filters=chosen,
    )  # fmt: skip
    return hits(results, page)


@router.post("/search/text")
def search_text(body: TextBody, service: Served) -> HitsResponse:
    """Find pictures for a long text, by the text model, or by the word model without one."""
    page = Page(body.k, body.cursor)
    found = service.collection.search_text(body.text, page.depth, filters=body.filters_in(service))
    return hits(found, page)


@router.get("/search/vector")
def vector_features(service: Served) -> VectorFeatures:
    """Return the features that other programs can compute a vector of."""
    member = LocalMember(service.collection)
    version, features = service.of_one_version(member.features)
    return VectorFeatures(version=version, features=list(features))


@router.post("/search/vector")
def search_vector(body: VectorBody, service: Served) -> HitsResponse:
    """Find the pictures with the largest cosine to a vector of one feature."""
    page = Page(body.k, body.cursor, body.offset)
    vector = unit_vector(body.vector, body.feature)
    request = VectorRequest(body.feature, vector, body.filters_in(service))
    nearest = LocalMember(service.collection).nearest(request, page.depth)
    return hits(Results(nearest.hits, (), nearest.version), page, nearest.remarks)


@router.post("/search/picture", openapi_extra=PICTURE)
async def search_picture(
    request: Request, service: Served, asked: Annotated[PictureQueryRequest, Query()]
) -> SimilarHits:
    """Find pictures that are similar to an uploaded one, which is not stored."""
    c, page = service.collection, Page(asked.k, asked.cursor)

    def find(path: str, compute: Compute) -> SimilarHits:
        found = c.similar(path, k=page.depth, compute=compute, filters=asked.filters_in(service))
        return _similar_hits(found, page)

    return await service.describer.run(await request.body(), find)


@router.post("/search/words-and-picture", openapi_extra=PICTURE)
async def search_words_and_picture(
    request: Request, service: Served, asked: Annotated[WordsQuery, Query()]
) -> HitsResponse:
    """Find pictures by words and an uploaded picture, with equal weights; it is not stored."""
    c, page = service.collection, Page(asked.k, asked.cursor)

    def find(path: str, compute: Compute) -> HitsResponse:
        query, negative = words_only(asked.query), service.here(asked.negative)
        parse_words(query)
        results = c.search(
            query, page.depth, positive=[path, *service.here(asked.positive)], negative=negative,
            feature=asked.feature, compute=compute, filters=asked.filters_in(service),
        )  # fmt: skip
        return hits(results, page)

    return await service.describer.run(await request.body(), find)


@router.post("/similar")
def similar(body: SimilarBody, service: Served) -> SimilarHits:
    """Find pictures that are similar to positive and unlike negative examples."""
    page, chosen = Page(body.k, body.cursor), body.filters_in(service)
    positive, negative = service.here(body.positive), service.here(body.negative)
    found = service.collection.similar(
        *positive, negative=negative, k=page.depth, exact=body.exact, filters=chosen
    )
    return _similar_hits(found, page)


def _similar_hits(results: Any, page: Page) -> SimilarHits:
    plain = hits(results, page, [results.remark] if results.remark else [])
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
