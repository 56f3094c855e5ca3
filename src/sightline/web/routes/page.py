"""The static files of the page, by name; no path from a request is opened."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated

from fastapi import APIRouter, Header, Response

from sightline.web.problems import Problem

router = APIRouter(include_in_schema=False)
# Also of servers of several collections, whose page is another one.
files_router = APIRouter(include_in_schema=False)

_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOLDERS = ("", "views/")
Known = Annotated[str, Header(alias="If-None-Match")]


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file of the page."""

    body: bytes
    media: str
    tag: str


@cache
def files() -> dict[str, PageFile]:
    """Return all files of the page by name; they are read once."""
    pages = {}
    for folder in _FOLDERS:
        place = resources.files("sightline.web").joinpath("page", folder)
        for entry in place.iterdir():
            media = _MEDIA.get(entry.name[entry.name.rfind(".") :])
            if entry.is_file() and media:
                body = entry.read_bytes()
                tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
                pages[folder + entry.name] = PageFile(body, media, tag)
    return pages


@router.get("/")
def page(known: Known = "") -> Response:
    """Return the page."""
    return page_file("index.html", known)


@files_router.get("/page/{name:path}")
def file(name: str, known: Known = "") -> Response:
    """Return a file of the page."""
    return page_file(name, known)


def page_file(name: str, known: str) -> Response:
    """Return a file of the page, or that it is the one that is known."""
    entry = files().get(name)
    if entry is None:
        raise Problem(404, "no-route", "There is no such file of the page.")
    headers = {"etag": entry.tag, "cache-control": "private, no-cache"}
    if entry.tag in (tag.strip().removeprefix("W/") for tag in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(entry.body, media_type=entry.media, headers=headers)
