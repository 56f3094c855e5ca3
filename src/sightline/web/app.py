"""The application: all routes, error handlers, and the OpenAPI 3.1 description."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from sightline.errors import SightlineError
from sightline.web.guard import Guard
from sightline.web.hosts import Hosts
from sightline.web.problems import MEDIA, Problem, for_people, of_error
from sightline.web.routes import (
    describe,
    entry,
    export,
    federation,
    feedback,
    jobs,
    judging,
    models,
    page,
    pictures,
    points,
    regions,
    registries,
    report,
    reviews,
    scenes,
    search,
    sessions,
    tags,
    words,
)
from sightline.web.service import Front, Service

# One module for each group of routes; a new group needs a module and a name here.
GROUPS: tuple[APIRouter, ...] = (
    entry.router,
    entry.login_router,
    page.router,
    page.files_router,
    search.router,
    words.router,
    describe.router,
    pictures.router,
    sessions.router,
    judging.router,
    points.router,
    feedback.router,
    tags.router,
    reviews.router,
    export.router,
    regions.router,
    scenes.router,
    models.router,
    jobs.router,
    registries.router,
    report.router,
)
# Those of several collections.
FEDERATED: tuple[APIRouter, ...] = (entry.login_router, page.files_router, federation.router)
_SAID = "Search, judge and teach a collection of pictures. Every request shows the token."


def build(service: Front) -> FastAPI:
    """Return the application of a service without the guard."""

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        import anyio.to_thread

        limiter = anyio.to_thread.current_default_thread_limiter()
        limiter.total_tokens = service.limits.threads
        warming = asyncio.create_task(asyncio.to_thread(service.warm_rest))
        yield
        await warming
        # Not in the thread pool of requests, whose threads may all be busy.
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="Sightline", version="1", description=_SAID, docs_url=None, redoc_url=None,
        openapi_url="/openapi.json", lifespan=life, redirect_slashes=False,
        responses={"default": problem_reply()},
    )  # fmt: skip
    app.state.service = service
    for group in GROUPS if isinstance(service, Service) else FEDERATED:
        app.include_router(group)
    app.add_exception_handler(Problem, _described)
    app.add_exception_handler(SightlineError, _described)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(HTTPException, _no_route)
    app.add_exception_handler(Exception, _failed)
    _describe(app)
    return app


def guarded(service: Front, hosts: Hosts) -> Guard:
    """Return the application behind the guard."""
    return Guard(build(service), service, hosts)


def problem_reply() -> dict[str, Any]:
    """Return the OpenAPI entry of error responses."""
    fields = {"type": "string"}, {"type": "integer"}
    properties = dict.fromkeys(("type", "title", "code", "detail"), fields[0])
    schema = {
        "type": "object",
        "properties": {**properties, "status": fields[1], "version": fields[1]},
        "required": ["type", "title", "status", "code", "detail"],
    }  # fmt: skip
    return {"description": "A problem (RFC 9457)", "content": {MEDIA: {"schema": schema}}}


def _describe(app: FastAPI) -> None:
    """Add the token to the OpenAPI description, and remove FastAPI's validation errors."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            bearer = {"type": "http", "scheme": "bearer"}
            schema.setdefault("components", {})["securitySchemes"] = {"token": bearer}
            schema["security"] = [{"token": []}]
            for path in schema["paths"].values():
                for operation in path.values():
                    operation["responses"].pop("422", None)
            for name in ("HTTPValidationError", "ValidationError"):
                schema["components"].get("schemas", {}).pop(name, None)
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


async def _reply(request: Request, problem: Problem) -> Response:
    service: Front = request.app.state.service
    response = await service.response(problem, for_people(request.scope["headers"]))
    return Response(response.body, problem.status, response.headers)


async def _described(request: Request, e: Exception) -> Response:
    return await _reply(request, e if isinstance(e, Problem) else of_error(e))


async def _not_understood(request: Request, e: Exception) -> Response:
    """Return which part of a request is invalid, without repeating its values."""
    parts = []
    for error in e.errors()[:5] if isinstance(e, RequestValidationError) else []:
        where = ".".join(str(x)[:60] for x in error["loc"])
        parts.append(f"{where}: {error['msg']}")
    return await _reply(
        request, Problem(422, "invalid", "; ".join(parts).encode("ascii", "replace").decode())
    )


async def _no_route(request: Request, e: Exception) -> Response:
    if not isinstance(e, HTTPException) or e.status_code not in (400, 405):
        return await _reply(
            request, Problem(404, "no-route", "There is nothing here. See: /openapi.json")
        )
    if e.status_code == 400:
        return await _reply(request, Problem(400, "body", "The body cannot be read as JSON."))
    reply = await _reply(
        request, Problem(405, "method", "That method is not known here. See: /openapi.json")
    )
    reply.headers.update(e.headers or {})
    return reply


async def _failed(request: Request, e: Exception) -> Response:
    return await _reply(request, of_error(e))
