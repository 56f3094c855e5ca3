"""Sentences without the places of this machine: what clients are told names no folder of ours."""

from __future__ import annotations

import os
import re
import tempfile

_SENT = re.compile(re.escape(tempfile.gettempdir()) + r"/sightline-[^/\s]+(?:/picture)?")
_WHO = re.compile(r" \(process \d+ on [^)]*\)")


def without_places(text: str, root: bytes, store: str) -> str:
    """Return a sentence with words in place of folders and processes of this machine.

    >>> without_places("/home/me/photos is no folder.", b"/home/me/photos", "/home/me/s")
    'the collection is no folder.'
    """
    # The longer first, where one lies in the other.
    named = [(os.fsdecode(root), "the collection"), (store, "the store")]
    for place, name in sorted(named, key=lambda pair: -len(pair[0])):
        if len(place) > 1:
            text = text.replace(place, name)
    return _WHO.sub("", _SENT.sub("the picture that was sent", text))
