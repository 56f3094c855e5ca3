"""What every combiner keeps: parameters, scores of any shape, saving, seeds, going on."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from sightline.combiners.coordinate_ascent import CoordinateAscent
from sightline.combiners.fixed import BestSingle, Uniform
from sightline.combiners.lambdamart import LambdaMART
from sightline.combiners.online import OnlineCombiner
from sightline.combiners.opar import OGDR, OPARI, OPARII, OPR
from sightline.combiners.ranknet import RankNet
from sightline.combiners.ranksvm import RankSVM
from sightline.combiners.second_order import AROW, SCW
from sightline.errors import DataError, ParameterError, UsageError
from sightline.similarity.pairs import Phi
from sightline.solvers.picture_triplets import of_classes, of_judgements
from tests.factories.ranked_lists import made_lists

ONLINE = [
    OPR(), OPARI(), OPARII(), OGDR(), AROW(), AROW(full=False), SCW(), SCW(full=False),
    SCW(variant="SCW-II"),
]  # fmt: skip
BATCH: list[Any] = [
    BestSingle(), Uniform(), RankSVM(), RankNet(n_epochs=10, rate=0.01),
    CoordinateAscent(n_restarts=0, n_steps=8),
]  # fmt: skip
if importlib.util.find_spec("lightgbm"):
    BATCH.append(LambdaMART(n_trees=10))
ALL = ONLINE + BATCH


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_lists_are_learnt_and_scored_in_any_shape(model: Any) -> None:
    train, held = made_lists(), made_lists(seed=1)
    found = clone(model).fit(*train)
    assert found.score(*held) > 0.45
    flat = found.decision_function(held[0])
    assert flat.dtype == np.float32 and flat.shape == (600,)
    block = found.decision_function(held[0].reshape(20, 30, 5))
    assert block.reshape(-1) == pytest.approx(flat, abs=1e-5)
    order = np.random.default_rng(0).permutation(600)
    assert found.decision_function(held[0][order]) == pytest.approx(flat[order], abs=1e-5)


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_the_same_seed_gives_the_same_bytes(model: Any) -> None:
    train = made_lists(6)
    one, two = (clone(model).fit(*train).to_arrays() for _ in range(2))
    assert one.keys() == two.keys()
    for name in one:
        assert one[name].tobytes() == two[name].tobytes()


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_what_is_kept_scores_the_same(model: Any) -> None:
    train = made_lists(6)
    found = clone(model).fit(*train)
    kept = {name: np.array(values) for name, values in found.to_arrays().items()}
    again = type(model).from_arrays(kept)
    assert np.array_equal(found.decision_function(train[0]), again.decision_function(train[0]))


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_parameters_can_be_read_and_set(model: Any) -> None:
    params = model.get_params()
    assert type(model)(**params).get_params() == params
    with pytest.raises(ParameterError, match="'size' parameter"):
        clone(model).set_params(size=1)
    with pytest.raises(UsageError, match="Call fit first"):
        clone(model).decision_function([[1.0]])
    with pytest.raises(UsageError, match="Call fit first"):
        clone(model).to_arrays()
    found = clone(model)
    assert found.fit(*made_lists(4)) is found


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_triplets_of_pictures_are_learnt(model: Any) -> None:
    random = np.random.default_rng(0)
    classes = np.arange(60) % 4
    useful = (random.normal(size=(60, 3)) + 3 * np.eye(4)[classes][:, :3]).astype(np.float32)
    useless = random.random((60, 3), dtype=np.float32)
    views = (useful, useless)
    phi = Phi.of(views, ("cosine", "exp-l2"))
    triplets = of_classes(classes, 2000)
    found = clone(model).fit(triplets, source=phi.over(views))
    scores = phi.scores(views, views, found.decision_function)
    same = classes[:, None] == classes[None, :]
    apart = ~np.eye(60, dtype=bool)
    assert scores[same & apart].mean() > scores[~same].mean()


@pytest.mark.parametrize("model", ONLINE, ids=repr)
@pytest.mark.parametrize("averaged", [True, False])
def test_parts_of_a_sequence_give_the_same_as_the_whole(
    model: OnlineCombiner, averaged: bool
) -> None:
    rows = np.random.default_rng(1).normal(0.2, 1, (300, 6)).astype(np.float32)
    whole = clone(model).set_params(averaged=averaged).fit(rows)
    part = clone(model).set_params(averaged=averaged)
    for begin in (0, 100, 150):
        part.partial_fit(rows[begin : {0: 100, 100: 150, 150: 300}[begin]])
    assert part.w_ == pytest.approx(whole.w_, rel=1e-5, abs=1e-6)
    assert part.loss_ == pytest.approx(whole.loss_, rel=1e-6)
    assert whole.n_updates_ == part.n_updates_


@pytest.mark.parametrize("model", ONLINE, ids=repr)
@pytest.mark.parametrize("averaged", [True, False])
def test_what_is_kept_goes_on_the_same(model: OnlineCombiner, averaged: bool) -> None:
    rows = np.random.default_rng(2).normal(0.2, 1, (200, 4)).astype(np.float32)
    whole = clone(model).set_params(averaged=averaged).fit(rows)
    # Rows are taken four at a time: where others are, sums differ in their last digit.
    first = clone(model).set_params(averaged=averaged).fit(rows[:84])
    again = type(model).from_arrays(first.to_arrays())
    again.set_params(**whole.get_params()).partial_fit(rows[84:])
    assert np.array_equal(whole.w_, again.w_) and again.n_seen_ == 200
    assert first.n_seen_ == 84


@pytest.mark.parametrize("model", ONLINE, ids=repr)
def test_constant_phi_teaches_nothing_and_leaves_ties(model: OnlineCombiner) -> None:
    found = clone(model).fit(np.zeros((50, 3)))
    assert found.w_.tolist() == [0.0, 0.0, 0.0] and found.n_zero_ == 50
    scores = found.decision_function(np.ones((4, 3)))
    assert scores.tolist() == [0.0] * 4
    # Ties stand in the order of positions: the relevant picture is the third.
    assert found.score(np.ones((4, 3)), [0, 0, 1, 0], [0] * 4) == pytest.approx(1 / 3)


@pytest.mark.parametrize("model", ONLINE, ids=repr)
def test_shuffled_passes_are_those_of_the_seed(model: OnlineCombiner) -> None:
    rows = np.random.default_rng(3).normal(0.1, 1, (100, 4)).astype(np.float32)
    params = {"n_epochs": 3, "shuffle": True}
    one, two = (clone(model).set_params(**params).fit(rows) for _ in range(2))
    other = clone(model).set_params(**params, random_state=1).fit(rows)
    assert np.array_equal(one.w_, two.w_) and not np.array_equal(one.w_, other.w_)
    assert one.n_seen_ == 300
    twice = clone(model).set_params(n_epochs=2).fit(rows)
    after_two = clone(model).fit(np.vstack((rows, rows))).w_
    assert twice.w_ == pytest.approx(after_two, rel=1e-5, abs=1e-6)


def test_judgements_that_come_later_are_learnt() -> None:
    random = np.random.default_rng(0)
    views = (random.random((30, 4), dtype=np.float32), random.random((30, 3), dtype=np.float32))
    source = Phi.of(views).over(views)
    learner = OPARI(C=1.0)
    for begin in (0, 10, 20):
        pictures = np.arange(begin + 1, begin + 9)
        judged = of_judgements(np.full(8, 29), pictures, pictures % 2)
        learner.partial_fit(judged, source=source)
    assert learner.n_seen_ == 3 * 16 and learner.n_updates_ > 0
    empty = of_judgements([29], [1], [1])
    before = learner.w_.copy()
    learner.partial_fit(empty, source=source)
    assert np.array_equal(before, learner.w_)


def test_what_does_not_fit_is_named() -> None:
    found = OPR().fit([[1.0, 2.0]])
    with pytest.raises(DataError, match="is expecting 2 features"):
        found.decision_function([[1.0]])
    with pytest.raises(DataError, match="not finite"):
        found.decision_function([[np.nan, 1.0]])
    with pytest.raises(DataError, match="2 components, as before"):
        found.partial_fit([[1.0, 2.0, 3.0]])
    with pytest.raises(UsageError, match="'averaged' changed"):
        found.set_params(averaged=True).partial_fit([[1.0, 2.0]])
    with pytest.raises(ParameterError, match="'C' parameter of OPARII"):
        OPARII(C=0.0).fit([[1.0]])
    with pytest.raises(ParameterError, match="'eta' parameter of OGDR"):
        OGDR(eta=np.inf).fit([[1.0]])
