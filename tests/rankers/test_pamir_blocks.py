"""PAMIR from rows that are read in blocks: the same weights as from rows in memory."""

from __future__ import annotations

import numpy as np
import pytest

from sightline._typing import Floats, Ints
from sightline.errors import DataError, ParameterError
from sightline.rankers import training
from sightline.rankers.pamir import PAMIR


class Blocks:
    """Rows in memory that count how many of them are asked for at once."""

    def __init__(self, X: Floats) -> None:
        self.X, self.asked = X, list[int]()

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[1]

    def read(self, rows: Ints) -> Floats:
        assert (np.diff(rows) > 0).all()
        self.asked.append(len(rows))
        return self.X[rows]


def made(n: int = 900) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 5
    X = (np.eye(5)[kind] + 0.4 * rng.normal(size=(n, 5))).astype(np.float32)
    return X, np.eye(5, dtype=np.float32)[kind]


def test_few_pictures_are_read_once_and_give_what_memory_gives() -> None:
    X, y = made()
    blocks = Blocks(X)
    streamed = PAMIR(random_state=3).fit_blocks(blocks, y, n_iter=20_000)
    assert blocks.asked == [900]
    assert np.array_equal(streamed.W_, PAMIR(random_state=3).fit(X, y, n_iter=20_000).W_)
    assert (streamed.n_iter_, streamed.classes_.tolist()) == (20_000, [0, 1, 2, 3, 4])


@pytest.mark.parametrize("averaged", [False, True])
def test_portions_give_what_the_same_portions_in_memory_give(
    monkeypatch: pytest.MonkeyPatch, averaged: bool
) -> None:
    X, y = made()
    monkeypatch.setattr(training, "_FEWEST_AMONG", 128)
    monkeypatch.setattr(training, "_READ_BYTES", 1)
    monkeypatch.setattr(training, "_CACHED_ROWS", 10)
    monkeypatch.setattr(training, "_PORTION_ROWS", 10)
    blocks = Blocks(X)
    how = {"random_state": 3, "averaged": averaged}
    streamed = PAMIR(**how).fit_blocks(blocks, y, n_iter=20_000)  # type: ignore[arg-type]
    assert len(blocks.asked) > 30 and max(blocks.asked) == 128
    inside = PAMIR(**how).fit(X, y, n_iter=20_000)  # type: ignore[arg-type]
    assert np.array_equal(streamed.W_, inside.W_)
    assert streamed.score(X, y) > 0.9 and streamed.n_updates_ == inside.n_updates_


def test_what_blocks_cannot_teach_is_said() -> None:
    X, y = made(60)
    for wrong in ({"max_len": 2}, {"pairs_per_query": 1}, {"shards": 2}):
        with pytest.raises(ParameterError, match="to learn from blocks"):
            PAMIR(**wrong).fit_blocks(Blocks(X), y)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="X and y must have a row for each picture"):
        PAMIR().fit_blocks(Blocks(X), y[:-1])
    with pytest.raises(DataError, match="would take"):
        PAMIR(max_bytes=10).fit_blocks(Blocks(X), y)


def test_a_block_that_cannot_be_read_ends_the_training() -> None:
    X, y = made(60)

    class Broken(Blocks):
        def read(self, rows: Ints) -> Floats:
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        PAMIR().fit_blocks(Broken(X), y)
