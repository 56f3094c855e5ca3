"""What is said in a session: judgements, taken back, made a word of, or reverted."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from pydantic import BaseModel, Field

from sightline.web.routes.sessions import One, known
from sightline.web.shapes import Body, Ids, Writable

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

# A client that got no answer sends the same again under the same key, and it counts once.
Key = Annotated[
    str, Header(alias="Idempotency-Key", pattern=r"^[\x21-\x7e]{0,100}$", max_length=100)
]


class MarkBody(Body):
    """Pictures, by id, that fit, and that do not."""

    relevant: Ids = ()
    other: Ids = ()


class WordBody(Body):
    """The word that the pictures which fit are to carry."""

    word: Annotated[str, Field(min_length=1, max_length=100)]


class MarkedResponse(BaseModel):
    """What was judged is on the disk; under a key that was used before, nothing is written."""

    version: int
    session: str
    judgements: int
    judged: int


class UndoneResponse(BaseModel):
    """What the mark that was taken back had said."""

    version: int
    session: str
    relevant: list[int]
    other: list[int]


class Saved(BaseModel):
    """A word was made of the session; so many pictures carry it."""

    version: int
    session: str
    word: str
    pictures: int


class Reverted(BaseModel):
    """Whether anything of the session still stood."""

    version: int
    session: str
    stood: bool


@router.post("/{session}/judgements")
def judge(session: One, body: MarkBody, service: Writable, key: Key = "") -> MarkedResponse:
    """Say which pictures fit and which do not; it is on the disk when this is answered."""
    service.here([*body.relevant, *body.other])
    with service.talks.use(session) as s:
        n = s.mark(positive=body.relevant, negative=body.other, key=key)
        judged = len(s.judged)
    version = service.collection.store.version()
    return MarkedResponse(version=version, session=session, judgements=n, judged=judged)


@router.post("/{session}/undo")
def undo(session: One, service: Writable, key: Key = "") -> UndoneResponse:
    """Take the last judgements back."""
    with service.talks.use(session) as s:
        judged = s.undo(key=key)
    fit, unfit = ([p for p, fits in judged.items() if fits is kind] for kind in (True, False))
    version = service.collection.store.version()
    return UndoneResponse(version=version, session=session, relevant=fit, other=unfit)


@router.post("/{session}/word")
def save(session: One, body: WordBody, service: Writable) -> Saved:
    """Give the pictures that fit a word, so that search and train know it."""
    with service.talks.use(session) as s:
        n = s.save_as(body.word)
    version = service.collection.store.version()
    return Saved(version=version, session=session, word=body.word, pictures=n)


@router.post("/{session}/revert")
def revert(session: One, service: Writable) -> Reverted:
    """Take back all that a session said, and the words made of it."""
    known(service, session)
    stood = service.collection.sessions.revert(session)
    return Reverted(version=service.collection.store.version(), session=session, stood=stood)
