"""Atomic writes into the user's folders: whole files, through no link, over nothing unread.

A file is written to a temporary name, flushed, and only then renamed; the folder is flushed last.
Folders are opened one below the other without following links, so that nothing is written outside.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator

from sightline.errors import DataError, StoreIOError
from sightline.records import shown

# The temporary names, by which the leftovers of a killed run are found.
_ASIDE = re.compile(rb"\.sightline-[0-9a-f]{16}\.part")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Errors that every other file would meet too.
_FATAL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE}


@contextlib.contextmanager
def folder_below(root: bytes, path: bytes, *, make: bool = False) -> Iterator[int]:
    """Open a folder below another one, without following links.

    Raises
    ------
    DataError
        A link or a file is in the way, or it cannot be opened.
    """
    at = os.open(root, _FOLDER)
    try:
        for name in path.split(b"/") if path else ():
            above, at = at, _step(at, name, make)
            os.close(above)
        yield at
    finally:
        os.close(at)


def _step(at: int, name: bytes, make: bool) -> int:
    if make:
        with contextlib.suppress(FileExistsError), write_errors(name):
            os.mkdir(name, dir_fd=at)
            os.fsync(at)
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
    except OSError as e:
        if e.errno in (errno.ELOOP, errno.ENOTDIR):
            raise DataError(f"{shown(name)} is a link or a file, not a folder") from e
        raise DataError(f"the folder {shown(name)} cannot be opened: {e.strerror}") from e


def checksum(data: bytes) -> str:
    """Return by what a file is known to be unchanged."""
    return hashlib.sha256(data).hexdigest()


def contents(at: int, name: bytes, limit: int, *, read_only: bool = False) -> bytes | None:
    """Return what a regular file holds; None if there is none.

    Raises
    ------
    DataError
        It is a link or no file, is read-only (unless that will do), larger than `limit`, or cannot
        be read.
    """
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    except FileNotFoundError:
        return None
    except OSError as e:
        if e.errno == errno.ELOOP:
            raise DataError("it is a link, and links are not written through") from e
        raise DataError(f"it cannot be read: {e.strerror}") from e
    with open(fd, "rb") as f:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            raise DataError("it is not a regular file")
        if not read_only and not about.st_mode & 0o222:
            raise DataError("it is read-only")
        if about.st_size > limit:
            raise DataError(f"it has {about.st_size} bytes, and at most {limit} are read")
        try:
            return f.read(limit + 1)
        except OSError as e:
            raise DataError(f"it cannot be read: {e.strerror}") from e


def put_new(at: int, name: bytes, data: bytes) -> bool:
    """Write a new file; return False if there is one of that name."""
    with _aside(at, data, name) as aside, write_errors(name):
        try:
            # Unlike a rename, this fails if somebody made the file meanwhile.
            os.link(aside, name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as e:
            if e.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
                raise
            # A file system without links, such as that of a memory card.
            if _exists(at, name):
                return False
            os.replace(aside, name, src_dir_fd=at, dst_dir_fd=at)
        os.fsync(at)
    return True


def put_over(at: int, name: bytes, data: bytes, before: str | None = None) -> None:
    """Write a file in place of one that is there, whose content still must have a checksum.

    Raises
    ------
    DataError
        Somebody changed it meanwhile; it is left as it is.
    """
    with _aside(at, data, name, like=True) as aside, write_errors(name):
        if before is not None:
            now = contents(at, name, 1 << 30)
            if now is None or checksum(now) != before:
                raise DataError("it was changed by another program meanwhile; run again")
        os.replace(aside, name, src_dir_fd=at, dst_dir_fd=at)
        os.fsync(at)


def is_aside(name: bytes) -> bool:
    """Say whether a file is the temporary file of a run that was killed."""
    return _ASIDE.fullmatch(name) is not None


def sweep(at: int) -> None:
    """Remove such files from a folder."""
    for name in os.listdir(at):
        if is_aside(os.fsencode(name)):
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=at)


@contextlib.contextmanager
def write_errors(name: bytes) -> Iterator[None]:
    """Raise `DataError` for an error of one file, `StoreIOError` for one that ends the run."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as e:
        problem = f"cannot be written: {e.strerror or e}"
        if e.errno in _FATAL:
            remedy = "Free some space, or check the disk, and run again."
            raise StoreIOError(f"{shown(name)} {problem}. {remedy}") from e
        raise DataError(f"it {problem}") from e


@contextlib.contextmanager
def _aside(at: int, data: bytes, final: bytes, like: bool = False) -> Iterator[bytes]:
    """Write a temporary file, if `like`, with mode, owner and attributes of the final one.

    It is removed in the end unless it was renamed.
    """
    name = b".sightline-" + secrets.token_hex(8).encode() + b".part"
    try:
        with write_errors(final):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(name, flags, 0o666, dir_fd=at), "wb") as f:
                f.write(data)
                f.flush()
                if like:
                    _resemble(f.fileno(), at, final)
                os.fsync(f.fileno())
        yield name
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=at)


def _resemble(fd: int, at: int, like: bytes) -> None:
    with contextlib.suppress(FileNotFoundError):
        other = os.open(like, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
        with open(other, "rb"):
            about = os.fstat(other)
            with contextlib.suppress(PermissionError):
                os.fchown(fd, about.st_uid, about.st_gid)
            os.fchmod(fd, stat.S_IMODE(about.st_mode))
            # Some file systems have no attributes; a file without them is better than none.
            with contextlib.suppress(OSError):
                for key in os.listxattr(other):
                    os.setxattr(fd, key, os.getxattr(other, key))


def _exists(at: int, name: bytes) -> bool:
    try:
        os.lstat(name, dir_fd=at)
    except FileNotFoundError:
        return False
    return True
