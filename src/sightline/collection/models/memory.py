"""How many bytes training takes with all rows in memory, and from when rows stay on the disk.

The limit is the setting `memory`. It is a fixed number, not what happens to be free, so that the
same pictures give the same model on every machine and on every day.
"""

from __future__ import annotations

# Copies of the feature rows, and tables of pictures by words, that a training in memory holds.
_COPIES, _TABLES = 3, 4


def bytes_in_memory(n: int, length: int, n_words: int) -> int:
    """Return about how many bytes a training of n pictures takes with all rows in memory.

    Parameters
    ----------
    n : int
        Number of pictures.
    length : int
        Numbers in a row, of all features together.
    n_words : int
        Number of words.

    Examples
    --------
    >>> bytes_in_memory(1_000_000, 512, 1_000)
    22144000000
    """
    return 4 * n * (_COPIES * length + _TABLES * n_words)


def gigabytes(n: int) -> str:
    """Return a number of bytes as text.

    >>> gigabytes(2_300_000_000), gigabytes(70_000_000)
    ('2.3 GB', '0.1 GB')
    """
    return f"{max(n / 1e9, 0.1):.1f} GB"
