"""Redaction of errors: no paths of this machine for clients, no values in the log."""

from __future__ import annotations

import os
import re
import traceback
from pathlib import Path

from sightline.store.durable import scratch_folders

_PACKAGE = Path(__file__).parent.parent
# Clients are not told the path of the store.
LOG = "See log/sightline.log in the store."
_WHO = re.compile(r" \(process \d+ on [^)]*\)")


def redacted(text: str, root: bytes, store: str) -> str:
    """Return a message with the folders and processes of this machine replaced by words.

    >>> redacted("/home/me/photos is no folder.", b"/home/me/photos", "/home/me/s")
    'the collection is no folder.'
    """
    # The longer path first, since one may contain the other.
    named = [(os.fsdecode(root), "the collection"), (store, "the store")]
    for place, name in sorted(named, key=lambda pair: -len(pair[0])):
        if len(place) > 1:
            text = text.replace(place, name)
    for place in map(re.escape, scratch_folders()):
        text = re.sub(rf"{place}/sightline-[^/\s]+(?:/picture)?", "the uploaded picture", text)
    return _WHO.sub("", text)


def where_it_failed(e: BaseException) -> str:
    """Return the class of an error and the lines of this package it passed, without its values.

    >>> try:
    ...     redacted(3, b"", "")
    ... except Exception as e:
    ...     where_it_failed(e).partition(":")[0]
    'TypeError at web/redaction.py'
    """
    lines = [(f.f_code.co_filename, n) for f, n in traceback.walk_tb(e.__traceback__)]
    ours = [(Path(file), n) for file, n in lines if Path(file).is_relative_to(_PACKAGE)]
    at = ", ".join(f"{file.relative_to(_PACKAGE)}:{n}" for file, n in ours)
    return f"{type(e).__name__} at {at or 'no line of ours'}"
