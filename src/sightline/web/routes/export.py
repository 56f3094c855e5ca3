"""Export of the words of pictures as a file."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BeforeValidator, Field

from sightline.exchange.exported import EARLIER_KINDS, Kind
from sightline.registry import EXPORT_FORMATS
from sightline.store.durable import scratch_folder
from sightline.web.problems import Problem
from sightline.web.service import Service
from sightline.web.shapes import RegisteredName, Served

router = APIRouter(prefix="/v1", tags=["export"])

_BLOCK = 1 << 18
# Exports are rarely larger; the size is known only when the file is written.
_ROOM = 64 << 20
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A file",
        "content": {
            entry.media_type.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}}
            for entry in EXPORT_FORMATS.values()
            if entry.is_file
        },
    }
}

FileFormat = Annotated[
    str,
    RegisteredName(
        lambda: [name for name, entry in EXPORT_FORMATS.items() if entry.is_file], "format"
    ),
]
KindName = Annotated[Kind, BeforeValidator(lambda kind: EARLIER_KINDS.get(kind, kind))]
Kinds = Annotated[tuple[KindName, ...], Field(max_length=3)]


@router.get("/export", response_class=Response, responses=_FILE)
def export(
    service: Served,
    format: Annotated[FileFormat, Query()],
    only: Annotated[Kinds, Query()] = (),
) -> Response:
    """Return a file of the words of pictures: their own, accepted and predicted ones."""
    place, entry = service.exports, EXPORT_FORMATS[format]
    if not place.acquire(blocking=False):
        raise Problem(429, "exports", "Other files are being written just now. Come back.")
    try:
        version, file = service.of_one_version(lambda: _written(service, format, only))
        blocks = _Blocks(file, place)
    except BaseException:
        place.release()
        raise
    headers = {
        "content-disposition": f'attachment; filename="{entry.file}"',
        "sightline-version": str(version),
        "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    }
    return StreamingResponse(blocks, media_type=entry.media_type, headers=headers)


def _written(service: Service, form: str, only: tuple[str, ...]) -> BinaryIO:
    """Write the file, unlink it, and return it open, so that nothing is left behind."""
    with scratch_folder(_ROOM) as folder:
        path = os.path.join(folder, EXPORT_FORMATS[form].file)
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
