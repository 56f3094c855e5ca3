"""Ranking and click events in the format of Metarank's `/rank` and `/feedback`.

Items are picture ids. A ranking is sent when it is shown, interactions with it then or later.
Events that are sent again, or imported by `sightline import clicks`, count once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from sightline.collection.clicks.live import LiveClick, LiveRanking
from sightline.exchange.impressions import CLICKS
from sightline.web.limits import MOST, NAMED, QUERY
from sightline.web.problems import Problem
from sightline.web.shapes import (
    CorrectionResponse,
    NotLearnedResponse,
    Served,
    Writable,
    corrections,
    not_learned,
    words_only,
)

router = APIRouter(tags=["metarank"])

Text = Annotated[str, Field(max_length=200)]
Item = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,18}$")]


class Loose(BaseModel):
    """A part of an event; unknown fields are ignored, as Metarank's clients expect."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class EventField(Loose):
    """A field of an event; only `query` is used."""

    name: Text
    value: Any = None


class ItemId(Loose):
    """An item: the id of a picture, as text."""

    id: Item


class RankingEvent(Loose):
    """An impression: the items shown for the field `query`, in order."""

    event: Literal["ranking"]
    id: Annotated[str, Field(min_length=1, max_length=200)]
    items: Annotated[list[ItemId], Field(min_length=1, max_length=NAMED)]
    fields: Annotated[tuple[EventField, ...], Field(max_length=100)] = ()


class InteractionEvent(Loose):
    """An interaction with an item of a ranking."""

    event: Literal["interaction"]
    ranking: Annotated[str, Field(min_length=1, max_length=200)]
    item: Item
    type: Text = "click"


Event = Annotated[RankingEvent | InteractionEvent, Field(discriminator="event")]


class RankBody(Loose):
    """Items to rank for the words in the field `query`."""

    id: Text = ""
    items: Annotated[list[ItemId], Field(min_length=1, max_length=NAMED)]
    fields: Annotated[tuple[EventField, ...], Field(max_length=100)]


class RankedRequest(BaseModel):
    """An item and its score."""

    item: str
    score: float


class RankingRequest(BaseModel):
    """Items, best first; `not_learned` and `corrections` as in a search."""

    items: list[RankedRequest]
    took: int
    version: int
    not_learned: tuple[NotLearnedResponse, ...] = ()
    corrections: tuple[CorrectionResponse, ...] = ()


class Accepted(BaseModel):
    """The number of accepted events; `updated` rankings were new or had new clicks."""

    accepted: int
    updated: int
    status: str
    tookMillis: int
    version: int


@router.post("/rank/{model}")
def rank(
    model: Annotated[str, Path(pattern=r"^[\w-]{1,64}$")], body: RankBody, service: Served
) -> RankingRequest:
    """Rank pictures for words; the only model is called `words`."""
    started = time.monotonic()
    if model != "words":
        raise Problem(404, "no-model", "The one model here is called words.")
    pictures = service.here(_ids(body.items))
    c, query = service.collection, words_only(_query(body.fields))
    found, version = c.pictures.rank(query, pictures)
    items = [RankedRequest(item=str(p), score=s) for p, s in found]
    return RankingRequest(
        items=items, took=_since(started), version=version,
        not_learned=not_learned(c.words.not_learned(query)),
        corrections=corrections(c.words.corrections(query)),
    )  # fmt: skip


@router.post("/feedback")
def feedback(
    body: Event | Annotated[list[Event], Field(max_length=NAMED)], service: Writable
) -> Accepted:
    """Store rankings and interactions; they are durable when the response is sent.

    Interactions refer to a ranking of this request or of an earlier one.
    """
    started, events = time.monotonic(), body if isinstance(body, list) else [body]
    rankings = [
        LiveRanking(e.id, words_only(_query(e.fields)), tuple(_ids(e.items)))
        for e in events
        if isinstance(e, RankingEvent)
    ]
    clicks = [
        LiveClick(e.ranking, int(e.item))
        for e in events
        if isinstance(e, InteractionEvent) and e.type in CLICKS
    ]
    report = service.collection.clicks.record(rankings, clicks)
    if report.unknown:
        n = len(report.unknown)
        raise Problem(
            404, "no-ranking",
            f"{n} of the rankings that are cited were never sent here. Send them first.",
        )  # fmt: skip
    return Accepted(
        accepted=len(events), updated=report.added + report.grown, status="ok",
        tookMillis=_since(started), version=service.collection.store.version(),
    )  # fmt: skip


def _ids(items: list[ItemId]) -> list[int]:
    ids = [int(i.id) for i in items]
    for p in ids:
        if p > MOST:
            raise Problem(404, "no-picture", f"There is no picture {p} here.")
    return ids


def _query(fields: Sequence[EventField]) -> str:
    for f in fields:
        if f.name == "query":
            value = " ".join(f.value) if _is_texts(f.value) else f.value
            if isinstance(value, str) and len(value) <= QUERY:
                return value
    raise Problem(422, "no-query", f"A field query of at most {QUERY} characters is needed.")


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _since(started: float) -> int:
    return round(1000 * (time.monotonic() - started))
