"""Queries over published word scores: exact, by plain numpy and by the compiled loop alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import sightline.store.engines._word_rows_fast as compiled
from sightline.errors import ParameterError, StoreError
from sightline.records import Top, WordQuery
from sightline.store.folder import StoreFolder
from sightline.store.scores import Scores
from sightline.store.segments import OpenSegment
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, Writer
from sightline.words.tfidf import idf
from tests.factories.scored_stores import (
    TERMS,
    FakeScorer,
    batch,
    score,
    scored_store,
    scores_of,
    train,
)
from tests.naive.store import Picture, word_top

Int = NDArray[np.int64]
Float = NDArray[np.float32]


def query(
    terms: Sequence[int], weights: Sequence[float] | None = None, known: float = 1.5
) -> WordQuery:
    return WordQuery(
        np.array(terms, np.int64),
        np.array(weights if weights is not None else [1.0] * len(terms), np.float32),
        np.full(len(terms), known, np.float32),
    )


def both_ways(snapshot: Snapshot, q: WordQuery, k: int, **options: object) -> Top:
    """Ask by numpy and by the compiled loop, see that they agree to the bit, and return that."""
    snapshot.fast = False
    plain = snapshot.top(q, k, **options)  # type: ignore[arg-type]
    snapshot.fast = True
    fast = snapshot.top(q, k, **options)  # type: ignore[arg-type]
    assert plain.ids.tolist() == fast.ids.tolist()
    assert plain.scores.tobytes() == fast.scores.tobytes()
    assert plain.ids.dtype == fast.ids.dtype == np.int64
    assert plain.scores.dtype == fast.scores.dtype == np.float32
    return plain


def listed(top: Top) -> list[tuple[int, float]]:
    return list(zip(top.ids.tolist(), top.scores.tolist(), strict=True))


@dataclass
class Made:
    """A store with all that can happen to pictures, and the pictures it should find."""

    snapshot: Snapshot
    pictures: list[Picture]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Three scored segments with mixed ids, dead and replaced rows; one that has no scores."""
    rng = np.random.default_rng(3)
    store_folder = StoreFolder(tmp_path_factory.mktemp("made") / "store")
    ids = rng.permutation(np.arange(1, 241)).tolist()
    words: dict[int, tuple[int, ...]] = {}
    with Writer(store_folder, "test") as w:
        for part in (ids[:90], ids[90:150], [*ids[150:], *ids[:5]]):
            mine = {i: tuple(t for t in TERMS if rng.random() < 0.2) for i in sorted(part)}
            words.update(mine)
            w.publish(Change(batches=[batch(list(mine), list(mine.values()))]), finished=True)
        train(w, 1)
        w.scorer = None
        w.publish(Change(batches=[batch([500, 501])], dead=ids[20:50]), finished=True)
    alive = sorted(set(ids) - set(ids[20:50]))
    every = range(TERMS[0], TERMS[-1] + 3)
    pictures = [Picture(i, words[i], {t: score(1, i, t) for t in every}) for i in alive]
    with store_folder.reader() as reader:
        assert len(reader.snapshot.segments) == 4
        return Made(reader.snapshot, pictures)


@pytest.mark.parametrize("n_words", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("k", [1, 10, 1000])
def test_a_query_finds_the_exact_best(made: Made, n_words: int, k: int) -> None:
    rng = np.random.default_rng(n_words)
    ids = np.array([p.id for p in made.pictures])
    for where in (None, ids[::3], ids[:2], ids[:0], np.array([7, 9_999])):
        for without in (None, ids[::2], ids[:0]):
            weights = rng.choice([1.0, 1.0, 0.37, -2.5], n_words).tolist()
            q = query(TERMS[:n_words], weights, known=0.7)
            top = both_ways(made.snapshot, q, k, where=where, without=without)
            expected = word_top(
                made.pictures, TERMS[:n_words], weights, [0.7] * n_words, k,
                None if where is None else set(where.tolist()),
                () if without is None else set(without.tolist()),
            )  # fmt: skip
            assert listed(top) == expected


def test_words_without_a_row_are_scored_by_whoever_asks(made: Made) -> None:
    asked: list[list[int]] = []

    def more(s: OpenSegment, terms: Int) -> Float:
        asked.append(terms.tolist())
        return scores_of(1, s.ids, terms.tolist())

    for terms in ((10, 12, 16), (16, 11, 10, 14), (17,), (13, 16, 16)):
        pictures = [
            Picture(p.id, p.words, {t: score(1, p.id, t) for t in terms}) for p in made.pictures
        ]
        weights = [0.5, 1.0, 2.0, 0.1][: len(terms)]
        top = both_ways(made.snapshot, query(terms, weights), 25, score_words=more)
        assert listed(top) == word_top(pictures, terms, weights, [1.5] * len(terms), 25)
    assert set(map(tuple, asked)) == {(10, 16), (16, 10), (17,), (16, 16)}
    asked.clear()
    both_ways(made.snapshot, query(TERMS), 5, score_words=more)
    assert asked == []
    for answer in (None, lambda s, t: None):
        assert not len(both_ways(made.snapshot, query([11, 16]), 5, score_words=answer).ids)


def test_equal_scores_stand_by_id_however_pictures_lie(made: Made) -> None:
    q = query([11], [0.0])
    ids = sorted(p.id for p in made.pictures)
    for k in (1, 7, len(ids)):
        assert both_ways(made.snapshot, q, k).ids.tolist() == ids[:k]


def test_a_picture_that_has_the_words_counts_as_known(tmp_path: Path) -> None:
    store_folder = StoreFolder(tmp_path / "store")
    scored_store(store_folder)
    with store_folder.reader() as reader:
        one = listed(both_ways(reader.snapshot, query([12], known=100.0), 9))
        assert one[:2] == [(1, 100.0), (6, 100.0)]
        assert one[2][1] < 3
        two = listed(both_ways(reader.snapshot, query([11, 12], [1.0, 0.5], known=100.0), 9))
        # Number 5 has the first word, 1 and 6 the second.
        assert two[0] == (5, 100.0 + 0.5 * score(1, 5, 12))
        # A score far below the rest leaves no trace in the sum of one who has the word.
        huge = WordQuery(np.array([11, 12]), np.array([1e30, 1.0], np.float32), np.zeros(2, "f4"))
        assert dict(listed(both_ways(reader.snapshot, huge, 9)))[5] == np.float32(score(1, 5, 12))


def test_pictures_scored_by_another_model_have_no_score(tmp_path: Path) -> None:
    store_folder = StoreFolder(tmp_path / "store")
    with Writer(store_folder, "test") as w:
        w.publish(Change(batches=[batch([1, 2])]), finished=True)
        train(w, 1)
        w.scorer = FakeScorer(store_folder, 2)
        w.publish(Change(batches=[batch([3, 4])]), finished=True)
    with store_folder.reader() as reader:
        assert [s.scores is not None for s in reader.snapshot.segments] == [True, True]
        assert sorted(both_ways(reader.snapshot, query([11, 13]), 9).ids.tolist()) == [1, 2]


def test_questions_that_make_no_sense(made: Made) -> None:
    assert both_ways(made.snapshot, query([]), 5).ids.tolist() == []
    for fast in (False, True):
        made.snapshot.fast = fast
        with pytest.raises(ParameterError, match="at least 1"):
            made.snapshot.top(query([11]), 0)
        with pytest.raises(StoreError, match="picture 1 is not a number"):
            made.snapshot.top(query([11], [np.nan], known=0.0), 3, where=np.array([1, 2]))


def test_more_words_than_the_compiled_loop_takes(made: Made) -> None:
    terms = [TERMS[i % 5] for i in range(70)]
    weights = [0.01 * i for i in range(70)]
    top = both_ways(made.snapshot, query(terms, weights), 12)
    assert listed(top) == word_top(made.pictures, terms, weights, [1.5] * 70, 12)


def large(n: int, share: float, n_terms: int = 4) -> tuple[OpenSegment, list[Picture]]:
    """Return a segment of many blocks in memory, and its pictures."""
    rng = np.random.default_rng(n)
    ids = np.sort(rng.choice(10 * n, n, replace=False)).astype(np.int64)
    rows = rng.standard_normal((n_terms, n)).astype(np.float32).round(1)
    tagged = [np.flatnonzero(rng.random(n) < share).astype(np.int32) for _ in range(n_terms)]
    terms = np.arange(1, n_terms + 1)
    base = {
        "ids": ids,
        "terms": terms,
        "term_start": np.cumsum([0, *map(len, tagged)]),
        "term_row": np.concatenate(tagged),
    }
    dead = np.sort(rng.choice(n, n // 20, replace=False)).astype(np.int64)
    s = OpenSegment(base, {}, dead, Scores("m", terms, rows))
    words: list[set[int]] = [set() for _ in range(n)]
    for t, mine in enumerate(tagged, 1):
        for i in mine.tolist():
            words[i].add(t)
    alive = sorted(set(range(n)) - set(dead.tolist()))
    pictures = [
        Picture(int(ids[i]), words[i], dict(enumerate(rows[:, i].tolist(), 1))) for i in alive
    ]
    return s, pictures


@pytest.mark.parametrize("share", [0.0, 0.02, 0.6])
def test_segments_of_many_blocks(share: float) -> None:
    n = 3 * compiled.BLOCK + 77
    s, pictures = large(n, share)
    snapshot = Snapshot.__new__(Snapshot)
    snapshot.segments, snapshot.model = [s], "m"
    ids = s.ids
    # Filters that skip whole blocks, begin in the last one, or take every second picture.
    wheres = (None, ids[-40:], ids[[5, 2 * compiled.BLOCK + 5]], ids[::2])
    for terms in ([2], [1, 4], [1, 2, 3], [4, 3, 2, 1]):
        weights = [0.3, 1.0, 0.7, 1.1][: len(terms)]
        for where in wheres:
            allowed = None if where is None else set(where.tolist())
            expected = word_top(pictures, terms, weights, [0.9] * len(terms), 20, allowed)
            top = both_ways(snapshot, query(terms, weights, 0.9), 20, where=where)
            assert listed(top) == expected


def test_a_word_counts_by_all_its_forms(made: Made) -> None:
    forms = ((TERMS[0], TERMS[3]), (TERMS[1],), (TERMS[2], TERMS[4], 999))
    words = [f[0] for f in forms]
    plain = query(words, [1.0, 0.5, 2.0], known=7.5)
    asked = replace(plain, forms=tuple(np.array(f, np.int64) for f in forms))
    # A picture with any form has the word.
    joined = [
        Picture(p.id, {f[0] for f in forms if set(f) & set(p.words)}, p.scores)
        for p in made.pictures
    ]
    for where in (None, [p.id for p in made.pictures[::9]]):
        allowed = None if where is None else np.array(sorted(where), np.int64)
        top = both_ways(made.snapshot, asked, 60, where=allowed)
        expected = word_top(joined, words, plain.weights.tolist(), [7.5] * 3, 60, where)
        assert listed(top) == expected
        assert listed(top) != listed(both_ways(made.snapshot, plain, 60, where=allowed))


def test_pictures_of_a_group_have_any_of_its_terms(made: Made) -> None:
    a, b, c = (np.array(t, np.int64) for t in (TERMS[:2], TERMS[2:3], [999]))
    has = {p.id: set(p.words) for p in made.pictures}
    found = made.snapshot.tagged_with_every([a, b])
    assert found.tolist() == sorted(i for i in has if has[i] & {*a.tolist()} and has[i] & {*b})
    assert made.snapshot.tagged_with_every([a, c]).tolist() == []
    n = len(made.snapshot.tagged_with(a.tolist(), every=False))
    size = made.snapshot.size()
    assert made.snapshot.idf_of([a, b, c])[0] == pytest.approx(idf(np.array([n]), size)[0])
    assert (
        made.snapshot.idf_of([b, c]).tolist() == made.snapshot.idf(np.array([b[0], 999])).tolist()
    )


def test_numbers_that_are_none_are_refused_by_name() -> None:
    s, _ = large(3 * compiled.BLOCK, 0.01)
    assert s.scores is not None
    at = int(np.setdiff1d(np.arange(5000, 6000), s.dead)[0])
    s.scores.rows[1, at] = np.nan
    snapshot = Snapshot.__new__(Snapshot)
    snapshot.segments, snapshot.model = [s], "m"
    for fast in (False, True):
        snapshot.fast = fast
        with pytest.raises(StoreError, match=f"picture {s.ids[at]} is not a number"):
            snapshot.top(query([1, 2, 3]), 5)
        assert len(snapshot.top(query([1, 3]), 5).ids) == 5
        assert len(snapshot.top(query([1, 2]), 5, without=s.ids[at : at + 1]).ids) == 5


def test_the_compiled_loop_never_leaves_its_arrays() -> None:
    """Damaged places (a flipped bit that nobody has looked for yet) are passed over."""
    s, _ = large(2 * compiled.BLOCK, 0.1)
    assert s.scores is not None
    rng = np.random.default_rng(1)
    for _ in range(20):
        wild = rng.integers(-(1 << 31), 1 << 31, len(s.base["term_row"])).astype(np.int32)
        start = rng.integers(-(1 << 40), 1 << 40, len(s.base["term_start"]))
        out = np.sort(rng.integers(-(1 << 40), 1 << 40, 50))
        scores, ids, count = np.empty(9, np.float32), np.empty(9, np.int64), np.zeros(1, np.int64)
        code = compiled.scan(
            np.array([1, 2]), np.ones(2, np.float32), np.ones(2, np.float32), np.array([1, 3, 2]),
            np.array([0, 0, 1]), s.scores.terms, s.scores.rows, s.base["terms"], start, wild,
            s.ids, out, np.zeros(0, np.int64), False,
            scores, ids, count,
        )  # fmt: skip
        assert code == compiled.FINE and set(ids.tolist()) <= set(s.ids.tolist())
