"""Durable writing: what was acknowledged survives a power cut.

A file is written under a temporary name, flushed to the disk and renamed into place; then its
folder is flushed, because a rename is a change of the folder. A flush that fails is never tried
again: after a failed fsync the kernel may have dropped the data and report success the second time.

Files are readable and writable by their owner alone (0600) and folders too (0700), whatever the
umask is.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sightline.errors import StoreFull, StoreIOError

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
# A file system in memory, where there is one.
_MEMORY = "/dev/shm"


@dataclass(frozen=True, slots=True)
class Written:
    """A file that is durable on the disk, with its checksum."""

    name: str
    sha256: str
    size: int


@contextlib.contextmanager
def disk_errors(path: Path | str) -> Iterator[None]:
    """Turn an `OSError` into a `StoreIOError` that names the file and a remedy."""
    try:
        yield
    except OSError as e:
        if e.errno in _NO_SPACE:
            raise full_disk(path) from e
        raise StoreIOError(f"Cannot write {path}: {_reason(e, path)}") from e


def full_disk(path: Path | str) -> StoreFull:
    """Return the error of a disk that has no space left for a file."""
    free = free_bytes(path)
    return StoreFull(
        f"Cannot write {path}: the disk is full ({free} bytes free). Free some space and run again."
    )


def _reason(e: OSError, path: Path | str) -> str:
    if e.errno == errno.EROFS:
        return "the file system is read-only. Name another folder; for a store, with --store."
    if e.errno in (errno.EMFILE, errno.ENFILE):
        return "too many open files. Raise the limit (ulimit -n) and run again."
    return f"{e.strerror or e}. Check the disk and run again."


def free_bytes(path: Path | str) -> int:
    """Return how many bytes are free on the disk of a file; 0 if that is unknown."""
    folder = os.path.dirname(path) or "."
    try:
        s = os.statvfs(folder)
    except OSError:
        return 0
    return s.f_bavail * s.f_frsize


def has_space(path: Path | str) -> bool:
    """Return whether the disk of a file has any space left, for bytes and for inodes."""
    try:
        s = os.statvfs(os.path.dirname(path) or ".")
    except OSError:
        return True
    return s.f_bavail > 0 and (s.f_files == 0 or s.f_favail > 0)


@contextlib.contextmanager
def scratch_folder(room: int = 1 << 20) -> Iterator[str]:
    """Make a private temporary folder, and remove it afterwards.

    It is in the usual temporary folder, or in memory if only that has `room` bytes free.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="sightline-", dir=_scratch_parent(room)) as folder:
        yield folder


def scratch_folders() -> list[str]:
    """Return where temporary folders may be made, the usual place first."""
    import tempfile

    try:
        usual = [tempfile.gettempdir()]
    except FileNotFoundError:
        usual = []  # Python could not write to any of the usual places.
    return [*usual, *([_MEMORY] if os.access(_MEMORY, os.W_OK) else [])]


def _scratch_parent(room: int) -> str | None:
    folders = scratch_folders()
    roomy = (folder for folder in folders if free_bytes(f"{folder}/") >= room)
    return next(roomy, next(iter(folders), None))


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
        folder.mkdir(exist_ok=True, mode=PRIVATE_FOLDER)
    sync_folder(folder.parent)


def create_private(path: Path) -> None:
    """Create an empty file for its owner alone; an existing file is left as it is.

    An existing file is not even opened: closing it would drop the locks that SQLite has on it.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))


def open_private(path: str, flags: int) -> int:
    """Open a file; if it is new, only its owner gets access. For `open(…, opener=…)`."""
    return os.open(path, flags | os.O_CLOEXEC, PRIVATE_FILE)


def write_file(
    folder: Path, name: str | Callable[[str], str], parts: Iterable[bytes | memoryview]
) -> Written:
    """Write a file atomically, and return its checksum once it is durable.

    Parameters
    ----------
    folder : Path
        Where the file is written.
    name : str or callable
        Its name, or a function of its checksum, for files named after their content.
    parts : iterable of bytes
        Its content.

    Raises
    ------
    StoreFull
        If the disk is full.
    StoreIOError
        If the file cannot be written for another reason.
    """
    label = name if isinstance(name, str) else name("")
    aside = folder / f"{label}.{os.getpid()}.part"
    digest, size = hashlib.sha256(), 0
    with disk_errors(folder / label):
        try:
            with open(aside, "xb", opener=open_private) as f:
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
    """Make a file durable that a library wrote under a temporary name, then rename it."""
    with disk_errors(aside):
        fd = os.open(aside, os.O_RDONLY)
        try:
            os.fchmod(fd, PRIVATE_FILE)
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
