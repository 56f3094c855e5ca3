"""Groups of similar pictures, where no region model was trained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.tagging.scenes import Scenes
from sightline.errors import NoFeatures
from tests.factories.judging_collections import kind_of
from tests.factories.planted_stores import clusters, plant

KINDS = 6
N = 72  # As many pictures as make six groups.


@pytest.fixture
def untagged(tmp_path: Path) -> Collection:
    """Return pictures of six clusters without any word."""
    return planted(tmp_path, [[]] * N)


def planted(folder: Path, words: list[list[str]]) -> Collection:
    _, rows = clusters(N, KINDS, noise=0.1)
    plant(folder / "store", words, {"deep": rows})
    photos = folder / "photos"
    photos.mkdir()
    return Collection.open(photos, store=folder / "store")


def members(scenes: Scenes) -> list[set[int]]:
    return [set(s.pictures) for s in scenes]


def test_pictures_without_any_word_are_grouped_by_similarity(untagged: Collection) -> None:
    scenes = untagged.tagging.scenes()
    assert scenes.by == "deep" and scenes.without_regions == 0 and len(scenes) == KINDS
    assert all(len({kind_of(p) for p in group}) == 1 for group in members(scenes))
    assert sorted(p for s in scenes for p in s.pictures) == list(range(1, N + 1))
    assert [s.number for s in scenes] == list(range(KINDS))
    assert not any(s.words for s in scenes)
    assert scenes.to_dict()["by"] == "deep"


def test_words_name_groups_by_how_much_more_frequent_they_are(tmp_path: Path) -> None:
    names = ["apple", "boat", "cat", "dog", "elk", "fox"]
    # Every second picture has its word; all of these share one, which names nothing.
    words = [[names[kind_of(p)], "seen"] if p % 4 == 0 else [] for p in range(1, N + 1)]
    c = planted(tmp_path, words)
    for scene in c.tagging.scenes():
        (word,) = [w.word for w in scene.words] or [""]
        tagged = [p for p in scene.pictures if p % 4 == 0]
        assert word == (names[kind_of(scene.pictures[0])] if tagged else "")


def test_only_the_pictures_of_a_filter_are_grouped(tmp_path: Path) -> None:
    c = planted(tmp_path, [["tree"] if p <= 36 else [] for p in range(1, N + 1)])
    scenes = c.tagging.scenes(filters=Filters(untagged=True))
    assert set().union(*members(scenes)) == set(range(37, N + 1))


def test_without_a_feature_the_message_says_which_to_compute(tmp_path: Path) -> None:
    plant(tmp_path / "store", [[]] * 4, {})
    (tmp_path / "photos").mkdir()
    c = Collection.open(tmp_path / "photos", store=tmp_path / "store")
    with pytest.raises(NoFeatures, match=r"index --features (deep|gist)"):
        c.tagging.scenes()


def test_groups_do_not_depend_on_chance(untagged: Collection) -> None:
    assert untagged.tagging.scenes() == untagged.tagging.scenes()


def test_equal_pictures_are_one_group(tmp_path: Path) -> None:
    plant(tmp_path / "store", [[]] * 20, {"deep": np.ones((20, 8), np.float32)})
    (tmp_path / "photos").mkdir()
    c = Collection.open(tmp_path / "photos", store=tmp_path / "store")
    (scene,) = c.tagging.scenes()
    assert len(scene.pictures) == 20
