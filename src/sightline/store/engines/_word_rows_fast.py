"""Compiled: the best pictures of a segment by the scores of a few words, in one pass.

The rows of the words are summed block by block in the L1 cache, in the same order as the numpy
version, so that both give the same bits. In nearly all blocks no score reaches the worst of the k
best so far; such a block costs one comparison a picture and nothing more.

Numbers read from files are used as indices only after a bounds check: a flipped bit may give a
wrong answer until somebody runs `store verify`, but never a crash.
"""

from __future__ import annotations

import numpy as np

from sightline._njit_fast import njit
from sightline._typing import Bytes, Floats, Int32s, Ints

# Large blocks, since each word has a cost per block; small pieces to search for candidates.
BLOCK, PIECE = 4096, 256
FINE, NO_ROW = -1, -2


@njit(cache=True, nogil=True)
def sum_one(out: Floats, a: Floats, u: np.float32, least: np.float32) -> int:
    """Write u a, and return how many numbers are not below `least`; NaN counts too."""
    near = 0
    for j in range(len(out)):
        x = u * a[j]
        out[j] = x
        near += not (x < least)
    return near


@njit(cache=True, nogil=True)
def sum_two(
    out: Floats, a: Floats, b: Floats, u: np.float32, v: np.float32, least: np.float32
) -> int:
    """Write u a + v b, and return how many numbers are not below `least`."""
    near = 0
    for j in range(len(out)):
        x = u * a[j] + v * b[j]
        out[j] = x
        near += not (x < least)
    return near


@njit(cache=True, nogil=True)
def sum_three(
    out: Floats, a: Floats, b: Floats, c: Floats, u: np.float32, v: np.float32, w: np.float32,
    least: np.float32,
) -> int:  # fmt: skip
    """Write u a + v b + w c, and return how many numbers are not below `least`."""
    near = 0
    for j in range(len(out)):
        x = u * a[j] + v * b[j] + w * c[j]
        out[j] = x
        near += not (x < least)
    return near


@njit(cache=True, nogil=True)
def add_one(out: Floats, a: Floats, u: np.float32, least: np.float32) -> int:
    """Add u a, and return how many numbers are not below `least`."""
    near = 0
    for j in range(len(out)):
        x = out[j] + u * a[j]
        out[j] = x
        near += not (x < least)
    return near


@njit(cache=True, nogil=True)
def sum_rows(
    out: Floats, rows: Floats, at: Ints, weights: Floats, start: int, stop: int, least: np.float32
) -> int:
    """Write the weighted sum of the words' rows between start and stop."""
    w = weights
    a = rows[at[0], start:stop]
    if len(at) == 1:
        return sum_one(out, a, w[0], least)
    b = rows[at[1], start:stop]
    if len(at) == 2:
        return sum_two(out, a, b, w[0], w[1], least)
    near = sum_three(out, a, b, rows[at[2], start:stop], w[0], w[1], w[2], least)
    for i in range(3, len(at)):
        near = add_one(out, rows[at[i], start:stop], w[i], least)
    return near


@njit(cache=True, nogil=True)
def apply_tagged(
    out: Floats, rows: Floats, at: Ints, weights: Floats, tagged_scores: Floats, word_of: Ints,
    term_row: Int32s, cursor: Ints, end: Ints, marks: Bytes, start: int, stop: int,
    least: np.float32,
) -> int:  # fmt: skip
    """Sum again for the pictures that have a word; return how many sums are not below `least`.

    A mark has a bit for each word that its picture has. A picture that has several words is
    summed several times, the last time with all of them. A word has a list of pictures for each of
    its forms; `word_of` is the word of each list, and `cursor` the position of its next picture.
    """
    near = 0
    for i in range(len(word_of)):
        while cursor[i] < end[i] and term_row[cursor[i]] < start:
            cursor[i] += 1
        p = cursor[i]
        while p < end[i] and term_row[p] < stop:
            j = term_row[p] - start
            p += 1
            if j < 0:
                continue
            mark = marks[j] | np.uint8(1 << word_of[i])
            marks[j] = mark
            total = np.float32(0.0)
            for word in range(len(at)):
                # Read even if it is not needed, which is cheaper than a branch.
                score = rows[at[word], start + j]
                part = weights[word] * (tagged_scores[word] if (mark >> word) & 1 else score)
                total = part if word == 0 else total + part
            out[j] = total
            near += not (total < least)
    for i in range(len(word_of)):
        while cursor[i] < end[i] and term_row[cursor[i]] < stop:
            if term_row[cursor[i]] >= start:
                marks[term_row[cursor[i]] - start] = 0
            cursor[i] += 1
    return near


@njit(cache=True, nogil=True)
def worse(score: np.float32, picture: int, than: np.float32, than_picture: int) -> bool:
    """Return whether one picture ranks below another: equal scores are ordered by id."""
    return bool(score < than or (score == than and picture > than_picture))


@njit(cache=True, nogil=True)
def offer(score: np.float32, picture: int, scores: Floats, ids: Ints, count: Ints) -> None:
    """Take a picture into a heap of the best, whose root is the worst, if it belongs there."""
    n, i = count[0], 0
    if n < len(ids):
        count[0] = n + 1
        i = n
        while i > 0:
            up = (i - 1) >> 1
            if not worse(score, picture, scores[up], ids[up]):
                break
            scores[i], ids[i] = scores[up], ids[up]
            i = up
    elif worse(scores[0], ids[0], score, picture):
        while 2 * i + 1 < n:
            down = 2 * i + 1
            if down + 1 < n and worse(scores[down + 1], ids[down + 1], scores[down], ids[down]):
                down += 1
            if not worse(scores[down], ids[down], score, picture):
                break
            scores[i], ids[i] = scores[down], ids[down]
            i = down
    else:
        return
    scores[i], ids[i] = score, picture


@njit(cache=True, nogil=True)
def least_of(scores: Floats, count: Ints) -> np.float32:
    """Return the score below which no picture belongs to the best."""
    if count[0] < len(scores) or len(scores) == 0:
        return np.float32(-np.inf)
    return np.float32(scores[0])


@njit(cache=True, nogil=True)
def not_below(x: Floats, least: np.float32) -> int:
    """Return how many numbers are not below `least`."""
    near = 0
    for j in range(len(x)):
        near += not (x[j] < least)
    return near


@njit(cache=True, nogil=True)
def offer_rows(
    out: Floats, start: int, only: Ints, ids: Ints, best_scores: Floats, best_ids: Ints, count: Ints
) -> int:
    """Offer the scores of some rows; return a row whose score is NaN, or FINE."""
    least = least_of(best_scores, count)
    for row in only:
        x = out[row - start]
        if x < least or x == -np.inf:
            continue
        if x != x:
            return int(row)
        offer(x, ids[row], best_scores, best_ids, count)
        least = least_of(best_scores, count)
    return FINE


@njit(cache=True, nogil=True)
def offer_block(
    out: Floats, start: int, ids: Ints, best_scores: Floats, best_ids: Ints, count: Ints
) -> int:
    """Offer the scores of a block, skipping pieces in which no score is high enough."""
    for begin in range(0, len(out), PIECE):
        piece = out[begin : begin + PIECE]
        least = least_of(best_scores, count)
        if not_below(piece, least) == 0:
            continue
        for j in range(len(piece)):
            x = piece[j]
            if x < least or x == -np.inf:
                continue
            row = start + begin + j
            if x != x:
                return int(row)
            offer(x, ids[row], best_scores, best_ids, count)
            least = least_of(best_scores, count)
    return FINE


@njit(cache=True, nogil=True)
def find_rows(terms: Ints, scored: Ints, at: Ints) -> bool:
    """Find the row of each word; return whether all have one."""
    for i in range(len(terms)):
        at[i] = np.searchsorted(scored, terms[i])
        if at[i] == len(scored) or scored[at[i]] != terms[i]:
            return False
    return True


@njit(cache=True, nogil=True)
def find_pictures(
    forms: Ints, indexed: Ints, term_start: Ints, n_postings: int, cursor: Ints, end: Ints
) -> None:
    """Find the pictures of each form."""
    for i in range(len(forms)):
        j = np.searchsorted(indexed, forms[i])
        cursor[i] = end[i] = 0
        if j < len(indexed) and indexed[j] == forms[i]:
            cursor[i] = max(term_start[j], 0)
            end[i] = min(term_start[j + 1], n_postings)


@njit(cache=True, nogil=True)
def scan(
    terms: Ints, weights: Floats, tagged_scores: Floats, forms: Ints, word_of: Ints, scored: Ints,
    rows: Floats, indexed: Ints, term_start: Ints, term_row: Int32s, ids: Ints, excluded: Ints,
    only: Ints, filtered: bool, best_scores: Floats, best_ids: Ints, count: Ints,
) -> int:  # fmt: skip
    """Offer the pictures of a segment to a heap of the best.

    If `filtered`, only the rows `only` (ascending) are offered; otherwise all but `excluded`.
    Returns FINE, NO_ROW if a word has no row of scores, or a row whose score is NaN.
    """
    at, cursor, end = np.empty_like(terms), np.empty_like(forms), np.empty_like(forms)
    if not find_rows(terms, scored, at):
        return NO_ROW
    find_pictures(forms, indexed, term_start, len(term_row), cursor, end)
    n = min(rows.shape[1], len(ids))
    buffer, marks = np.empty(BLOCK, np.float32), np.zeros(BLOCK, np.uint8)
    first = next_excluded = 0
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        last = first
        while last < len(only) and only[last] < stop:
            last += 1
        chosen = only[first:last]
        first = last
        if filtered and len(chosen) == 0:
            continue
        out = buffer[: stop - start]
        least = least_of(best_scores, count)
        near = sum_rows(out, rows, at, weights, start, stop, least)
        near += apply_tagged(
            out, rows, at, weights, tagged_scores, word_of, term_row, cursor, end, marks, start,
            stop, least,
        )  # fmt: skip
        while next_excluded < len(excluded) and excluded[next_excluded] < stop:
            if excluded[next_excluded] >= start:
                out[excluded[next_excluded] - start] = -np.inf
            next_excluded += 1
        if near == 0:
            continue
        if filtered:
            nan_row = offer_rows(out, start, chosen, ids, best_scores, best_ids, count)
        else:
            nan_row = offer_block(out, start, ids, best_scores, best_ids, count)
        if nan_row != FINE:
            return nan_row
    return FINE
