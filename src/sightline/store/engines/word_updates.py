"""Published word scores with what answers since the training change in them.

The kernel between a segment's pictures and an answered one is the same for every word and until the
next training, so it is kept: another answer takes one pass over the segment's codes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Ints
from sightline.records import WordUpdate
from sightline.similarity.compact import kernel_of_codes
from sightline.store.scores import Scores
from sightline.store.segments import OpenSegment
from sightline.words.probability import logit_of_log

# The bytes of kernels that are kept in a process.
_KEPT_BYTES = 64 << 20


class KernelColumns:
    """Kernels of segments' pictures with answered ones, the last that were used."""

    def __init__(self, most_bytes: int = _KEPT_BYTES) -> None:
        self.most_bytes, self._bytes = most_bytes, 0
        self._kept: OrderedDict[tuple[int, bytes, float], tuple[object, Floats]] = OrderedDict()
        self._lock = threading.Lock()
        self.computed = 0

    def of(self, codes: NDArray[np.uint8], others: NDArray[np.uint8], gamma: float) -> Floats:
        """Return the kernel of pictures with others, a row for each of the others."""
        keys = [(id(codes), other.tobytes(), gamma) for other in others]
        with self._lock:
            kept = {k: self._kept[k][1] for k in keys if k in self._kept}
            for k in kept:
                self._kept.move_to_end(k)
        missing = [i for i, k in enumerate(keys) if k not in kept]
        if missing:
            computed = np.ascontiguousarray(kernel_of_codes(codes, others[missing], gamma).T)
            new = {keys[i]: row for i, row in zip(missing, computed, strict=True)}
            self._keep(codes, {k: row.copy() for k, row in new.items()})
            kept |= new
        return np.stack([kept[k] for k in keys])

    def _keep(self, codes: NDArray[np.uint8], rows: dict[tuple[int, bytes, float], Floats]) -> None:
        with self._lock:
            self.computed += len(rows)
            for key, row in rows.items():
                # The codes are held too, so that their id stays theirs.
                if key not in self._kept:
                    self._kept[key] = codes, row
                    self._bytes += row.nbytes
            while self._bytes > self.most_bytes and self._kept:
                _, (_, row) = self._kept.popitem(last=False)
                self._bytes -= row.nbytes


COLUMNS = KernelColumns()


def updated_row(s: OpenSegment, scores: Scores, row: Floats, update: WordUpdate) -> Floats:
    """Return the published numbers of a segment for one word after an update."""
    numbers = np.array(row, np.float32)
    if scores.codes is not None and len(update.codes):
        columns = COLUMNS.of(scores.codes, update.codes, update.gamma)
        numbers = moved(numbers, update.coefficients @ columns, update)
    rows = s.rows_of(update.ids)
    return with_known(numbers, rows, s.ids[rows], update)


def updated_numbers(
    numbers: Floats, codes: NDArray[np.uint8], ids: Ints, update: WordUpdate
) -> Floats:
    """Return the same of any pictures, by their codes; ids that are none of the collection's are 0.

    They differ from those of a segment by rounding.
    """
    out = np.array(numbers, np.float32)
    if len(update.codes):
        columns = kernel_of_codes(codes, update.codes, update.gamma)
        out = moved(out, columns @ update.coefficients, update)
    rows = np.flatnonzero(np.isin(ids, update.ids))
    return with_known(out, rows, ids[rows], update)


def with_known(numbers: Floats, rows: Ints, ids: Ints, update: WordUpdate) -> Floats:
    """Return numbers, at some rows those that an update knows of pictures with these ids."""
    if len(rows):
        numbers[rows] = update.numbers[np.searchsorted(update.ids, ids)]
    return numbers


def moved(numbers: Floats, by: Floats, update: WordUpdate) -> Floats:
    """Return published numbers that were moved, logs by their logit."""
    return moved_by_logit(numbers, by) if update.of_logits else numbers + by


def moved_by_logit(logs: Floats, by: Floats) -> Floats:
    """Return logs of probabilities whose logits were moved.

    >>> np.exp(moved_by_logit(np.log([0.5, 0.5]), np.array([0.0, 1.0]))).round(2)
    array([0.5 , 0.73], dtype=float32)
    """
    return np.asarray(-np.logaddexp(0.0, -(logit_of_log(logs) + by)), np.float32)


def updated_scores(
    s: OpenSegment,
    scores: Scores,
    terms: Ints,
    rows: Sequence[Floats],
    query: Mapping[int, WordUpdate],
) -> Scores:
    """Return scores with a row for each of some words, after the updates of a query."""
    new = [
        updated_row(s, scores, row, query[term]) if term in query else row
        for term, row in zip(terms.tolist(), rows, strict=True)
    ]
    distinct, first = np.unique(terms, return_index=True)
    stacked = np.stack([new[i] for i in first])
    distinct.flags.writeable = stacked.flags.writeable = False
    return Scores(scores.model, distinct, stacked)
