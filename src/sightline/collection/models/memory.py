"""How much memory a training needs, checked before it starts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sightline.collection.models.dataset import View
from sightline.similarity import grams

_FREE = Path("/proc/meminfo")
_WHITENED = 768


def bytes_needed(input_form: str, views: Sequence[View], n_words: int) -> int:
    """Return about how many bytes a learner takes beside its input rows.

    A linear ranker keeps three copies of its weights and the whitened rows; a learner with a
    kernel keeps two square tables of landmarks, one of pictures by landmarks, and three of pictures
    by words.
    """
    n = int(views[0].shape[0])
    if input_form == "concat":
        length = sum(int(v.shape[1]) for v in views)
        sparse = any(hasattr(v, "tocsr") for v in views)
        length = length if sparse else min(length, _WHITENED)
        return 4 * (3 * n_words * length + (0 if sparse else n * length))
    if input_form == "per_feature":
        marks = grams.LANDMARKS if n > grams.MOST_PICTURES else n
        return 16 * marks * marks + 4 * n * marks + 4 * n_words * (2 * marks + 3 * n)
    return 4 * n_words * (2 * n + min(int(views[0].shape[1]), 50_000))


def bytes_free() -> int:
    """Return how many bytes the machine can give; a large number if that is unknown."""
    try:
        for line in _FREE.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 1 << 62


def gigabytes(n: int) -> str:
    """Return a number of bytes as text.

    >>> gigabytes(2_300_000_000), gigabytes(70_000_000)
    ('2.3 GB', '0.1 GB')
    """
    return f"{max(n / 1e9, 0.1):.1f} GB"
