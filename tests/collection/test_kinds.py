"""Every kind of ranker, fitted, kept, made again and chosen from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sightline.collection.models import registry, selection, trials
from sightline.collection.models.dataset import Dataset
from sightline.collection.models.queries import evaluation_queries, idf_in
from sightline.collection.models.recipe import Fitted, Recipe, builds_on, fit, ranker_spec
from sightline.collection.models.registry import RANKERS, RankerSpec
from sightline.collection.models.selection import _without_validation
from sightline.collection.models.training import TrainOptions, train
from sightline.collection.models.trials import SelectionTask
from sightline.errors import DataError, UsageError
from sightline.progress import NoProgress
from sightline.registry import FEATURE_SETS, feature_group
from sightline.similarity import grams
from sightline.words.combination import WAYS, How
from tests.factories.planted_stores import clusters, plant

Patch = pytest.MonkeyPatch
THREE = ["pamir", "ridge", "neighbours"]
SILENT = NoProgress()
DENSE, COUNTS = "signal-0123456789ab", "visterms-0123456789ab"


def planted(n: int = 120, n_words: int = 6, seed: int = 0) -> Dataset:
    """Return pictures whose dense rows and counts both tell their words."""
    words, rows = clusters(n, n_words, seed=0)
    names = sorted({w for ws in words for w in ws})
    labels = np.array([[w in ws for w in names] for ws in words], np.float32)
    rng = np.random.default_rng(seed)
    # Each word has terms of its own, which its pictures hold more often.
    rate = 0.3 + 2.0 * labels @ np.repeat(np.eye(len(names)), 4, axis=1)
    counts = rng.poisson(rate).astype(np.float32)
    order = rng.permutation(n)
    return Dataset(
        np.arange(n, dtype=np.int64),
        np.arange(len(names), dtype=np.int64),
        csr_matrix(labels[order]),
        {DENSE: rows[order], COUNTS: csr_matrix(counts[order])},
    )


def recipe_of(ranker: str, sample: Dataset) -> Recipe:
    kind = RANKERS[ranker]
    return Recipe(ranker, kind.usable(sample.views), tuple(sorted(kind.grid[0].items())))


@pytest.mark.parametrize("ranker", sorted(RANKERS))
def test_every_kind_learns_and_is_made_again_from_its_arrays(ranker: str) -> None:
    sample = planted()
    training, rest = sample.only(np.arange(80)), sample.only(np.arange(80, 120))
    idf = idf_in(training.labels)
    asked = evaluation_queries(rest.labels, idf, np.ones(len(sample.terms), bool))
    fitted = fit(recipe_of(ranker, sample), training, (rest, asked))
    scores = fitted.scores(rest.views)
    assert scores.shape == rest.labels.shape and scores.dtype == np.float32
    tagged = rest.labels.toarray() > 0
    assert scores[tagged].mean() > scores[~tagged].mean()
    some = np.array([4, 1])
    assert np.allclose(fitted.scores(rest.views, some), scores[:, some], atol=1e-6)
    assert all(np.isfinite(a).all() for a in fitted.to_arrays("p.").values())
    again = Fitted.from_arrays(fitted.recipe, fitted.to_arrays("p."), "p.")
    assert np.array_equal(again.scores(rest.views), scores)
    assert all(np.asarray(a).dtype.kind in "fiu" for a in fitted.arrays.values())


@pytest.mark.parametrize("ranker", [r for r in sorted(RANKERS) if RANKERS[r].input == "concat"])
def test_long_rows_are_scaled_and_computed_again(ranker: str) -> None:
    sample = planted()
    rng = np.random.default_rng(3)
    # More columns than pictures, and than the scaling keeps.
    far = np.hstack([sample.views[DENSE], rng.normal(size=(120, 900)).astype(np.float32) / 30])
    long = replace(sample, views={DENSE: far})
    training, rest = long.only(np.arange(80)), long.only(np.arange(80, 120))
    idf = idf_in(training.labels)
    asked = evaluation_queries(rest.labels, idf, np.ones(len(sample.terms), bool))
    fitted = fit(recipe_of(ranker, long), training, (rest, asked))
    assert "basis" in fitted.arrays
    scores = fitted.scores(rest.views)
    tagged = rest.labels.toarray() > 0
    assert scores[tagged].mean() > scores[~tagged].mean()
    again = Fitted.from_arrays(fitted.recipe, fitted.to_arrays("p."), "p.")
    assert np.array_equal(again.scores(rest.views), scores)


@pytest.mark.parametrize("ranker", sorted(RANKERS))
def test_a_refit_by_the_settings_found_needs_no_validation(ranker: str) -> None:
    sample = planted()
    training, rest = sample.only(np.arange(80)), sample.only(np.arange(80, 120))
    asked = evaluation_queries(
        rest.labels, idf_in(training.labels), np.ones(len(sample.terms), bool)
    )
    found = fit(recipe_of(ranker, sample), training, (rest, asked)).recipe
    once, twice = fit(found, sample), fit(found, sample)
    for name, array in once.arrays.items():
        assert np.array_equal(array, twice.arrays[name]), name


@pytest.mark.parametrize("ranker", [r for r in sorted(RANKERS) if RANKERS[r].input != "counts"])
def test_every_kind_can_be_trained_and_served(ranker: str, tmp_path: Path) -> None:
    words, rows = clusters(200, 6)
    # Pairs that few have: of some words there is nothing to learn from while others are held out.
    words = [[*ws, f"rare{i // 2}"] if i < 60 else ws for i, ws in enumerate(words)]
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    options = TrainOptions(rankers=(ranker,))
    report = train(store_folder, options, 0.0, NoProgress())
    assert report.recipe.startswith(ranker) and report.version
    assert report.proof.candidate > 0.3 > report.proof.baseline
    # Nothing has changed since: what is proven again is what was proven.
    again = train(store_folder, options, 0.0, NoProgress()).proof
    assert again.current == again.candidate_on_common == again.candidate


def test_what_a_kind_can_use() -> None:
    sample = planted()
    assert RANKERS["pamir"].usable(sample.views) == (DENSE,)
    assert RANKERS["pamir"].usable({COUNTS: sample.views[COUNTS]}) == (COUNTS,)
    assert RANKERS["ridge"].usable(sample.views) == (DENSE, COUNTS)
    assert RANKERS["plsa"].usable(sample.views) == (COUNTS,)
    assert RANKERS["plsa"].usable({DENSE: sample.views[DENSE]}) == ()


def test_rankers_that_cannot_learn_here_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = planted()
    monkeypatch.setitem(registry.RANKERS, "far", RankerSpec("x:Y", "", requires="no_such_package"))
    dense = {DENSE}
    can, cannot = selection.trainable_rankers(sample, ["ridge", "cmrm", "far"], [*dense])
    assert can == ["ridge"]
    assert cannot[0].startswith("cmrm: it learns from counts")
    assert cannot[1].startswith("far: it needs no_such_package")


def test_memory_is_told_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = planted()
    monkeypatch.setattr(selection, "bytes_free", lambda: 100_000)
    can, cannot = selection.trainable_rankers(sample, ["ridge", "pamir"])
    assert can == ["pamir"]
    assert "120 pictures and 9 words would take about 0.1 GB of memory" in cannot[0]


@pytest.mark.parametrize("sees", ["concat", "per_feature", "counts"])
def test_memory_grows_with_words_and_is_not_less_than_the_weights(sees: str) -> None:
    rows = np.zeros((50, 20), np.float32)
    spec = next(s for s in RANKERS.values() if s.input == sees)
    few, many = (spec.bytes_needed([rows], n) for n in (10, 100_000))
    assert few < many and many >= 4 * 100_000 * 20
    assert registry.bytes_free() > 0


def selection_task(n: int, n_train: int) -> SelectionTask:
    """Return a selection on planted pictures, the first of which are for training."""
    sample = planted(n)
    training, rest = sample.only(np.arange(n_train)), sample.only(np.arange(n_train, n))
    return SelectionTask.of(training, rest, np.ones(len(sample.terms), bool))


def test_all_but_the_best_are_dropped_after_a_first_look() -> None:
    task = selection_task(200, 150)
    rankers = ["pamir", "ridge", "cmtt", "neighbours"]
    passing, screening = selection.screen(rankers, None, task, SILENT)
    table = screening.table
    best = {r: max(t.avgp for t in table if t.recipe.ranker == r) for r in rankers}
    assert set(best) == set(rankers)
    assert set(passing) == set(sorted(rankers, key=lambda r: -best[r])[: selection.PASSING])
    assert passing == [r for r in rankers if r in passing]
    assert {t.pictures for t in table} == {150}
    few, none = selection.screen(["ridge"], None, task, SILENT)
    assert few == ["ridge"] and none.table == []


def test_what_was_seen_on_all_pictures_is_not_fitted_again(monkeypatch: Patch) -> None:
    task = selection_task(200, 150)
    fits: list[Recipe] = []
    true_fit = fit

    def counted(recipe: Recipe, *rest: Any) -> Any:
        fits.append(recipe)
        return true_fit(recipe, *rest)

    monkeypatch.setattr(trials, "fit", counted)
    rankers, screening = selection.screen(THREE, None, task, SILENT)
    recipes = selection.candidates(task.training, rankers)
    choice = selection.select_recipe(recipes, task, SILENT, screening)
    assert len(fits) == len(set(fits)) > 3
    assert len(choice.table) == len(set(choice.table))
    fresh = selection.select_recipe(recipes, task, SILENT)
    assert (choice.recipe, choice.combination.how) == (fresh.recipe, fresh.combination.how)
    assert choice.table[0].avgp == fresh.table[0].avgp
    # On a sample of them it says little of all, and is done again.
    monkeypatch.setattr(selection, "SCREENED_ON", 100)
    fits.clear()
    rankers, screening = selection.screen(THREE, None, task, SILENT)
    choice = selection.select_recipe(
        selection.candidates(task.training, rankers), task, SILENT, screening
    )
    assert len(fits) > len(set(fits))
    assert {t.pictures for t in choice.table} == {100, 150}


def test_a_ranker_on_top_takes_what_was_fitted_below() -> None:
    training = selection_task(200, 150).training
    features = tuple(f for f in training.views if f in ranker_spec("ridge").usable(training.views))
    settings = (("kernel", "rbf"),)
    base = fit(Recipe("ridge", features, settings), training)
    top = Recipe("log-product", features, settings)
    alone, shared = fit(top, training), fit(top, training, None, base)
    assert alone.recipe == shared.recipe and alone.arrays.keys() == shared.arrays.keys()
    assert all((alone.arrays[k] == shared.arrays[k]).all() for k in alone.arrays)
    assert all(shared.arrays[k] is a for k, a in base.arrays.items())
    # Fitted to other features or with other settings, it is no base.
    assert not builds_on(top, fit(Recipe("ridge", features[:1], settings), training))
    assert not builds_on(top.with_settings(alpha=1e-9), base)
    assert not builds_on(Recipe("ridge", features, settings), base)


def test_a_ranker_without_its_feature_is_refused(tmp_path: Path) -> None:
    words, rows = clusters(60, 3)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    with pytest.raises(UsageError, match="cmrm: it learns from counts of visual words"):
        train(store_folder, TrainOptions(rankers=("cmrm",)), 0.0, NoProgress())


@pytest.mark.parametrize("how", WAYS)
def test_a_model_is_held_against_the_one_in_use_by_the_same_weights(
    how: How, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(trials, "WAYS", (how,))
    words, rows = clusters(200, 6, noise=1.5)
    # Rare words, whose idf held-out pictures change most.
    words = [[*ws, f"rare{i // 3}"] if i < 60 else ws for i, ws in enumerate(words)]
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    options = TrainOptions(rankers=("pamir",))
    first = train(store_folder, options, 0.0, NoProgress())
    assert first.how == how
    again = train(store_folder, options, 0.0, NoProgress()).proof
    assert again.n_common > 0
    assert again.current == again.candidate_on_common == again.candidate == first.proof.candidate


def test_a_kernel_of_many_pictures_is_expanded_on_some(monkeypatch: Patch) -> None:
    sample = planted(120)
    monkeypatch.setattr(grams, "MOST_PICTURES", 100)
    monkeypatch.setattr(grams, "LANDMARKS", 30)
    recipe = recipe_of("kernel-pamir", sample)
    assert len(fit(recipe, sample).arrays["support"]) == 30
    few = fit(recipe, sample.only(np.arange(100)))
    assert len(few.arrays["support"]) > 30
    # What it will take is told by the same measure.
    rows = [np.zeros((n, 4), np.float32) for n in (100, 101)]
    fewer, more = (RANKERS["kernel-pamir"].bytes_needed([r], 1) for r in rows)
    assert more < fewer


def test_one_that_cannot_learn_does_not_stop_the_others(monkeypatch: Patch) -> None:
    task = selection_task(200, 150)
    true_fit = fit

    def failing(recipe: Recipe, *rest: Any) -> Any:
        if recipe.ranker == "pamir":
            raise DataError("Not from these.")
        return true_fit(recipe, *rest)

    monkeypatch.setattr(trials, "fit", failing)
    rankers, screening = selection.screen(THREE, None, task, SILENT)
    assert rankers == ["ridge", "neighbours"]
    choice = selection.select_recipe(
        selection.candidates(task.training, rankers), task, SILENT, screening
    )
    assert choice.not_tried == ("pamir: Not from these.",)
    with pytest.raises(UsageError, match=r"from these 150 pictures: pamir: Not from these\."):
        selection.select_recipe(selection.candidates(task.training, ["pamir"]), task, SILENT)


def test_too_few_pictures_for_a_ranker_are_told_from_what_people_see() -> None:
    sample = planted()
    with pytest.raises(UsageError, match=r"pamir cannot learn from the 1 pictures with words"):
        _without_validation(recipe_of("pamir", sample), sample.only(np.arange(1)))


def test_the_nine_of_whole_all_are_one_group() -> None:
    assert {feature_group(name) for name in FEATURE_SETS["whole-all"]} == {"whole"}
    others = ("ehd", "fisher", "deep-peaks", "visterms")
    assert [feature_group(name) for name in others] == ["ehd", "fisher", "deep", "classic"]
