"""Training from rows on the disk: the same answers, the limits, and what an interruption leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.collection.models import dataset as datasets
from sightline.collection.models import held_out, streaming, word_model
from sightline.collection.models.dataset import load_dataset
from sightline.collection.models.evaluation import evaluate
from sightline.collection.models.held_out import HeldOutQueries
from sightline.collection.models.recipe import Fitted, Recipe, fit
from sightline.collection.models.training import TrainOptions, TrainReport, train
from sightline.errors import CollectionError, UsageError
from sightline.progress import NoProgress
from sightline.rankers import training as linear_training
from sightline.records import FeatureRows
from sightline.store.folder import StoreFolder
from sightline.store.models import arrays_file
from sightline.store.stored_rows import StoredRows
from sightline.words.term_ids import term_id
from tests.factories.planted_stores import clusters, plant

MEMORY = 4 * 10**9
RIDGE = ("ridge",)


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of pictures takes more memory than there is, and few are read at once."""
    monkeypatch.setattr(datasets, "bytes_in_memory", lambda *_: MEMORY + 1)


def planted(folder: Path, n: int = 400, segments: int = 3) -> StoreFolder:
    words, rows = clusters(n, 10)
    return plant(folder, words, {"signal": rows}, segments=segments)


def run(
    store_folder: StoreFolder, rankers: tuple[str, ...] = RIDGE, memory: int = MEMORY
) -> TrainReport:
    return train(store_folder, TrainOptions(rankers, memory=memory), 0.0, NoProgress())


def model(store_folder: StoreFolder) -> str:
    with store_folder.reader() as reader:
        return reader.snapshot.model


def test_stored_rows_are_those_of_the_snapshot_in_any_order_of_segments(tmp_path: Path) -> None:
    with planted(tmp_path / "store").reader() as reader:
        ids = reader.snapshot.ids()[5::3]
        name = reader.snapshot.features()[0]
        stored = reader.snapshot.stored_rows(name, ids)
        rows = reader.snapshot.rows(name, ids)
    assert isinstance(rows, FeatureRows)
    expected = rows.rows
    assert stored.shape == expected.shape and len(stored) == len(ids)
    assert np.array_equal(stored.read(slice(None)), expected)
    assert np.array_equal(stored.read(np.array([7, 90, 3])), expected[[7, 90, 3]])
    assert np.array_equal(np.asarray(stored[np.arange(len(ids)) % 2 == 0]), expected[::2])


def test_many_rows_stay_on_the_disk_when_some_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sightline.store.stored_rows.AT_ONCE", 2)
    rows = StoredRows([np.eye(4, dtype=np.float32)], np.zeros(4, np.int32), np.arange(4))
    some = rows[1:]
    assert isinstance(some, StoredRows) and isinstance(rows[:2], np.ndarray)
    assert some.read(slice(None)).tolist() == np.eye(4)[1:].tolist()


def test_rows_stay_on_the_disk_only_beyond_the_memory_that_is_allowed(tmp_path: Path) -> None:
    with planted(tmp_path / "store").reader() as reader:
        assert not load_dataset(reader.snapshot, memory=MEMORY).is_streamed
        assert not load_dataset(reader.snapshot).is_streamed
        streamed = load_dataset(reader.snapshot, memory=1)
        assert streamed.is_streamed and streamed.memory == 1
        assert streamed.basis() == load_dataset(reader.snapshot).basis()


def test_a_streamed_fit_scores_as_the_fit_in_memory_does(tmp_path: Path, little: None) -> None:
    with planted(tmp_path / "store").reader() as reader:
        memory, disk = (load_dataset(reader.snapshot, memory=m) for m in (0, MEMORY))
    recipe = Recipe("ridge", tuple(memory.views), (("kernel", "rbf"),))
    one, other = fit(recipe, memory), streaming.fit_all(recipe, disk)
    assert dict(one.recipe.settings)["alpha"] == dict(other.recipe.settings)["alpha"]
    scores = one.scores(memory.views)
    assert other.scores(disk.views) == pytest.approx(scores, abs=1e-4)
    assert other.unseen == pytest.approx(one.unseen, abs=1e-4)


def test_training_from_the_disk_publishes_what_training_in_memory_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = planted(tmp_path / "a"), planted(tmp_path / "b")
    in_memory = run(a)
    monkeypatch.setattr(datasets, "bytes_in_memory", lambda *_: MEMORY + 1)
    streamed = run(b)
    assert "landmarks" in streamed.recipe and "landmarks" not in in_memory.recipe
    assert streamed.proof.n == in_memory.proof.n and streamed.proof.passes
    assert streamed.proof.candidate == pytest.approx(in_memory.proof.candidate, abs=0.02)
    assert (streamed.words, streamed.pictures) == (in_memory.words, in_memory.pictures)
    assert streamed.suspected is None
    right = []
    for store_folder in (a, b):
        with store_folder.reader() as reader:
            published = [s.scores for s in reader.snapshot.segments if s.scores is not None]
        rows = [r for scores in published if (r := scores.row(term_id("word3"))) is not None]
        best = np.argsort(-np.concatenate(rows))[:40]
        right.append((best % 10 == 3).mean())
    assert min(right) > 0.8 and abs(right[0] - right[1]) < 0.1
    measured = evaluate(b, NoProgress(), memory=MEMORY)
    assert measured.groups[0].avgp == pytest.approx(streamed.proof.candidate, abs=1e-6)


def test_scores_are_published_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_folder = planted(tmp_path / "store", segments=1)
    run(store_folder)
    with store_folder.reader() as reader:
        loaded = word_model.load_word_model(store_folder, reader.snapshot.model)
        segment = reader.snapshot.segments[0]
        assert loaded is not None and segment.scores is not None
        sizes: list[int] = []
        scores_of = Fitted.scores

        def counted(self: Fitted, views: dict[str, np.ndarray], words: object = None) -> object:
            sizes.append(len(next(iter(views.values()))))
            return scores_of(self, views, words)  # type: ignore[arg-type]

        monkeypatch.setattr(Fitted, "scores", counted)
        monkeypatch.setattr(word_model, "_SCORED_AT_ONCE", 1)
        monkeypatch.setattr(word_model, "_BLOCK", 150)
        again = loaded.scores(segment)
        assert again is not None
        assert again.rows == pytest.approx(np.asarray(segment.scores.rows), abs=1e-5)
    assert sizes == [150, 150, 100]


def test_the_same_pictures_give_the_same_model(tmp_path: Path, little: None) -> None:
    stores = planted(tmp_path / "a"), planted(tmp_path / "b")
    files = []
    for store_folder in stores:
        run(store_folder)
        files.append(arrays_file(store_folder.models, model(store_folder)).read_bytes())
    assert files[0] == files[1]


def test_held_out_pictures_are_neither_landmarks_nor_learned_in_the_proof(
    tmp_path: Path, little: None
) -> None:
    store_folder = planted(tmp_path / "store")
    with store_folder.reader() as reader:
        disk = load_dataset(reader.snapshot, memory=MEMORY)
    held = datasets.split(disk)[0]
    recipe = Recipe("ridge", tuple(disk.views), (("kernel", "rbf"),))
    proof, served = streaming.fit_streamed(recipe, disk, [~held, held], NoProgress())
    assert proof.arrays["landmarks.0"].shape[0] == (~held).sum()
    assert np.array_equal(proof.arrays["landmarks.0"], served.arrays["landmarks.0"])
    alone = streaming.fit_all(recipe, disk.only(~held)) if disk.only(~held).is_streamed else None
    rest = fit(recipe.with_settings(landmarks=4000), disk.only(~held)) if alone is None else alone
    assert proof.scores(disk.views) == pytest.approx(rest.scores(disk.views), abs=1e-4)
    assert not np.allclose(proof.scores(disk.views), served.scores(disk.views), atol=1e-3)


def test_too_little_memory_names_the_least_and_what_to_do(tmp_path: Path) -> None:
    store_folder = planted(tmp_path / "store")
    with pytest.raises(UsageError) as e:
        run(store_folder, memory=1)
    text = str(e.value)
    assert "'memory'" in text and "at least 0.1 GB" in text and "--features" in text
    assert not model(store_folder)


def test_less_memory_takes_fewer_landmarks() -> None:
    counts = [streaming.landmarks_within(m * 10**8, 1_000, 512) for m in (40, 8, 3)]
    assert counts == sorted(counts, reverse=True) and counts[0] == 4_000 and len(set(counts)) == 3


def test_rankers_that_need_all_rows_are_named(tmp_path: Path, little: None) -> None:
    store_folder = planted(tmp_path / "store")
    with pytest.raises(
        UsageError, match=r"warp: it needs all rows in memory.*'memory'.*--ranker ridge"
    ):
        run(store_folder, ("warp",))
    report = run(store_folder, ("warp", "ridge"))
    assert any(reason.startswith("warp: ") for reason in report.not_tried)


def test_pamir_learns_from_blocks_and_is_published(
    tmp_path: Path, little: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_folder = planted(tmp_path / "store", 1_200)
    reads: list[int] = []
    read = StoredRows.read

    def counted(stored: StoredRows, rows: Any) -> Any:
        out = read(stored, rows)
        reads.append(len(out))
        return out

    monkeypatch.setattr(StoredRows, "read", counted)
    monkeypatch.setattr(linear_training, "_FEWEST_AMONG", 192)
    monkeypatch.setattr(linear_training, "_READ_BYTES", 1)
    report = run(store_folder, ("pamir",))
    assert report.served is not None and report.served.ranker == "pamir" and report.version
    assert report.proof.candidate > 2 * report.proof.baseline
    assert reads.count(192) > 20, "portions of three chunks"
    with store_folder.reader() as reader:
        assert all(s.scores is not None for s in reader.snapshot.segments)
    measured = evaluate(store_folder, NoProgress(), curve=True, memory=MEMORY)
    assert measured.groups[0].avgp == pytest.approx(report.proof.candidate, abs=1e-6)
    assert measured.curve


def test_the_default_training_streams_too(tmp_path: Path, little: None) -> None:
    report = run(planted(tmp_path / "store"), ())
    assert report.served is not None and report.served.ranker == "ridge"
    assert dict(report.served.settings)["landmarks"] and not report.not_tried


def test_sparse_rows_alone_are_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    words, rows = clusters(60, 6)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    with store_folder.reader() as reader, pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "is_sparse", lambda *_: True)
        with pytest.raises(CollectionError, match="sparse"):
            load_dataset(reader.snapshot, memory=1)


def test_words_on_a_single_picture_are_refused_as_in_memory(tmp_path: Path, little: None) -> None:
    _, rows = clusters(30, 3)
    words = [["alone"], *([] for _ in range(29))]
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    with pytest.raises(CollectionError, match="Only 1 of the 30 pictures has words"):
        run(store_folder)


class Stopped(NoProgress):
    """A progress that is interrupted in a step of training."""

    def __init__(self, step: str) -> None:
        self.step, self.now = step, ""

    def start(self, label: str, total: int | None) -> None:
        self.now = label

    def advance(self, n: int = 1) -> None:
        if self.now == self.step:
            raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["choose", "fit", "score"])
def test_an_interruption_keeps_the_model_in_use(tmp_path: Path, little: None, step: str) -> None:
    store_folder = planted(tmp_path / "store")
    run(store_folder)
    before = model(store_folder)
    with pytest.raises(KeyboardInterrupt):
        train(store_folder, TrainOptions(RIDGE, memory=MEMORY), 0.0, Stopped(step))
    assert model(store_folder) == before
    assert run(store_folder).version


def test_of_many_held_out_pictures_the_same_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with planted(tmp_path / "store").reader() as reader:
        every = load_dataset(reader.snapshot)
    whole = HeldOutQueries.of(every).dataset.ids
    monkeypatch.setattr(held_out, "_MOST_CELLS", 1)
    monkeypatch.setattr(held_out, "_FEWEST_PICTURES", 30)
    some = HeldOutQueries.of(every).dataset.ids
    fewer = HeldOutQueries.of(every.only(np.arange(len(every)) < 350)).dataset.ids
    assert len(some) == 30 < len(whole) and set(some) <= set(whole)
    assert np.isin(some[some <= every.ids[349]], fewer).all()
