"""Words proposed and doubted, their places, scenes: from a folder to proposals, and again."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.synonyms import EARLIER_FILE as FILE
from sightline.collection.tagging.drawing import REGIONS, is_drawing
from sightline.collection.tagging.model import load_region_tagger
from sightline.collection.tagging.training import RegionReport
from sightline.compute.inline import InlineCompute
from sightline.errors import NoFeatures, NotBetter, ParameterError, UsageError
from sightline.records import shown
from sightline.regions.feature import RegionWords
from tests.factories.tagged_collections import (
    TOO_LITTLE,
    TOO_MUCH,
    UNTAGGED,
    N,
    copied,
    painted,
    painted_collection,
    words_of,
)


@pytest.fixture
def own(tagged: Path, tmp_path: Path) -> Collection:
    return copied(tagged, tmp_path)


@pytest.fixture(scope="module")
def collection(tagged: Path) -> Collection:
    """Return the trained collection; tests only look at it."""
    return Collection.open(tagged / "photos", store=tagged / "store", workers=1)


def number(path: bytes) -> int:
    return int(path[:3])


def test_words_that_pictures_lack_are_proposed_with_where_they_lie(collection: Collection) -> None:
    found = collection.tag(filters=Filters(untagged=True))
    assert found.pictures == UNTAGGED and not found.without_regions
    right = [s.word in words_of(number(s.path)) for s in found.suggestions]
    assert len(right) >= 2 * UNTAGGED and np.mean(right) >= 0.9
    assert all(s.add and 0.5 <= s.confidence <= 1 for s in found.suggestions)
    sure = [s.confidence for s in found.suggestions]
    assert sure == sorted(sure, reverse=True)
    for s in found.suggestions:
        inside = s.mask.inside()
        assert (s.mask.height, s.mask.width) == (48, 64) and inside.any()
        if s.word in ("grass", "sand"):
            assert inside[-8:].mean() > inside[:8].mean(), s


def test_missing_words_are_proposed_and_wrong_ones_doubted(collection: Collection) -> None:
    found = collection.tag(TOO_LITTLE + 1, f"{TOO_MUCH:03d}.png")
    told = {(s.add, s.word, number(s.path)) for s in found.suggestions}
    assert (False, "cow", TOO_MUCH) in told
    assert found.pictures == 2 and all(word != "cow" or not add for add, word, _ in told)
    assert not collection.tag(f"{TOO_MUCH:03d}.png", removals=False).suggestions


def test_the_model_is_proven_on_pictures_it_never_saw(own: Collection) -> None:
    before = own.status()
    report = own.models.train_regions(feature="regions", scenes=2, dry_run=True)
    assert report.version == 0 and own.status() == before and "F 0." in before.region_model
    assert report.proof.is_proven and report.proof.passes and not report.forced
    assert report.proof.candidate > 0.95 > report.proof.baseline
    assert report.proof.current == pytest.approx(report.proof.candidate_on_common)
    assert report.words == 6 and report.pictures == N - UNTAGGED and report.dropped == 0


def test_the_same_pictures_teach_the_same_model(own: Collection, collection: Collection) -> None:
    with collection.store_folder.reader() as reader:
        name = reader.snapshot.regions
    report = own.models.train_regions(feature="regions", scenes=2)
    files = [c.store_folder.models / m / "arrays.safetensors" for c, m in
             ((collection, name), (own, report.model))]  # fmt: skip
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_model_that_is_worse_is_refused_unless_forced(
    own: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sightline.regions.scored import ScoredRegionModel

    with own.store_folder.reader() as reader:
        before = reader.snapshot.regions
    fit = ScoredRegionModel.fit

    def badly(self: ScoredRegionModel, X: object, Y: np.ndarray, *rest: object) -> object:
        return fit(self, X, np.roll(Y, 1, axis=1), *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(ScoredRegionModel, "fit", badly)
    with pytest.raises(
        NotBetter,
        match=r"worse than the one in use: F 0\.\d+ against 0\.9.*--force",
    ):
        own.models.train_regions(feature="regions", scenes=2)
    with own.store_folder.reader() as reader:
        assert reader.snapshot.regions == before
    report = own.models.train_regions(feature="regions", scenes=2, force=True)
    assert report.forced and report.version and "forced" in own.status().region_model


def test_scenes_hold_every_picture_once_with_their_words(collection: Collection) -> None:
    found = collection.tagging.scenes(words=3)
    pictures = [p for s in found for p in s.pictures]
    assert sorted(pictures) == list(range(1, N + 1)) and len(found) == 2
    told = {w.word for s in found for w in s.words}
    assert {"grass", "sand"} <= told
    for s in found:
        kinds = [(p - 1) % 2 for p in s.pictures]
        assert max(np.mean(kinds), 1 - np.mean(kinds)) > 0.95
        assert all(w.share > w.usual for w in s.words)
    with pytest.raises(ParameterError, match="'words' parameter of scenes"):
        collection.tagging.scenes(words=0)


def test_the_words_of_a_query_are_placed_and_drawn(collection: Collection, tmp_path: Path) -> None:
    found = collection.tagging.localize("cow grass nowhere", 4)
    assert found.unknown == ("nowhere",) and len(found.hits) == 4
    for h in found.hits:
        assert [w.word for w in h.words] == ["cow", "grass"] and h.scene in (0, 1)
        cow, grass = (w.mask.inside() for w in h.words)
        assert not (cow & grass).any() and 0 < cow.mean() < 0.6
    files = collection.tagging.draw_regions(found, tmp_path / "drawn")
    assert files[0].name.startswith("001-") and all(is_drawing(f, REGIONS) for f in files)
    with Image.open(files[0]) as picture:
        assert picture.width >= 320
    # Drawn again in place of the old ones, but never over somebody's files.
    assert (
        len(
            collection.tagging.draw_regions(
                collection.tagging.localize("cow", 1), tmp_path / "drawn"
            )
        )
        == 1
    )
    assert len(os.listdir(tmp_path / "drawn")) == 1
    (tmp_path / "drawn" / "mine.png").write_bytes(b"mine")
    with pytest.raises(UsageError, match=r"holds other files, such as mine\.png"):
        collection.tagging.draw_regions(found, tmp_path / "drawn")
    with pytest.raises(UsageError, match="inside the collection"):
        collection.tagging.draw_regions(found, Path(os.fsdecode(collection.root)) / "drawn")


def test_hits_are_placed_by_the_regions_their_colours_show(collection: Collection) -> None:
    right = []
    for h in collection.tagging.localize("boat", 10).hits:
        rgb = painted(number(h.hit.path)).astype(int)
        boat = (rgb[..., 0] > 150) & (rgb[..., 1] < 90)
        right.append((h.words[0].mask.inside() & boat).sum() / max(1, boat.sum()))
    assert np.mean(right) > 0.6, right


def test_the_owners_list_merges_and_drops(own: Collection) -> None:
    (own.store_folder.path / FILE).write_text('drop = ["sky"]\n[merge]\nland = ["grass", "sand"]\n')
    assert not own.store.verify().strays
    report = own.models.train_regions(feature="regions", scenes=2)
    assert report.words == 3  # dusk, cow and boat; every picture shows land
    with own.store_folder.reader() as reader:
        placer = load_region_tagger(own.store_folder, reader.snapshot.regions)
    assert placer is not None and placer.words == own.tagging.word_list()
    assert {s.word for s in own.tag(filters=Filters(untagged=True)).suggestions} <= {
        "dusk",
        "cow",
        "boat",
    }
    assert own.tagging.localize("grass", 2).unknown == ("grass",)


def test_pictures_added_later_are_cut_by_the_index_and_tagged(tmp_path: Path) -> None:
    c = painted_collection(tmp_path, 110)
    c.models.train_regions(feature="regions", scenes=2)
    for i in (300, 301):
        Image.fromarray(painted(i)).save(tmp_path / "photos" / f"{i}.png")
    (tmp_path / "photos" / "bad.png").write_bytes(b"\x89PNG no picture")
    report = c.index(compute=InlineCompute())
    assert report.added == 2 and [shown(s.path) for s in report.skipped] == ["bad.png"]
    found = c.tag("300.png", "301.png", precision=0.7)
    told = {number(s.path): {x.word for x in found.suggestions if x.path == s.path}
            for s in found.suggestions}  # fmt: skip
    assert told == {300: set(words_of(300)), 301: set(words_of(301))}
    assert c.store.verify().sound


def test_regions_are_no_vectors_to_rank_or_compare_by(own: Collection) -> None:
    from sightline.errors import SightlineError

    with own.store_folder.reader() as reader:
        assert all(f.startswith("regions-") for f in reader.snapshot.features())
    with pytest.raises(SightlineError, match="descriptor"):
        own.similar("000.png")


def test_what_is_asked_before_a_training_says_how_to_train(tmp_path: Path) -> None:
    c = painted_collection(tmp_path, 30)
    for ask in (c.tag, lambda: c.tagging.localize("sky")):
        with pytest.raises(UsageError, match="Run: sightline train regions"):
            ask()
    # Without a region model similar pictures are grouped, by a feature that they lack here.
    with pytest.raises(NoFeatures, match="Run: sightline index --features"):
        c.tagging.scenes()
    with pytest.raises(UsageError, match="lack regions, and a dry run computes none"):
        c.models.train_regions(feature="regions", dry_run=True)
    with pytest.raises(ParameterError, match="'feature' parameter of train_regions"):
        c.models.train_regions(feature="deep")
    report: RegionReport = c.models.train_regions(feature="regions")
    assert report.unproven and report.scenes == 1 and "unproven" in c.status().region_model


class OtherRegions(RegionWords):
    """Stands in for deep regions, which need a network."""

    name = "regions-deep"


def test_the_named_kind_of_regions_is_learnt_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sightline.regions.feature.DeepRegions", OtherRegions)
    c = painted_collection(tmp_path, 60)
    c.index(features=["regions", "regions-deep"], compute=InlineCompute())
    for kind in ("regions", "regions-deep"):
        report = c.models.train_regions(feature=kind, scenes=1, dry_run=True)
        assert report.feature.rpartition("-")[0] == kind and report.pictures == 60 - UNTAGGED


def test_a_purge_forgets_the_model(own: Collection) -> None:
    with own.store_folder.reader() as reader:
        name = reader.snapshot.regions
    assert own.store.purge(pictures=["000.png"])
    with own.store_folder.reader() as reader:
        assert reader.snapshot.regions == ""
        assert 1 not in reader.snapshot.ids()
    assert own.store.verify().sound and name not in os.listdir(own.store_folder.models)


def test_a_damaged_model_is_mended(own: Collection) -> None:
    with own.store_folder.reader() as reader:
        name = reader.snapshot.regions
    file = own.store_folder.models / name / "arrays.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert not own.store.verify().sound
    said: list[str] = []
    own.store.repair(said.append)
    assert "run: sightline train regions" in said and own.store.verify().sound
