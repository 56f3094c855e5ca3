"""Methods and the choice of their settings, on pictures whose features tell their words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from sightline.contracts import Json
from sightline.errors import DataError
from sightline.measures.many import average_precisions, untrained_average_precision
from sightline.progress import NoProgress
from sightline.words.tfidf import idf as idf_of
from sightline_experiments.pamir.methods import (
    METHODS,
    PAPER,
    Method,
    normalised_mean,
    weighted_sum,
)
from sightline_experiments.pamir.protocol import Scorer, Split, part_of
from sightline_experiments.pamir.selection import Selection, attempt, views_of
from sightline_experiments.tuning import Search, Stage

N_WORDS, N_TRAIN, N_HELD = 6, 120, 40
SETTINGS: dict[str, dict[str, Json]] = {
    "PAMIR": {"view": "counts", "n_iter": 20_000, "eval_every": 5_000},
    "SVM": {"view": "counts", "C": [0.1, 1.0]},
    "PLSA": {"view": "counts", "n_aspects": 6},
    "CMTT": {"view": "counts", "rank": 6},
    "CMRM": {"view": "counts"},
    "kernel PAMIR": {"view": "dense & counts", "n_iter": 20_000, "eval_every": 5_000},
    "WARP": {"view": "counts", "n_iter": 20_000, "eval_every": 5_000},
    "log-product": {"view": "dense & counts"},
    "neighbours": {"view": "dense & counts", "K": 20},
    "kernel ridge": {"view": "dense & counts"},
    "sightline train": {"view": "dense & counts"},
}


def _features(labels: NDArray[np.float32], rng: np.random.Generator) -> dict[str, object]:
    """Return counts of terms, three for each word and some for none, and a noisy dense row."""
    rates = np.full((len(labels), 3 * N_WORDS + 10), 0.25)
    rates[:, : 3 * N_WORDS] += np.repeat(labels, 3, axis=1) * 3
    counts = csr_matrix(rng.poisson(rates).astype(np.float32))
    dense = labels + rng.normal(0, 0.4, labels.shape)
    return {"counts": counts, "dense": dense.astype(np.float32)}


@pytest.fixture(scope="module")
def split() -> Split:
    rng = np.random.default_rng(0)
    labels = (rng.random((N_TRAIN + N_HELD, N_WORDS)) < 0.3).astype(np.float32)
    labels[np.arange(len(labels)), rng.integers(0, N_WORDS, len(labels))] = 1
    parts = []
    for rows in (np.arange(N_TRAIN), np.arange(N_TRAIN, N_TRAIN + N_HELD)):
        parts.append(part_of(rows, csr_matrix(labels[rows]), _features(labels[rows], rng)))
    counts = labels[:N_TRAIN].sum(axis=0).astype(np.int64)
    return Split.of(0, parts[0], parts[1], idf_of(counts, N_TRAIN, smooth=False))


def avgp(scorer: Scorer, split: Split) -> float:
    scores = scorer(split.validation.views, split.validation_queries)
    assert scores.shape == (len(split.validation_queries), N_HELD)
    return average_precisions(scores, split.validation_queries).mean_avgp


def chance(split: Split) -> float:
    relevant = np.diff(split.validation_queries.fit_start)
    return float(untrained_average_precision(relevant, N_HELD).mean())


def test_the_table_has_the_five_of_the_paper() -> None:
    assert PAPER == ("PAMIR", "SVM", "PLSA", "CMTT", "CMRM")
    assert set(PAPER) <= set(METHODS) == set(SETTINGS)
    assert all(METHODS[name].name == name for name in METHODS)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_method_learns(name: str, split: Split) -> None:
    scorer = METHODS[name].fit(split, SETTINGS[name])
    assert avgp(scorer, split) > 1.8 * chance(split)


@pytest.mark.parametrize("name", ["PAMIR", "SVM"])
def test_methods_with_a_kernel_learn_over_pictures(name: str, split: Split) -> None:
    more: dict[str, Json] = {"view": "dense & counts", "kernel": "rbf"}
    scorer = METHODS[name].fit(split, {**SETTINGS[name], **more})
    assert avgp(scorer, split) > 1.8 * chance(split)


@pytest.mark.parametrize("name", ["PAMIR", "PLSA", "kernel ridge"])
def test_the_same_split_gives_the_same_scores(name: str, split: Split) -> None:
    a, b = (METHODS[name].fit(split, SETTINGS[name]) for _ in range(2))
    views, queries = split.validation.views, split.validation_queries
    assert np.array_equal(a(views, queries), b(views, queries))


def test_words_are_weighted_as_the_query_says(split: Split) -> None:
    table = np.random.default_rng(1).random((N_HELD, N_WORDS), np.float32)
    queries = split.validation_queries
    scores = weighted_sum(table, queries)
    for i in (0, len(queries) - 1):
        weight = queries.weight[queries.start[i] : queries.start[i + 1]]
        want = table[:, queries.terms_of(i)] @ weight
        assert scores[i] == pytest.approx(want, rel=1e-5)


def test_svm_scores_are_normalised_over_the_pictures_ranked(split: Split) -> None:
    table = np.random.default_rng(1).random((N_HELD, N_WORDS), np.float32)
    queries = split.validation_queries
    z = (table - table.mean(axis=0)) / table.std(axis=0)
    scores = normalised_mean(table, queries)
    for i in range(len(queries)):
        assert scores[i] == pytest.approx(z[:, queries.terms_of(i)].mean(axis=1), abs=1e-4)
    moved = normalised_mean(table * np.float32(3) + np.float32(5), queries)
    assert moved == pytest.approx(scores, abs=1e-3)


class Fake:
    """A method whose validation AvgP is known: the closer `a` is to 3 the better, then `b` to 2."""

    def __init__(self) -> None:
        self.fitted: list[tuple[int, float, float]] = []

    def fit(self, split: Split, settings: object) -> Scorer:
        assert isinstance(settings, dict)
        a, b = float(settings["a"]), float(settings["b"])
        self.fitted.append((split.number, a, b))
        quality = 1 / (1 + abs(a - 3) + 0.1 * abs(b - 2))
        labels = split.validation.labels.toarray()
        noise = np.random.default_rng(0).random(labels.shape)
        table = (quality * labels + 9 * (1 - quality) * noise).astype(np.float32)
        return Scorer(lambda views: table, weighted_sum, {"a": a})


SEARCH = Search(
    {"a": 1, "b": 1},
    (Stage(({"a": 2}, {"a": 3}, {"a": 4}), once=True), Stage(({"b": 2}, {"b": 9}))),
)


def test_stages_keep_the_best_so_far(split: Split) -> None:
    fake = Fake()
    selection = Selection(Method("fake", fake.fit), SEARCH)
    best = selection.choose(split, NoProgress())
    assert best.settings == {"a": 3, "b": 2}
    assert fake.fitted == [(0, 1, 1), (0, 2, 1), (0, 3, 1), (0, 4, 1), (0, 3, 2), (0, 3, 9)]
    assert best.value == max(t.value for t in selection.trials)


def test_views_are_chosen_on_the_first_split_alone(split: Split) -> None:
    fake = Fake()
    selection = Selection(Method("fake", fake.fit), SEARCH)
    selection.choose(split, NoProgress())
    fake.fitted.clear()
    other = Split.of(1, split.train, split.validation, split.idf)
    best = selection.choose(other, NoProgress())
    assert fake.fitted == [(1, 3, 1), (1, 3, 2), (1, 3, 9)]
    assert best.settings == {"a": 3, "b": 2} and best.split == 1


def test_nothing_is_fitted_twice(split: Split) -> None:
    fake = Fake()
    search = Search({"a": 3, "b": 2}, (Stage(({"a": 3}, {"a": 1})), Stage(({"b": 2},))))
    Selection(Method("fake", fake.fit), search).choose(split, NoProgress())
    assert len(fake.fitted) == len(set(fake.fitted)) == 2


def test_forgetting_keeps_the_figures(split: Split) -> None:
    selection = Selection(Method("fake", Fake().fit), SEARCH)
    best = selection.choose(split, NoProgress())
    selection.forget()
    kept = selection.same(best)
    assert (kept.value, kept.settings) == (best.value, best.settings)
    assert kept.scorer.found == best.scorer.found
    with pytest.raises(LookupError):
        kept.scorer.words({})


def test_a_trial_is_measured_on_validation_queries(split: Split) -> None:
    trial = attempt(METHODS["CMRM"], split, SETTINGS["CMRM"])
    assert trial.value == avgp(trial.scorer, split)
    assert trial.seconds > 0


def test_a_search_names_every_view_it_may_look_at() -> None:
    search = Search({"view": "a"}, (Stage(({"view": "b & c"}, {"C": 1})),))
    assert views_of(search) == {"a", "b & c"}


def test_nothing_is_chosen_by_pictures_without_words(split: Split) -> None:
    held = split.validation
    silent = part_of(np.arange(len(held)), csr_matrix(held.labels.shape), held.views)
    with pytest.raises(DataError, match="ask for no word"):
        METHODS["sightline train"].fit(
            replace(split, validation=silent), SETTINGS["sightline train"]
        )
