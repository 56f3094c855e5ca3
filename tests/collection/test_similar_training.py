"""Learning what likeness is: what is chosen, what the gate lets through, what it is learnt from."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.models import lifecycle
from sightline.collection.models.lifecycle import GateReport
from sightline.collection.similarity import training
from sightline.collection.similarity.candidates import scored
from sightline.collection.similarity.descriptors import stored
from sightline.collection.similarity.model import load_similarity_model
from sightline.collection.similarity.query import PictureQuery, QueryPicture
from sightline.collection.similarity.supervision import find_supervision
from sightline.collection.similarity.training import SimilarOptions, SimilarReport, train_similar
from sightline.compute.inline import InlineCompute
from sightline.errors import CollectionError, NotBetter, StoreBusy, StoreDamaged, UsageError
from sightline.measures.splits import HELD_OUT, fold_of
from sightline.progress import NoProgress
from sightline.records import SimilarityJudgement
from sightline.store.events import NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.models import arrays_file
from sightline.store.upkeep.purge import purge
from sightline.store.upkeep.repair import repair
from sightline.store.upkeep.verify import verify
from sightline.store.writer import Judging, Writer
from tests.factories.planted_stores import plant
from tests.factories.similar_collections import draw_stripes, plant_similar
from tests.naive.likeness import ranked_by_likeness


@pytest.fixture(autouse=True)
def few_learners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose among three learners: most tests here are about something else."""
    some = {n: training.ONLINE[n] for n in ("OPAR-I C=0.01", "OPR", "AROW r=1")}
    monkeypatch.setattr(training, "ONLINE", some)
    monkeypatch.setattr(training, "ONLINE", some)
    monkeypatch.setattr(training, "TRIPLETS", 2_000)


def run(store_folder: StoreFolder, **options: object) -> SimilarReport:
    return train_similar(store_folder, SimilarOptions(**options), 0.0, NoProgress())  # type: ignore[arg-type]


def similar_model(store_folder: StoreFolder) -> str:
    with store_folder.reader() as reader:
        return reader.snapshot.similar


def test_what_tells_pictures_apart_is_learnt_and_the_gain_is_proven(tmp_path: Path) -> None:
    store_folder, _ = plant_similar(tmp_path / "store")
    report = run(store_folder)
    proof = report.proof
    assert report.source == "classes" and report.learner in training.ONLINE
    assert proof.n >= 30 and proof.candidate > proof.baseline + 0.05 and proof.p < 0.001
    assert proof.harmed_rate < 0.3 and report.single.startswith("signal ")
    assert not report.unproven and not report.forced and report.version > 0
    alike = load_similarity_model(store_folder, similar_model(store_folder), checked=True)
    assert alike is not None and alike.name == report.model
    by_descriptor = np.abs(alike.w).reshape(4, -1).sum(axis=1)
    assert by_descriptor.argmax() == alike.names.index("signal")


def test_the_record_keeps_figures_and_the_recall_of_the_shortlist(tmp_path: Path) -> None:
    store_folder, _ = plant_similar(tmp_path / "store")
    report = run(store_folder)
    alike = load_similarity_model(store_folder, report.model)
    assert alike is not None
    figures = alike.about["figures"]
    assert isinstance(figures, dict)
    assert figures["candidate"] == report.proof.candidate and figures["p"] == report.proof.p
    assert alike.about["source"] == "classes" and alike.about["learner"] == report.learner
    s = alike.shortlist
    assert s == report.shortlist and s.queries >= 30 and 0.8 <= s.recall <= 1.0
    assert alike.names[s.descriptors[0][0]] == "signal"


def test_held_out_pictures_do_not_take_part_in_choosing(tmp_path: Path) -> None:
    first, rows = plant_similar(tmp_path / "a")
    held = fold_of(np.arange(1, 241)) == HELD_OUT
    rng = np.random.default_rng(0)
    words = [[f"kind{rng.integers(6) if held[i] else i % 6}"] for i in range(240)]
    noise = {f"noise{i}": np.random.default_rng(10 + i).normal(size=rows.shape) for i in range(3)}
    features = {"signal": rows, **{n: v.astype(np.float32) for n, v in noise.items()}}
    second = plant(tmp_path / "b", words, features)
    a, b = run(first, dry_run=True), run(second, dry_run=True)
    assert a.table == b.table and a.learner == b.learner
    assert a.proof.candidate != b.proof.candidate


def plant_loud(folder: Path) -> StoreFolder:
    """Plant pictures whose kind nobody can see for one loud number that says nothing."""
    _, rows = plant_similar(folder.with_name(f"{folder.name}-quiet"))
    loud = 300 * np.random.default_rng(5).random((len(rows), 1))
    words = [[f"kind{i % 6}"] for i in range(len(rows))]
    return plant(folder, words, {"loud": np.hstack([rows, loud]).astype(np.float32)})


def test_a_descriptor_gets_the_scaling_that_ranks_best(tmp_path: Path) -> None:
    store_folder = plant_loud(tmp_path / "loud")
    report = run(store_folder)
    assert report.scalings[0] in ("standard", "ranks", "damped", "rooted")
    assert report.proof.candidate > report.proof.baseline + 0.1 and report.proof.p < 0.001
    with store_folder.reader() as reader:
        alike = load_similarity_model(store_folder, report.model, checked=True)
        assert alike is not None and alike.scalings[0].kind == report.scalings[0]
        want = dict(ranked_by_likeness(reader.snapshot, alike, [3], []))
        one = stored(reader.snapshot, np.array([3]), alike.descriptors, alike.lengths)
        ids = np.array(sorted(want), np.int64)
        asked = PictureQuery((QueryPicture(3, b""),), one, np.ones(1), {})
        found = scored(reader.snapshot, alike, asked, ids)
    assert np.allclose(found, [want[i] for i in ids.tolist()], atol=1e-4)


def test_a_combination_worse_than_the_one_in_use_is_refused(tmp_path: Path) -> None:
    store_folder, _ = plant_similar(tmp_path / "store")
    first = run(store_folder)
    with pytest.raises(NotBetter, match=r"worse than the one in use: .* --force"):
        run(store_folder, features=("noise0", "noise1"))
    assert similar_model(store_folder) == first.model
    forced = run(store_folder, features=("noise0", "noise1"), force=True)
    assert forced.forced and similar_model(store_folder) == forced.model != first.model


def test_what_is_in_use_before_any_training_is_all_descriptors_not_those_asked_for(
    tmp_path: Path,
) -> None:
    store_folder, _ = plant_similar(tmp_path / "store")
    with pytest.raises(NotBetter, match="worse than the one in use"):
        run(store_folder, features=("noise0",))
    assert similar_model(store_folder) == ""
    assert run(store_folder, features=("signal",)).proof.current is not None


def test_a_combination_worse_than_all_alike_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_folder, _ = plant_similar(tmp_path / "store")
    plain = training.weights_of
    monkeypatch.setattr(training, "weights_of", lambda *a: -plain(*a))
    with pytest.raises(NotBetter, match="worse than equal weights for all descriptors: mean AvgP"):
        run(store_folder)
    assert similar_model(store_folder) == ""


def test_a_dry_run_publishes_nothing(tmp_path: Path) -> None:
    store_folder, _ = plant_similar(tmp_path / "store")
    report = run(store_folder, dry_run=True)
    assert report.version == 0 and similar_model(store_folder) == ""
    assert not list(store_folder.models.iterdir())


def test_the_same_pictures_give_the_same_bytes(tmp_path: Path) -> None:
    sums = []
    for name in ("a", "b"):
        store_folder, _ = plant_similar(tmp_path / name)
        file = arrays_file(store_folder.models, run(store_folder).model)
        sums.append(hashlib.sha256(file.read_bytes()).hexdigest())
    assert sums[0] == sums[1]


def test_a_constant_descriptor_counts_nothing_and_is_named(tmp_path: Path) -> None:
    _, rows = plant_similar(tmp_path / "unused", 120)
    words = [[f"kind{i % 6}"] for i in range(120)]
    still = np.full((120, 5), 7.0, np.float32)
    store_folder = plant(tmp_path / "store", words, {"signal": rows, "still": still})
    report = run(store_folder)
    assert report.constant == ("still",)
    alike = load_similarity_model(store_folder, report.model)
    assert alike is not None
    assert not alike.w.reshape(2, -1)[alike.names.index("still")].any()


def test_few_pictures_are_published_as_unproven(tmp_path: Path) -> None:
    store_folder, _ = plant_similar(tmp_path / "store", 60, 3)
    report = run(store_folder)
    assert report.unproven and 0 < report.proof.n < 30 and report.version > 0


def judge(store_folder: StoreFolder, queries: list[int], kinds: int = 6) -> None:
    """Say of each query that the next of its kind is like it, and its neighbour is not."""
    with Judging(store_folder) as judging:
        for q in queries:
            for picture, like in ((q + kinds, True), (q + 2 * kinds, True), (q + 1, False)):
                body = {"query": q, "alike": like, "source": "test"}
                judging.append([NewEvent("judged-similar", picture, body)])  # type: ignore[arg-type]


def test_judgements_are_learnt_from_where_there_are_enough(tmp_path: Path) -> None:
    store_folder, _ = plant_similar(tmp_path / "store")
    judge(store_folder, list(range(1, 29)))
    assert run(store_folder, dry_run=True).source == "classes"
    judge(store_folder, list(range(29, 220)))
    report = run(store_folder)
    assert report.source == "judgements" and report.proof.n >= 30
    assert report.proof.candidate >= report.proof.baseline
    alike = load_similarity_model(store_folder, report.model)
    assert alike is not None
    # What it has learnt from must not be learnt from again.
    assert alike.about["judged_up_to"] == 240 + 3 * 219


def test_only_what_was_judged_competes(tmp_path: Path) -> None:
    store_folder, _ = plant_similar(tmp_path / "store", 30)
    told = [
        SimilarityJudgement(3, 9, True, "", 1),
        SimilarityJudgement(3, 4, False, "", 2),
        SimilarityJudgement(5, 9, True, "", 3),
    ]
    told += [SimilarityJudgement(3, 9, False, "", 4)]
    with store_folder.reader() as reader:
        grounds = find_supervision(reader.snapshot, reader.catalogue, told, "judgements")
    assert grounds.ids.tolist() == [3, 4, 5, 9]
    found = grounds.relevance(np.array([0, 2]), np.array([1, 3]))
    assert found.tolist() == [[0, 0], [-1, 1]]


def sources(
    store_folder: StoreFolder, said: list[SimilarityJudgement] | None = None
) -> dict[str, bool]:
    """Return which grounds a collection has."""
    found = {}
    with store_folder.reader() as reader:
        for name in ("judgements", "tags", "classes", "folders"):
            try:
                find_supervision(reader.snapshot, reader.catalogue, said or [], name)
                found[name] = True
            except UsageError:
                found[name] = False
    return found


def test_grounds_are_what_the_collection_has(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    single = plant(tmp_path / "a", [[f"k{i % 5}"] for i in range(20)], {"x": rows})
    assert sources(single) == {
        "judgements": False, "tags": False, "classes": True, "folders": False,
    }  # fmt: skip
    several = plant(tmp_path / "b", [[f"k{i % 5}", f"m{i % 7}"] for i in range(20)], {"x": rows})
    said = [SimilarityJudgement(1, 2, True, "test", 1)]
    assert sources(several, said) == {
        "judgements": True, "tags": True, "classes": False, "folders": False,
    }  # fmt: skip


def test_few_words_do_not_keep_folders_from_being_learnt_from(tmp_path: Path) -> None:
    photos = draw_stripes(tmp_path / "photos", 40)
    for kind in ("across", "down"):
        for file in sorted((photos / kind).glob("*.txt"))[2:]:
            file.unlink()
    for kind in ("rising", "falling"):
        for file in (photos / kind).glob("*.txt"):
            file.unlink()
    c = Collection.open(photos, store=tmp_path / "store")
    c.index(compute=InlineCompute())
    with c.store_folder.reader() as reader:
        chosen = find_supervision(reader.snapshot, reader.catalogue, [])
        assert chosen.source == "folders" and len(chosen) == 40
        assert len(find_supervision(reader.snapshot, reader.catalogue, [], "classes")) == 4


def test_words_on_many_pictures_say_nothing(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    store_folder = plant(tmp_path / "a", [["holiday"]] * 18 + [[], []], {"x": rows})
    with (
        store_folder.reader() as reader,
        pytest.raises(CollectionError, match="Nothing shows which"),
    ):
        find_supervision(reader.snapshot, reader.catalogue, [])


def test_a_ground_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    store_folder, _ = plant_similar(tmp_path / "store", 30)
    with pytest.raises(UsageError, match="Similarity is learned from judgements, tags"):
        run(store_folder, source="weather")
    with pytest.raises(UsageError, match=r"no folders that distinguish pictures\. It has: classes"):
        run(store_folder, source="folders")
    with pytest.raises(UsageError, match="no descriptor 'gist'"):
        run(store_folder, features=("gist",))


def test_copies_of_a_query_neither_teach_nor_compete(tmp_path: Path) -> None:
    store_folder, _ = plant_similar(tmp_path / "store", 30)
    with store_folder.reader() as reader:
        grounds = find_supervision(reader.snapshot, reader.catalogue, [])
    copies = grounds.copies.copy()
    copies[6] = copies[0]
    same = replace(grounds, copies=copies)
    found = same.relevance(np.array([0]), np.arange(30))[0]
    assert found[0] == found[6] == -1 and found[12] == 1 and found[1] == 0
    drawn = same.triplets(np.ones(30, bool), np.ones(30, bool), 500)
    assert not ((drawn.query == 0) & (drawn.first == 6)).any() and drawn.n_equal > 0


def test_another_training_in_between_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_folder, _ = plant_similar(tmp_path / "store", 60, 3)
    plain = lifecycle.apply_gate

    def meanwhile(report: GateReport, *, force: bool, dry_run: bool) -> bool:
        monkeypatch.setattr(training, "apply_gate", plain)
        run(store_folder)
        return plain(report, force=force, dry_run=dry_run)

    monkeypatch.setattr(training, "apply_gate", meanwhile)
    with pytest.raises(StoreBusy, match="Another training was published"):
        run(store_folder, features=("signal",))


def test_rollback_brings_the_combination_before_back(tmp_path: Path) -> None:
    store_folder, _ = plant_similar(tmp_path / "store", 60, 3)
    first = run(store_folder)
    second = run(store_folder, features=("signal", "noise0"), force=True)
    assert similar_model(store_folder) == second.model != first.model
    with Writer(store_folder, "test") as writer:
        writer.rollback(first.version)
    assert similar_model(store_folder) == first.model


def test_purging_a_picture_takes_what_it_taught_and_what_it_was_asked_for(tmp_path: Path) -> None:
    store_folder, _ = plant_similar(tmp_path / "store", 60, 3)
    judge(store_folder, [7, 9], 3)
    run(store_folder)
    purge(store_folder, [7], [])
    assert similar_model(store_folder) == "" and not list(store_folder.models.iterdir())
    with Writer(store_folder, "test") as writer:
        assert {j.query for j in writer.log.similarity_judgements()} == {9}


def test_a_damaged_combination_is_found_and_left_out_by_repair(tmp_path: Path) -> None:
    store_folder, _ = plant_similar(tmp_path / "store", 60, 3)
    report = run(store_folder)
    file = arrays_file(store_folder.models, report.model)
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(data)
    assert any(report.model in p.file for p in verify(store_folder).problems)
    with pytest.raises(StoreDamaged):
        load_similarity_model(store_folder, report.model, checked=True)
    said: list[str] = []
    assert repair(store_folder, said.append).sound
    assert any("train similarity" in line for line in said)
    assert similar_model(store_folder) == ""
