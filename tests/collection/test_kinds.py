"""Every kind of ranker, fitted, kept, made again and chosen from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sightline.collection.learning import choosing, kinds, memory
from sightline.collection.learning.kinds import KINDS, Kind
from sightline.collection.learning.learners import Fitted, Recipe, fit
from sightline.collection.learning.questions import idf_in, questions
from sightline.collection.learning.samples import Sample
from sightline.collection.training import TrainOptions, train
from sightline.errors import UsageError
from sightline.progress import NoProgress
from tests.planted import clusters, plant

DENSE, COUNTS = "signal-0123456789ab", "visterms-0123456789ab"


def planted(n: int = 120, n_words: int = 6, seed: int = 0) -> Sample:
    """Return pictures whose dense rows and counts both tell their words."""
    words, rows = clusters(n, n_words, seed=0)
    names = sorted({w for ws in words for w in ws})
    labels = np.array([[w in ws for w in names] for ws in words], np.float32)
    rng = np.random.default_rng(seed)
    # Each word has terms of its own, which its pictures hold more often.
    rate = 0.3 + 2.0 * labels @ np.repeat(np.eye(len(names)), 4, axis=1)
    counts = rng.poisson(rate).astype(np.float32)
    order = rng.permutation(n)
    return Sample(
        np.arange(n, dtype=np.int64),
        np.arange(len(names), dtype=np.int64),
        csr_matrix(labels[order]),
        {DENSE: rows[order], COUNTS: csr_matrix(counts[order])},
    )


def recipe_of(ranker: str, sample: Sample) -> Recipe:
    kind = KINDS[ranker]
    return Recipe(ranker, kind.usable(sample.views), tuple(sorted(kind.grid[0].items())))


@pytest.mark.parametrize("ranker", sorted(KINDS))
def test_every_kind_learns_and_is_made_again_from_its_arrays(ranker: str) -> None:
    sample = planted()
    training, rest = sample.only(np.arange(80)), sample.only(np.arange(80, 120))
    idf = idf_in(training.labels)
    asked = questions(rest.labels, idf, np.ones(len(sample.terms), bool))
    fitted = fit(recipe_of(ranker, sample), training, (rest, asked))
    scores = fitted.scores(rest.views)
    assert scores.shape == rest.labels.shape and scores.dtype == np.float32
    carried = rest.labels.toarray() > 0
    assert scores[carried].mean() > scores[~carried].mean()
    some = np.array([4, 1])
    assert np.allclose(fitted.scores(rest.views, some), scores[:, some], atol=1e-6)
    again = Fitted.from_arrays(fitted.recipe, fitted.to_arrays("p."), "p.")
    assert np.array_equal(again.scores(rest.views), scores)
    assert all(np.asarray(a).dtype.kind in "fiu" for a in fitted.arrays.values())


@pytest.mark.parametrize("ranker", sorted(KINDS))
def test_a_refit_by_the_settings_found_needs_no_validation(ranker: str) -> None:
    sample = planted()
    training, rest = sample.only(np.arange(80)), sample.only(np.arange(80, 120))
    asked = questions(rest.labels, idf_in(training.labels), np.ones(len(sample.terms), bool))
    found = fit(recipe_of(ranker, sample), training, (rest, asked)).recipe
    once, twice = fit(found, sample), fit(found, sample)
    for name, array in once.arrays.items():
        assert np.array_equal(array, twice.arrays[name]), name


@pytest.mark.parametrize("ranker", [r for r in sorted(KINDS) if KINDS[r].sees != "counts"])
def test_every_kind_can_be_trained_and_served(ranker: str, tmp_path: Path) -> None:
    words, rows = clusters(200, 6)
    home = plant(tmp_path / "store", words, {"signal": rows})
    report = train(home, TrainOptions(rankers=(ranker,)), 0.0, NoProgress())
    assert report.recipe.startswith(ranker) and report.version
    assert report.proof.candidate > 0.8


def test_what_a_kind_can_use() -> None:
    sample = planted()
    assert KINDS["pamir"].usable(sample.views) == (DENSE,)
    assert KINDS["pamir"].usable({COUNTS: sample.views[COUNTS]}) == (COUNTS,)
    assert KINDS["ridge"].usable(sample.views) == (DENSE, COUNTS)
    assert KINDS["plsa"].usable(sample.views) == (COUNTS,)
    assert KINDS["plsa"].usable({DENSE: sample.views[DENSE]}) == ()


def test_rankers_that_cannot_learn_here_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = planted()
    monkeypatch.setitem(kinds.KINDS, "far", Kind("x:Y", "", needs="no_such_package"))
    dense = {DENSE}
    can, cannot = choosing.able(sample, ["ridge", "cmrm", "far"], [*dense])
    assert can == ["ridge"]
    assert cannot[0].startswith("cmrm: it learns from counts")
    assert cannot[1].startswith("far: it needs no_such_package")


def test_memory_is_told_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = planted()
    monkeypatch.setattr(choosing, "bytes_free", lambda: 100_000)
    can, cannot = choosing.able(sample, ["ridge", "pamir"])
    assert can == ["pamir"]
    assert "120 pictures and 9 words would take about 0.1 GB of memory" in cannot[0]


@pytest.mark.parametrize("sees", ["joined", "views", "counts"])
def test_memory_grows_with_words_and_is_not_less_than_the_weights(sees: str) -> None:
    rows = np.zeros((50, 20), np.float32)
    few, many = (memory.bytes_needed(sees, [rows], n) for n in (10, 100_000))
    assert few < many and many >= 4 * 100_000 * 20
    assert memory.bytes_free() > 0


def test_all_but_the_best_are_dropped_after_a_first_look() -> None:
    sample = planted(200)
    training, rest = sample.only(np.arange(150)), sample.only(np.arange(150, 200))
    idf = idf_in(training.labels)
    asked = questions(rest.labels, idf, np.ones(len(sample.terms), bool))
    rankers = ["pamir", "ridge", "cmtt", "neighbours"]
    passing, table = choosing.screened(rankers, None, training, rest, asked, idf, NoProgress())
    best = {r: max(t.avgp for t in table if t.recipe.ranker == r) for r in rankers}
    assert set(best) == set(rankers)
    assert set(passing) == set(sorted(rankers, key=lambda r: -best[r])[: choosing.PASSING])
    assert passing == [r for r in rankers if r in passing]
    assert {t.pictures for t in table} == {150}
    few, none = choosing.screened(["ridge"], None, training, rest, asked, idf, NoProgress())
    assert few == ["ridge"] and none == ()


def test_a_ranker_without_its_feature_is_refused(tmp_path: Path) -> None:
    words, rows = clusters(60, 3)
    home = plant(tmp_path / "store", words, {"signal": rows})
    with pytest.raises(UsageError, match="cmrm: it learns from counts of visual words"):
        train(home, TrainOptions(rankers=("cmrm",)), 0.0, NoProgress())
