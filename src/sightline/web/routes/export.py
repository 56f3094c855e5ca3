"""Export of the words of pictures as a file."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from sightline.collection.export.target import FILES
from sightline.store.durable import scratch_folder
from sightline.web.problems import Problem
from sightline.web.service import Service
from sightline.web.shapes import Served

router = APIRouter(prefix="/v1", tags=["export"])

# Responses of type application/json contain a version, which COCO files do not.
_MEDIA = {
    "csv": "text/csv; charset=utf-8", "json": "application/x-ndjson",
    "coco": "application/octet-stream",
}  # fmt: skip
_BLOCK = 1 << 18
# Exports are rarely larger; the size is known only when the file is written.
_ROOM = 64 << 20
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A file",
        "content": {
            kind.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}}
            for kind in _MEDIA.values()
        },
    }
}

Kinds = Annotated[tuple[Literal["accepted", "carried", "proposed"], ...], Field(max_length=3)]


@router.get("/export", response_class=Response, responses=_FILE)
def export(
    service: Served,
    format: Annotated[Literal["csv", "json", "coco"], Query()],
    only: Annotated[Kinds, Query()] = (),
) -> Response:
    """Return a file of the words of pictures: their own, accepted and predicted ones."""
    place = service.exports
    if not place.acquire(blocking=False):
        raise Problem(429, "exports", "Other files are being written just now. Come back.")
    try:
        version, file = service.of_one_version(lambda: _written(service, format, only))
        blocks = _Blocks(file, place)
    except BaseException:
        place.release()
        raise
    headers = {
        "content-disposition": f'attachment; filename="{FILES[format]}"',
        "sightline-version": str(version),
        "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    }
    return StreamingResponse(blocks, media_type=_MEDIA[format], headers=headers)


def _written(service: Service, form: str, only: tuple[str, ...]) -> BinaryIO:
    """Write the file, unlink it, and return it open, so that nothing is left behind."""
    with scratch_folder(_ROOM) as folder:
        path = os.path.join(folder, FILES[form])
        service.collection.export(form, path, only=only)
        return open(path, "rb")


class _Blocks(Iterator[bytes]):
    """A file in blocks; frees its export slot when it is read or the client disconnects."""

    def __init__(self, file: BinaryIO, place: threading.Semaphore) -> None:
        self._file = file
        self._end = weakref.finalize(self, _let_go, file, place)

    def __next__(self) -> bytes:
        block = b"" if self._file.closed else self._file.read(_BLOCK)
        if not block:
            self._end()
            raise StopIteration
        return block


def _let_go(file: BinaryIO, place: threading.Semaphore) -> None:
    file.close()
    place.release()
