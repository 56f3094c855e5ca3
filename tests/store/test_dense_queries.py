"""Three ways to rank by one feature: products, cosines and distances, against plain sums."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.records import Batch, DenseQuery, FeatureRows, SparseRows
from sightline.store.folder import StoreFolder
from sightline.store.writer import Change, Writer

By = Literal["product", "cosine", "distance"]


def some_rows(n: int, length: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(n + length)
    rows = np.round(rng.normal(size=(n, length)), 2) * (rng.random((n, length)) < 0.5)
    rows[3] = 0
    return rows.astype(np.float32)


def sparse(rows: NDArray[np.float32]) -> SparseRows:
    start = np.concatenate([[0], np.cumsum((rows != 0).sum(axis=1))]).astype(np.int64)
    at = np.nonzero(rows)
    return SparseRows("s-1", rows.shape[1], start, at[1].astype(np.int32), rows[at])


def slow(row: NDArray[np.float32], q: NDArray[np.float32], by: By) -> float:
    product = sum(float(a) * float(b) for a, b in zip(row, q, strict=True))
    square = sum(float(a) ** 2 for a in row)
    if by == "product":
        return product
    if by == "distance":
        return 2 * product - square
    return product / square**0.5 if square else product


@pytest.mark.parametrize("length", [6, 200])
@pytest.mark.parametrize("feature", ["d-1", "s-1"])
@pytest.mark.parametrize("by", ["product", "cosine", "distance"])
def test_pictures_are_ranked_as_plain_sums_rank_them(
    tmp_path: Path, by: By, feature: str, length: int
) -> None:
    rows, store_folder = some_rows(60, length), StoreFolder(tmp_path / "store")
    with Writer(store_folder, "test") as writer:
        for start in (0, 20, 40):
            ids = np.arange(start + 1, start + 21)
            part = rows[start : start + 20]
            features = (FeatureRows("d-1", part), sparse(part))
            batch = Batch(ids, ((),) * 20, (b"",) * 20, features)
            writer.publish(Change(batches=[batch]), finished=True)
        writer.publish(Change(dead=[5, 41]), finished=True)
    q = some_rows(7, length)[0]
    scores = {i + 1: slow(rows[i], q, by) for i in range(60) if i + 1 not in (5, 41)}
    with store_folder.reader() as reader:
        for where in (None, np.array([2, 4, 9]), np.arange(1, 50)):
            mine = scores if where is None else {i: s for i, s in scores.items() if i in where}
            top = reader.snapshot.top(DenseQuery(feature, q, by), 12, where)
            best = sorted(mine.values(), reverse=True)[:12]
            assert top.scores.tolist() == pytest.approx(best, rel=1e-4, abs=1e-4)
            told = [mine[i] for i in top.ids.tolist()]
            assert told == pytest.approx(best, rel=1e-4, abs=1e-4)
        ids, every = reader.snapshot.scores(DenseQuery(feature, q, by))
        lengths, having = reader.snapshot.lengths(feature), reader.snapshot.having(feature)
    assert ids.tolist() == having.tolist() == list(scores)
    assert every.tolist() == pytest.approx(list(scores.values()), rel=1e-4, abs=1e-4)
    squares = [sum(float(a) ** 2 for a in rows[i - 1]) for i in ids.tolist()]
    assert (lengths**2).tolist() == pytest.approx(squares, rel=1e-4)


def test_the_nearest_row_is_the_row_itself(tmp_path: Path) -> None:
    rows, store_folder = some_rows(30, 9) + 1, StoreFolder(tmp_path / "store")
    batch = Batch(np.arange(1, 31), ((),) * 30, (b"",) * 30, (FeatureRows("d-1", rows),))
    with Writer(store_folder, "test") as writer:
        writer.publish(Change(batches=[batch]), finished=True)
    with store_folder.reader() as reader:
        for i in range(30):
            nearest = reader.snapshot.top(DenseQuery("d-1", rows[i], "distance"), 1)
            assert nearest.ids.tolist() == [i + 1]
