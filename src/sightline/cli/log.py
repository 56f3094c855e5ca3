"""The log in the store: what ran and what failed; captions and queries only at debug level."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.errors import SightlineError

if TYPE_CHECKING:
    from sightline.collection import Collection

_BYTES, _FILES = 1_000_000, 3


@contextlib.contextmanager
def logged(c: Collection, verb: str) -> Iterator[logging.Logger]:
    """Log a verb's beginning and end; the log rotates and stays below a few megabytes."""
    log = logging.getLogger("sightline")
    handler = _handler(c.home.folder / "log")
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
    """Return where to log; a place that cannot be written is the verb's to complain about."""
    if not folder.parent.exists() or not os.access(folder.parent, os.W_OK):
        return logging.NullHandler()
    folder.mkdir(mode=0o700, exist_ok=True)
    handler = logging.handlers.RotatingFileHandler(
        folder / "sightline.log", maxBytes=_BYTES, backupCount=_FILES, encoding="utf-8",
        errors="backslashreplace",
    )  # fmt: skip
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
    return handler
