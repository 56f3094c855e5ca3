"""Training keeps its promises when collections are small, odd, judged, purged or changing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.collection.models import selection
from sightline.collection.models.evaluation import evaluate, trec
from sightline.collection.models.training import TrainOptions
from sightline.errors import StoreBusy
from sightline.progress import NoProgress
from sightline.records import Batch, FeatureRows
from sightline.store.events import NewEvent
from sightline.store.upkeep.purge import purge
from sightline.store.writer import Change, Judging, Writer
from sightline.words.combination import Combination
from sightline.words.term_ids import term_id
from tests.collection.test_training import run
from tests.factories.planted_stores import clusters, noise_like, plant, seen_event


def test_a_first_try_on_a_handful_of_pictures_holds_up_nothing(tmp_path: Path) -> None:
    """Its proof had seen the pictures it would be compared on, or hardly any."""
    for seed in range(3):
        words, rows = clusters(400, 20, seed=seed, noise=0.9)
        store_folder = plant(tmp_path / str(seed), words[:4], {"signal": rows[:4]})
        run(store_folder, TrainOptions(("ridge",), force=True))
        with Writer(store_folder, "test") as writer:
            known = 4
            events = writer.append([seen_event(i) for i in range(known, 400)])
            batch = Batch(
                ids=np.array([e.picture for e in events], np.int64),
                terms=tuple(tuple(sorted(map(term_id, w))) for w in words[known:]),
                thumbnails=(b"x",) * (400 - known),
                features=(FeatureRows("signal-0123456789ab", rows[known:]),),
            )
            writer.publish(Change(events=events, batches=[batch]), finished=True)
        report = run(store_folder)
        assert not report.forced and not report.unproven  # type: ignore[attr-defined]


def test_an_unproven_model_is_not_called_forced(tmp_path: Path) -> None:
    words, rows = clusters(40, 2)
    store_folder = plant(tmp_path / "store", words, {"noise": noise_like(rows)})
    report = run(store_folder)
    assert report.unproven and not report.forced  # type: ignore[attr-defined]


def test_words_unseen_while_choosing_are_served_all_the_same() -> None:
    scores = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    scores[:, 1] = 0
    labels = (scores > 1).astype(np.int64)
    combination = Combination("average").fit(scores, labels)
    assert combination.slope_[1] == 0
    assert (combination.fill_flat().slope_ > 0).all()


def test_a_judged_word_that_no_picture_has_is_evaluated_too(tmp_path: Path) -> None:
    words, rows = clusters(200, 20)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    with Judging(store_folder) as judging:
        for picture in range(1, 200, 20):
            body = {"query": "judged", "relevance": 1.0, "source": "person"}
            judging.append([NewEvent("judged", picture, body)])  # type: ignore[arg-type]
            judging.append([NewEvent("judged", picture + 10_000, body)])  # type: ignore[arg-type]
    run(store_folder)
    found = evaluate(store_folder, NoProgress(), curve=False)
    assert found.groups[0].n > 30
    judged, ranked = trec(store_folder)
    assert len(judged) == len(ranked) > 30


def test_pictures_removed_meanwhile_stop_the_publishing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, rows = clusters(120, 6)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    real = selection.select_recipe

    def purged(*args: object) -> object:
        purge(store_folder, [5], [])
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(selection, "select_recipe", purged)
    with pytest.raises(StoreBusy, match="Pictures were removed"):
        run(store_folder)


def test_a_purge_takes_the_model_that_learnt_from_the_picture(tmp_path: Path) -> None:
    words, rows = clusters(120, 6)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    run(store_folder)
    purge(store_folder, [5], [])
    with store_folder.reader() as reader:
        assert reader.snapshot.model == "" and not any(s.scores for s in reader.snapshot.segments)
    assert not list(store_folder.models.iterdir())
    assert run(store_folder).version  # type: ignore[attr-defined]
