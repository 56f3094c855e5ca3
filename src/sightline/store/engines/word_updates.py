"""Published word scores with what answers since the training change in them.

The kernel between a segment's pictures and an answered one is the same for every word and until the
next training, so it is kept: another answer takes one pass over the segment's codes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Ints
from sightline.records import WordUpdate
from sightline.similarity.compact import code_norms, kernel_of_codes, kernel_rows
from sightline.store.scores import Scores
from sightline.store.segments import OpenSegment

# The bytes of kernels that are kept in a process.
_KEPT_BYTES = 128 << 20
# The log of a probability that has a logit, and the largest exponent of float64.
_LARGEST_LOG, _MOST_EXPONENT = -1e-15, 700.0


class UpdateCache:
    """Kernels of segments' pictures with answered ones, and updated scores: the last used.

    Parameters
    ----------
    most_bytes : int, optional
        How much is kept.

    Attributes
    ----------
    computed : int
        How many pairs of a segment and an answered picture took a pass over the codes.
    """

    def __init__(self, most_bytes: int = _KEPT_BYTES) -> None:
        self.most_bytes, self._bytes, self.computed = most_bytes, 0, 0
        # What a key's number identifies is kept with it, so that no other object gets that number.
        self._kept: OrderedDict[_Key, tuple[Floats, object]] = OrderedDict()
        self._lock = threading.Lock()

    def kernel(self, codes: NDArray[np.uint8], others: NDArray[np.uint8], gamma: float) -> Floats:
        """Return the kernel of pictures with others, a row for each of the others."""
        keys: list[_Key] = [(id(codes), gamma, other.tobytes()) for other in others]
        rows = [self._get(key) for key in keys]
        missing = [i for i, row in enumerate(rows) if row is None]
        if missing:
            self.computed += len(missing)
            new = kernel_rows(codes, self._norms(codes), others[missing], gamma)
            for i, row in zip(missing, new, strict=True):
                rows[i] = row.copy()
                self._keep(keys[i], row.copy(), codes)
        return np.stack([row for row in rows if row is not None])

    def _norms(self, codes: NDArray[np.uint8]) -> Floats:
        key: _Key = (id(codes), "norms")
        norms = self._get(key)
        if norms is None:
            norms = code_norms(codes)
            self._keep(key, norms, codes)
        return norms

    def row(self, s: OpenSegment, scores: Scores, row: Floats, update: WordUpdate) -> Floats:
        """Return the published numbers of a segment for one word after an update."""
        key: _Key = (id(update), id(scores.codes))
        kept = self._get(key)
        if kept is None:
            kept = _updated_row(self, s, scores, row, update)
            self._keep(key, kept, (update, scores.codes))
        return kept

    def _get(self, key: _Key) -> Floats | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def _keep(self, key: _Key, array: Floats, owner: object) -> None:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = array, owner
                self._bytes += array.nbytes
            while self._bytes > self.most_bytes and self._kept:
                _, (oldest, _) = self._kept.popitem(last=False)
                self._bytes -= oldest.nbytes


_Key = tuple[Hashable, ...]
CACHE = UpdateCache()


def updated_row(s: OpenSegment, scores: Scores, row: Floats, update: WordUpdate) -> Floats:
    """Return the published numbers of a segment for one word after an update."""
    return CACHE.row(s, scores, row, update)


def _updated_row(
    cache: UpdateCache, s: OpenSegment, scores: Scores, row: Floats, update: WordUpdate
) -> Floats:
    numbers = np.array(row, np.float32)
    if scores.codes is not None and len(update.codes):
        kernel = cache.kernel(scores.codes, update.codes, update.gamma)
        numbers = moved(numbers, update.coefficients @ kernel, update)
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
    # The logit of e^r is r - log(1 - e^r), and -log(1 + e^-x) is the log of a probability.
    r = np.minimum(np.asarray(logs, np.float64), _LARGEST_LOG)
    odds_against = -np.expm1(r) * np.exp(np.minimum(-r - by, _MOST_EXPONENT))
    return np.asarray(-np.log1p(odds_against), np.float32)


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
