"""A server of several collections: merged searches, and pictures by collection and id.

Collections are named as the server named them when it started. What a client sends is looked up
among these names and never becomes a path.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import BaseModel, Field

from sightline.collection.filters import Filters
from sightline.contracts import Compute
from sightline.errors import SightlineError
from sightline.federation.merge import FederatedHit
from sightline.federation.results import FederatedResults
from sightline.records import MatchKind, shown
from sightline.web.federated_service import FederatedService
from sightline.web.limits import DEEP
from sightline.web.problems import Problem
from sightline.web.routes.page import page_file
from sightline.web.routes.pictures import BINARY, OriginalFile, headers_of, picture_reply
from sightline.web.routes.search import PICTURE
from sightline.web.shapes import (
    Body,
    Cursor,
    Feature,
    Id,
    Limit,
    Page,
    Size,
    Words,
    cursor,
    words_only,
)

router = APIRouter(tags=["federation"])
Member = Annotated[str, Path(pattern=r"^[0-9A-Za-z_][0-9A-Za-z._:-]{0,63}$")]
Known = Annotated[str, Header(alias="If-None-Match", max_length=100)]
When = Annotated[str, Field(max_length=32)]


def _service(request: Request) -> FederatedService:
    service: FederatedService = request.app.state.service
    return service


FederationServed = Annotated[FederatedService, Depends(_service)]


class MemberResponse(BaseModel):
    """A collection: its number of pictures, or the problem why it does not answer."""

    name: str
    pictures: int | None
    problem: str


class FederationIndex(BaseModel):
    """The index of the API of several collections, by their names."""

    service: str
    api: int
    collections: list[str]
    description: str


class Members(BaseModel):
    """All collections, in the order in which equal hits take turns."""

    collections: list[MemberResponse]


class FederatedHitResponse(BaseModel):
    """A hit: `id` is that of a picture of its `collection`; `match` is as of one collection.

    `also_in` names other collections with the same file. `original` is null for a hit of another
    server, `server`.
    """

    collection: str
    id: int
    path: str
    score: float
    match: MatchKind
    probability: float | None
    proven: bool
    label: str
    also_in: list[str]
    thumbnail: str
    original: str | None
    server: str


class MemberReportResponse(BaseModel):
    """What a collection did for the answer, or the problem why it did not answer."""

    name: str
    version: int | None
    answered: bool
    problem: str
    remarks: list[str]


class FederatedHitsResponse(BaseModel):
    """Merged hits, best first; `next` is the cursor of the next page.

    `complete` says whether every collection answered. `version` stands for those that answered and
    their versions: a cursor of another one is rejected.
    """

    version: int
    hits: list[FederatedHitResponse]
    next: str | None
    complete: bool
    collections: list[MemberReportResponse]


class FederatedFilters(Body):
    """Filters of pictures of all collections."""

    after: When | None = None
    before: When | None = None
    min_side: Size | None = None
    max_side: Size | None = None
    min_bytes: Size | None = None
    max_bytes: Size | None = None

    def with_words(self, tagged: bool, untagged: bool) -> Filters:
        """Return them as arguments of `Collections` methods."""
        values = self.model_dump(include=set(FederatedFilters.model_fields))
        return Filters(**values, tagged=tagged, untagged=untagged)


class FederatedSearchBody(Body):
    """Words, in the query syntax of the command line."""

    query: Words
    k: Limit = 20
    cursor: Cursor | None = None
    offset: Annotated[int, Field(ge=0, lt=DEEP)] | None = None
    cut: bool = True
    predicted: bool = True
    verbatim: bool = False
    tagged: bool = False
    untagged: bool = False
    filters: FederatedFilters = FederatedFilters()


class FederatedPictureQuery(FederatedFilters):
    """Number of hits, cursor (with the picture uploaded again), the feature, and filters."""

    k: Limit = 20
    cursor: Cursor | None = None
    feature: Feature = ""
    tagged: bool = False
    untagged: bool = False


@router.get("/", include_in_schema=False)
def page(known: Annotated[str, Header(alias="If-None-Match")] = "") -> Response:
    """Return the page."""
    return page_file("collections.html", known)


@router.get("/v1")
def index(service: FederationServed) -> FederationIndex:
    """Return the index of the API."""
    names = list(service.collections.members)
    return FederationIndex(
        service="sightline", api=1, collections=names, description="/openapi.json"
    )


@router.get("/v1/collections")
def members(service: FederationServed) -> Members:
    """Return all collections with their numbers of pictures."""
    sizes = service.collections.sizes()
    return Members(
        collections=[
            MemberResponse(
                name=name, pictures=n if isinstance(n, int) else None,
                problem="" if isinstance(n, int) else service.redacted(n),
            )
            for name, n in sizes.items()
        ]
    )  # fmt: skip


@router.post("/v1/search")
def search(body: FederatedSearchBody, service: FederationServed) -> FederatedHitsResponse:
    """Find pictures by words in all collections."""
    part = _part(Page(body.k, body.cursor, body.offset))
    results = service.collections.search(
        words_only(body.query), part.limit, offset=part.offset,
        filters=body.filters.with_words(body.tagged, body.untagged),
        cut=body.cut, predicted=body.predicted, verbatim=body.verbatim,
    )  # fmt: skip
    return _hits(service, results, part)


@router.post("/v1/search/picture", openapi_extra=PICTURE)
async def search_picture(
    request: Request, service: FederationServed, asked: Annotated[FederatedPictureQuery, Query()]
) -> FederatedHitsResponse:
    """Find pictures that are similar to an uploaded one, which is not stored."""
    part = _part(Page(asked.k, asked.cursor))

    def find(path: str, compute: Compute) -> FederatedHitsResponse:
        results = service.collections.similar(
            path, part.limit, feature=asked.feature, offset=part.offset,
            filters=asked.with_words(asked.tagged, asked.untagged), compute=compute,
        )  # fmt: skip
        return _hits(service, results, part)

    return await service.describer.run(await request.body(), find)


@router.get(
    "/v1/collections/{name}/pictures/{picture}/thumbnail", response_class=Response,
    responses=BINARY,
)  # fmt: skip
def thumbnail(
    name: Member, picture: Annotated[Id, Path()], service: FederationServed, known: Known = ""
) -> Response:
    """Return the thumbnail of a picture, WebP or JPEG."""
    try:
        small = service.thumbnail(name, picture)
    except SightlineError as e:
        raise Problem(502, "member", service.redacted(f"{name} failed: {e}")) from e
    return picture_reply(small, known)


@router.get(
    "/v1/collections/{name}/pictures/{picture}/original", response_class=Response,
    responses=BINARY,
)  # fmt: skip
def original(name: Member, picture: Annotated[Id, Path()], service: FederationServed) -> Response:
    """Return the original file of a picture on this machine."""
    c = service.local(name).collection
    if picture not in c.pictures.facts([picture]):
        raise Problem(404, "no-picture", f"There is no picture {picture} in {name}.")
    return OriginalFile.of(*c.pictures.open(picture), headers_of(c.store.version()))


def _part(page: Page) -> Page:
    if page.offset >= DEEP:
        raise Problem(400, "too-deep", f"This list ends after {DEEP} hits. Ask for less of it.")
    return page


def _hits(
    service: FederatedService, results: FederatedResults, part: Page
) -> FederatedHitsResponse:
    if part.version is not None and part.version != results.version:
        raise Problem(
            409, "changed",
            "Collections changed, or others answer now. Ask for the beginning of the list again.",
        )  # fmt: skip
    end = part.offset + len(results)
    reports = [m.to_dict() for m in results.members]
    for report in reports:
        report["problem"] = service.redacted(str(report["problem"]))
    return FederatedHitsResponse(
        version=results.version, hits=[_hit(h) for h in results],
        next=cursor(results.version, end) if results.more and results.hits else None,
        complete=results.is_complete,
        collections=[MemberReportResponse.model_validate(r) for r in reports],
    )  # fmt: skip


def _hit(h: FederatedHit) -> FederatedHitResponse:
    at, hit = f"/v1/collections/{h.collection}/pictures/{h.hit.picture}", h.hit
    return FederatedHitResponse(
        collection=h.collection, id=hit.picture,
        path=hit.name if h.server else shown(hit.path),
        score=hit.score, match=hit.match, probability=hit.probability, proven=hit.proven,
        label=hit.label, also_in=list(h.also_in), thumbnail=f"{at}/thumbnail",
        original=None if h.server else f"{at}/original", server=h.server,
    )  # fmt: skip
