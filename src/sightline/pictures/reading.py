"""What a decode worker does with one file: open, hash, decode, read its words, make a thumbnail.

These functions cross a process border, so they take and give plain values; `request` and `answer`
are the two ends on our side of it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Done, Job, Json
from sightline.errors import DataError
from sightline.pictures.captions import read_sidecar
from sightline.pictures.decode import Unfit, decode
from sightline.pictures.folder import Found
from sightline.pictures.thumbnails import thumbnail
from sightline.records import Tags

READ_TASK = "sightline.pictures.reading:read_picture"
WORDS_TASK = "sightline.pictures.reading:read_words"
_TEXT_LIMIT = 20_000
_TAGS_LIMIT = 2_000


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How pictures are read; part of what their features depend on."""

    side: int = 384
    max_megapixels: float = 100.0
    max_file_bytes: int = 200_000_000
    follow: bool = False


@dataclass(frozen=True, slots=True)
class PictureRead:
    """A picture file as a worker saw it."""

    sha: str
    size: int
    mtime: int
    width: int
    height: int
    format: str
    taken: int | None
    words: tuple[Tags, ...]
    problems: tuple[str, ...]
    thumbnail: bytes
    rgb: NDArray[np.uint8] | None


def request(root: bytes, found: Found, limits: ReadLimits, *, pixels: bool) -> Job:
    """Return the job of reading a picture with its word files."""
    args: dict[str, Json] = {
        "root": _text(root),
        "path": _text(found.path),
        "sidecars": [_text(s.path) for s in found.sidecars],
        "pixels": pixels,
        **asdict(limits),
    }
    return Job(found.path, args)


def answer(done: Done) -> PictureRead:
    """Return what a worker found, from the plain values it sent."""
    v = done.value
    n, shape = _int(v["thumbnail"]), v["shape"]
    rgb = None
    if isinstance(shape, list):
        size = tuple(_int(x) for x in shape)
        rgb = np.frombuffer(done.blob, np.uint8, offset=n).reshape(size)
    taken = v["taken"]
    return PictureRead(
        sha=str(v["sha"]),
        size=_int(v["size"]),
        mtime=_int(v["mtime"]),
        width=_int(v["width"]),
        height=_int(v["height"]),
        format=str(v["format"]),
        taken=None if taken is None else _int(taken),
        words=words_of(done),
        problems=problems_of(done),
        thumbnail=done.blob[:n],
        rgb=rgb,
    )


def words_of(done: Done) -> tuple[Tags, ...]:
    """Return the words a worker found."""
    out = []
    for entry in _list(done.value["words"]):
        source, tags, text = _list(entry)
        out.append(Tags(str(source), tuple(str(t) for t in _list(tags)), str(text)))
    return tuple(out)


def problems_of(done: Done) -> tuple[str, ...]:
    """Return what a worker could not read of the words."""
    return tuple(str(p) for p in _list(done.value["problems"]))


def read_picture(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Read one picture file (runs in a worker)."""
    limit = _int(args["max_file_bytes"])
    follow = bool(args["follow"])
    data, status = _contents(_bytes(args["root"]), _bytes(args["path"]), limit, follow)
    side, megapixels = _int(args["side"]), args["max_megapixels"]
    if not isinstance(megapixels, int | float):
        raise DataError(f"max_megapixels must be a number. Got {megapixels!r}.")
    picture = decode(data, side=side, max_megapixels=float(megapixels), heavy=alone)
    words, problems = _sidecar_words(args)
    small = thumbnail(picture.rgb)
    pixels = picture.rgb.tobytes() if args["pixels"] else b""
    value: dict[str, Json] = {
        "sha": hashlib.sha256(data).hexdigest(),
        "size": status.st_size,
        "mtime": status.st_mtime_ns,
        "width": picture.width,
        "height": picture.height,
        "format": picture.format,
        "taken": picture.metadata.taken,
        "words": _plain([*picture.metadata.tags, *words]),
        "problems": list[Json](problems),
        "thumbnail": len(small),
        "shape": list[Json](picture.rgb.shape) if args["pixels"] else None,
    }
    return Done(value, small + pixels)


def read_words(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Read only the word files beside a picture (runs in a worker)."""
    words, problems = _sidecar_words(args)
    return Done({"words": _plain(words), "problems": list[Json](problems)})


def _contents(root: bytes, path: bytes, limit: int, follow: bool) -> tuple[bytes, os.stat_result]:
    """Read a regular file; a link or pipe put in its place since the walk is not followed."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        fd = os.open(os.path.join(root, path), flags)
    except OSError as e:
        raise Unfit("unreadable", f"it cannot be opened: {e.strerror}") from e
    with open(fd, "rb", buffering=0) as f:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise Unfit("special", "it is not a regular file")
        if status.st_size > limit:
            raise Unfit(
                "too-large",
                f"the file has {status.st_size / 1e6:.0f} MB, the limit is {limit / 1e6:.0f} MB; "
                "raise it with --max-file-mb",
            )
        try:
            return f.read(status.st_size), status
        except OSError as e:
            raise Unfit("unreadable", f"it cannot be read: {e.strerror}") from e


def _sidecar_words(args: dict[str, Json]) -> tuple[list[Tags], list[str]]:
    words, problems = [], []
    for name in _list(args["sidecars"]):
        path = _bytes(name)
        try:
            data, _ = _contents(_bytes(args["root"]), path, 1 << 20, False)
            words.append(read_sidecar(path, data))
        except DataError as e:
            problems.append(f"{name}: {e}")
    return words, problems


def _plain(words: Sequence[Tags]) -> list[Json]:
    """Return words as plain values, cut to a size no honest caption reaches."""
    out: list[Json] = []
    for w in words:
        if w.tags or w.text:
            tags: list[Json] = [t[:200] for t in w.tags[:_TAGS_LIMIT]]
            out.append([w.source, tags, w.text[:_TEXT_LIMIT]])
    return out


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _bytes(value: Json) -> bytes:
    return str(value).encode("utf-8", "surrogateescape")


def _int(value: Json) -> int:
    if not isinstance(value, int):
        raise DataError(f"A worker sent {value!r} where a whole number belongs.")
    return value


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise DataError(f"A worker sent {value!r} where a list belongs.")
    return value
