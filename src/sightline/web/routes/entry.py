"""The index of the API, and the login of browsers."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel

from sightline.web.problems import Problem
from sightline.web.service import Front
from sightline.web.shapes import Served

router = APIRouter(tags=["entry"])
# Also of servers of several collections.
login_router = APIRouter(tags=["entry"])

# Maximum size of a form with a token, in bytes.
_FORM = 1_000


def _front(request: Request) -> Front:
    service: Front = request.app.state.service
    return service


Entered = Annotated[Front, Depends(_front)]


class Index(BaseModel):
    """The index of the API."""

    service: str
    api: int
    version: int
    description: str


@router.get("/v1")
def index(service: Served) -> Index:
    """Return the index of the API."""
    return Index(
        service="sightline", api=1, version=service.collection.store.version(),
        description="/openapi.json",
    )  # fmt: skip


@login_router.get(
    "/login", status_code=303, response_class=Response,
    responses={303: {"description": "The cookie is set; go to /"}},
)  # fmt: skip
def login(
    request: Request, service: Entered, code: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    """Exchange the printed one-time code for a cookie."""
    if not service.enter(code):
        raise Problem(401, "code", "The code is wrong, or was used before. Start the server again.")
    return _let_in(request, service)


@login_router.post("/login", include_in_schema=False)
async def typed(request: Request, service: Entered) -> Response:
    """Exchange a token from the login form for a cookie."""
    given = parse_qs((await request.body())[:_FORM].decode("utf-8", "replace"))
    if not service.is_token(given.get("token", [""])[0].strip()):
        raise Problem(401, "token", "That is not the token of this server.")
    return _let_in(request, service)


def _let_in(request: Request, service: Front) -> Response:
    reply = Response(status_code=303, headers={"location": "/"})
    reply.set_cookie(
        service.cookie_name, service.cookie, httponly=True, samesite="strict", path="/",
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return reply
