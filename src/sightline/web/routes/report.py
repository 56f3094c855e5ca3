"""The report of the collection, health and metrics."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from sightline.collection.index.skipped import skip_groups
from sightline.errors import SightlineError
from sightline.records import shown
from sightline.web.problems import Problem, job_for
from sightline.web.routes.models import Model, version_of
from sightline.web.shapes import Cursor, Page, Served, cursor, number_of_results

router = APIRouter(prefix="/v1", tags=["report"])


class Report(BaseModel):
    """The state of the collection, its models, and their held-out measures.

    `starting_words` says whether a network suggests pictures for nouns that no model has learned.
    `learnt` and `likeness` are what `word_model` and `similarity_model` were called earlier.
    """

    version: int
    pictures: int
    with_words: int
    words: int
    skipped: int
    sessions: int
    word_model: str
    similarity_model: str
    text_model: str
    learnt: str
    likeness: str
    starting_words: bool
    up_to_date: bool
    models: list[Model]


class SkippedFile(BaseModel):
    """A file that was not indexed, with the reason."""

    name: str
    kind: str
    reason: str


class SkippedGroup(BaseModel):
    """Files that were skipped for one reason; `failed` are pictures that could not be read."""

    kind: str
    reason: str
    count: int
    new: int
    example: str
    failed: bool


class SkippedFiles(BaseModel):
    """Files that the last index skipped, pictures that could not be read first, then by name.

    `groups` has all of them by reason, whatever the page of the list.
    """

    version: int
    skipped: list[SkippedFile]
    groups: list[SkippedGroup]
    next: str | None = None


class Health(BaseModel):
    """Whether searches can be answered.

    `status` is ok, or degraded if another engine than the configured one answers; `said` is the
    reason.
    """

    status: str
    version: int
    pictures: int
    engine: str = "flat"
    said: str = ""


@router.get("/report")
def report(service: Served) -> Report:
    """Return the state of the collection, with the held-out measures of its models."""
    c = service.collection
    version, (s, kept, trained, n) = service.of_one_version(
        lambda: (c.status(), c.models.versions(), c.models.is_current(), len(c.sessions.all()))
    )
    models = [m for v in kept if v.current for m in version_of(v).models]
    return Report(
        version=version, pictures=s.pictures, with_words=s.with_words, words=s.words,
        skipped=s.skipped, sessions=n, word_model=s.word_model, similarity_model=s.similarity_model,
        text_model=s.text_model,
        learnt=s.word_model, likeness=s.similarity_model, up_to_date=trained, models=models,
        starting_words=s.starting_words,
    )  # fmt: skip


@router.get("/skipped")
def skipped(
    service: Served,
    k: Annotated[int, number_of_results(100)],
    cursor_: Annotated[Cursor | None, Query(alias="cursor")] = None,
) -> SkippedFiles:
    """Return the files that the last index skipped, with reasons."""
    page = Page(k, cursor_)
    version, files = service.of_one_version(service.collection.pictures.skipped)
    page.check_known(version)
    some = files[page.offset : page.offset + k]
    end = page.offset + len(some)
    return SkippedFiles(
        version=version,
        groups=[SkippedGroup.model_validate(g.to_dict()) for g in skip_groups(files)],
        skipped=[SkippedFile(name=shown(f.path), kind=f.kind, reason=f.reason) for f in some],
        next=cursor(version, end) if end < len(files) else None,
    )


@router.get("/health")
def health(service: Served) -> Health:
    """Return whether the collection is readable and indexed, and its search engine."""
    c = service.collection
    version, (pictures, state) = service.of_one_version(
        lambda: (c.status().pictures, c.engines.status())
    )
    if not pictures:
        detail = "The collection holds no picture. Put some there, then run: sightline index"
        raise Problem(409, "no-pictures", f"{detail}{job_for('no-pictures')}")
    if state is None:
        return Health(status="ok", version=version, pictures=pictures)
    return Health(
        status="ok" if state.serves else "degraded", version=version, pictures=pictures,
        engine=state.name, said=state.message,
    )  # fmt: skip


@router.get(
    "/metrics", response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)  # fmt: skip
def metrics(service: Served) -> Response:
    """Return metrics in the text format of Prometheus."""
    try:
        s = service.collection.status()
        gauges = {"pictures": s.pictures, "version": s.version}
    except SightlineError:
        gauges = {}
    states = [j.state for j in service.jobs.all()]
    gauges |= {f"jobs_{k}": states.count(k) for k in ("queued", "running", "done", "failed")}
    return Response(service.metrics.text(gauges), media_type="text/plain; version=0.0.4")
