"""Pictures by id: information, thumbnails, originals; and folders. Requests contain no paths."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from io import FileIO
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from sightline.pictures.thumbnails import media_type
from sightline.records import shown
from sightline.store.catalogue import Facts
from sightline.web.shapes import Cursor, Id, Page, Served, cursor, number_of_results

router = APIRouter(prefix="/v1", tags=["pictures"])

# The media types of the formats that are indexed.
_MEDIA = {
    "JPEG": "image/jpeg", "PNG": "image/png", "GIF": "image/gif", "WEBP": "image/webp",
    "TIFF": "image/tiff", "BMP": "image/bmp", "HEIF": "image/heif", "AVIF": "image/avif",
}  # fmt: skip
_BLOCK = 1 << 18
_ALONE = "default-src 'none'; sandbox; frame-ancestors 'none'"
BINARY: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A picture",
        "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class SourceResponse(BaseModel):
    """The words of a picture from one source."""

    source: str
    tags: list[str]
    text: str


class Picture(BaseModel):
    """Information about a picture; times are seconds since 1970."""

    version: int
    id: int
    name: str
    bytes: int
    changed: int
    taken: int | None
    width: int
    height: int
    format: str
    words: list[SourceResponse]


class FolderResponse(BaseModel):
    """A folder; filters take its `id`, and `pictures` counts those in it and below."""

    id: str
    name: str
    pictures: int


class Folders(BaseModel):
    """Folders, by name."""

    version: int
    folders: list[FolderResponse]
    next: str | None = None


@router.get("/pictures/{picture}")
def picture(picture: Annotated[Id, Path()], service: Served) -> Picture:
    """Return information about a picture."""
    service.here([picture])
    info = service.collection.pictures.info(picture)
    f = info.facts
    return Picture(
        version=info.version, id=f.picture, name=shown(f.path), bytes=f.size,
        changed=f.mtime // 10**9, taken=f.taken, width=f.width, height=f.height, format=f.format,
        words=[
            SourceResponse(source=w.source, tags=list(w.tags), text=w.text) for w in info.words
        ],
    )  # fmt: skip


@router.get(
    "/pictures/{picture}/thumbnail", response_class=Response,
    responses={**BINARY, 304: {"description": "It is the one that is known"}},
)  # fmt: skip
def thumbnail(
    picture: Annotated[Id, Path()],
    service: Served,
    known: Annotated[str, Header(alias="If-None-Match", max_length=100)] = "",
) -> Response:
    """Return the thumbnail as JPEG, without metadata."""
    service.here([picture])
    version, (small,) = service.of_one_version(
        lambda: service.collection.pictures.thumbnails([picture])
    )
    return picture_reply(small, known, headers_of(version))


@router.get("/pictures/{picture}/original", response_class=Response, responses=BINARY)
def original(picture: Annotated[Id, Path()], service: Served) -> Response:
    """Return the original file."""
    service.here([picture])
    version = service.collection.store.version()
    file, facts = service.collection.pictures.open(picture)
    return OriginalFile.of(file, facts, headers_of(version))


@router.get("/folders")
def folders(
    service: Served,
    k: Annotated[int, number_of_results(100)],
    cursor_: Annotated[Cursor | None, Query(alias="cursor")] = None,
) -> Folders:
    """Return the folders of the collection."""
    page = Page(k, cursor_)
    version, listing = service.of_one_version(service.collection.pictures.folders)
    page.check_known(version)
    some = listing[page.offset : page.offset + k]
    end = page.offset + len(some)
    return Folders(
        version=version,
        folders=[FolderResponse(id=f.id, name=shown(f.path), pictures=f.pictures) for f in some],
        next=cursor(version, end) if end < len(listing) else None,
    )


def headers_of(version: int | None = None) -> dict[str, str]:
    """Return the headers of a picture: a browser shows it alone, and runs nothing of it."""
    alone = {"content-security-policy": _ALONE, "cache-control": "private, no-cache"}
    return alone if version is None else {"sightline-version": str(version), **alone}


def picture_reply(small: bytes, known: str, headers: dict[str, str] | None = None) -> Response:
    """Return a thumbnail, or that it is the one that is known."""
    tag = f'"{hashlib.sha256(small).hexdigest()[:16]}"'
    tagged = {**(headers or headers_of()), "etag": tag}
    if known == tag:
        return Response(status_code=304, headers=tagged)
    return Response(small, media_type=media_type(small), headers=tagged)


class OriginalFile(StreamingResponse):
    """An open file that is closed however the response ends, even before its first block."""

    @classmethod
    def of(cls, file: FileIO, facts: Facts, headers: dict[str, str]) -> OriginalFile:
        """Return the response of a file with the media type of its format."""
        media = _MEDIA.get(facts.format.upper(), "application/octet-stream")
        return cls(file, media, headers)

    def __init__(self, file: FileIO, media: str, headers: dict[str, str]) -> None:
        super().__init__(_blocks(file), media_type=media, headers=headers)
        self.file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file and close it."""
        with self.file:
            await super().__call__(scope, receive, send)


def _blocks(file: FileIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block
