"""A feature of a plugin: computed by describe workers, stored as rows, found by a dense query."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sightline.collection import Collection
from sightline.collection.index.status import feature_states
from sightline.compute.features import fingerprint
from sightline.compute.inline import InlineCompute
from sightline.compute.local import LocalCompute
from sightline.errors import UsageError
from sightline.records import DenseQuery, FeatureRows
from sightline.registry import FEATURE_SETS
from sightline.store.snapshot import Snapshot
from tests.factories import plugin_features as made
from tests.factories.photos import blobs
from tests.factories.plugins import plugged

COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "grey": (90, 90, 90)}
CLASSES = {
    "raises-at-red": "RaisesAtRed",
    "not-finite-at-red": "NotFiniteAtRed",
    "wrong-shape-at-red": "WrongShapeAtRed",
}


@pytest.fixture(autouse=True)
def _plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kinds = (made.MeanColour, made.Size, made.RaisesAtRed, made.NotFiniteAtRed,
             made.WrongShapeAtRed)  # fmt: skip
    with plugged(monkeypatch, *((kind.name, kind.__name__) for kind in kinds)):
        yield


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    photos = tmp_path / "photos"
    photos.mkdir()
    for name, colour in COLOURS.items():
        Image.new("RGB", (500, 250), colour).save(photos / f"{name}.png")
        (photos / f"{name}.txt").write_text(f"colour, {name}")
    return Collection.open(photos, store=tmp_path / "store", workers=2)


def row_of(snapshot: Snapshot, picture: int, feature: str) -> NDArray[np.float32]:
    rows = snapshot.rows(feature, np.array([picture], np.int64))
    assert isinstance(rows, FeatureRows)
    return np.asarray(rows.rows[0])


def best(c: Collection, feature: str, weights: list[float]) -> list[str]:
    """Return the pictures a dense query finds, best first, by name."""
    with c.store_folder.reader() as reader:
        top = reader.snapshot.top(DenseQuery(feature, np.array(weights, np.float32)), 10)
        facts = reader.catalogue.facts(top.ids.tolist())
        return [facts[i].path.decode().removesuffix(".png") for i in top.ids.tolist()]


def test_feature_of_a_plugin_is_computed_stored_and_found(collection: Collection) -> None:
    report = collection.index(features=["mean-colour", "size"])
    assert (report.seen, report.indexed, report.skipped) == (4, 4, ())
    mean, size = fingerprint(made.MeanColour(), 384), fingerprint(made.Size(), 384)
    ids = collection.pictures.resolve([f"{name}.png" for name in COLOURS])
    with collection.store_folder.reader() as reader:
        assert set(reader.snapshot.features()) == {mean, size}
        for picture, colour in zip(ids, COLOURS.values(), strict=True):
            row = row_of(reader.snapshot, picture, mean)
            assert row.dtype == np.float32
            assert np.abs(row - np.array(colour) / 255).max() < 1e-6
            assert row_of(reader.snapshot, picture, size).tolist() == [192, 384]
    assert best(collection, mean, [1, 0, -1]) == ["red", "green", "grey", "blue"]
    assert best(collection, mean, [0, 0, 1])[:2] == ["blue", "grey"]


def test_feature_wanted_later_is_computed_for_what_is_known(collection: Collection) -> None:
    inline = InlineCompute()
    assert collection.index(compute=inline).added == 4
    ids = collection.pictures.resolve([f"{name}.png" for name in COLOURS])
    second = collection.index(features=["mean-colour"], compute=inline)
    assert (second.seen, second.indexed, second.added) == (4, 4, 0)
    assert collection.pictures.resolve([f"{name}.png" for name in COLOURS]) == ids
    assert best(collection, fingerprint(made.MeanColour(), 384), [1, 0, 0])[0] == "red"
    third = collection.index(features=["mean-colour"], compute=inline)
    assert third.version == second.version


@pytest.mark.parametrize(
    ("feature", "reason"),
    [
        ("raises-at-red", "I do not like red"),
        ("not-finite-at-red", "not-finite-at-red returned a value that is not finite."),
        ("wrong-shape-at-red", "wrong-shape-at-red returned shape (2,), not (3,)."),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_picture_a_feature_fails_at_is_named_and_goes_without(
    collection: Collection, feature: str, reason: str, known: bool
) -> None:
    if known:
        collection.index(compute=InlineCompute())
    own = LocalCompute(1) if feature == "raises-at-red" else InlineCompute()
    report = collection.index(features=[feature], compute=own)
    own.close()
    assert report.problems == (f"red.png: no features ({feature}): {reason}",)
    assert (report.seen, report.indexed, report.skipped) == (4, 4, ())
    assert len(collection.search("colour").hits) == 4, "its words are as good as before"
    name = fingerprint(getattr(made, CLASSES[feature])(), 384)
    assert "red" not in best(collection, name, [1, 1, 1])
    assert len(best(collection, name, [1, 1, 1])) == 3


def test_unknown_feature_is_refused_before_anything_is_read(collection: Collection) -> None:
    with pytest.raises(UsageError, match=r"no 'nothing' among the features\. Known: .*mean-colour"):
        collection.index(features=["nothing"])


def test_features_are_remembered_and_survive_a_change_of_words(collection: Collection) -> None:
    collection.index(features=["mean-colour"], compute=InlineCompute())
    photos = Path(os.fsdecode(collection.root))
    Image.new("RGB", (30, 20), "white").save(photos / "white.png")
    (photos / "red.txt").write_text("changed")
    report = collection.index(compute=InlineCompute())
    assert (report.added, report.changed) == (1, 1)
    mean = fingerprint(made.MeanColour(), 384)
    assert best(collection, mean, [1, 1, 1])[0] == "white"
    assert best(collection, mean, [1, -1, -1])[0] == "red"
    assert [h.path for h in collection.search("changed").hits] == [b"red.png"]


def test_the_nine_of_paper_d_and_the_two_of_paper_b_are_computed(tmp_path: Path) -> None:
    photos = tmp_path / "spots"
    photos.mkdir()
    for i in range(6):
        Image.fromarray(blobs(i, 60, 90)).save(photos / f"{i}.png")
    c = Collection.open(photos, store=tmp_path / "store")
    report = c.index(features=["whole-all", "ehd", "cedd"], compute=InlineCompute())
    assert report.problems == () and report.indexed == 6
    states = {f.name: f for f in feature_states(c.store_folder)}
    nine = FEATURE_SETS["whole-all"]
    assert all(states[name].pictures == 6 for name in (*nine, "ehd", "cedd"))
    assert {name for name in nine if states[name].fitted} == {n for n in nine if "sift" in n}
    lengths = {"color": 81, "edges": 37, "gabor": 120, "lbp": 59, "gist": 512, "ehd": 80}
    assert {name: states[name].length for name in lengths} == lengths
