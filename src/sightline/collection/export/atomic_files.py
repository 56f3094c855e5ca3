"""Files put into folders of people: whole or not at all, through no link, over nothing unseen.

A file is written aside, flushed, and only then given its name; the folder is flushed last. Folders
are gone down step by step without following links, so that nothing lands where it was not meant to.
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

# What is written aside; one that a killed run left is known by it.
_ASIDE = re.compile(rb"\.sightline-[0-9a-f]{16}\.part")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Where the next file would fare no better.
_HOPELESS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE}


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
        with contextlib.suppress(FileExistsError), disk_refusals(name):
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
    """Write a file that is not there; return whether it was not."""
    with _aside(at, data, name) as aside, disk_refusals(name):
        try:
            # Unlike a rename, this fails if somebody made the file meanwhile.
            os.link(aside, name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as e:
            if e.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
                raise
            # A file system without links, such as that of a memory card.
            if _there(at, name):
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
    with _aside(at, data, name, like=True) as aside, disk_refusals(name):
        if before is not None:
            now = contents(at, name, 1 << 30)
            if now is None or checksum(now) != before:
                raise DataError("it was changed by another program meanwhile; run again")
        os.replace(aside, name, src_dir_fd=at, dst_dir_fd=at)
        os.fsync(at)


def is_aside(name: bytes) -> bool:
    """Say whether a file is one that a run wrote aside, and was killed before it was done."""
    return _ASIDE.fullmatch(name) is not None


def sweep(at: int) -> None:
    """Remove such files from a folder."""
    for name in os.listdir(at):
        if is_aside(os.fsencode(name)):
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=at)


@contextlib.contextmanager
def disk_refusals(name: bytes) -> Iterator[None]:
    """Tell a refusal that concerns one file from one that ends the run."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as e:
        said = f"cannot be written: {e.strerror or e}"
        if e.errno in _HOPELESS:
            remedy = "Make room, or see to the disk, and run again."
            raise StoreIOError(f"{shown(name)} {said}. {remedy}") from e
        raise DataError(f"it {said}") from e


@contextlib.contextmanager
def _aside(at: int, data: bytes, final: bytes, like: bool = False) -> Iterator[bytes]:
    """Write aside what is to become a file, perhaps with mode, owner and attributes of the old one.

    What is still aside in the end is removed.
    """
    name = b".sightline-" + secrets.token_hex(8).encode() + b".part"
    try:
        with disk_refusals(final):
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


def _there(at: int, name: bytes) -> bool:
    try:
        os.lstat(name, dir_fd=at)
    except FileNotFoundError:
        return False
    return True
