"""Relevance feedback in the format of Qdrant's `points/query`.

`relevance_feedback` takes a target (words, or the id of a picture) and examples with scores;
`recommend` takes positive and negative pictures; `nearest` takes one. Examples are left out of the
result, and nothing is stored: to store judgements, open a session.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from sightline.web.limits import DEEPEST, NAMED
from sightline.web.problems import Problem
from sightline.web.service import Service
from sightline.web.shapes import (
    Body,
    CorrectionResponse,
    Id,
    Ids,
    Limit,
    NotLearnedResponse,
    Served,
    Words,
    corrections,
    hit,
    not_learned,
    words_only,
)

router = APIRouter(prefix="/collections", tags=["points"])

# Examples with a higher score are positive, the others negative.
_EDGE = 0.5


class Example(Body):
    """A picture and its relevance, from 0 to 1."""

    example: Id
    score: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Feedback(Body):
    """A target and examples; there is only one strategy, so its parameters are ignored."""

    target: Id | Words
    feedback: Annotated[tuple[Example, ...], Field(max_length=NAMED)] = ()
    strategy: dict[Literal["naive"], dict[str, float]] | None = None


class Recommend(Body):
    """Positive and negative pictures."""

    positive: Annotated[Ids, Field(min_length=1)]
    negative: Ids = ()


class FeedbackQuery(Body):
    """Relevance feedback."""

    relevance_feedback: Feedback


class RecommendQuery(Body):
    """Recommendation by examples."""

    recommend: Recommend


class NearestQuery(Body):
    """Pictures that are similar to one."""

    nearest: Id


class QueryBody(Body):
    """A query in Qdrant's format, without filters and vectors."""

    query: FeedbackQuery | RecommendQuery | NearestQuery | Id
    limit: Limit = 10
    offset: Annotated[int, Field(ge=0, lt=DEEPEST)] = 0
    with_payload: bool = True


class Point(BaseModel):
    """A picture of the result; `version` is that of the collection."""

    id: int
    version: int
    score: float
    payload: dict[str, Any] | None


class Points(BaseModel):
    """Pictures, best first."""

    points: list[Point]


class PointsResponse(BaseModel):
    """A response in Qdrant's format; `not_learned` and `corrections` as in a search."""

    result: Points
    status: str
    time: float
    version: int
    not_learned: tuple[NotLearnedResponse, ...] = ()
    corrections: tuple[CorrectionResponse, ...] = ()


@router.post("/{collection}/points/query")
def query(
    collection: Annotated[str, Path(pattern=r"^[\w-]{1,64}$")], body: QueryBody, service: Served
) -> PointsResponse:
    """Find pictures by a target and examples; the only collection is called `pictures`."""
    started = time.monotonic()
    if collection != "pictures":
        raise Problem(404, "no-collection", "The one collection here is called pictures.")
    target, fit, unfit = _asked(body)
    service.here([*([target] if isinstance(target, int) else []), *fit, *unfit])
    results = _found(service, target, fit, unfit, min(body.offset + body.limit, DEEPEST))
    points = []
    for h in map(hit, results.hits[body.offset :]):
        payload = h.model_dump(exclude={"id", "score"}) if body.with_payload else None
        points.append(Point(id=h.id, version=results.version, score=h.score, payload=payload))
    took = round(time.monotonic() - started, 6)
    return PointsResponse(
        result=Points(points=points), status="ok", time=took, version=results.version,
        not_learned=not_learned(results.not_learned), corrections=corrections(results.corrections),
    )  # fmt: skip


def _asked(body: QueryBody) -> tuple[int | str, list[int], list[int]]:
    """Return the target, the positive and the negative examples."""
    q = body.query
    if isinstance(q, int):
        return q, [], []
    if isinstance(q, NearestQuery):
        return q.nearest, [], []
    if isinstance(q, RecommendQuery):
        first, *more = q.recommend.positive
        return first, more, list(q.recommend.negative)
    examples = q.relevance_feedback.feedback
    fit = [e.example for e in examples if e.score > _EDGE]
    unfit = [e.example for e in examples if e.score < _EDGE]
    return q.relevance_feedback.target, fit, unfit


def _found(service: Service, target: int | str, fit: list[int], unfit: list[int], k: int) -> Any:
    c = service.collection
    if isinstance(target, str):
        return c.sessions.refine(words_only(target), positive=fit, negative=unfit, k=k)
    # The target is itself a positive example.
    return c.sessions.refine(
        examples=target, positive=[p for p in fit if p != target], negative=unfit, k=k
    )
