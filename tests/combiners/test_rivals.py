"""Batch rivals: each against what it minimises or climbs, and the edges of its input."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import approx_fprime, minimize

from sightline.combiners import ranknet
from sightline.combiners.coordinate_ascent import CoordinateAscent
from sightline.combiners.fixed import BestSingle, Uniform
from sightline.combiners.lambdamart import LambdaMART
from sightline.combiners.ranknet import RankNet
from sightline.combiners.ranksvm import RankSVM
from sightline.errors import DataError, MissingExtra, ParameterError, UsageError
from tests.factories.ranked_lists import Made, made_lists
from tests.naive import combiners as naive


def test_ranksvm_minimises_its_objective() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(0.3, 1, (60, 4)).astype(np.float32)
    for C in (0.01, 1.0):
        found = RankSVM(C=C).fit(rows)

        def price(w: NDArray[np.float64], C: float = C) -> float:
            return float(w @ w / 2 + C * np.square(np.maximum(0, 1 - rows @ w)).sum())

        best = minimize(price, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
        assert price(found.w_) <= best.fun * (1 + 1e-3)
        assert found.converged_ and found.C_ == C


def test_ranksvm_of_one_difference_is_the_same_problem() -> None:
    x = np.array([[1.0, 2.0]], dtype=np.float32)
    found = RankSVM(C=0.5).fit(x)
    assert found.w_ == pytest.approx(RankSVM(C=0.25).fit(np.repeat(x, 2, axis=0)).w_, rel=1e-3)
    zero = RankSVM().fit(np.zeros((3, 2)))
    assert zero.w_.tolist() == [0.0, 0.0] and zero.n_zero_ == 3


def test_ranksvm_chooses_its_price_on_validation_lists() -> None:
    train, held = made_lists(), made_lists(seed=1)
    prices = (1e-7, 1e-3, 1.0)
    found = RankSVM(C=prices, n_pairs=2000).fit(*train, validation=held)
    assert set(found.scores_) == set(prices)
    assert found.scores_[found.C_] == max(found.scores_.values())
    assert found.score(*held) == pytest.approx(found.scores_[found.C_])
    with pytest.raises(UsageError, match="validation lists"):
        RankSVM(C=prices).fit(*train)


def test_ranknet_goes_down_the_slope_of_its_loss() -> None:
    random = np.random.default_rng(2)
    shapes = [(3, 4), (3,), (3,), (1,)]
    sizes = [int(np.prod(shape)) for shape in shapes]
    flat = random.normal(size=sum(sizes))
    rows, relevance = random.normal(size=(6, 4)), np.array([0.0, 1, 2, 0, 1, 0])

    def layers(at: NDArray[np.float64]) -> ranknet.Layers:
        parts = np.split(at, np.cumsum(sizes)[:-1])
        A, b, v, c = (p.reshape(s) for p, s in zip(parts, shapes, strict=True))
        return A, b, v, c

    found = np.concatenate(
        [part.reshape(-1) for part in ranknet.gradient(layers(flat), rows, relevance)]
    )
    expected = approx_fprime(flat, lambda at: ranknet.loss(layers(at), rows, relevance), 1e-7)
    assert found == pytest.approx(expected, abs=1e-4)


def test_the_loss_of_ranknet_is_that_of_its_pairs() -> None:
    net = ranknet.RankNet()._first(2, np.random.default_rng(0))
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    s = [float(net[2] @ (1 / (1 + np.exp(-(net[0] @ x + net[1])))) + net[3][0]) for x in rows]
    expected = np.log1p(np.exp(-(s[1] - s[0]))) + np.log1p(np.exp(-(s[1] - s[2])))
    assert ranknet.loss(net, rows, np.array([0.0, 1.0, 0.0])) == pytest.approx(expected)


def test_ranknet_keeps_the_best_pass() -> None:
    train, held = made_lists(), made_lists(seed=1)
    found = RankNet(n_epochs=15, rate=0.01).fit(*train, validation=held)
    assert len(found.history_) == 15
    assert found.score(*held) == pytest.approx(max(found.history_), abs=1e-6)
    with pytest.raises(DataError, match="Use a rate below"), np.errstate(all="ignore"):
        RankNet(n_epochs=3, rate=1e308).fit(*train)


def test_coordinate_ascent_reaches_what_two_weights_can() -> None:
    random = np.random.default_rng(3)
    for _ in range(5):
        X = random.normal(size=(12, 2)).astype(np.float32)
        y = (random.random(12) < 0.3).astype(float)
        y[0] = 1.0
        found = CoordinateAscent(n_restarts=8).fit(X, y, np.zeros(12))
        best = naive.best_of_two(X.astype(np.float64), y.tolist())
        assert best - 0.05 <= found.best_score_ <= best + 1e-9
        assert np.abs(found.w_).sum() == pytest.approx(1.0)


def test_coordinate_ascent_is_never_below_where_it_starts() -> None:
    train = made_lists()
    found = CoordinateAscent(n_restarts=0).fit(*train)
    assert found.best_score_ >= Uniform().fit(train[0]).score(*train)
    assert found.score(*train) == pytest.approx(found.best_score_, abs=1e-6)
    held = made_lists(seed=1)
    judged = CoordinateAscent(n_restarts=1).fit(*train, validation=held)
    assert judged.score(*held) == pytest.approx(judged.best_score_, abs=1e-6)


def test_lambdamart_learns_what_no_weights_can() -> None:
    pytest.importorskip("lightgbm")
    random = np.random.default_rng(4)

    def bent(seed: int) -> Made:
        X, _, qid = made_lists(seed=seed)
        return X, (np.abs(X[:, 0]) < 0.3).astype(np.int64), qid

    train, held = bent(0), bent(1)
    found = LambdaMART(n_trees=60, patience=20).fit(*train, validation=held)
    assert found.score(*held) > 0.9 > CoordinateAscent().fit(*train).score(*held)
    assert 1 <= found.n_trees_ <= 60
    phi = random.normal(size=(2, 3, 5)).astype(np.float32)
    again = LambdaMART.from_arrays(found.to_arrays())
    assert np.array_equal(found.decision_function(phi), again.decision_function(phi))
    same = LambdaMART(n_trees=60, patience=20).fit(*train, validation=held)
    assert np.array_equal(found.to_arrays()["trees"], same.to_arrays()["trees"])
    with pytest.raises(DataError, match=r"whole numbers\. Got 0\.5"):
        LambdaMART().fit([[1.0], [2.0]], [0.5, 0], [0, 0])
    with pytest.raises(DataError, match="at most 10,000"):
        LambdaMART().fit(np.zeros((10_001, 1)), np.zeros(10_001), np.zeros(10_001))
    with pytest.raises(DataError, match="not finite"):
        found.decision_function(np.full((1, 5), np.nan))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    train = made_lists(2)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtra, match=r"sightline\[baselines\]"):
        LambdaMART().fit(*train)
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    with pytest.raises(MissingExtra, match=r"sightline\[baselines\]"):
        RankSVM().fit(*train)


def test_the_best_component_is_the_one_that_ranks_best_alone() -> None:
    X, y, qid = made_lists()
    found = BestSingle().fit(X, y, qid)
    alone = [Uniform().fit(X[:, [k]]).score(X[:, [k]], y, qid) for k in range(5)]
    assert found.scores_ == pytest.approx(alone) and found.best_ == int(np.argmax(alone))
    assert found.score(X, y, qid) == pytest.approx(max(alone))
    tied = BestSingle().fit(np.repeat(X[:, :1], 3, axis=1), y, qid)
    assert tied.best_ == 0
    with pytest.raises(DataError, match="No list has a relevant picture"):
        BestSingle().fit(X, np.zeros(len(X)), qid)


def test_uniform_is_a_weight_of_one() -> None:
    X, y, qid = made_lists()
    found = Uniform().fit(X, y, qid)
    assert found.w_.tolist() == [1.0] * 5
    assert found.decision_function(X) == pytest.approx(X.sum(axis=1), abs=1e-5)


def test_wrong_parameters_are_named() -> None:
    train = made_lists(2)
    for model, name in (
        (RankSVM(C=0.0), "C"),
        (RankSVM(C=()), "C"),
        (RankSVM(max_iter=0), "max_iter"),
        (RankNet(rate=-1.0), "rate"),
        (RankNet(n_hidden=0), "n_hidden"),
        (CoordinateAscent(n_restarts=-1), "n_restarts"),
        (CoordinateAscent(step=np.nan), "step"),
        (LambdaMART(n_leaves=1), "n_leaves"),
        (LambdaMART(rate=0.0), "rate"),
    ):
        with pytest.raises(ParameterError, match=f"'{name}' parameter"):
            model.fit(*train)
    with pytest.raises(DataError, match="relevant picture to learn from"):
        CoordinateAscent().fit([[1.0]], [0], [0])
    with pytest.raises(DataError, match="finite"):
        RankSVM().fit([[np.inf], [1.0]])
