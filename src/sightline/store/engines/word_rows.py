"""Search by the scores a model published: a query reads the rows of its own words and no others.

The scores of a segment fit into the cache, so adding up the rows of a few words costs little more
than reading them once. A word that has no row (the model knows more words than were published) is
scored on the spot by whoever asks, through `more`.

Two ways lead to the same bits: plain numpy, which is there at once, and a compiled loop, for a
process that lives long enough to pay for loading the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sightline._typing import Floats, Ints
from sightline.errors import ParameterError
from sightline.records import Top, WordQuery
from sightline.store.engines.flat import Best, above
from sightline.store.scores import Scores
from sightline.store.segments import OpenSegment

More = Callable[[OpenSegment, Ints], "Floats | None"]

# So many rows are offered first; after them hardly any other reaches the best.
_FIRST = 1024
# The compiled loop has a bit of one byte for each word.
_MOST_COMPILED = 8
# Below this share of a segment's rows each row is looked up by itself.
_FEW = 0.1
# Arrays that may be written to are of another type to the compiler, and mapped ones may not be.
_NO_ROWS: Ints = np.zeros(0, np.int64)
_NONE_OUT: Ints = np.zeros(0, np.int64)
_NONE_OUT.flags.writeable = False


def word_top(
    segments: Sequence[OpenSegment],
    model: str,
    query: WordQuery,
    k: int,
    where: Ints | None,
    more: More | None = None,
    *,
    without: Ints | None = None,
    fast: bool = False,
) -> Top:
    """Return the k pictures with the largest weighted sum of word scores.

    Parameters
    ----------
    model : str
        Only scores of this model are used.
    more : callable, optional
        Returns the scores of words for a segment, as the model would have published them.
    without : ndarray of int64, optional
        Ids that must not appear, ascending: cheaper than a `where` of all the others.
    fast : bool, default=False
        Use the compiled loop; its first use in a process takes most of a second.
    """
    if k < 1:
        raise ParameterError.of("k", "top", "at least 1", k)
    compiled = fast and len(query.terms) <= _MOST_COMPILED
    scan = _Compiled(query, k, segments) if compiled else _Plain(query, k)
    for s in segments:
        if s.scores is None or s.scores.model != model or not len(query.terms):
            continue
        out = s.dead if without is None else _left_out(s, without)
        only = None if where is None else s.rows_of(where)
        if only is not None and without is not None:
            only = np.setdiff1d(only, out, assume_unique=True)
        if only is None or len(only):
            scan.look(s, s.scores, only, out, more)
    return scan.top()


def _left_out(s: OpenSegment, without: Ints) -> Ints:
    """Return the rows that are dead or not wanted, ascending."""
    rows = s.rows_of(without)
    out = np.union1d(s.dead, rows) if len(s.dead) and len(rows) else rows
    out.flags.writeable = False
    return out if len(rows) else s.dead


class _Plain:
    """The plain way: whole rows are added up in buffers that serve for all segments."""

    def __init__(self, query: WordQuery, k: int) -> None:
        self.query, self.best = query, Best(k)
        weights = np.asarray(query.weights, np.float32)
        self.weights = list(weights)
        self.known = list(weights * np.asarray(query.known, np.float32))
        self.total, self.part = np.zeros(0, np.float32), np.zeros(0, np.float32)
        self.waiting: list[tuple[Ints, Floats]] = []
        self.n_waiting = 0

    def look(
        self, s: OpenSegment, scores: Scores, only: Ints | None, out: Ints, more: More | None
    ) -> None:
        """Offer the pictures of a segment: all but those in rows `out`, or `only` some."""
        rows = _rows(s, scores, self.query.terms, more)
        if rows is None:
            return
        if only is not None and len(only) < _FEW * len(rows[0]):
            self._offer(s.ids[only], self._picked(s, rows, only))
            return
        sums = self._summed(s, rows)
        if only is not None:
            self._offer(s.ids[only], sums[only])
            return
        sums[out] = -np.inf
        if self.best.threshold == -np.inf:
            self._offer(s.ids[:_FIRST], sums[:_FIRST])
            sums[:_FIRST] = -np.inf
        self._offer(s.ids, sums)

    def _summed(self, s: OpenSegment, rows: Sequence[Floats]) -> Floats:
        """Return the weighted sums, in which words that a picture carries count as known."""
        n = len(rows[0])
        if len(self.total) < n:
            self.total, self.part = np.empty(n, np.float32), np.empty(n, np.float32)
        total, part = self.total[:n], self.part[:n]
        start, term_row = s.base["term_start"], s.base["term_row"]
        for i, at in enumerate(_places(s.base["terms"], self.query.terms)):
            weight, known = self.weights[i], self.known[i]
            carriers = term_row[start[at] : start[at + 1]] if at >= 0 else _NO_ROWS
            if i and weight == 1:
                kept = total[carriers] + known
                np.add(total, rows[i], total)
                total[carriers] = kept
                continue
            out = part if i else total
            np.multiply(rows[i], weight, out)
            out[carriers] = known
            if i:
                np.add(total, part, total)
        return total

    def _picked(self, s: OpenSegment, rows: Sequence[Floats], only: Ints) -> Floats:
        """Return the weighted sums of some rows, by the same steps as those of all."""
        total = np.zeros(0, np.float32)
        for i, at in enumerate(_places(s.base["terms"], self.query.terms)):
            part = rows[i][only] * self.weights[i]
            if at >= 0:
                start = s.base["term_start"]
                carriers = s.base["term_row"][start[at] : start[at + 1]]
                part[np.isin(only, carriers)] = self.known[i]
            total = total + part if i else part
        return total

    def _offer(self, ids: Ints, sums: Floats) -> None:
        least = self.best.threshold
        # One look at the highest spares most segments all the rest; NaN is the highest of all.
        highest = np.maximum.reduce(sums) if least > -np.inf and len(sums) else np.nan
        if highest < least:
            return
        found = (sums >= least).nonzero()[0] if highest >= least else above(sums, least)
        self.waiting.append((ids[found], sums[found]))
        self.n_waiting += len(found)
        # A threshold a little too low costs less than raising it for every single picture.
        if self.n_waiting >= self.best.k:
            self._settle()

    def _settle(self) -> None:
        if self.waiting:
            ids, sums = zip(*self.waiting, strict=True)
            self.best.offer(np.concatenate(ids), np.concatenate(sums))
            self.waiting, self.n_waiting = [], 0

    def top(self) -> Top:
        self._settle()
        return self.best.top()


def _places(have: Ints, wanted: Ints) -> list[int]:
    """Return where each of some words lies among others, which ascend; -1 for one that does not.

    >>> _places(np.array([3, 5, 9]), np.array([5, 7, 9, 11]))
    [1, -1, 2, -1]
    """
    n = len(have)
    found = zip(have.searchsorted(wanted).tolist(), wanted.tolist(), strict=True)
    return [at if at < n and have.item(at) == term else -1 for at, term in found]


def _rows(s: OpenSegment, scores: Scores, terms: Ints, more: More | None) -> list[Floats] | None:
    """Return the scores of a segment for each word; None if they are not to be had."""
    places = _places(scores.terms, terms)
    missing = [i for i, at in enumerate(places) if at < 0]
    if not missing:
        return [scores.rows[at] for at in places]
    made = None if more is None else more(s, terms[missing])
    if made is None:
        return None
    by_word = dict(zip(missing, made, strict=True))
    return [by_word[i] if at < 0 else scores.rows[at] for i, at in enumerate(places)]


class _Compiled:
    """The compiled way: one pass over the rows, and a heap of the best."""

    def __init__(self, query: WordQuery, k: int, segments: Sequence[OpenSegment]) -> None:
        from sightline.store.engines import _word_rows_fast

        self._fast = _word_rows_fast
        # Copies, so that the compiler sees the same types whatever the query was made of.
        self.query = (
            np.array(query.terms, np.int64),
            np.array(query.weights, np.float32),
            np.array(query.known, np.float32),
        )
        size = min(k, sum(len(s.base["ids"]) for s in segments))
        self.best = np.empty(size, np.float32), np.empty(size, np.int64), np.zeros(1, np.int64)

    def look(
        self, s: OpenSegment, scores: Scores, only: Ints | None, out: Ints, more: More | None
    ) -> None:
        """Offer the pictures of a segment: all but those in rows `out`, or `only` some."""
        base = s.base
        code = self._fast.scan(
            *self.query, scores.terms, scores.rows, base["terms"], base["term_start"],
            base["term_row"], base["ids"], out if len(out) else _NONE_OUT,
            _NO_ROWS if only is None else only, only is not None, *self.best,
        )  # fmt: skip
        if code == self._fast.NO_ROW:
            complete = _complete(s, scores, self.query[0], more)
            if complete is not None:
                self.look(s, complete, only, out, None)
        elif code != self._fast.FINE:
            # Refused in the words of the plain way.
            Best(1).offer(s.ids[code : code + 1], np.full(1, np.nan, np.float32))

    def top(self) -> Top:
        scores, ids, count = self.best
        n = int(count[0])
        order = np.lexsort((ids[:n], -scores[:n]))
        return Top(ids[order], scores[order])


def _complete(s: OpenSegment, scores: Scores, terms: Ints, more: More | None) -> Scores | None:
    """Return scores that have a row for each of some words; None if they are not to be had."""
    rows = _rows(s, scores, terms, more)
    if rows is None:
        return None
    known, first = np.unique(terms, return_index=True)
    made = np.stack([rows[i] for i in first])
    known.flags.writeable = made.flags.writeable = False
    return Scores(scores.model, known, made)
