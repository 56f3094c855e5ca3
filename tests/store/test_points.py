"""Points of a model: ranked like the rows of a feature, merged, dropped and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.errors import StoreDamaged, StoreError
from sightline.progress import NoProgress
from sightline.records import DenseQuery
from sightline.store.folder import StoreFolder
from sightline.store.scores import points_feature
from sightline.store.shards import open_arrays
from sightline.store.upkeep.verify import verify
from sightline.store.writer import Change, Writer
from tests.factories.scored_stores import FakeScorer, points_of, scored_store, train


@pytest.fixture
def store_folder(tmp_path: Path) -> StoreFolder:
    return StoreFolder(tmp_path / "store")


def test_points_of_a_model_are_ranked_like_a_feature_and_merged(store_folder: StoreFolder) -> None:
    scored_store(store_folder)
    weights = np.array([0.4, -1.0], np.float32)
    with Writer(store_folder, "test") as w:
        scorer = FakeScorer(store_folder, 1, spaced=True)
        w.publish_model(scorer, "", NoProgress())
        w.publish(Change(dead=[2, 8]), finished=True)

    def top(name: str) -> list[tuple[int, float]]:
        with store_folder.reader() as reader:
            found = reader.snapshot.top(DenseQuery(name, weights), 100)
            ids, scores = reader.snapshot.scores(DenseQuery(name, weights))
        assert sorted(ids.tolist()) == sorted(found.ids.tolist())
        assert sorted(scores.tolist()) == sorted(found.scores.tolist())
        return list(zip(found.ids.tolist(), found.scores.tolist(), strict=True))

    name = points_feature(scorer.model, "pictures")
    before = top(name)
    living = np.array([1, 3, 4, 5, 6, 7, 9])
    want = points_of(1, living) @ weights
    assert [i for i, _ in before] == living[np.argsort(-want)].tolist()
    assert [s for _, s in before] == pytest.approx(sorted(want.tolist(), reverse=True))
    with Writer(store_folder, "test") as w:
        assert w.compact(everything=True)
        assert [s.scored_by for s in w.version.segments] == [scorer.model]
    assert top(name) == before and verify(store_folder).sound
    for other in (points_feature(scorer.model, "texts"), "words-0123456789abcdef/pictures"):
        with pytest.raises(StoreError, match="is not in the store"):
            top(other)
    # Another model takes them along when it comes.
    with Writer(store_folder, "test") as w:
        train(w, 2)
    with pytest.raises(StoreError, match="is not in the store"):
        top(name)


def test_damaged_points_are_refused(
    store_folder: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored_store(store_folder)
    with Writer(store_folder, "test") as w:
        w.publish_model(FakeScorer(store_folder, 1, spaced=True), "", NoProgress())

    def cut(path: Path) -> dict[str, Any]:
        return {n: a[:-1] if n.startswith("points.") else a for n, a in open_arrays(path).items()}

    monkeypatch.setattr("sightline.store.scores.open_arrays", cut)
    with pytest.raises(StoreDamaged, match="does not hold the scores of 3 pictures"):
        store_folder.reader().__enter__()
