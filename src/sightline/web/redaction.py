"""What is told of a failure: to clients no place of this machine, to the log no value."""

from __future__ import annotations

import os
import re
import traceback
from pathlib import Path

from sightline.store.durable import scratch_folders

_PACKAGE = Path(__file__).parent.parent
# Where to look for more, as clients are told: the store is not theirs to know.
LOG = "See log/sightline.log in the store."
_WHO = re.compile(r" \(process \d+ on [^)]*\)")


def redacted(text: str, root: bytes, store: str) -> str:
    """Return a sentence with words in place of folders and processes of this machine.

    >>> redacted("/home/me/photos is no folder.", b"/home/me/photos", "/home/me/s")
    'the collection is no folder.'
    """
    # The longer first, where one lies in the other.
    named = [(os.fsdecode(root), "the collection"), (store, "the store")]
    for place, name in sorted(named, key=lambda pair: -len(pair[0])):
        if len(place) > 1:
            text = text.replace(place, name)
    for place in map(re.escape, scratch_folders()):
        text = re.sub(rf"{place}/sightline-[^/\s]+(?:/picture)?", "the picture that was sent", text)
    return _WHO.sub("", text)


def where_it_failed(e: BaseException) -> str:
    """Return the kind of an error and the lines of ours it came through, and nothing it holds.

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
