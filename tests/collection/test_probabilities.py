"""Calibrating what is served: small planted collections, rankers with left-out scores or none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sightline._typing import Bools, Floats
from sightline.collection.models import probabilities
from sightline.collection.models.dataset import Dataset
from sightline.collection.models.probabilities import FOLDS, as_if_new, calibrated
from sightline.collection.models.recipe import Recipe, fit
from sightline.collection.models.selection import select
from sightline.collection.models.training import TrainOptions
from sightline.collection.models.word_model import from_saved
from sightline.measures.reliability import Reliability, reliability
from sightline.progress import NoProgress
from sightline.store.models import load_model
from tests.collection.test_training import run
from tests.factories.planted_stores import clusters, plant

FEATURE = "signal-0123456789ab"


def pictures(n: int, seed: int, n_words: int = 12) -> tuple[Floats, Bools]:
    """Rows around the centres of words, some of which are rare, with noise that hides them."""
    centres = np.random.default_rng(99).normal(size=(n_words, 24))
    rng = np.random.default_rng(seed)
    share = 0.35 / np.arange(1, n_words + 1) ** 0.6
    tagged = rng.random((n, n_words)) < share
    rows = tagged @ centres + 2.0 * rng.normal(size=(n, 24))
    return rows.astype(np.float32), tagged


def dataset(n: int, seed: int) -> tuple[Dataset, Bools]:
    rows, tagged = pictures(n, seed)
    learned = (tagged.sum(axis=0) >= 2) & (tagged.sum(axis=0) < n)
    labels = csr_matrix(tagged[:, learned].astype(np.float32))
    ids = np.arange(1, n + 1)
    return Dataset(ids, np.flatnonzero(learned), labels, {FEATURE: rows}), learned


def measured(ranker: str, n: int, draws: int) -> tuple[Reliability, Reliability]:
    """Return the reliability of first hits by the trial's calibration, and by what is served."""
    parts: tuple[list[Floats], list[Floats]] = ([], [])
    for seed in range(draws):
        training, learned = dataset(n, seed)
        selected = select(training, [ranker], None, NoProgress())
        served = fit(selected.recipe, training)
        how = selected.combination.how
        rows, tagged = pictures(600, 100 + seed)
        scores, tagged = served.scores({FEATURE: rows}), tagged[:, learned]
        base = np.asarray(training.labels.mean(axis=0)).ravel()
        both = selected.combination, calibrated(how, served, training, selected.combination)
        for combination, found in zip(both, parts, strict=True):
            published = combination.rows(scores)
            for w in range(published.shape[1]):
                best = np.argsort(-published[:, w], kind="stable")[:20]
                shown = combination.word_probabilities(published[best][:, [w]], [w])[:, 0]
                found.append(np.stack((shown, tagged[best, w], np.full(20, base[w]))))
    trial, whole = (reliability(*np.concatenate(found, axis=1)) for found in parts)
    return trial, whole


@pytest.mark.parametrize(("ranker", "draws"), [("ridge", 3), ("pamir", 2)])
def test_a_small_collection_shows_reliable_probabilities(ranker: str, draws: int) -> None:
    trial, served = measured(ranker, 100, draws)
    assert served.ece < 0.13 and served.skill > 0.5
    # Without left-out scores, the twenty validation pictures of the trial are too few.
    assert ranker == "ridge" or served.ece < 0.8 * trial.ece


def test_a_left_out_positive_is_scored_as_all_pictures_of_the_word_would() -> None:
    """A score that sums over a word's pictures: exact, whatever their number."""
    rng = np.random.default_rng(0)
    labels = rng.random((40, 6)) < 0.2
    labels[:2] = True
    kernel = np.full((40, 40), 0.1)
    new = kernel @ labels
    left_out = (new - labels * 0.1).astype(np.float32)
    left_out -= left_out.min(axis=0)
    raised = as_if_new(left_out, csr_matrix(labels))
    assert (raised >= left_out - 1e-6).all()
    assert np.array_equal(raised[~labels], left_out[~labels])


def test_pictures_of_a_rare_word_are_left_out_one_at_a_time() -> None:
    training, _ = dataset(100, 1)
    fold = probabilities._folds(training)
    assert np.bincount(fold, minlength=FOLDS).tolist() == [20] * FOLDS
    counts = np.asarray(training.labels.sum(axis=0)).ravel()
    rarest = int(counts.argmin())
    of_rarest = fold[training.labels[:, [rarest]].toarray().ravel() > 0]
    assert len(set(of_rarest.tolist())) == min(len(of_rarest), FOLDS)


def test_many_pictures_keep_the_validation_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    training, _ = dataset(60, 2)
    selected = select(training, ["pamir"], None, NoProgress())
    served = fit(Recipe("pamir", (FEATURE,), selected.recipe.settings), training)
    how = selected.combination.how
    assert calibrated(how, served, training, selected.combination) is not selected.combination
    monkeypatch.setattr(probabilities, "CROSS_FITTED", 50)
    assert calibrated(how, served, training, selected.combination) is selected.combination
    assert selected.combination.curves_ is not None


def test_a_model_of_an_earlier_release_shows_what_it_showed(tmp_path: Path) -> None:
    words, rows = clusters(150, 5)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    run(store_folder, TrainOptions(("ridge",)))
    with store_folder.reader() as reader:
        saved = load_model(store_folder.models, reader.snapshot.model)
    model = from_saved(saved)
    assert model.combination.curves_ is not None and (model.floors > 0).all()
    later = ("word_slope", "word_offset", "beta", "floors", "proof_combination")
    earlier = {n: a for n, a in saved.arrays.items() if not any(part in n for part in later)}
    assert len(earlier) < len(saved.arrays)
    old = from_saved(replace(saved, arrays=earlier))
    query = old.query(old.terms[:1], [1.0])
    assert old.proof_combination is old.combination and old.floor(query) == 0
    if old.combination.how == "product":
        assert old.probability(query, np.log([0.3])) == pytest.approx([0.3])
    likely = old.probability(query, np.array([-2.0, -1.0, -0.5]))
    assert ((likely >= 0) & (likely <= 1)).all() and (np.diff(likely) >= 0).all()
