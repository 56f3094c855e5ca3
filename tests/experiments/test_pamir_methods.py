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
from sightline.words.tfidf import idf as idf_of
from sightline_experiments.pamir.methods import (
    METHODS,
    PAPER,
    normalised_mean,
    weighted_sum,
)
from sightline_experiments.pamir.plan import views_of
from sightline_experiments.pamir.protocol import Scorer, Split, part_of
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
    relevant = np.diff(split.validation_queries.relevant_start)
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


def test_a_fit_is_measured_on_validation_queries(split: Split) -> None:
    scorer = METHODS["CMRM"].fit(split, SETTINGS["CMRM"])
    assert split.value(scorer) == avgp(scorer, split)


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
