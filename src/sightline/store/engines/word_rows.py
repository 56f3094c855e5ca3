"""Search by the word scores that a model published: a query reads only the rows of its words.

The scores of a segment fit into the cache, so summing the rows of a few words costs little more
than reading them once. Words without a row (the model knows more words than were published) are
scored when needed, by the callable `score_words`.

There are two implementations with the same bits: numpy, which needs no start-up, and a compiled
loop, for a process that lives long enough to pay for loading the compiler.
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

# Scores of words for a segment that has no published row for them; None if it cannot say.
ScoreWords = Callable[[OpenSegment, Ints], "Floats | None"]

# This many rows are offered first; after them few others reach the best.
_FIRST_ROWS = 1024
# The compiled loop marks the words of a picture by bits of one byte.
_MOST_COMPILED = 8
# Below this share of a segment's rows only the selected rows are summed.
_SELECTIVE = 0.1
# To the compiler read-only arrays, as mapped ones are, have another type than writable ones.
_NO_ROWS: Ints = np.zeros(0, np.int64)
_NONE_EXCLUDED: Ints = np.zeros(0, np.int64)
_NONE_EXCLUDED.flags.writeable = False


def word_top(
    segments: Sequence[OpenSegment],
    model: str,
    query: WordQuery,
    k: int,
    where: Ints | None,
    score_words: ScoreWords | None = None,
    *,
    without: Ints | None = None,
    fast: bool = False,
) -> Top:
    """Return the k pictures with the largest weighted sum of word scores.

    Parameters
    ----------
    model : str
        Only scores of this model are used.
    score_words : callable, optional
        Returns the scores of words for a segment, as the model would have published them.
    without : ndarray of int64, optional
        Ids that must not appear, ascending: cheaper than a `where` of all the others.
    fast : bool, default=False
        Use the compiled loop; its first use in a process takes most of a second.
    """
    if k < 1:
        raise ParameterError.of("k", "top", "at least 1", k)
    compiled = fast and len(query.terms) <= _MOST_COMPILED
    scan = _CompiledScan(query, k, segments) if compiled else _NumpyScan(query, k)
    for s in segments:
        if s.scores is None or s.scores.model != model or not len(query.terms):
            continue
        excluded = s.dead if without is None else _excluded_rows(s, without)
        only = None if where is None else s.rows_of(where)
        if only is not None and without is not None:
            only = np.setdiff1d(only, excluded, assume_unique=True)
        if only is None or len(only):
            scores = _updated(s, s.scores, query, score_words)
            scan.add(s, scores, only, excluded, score_words)
    return scan.top()


def _updated(
    s: OpenSegment, scores: Scores, query: WordQuery, score_words: ScoreWords | None
) -> Scores:
    """Return the scores of a query's words after its updates; all scores if it has none."""
    if not query.updates:
        return scores
    from sightline.store.engines.word_updates import updated_scores

    rows = _rows(s, scores, query.terms, score_words)
    return scores if rows is None else updated_scores(s, scores, query.terms, rows, query.updates)


def _excluded_rows(s: OpenSegment, without: Ints) -> Ints:
    """Return the rows that are dead or excluded, ascending."""
    rows = s.rows_of(without)
    excluded = np.union1d(s.dead, rows) if len(s.dead) and len(rows) else rows
    excluded.flags.writeable = False
    return excluded if len(rows) else s.dead


class _NumpyScan:
    """The numpy implementation: whole rows are summed in buffers that all segments share."""

    def __init__(self, query: WordQuery, k: int) -> None:
        self.query, self.best = query, Best(k)
        weights = np.asarray(query.weights, np.float32)
        self.weights = list(weights)
        self.tagged_scores = list(weights * np.asarray(query.known, np.float32))
        self.total, self.part = np.zeros(0, np.float32), np.zeros(0, np.float32)
        self.waiting: list[tuple[Ints, Floats]] = []
        self.n_waiting = 0

    def add(
        self,
        s: OpenSegment,
        scores: Scores,
        only: Ints | None,
        excluded: Ints,
        score_words: ScoreWords | None,
    ) -> None:
        """Score the pictures of a segment: the rows `only`, or all but the rows `excluded`."""
        rows = _rows(s, scores, self.query.terms, score_words)
        if rows is None:
            return
        if only is not None and len(only) < _SELECTIVE * len(rows[0]):
            self._offer(s.ids[only], self._selected_sums(s, rows, only))
            return
        sums = self._sums(s, rows)
        if only is not None:
            self._offer(s.ids[only], sums[only])
            return
        sums[excluded] = -np.inf
        if self.best.threshold == -np.inf:
            self._offer(s.ids[:_FIRST_ROWS], sums[:_FIRST_ROWS])
            sums[:_FIRST_ROWS] = -np.inf
        self._offer(s.ids, sums)

    def _sums(self, s: OpenSegment, rows: Sequence[Floats]) -> Floats:
        """Return the weighted sums; a word that a picture has counts by `query.known`."""
        n = len(rows[0])
        if len(self.total) < n:
            self.total, self.part = np.empty(n, np.float32), np.empty(n, np.float32)
        total, part = self.total[:n], self.part[:n]
        for i, forms in enumerate(self.query.groups):
            weight, tagged_score = self.weights[i], self.tagged_scores[i]
            tagged = s.postings_of(forms)
            if i and weight == 1:
                tagged_sums = total[tagged] + tagged_score
                np.add(total, rows[i], total)
                total[tagged] = tagged_sums
                continue
            buffer = part if i else total
            np.multiply(rows[i], weight, buffer)
            buffer[tagged] = tagged_score
            if i:
                np.add(total, part, total)
        return total

    def _selected_sums(self, s: OpenSegment, rows: Sequence[Floats], only: Ints) -> Floats:
        """Return the weighted sums of some rows, by the same steps as those of all."""
        total = np.zeros(0, np.float32)
        for i, forms in enumerate(self.query.groups):
            part = rows[i][only] * self.weights[i]
            part[np.isin(only, s.postings_of(forms))] = self.tagged_scores[i]
            total = total + part if i else part
        return total

    def _offer(self, ids: Ints, sums: Floats) -> None:
        least = self.best.threshold
        # Testing the maximum first skips most segments; with a NaN the maximum is NaN.
        highest = np.maximum.reduce(sums) if least > -np.inf and len(sums) else np.nan
        if highest < least:
            return
        rows = (sums >= least).nonzero()[0] if highest >= least else above(sums, least)
        self.waiting.append((ids[rows], sums[rows]))
        self.n_waiting += len(rows)
        # A threshold a little too low costs less than raising it for every single picture.
        if self.n_waiting >= self.best.k:
            self._settle()

    def _settle(self) -> None:
        if self.waiting:
            ids, sums = zip(*self.waiting, strict=True)
            self.best.offer(np.concatenate(ids), np.concatenate(sums))
            self.waiting, self.n_waiting = [], 0

    def top(self) -> Top:
        """Return the best pictures."""
        self._settle()
        return self.best.top()


def _positions(terms: Ints, wanted: Ints) -> list[int]:
    """Return the position of each wanted term among ascending terms; -1 if it is missing.

    >>> _positions(np.array([3, 5, 9]), np.array([5, 7, 9, 11]))
    [1, -1, 2, -1]
    """
    n = len(terms)
    pairs = zip(terms.searchsorted(wanted).tolist(), wanted.tolist(), strict=True)
    return [at if at < n and terms.item(at) == term else -1 for at, term in pairs]


def _rows(
    s: OpenSegment, scores: Scores, terms: Ints, score_words: ScoreWords | None
) -> list[Floats] | None:
    """Return the scores of a segment for each word; None if some cannot be computed."""
    positions = _positions(scores.terms, terms)
    missing = [i for i, at in enumerate(positions) if at < 0]
    if not missing:
        return [scores.rows[at] for at in positions]
    computed = None if score_words is None else score_words(s, terms[missing])
    if computed is None:
        return None
    by_word = dict(zip(missing, computed, strict=True))
    return [by_word[i] if at < 0 else scores.rows[at] for i, at in enumerate(positions)]


class _CompiledScan:
    """The compiled implementation: one pass over the rows, with a heap of the best."""

    def __init__(self, query: WordQuery, k: int, segments: Sequence[OpenSegment]) -> None:
        from sightline.store.engines import _word_rows_fast

        self._fast = _word_rows_fast
        # Copies, so that the compiler sees the same types whatever the query was made of.
        self.query = (
            np.array(query.terms, np.int64),
            np.array(query.weights, np.float32),
            np.array(query.known, np.float32),
        )
        groups = query.groups
        self.forms = np.concatenate([*groups, _NO_ROWS])
        self.word_of = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
        size = min(k, sum(len(s.base["ids"]) for s in segments))
        self.best = np.empty(size, np.float32), np.empty(size, np.int64), np.zeros(1, np.int64)

    def add(
        self,
        s: OpenSegment,
        scores: Scores,
        only: Ints | None,
        excluded: Ints,
        score_words: ScoreWords | None,
    ) -> None:
        """Score the pictures of a segment: the rows `only`, or all but the rows `excluded`."""
        base = s.base
        code = self._fast.scan(
            *self.query, self.forms, self.word_of, scores.terms, scores.rows, base["terms"],
            base["term_start"], base["term_row"], base["ids"],
            excluded if len(excluded) else _NONE_EXCLUDED, _NO_ROWS if only is None else only,
            only is not None, *self.best,
        )  # fmt: skip
        if code == self._fast.NO_ROW:
            complete = _complete(s, scores, self.query[0], score_words)
            if complete is not None:
                self.add(s, complete, only, excluded, None)
        elif code != self._fast.FINE:
            # Raises the same error as the numpy implementation.
            Best(1).offer(s.ids[code : code + 1], np.full(1, np.nan, np.float32))

    def top(self) -> Top:
        """Return the best pictures."""
        scores, ids, count = self.best
        n = int(count[0])
        order = np.lexsort((ids[:n], -scores[:n]))
        return Top(ids[order], scores[order])


def _complete(
    s: OpenSegment, scores: Scores, terms: Ints, score_words: ScoreWords | None
) -> Scores | None:
    """Return scores with a row for each of some words; None if some cannot be computed."""
    rows = _rows(s, scores, terms, score_words)
    if rows is None:
        return None
    distinct, first = np.unique(terms, return_index=True)
    stacked = np.stack([rows[i] for i in first])
    distinct.flags.writeable = stacked.flags.writeable = False
    return Scores(scores.model, distinct, stacked)
