"""Judgements of a session: add, undo, save as a word, revert."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from pydantic import BaseModel, Field

from sightline.web.routes.sessions import One, known
from sightline.web.shapes import Body, Ids, Writable

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

# The idempotency key: a request that is repeated with the same key counts once.
Key = Annotated[
    str, Header(alias="Idempotency-Key", pattern=r"^[\x21-\x7e]{0,100}$", max_length=100)
]


class MarkBody(Body):
    """Ids of relevant and of irrelevant pictures."""

    positive: Ids = ()
    negative: Ids = ()


class WordBody(Body):
    """The word to add to the relevant pictures."""

    word: Annotated[str, Field(min_length=1, max_length=100)]


class MarkedResponse(BaseModel):
    """The stored judgements; a repeated idempotency key stores nothing."""

    version: int
    session: str
    judgements: int
    judged: int


class UndoneResponse(BaseModel):
    """The judgements that were undone; `relevant` and `other` are names of earlier releases."""

    version: int
    session: str
    positive: list[int]
    negative: list[int]
    relevant: list[int]
    other: list[int]


class Saved(BaseModel):
    """The saved word and the number of its pictures."""

    version: int
    session: str
    word: str
    pictures: int


class Reverted(BaseModel):
    """Whether the session had judgements to revert."""

    version: int
    session: str
    stood: bool


@router.post("/{session}/judgements")
def judge(session: One, body: MarkBody, service: Writable, key: Key = "") -> MarkedResponse:
    """Judge pictures; judgements are durable when the response is sent."""
    service.here([*body.positive, *body.negative])
    with service.sessions.use(session) as s:
        n = s.mark(positive=body.positive, negative=body.negative, key=key)
        judged = len(s.judged)
    version = service.collection.store.version()
    return MarkedResponse(version=version, session=session, judgements=n, judged=judged)


@router.post("/{session}/undo")
def undo(session: One, service: Writable, key: Key = "") -> UndoneResponse:
    """Undo the last judgements."""
    with service.sessions.use(session) as s:
        judged = s.undo(key=key)
    fit, unfit = ([p for p, fits in judged.items() if fits is kind] for kind in (True, False))
    version = service.collection.store.version()
    return UndoneResponse(
        version=version, session=session, positive=fit, negative=unfit, relevant=fit, other=unfit
    )


@router.post("/{session}/word")
def save(session: One, body: WordBody, service: Writable) -> Saved:
    """Add a word to the relevant pictures, so that search and train use it."""
    with service.sessions.use(session) as s:
        n = s.save_as(body.word)
    version = service.collection.store.version()
    return Saved(version=version, session=session, word=body.word, pictures=n)


@router.post("/{session}/revert")
def revert(session: One, service: Writable) -> Reverted:
    """Revert all judgements of a session and the words saved from it."""
    known(service, session)
    stood = service.collection.sessions.revert(session)
    return Reverted(version=service.collection.store.version(), session=session, stood=stood)
