"""Adding a feature: only what pictures lack is computed, all else of their rows stays."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import sightline.collection.index.batches as reading
from sightline import plugins
from sightline.collection import Collection
from sightline.collection.index.status import feature_states
from sightline.compute.features import DESCRIBE_TASK, fingerprint
from sightline.compute.inline import InlineCompute
from sightline.contracts import Done, Failed, Job, WorkerKind
from sightline.errors import Interrupted
from sightline.features.deep import session
from sightline.features.whole.color import ColorMoments
from sightline.pictures.reading import READ_TASK
from sightline.vectors import Fingerprint
from tests.factories import plugin_features as made
from tests.factories.photos import make_photos
from tests.factories.plugins import plugged
from tests.factories.recorded_progress import RecordedProgress

# All that the rows of pictures hold, by path and by part.
Rows = dict[bytes, dict[str, bytes]]


class Counting(InlineCompute):
    """Counts the pictures that are decoded, and those that are described, by feature."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.decoded: list[bytes] = []
        self.described: Counter[str] = Counter()
        self.described_pictures: list[bytes] = []
        self._stop_after = stop_after

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        return super().run(task, self._counted(task, jobs), kind)

    def _counted(self, task: str, jobs: Iterable[Job]) -> Iterator[Job]:
        for job in jobs:
            if task == READ_TASK:
                self.decoded.append(job.name)
            if task == DESCRIBE_TASK:
                if len(self.described_pictures) == self._stop_after:
                    raise KeyboardInterrupt
                self.described_pictures.append(job.name)
                places = job.args["features"]
                assert isinstance(places, list)
                self.described.update(str(p).partition(":")[2].partition("@")[0] for p in places)
            yield job


@pytest.fixture(autouse=True)
def _plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kinds = (made.MeanColour, made.Size, made.RaisesAtRed)
    with plugged(monkeypatch, *((kind.name, kind.__name__) for kind in kinds)):
        yield


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    c = Collection.open(make_photos(tmp_path / "photos", 12), store=tmp_path / "store")
    c.index(features=["color"], compute=InlineCompute())
    return c


def folder(c: Collection) -> Path:
    return Path(os.fsdecode(c.root))


def stored(c: Collection) -> Rows:
    """Return all that the rows of pictures hold, byte for byte, by path."""
    everything: Rows = {}
    with c.store_folder.reader() as reader:
        facts = reader.catalogue.facts(reader.snapshot.ids().tolist())
        for s in reader.snapshot.segments:
            for row in np.flatnonzero(s.alive()).tolist():
                of_picture = {
                    Fingerprint.parse(f).name: np.asarray(m[row : row + 1]).tobytes()
                    for f, m in s.features.items()
                }
                of_picture["thumbnail"] = s.thumbnail(row)
                of_picture["words"] = s.words(row).tobytes()
                everything[facts[int(s.ids[row])].path] = of_picture
    return everything


def assert_kept(before: Rows, after: Rows) -> None:
    for path, parts in before.items():
        assert parts.items() <= after[path].items(), path


def test_a_feature_that_is_added_leaves_the_others_as_they_are(collection: Collection) -> None:
    before = stored(collection)
    counting = Counting()
    report = collection.index(features=["mean-colour"], compute=counting)
    assert counting.described == {"MeanColour": 12}, "nothing else was computed"
    assert len(counting.decoded) == 12, "each picture was decoded once"
    assert (report.described, report.changed, report.added) == (12, 0, 0)
    after = stored(collection)
    assert_kept(before, after)
    assert all("mean-colour" in parts for parts in after.values())
    assert collection.store.verify().sound


def test_features_added_before_are_computed_for_new_pictures_too(collection: Collection) -> None:
    collection.index(features=["mean-colour"], compute=InlineCompute())
    Image.new("RGB", (60, 40), "white").save(folder(collection) / "new.png")
    counting = Counting()
    collection.index(compute=counting)
    assert counting.decoded == [b"new.png"]
    assert counting.described == {"ColorMoments": 1, "MeanColour": 1}
    assert {"color", "mean-colour"} <= stored(collection)[b"new.png"].keys()
    assert collection.index(compute=counting).described == 0, "nothing is left to compute"
    assert counting.described.total() == 2


def test_an_addition_that_is_interrupted_goes_on_where_it_was(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH", 4)
    before = stored(collection)
    first, second = Counting(stop_after=6), Counting()
    with pytest.raises(Interrupted):
        collection.index(features=["mean-colour"], compute=first)
    halfway = stored(collection)
    assert_kept(before, halfway)
    have = [path for path, parts in halfway.items() if "mean-colour" in parts]
    assert len(have) == first.described["MeanColour"] == 6
    assert collection.index(compute=second).described == 6
    assert second.described == {"MeanColour": 6}
    assert not set(second.decoded) & set(have), "what was computed is not computed again"
    after = stored(collection)
    assert_kept(halfway, after)
    assert all("mean-colour" in parts for parts in after.values())


def test_a_picture_that_was_edited_is_described_by_everything(collection: Collection) -> None:
    before = stored(collection)
    Image.new("RGB", (60, 40), "white").save(folder(collection) / "002.jpg")
    counting = Counting()
    report = collection.index(features=["mean-colour"], compute=counting)
    assert counting.described == {"MeanColour": 12, "ColorMoments": 1}
    assert (report.described, report.changed) == (11, 1)
    after = stored(collection)
    assert after[b"002.jpg"]["color"] != before[b"002.jpg"]["color"]
    del before[b"002.jpg"]
    assert_kept(before, after)


class Editing(Counting):
    """A picture is edited after the folder was compared with the store."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        Image.new("RGB", (60, 40), "white").save(self._file)
        return super().run(task, jobs, kind)


def test_a_picture_that_is_edited_meanwhile_keeps_no_row_of_its_former_content(
    collection: Collection,
) -> None:
    before = stored(collection)
    editing = Editing(folder(collection) / "002.jpg")
    report = collection.index(features=["mean-colour"], compute=editing)
    assert editing.described == {"MeanColour": 12, "ColorMoments": 1}
    assert (report.described, report.changed) == (11, 1)
    after = stored(collection)
    white = np.frombuffer(after[b"002.jpg"]["mean-colour"], np.float32)
    assert white.min() > 0.99 and after[b"002.jpg"]["color"] != before[b"002.jpg"]["color"]
    assert collection.index(compute=editing).described == 0


def test_words_that_changed_as_well_are_those_of_the_files(collection: Collection) -> None:
    (folder(collection) / "002.txt").write_text("giraffe")
    counting = Counting()
    report = collection.index(features=["mean-colour"], compute=counting)
    assert counting.described == {"MeanColour": 12}
    assert (report.described, report.changed) == (12, 1)
    assert [h.path for h in collection.search("giraffe").hits] == [b"002.jpg"]
    assert {"color", "mean-colour"} <= stored(collection)[b"002.jpg"].keys()


def test_a_picture_without_the_added_feature_keeps_the_others(collection: Collection) -> None:
    Image.new("RGB", (60, 40), "red").save(folder(collection) / "red.png")
    collection.index(compute=InlineCompute())
    before = stored(collection)
    report = collection.index(features=["raises-at-red"], compute=InlineCompute())
    assert report.problems == ("red.png: no features (raises-at-red): I do not like red",)
    assert report.described == 12 and report.indexed == 13
    assert_kept(before, stored(collection))
    assert "color" in stored(collection)[b"red.png"]


def test_a_file_that_is_gone_when_it_is_to_be_described_is_named_and_keeps_its_row(
    collection: Collection,
) -> None:
    class Removing(Counting):
        def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
            (folder(collection) / "002.jpg").unlink(missing_ok=True)
            return super().run(task, jobs, kind)

    before = stored(collection)
    report = collection.index(features=["mean-colour"], compute=Removing())
    assert len(report.problems) == 1
    assert report.problems[0].startswith("002.jpg: no features (mean-colour): ")
    assert_kept(before, stored(collection))
    assert collection.index(compute=InlineCompute()).gone == 1


def test_a_codebook_that_is_fitted_again_replaces_its_rows_alone(collection: Collection) -> None:
    collection.index(features=["sift-200"], compute=InlineCompute())
    before = stored(collection)
    for i in range(3):
        shutil.copy(folder(collection) / "000.jpg", folder(collection) / f"copy{i}.jpg")
    collection.index(compute=InlineCompute())
    counting = Counting()
    report = collection.index(refit=True, compute=counting)
    assert set(counting.described) == {"Sift200"} and report.described == 15
    after = stored(collection)
    for path, parts in before.items():
        assert parts["color"] == after[path]["color"]
    with collection.store_folder.reader() as reader:
        prints = {f for s in reader.snapshot.segments for f in s.features}
    assert len(prints) == 2, "no row of the former codebook is left"


def test_training_by_a_feature_that_is_missing_computes_that_alone(
    collection: Collection,
) -> None:
    before = stored(collection)
    counting = Counting()
    collection.train(rankers=["ridge"], features=["color", "mean-colour"], compute=counting)
    assert counting.described == {"MeanColour": 12}
    assert_kept(before, stored(collection))


def test_a_preview_tells_what_will_be_computed(collection: Collection) -> None:
    Image.new("RGB", (60, 40), "white").save(folder(collection) / "new.png")
    (folder(collection) / "003.txt").write_text("giraffe")
    preview = collection.preview(features=["mean-colour"])
    assert preview.features == {"color": 1, "mean-colour": 13}
    assert (preview.described, preview.reworded, len(preview.plan.read)) == (11, 1, 1)
    assert preview.plan.seen == 13 == 11 + 1 + 1 + preview.skipped + preview.same
    counting = Counting()
    collection.index(features=["mean-colour"], compute=counting)
    assert counting.described == {"ColorMoments": 1, "MeanColour": 13}
    again = collection.preview()
    assert (again.features, again.described, again.same) == ({}, 0, 13)
    assert collection.preview(features=["sift-200"]).features == {"sift-200": 13}


def test_a_preview_of_a_new_collection_names_every_feature(tmp_path: Path) -> None:
    photos = make_photos(tmp_path / "others", 3)
    c = Collection.open(photos, store=tmp_path / "new")
    assert c.preview(features=["color", "size"]).features == {"color": 3, "size": 3}
    assert not c.store_folder.exists()


def test_a_feature_of_other_settings_takes_the_place_of_its_rows(collection: Collection) -> None:
    other = Collection.open(collection.root, store=collection.store_folder.path, working_size=200)
    counting = Counting()
    other.index(compute=counting)
    assert counting.described == {"ColorMoments": 12}
    state = {f.name: f for f in feature_states(other.store_folder)}["color"]
    assert state.fingerprint == fingerprint(ColorMoments(), 200) and state.pictures == 12


@pytest.mark.parametrize("features", [["color"], []])
def test_progress_counts_pictures_that_are_done_not_those_decoded_ahead(
    tmp_path: Path, features: list[str]
) -> None:
    progress = RecordedProgress()

    class Watching(InlineCompute):
        ahead = 0

        def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
            for i, answer in enumerate(super().run(task, jobs, kind)):
                if task == DESCRIBE_TASK:
                    self.ahead = max(self.ahead, progress.done - i)
                yield answer

    watching = Watching()
    c = Collection.open(make_photos(tmp_path / "photos", 20), store=tmp_path / "store")
    c.index(features=features, progress=progress, compute=watching)
    assert watching.ahead == 0 and progress.all()[1:3] == (20, 20)


@pytest.fixture
def earlier(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> Collection:
    """Return a collection that an earlier version described."""
    if not session.is_available():
        pytest.skip("needs the extra deep")
    current = plugins.place

    def place(kind: str, name: str) -> str:
        return "sightline.features.deep.earlier:deep" if name == "deep" else current(kind, name)

    with monkeypatch.context() as patched:
        patched.setattr(plugins, "place", place)
        collection.index(features=["deep"], compute=InlineCompute())
    return collection


def test_rows_of_an_earlier_definition_stay_in_use(earlier: Collection) -> None:
    before = stored(earlier)
    assert earlier.preview().features == {}
    counting = Counting()
    assert earlier.index(compute=counting).described == 0 and not counting.described
    shutil.copy(folder(earlier) / "000.jpg", folder(earlier) / "copy.jpg")
    earlier.index(compute=counting)
    assert counting.described == {"ColorMoments": 1, "deep": 1}
    after = stored(earlier)
    assert_kept(before, after)
    assert after[b"copy.jpg"]["deep"] == before[b"000.jpg"]["deep"]
    example = os.fsdecode(folder(earlier) / "000.jpg")
    other = shutil.copy(example, folder(earlier).parent / "copied.jpg")
    hits = earlier.search("", positive=[os.fspath(other)], feature="deep", compute=counting).hits
    assert {h.path for h in hits[:2]} == {b"000.jpg", b"copy.jpg"}


def test_a_refit_describes_by_the_current_definition(earlier: Collection) -> None:
    before = stored(earlier)
    assert earlier.preview(refit=True).features == {"deep": 12}
    counting = Counting()
    report = earlier.index(refit=True, compute=counting)
    assert counting.described == {"DeepVector": 12} and report.described == 12
    after = stored(earlier)
    assert all(after[path]["color"] == parts["color"] for path, parts in before.items())
    assert all(after[path]["deep"] != parts["deep"] for path, parts in before.items())
    assert earlier.index(compute=counting).described == 0
    with earlier.store_folder.reader() as reader:
        assert len({f for s in reader.snapshot.segments for f in s.features}) == 2
