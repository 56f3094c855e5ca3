"""Writing so that what was acknowledged survives a power cut.

A file is written aside, flushed to the disk, renamed into place, and then its folder is flushed,
because a rename lives in the folder. A flush that fails is never tried again: after a failed
fsync the kernel may have dropped the data and report success the second time.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sightline.errors import StoreIOError


@dataclass(frozen=True, slots=True)
class Written:
    """A file that now lies on the disk, with its checksum."""

    name: str
    sha256: str
    size: int


@contextlib.contextmanager
def disk_errors(path: Path | str) -> Iterator[None]:
    """Turn an operating system's refusal into one sentence that names the file and a remedy."""
    try:
        yield
    except OSError as e:
        if isinstance(e, StoreIOError):
            raise
        raise StoreIOError(f"Cannot write {path}: {_reason(e, path)}") from e


def _reason(e: OSError, path: Path | str) -> str:
    if e.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full ({_free(path)} bytes free). Free some space and run again."
    if e.errno == errno.EROFS:
        return "the file system is read-only. Name another place; for a store, with --store."
    if e.errno in (errno.EMFILE, errno.ENFILE):
        return "too many open files. Raise the limit (ulimit -n) and run again."
    return f"{e.strerror or e}. Check the disk and run again."


def _free(path: Path | str) -> int:
    folder = os.path.dirname(path) or "."
    try:
        s = os.statvfs(folder)
    except OSError:
        return 0
    return s.f_bavail * s.f_frsize


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    with disk_errors(folder):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, each made durable in the one above it."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with disk_errors(folder):
        folder.mkdir(exist_ok=True, mode=0o700)
    sync_folder(folder.parent)


def write_file(
    folder: Path, name: str | Callable[[str], str], parts: Iterable[bytes | memoryview]
) -> Written:
    """Write a file whole or not at all, and return its checksum once it is durable.

    `name` may be a function of the checksum, for files named after their content.
    """
    label = name if isinstance(name, str) else name("")
    aside = folder / f"{label}.{os.getpid()}.part"
    digest, size = hashlib.sha256(), 0
    with disk_errors(folder / label):
        try:
            with open(aside, "xb") as f:
                for part in parts:
                    f.write(part)
                    digest.update(part)
                    size += len(part) if isinstance(part, bytes) else part.nbytes
                f.flush()
                os.fsync(f.fileno())
            final = name if isinstance(name, str) else name(digest.hexdigest())
            os.replace(aside, folder / final)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(aside)
            raise
    sync_folder(folder)
    return Written(final, digest.hexdigest(), size)


def adopt_file(folder: Path, aside: Path, name: Callable[[str], str]) -> Written:
    """Give a file that somebody else wrote aside its name, once it is durable."""
    with disk_errors(aside):
        fd = os.open(aside, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        sha256, size = file_sha256(aside), aside.stat().st_size
        os.replace(aside, folder / name(sha256))
    sync_folder(folder)
    return Written(name(sha256), sha256, size)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()
