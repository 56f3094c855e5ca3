"""Walking a folder of pictures with any file names.

Names are bytes. Links are followed only on request, and then only to places inside the collection
and never twice. FIFOs, sockets and devices are reported, not opened. A folder that cannot be read
is reported, and its pictures do not count as deleted.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from sightline.pictures.captions import sidecar_names
from sightline.pictures.tally import Tally
from sightline.records import NOT_SUPPORTED, Skipped, shown

PICTURES = frozenset(b".jpg .jpeg .jpe .jfif .png .gif .webp .tif .tiff .bmp .dib".split())
EXTRA = frozenset(b".heic .heif .hif .avif".split())
# Files that people regard as pictures; each is reported as skipped instead of ignored.
UNSUPPORTED = frozenset(
    b".svg .svgz .eps .ps .ai .psd .xcf .raw .cr2 .cr3 .nef .arw .dng .orf .rw2 .raf .jp2 .jxl"
    b" .ico .tga .pcx .ppm .pgm .exr .hdr .fits".split()
)


_NAMES = tuple(PICTURES | EXTRA | UNSUPPORTED)
_EXCLUDED = ("excluded", "the setting exclude names it")
_HIDDEN = ("hidden", "hidden; --hidden reads it")


def is_picture_name(name: str) -> bool:
    """Say whether a name is that of a picture file, and not a word.

    >>> is_picture_name("b.jpg"), is_picture_name("./b"), is_picture_name("people")
    (True, True, False)
    """
    suffix = os.path.splitext(os.fsencode(name))[1].lower()
    return suffix in PICTURES | EXTRA or name.startswith(("/", "./", "../", "~/"))


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
    """A folder that could not be listed; its pictures are unknown, not gone."""

    path: bytes
    reason: str


def walk(
    root: bytes,
    *,
    follow: bool = False,
    hidden: bool = False,
    exclude: tuple[bytes, ...] = (),
    left_out: Tally | None = None,
) -> Iterator[PictureFile | Skipped | Unreadable]:
    """Yield every picture below `root`, and what could not be read, in a fixed order.

    Parameters
    ----------
    root : bytes
        The collection's folder.
    follow : bool, default=False
        Whether to follow links to places inside the collection.
    hidden : bool, default=False
        Whether to read names that begin with a dot.
    exclude : tuple of bytes, default=()
        Names of folders and files to leave out.
    left_out : Tally, optional
        Where to count what is not looked at: hidden names, excluded ones, files without the name of
        a picture.
    """
    left_out = left_out or Tally()
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
        folders, files, obstacles = entries
        visible = [n for n in folders if _is_visible(n, hidden) and n not in exclude]
        _count_left_out(folder, entries, hidden, exclude, left_out)
        stack.extend(os.path.join(folder, n) for n in sorted(visible, reverse=True))
        obstacles = {n: s for n, s in obstacles.items() if n not in exclude}
        yield from _in_folder(folder, files, obstacles, hidden)


def _count_left_out(
    folder: bytes,
    entries: tuple[list[bytes], _Files, dict[bytes, _Obstacle]],
    hidden: bool,
    exclude: tuple[bytes, ...],
    left_out: Tally,
) -> None:
    folders, files, obstacles = entries
    for name in sorted(folders):
        if name in exclude:
            left_out.add(*_EXCLUDED, shown(os.path.join(folder, name)) + "/")
        elif not _is_visible(name, hidden):
            left_out.add(*_HIDDEN, shown(os.path.join(folder, name)) + "/")
    for name in sorted(obstacles.keys() & {*exclude}):
        left_out.add(*_EXCLUDED, shown(os.path.join(folder, name)))
    pictures = {name for name in files if name.lower().endswith(_NAMES)}
    for name in sorted(name for name in pictures if name[:1] == b"." and not hidden):
        left_out.add(*_HIDDEN, shown(os.path.join(folder, name)))
    if len(pictures) < len(files):
        others = files.keys() - pictures
        others -= {n for name in pictures for n in sidecar_names(name)}
        for name in sorted(others):
            left_out.add("no-picture", "no picture by its name", shown(os.path.join(folder, name)))


def _is_visible(name: bytes, hidden: bool) -> bool:
    return hidden or not name.startswith(b".")


_Files = dict[bytes, os.stat_result]


@dataclass(frozen=True, slots=True)
class _Obstacle:
    """Why an entry is not read; if it is a `folder`, it is reported whatever its extension."""

    kind: str
    reason: str
    folder: bool = False


def _listing(
    folder: bytes, follow: bool, inside: bytes, visited: set[tuple[int, int]]
) -> tuple[list[bytes], _Files, dict[bytes, _Obstacle]]:
    status_of_folder = os.stat(folder)
    if (status_of_folder.st_dev, status_of_folder.st_ino) in visited:
        return [], {}, {}
    visited.add((status_of_folder.st_dev, status_of_folder.st_ino))
    folders: list[bytes] = []
    files: _Files = {}
    obstacles: dict[bytes, _Obstacle] = {}
    with os.scandir(folder) as entries:
        for e in entries:
            obstacle = _link_obstacle(e, follow, inside) if e.is_symlink() else None
            if obstacle is not None:
                obstacles[e.name] = obstacle
                continue
            try:
                status = e.stat()
            except OSError as error:
                if e.is_dir(follow_symlinks=False):
                    folders.append(e.name)  # The error is reported when it is listed.
                    continue
                reason = f"it cannot be read: {error.strerror}"
                obstacles[e.name] = _Obstacle("unreadable", reason, error.errno == errno.ELOOP)
                continue
            if stat.S_ISDIR(status.st_mode):
                folders.append(e.name)
            else:
                files[e.name] = status
    return folders, files, obstacles


def _link_obstacle(link: os.DirEntry[bytes], follow: bool, inside: bytes) -> _Obstacle | None:
    """Return why a link is not followed; None if it is."""
    if not follow:
        reason = "it is a link; use --follow to read it"
    elif not _contained(link.path, inside):
        reason = "it is a link to a place outside the collection"
    else:
        return None
    return _Obstacle("special", reason, folder=os.path.isdir(link.path))


def _contained(path: bytes, inside: bytes) -> bool:
    real = os.path.realpath(path)
    return real == inside or real.startswith(inside.rstrip(b"/") + b"/")


def _in_folder(
    folder: bytes, files: _Files, obstacles: dict[bytes, _Obstacle], hidden: bool
) -> Iterator[PictureFile | Skipped]:
    for name in sorted(files.keys() | obstacles.keys()):
        ending = os.path.splitext(name)[1].lower()
        obstacle = obstacles.get(name)
        is_picture = ending in PICTURES | EXTRA | UNSUPPORTED
        if not _is_visible(name, hidden) or not (
            is_picture or (obstacle is not None and obstacle.folder)
        ):
            continue
        path = os.path.join(folder, name)
        if obstacle is not None:
            yield Skipped(path, obstacle.kind, obstacle.reason)
        elif not stat.S_ISREG(files[name].st_mode):
            yield Skipped(path, "special", f"it is {_file_type(files[name].st_mode)}, not a file")
        elif ending in UNSUPPORTED:
            yield Skipped(path, "format", f"{ending.decode()} {NOT_SUPPORTED}")
        else:
            s = files[name]
            yield PictureFile(path, s.st_size, s.st_mtime_ns, _sidecars(folder, name, files))


def _sidecars(folder: bytes, name: bytes, files: _Files) -> tuple[SidecarFile, ...]:
    sidecars = []
    for n in sidecar_names(name):
        s = files.get(n)
        if s is not None and stat.S_ISREG(s.st_mode):
            sidecars.append(SidecarFile(os.path.join(folder, n), s.st_size, s.st_mtime_ns))
    return tuple(sidecars)


def _file_type(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else "something else"
