"""What requests and answers of several routes have in common."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from sightline import collection
from sightline.collection.search.words import pictures_of
from sightline.records import shown
from sightline.web.limits import DEEP, DEEPEST, MOST, NAMED, PAGE, QUERY
from sightline.web.problems import Problem
from sightline.web.service import Service

if TYPE_CHECKING:
    from sightline.collection.query import NotLearned as UnlearnedWord
    from sightline.collection.results import Results
    from sightline.records import Hit as Found

Id = Annotated[int, Field(ge=1, le=MOST)]
Ids = Annotated[tuple[Id, ...], Field(max_length=NAMED)]
Size = Annotated[int, Field(ge=0, le=MOST)]
Limit = Annotated[int, Field(ge=1, le=PAGE)]
Words = Annotated[str, Field(max_length=QUERY)]
Name = Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{1,64}$")]
Feature = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,64}$")]
Cursor = Annotated[str, Field(max_length=100)]


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(_service)]


def _writable(service: Served) -> Service:
    service.collection.store.require_writable()
    return service


# For what must write: a read-only store is named before any work is done.
Writable = Annotated[Service, Depends(_writable)]


class Body(BaseModel):
    """Something a client sends; what it does not know is refused, not passed over."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FiltersRequest(Body):
    """Which pictures may appear; a folder goes by the id that GET /v1/folders shows."""

    folder: Name | None = None
    after: Annotated[str, Field(max_length=32)] | None = None
    before: Annotated[str, Field(max_length=32)] | None = None
    min_side: Size | None = None
    max_side: Size | None = None
    min_bytes: Size | None = None
    max_bytes: Size | None = None

    def values(self, service: Service) -> dict[str, Any]:
        """Return what was given, a folder by its path."""
        values = self.model_dump(include=set(FiltersRequest.model_fields), exclude_none=True)
        if self.folder is not None:
            values["folder"] = service.folder(self.folder)
        return values


class Chosen(Body):
    """Which pictures may appear: those without any word, those with some, those filters leave."""

    untagged: bool = False
    tagged: bool = False
    filters: FiltersRequest = FiltersRequest()

    def filters_in(self, service: Service) -> collection.Filters:
        """Return it as methods of a collection take it."""
        values = self.filters.values(service)
        return collection.Filters(**values, tagged=self.tagged, untagged=self.untagged)


class HitResponse(BaseModel):
    """A picture of an answer; `name` is for people, `id` for programs."""

    id: int
    score: float
    name: str
    tagged: bool
    learnt: bool
    thumbnail: str
    original: str


class Unknown(BaseModel):
    """A word that no picture carries, and words near it that some do."""

    word: str
    near: list[str]


class NotLearnedResponse(BaseModel):
    """A word that the model has not learned, and on how many pictures it is."""

    word: str
    pictures: int


class HitsResponse(BaseModel):
    """Pictures, best first, of one version; `next` asks for more of the same version.

    `total` counts the whole list and `within` its first pictures that carry every word or lie above
    the cut-off: where a line may be drawn. Both are null unless asked for, `within` also where
    nothing is predicted. Files that are gone (`missing`) leave fewer hits, and are counted.

    `not_learned` names words that the model has not learned: pictures that carry them match, and
    what is predicted goes by the other words. `predicted` is false where there is none that was
    learned, null where no model was asked.
    """

    version: int
    hits: list[HitResponse]
    next: str | None = None
    total: int | None = None
    within: int | None = None
    unknown: tuple[Unknown, ...] = ()
    not_learned: tuple[NotLearnedResponse, ...] = ()
    predicted: bool | None = None
    missing: int = 0
    said: tuple[str, ...] = ()


def hit(h: Found) -> HitResponse:
    """Return a hit as it is sent."""
    at = f"/v1/pictures/{h.picture}"
    return HitResponse(
        id=h.picture, score=h.score, name=shown(h.path), tagged=h.tagged, learnt=h.learned,
        thumbnail=f"{at}/thumbnail", original=f"{at}/original",
    )  # fmt: skip


def not_learned(words: Iterable[UnlearnedWord]) -> tuple[NotLearnedResponse, ...]:
    """Return words that the model has not learned as they are sent."""
    return tuple(NotLearnedResponse(word=w.word, pictures=w.pictures) for w in words)


def hits(results: Results, page: Page, remarks: Sequence[str] = ()) -> HitsResponse:
    """Return one page: a part of a list, or of the first `page.depth` of one."""
    page.check_known(results.version)
    part = results.part
    if part is None:
        some = results.hits[page.offset : page.offset + page.limit]
        end = page.offset + len(some)
        more = len(results.hits) > end and end < DEEP
    else:
        some, end = results.hits, part.reached
        more = part.more and end < DEEPEST
    return HitsResponse(
        version=results.version, hits=[hit(h) for h in some],
        next=cursor(results.version, end) if more else None,
        total=part.total if part else None, within=part.within if part else None,
        unknown=tuple(Unknown(word=u.word, near=list(u.near)) for u in results.unknown),
        not_learned=not_learned(results.not_learned), predicted=results.predicted,
        missing=results.missing, said=(*remarks, *[results.served] * bool(results.served)),
    )  # fmt: skip


class Page:
    """Which part of a list is asked for, and of which version it must be."""

    def __init__(self, limit: int, given: str | None, offset: int | None = None) -> None:
        if given and offset is not None:
            raise Problem(400, "usage", "A page begins at a cursor or at an offset: name one.")
        self.limit, self.offset, self.version = limit, offset or 0, None  # type: int, int, int | None
        if given:
            self.version, self.offset = _read_cursor(given)

    @property
    def depth(self) -> int:
        """How many of the best to look for: one more than is shown tells whether there are more.

        All of them are looked up, so pages of such lists go less deep than parts do.
        """
        if self.offset >= DEEP:
            raise Problem(400, "too-deep", f"This list ends after {DEEP} hits. Ask for less of it.")
        return min(self.offset + self.limit, DEEP) + 1

    def check_known(self, version: int) -> None:
        """Refuse to go on in a list that was made of another version."""
        if self.version is not None and self.version != version:
            raise Problem(
                409, "changed",
                f"The list was of version {self.version}, and {version} is served now. "
                "Ask for its beginning again.",
            )  # fmt: skip


def cursor(version: int, offset: int) -> str:
    """Return what asks for the rest of a list.

    >>> _read_cursor(cursor(7, 20))
    (7, 20)
    """
    return base64.urlsafe_b64encode(json.dumps([version, offset]).encode()).decode()


def _read_cursor(text: str) -> tuple[int, int]:
    try:
        version, offset = json.loads(base64.urlsafe_b64decode(text.encode("ascii")))
        if type(version) is int and type(offset) is int and 0 <= offset < DEEPEST:
            return version, offset
    except (ValueError, TypeError, binascii.Error, RecursionError):
        pass
    raise Problem(400, "cursor", "The cursor is none that was given here. Leave it out.")


def words_only(query: str) -> str:
    """Return a query of words; one that names files is refused, since no path is taken here."""
    if pictures_of(query):
        raise Problem(400, "path", "Pictures are named by id here, as in POST /v1/similar.")
    return query
