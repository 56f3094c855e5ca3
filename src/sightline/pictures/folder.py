"""Walking a folder of pictures: any file name, no surprises.

Names are bytes. Links are not followed unless asked for, and then only to places inside the
collection and never twice. FIFOs, sockets and devices are named, not opened. A folder that cannot
be read is named, and its pictures are not taken for deleted.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from sightline.pictures.captions import sidecar_names
from sightline.records import Skipped

PICTURES = frozenset(b".jpg .jpeg .jpe .jfif .png .gif .webp .tif .tiff .bmp .dib".split())
EXTRA = frozenset(b".heic .heif .hif .avif".split())
# Files people think of as pictures; each is named as skipped instead of passed over in silence.
REFUSED = frozenset(
    b".svg .svgz .eps .ps .ai .psd .xcf .raw .cr2 .cr3 .nef .arw .dng .orf .rw2 .raf .jp2 .jxl"
    b" .ico .tga .pcx .ppm .pgm .exr .hdr .fits".split()
)


@dataclass(frozen=True, slots=True)
class SidecarFile:
    """A file beside a picture that holds words for it."""

    path: bytes
    size: int
    mtime: int


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture file: path relative to the collection, size, time, and its word files."""

    path: bytes
    size: int
    mtime: int
    sidecars: tuple[SidecarFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A folder that could not be listed; what lies below it is unknown, not gone."""

    path: bytes
    reason: str


def walk(
    root: bytes,
    *,
    follow: bool = False,
    hidden: bool = False,
    exclude: tuple[bytes, ...] = (),
) -> Iterator[PictureFile | Skipped | Unreadable]:
    """Yield every picture below `root` in a fixed order, and what was in the way."""
    visited: set[tuple[int, int]] = set()
    inside = os.path.realpath(root)
    stack = [b""]
    while stack:
        folder = stack.pop()
        try:
            entries = _listing(os.path.join(root, folder), follow, inside, visited)
        except OSError as e:
            yield Unreadable(folder, f"the folder cannot be read: {e.strerror or e}")
            continue
        folders, files, barred = entries
        wanted = [n for n in folders if _wanted(n, hidden) and n not in exclude]
        stack.extend(os.path.join(folder, n) for n in sorted(wanted, reverse=True))
        barred = {n: s for n, s in barred.items() if n not in exclude}
        yield from _in_folder(folder, files, barred, hidden)


def _wanted(name: bytes, hidden: bool) -> bool:
    return hidden or not name.startswith(b".")


_Files = dict[bytes, os.stat_result]


@dataclass(frozen=True, slots=True)
class _Bar:
    """Why an entry of a folder is not read; a `folder` is named whatever its name ends in."""

    kind: str
    reason: str
    folder: bool = False


def _listing(
    folder: bytes, follow: bool, inside: bytes, seen: set[tuple[int, int]]
) -> tuple[list[bytes], _Files, dict[bytes, _Bar]]:
    here = os.stat(folder)
    if (here.st_dev, here.st_ino) in seen:
        return [], {}, {}
    seen.add((here.st_dev, here.st_ino))
    folders: list[bytes] = []
    files: _Files = {}
    barred: dict[bytes, _Bar] = {}
    with os.scandir(folder) as entries:
        for e in entries:
            bar = _barred(e, follow, inside) if e.is_symlink() else None
            if bar is not None:
                barred[e.name] = bar
                continue
            try:
                status = e.stat()
            except OSError as error:
                if e.is_dir(follow_symlinks=False):
                    folders.append(e.name)  # That it cannot be read is said when it is listed.
                    continue
                reason = f"it cannot be read: {error.strerror}"
                barred[e.name] = _Bar("unreadable", reason, error.errno == errno.ELOOP)
                continue
            if stat.S_ISDIR(status.st_mode):
                folders.append(e.name)
            else:
                files[e.name] = status
    return folders, files, barred


def _barred(link: os.DirEntry[bytes], follow: bool, inside: bytes) -> _Bar | None:
    """Say why a link is not followed; None if it is."""
    if not follow:
        reason = "it is a link; use --follow to read it"
    elif not _contained(link.path, inside):
        reason = "it is a link to a place outside the collection"
    else:
        return None
    return _Bar("special", reason, folder=os.path.isdir(link.path))


def _contained(path: bytes, inside: bytes) -> bool:
    real = os.path.realpath(path)
    return real == inside or real.startswith(inside.rstrip(b"/") + b"/")


def _in_folder(
    folder: bytes, files: _Files, barred: dict[bytes, _Bar], hidden: bool
) -> Iterator[PictureFile | Skipped]:
    for name in sorted(files.keys() | barred.keys()):
        ending = os.path.splitext(name)[1].lower()
        bar = barred.get(name)
        is_picture = ending in PICTURES | EXTRA | REFUSED
        if not _wanted(name, hidden) or not (is_picture or (bar is not None and bar.folder)):
            continue
        path = os.path.join(folder, name)
        if bar is not None:
            yield Skipped(path, bar.kind, bar.reason)
        elif not stat.S_ISREG(files[name].st_mode):
            yield Skipped(path, "special", f"it is {_what(files[name].st_mode)}, not a file")
        elif ending in REFUSED:
            yield Skipped(path, "format", f"{ending.decode()} files are not supported")
        else:
            s = files[name]
            yield PictureFile(path, s.st_size, s.st_mtime_ns, _sidecars(folder, name, files))


def _sidecars(folder: bytes, name: bytes, files: _Files) -> tuple[SidecarFile, ...]:
    out = []
    for n in sidecar_names(name):
        s = files.get(n)
        if s is not None and stat.S_ISREG(s.st_mode):
            out.append(SidecarFile(os.path.join(folder, n), s.st_size, s.st_mtime_ns))
    return tuple(out)


def _what(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else "something else"
