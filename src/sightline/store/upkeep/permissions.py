"""Only its owner may read a store: files have the permissions 0600, folders 0700.

Stores of older releases, and those that were copied or changed by hand, can be open to others.
Links are never followed: nothing outside the store is read or changed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sightline.contracts import Json
from sightline.store.durable import PRIVATE_FILE, PRIVATE_FOLDER, disk_errors

_OTHERS = 0o077
_MAX_NAMES = 3
# Stands for the handle of the folder that contains the store.
_NO_FOLDER = -1


@dataclass(frozen=True, slots=True)
class Exposed:
    """A file or folder that others have permissions for; `file` is "." for the store itself."""

    file: str
    mode: int

    def __str__(self) -> str:
        return f"{self.file} {self.mode:04o}"

    def to_dict(self) -> dict[str, Json]:
        """Return it as JSON, the mode as octal digits."""
        return {"file": self.file, "mode": f"{self.mode:04o}"}


def exposed(folder: Path) -> tuple[Exposed, ...]:
    """Return the files and folders of a store that others have permissions for, by name."""
    entries = [
        Exposed(name, stat.S_IMODE(mode)) for name, mode, _, _ in _entries(folder) if mode & _OTHERS
    ]
    return tuple(sorted(entries, key=lambda e: e.file))


def restrict(folder: Path) -> int:
    """Remove the permissions of others; return how many files and folders had any.

    Files of another user, which we may not change, stay as they are.
    """
    changed = 0
    # From the top down: in a folder closed to others nobody can replace a file by a link.
    for name, mode, at, last in _entries(folder):
        if mode & _OTHERS:
            private = PRIVATE_FOLDER if stat.S_ISDIR(mode) else PRIVATE_FILE
            with (
                disk_errors(folder / name),
                contextlib.suppress(PermissionError, FileNotFoundError),
            ):
                changed += _change(last, at, stat.S_IMODE(mode) & private)
    return changed


def describe(exposed: Sequence[Exposed]) -> str:
    """Return a sentence about what is open to others, without a full stop."""
    names = ", ".join(map(str, exposed[:_MAX_NAMES])) + (", …" if len(exposed) > _MAX_NAMES else "")
    what = "1 file or folder" if len(exposed) == 1 else f"{len(exposed)} files and folders"
    return f"other users have permissions for {what} of the store ({names})"


def _entries(folder: Path) -> Iterator[tuple[str, int, int, str]]:
    """Yield name, mode, folder handle and last part of the name of each file and folder."""
    top = os.path.realpath(folder)
    if not os.path.isdir(top):
        return
    yield ".", os.stat(top).st_mode, _NO_FOLDER, top
    for path, folders, files, at in os.fwalk(top, follow_symlinks=False):
        for last in sorted([*folders, *files]):
            with contextlib.suppress(FileNotFoundError):
                mode = os.stat(last, dir_fd=at, follow_symlinks=False).st_mode
                if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                    yield os.path.relpath(os.path.join(path, last), top), mode, at, last


def _change(name: str, at: int, mode: int) -> int:
    """Change permissions without following links; return 1 if they were changed, else 0."""
    if at == _NO_FOLDER:
        os.chmod(name, mode)
        return 1
    if not hasattr(os, "O_PATH"):
        os.chmod(name, mode, dir_fd=at, follow_symlinks=False)
        return 1
    # With O_PATH the file itself is not opened: closing it keeps SQLite's locks on it.
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    try:
        now = os.fstat(fd).st_mode
        if not (stat.S_ISREG(now) or stat.S_ISDIR(now)):
            return 0
        _change_opened(fd, mode)
        return 1
    finally:
        os.close(fd)


def _change_opened(fd: int, mode: int) -> None:
    try:
        os.chmod(f"/proc/self/fd/{fd}", mode)
    except FileNotFoundError as e:
        raise OSError(errno.ENOSYS, "changing permissions needs /proc, which is missing") from e
