"""Background jobs: start, list, follow and cancel index, train and evaluate."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field
from starlette.types import Receive, Scope, Send

from sightline import plugins
from sightline.web.jobs import JobEvent, ServerJob
from sightline.web.problems import Problem
from sightline.web.service import Service
from sightline.web.shapes import Body, Name, RegisteredName, Served

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

Part = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
Parts = Annotated[tuple[Part, ...], Field(max_length=50)]


Ranker = Annotated[str, RegisteredName(plugins.rankers, "ranker")]
Rankers = Annotated[tuple[Ranker, ...], Field(max_length=50)]
One = Annotated[Name, Path()]
# A keep-alive message.
_BEAT_SECONDS = 15.0
_EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string"}, "data": {"type": "string"},
        "event": {"enum": ["queued", "running", "progress", "end"]},
    },
    "required": ["id", "event", "data"],
}  # fmt: skip
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events of the job, until it ends",
        # The schema describes each event; its data are JSON.
        "content": {"text/event-stream": {"schema": _EVENT}},
    }
}


class IndexJob(Body):
    """Bring the store up to date with the folder."""

    verb: Literal["index"]
    features: Parts = ()
    retry: bool = False
    refit: bool = False
    allow_empty: bool = False


class TrainJob(Body):
    """Train words; with `similar`, `regions` or `text` (one of them) another kind of model.

    These are the similarity of pictures, the regions of words, and the space of texts and pictures.
    `GET /v1/rankers` lists the rankers and which of them a search tries by default. `search` are
    seconds to search for a better model of words once the quick one is published, true for no
    limit; `trials` is the number of trials after which it ends.
    """

    verb: Literal["train"]
    rankers: Rankers = ()
    features: Parts = ()
    similar: bool = False
    regions: bool = False
    text: bool = False
    search: bool | Annotated[float, Field(ge=0, le=1e7)] = False
    trials: Annotated[int, Field(ge=0)] | None = None
    force: bool = False
    dry_run: bool = False


class EvaluateJob(Body):
    """Measure the model on held-out pictures."""

    verb: Literal["evaluate"]
    curve: bool = True


JobBody = Annotated[IndexJob | TrainJob | EvaluateJob, Field(discriminator="verb")]


class JobState(BaseModel):
    """A job: queued, running, done, failed or cancelled; times are seconds since 1970."""

    version: int
    id: str
    verb: str
    state: str
    begun: float | None
    ended: float | None
    detail: str
    progress: dict[str, Any] | None
    report: Any = None


class JobStates(BaseModel):
    """Jobs, the newest first."""

    version: int
    jobs: list[JobState]


@router.post("", status_code=202)
def start(body: JobBody, service: Served, response: Response) -> JobState:
    """Queue a job; it runs in its own process."""
    if isinstance(body, TrainJob) and sum((body.similar, body.regions, body.text)) > 1:
        detail = "One thing is trained at a time: set one of similar, regions and text."
        raise Problem(400, "usage", detail)
    if isinstance(body, TrainJob) and _searches_others(body):
        detail = "Only for a model of words is searched: leave out search and trials."
        raise Problem(400, "usage", detail)
    if isinstance(body, IndexJob) or (isinstance(body, TrainJob) and not body.dry_run):
        service.collection.store.require_writable()
    job = service.jobs.start(body.verb, body.model_dump(exclude={"verb"}))
    response.headers["location"] = f"/v1/jobs/{job.id}"
    return _state(job, service)


def _searches_others(body: TrainJob) -> bool:
    is_search = body.search is not False or body.trials is not None
    return is_search and (body.similar or body.regions or body.text)


@router.get("")
def jobs(service: Served) -> JobStates:
    """Return the jobs of this server."""
    states = [_state(j, service) for j in service.jobs.all()]
    return JobStates(version=service.collection.store.version(), jobs=states)


@router.get("/{job}")
def job(job: One, service: Served) -> JobState:
    """Return the state of a job, and its report when it is done."""
    return _state(service.jobs.get(job), service)


@router.post("/{job}/cancel")
def cancel(job: One, service: Served) -> JobState:
    """Cancel a job; nothing partial is published, and the previous model stays in use."""
    return _state(service.jobs.cancel(job), service)


@router.get("/{job}/events", response_class=Response, responses=_STREAM)
async def events(
    job: One,
    service: Served,
    last: Annotated[str, Header(alias="Last-Event-ID", pattern=r"^[0-9]{0,15}$")] = "",
) -> Response:
    """Stream the events of a job as server-sent events, after `Last-Event-ID`."""
    return _Stream(service.jobs.get(job), int(last or 0), service)


class _Stream(StreamingResponse):
    """The event stream of a job; the number of streams is limited."""

    def __init__(self, job: ServerJob, after: int, service: Service) -> None:
        super().__init__(_heard(job, after), media_type="text/event-stream")
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # There is no await between the check and the increment, so they are atomic.
        if self._service.streams >= self._service.limits.streams:
            raise Problem(429, "streams", "Too many are listening already. Come back.")
        self._service.streams += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._service.streams -= 1


async def _heard(job: ServerJob, after: int) -> AsyncIterator[str]:
    loop, woken = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        loop.call_soon_threadsafe(woken.set)

    with job.listening(wake):
        while True:
            woken.clear()
            new, ended = job.since(after)
            for e in new:
                after = e.number
                yield _line(e)
            if ended:
                return
            try:
                await asyncio.wait_for(woken.wait(), _BEAT_SECONDS)
            except TimeoutError:
                yield ": still here\n\n"


def _line(e: JobEvent) -> str:
    return f"id: {e.number}\nevent: {e.kind}\ndata: {json.dumps(dict(e.data))}\n\n"


def _state(job: ServerJob, service: Service) -> JobState:
    events, _ = job.since(0)
    progress = next((dict(e.data) for e in reversed(events) if e.kind == "progress"), None)
    return JobState(
        version=service.collection.store.version(), id=job.id, verb=job.verb, state=job.state,
        begun=job.begun, ended=job.ended, detail=job.detail, progress=progress, report=job.report,
    )  # fmt: skip
