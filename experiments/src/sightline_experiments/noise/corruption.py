"""Noise put on clean tags, seeded: some tags replaced by other words, or some dropped."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["clean", "wrong", "missing"]


def corrupted(labels: Any, kind: Kind, share: float, seed: int) -> Any:
    """Return a table of tags with noise, pictures by words, in CSR form.

    "wrong" replaces a share of the tags by words that the picture does not have, drawn by how
    many pictures have them; "missing" drops a share.

    >>> from scipy.sparse import csr_matrix
    >>> clean = csr_matrix(np.eye(4, dtype=np.float32))
    >>> corrupted(clean, "missing", 0.5, 0).nnz, corrupted(clean, "wrong", 0.5, 0).nnz
    (2, 4)
    """
    from scipy.sparse import csr_matrix

    table = labels.tocoo()
    row, column = table.row.astype(np.int64), table.col.astype(np.int64)
    if kind == "clean":
        return labels
    rng = np.random.default_rng([seed, 1])
    hit = np.zeros(len(row), np.bool_)
    hit[rng.permutation(len(row))[: round(share * len(row))]] = True
    if kind == "missing":
        row, column = row[~hit], column[~hit]
    else:
        column = _replaced(row, column, hit, labels.shape[1], rng)
    out = csr_matrix((np.ones(len(row), np.float32), (row, column)), shape=labels.shape)
    out.sort_indices()
    return out


def _replaced(
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    hit: NDArray[np.bool_],
    n_words: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the words of tags, of which some are replaced by words the picture never had."""
    frequency = np.bincount(column, minlength=n_words) / len(column)
    now = column.copy()
    has = set(zip(row.tolist(), column.tolist(), strict=True))
    for at in np.flatnonzero(hit).tolist():
        picture = int(row[at])
        while True:
            word = int(rng.choice(n_words, p=frequency))
            if (picture, word) not in has:
                break
        has.add((picture, word))
        now[at] = word
    return now
