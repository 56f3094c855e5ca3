"""Judging sessions: begin, list, and get hits."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from sightline.collection.sessions import SessionState
from sightline.collection.sessions.session import SessionRanking
from sightline.web.problems import Problem
from sightline.web.routes.search import Listed
from sightline.web.service import Service
from sightline.web.shapes import (
    Cursor,
    Feature,
    HitsResponse,
    Ids,
    Name,
    Page,
    Served,
    Words,
    Writable,
    cursor,
    hits,
    number_of_results,
    words_only,
)

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

One = Annotated[Name, Path()]


class BeginBody(Listed):
    """Either words or the ids of example pictures."""

    query: Words = ""
    positive: Ids = ()
    cursor: None = None
    feature: Feature = ""


class RoundResponse(HitsResponse):
    """Hits of a session; `share` is the weight of the initial ranking in them."""

    session: str
    round: int
    share: float
    doubted: list[int]


class State(BaseModel):
    """The state of a session; times are seconds since 1970.

    `examples` are the pictures it began with, `positive` and `negative` the numbers of judgements.
    `like`, `relevant` and `other` are the same by their names of earlier releases.
    """

    id: str
    query: str
    examples: list[int]
    positive: int
    negative: int
    like: list[int]
    relevant: int
    other: int
    rounds: int
    undone: int
    begun: int
    last: int
    words: list[str]
    state: str
    resumable: bool


class Marks(BaseModel):
    """Ids of relevant and of irrelevant pictures, in the order of their judgements.

    `relevant` and `other` are the same by their names of earlier releases.
    """

    positive: list[int]
    negative: list[int]
    relevant: list[int]
    other: list[int]


class OneState(State):
    """The state of a session with its judgements."""

    version: int
    marks: Marks


class States(BaseModel):
    """Sessions, oldest first."""

    version: int
    sessions: list[State]
    next: str | None = None


@router.post("", status_code=201)
def begin(body: BeginBody, service: Writable) -> RoundResponse:
    """Begin a session and return its first hits; it survives a restart of the server."""
    query = words_only(body.query) if body.query else ""
    if bool(query.strip()) == bool(body.positive):
        raise Problem(400, "usage", "Begin with words or with pictures: one of query and positive.")
    examples, chosen = service.here(body.positive), body.filters_in(service)
    session = service.sessions.begin(query, examples, body.feature, chosen)
    with service.sessions.use(session.id) as s:
        first = _round(s.next(Page(body.k, None).depth), body.k)
        # The session is durable before its name is returned.
        s.begin()
    return first


@router.get("")
def sessions(
    service: Served,
    k: Annotated[int, number_of_results(100)],
    cursor_: Annotated[Cursor | None, Query(alias="cursor")] = None,
) -> States:
    """Return all sessions with judgements."""
    page, states = Page(k, cursor_), service.collection.sessions.all()
    some = states[page.offset : page.offset + k]
    end = page.offset + len(some)
    version = service.collection.store.version()
    return States(
        version=version, sessions=[_state(s) for s in some],
        next=cursor(version, end) if end < len(states) else None,
    )  # fmt: skip


@router.get("/{session}")
def session(session: One, service: Served) -> OneState:
    """Return the state of a session."""
    state, c = _state(known(service, session)), service.collection
    judged = c.sessions.judgements(session)
    fit, unfit = ([p for p, fits in judged.items() if fits == kind] for kind in (True, False))
    marks = Marks(positive=fit, negative=unfit, relevant=fit, other=unfit)
    return OneState(**state.model_dump(), version=c.store.version(), marks=marks)


@router.get("/{session}/hits")
def session_hits(
    session: One,
    service: Served,
    k: Annotated[int, number_of_results(20)],
    hide_judged: bool = False,
    how: Literal["best", "informative", "telling"] = "best",
) -> RoundResponse:
    """Return the best `k` hits of a session, or the most informative pictures to judge.

    `telling` is what `informative` was called in earlier releases.
    """
    with service.sessions.use(session) as s:
        if how != "best":
            return _round(s.propose(k), k)
        return _round(s.next(k, hide_judged=hide_judged), k)


def known(service: Service, name: str) -> SessionState:
    """Return the state of a session; raise a 404 problem if there is none."""
    if not service.collection.sessions.exists(name):
        raise Problem(404, "no-session", f"There is no session {name} here.")
    return service.collection.sessions.get(name)


def _round(r: SessionRanking, k: int) -> RoundResponse:
    plain = hits(r, Page(k, None), r.remarks)
    return RoundResponse(
        **plain.model_dump(exclude={"next"}), session=r.session, round=r.round, share=r.share,
        doubted=[h.picture for h in r.doubted],
    )  # fmt: skip


def _state(s: SessionState) -> State:
    # A picture from outside the collection has no id.
    examples = [p for p in s.examples if isinstance(p, int)]
    return State.model_validate({**s.to_dict(), "examples": examples, "like": examples})
