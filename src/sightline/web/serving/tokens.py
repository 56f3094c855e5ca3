"""The token file: read if it is safe, created if it is missing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from sightline.errors import SightlineError, StoreIOError, UsageError
from sightline.records import shown

_SHORTEST = 22  # Number of characters for 128 bits.
_LONGEST = 1_000
# Links and pipes are rejected, without waiting for them.
_HOW = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def kept_token(file: Path, make: Callable[[], str]) -> str:
    """Return the token of a file that only its owner can read; create the file if it is missing.

    Raises
    ------
    UsageError
        The path is not a private regular file, or contains no token.
    StoreIOError
        The file cannot be created or read.
    """
    try:
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _HOW, 0o600)
    except FileExistsError:
        return _read(file)
    except (OSError, ValueError) as e:
        raise _broken(file, "made", e) from e
    token = make()
    try:
        with os.fdopen(fd, "w", encoding="ascii") as new:
            new.write(token + "\n")
            new.flush()
            os.fsync(new.fileno())
    except OSError as e:
        # A partial token would block the next start.
        os.unlink(file)
        raise _broken(file, "written", e) from e
    return token


def _read(file: Path) -> str:
    if os.path.islink(file):
        raise UsageError(f"{_name(file)} is a link. Name the file itself.")
    try:
        fd = os.open(file, os.O_RDONLY | _HOW)
    except OSError as e:
        raise _broken(file, "read", e) from e
    try:
        _refuse(file, os.fstat(fd))
        content = os.read(fd, _LONGEST + 1)
    except OSError as e:
        raise _broken(file, "read", e) from e
    finally:
        os.close(fd)
    text = content.strip().decode("ascii", "replace")
    if len(content) > _LONGEST or len(text) < _SHORTEST or not _is_plain(text):
        raise UsageError(
            f"The token in {_name(file)} must have {_SHORTEST} to {_LONGEST} plain characters, "
            f"without spaces. Got {_got(content)}. Remove the file to have one made."
        )
    return text


def _refuse(file: Path, status: os.stat_result) -> None:
    """Raise if it is not a regular file that only its owner can read."""
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{_name(file)} is no file. Name one that holds the token, or none yet.")
    if status.st_mode & 0o077:
        raise UsageError(f"Others can read {_name(file)}. Run: chmod 600 {_name(file)}")
    if status.st_uid not in (os.geteuid(), 0):
        raise UsageError(f"{_name(file)} is another user's. Name a file of your own.")


def _is_plain(text: str) -> bool:
    return all("!" <= x <= "~" for x in text)


def _got(content: bytes) -> str:
    # No content is shown: it may be another secret.
    return f"more than {_LONGEST}" if len(content) > _LONGEST else f"{len(content.strip())} bytes"


def _broken(file: Path, what: str, e: Exception) -> SightlineError:
    why = e.strerror if isinstance(e, OSError) else str(e)
    return StoreIOError(f"{_name(file)} cannot be {what}: {why}. Name another file.")


def _name(file: Path) -> str:
    return shown(os.fsencode(file))
