"""Reviews of suggested words: answer, undo, and apply accepted words."""

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
    """The answer to a suggestion."""

    picture: Id
    word: Word
    add: bool = True
    yes: bool


class AnswersBody(Body):
    """Answers to suggestions of this precision.

    `session` continues an earlier review. With `apply` false, accepted words are not yet added to
    the pictures: `/v1/tags/carry` or the next review does that. A review of many single answers
    then publishes one version in place of one for each answer. With `suspected`, the answers are to
    suspected mislabels (`/v1/tags/suspected`), each with `add` false.
    """

    answers: Annotated[tuple[AnswerRequest, ...], Field(min_length=1, max_length=NAMED)]
    precision: Precision = 0.9
    session: Name | None = None
    apply: bool = True
    suspected: bool = False


class Reviewed(BaseModel):
    """The stored answers and their session; other suggestions are no longer current.

    `changed` (earlier `carried`) is the number of pictures whose words changed; None if that was
    postponed, or another process is changing the store. The next review then applies the answers.
    """

    version: int
    session: str | None
    answered: int
    not_asked: int
    changed: int | None
    carried: int | None


class UndoBody(Body):
    """The answer to undo: its suggestion and its session."""

    session: Name
    picture: Id
    word: Word


class UndoneAnswerResponse(BaseModel):
    """Whether there was an answer to undo; undoing it twice has no effect."""

    version: int
    session: str
    stood: bool


class Applied(BaseModel):
    """The number of pictures whose words changed; None while another process writes."""

    version: int
    changed: int | None
    carried: int | None


@router.post("/answers")
def answers(body: AnswersBody, service: Writable) -> Reviewed:
    """Answer suggestions; a repeated answer counts once."""
    replies = {(a.picture, a.word, a.add): a.yes for a in body.answers}
    pictures = service.here(sorted({a.picture for a in body.answers}))
    if body.session is not None:
        _refuse_others(service, body.session)
    review = service.collection.tagging.review(
        *pictures, precision=body.precision, session=body.session or "", apply=body.apply,
        suspected=body.suspected,
    )  # fmt: skip
    changed: int | None = None
    try:
        for s in review.suggestions:
            yes = replies.get((s.picture, s.word, s.add))
            if yes is not None:
                review.answer(s, yes)
    finally:
        try:
            changed = review.close()
        except StoreBusy:
            changed = None  # The answers are stored; the next review applies them.
    n = review.answered
    changed = changed if body.apply else None
    return Reviewed(
        version=service.collection.store.version(),
        session=review.id if n else body.session, answered=n,
        not_asked=len(replies) - n, changed=changed, carried=changed,
    )  # fmt: skip


@router.post("/undo")
def undo(body: UndoBody, service: Writable) -> UndoneAnswerResponse:
    """Undo one answer of a review; a repeated request counts once."""
    _refuse_others(service, body.session)
    stood = service.collection.tagging.undo(body.session, body.picture, body.word)
    return UndoneAnswerResponse(
        version=service.collection.store.version(), session=body.session, stood=stood
    )


@router.post("/carry")
def apply(service: Writable) -> Applied:
    """Apply the answers of reviews to the words of pictures."""
    try:
        changed: int | None = service.collection.tagging.apply_accepted()
    except StoreBusy:
        changed = None
    return Applied(version=service.collection.store.version(), changed=changed, carried=changed)


def _refuse_others(service: Service, session: str) -> None:
    review = known(service, session)
    if review.resumable or review.lists:
        raise Problem(400, "usage", f"The session {session} is no review. Leave it out.")
    if review.state == "reverted":
        raise Problem(409, "reverted", f"The review {session} was reverted. Begin a new one.")
