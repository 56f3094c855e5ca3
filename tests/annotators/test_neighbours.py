"""Weighted nearest neighbours: scores against plain ones, leaving out, edges, keeping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.annotators import _neighbour_search as search
from sightline.annotators.neighbours import Neighbours
from sightline.contracts import WordScorer
from sightline.errors import DataError, ParameterError, UsageError
from tests.factories.fresh_python import imported_by
from tests.naive import neighbours as naive
from tests.naive.annotators import problem

Floats = NDArray[np.float32]
WAYS: list[dict[str, Any]] = [
    {"weights": "rank"},
    {"weights": "distance"},
    {"weights": "rank", "sigmoid": True},
    {"weights": "distance", "sigmoid": True},
]


def views_of(X: Any) -> tuple[Floats, ...]:
    return X if isinstance(X, tuple) else (X,)


def plain_scores(
    model: Neighbours, X: Any, train: Any, Y: Floats, leave_out: bool = False
) -> NDArray[np.float64]:
    """Score pictures one by one with what the model learnt."""
    views, others = views_of(X), views_of(train)
    names, scales = model.search_.names, model.search_.scales
    out = []
    for i in range(len(views[0])):
        tables = [
            [float(np.float32(naive.distance(v[i].tolist(), row.tolist(), name))) for row in o]
            for v, o, name in zip(views, others, names, strict=True)
        ]
        mean = [sum(t[j] / s for t, s in zip(tables, scales, strict=True)) for j in range(len(Y))]
        own = i if leave_out else -1
        k = min(model.K_, len(Y) - leave_out)
        if model.neighbours == "union":
            lists = [naive.nearest(t, own, len(Y) - leave_out) for t in tables]
            near = sorted(naive.merged(lists, k), key=lambda j: (mean[j], j))
        else:
            near = naive.nearest(mean, own, k)
        if model.weights == "rank":
            pi = model.gamma_.tolist()[: len(near)]
        else:
            far = [[t[j] for t in tables] for j in near]
            pi = naive.by_distance(far, model.theta_.tolist())
        x = naive.word_evidence(near, pi, Y)
        curves = zip(x, model.curve_.slope, model.curve_.offset, strict=True)
        out.append([naive.probability(v, a, b, model.sigmoid) for v, a, b in curves])
    return np.asarray(np.log(np.array(out)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("distance", ["l2", "l1", "chi2"])
def test_scores_equal_those_of_plain_loops(way: dict[str, Any], distance: str) -> None:
    X, Y = problem(50)
    X = np.abs(X)
    model = Neighbours(K=9, distance=distance, **way).fit(X[:40], Y[:40])
    expected = plain_scores(model, X[40:], X[:40], Y[:40])
    assert model.decision_function(X[40:]) == pytest.approx(expected, abs=2e-4)
    assert model.predict_proba(X[40:]) == pytest.approx(np.exp(expected), abs=1e-5)
    left_out = plain_scores(model, X[:40], X[:40], Y[:40], leave_out=True)
    assert model.leave_one_out_ == pytest.approx(left_out, abs=2e-4)
    assert model.leave_one_out_.dtype == model.decision_function(X[40:]).dtype == np.float32


@pytest.mark.parametrize("choice", ["union", "mean"])
@pytest.mark.parametrize("weights", ["rank", "distance"])
def test_several_views_equal_plain_loops(choice: Any, weights: Any) -> None:
    X, Y = problem(50)
    views = (X[:, :2].copy(), np.abs(X[:, 2:4]), 7 * X[:, 4:])
    train, new = tuple(v[:40] for v in views), tuple(v[40:] for v in views)
    names = ("l2", "chi2", "l1")
    model = Neighbours(weights=weights, K=7, distance=names, neighbours=choice).fit(train, Y[:40])
    expected = plain_scores(model, new, train, Y[:40])
    assert model.decision_function(new) == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("way", WAYS)
def test_a_left_out_picture_is_scored_without_itself(way: dict[str, Any]) -> None:
    X, Y = problem(30)
    model = Neighbours(K=6, **way).fit(X, Y)
    for i in (0, 13, 29):
        kept = np.arange(30) != i
        arrays = model.to_arrays()
        without = Neighbours(K=6, **way).fit(X[kept], Y[kept]).to_arrays()
        for name in ("gamma", "theta", "slope", "offset", "scales"):
            without[name] = arrays[name]
        alone = Neighbours.from_arrays(without).decision_function(X[i : i + 1])
        assert alone[0] == pytest.approx(model.leave_one_out_[i], abs=1e-5)
    # Scored with itself, its own words would stand out.
    seen = model.decision_function(X)
    assert seen[Y > 0].mean() > model.leave_one_out_[Y > 0].mean() + 0.05


def test_a_word_on_one_picture_is_unheard_where_that_is_left_out() -> None:
    X, Y = problem(30)
    Y[:, 0] = 0
    Y[5, 0] = 1
    model = Neighbours(K=29, eps=1e-3).fit(X, Y)
    assert model.leave_one_out_[5, 0] == pytest.approx(np.log(1e-3), rel=1e-5)
    assert (np.delete(model.leave_one_out_[:, 0], 5) > -6).any()


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(2, 25), st.integers(1, 30), st.sampled_from(WAYS),
    st.sampled_from(["union", "mean"]),
)  # fmt: skip
def test_probabilities_weights_and_likelihoods_are_lawful(
    seed: int, n: int, K: int, way: dict[str, Any], choice: Any
) -> None:
    X, Y = problem(n, 4, 3, seed)
    model = Neighbours(K=K, neighbours=choice, **way).fit((X[:, :2].copy(), X[:, 2:].copy()), Y)
    assert min(K, n - 1) == model.K_
    scores = model.decision_function((X[:, :2].copy(), X[:, 2:].copy()))
    assert np.isfinite(scores).all()
    assert np.isfinite(model.leave_one_out_).all()
    assert (scores <= 0).all()
    if not model.sigmoid:
        assert (scores >= np.log(model.eps) - 1e-4).all()
    if way["weights"] == "rank":
        assert model.gamma_.sum() == pytest.approx(1.0)
        assert (model.gamma_ >= 0).all()
    else:
        assert (model.theta_ >= 0).all()
    assert (np.diff(model.history_) >= -1e-12).all()


@pytest.mark.parametrize("way", WAYS)
def test_permuting_pictures_permutes_their_scores(way: dict[str, Any]) -> None:
    X, Y = problem(40)
    order = np.random.default_rng(2).permutation(40)
    plain, shuffled = (
        Neighbours(K=8, **way).fit(X, Y),
        Neighbours(K=8, **way).fit(X[order], Y[order]),
    )
    assert shuffled.leave_one_out_ == pytest.approx(plain.leave_one_out_[order], abs=1e-3)
    assert shuffled.decision_function(X) == pytest.approx(plain.decision_function(X), abs=1e-3)


def test_of_equally_near_pictures_the_first_is_taken() -> None:
    X = np.array([[0.0], [2.0], [2.0], [2.0], [9.0]])
    Y = np.array([[0, 0], [1, 0], [0, 1], [0, 1], [0, 0]])
    model = Neighbours(weights="rank", K=1).fit(X, Y)
    assert model.predict_proba([[1.9], [3.0]]).round(2).tolist() == [[1.0, 0.0]] * 2
    by_both = Neighbours(weights="rank", K=1, distance=("l2", "l1")).fit((X, X), Y)
    assert by_both.predict_proba(([[3.0]], [[3.0]])).round(2).tolist() == [[1.0, 0.0]]


def test_of_equal_means_the_first_stands_first() -> None:
    a, b = np.array([[1.0], [0.0], [9.0], [5.0]]), np.array([[0.0], [1.0], [9.0], [5.0]])
    Y = np.array([[1, 0], [0, 1], [0, 0], [0, 0]])
    arrays = Neighbours(weights="rank", K=2, neighbours="union").fit((a, b), Y).to_arrays()
    first = Neighbours.from_arrays({**arrays, "gamma": np.array([0.9, 0.1])})
    # By the first view the second picture is nearer, by both together they are equally near.
    found = first.predict_proba(([[0.0]], [[0.0]]))
    assert found.tolist()[0] == pytest.approx([0.9, 0.1], abs=1e-3)


def test_the_unit_of_a_feature_does_not_matter() -> None:
    X, Y = problem(40)
    small = Neighbours(K=8).fit((X[:, :3].copy(), X[:, 3:].copy()), Y)
    large = Neighbours(K=8).fit((X[:, :3] * 64, X[:, 3:].copy()), Y)
    assert large.theta_[0] == pytest.approx(small.theta_[0] / 64, rel=1e-2)
    assert large.leave_one_out_ == pytest.approx(small.leave_one_out_, abs=1e-2)
    new = large.decision_function((X[:, :3] * 64, X[:, 3:].copy()))
    assert new == pytest.approx(
        small.decision_function((X[:, :3].copy(), X[:, 3:].copy())), abs=1e-2
    )


@pytest.mark.parametrize("budget", [1, 2000])
def test_memory_for_distances_changes_nothing(monkeypatch: pytest.MonkeyPatch, budget: int) -> None:
    X, Y = problem(60)
    plain = Neighbours(K=8).fit(X, Y)
    monkeypatch.setattr(search, "_BUDGET", budget)
    monkeypatch.setattr(search, "_COLUMNS", 7)
    monkeypatch.setattr("sightline.annotators.neighbours._BLOCK", 11)
    blocked = Neighbours(K=8).fit(X, Y)
    assert blocked.leave_one_out_ == pytest.approx(plain.leave_one_out_, abs=1e-5)
    assert blocked.decision_function(X) == pytest.approx(plain.decision_function(X), abs=1e-5)


def test_sparse_rows_and_words_are_the_same_as_dense_ones() -> None:
    from scipy.sparse import csr_matrix

    X, Y = problem(40)
    X[X < 0.5] = 0
    dense, sparse = Neighbours(K=5).fit(X, Y), Neighbours(K=5).fit(csr_matrix(X), csr_matrix(Y))
    assert sparse.leave_one_out_ == pytest.approx(dense.leave_one_out_, abs=1e-4)
    kept = Neighbours.from_arrays(sparse.to_arrays()).decision_function(csr_matrix(X))
    assert kept == pytest.approx(dense.decision_function(X), abs=1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_some_words_score_as_among_all(way: dict[str, Any]) -> None:
    X, Y = problem(40)
    model = Neighbours(K=5, **way).fit(X, Y)
    words = np.array([4, 0, 4])
    assert np.array_equal(model.decision_function(X, words), model.decision_function(X)[:, words])
    assert model.decision_function(X, np.array([], dtype=np.int64)).shape == (40, 0)
    with pytest.raises(DataError, match=r"from 0 to 4. Got 5"):
        model.decision_function(X, np.array([5]))


@pytest.mark.parametrize("way", WAYS)
def test_what_is_kept_scores_the_same_and_twice_gives_the_same_bytes(way: dict[str, Any]) -> None:
    X, Y = problem(40)
    views = (X[:, :3].copy(), X[:, 3:].copy())
    for choice in ("union", "mean"):
        made: list[Any] = [
            Neighbours(K=5, neighbours=choice, **way).fit(views, Y) for _ in range(2)
        ]
        arrays = made[0].to_arrays()
        assert all(a.dtype.kind in "iuf" for a in arrays.values())
        assert all(np.array_equal(a, made[1].to_arrays()[n]) for n, a in arrays.items())
        copies = {name: array.copy() for name, array in arrays.items()}
        again = Neighbours.from_arrays(copies).decision_function(views)
        assert again.tobytes() == made[0].decision_function(views).tobytes()


@pytest.mark.parametrize("way", WAYS)
def test_words_on_every_picture_and_on_none_are_learnt_as_such(way: dict[str, Any]) -> None:
    X, some = problem(40)
    Y = np.column_stack((np.ones(40), np.zeros(40), some))
    model = Neighbours(K=5, **way).fit(X, Y)
    scores = model.decision_function(X)
    assert (scores[:, 0] > np.log(0.5)).all()
    assert (scores[:, 1] < np.log(0.5)).all()
    assert np.ptp(scores[:, :2], axis=0) == pytest.approx(0, abs=1e-4)
    for same in (np.ones((40, 2)), np.zeros((40, 2))):
        scores = Neighbours(K=5, **way).fit(X, same).decision_function(X)
        assert np.isfinite(scores).all()
        assert ((scores > np.log(0.5)) == same).all()


@pytest.mark.parametrize("way", WAYS)
def test_one_picture_and_pictures_that_are_alike_are_enough(way: dict[str, Any]) -> None:
    one = Neighbours(**way).fit([[1.0, 2.0]], [[1, 0]])
    assert one.K_ == 1
    assert one.predict_proba([[3.0, 3.0]]).round(2).tolist() == [[1.0, 0.0]]
    assert (one.leave_one_out_ < -9).all()
    alike = Neighbours(K=3, **way).fit(np.ones((6, 2)), problem(6)[1])
    assert np.isfinite(alike.leave_one_out_).all()
    assert np.ptp(alike.decision_function(np.ones((4, 2))), axis=0) == pytest.approx(0)


def test_more_neighbours_than_pictures_are_all_pictures() -> None:
    X, Y = problem(12)
    many, all_ = Neighbours(K=1000).fit(X, Y), Neighbours(K=11).fit(X, Y)
    assert many.K_ == 11
    assert many.decision_function(X).tobytes() == all_.decision_function(X).tobytes()


def test_scikit_learn_can_search_its_parameters() -> None:
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    X, Y = problem(90)
    search = GridSearchCV(Neighbours(), {"K": [1, 20]}, cv=3).fit(X, Y)
    assert search.best_params_["K"] == 20
    assert isinstance(search.best_estimator_, WordScorer)
    assert repr(clone(Neighbours(K=3))) == "Neighbours(K=3)"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"weights": "luck"}, "'weights' .* 'rank' or 'distance'. Got 'luck'"),
        ({"neighbours": "all"}, "'neighbours'"),
        ({"K": 0}, "'K' .* at least 1. Got 0"),
        ({"K": True}, "'K'"),
        ({"K": 2.5}, "'K'"),
        ({"eps": 0.0}, "'eps'"),
        ({"eps": 0.5}, "'eps'"),
        ({"eps": 1e-12}, "'eps'"),
        ({"eps": "small"}, "'eps'"),
        ({"distance": "cosine"}, "'distance' .* Got 'cosine'"),
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Neighbours(**wrong).fit(*problem(5))


def test_impossible_data_is_refused() -> None:
    from scipy.sparse import csr_matrix

    X, Y = problem(5)
    with pytest.raises(DataError, match=r"NaN or inf"):
        Neighbours().fit(X * np.nan, Y)
    with pytest.raises(DataError, match=r"each of the 5 pictures. Got shape \(4, 5\)"):
        Neighbours().fit(X, Y[:4])
    with pytest.raises(DataError, match="no picture to learn from"):
        Neighbours().fit(X[:0], Y[:0])
    with pytest.raises(DataError, match=r"2 distances need as many views. Got 1"):
        Neighbours(distance=("l2", "l2")).fit(X, Y)
    with pytest.raises(DataError, match="Negative values in data passed to the chi2 kernel"):
        Neighbours(distance="chi2").fit(X, Y)
    with pytest.raises(DataError, match="l1 distance needs dense"):
        Neighbours(distance="l1").fit(csr_matrix(X), Y)
    with pytest.raises(DataError, match="scale them"):
        Neighbours().fit(np.array([[3e38], [-3e38], [0.0], [1.0], [2.0]], np.float32), Y)
    with pytest.raises(DataError, match=r"X has 2 features, but Neighbours is expecting 6"):
        Neighbours().fit(X, Y).decision_function(X[:, :2])
    for use in (lambda: Neighbours().decision_function(X), lambda: Neighbours().to_arrays()):
        with pytest.raises(UsageError, match="Call fit first"):
            use()


def test_importing_it_imports_neither_scipy_nor_numba() -> None:
    assert not {"scipy", "numba"} & imported_by("sightline.annotators.neighbours")
