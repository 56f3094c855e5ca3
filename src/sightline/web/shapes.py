"""Schemas of requests and responses that several routes share."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Query, Request
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_after_validator_function

from sightline import collection
from sightline.collection.search.words import pictures_of
from sightline.records import MatchKind, shown
from sightline.web.limits import DEEP, DEEPEST, MOST, NAMED, PAGE, QUERY
from sightline.web.problems import Problem
from sightline.web.service import Service

if TYPE_CHECKING:
    from sightline.collection.corrections import Correction
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


class RegisteredName:
    """Restricts a text to the names of a registry, also of plugins; the schema lists them.

    Parameters
    ----------
    names : callable
        Returns the names.
    what : str
        What they name, for the error.
    """

    def __init__(self, names: Callable[[], Iterable[str]], what: str) -> None:
        self._names, self._what = names, what

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), "enum": list(self._names())}

    def _check(self, name: str) -> str:
        known = list(self._names())
        if name not in known:
            # The request body is not repeated.
            listed = {"names": ", ".join(known)}
            raise PydanticCustomError(self._what, "must be one of {names}", listed)
        return name


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(_service)]


def _writable(service: Served) -> Service:
    service.collection.store.require_writable()
    return service


# For routes that write: a read-only store is reported before any work.
Writable = Annotated[Service, Depends(_writable)]


def number_of_results(default: int) -> Any:
    """Return a dependency that reads `k`, or `limit`, its name of earlier releases."""

    def read(
        k: Annotated[Limit, Query()] = default,
        limit: Annotated[Limit | None, Query(deprecated=True)] = None,
    ) -> int:
        return limit or k

    return Depends(read)


# What fields were called in earlier releases.
_EARLIER_NAMES = {
    "like": "positive", "unlike": "negative", "relevant": "positive", "other": "negative",
    "limit": "k", "learnt": "predicted", "carry": "apply",
}  # fmt: skip
_LISTS = frozenset(("positive", "negative"))


class Body(BaseModel):
    """A request body; unknown fields are rejected, names of earlier releases accepted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, fields: object) -> object:
        if not isinstance(fields, dict):
            return fields
        renamed = dict(fields)
        for earlier, name in _EARLIER_NAMES.items():
            known = cls.model_fields
            if earlier not in renamed or earlier in known or name not in known:
                continue
            if name in renamed:
                text = "name it once: {name}, which was {earlier} earlier"
                raise PydanticCustomError("twice", text, {"name": name, "earlier": earlier})
            value = renamed.pop(earlier)
            # One value of a query string is not a list yet.
            renamed[name] = [value] if name in _LISTS and isinstance(value, str) else value
        return renamed


class FiltersRequest(Body):
    """Filters of pictures; a folder is given by its id from GET /v1/folders."""

    folder: Name | None = None
    after: Annotated[str, Field(max_length=32)] | None = None
    before: Annotated[str, Field(max_length=32)] | None = None
    min_side: Size | None = None
    max_side: Size | None = None
    min_bytes: Size | None = None
    max_bytes: Size | None = None

    def values(self, service: Service) -> dict[str, Any]:
        """Return the filters, with the path of the folder."""
        values = self.model_dump(include=set(FiltersRequest.model_fields), exclude_none=True)
        if self.folder is not None:
            values["folder"] = service.folder(self.folder)
        return values


class Chosen(Body):
    """Filters of pictures, and whether they must have words or must have none."""

    untagged: bool = False
    tagged: bool = False
    filters: FiltersRequest = FiltersRequest()

    def filters_in(self, service: Service) -> collection.Filters:
        """Return the filters as arguments of `Collection` methods."""
        values = self.filters.values(service)
        return collection.Filters(**values, tagged=self.tagged, untagged=self.untagged)


class HitResponse(BaseModel):
    """A hit: a picture by `id`, its `path` below the collection as text, and how it matches.

    `match` is "exact" if the picture has every word, "predicted" if a model found it, "partial"
    if it has some of the words, "suggested" if a network found it, "similar" if it was compared
    with pictures. `probability` is how likely a prediction or suggestion by words alone fits, else
    null: also if it is not `proven`, since too few held-out pictures measure one of the words.
    `score` only orders hits. `name` (`path`), `tagged` (`match` is "exact") and `learnt` (a
    model took part in the score) are of earlier releases.
    """

    id: int
    path: str
    score: float
    match: MatchKind
    probability: float | None = None
    proven: bool = True
    name: str
    tagged: bool
    learnt: bool
    thumbnail: str
    original: str


class Unknown(BaseModel):
    """A word that no picture has, and similar words that some pictures have."""

    word: str
    near: list[str]


class NotLearnedResponse(BaseModel):
    """A word that the model has not learned, its number of pictures, and learned words near it."""

    word: str
    pictures: int
    near: list[str]


class CorrectionResponse(BaseModel):
    """A word of the query that no picture has, and the words searched in its place."""

    typed: str
    searched: list[str]


class ConstraintResponse(BaseModel):
    """A word with a plus (`required`) or a minus, and what decided on it.

    `tagged` pictures have it as a tag. If it is `predicted`, the model decides on pictures without
    tags.
    """

    word: str
    required: bool
    tagged: int
    predicted: bool


class TextAnswerResponse(BaseModel):
    """Which kind of model ranked pictures for a text, `text` or `words`, and why.

    `why` is empty for the text model as usual; else `no text model`, `no word learned` (by the
    other), or `better` for held-out texts.
    """

    model: str
    why: str
    remark: str


class UnprovenResponse(BaseModel):
    """A word that too few held-out pictures measure, and from how many pictures it was learned."""

    word: str
    pictures: int


class StartingWordResponse(BaseModel):
    """A word that no model has learned and a network answers, by `classes` and others."""

    word: str
    classes: list[str]
    n_classes: int
    closeness: float


class HitsResponse(BaseModel):
    """Pictures of one version, best first; `next` is the cursor of the next page.

    `total` is the length of the whole list, `within` the number of its first pictures that have
    every word or are above the cut-off. Both are null unless requested, `within` also if nothing is
    predicted. `missing` counts hits whose files are gone; they are left out.

    `said` are remarks; of a long text, `text_answer` says which kind of model answered, and why.

    `not_learned` lists words that the model has not learned: pictures that have them match, and the
    prediction uses the other words. `predicted` is false if no word was learned, null if no model
    was used. `constraints` says of each word with a sign whether tags alone decided. `corrections`
    are words that were searched in place of mistyped ones; words in quotes are searched as typed.
    `suggested` lists the words that a network answers, since no model has learned them. `unproven`
    lists words that are not yet proven: hits that they predict have no probability.
    """

    version: int
    hits: list[HitResponse]
    next: str | None = None
    total: int | None = None
    within: int | None = None
    unknown: tuple[Unknown, ...] = ()
    not_learned: tuple[NotLearnedResponse, ...] = ()
    predicted: bool | None = None
    constraints: tuple[ConstraintResponse, ...] = ()
    corrections: tuple[CorrectionResponse, ...] = ()
    suggested: tuple[StartingWordResponse, ...] = ()
    unproven: tuple[UnprovenResponse, ...] = ()
    missing: int = 0
    said: tuple[str, ...] = ()
    text_answer: TextAnswerResponse | None = None


def hit(h: Found) -> HitResponse:
    """Return the response of a hit."""
    at, path = f"/v1/pictures/{h.picture}", shown(h.path)
    links = {"thumbnail": f"{at}/thumbnail", "original": f"{at}/original"}
    return HitResponse.model_validate({**h.to_dict(), "path": path, "name": path, **links})


def not_learned(words: Iterable[UnlearnedWord]) -> tuple[NotLearnedResponse, ...]:
    """Return the response of words that the model has not learned."""
    return tuple(NotLearnedResponse.model_validate(w.to_dict()) for w in words)


def corrections(words: Iterable[Correction]) -> tuple[CorrectionResponse, ...]:
    """Return the response of words that were searched in place of mistyped ones."""
    return tuple(CorrectionResponse.model_validate(c.to_dict()) for c in words)


def hits(results: Results, page: Page, remarks: Sequence[str] = ()) -> HitsResponse:
    """Return one page of results."""
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
        constraints=tuple(
            ConstraintResponse.model_validate(c.to_dict()) for c in results.constraints
        ),
        corrections=corrections(results.corrections), missing=results.missing,
        said=(*remarks, *results.wording.lines(), *_said_of(results)),
        suggested=tuple(
            StartingWordResponse.model_validate(w.to_dict()) for w in results.suggested.words
        ),
        unproven=tuple(UnprovenResponse.model_validate(w.to_dict()) for w in results.unproven),
        text_answer=None if results.text_answer is None
        else TextAnswerResponse.model_validate(results.text_answer.to_dict()),
    )  # fmt: skip


def _said_of(results: Results) -> list[str]:
    """Return why another engine answered, and why no network does, if so."""
    return [text for text in (results.served, results.suggested.problem) if text]


class Page:
    """The requested page of a list, and the version it must have."""

    def __init__(self, limit: int, given: str | None, offset: int | None = None) -> None:
        if given and offset is not None:
            raise Problem(400, "usage", "A page begins at a cursor or at an offset: name one.")
        self.limit, self.offset, self.version = limit, offset or 0, None  # type: int, int, int | None
        if given:
            self.version, self.offset = _read_cursor(given)

    @property
    def depth(self) -> int:
        """Number of hits to retrieve: one more than shown, to know whether there are more.

        All of them are retrieved, so the maximum rank of such lists is lower.
        """
        if self.offset >= DEEP:
            raise Problem(400, "too-deep", f"This list ends after {DEEP} hits. Ask for less of it.")
        return min(self.offset + self.limit, DEEP) + 1

    def check_known(self, version: int) -> None:
        """Raise if the cursor is of another version."""
        if self.version is not None and self.version != version:
            raise Problem(
                409, "changed",
                f"The list was of version {self.version}, and {version} is served now. "
                "Ask for its beginning again.",
            )  # fmt: skip


def cursor(version: int, offset: int) -> str:
    """Return the cursor of the rest of a list.

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
    """Return a query of words; raise if it names files, since requests contain no paths."""
    if pictures_of(query):
        raise Problem(400, "path", "Pictures are named by id here, as in POST /v1/similar.")
    return query
