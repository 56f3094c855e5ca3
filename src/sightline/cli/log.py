"""The log in the store: commands and errors; captions and queries only at debug level."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import sys
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.errors import SightlineError

if TYPE_CHECKING:
    from sightline.collection import Collection

_BYTES, _FILES = 1_000_000, 3


@contextlib.contextmanager
def logged(c: Collection, verb: str) -> Iterator[logging.Logger]:
    """Log the start and the end of a command; the log rotates and stays below a few megabytes."""
    log = logging.getLogger("sightline")
    handler = _handler(c.store_folder.path / "log")
    log.addHandler(handler)
    log.setLevel(c.settings.log_level.upper())
    log.info("%s begins", verb)
    try:
        yield log
        log.info("%s ends", verb)
    except SightlineError as e:
        log.error("%s failed: %s", verb, type(e).__name__)
        raise
    except BaseException:
        log.exception("%s failed", verb)
        raise
    finally:
        log.removeHandler(handler)
        handler.close()


def _handler(folder: Path) -> logging.Handler:
    """Return the log handler; a folder that cannot be written is reported by the command."""
    if not folder.parent.exists() or not os.access(folder.parent, os.W_OK):
        return logging.NullHandler()
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        handler = _LogFile(
            folder / "sightline.log", maxBytes=_BYTES, backupCount=_FILES, encoding="utf-8",
            errors="backslashreplace",
        )  # fmt: skip
    except OSError as e:
        _tell(e)
        return logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
    return handler


class _LogFile(logging.handlers.RotatingFileHandler):
    """A log that only its owner can read; a write error is reported once."""

    _told = False

    def _open(self) -> TextIOWrapper:
        return open(
            self.baseFilename, self.mode, encoding=self.encoding, errors=self.errors,
            opener=lambda path, how: os.open(path, how, 0o600),
        )  # type: ignore[return-value]  # fmt: skip

    def close(self) -> None:
        try:
            super().close()
        except OSError as e:  # Records that could not be written are tried once more at the end.
            self._tell_once(e)

    def handleError(self, record: logging.LogRecord) -> None:
        e = sys.exc_info()[1]
        if not isinstance(e, OSError):
            super().handleError(record)
        else:
            self._tell_once(e)

    def _tell_once(self, e: OSError) -> None:
        if not self._told:
            self._told = True
            _tell(e)


def _tell(e: OSError) -> None:
    click.echo(f"sightline: the log cannot be written: {e.strerror or e}", err=True)
