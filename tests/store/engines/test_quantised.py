"""Rounded rows: answers are those of the full scan, and what is not rounded is scanned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline._typing import Floats, Ints
from sightline.errors import StoreError
from sightline.records import Batch, DenseQuery, FeatureRows, Top
from sightline.store.engines import flat, quantised
from sightline.store.engines.quantised import Quantised, QuantisedRows, _Bounds, whole_weights
from sightline.store.engines.tables import Published
from sightline.store.folder import StoreFolder
from sightline.store.segments import OpenSegment
from sightline.store.snapshot import Snapshot
from sightline.store.versions import FeatureFile, FileEntry, Segment
from sightline.store.writer import Change, Writer
from tests.naive.store import highest_scores

FEATURE = "made-1"
KINDS: tuple[flat.By, ...] = ("product", "cosine", "distance")


def published(parts: list[Floats], dead: tuple[int, ...] = ()) -> Published:
    """Return a version of segments in memory, with some dead rows in each."""
    segments, listed, first = [], [], 1
    for i, rows in enumerate(parts):
        ids = np.arange(first, first + len(rows), dtype=np.int64)
        gone = np.array([d for d in dead if d < len(rows)], np.int64)
        segments.append(OpenSegment({"ids": ids}, {FEATURE: rows}, gone))
        entry = FileEntry(f"rows-{i}", f"{i}", 0)
        listed.append(Segment(len(ids), entry, (FeatureFile(FEATURE, entry),), dead_rows=len(gone)))
        first += len(rows)
    return Published(1, "", segments, listed)


def rounded(least_numbers: int = 0) -> Quantised:
    return Quantised(1 << 30, least_numbers)


def scanned(p: Published, query: DenseQuery, k: int, where: Ints | None = None) -> Top:
    return flat.dense_top(p.segments, query, k, where)


def check_equal(p: Published, w: Floats, k: int, where: Ints | None = None) -> int:
    """Compare all kinds of queries with the scan; return how many were answered."""
    q = rounded()
    for by in KINDS:
        query = DenseQuery(FEATURE, w, by)
        top = q.top(p, query, k, where)
        if top is not None:
            expected = scanned(p, query, k, where)
            np.testing.assert_allclose(top.scores, expected.scores, rtol=1e-4, atol=1e-4)
            # Rows of nearly equal scores may change places by the last digit of a sum.
            swapped = top.ids != expected.ids
            assert np.allclose(top.scores[swapped], expected.scores[swapped], rtol=1e-5, atol=1e-6)
    return q.n_answers


@given(
    st.integers(0, 10_000), st.integers(200, 600), st.integers(1, 40), st.integers(1, 20),
    st.sampled_from(["normal", "uniform", "sparse", "constant", "huge"]),
)  # fmt: skip
def test_the_best_are_those_of_the_scan(seed: int, n: int, d: int, k: int, kind: str) -> None:
    random = np.random.default_rng(seed)
    rows = random.standard_normal((n, d))
    if kind == "uniform":
        rows = random.random((n, d)) + 1
    elif kind == "sparse":
        rows *= random.random((n, d)) < 0.1
    elif kind == "constant":
        rows[: n // 2] = rows[0]
    elif kind == "huge":
        rows *= 1e12
    made: Floats = rows.astype(np.float32)
    p = published([made[: n // 3], made[n // 3 :]], dead=(0, 3, 50))
    check_equal(p, made[5], k)
    check_equal(p, random.standard_normal(d, np.float32), k)
    check_equal(p, np.zeros(d, np.float32), k)
    check_equal(p, made[5], k, np.unique(random.integers(1, n, n // 2)))


@given(st.integers(0, 10_000), st.integers(1, 300), st.sampled_from(KINDS))
def test_no_row_scores_above_its_bound(seed: int, d: int, by: flat.By) -> None:
    random = np.random.default_rng(seed)
    rows = (random.standard_normal((60, d)) + random.integers(0, 3)).astype(np.float32)
    w = (random.standard_normal(d) + random.integers(0, 3)).astype(np.float32)
    p = published([rows])
    bounds = _Bounds(p.segments, [QuantisedRows.of(rows)], w, by, None, 10)
    exact = flat._scores(rows, w, by).astype(np.float64)
    slack = 1e-5 * (1 + np.abs(exact))
    assert (bounds._upper >= exact - slack).all()
    naive = highest_scores(rows, w, by)
    np.testing.assert_allclose(bounds._upper, naive, rtol=2e-4, atol=2e-4 * (1 + abs(naive).max()))


def test_few_rows_are_left_possible_and_nothing_else_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(0)
    rows = random.standard_normal((5_000, 64)).astype(np.float32)
    p, q = published([rows[:2_000], rows[2_000:]]), rounded()
    queries = [DenseQuery(FEATURE, w, by) for w in rows[:10] for by in KINDS]
    expected = [scanned(p, query, 20).ids.tolist() for query in queries]
    read: list[int] = []
    scores = flat._scores

    def counted(matrix: Floats, *rest: object) -> Floats:
        read.append(len(matrix))
        return scores(matrix, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(flat, "_scores", counted)
    tops = [q.top(p, query, 20, None) for query in queries]
    assert [t.ids.tolist() for t in tops if t is not None] == expected
    assert q.n_answers == len(queries)
    assert sum(read) < 0.1 * len(queries) * len(rows)


def test_rows_that_cannot_be_told_apart_are_scanned() -> None:
    random = np.random.default_rng(1)
    rows = (1 + 1e-5 * random.standard_normal((1_000, 30))).astype(np.float32)
    rows[:, 0] = 100.0 * np.sign(random.standard_normal(1_000))
    p, q = published([rows]), rounded()
    w = np.eye(30, dtype=np.float32)[5]
    assert q.top(p, DenseQuery(FEATURE, w), 20, None) is None
    assert q.n_answers == 0


def test_a_row_that_is_no_number_is_reported_as_by_the_scan() -> None:
    rows = np.random.default_rng(2).standard_normal((400, 8)).astype(np.float32)
    rows[7, 3] = np.nan
    p = published([rows])
    query = DenseQuery(FEATURE, np.ones(8, np.float32))
    ranks: list[Callable[[], object]] = [
        lambda: scanned(p, query, 5),
        lambda: rounded().top(p, query, 5, None),
    ]
    for rank in ranks:
        with pytest.raises(StoreError, match="score of picture 8 is not a number"):
            rank()


def test_small_tables_many_hits_and_selective_filters_are_scanned() -> None:
    rows = np.random.default_rng(3).standard_normal((400, 8)).astype(np.float32)
    p, query = published([rows]), DenseQuery(FEATURE, rows[0])
    assert rounded(3_200).top(p, query, 5, None) is not None
    assert rounded(3_201).top(p, query, 5, None) is None
    assert rounded().top(p, query, 51, None) is None
    assert rounded().top(p, query, 5, np.arange(1, 40)) is None
    assert rounded().top(p, query, 0, None) is None
    assert rounded().top(p, DenseQuery("other-1", rows[0]), 5, None) is None
    assert rounded().top(p, DenseQuery(FEATURE, rows[0, :3]), 5, None) is None
    assert rounded().top(p, DenseQuery(FEATURE, np.full(8, np.inf, np.float32)), 5, None) is None


def test_memory_is_bounded_and_rows_of_older_versions_go() -> None:
    random = np.random.default_rng(4)
    parts = [random.standard_normal((400, 8)).astype(np.float32) for _ in range(3)]
    first, query = published(parts), DenseQuery(FEATURE, parts[0][0])
    needed = 3 * 400 * (8 + 16)
    assert Quantised(needed - 1, 0).top(first, query, 5, None) is None
    q = Quantised(needed, 0)
    assert q.top(first, query, 5, None) is not None and q.n_bytes == needed
    other = published([np.concatenate(parts)])
    renamed = Segment(1200, FileEntry("x", "x", 0), (FeatureFile(FEATURE, FileEntry("y", "y", 0)),))
    newer = Published(2, "", other.segments, [renamed])
    assert q.top(newer, query, 5, None) is not None and q.n_bytes == needed


def test_one_query_rounds_only_so_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    p = published([random.standard_normal((400, 8)).astype(np.float32) for _ in range(3)])
    query = DenseQuery(FEATURE, np.ones(8, np.float32))
    monkeypatch.setattr(quantised, "ROUNDED_AT_ONCE", 400 * 8)
    q, made = rounded(), []
    for _ in range(4):
        made.append((q.top(p, query, 5, None) is not None, q.n_bytes // (400 * 24)))
    assert made == [(False, 1), (False, 2), (True, 3), (True, 3)]


@pytest.mark.parametrize("d", [1, 128, 1280, 100_000])
def test_sums_of_whole_weights_fit(d: int) -> None:
    v, unit = whole_weights(np.ones(d, np.float32))
    assert 0 < 127 * np.abs(v.astype(np.int64)).sum() < 2**31
    assert v[0] * unit == pytest.approx(1, abs=1e-4)
    assert not whole_weights(np.zeros(3, np.float32))[0].any()


def test_a_server_ranks_by_rounded_rows_and_a_command_scans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantised, "LEAST_NUMBERS", 0)
    monkeypatch.setattr(Quantised.__init__, "__defaults__", (0,))
    rows = np.random.default_rng(6).standard_normal((2_000, 16)).astype(np.float32)
    folder = StoreFolder(tmp_path / "store")
    ids = np.arange(1, 2_001)
    batch = Batch(ids, ((),) * 2_000, (b"",) * 2_000, (FeatureRows(FEATURE, rows),))
    with Writer(folder, "test") as writer:
        writer.publish(Change(batches=[batch]), finished=True)
    query = DenseQuery(FEATURE, rows[3])
    tops = []
    for fast in (False, True):
        folder.fast = fast
        with folder.reader() as reader:
            snapshot: Snapshot = reader.snapshot
            tops.append(snapshot.top(query, 10))
            assert (snapshot.quantised is not None) == fast
            assert snapshot.ranks_without_scan(FEATURE, 10) == fast
            if snapshot.quantised is not None:
                assert snapshot.quantised.n_answers == 1
    assert tops[0].ids.tolist() == tops[1].ids.tolist()
    np.testing.assert_allclose(tops[0].scores, tops[1].scores, rtol=1e-6)
