"""The quick model: what is chosen without trials, what it shares, and what it never sees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sightline.annotators._cholesky import Factored
from sightline.annotators._smoothers import solved
from sightline.collection.models import quick, training
from sightline.collection.models.dataset import Dataset, load_dataset, split
from sightline.collection.models.landmarks import LandmarksOf
from sightline.collection.models.recipe import Recipe, fit
from sightline.collection.models.training import TrainOptions, train
from sightline.collection.models.word_model import SegmentScorer, from_saved, load_word_model
from sightline.errors import UsageError
from sightline.progress import NoProgress
from sightline.store.folder import StoreFolder
from tests.collection.test_training import run
from tests.factories.planted_stores import clusters, noise_like, plant

PLAIN = TrainOptions()


def planted(folder: Path, n: int = 240, segments: int = 1) -> StoreFolder:
    words, rows = clusters(n, 8, noise=0.9)
    features = {"signal": rows, "noise": noise_like(rows)}
    return plant(folder, words, features, segments=segments)


def dataset_of(store_folder: StoreFolder) -> Dataset:
    with store_folder.reader() as reader:
        return load_dataset(reader.snapshot)


def test_it_is_the_ridge_that_a_fit_gives(tmp_path: Path) -> None:
    dataset = dataset_of(planted(tmp_path / "store"))
    held, _ = split(dataset)
    model = quick.quick_model(dataset_of(planted(tmp_path / "same")), None, NoProgress())
    assert model is not None and model.proof is not None and model.serve is not None
    recipe = model.selection.recipe
    assert recipe.ranker == "ridge" and all("signal" in f for f in recipe.features)
    slow = fit(recipe, dataset.only(~held))
    of_held = dataset.only(held).views
    assert model.held_out == pytest.approx(slow.scores(of_held), abs=1e-5)
    assert model.proof.unseen == pytest.approx(slow.unseen, abs=1e-5)
    assert model.proof.scores(of_held) == pytest.approx(model.held_out, abs=1e-5)
    served, known = model.serve()
    rows, words = np.arange(3, 40, 5), np.array([1, 4])
    some = {f: v[rows] for f, v in dataset.views.items()}
    assert known.scores(rows, words) == pytest.approx(served.scores(some, words), abs=1e-5)
    assert served.unseen is not None and served.unseen.shape == dataset.labels.shape


def test_float32_factors_give_what_float64_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20)).astype(np.float32)
    K = np.exp(-0.02 * np.square(X[:, None] - X[None]).sum(axis=2)).astype(np.float32)
    Y = (rng.random((300, 7)) < 0.1).astype(np.float32)
    monkeypatch.setattr("sightline.annotators._cholesky._DOUBLE", 0)
    for alpha in (1e-4, 0.1):
        factored = Factored(K, alpha)
        dual = factored.coefficients(Y)
        _, left_out = solved(K, Y, alpha)
        assert np.abs(K @ dual + np.float32(alpha) * dual - Y).max() < 2e-4
        loo = Y - dual / factored.remainder()[:, None]
        assert loo == pytest.approx(left_out, abs=2e-3)


def test_words_of_held_out_pictures_change_nothing_but_the_served_fit(tmp_path: Path) -> None:
    dataset = dataset_of(planted(tmp_path / "store"))
    other = dataset_of(planted(tmp_path / "other"))
    held, _ = split(dataset)
    labels = other.labels.tolil()
    labels[held] = 1 - labels[held].toarray()
    features = {f: np.array(v) for f, v in other.views.items()}
    for view in features.values():
        view[held] = view[held][::-1]
    other = replace(other, labels=labels.tocsr(), views=features)
    a, b = (quick.quick_model(d, None, NoProgress()) for d in (dataset, other))
    assert a is not None and b is not None and a.proof is not None and b.proof is not None
    assert a.selection.recipe == b.selection.recipe
    assert a.selection.table[0].avgp == b.selection.table[0].avgp
    assert np.array_equal(a.proof.unseen, b.proof.unseen)  # type: ignore[arg-type]
    first, second = a.selection.cutoff.to_arrays(), b.selection.cutoff.to_arrays()
    assert all(np.array_equal(first[n], second[n]) for n in first)


def test_published_scores_are_those_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = [planted(tmp_path / name, segments=3) for name in ("known", "computed")]
    run(stores[0], PLAIN)
    monkeypatch.setattr(
        training, "segment_scorer",
        lambda saved, compute, known: SegmentScorer(from_saved(saved)),
    )  # fmt: skip
    run(stores[1], PLAIN)
    published = []
    for store_folder in stores:
        with store_folder.reader() as reader:
            published.append([s.scores for s in reader.snapshot.segments])
    for known, computed in zip(*published, strict=True):
        assert known is not None and computed is not None
        assert np.asarray(known.rows) == pytest.approx(np.asarray(computed.rows), abs=2e-4)


def test_landmarks_are_stored_once_and_the_proof_scores_as_before(tmp_path: Path) -> None:
    store_folder = planted(tmp_path / "store")
    run(store_folder, PLAIN)
    with store_folder.reader() as reader:
        model = load_word_model(store_folder, reader.snapshot.model, checked=True)
    assert model is not None and model.about["format"] == 4
    assert isinstance(model.proof.arrays, LandmarksOf)
    assert not any(n.startswith("landmarks.") for n in model.proof.arrays.stored())
    again = quick.quick_model(dataset_of(store_folder), None, NoProgress())
    assert again is not None
    dataset = dataset_of(store_folder)
    of_held = dataset.only(split(dataset)[0]).views
    assert model.proof.scores(of_held) == pytest.approx(again.held_out, abs=1e-5)


def test_of_many_pictures_a_sample_chooses_and_landmarks_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick, "MOST_EXACT", 200)
    monkeypatch.setattr(quick, "MOST_PICTURES", 150)
    store_folder = planted(tmp_path / "store")
    report = train(store_folder, PLAIN, 0.0, NoProgress())
    assert report.pictures == 240 and report.version and report.proof.candidate > 0.5
    assert report.table[0].pictures <= 150


def test_too_little_memory_says_the_least_and_what_to_reduce(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_folder = planted(tmp_path / "store")
    monkeypatch.setattr("sightline.collection.models.quick.bytes_free", lambda: 100_000)
    with pytest.raises(UsageError, match=r"needs about .* GB of memory.*--features"):
        run(store_folder, PLAIN)
    with store_folder.reader() as reader:
        assert reader.snapshot.model == ""


def test_a_wide_vocabulary_leaves_out_the_ranking_loss() -> None:
    unseen = np.zeros((3_000, 4_000), np.float32)
    assert quick._stage(unseen, None) is None  # type: ignore[arg-type]


def test_the_recipe_can_be_fitted_again(tmp_path: Path) -> None:
    store_folder = planted(tmp_path / "store")
    report = train(store_folder, PLAIN, 0.0, NoProgress())
    assert isinstance(report.served, Recipe) and "alpha" in dict(report.served.settings)
