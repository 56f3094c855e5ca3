"""Answers to proposed words: given, taken back, and carried by pictures."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sightline.errors import StoreBusy
from sightline.web.limits import NAMED
from sightline.web.problems import Problem
from sightline.web.routes.sessions import known
from sightline.web.routes.tags import Precision
from sightline.web.service import Service
from sightline.web.shapes import Body, Id, Name, Writable

router = APIRouter(prefix="/v1/tags", tags=["tags"])

Word = Annotated[str, Field(min_length=1, max_length=200)]


class AnswerRequest(Body):
    """What somebody says of a suggestion."""

    picture: Id
    word: Word
    add: bool = True
    yes: bool


class AnswersBody(Body):
    """Answers to suggestions that were made with this precision.

    `session` is that of answers before, which these go on with. `carry` false leaves it to
    `/v1/tags/carry`, or to the next review, to have pictures carry what was accepted, so that a
    review of many single answers makes one version of the collection and not one for each.
    """

    answers: Annotated[tuple[AnswerRequest, ...], Field(min_length=1, max_length=NAMED)]
    precision: Precision = 0.9
    session: Name | None = None
    carry: bool = True


class Reviewed(BaseModel):
    """Answers that are on the disk, under a session; the others are asked about no more.

    `carried` counts pictures that carry what was accepted from now on; None where that was left
    for later, or another process changes the store just now, and the next review does it.
    """

    version: int
    session: str | None
    answered: int
    not_asked: int
    carried: int | None


class UndoBody(Body):
    """The answer to take back: what it was about, and the session it stands in."""

    session: Name
    picture: Id
    word: Word


class UndoneAnswerResponse(BaseModel):
    """Whether an answer stood; one that was taken back before is so still."""

    version: int
    session: str
    stood: bool


class Carried(BaseModel):
    """How many pictures carry other words now; None while another process changes the store."""

    version: int
    carried: int | None


@router.post("/answers")
def answers(body: AnswersBody, service: Writable) -> Reviewed:
    """Answer suggestions; what is sent again is asked about no more, and counts once."""
    replies = {(a.picture, a.word, a.add): a.yes for a in body.answers}
    pictures = service.here(sorted({a.picture for a in body.answers}))
    if body.session is not None:
        _refuse_others(service, body.session)
    review = service.collection.tagging.review(
        *pictures, precision=body.precision, session=body.session or "", apply=body.carry
    )
    carried: int | None = None
    try:
        for s in review.suggestions:
            yes = replies.get((s.picture, s.word, s.add))
            if yes is not None:
                review.answer(s, yes)
    finally:
        try:
            carried = review.close()
        except StoreBusy:
            carried = None  # The answers stand; the words are carried after the next review.
    n = review.answered
    return Reviewed(
        version=service.collection.store.version(),
        session=review.id if n else body.session, answered=n,
        not_asked=len(replies) - n, carried=carried if body.carry else None,
    )  # fmt: skip


@router.post("/undo")
def undo(body: UndoBody, service: Writable) -> UndoneAnswerResponse:
    """Take one answer of a review back, so that it is asked again; sent again, it counts once."""
    _refuse_others(service, body.session)
    stood = service.collection.tagging.undo(body.session, body.picture, body.word)
    return UndoneAnswerResponse(
        version=service.collection.store.version(), session=body.session, stood=stood
    )


@router.post("/carry")
def carry(service: Writable) -> Carried:
    """Have pictures carry what reviews accepted, and no longer what was taken back."""
    try:
        carried: int | None = service.collection.tagging.apply_accepted()
    except StoreBusy:
        carried = None
    return Carried(version=service.collection.store.version(), carried=carried)


def _refuse_others(service: Service, session: str) -> None:
    found = known(service, session)
    if found.resumable or found.lists:
        raise Problem(400, "usage", f"The session {session} is no review. Leave it out.")
    if found.state == "reverted":
        raise Problem(409, "reverted", f"The review {session} was reverted. Begin a new one.")
