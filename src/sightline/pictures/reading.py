"""What a decode worker does with one file: open, hash, decode, read its words, make a thumbnail.

These functions run in another process, so they take and return plain values; `request` and `answer`
convert them in the calling process.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import FileIO
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Done, Job, Json
from sightline.errors import DataError
from sightline.pictures.captions import MAX_SIDECAR, read_sidecar
from sightline.pictures.decode import Unfit, decode
from sightline.pictures.folder import PictureFile
from sightline.pictures.keyword_lists import MAX_LABEL
from sightline.pictures.tally import Loss, cut
from sightline.pictures.thumbnails import thumbnail
from sightline.records import Tags, shown

if TYPE_CHECKING:
    from sightline.settings import Settings

READ_TASK = "sightline.pictures.reading:read_picture"
WORDS_TASK = "sightline.pictures.reading:read_words"
_TEXT_LIMIT = 20_000
_TAGS_LIMIT = 2_000
_LOSSES_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How pictures are read; features depend on it.

    Attributes
    ----------
    side : int
        The longer side of the picture that features are computed from.
    max_megapixels : float
        The largest picture that is decoded.
    max_file_bytes : int
        The largest file that is read.
    follow : bool
        Whether links are followed.
    """

    side: int = 384
    max_megapixels: float = 100.0
    max_file_bytes: int = 200_000_000
    follow: bool = False

    @classmethod
    def of(cls, s: Settings) -> Self:
        """Return the limits that settings name."""
        return cls(s.working_size, s.max_megapixels, int(s.max_file_mb * 1e6), s.follow)


@dataclass(frozen=True, slots=True)
class PictureRead:
    """The content of a picture file, as a worker read it."""

    sha: str
    size: int
    mtime: int
    width: int
    height: int
    format: str
    taken: int | None
    words: tuple[Tags, ...]
    problems: tuple[str, ...]
    losses: tuple[Loss, ...]
    thumbnail: bytes
    rgb: NDArray[np.uint8] | None


def request(
    root: bytes, file: PictureFile, limits: ReadLimits, *, pixels: bool, known: str | None = None
) -> Job:
    """Return the job of reading a picture with its sidecars.

    `known` is a checksum: content that has it needs no thumbnail; "" is that of any content.
    """
    args: dict[str, Json] = {
        "root": _text(root),
        "path": _text(file.path),
        "sidecars": [_text(s.path) for s in file.sidecars],
        "pixels": pixels,
        "known": known,
        "side": limits.side,
        "max_megapixels": limits.max_megapixels,
        "max_file_bytes": limits.max_file_bytes,
        "follow": limits.follow,
    }
    return Job(file.path, args)


def answer(done: Done) -> PictureRead:
    """Return what a worker read, from the plain values it sent.

    A hostile picture may have taken the worker over, so the values are untrusted and checked.

    Raises
    ------
    DataError, ValueError or KeyError
        If they are invalid.
    """
    v = done.value
    n, shape = _int(v["thumbnail"]), v["shape"]
    if not 0 <= n <= len(done.blob):
        raise DataError(f"A worker sent a thumbnail of {n} bytes.")
    rgb = None
    if shape is not None:
        height, width, depth = (_int(x) for x in _list(shape))
        rgb = np.frombuffer(done.blob, np.uint8, offset=n).reshape(height, width, depth)
        if min(rgb.shape) < 1 or depth != 3:
            raise DataError(f"A worker sent a picture of shape {rgb.shape}.")
    taken = v["taken"]
    return PictureRead(
        sha=_clean_text(v["sha"]),
        size=_int(v["size"]),
        mtime=_int(v["mtime"]),
        width=_int(v["width"]),
        height=_int(v["height"]),
        format=_clean_text(v["format"]),
        taken=None if taken is None else _int(taken),
        words=words_of(done),
        problems=problems_of(done),
        losses=losses_of(done),
        thumbnail=done.blob[:n],
        rgb=rgb,
    )


def words_of(done: Done) -> tuple[Tags, ...]:
    """Return the words a worker read."""
    words = []
    for entry in _list(done.value["words"]):
        source, tags, text = _list(entry)
        words.append(
            Tags(_clean_text(source), tuple(_clean_text(t) for t in _list(tags)), _clean_text(text))
        )
    return tuple(words)


def problems_of(done: Done) -> tuple[str, ...]:
    """Return what a worker could not read of the sidecars."""
    return tuple(_clean_text(p) for p in _list(done.value["problems"]))


def losses_of(done: Done) -> tuple[Loss, ...]:
    """Return the words that a worker dropped or cut."""
    losses = []
    for entry in _list(done.value.get("losses", []))[:_LOSSES_LIMIT]:
        kind, reason, example = _list(entry)
        losses.append(Loss(_clean_text(kind), _clean_text(reason), _clean_text(example)))
    return tuple(losses)


def read_picture(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Read one picture file (runs in a worker)."""
    limit = _int(args["max_file_bytes"])
    follow = bool(args["follow"])
    data, status = contents(_bytes(args["root"]), _bytes(args["path"]), limit, follow)
    side, megapixels = _int(args["side"]), args["max_megapixels"]
    if not isinstance(megapixels, int | float):
        raise DataError(f"max_megapixels must be a number. Got {megapixels!r}.")
    picture = decode(data, side=side, max_megapixels=float(megapixels), heavy=alone)
    words, problems, losses = _sidecar_words(args)
    losses += [_at(args["path"], loss) for loss in picture.metadata.losses]
    words_value = _plain([*picture.metadata.tags, *words], _text(_bytes(args["path"])), losses)
    sha = hashlib.sha256(data).hexdigest()
    small = b"" if args["known"] in (sha, "") else thumbnail(picture.rgb)
    pixels = picture.rgb.tobytes() if args["pixels"] else b""
    value: dict[str, Json] = {
        "sha": sha,
        "size": status.st_size,
        "mtime": status.st_mtime_ns,
        "width": picture.width,
        "height": picture.height,
        "format": picture.format,
        "taken": picture.metadata.taken,
        "words": words_value,
        "problems": list[Json](problems),
        "losses": [list[Json](loss) for loss in losses[:_LOSSES_LIMIT]],
        "thumbnail": len(small),
        "shape": list[Json](picture.rgb.shape) if args["pixels"] else None,
    }
    return Done(value, small + pixels)


def read_words(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Read only the word files beside a picture (runs in a worker)."""
    words, problems, losses = _sidecar_words(args)
    value = _plain(words, _text(_bytes(args["path"])), losses)
    lost: list[Json] = [list[Json](loss) for loss in losses[:_LOSSES_LIMIT]]
    return Done({"words": value, "problems": list[Json](problems), "losses": lost})


def open_regular(root: bytes, path: bytes, follow: bool) -> FileIO:
    """Open a regular file; links, pipes and devices that replaced it since the walk are refused.

    The path is opened folder by folder, so that a folder that became a link is not entered. With
    `follow`, links are resolved first, and must lead to a place below `root`.
    """
    if follow:
        root, path = _resolved(root, path)
    *folders, name = path.split(b"/")
    flags = os.O_RDONLY | os.O_CLOEXEC
    try:
        at = os.open(root, flags | os.O_DIRECTORY)
        try:
            for folder in folders:
                above, at = at, os.open(folder, flags | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
                os.close(above)
            fd = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
        finally:
            os.close(at)
    except OSError as e:
        if e.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Unfit("special", "a link has taken its place since the folder was listed") from e
        raise Unfit("unreadable", f"it cannot be opened: {e.strerror}") from e
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Unfit("special", "it is not a regular file")
    return FileIO(fd)


def _resolved(root: bytes, path: bytes) -> tuple[bytes, bytes]:
    inside = os.path.realpath(root)
    real = os.path.realpath(os.path.join(root, path))
    if not real.startswith(inside.rstrip(b"/") + b"/"):
        raise Unfit("special", "it is a link to a place outside the collection")
    return inside, os.path.relpath(real, inside)


def contents(
    root: bytes, path: bytes, limit: int, follow: bool, remedy: str = "raise it with --max-file-mb"
) -> tuple[bytes, os.stat_result]:
    """Return a file's bytes and status; raise `Unfit` if it cannot or must not be read."""
    with open_regular(root, path, follow) as f:
        status = os.fstat(f.fileno())
        if status.st_size > limit:
            raise Unfit(
                "too-large",
                f"the file has {status.st_size / 1e6:.0f} MB, the limit is {limit / 1e6:.0f} MB; "
                + remedy,
            )
        try:
            return f.read(status.st_size), status
        except OSError as e:
            raise Unfit("unreadable", f"it cannot be read: {e.strerror}") from e


def _sidecar_words(args: dict[str, Json]) -> tuple[list[Tags], list[str], list[Loss]]:
    words: list[Tags] = []
    problems: list[str] = []
    losses: list[Loss] = []
    for name in _list(args["sidecars"]):
        path = _bytes(name)
        try:
            remedy, follow = "leave only the words in it", bool(args["follow"])
            data, _ = contents(_bytes(args["root"]), path, MAX_SIDECAR, follow, remedy)
            dropped: list[Loss] = []
            words.append(read_sidecar(path, data, dropped))
            losses += [_at(name, loss) for loss in dropped]
        except DataError as e:
            problems.append(f"{shown(path)}: {e}")
    return words, problems, losses


def _at(path: Json, loss: Loss) -> Loss:
    """Return a loss with the file it is in as the beginning of its example."""
    return loss._replace(example=": ".join(p for p in (shown(_bytes(path)), loss.example) if p))


def _plain(words: Sequence[Tags], path: str, losses: list[Loss]) -> list[Json]:
    """Return words as plain values, cut to a size that no real caption reaches."""
    plain: list[Json] = []
    for w in words:
        if w.tags or w.text:
            tags: list[Json] = [t[:MAX_LABEL] for t in w.tags[:_TAGS_LIMIT]]
            plain.append([w.source, tags, w.text[:_TEXT_LIMIT]])
            losses += (_at(path, loss) for loss in _cut(w))
    return plain


def _cut(words: Tags) -> Iterator[Loss]:
    """Yield what the limits cut off."""
    for label in words.tags[:_TAGS_LIMIT]:
        if len(label) > MAX_LABEL:
            reason = f"a label cut after {MAX_LABEL} characters"
            yield Loss("label-cut", reason, cut(label, 60))
    if len(words.tags) > _TAGS_LIMIT:
        reason = f"labels beyond the first {_TAGS_LIMIT:,} of a source"
        yield Loss("too-many-labels", reason, f"{len(words.tags):,} labels in {words.source}")
    if len(words.text) > _TEXT_LIMIT:
        reason = f"running text cut after {_TEXT_LIMIT:,} characters"
        yield Loss("text-cut", reason, f"{len(words.text):,} characters in {words.source}")


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _bytes(value: Json) -> bytes:
    return str(value).encode("utf-8", "surrogateescape")


def _clean_text(value: Json) -> str:
    return str(value).encode("utf-8", "replace").decode()


def _int(value: Json) -> int:
    if not isinstance(value, int) or abs(value) >= 1 << 63:
        raise DataError(f"A worker sent {value!r} instead of a whole number.")
    return value


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise DataError(f"A worker sent {value!r} instead of a list.")
    return value
