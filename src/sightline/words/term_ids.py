"""Permanent numbers for terms: a hash of the spelling, the same on every machine and for ever."""

from __future__ import annotations

import hashlib


def term_id(term: str) -> int:
    """Return the 64-bit number of a term.

    Two of a million terms share one with a chance of about one in forty million.

    >>> term_id("tree")
    3291117689498215039
    >>> term_id("tree") == term_id("snow")
    False
    """
    data = term.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)
