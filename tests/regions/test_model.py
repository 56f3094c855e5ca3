"""The region model learns tags, places and scenes that were put there."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.errors import DataError, NotFittedError, ParameterError
from sightline.regions.examples import PictureRegions, fitting
from sightline.regions.model import RegionModel, Step
from sightline.regions.risk import Risk, explain, explain_tags
from sightline.regions.scenes import pseudo_scenes
from sightline.regions.weights import RegionWeights, start_weights
from tests.naive import regions as naive

Doubles = NDArray[np.float64]
# Tags of two scenes, which share the third tag.
SCENES = ((0, 1, 2), (3, 4, 2))


def made(
    n: int = 24, seed: int = 0, noise: float = 0.15
) -> tuple[list[Doubles], NDArray[np.int64], list[NDArray[np.int64]], NDArray[np.int64]]:
    """Return regions near the corner of their tag, tags, the tag of each region, and scenes."""
    random = np.random.default_rng(seed)
    X, Y, places = [], np.zeros((n, 5), np.int64), []
    scenes = random.integers(0, 2, n)
    for i, s in enumerate(scenes):
        some = random.permutation(SCENES[s])[: random.integers(1, 4)]
        owner = random.permutation(np.concatenate([some, random.choice(some, 2)]))
        X.append(np.eye(5)[owner] + noise * random.normal(size=(len(owner), 5)))
        Y[i, some] = 1
        places.append(owner)
    return X, Y, places, scenes


def random_weights(seed: int, delta: bool = False) -> RegionWeights:
    random = np.random.default_rng(seed)
    return RegionWeights(
        random.normal(size=(5, 5)), random.normal(size=(5, 2)), random.normal(size=(2, 5, 2)),
        random.normal(size=(5, 5)) if delta else None,
    )  # fmt: skip


def test_tags_and_their_places_are_learnt_from_tags_alone() -> None:
    X, Y, places, _ = made()
    model = RegionModel(n_scenes=2, C=3.0, max_iterations=40).fit(X, Y)
    test, tags, where, _ = made(30, seed=1)
    said = model.predict(test)
    assert model.score(test, tags) > 0.9
    right = [np.mean(a == b) for a, b in zip(said.regions, where, strict=True)]
    assert np.mean(right) > 0.9
    assert len(places) == len(X)
    margins = model.decision_function(test)
    assert ((margins > 0) == said.tags).all()


def test_both_solvers_come_to_comparable_objectives_and_never_rise() -> None:
    X, Y, _, _ = made(12, noise=0.4)
    one = RegionModel(n_scenes=2, max_iterations=40, tolerance=1e-3).fit(X, Y)
    two = RegionModel(n_scenes=2, max_iterations=15, tolerance=1e-3, solver="cccp").fit(X, Y)
    assert one.minimum_.values == sorted(one.minimum_.values, reverse=True)
    assert one.minimum_.value < one.minimum_.values[0]
    assert one.minimum_.value == pytest.approx(two.minimum_.value, rel=0.25)


@pytest.mark.parametrize("delta", [False, True])
def test_the_risk_is_what_worst_tags_score_above_the_right_ones(delta: bool) -> None:
    X, Y, _, _ = made(8)
    pictures, yes = PictureRegions.of(X), Y.astype(bool)
    for seed in range(4):
        w = random_weights(seed, delta)
        risk = Risk(w, pictures, yes)
        value, slope = risk(w.as_vector())
        worst = explain(w, pictures, np.where(yes, -1.0, 1.0)).values + yes.sum(axis=1)
        right = explain_tags(w, pictures, yes).values
        assert value == pytest.approx((worst - right).sum())
        assert (worst - right >= -1e-9).all()
        wrong = (explain(w, pictures).tags != yes).sum(axis=1)
        assert (worst - right >= wrong - 1e-9).all()
        # Almost everywhere the risk is linear around a place.
        step = 1e-6 * np.random.default_rng(seed).normal(size=len(slope))
        assert risk(w.as_vector() + step)[0] - value == pytest.approx(slope @ step, abs=1e-9)


@pytest.mark.parametrize("delta", [False, True])
def test_pictures_are_explained_as_trying_every_scene_and_placing_does(delta: bool) -> None:
    X, _, _, _ = made(6)
    X = [x[:4] for x in X]
    pictures, w = PictureRegions.of(X), random_weights(5, delta)
    found = explain(w, pictures)
    for n, x in enumerate(X):
        whole = x.sum(axis=0)
        own = np.zeros(5) if w.delta is None else whole @ w.delta
        const = whole @ w.beta + w.gamma[:, :, 0].sum(axis=1)
        B = w.gamma[:, :, 1] - w.gamma[:, :, 0] + own
        assert found.values[n] == pytest.approx(naive.best_scene(x @ w.alpha, B, const))


def test_threads_share_pictures_and_change_nothing() -> None:
    X, Y, _, _ = made(11)
    pictures, w = PictureRegions.of(X), random_weights(2)
    alone = explain(w, pictures)
    for workers in (2, 3, 20):
        shared = explain(w, pictures, workers=workers)
        assert (shared.owner == alone.owner).all() and (shared.scenes == alone.scenes).all()
        assert shared.values.tobytes() == alone.values.tobytes()
    one, two = (RegionModel(n_scenes=2, max_iterations=5, workers=k).fit(X, Y) for k in (1, 2))
    assert one.weights_.as_vector().tobytes() == two.weights_.as_vector().tobytes()


@pytest.mark.parametrize("solver", ["bundle", "cccp"])
def test_every_iteration_tells_objective_gap_and_f(solver: Literal["bundle", "cccp"]) -> None:
    X, Y, _, _ = made(12)
    steps: list[Step] = []
    model = RegionModel(n_scenes=2, max_iterations=8, solver=solver).fit(X, Y, watch=steps.append)
    assert [s.iteration for s in steps] == list(range(len(steps))) and steps
    assert steps[-1].value == model.minimum_.value and steps[-1].gap == model.minimum_.gap
    assert steps[-1].f == pytest.approx(model.score(X, Y))
    assert all(0 <= s.f <= 1 for s in steps)
    # Being watched changes nothing.
    blind = RegionModel(n_scenes=2, max_iterations=8, solver=solver).fit(X, Y)
    assert blind.weights_.as_vector().tobytes() == model.weights_.as_vector().tobytes()


def test_names_of_scenes_do_not_matter_and_constants_stay_with_their_scene() -> None:
    X, _, _, _ = made(6)
    pictures, w = PictureRegions.of(X), random_weights(3)
    found = explain(w, pictures)
    turned = replace(w, beta=w.beta[:, ::-1], gamma=w.gamma[::-1].copy())
    other = explain(turned, pictures)
    assert other.values == pytest.approx(found.values)
    assert (other.scenes == 1 - found.scenes).all()
    # Both entries of a tag in a scene: whatever the tags are, the scene gains as much.
    lifted = w.gamma.copy()
    lifted[0, 2] += 100.0
    up = explain(replace(w, gamma=lifted), pictures)
    assert (up.scenes == 0).all()
    one = explain(RegionWeights(w.alpha, w.beta[:, :1], w.gamma[:1]), pictures)
    assert up.values == pytest.approx(one.values + 100.0)
    assert (up.tags == one.tags).all()


def test_one_scene_is_no_scene() -> None:
    X, Y, _, _ = made(10)
    model = RegionModel(n_scenes=1, max_iterations=5).fit(X, Y)
    assert set(model.predict(X).scenes.tolist()) == {0}


def test_scenes_that_are_known_are_learnt() -> None:
    X, Y, _, scenes = made(30)
    model = RegionModel(n_scenes=2, C=3.0, max_iterations=30).fit(X, Y, scenes=scenes)
    test, _, _, truth = made(30, seed=2)
    assert (model.start_scenes_ == scenes).all()
    assert np.mean(model.predict(test).scenes == truth) > 0.7


def test_more_tags_than_regions_drop_the_rarest_and_say_so() -> None:
    X, Y, _, _ = made(12)
    X[0], Y[0] = X[0][:1], [1, 1, 1, 0, 0]
    model = RegionModel(n_scenes=1, max_iterations=3).fit(X, Y)
    assert model.dropped_ == 2
    kept, dropped = fitting(np.ones((2, 3), bool), np.array([2, 5]))
    assert kept.sum(axis=1).tolist() == [2, 3] and dropped == 1


def test_rare_tags_are_never_predicted_and_pictures_without_tags_are_learnt_from() -> None:
    X, Y, _, _ = made(30)
    Y[:, 4] = 0
    Y[0, 4] = 1
    Y[1] = 0
    model = RegionModel(n_scenes=2, max_iterations=5, lean=50.0).fit(X, Y)
    assert model.known_.tolist() == [True] * 4 + [False]
    assert not model.predict(X).tags[:, 4].any()


def test_a_model_made_of_its_arrays_says_the_same() -> None:
    X, Y, _, _ = made(10)
    whole = np.array([x.mean(axis=0) for x in X])
    model = RegionModel(n_scenes=2, whole_tags=True, max_iterations=5, lean=0.3).fit(X, Y, whole)
    again = RegionModel.from_arrays(model.to_arrays())
    assert (again.predict(X, whole).tags == model.predict(X, whole).tags).all()
    assert again.decision_function(X, whole) == pytest.approx(model.decision_function(X, whole))
    twice = RegionModel(n_scenes=2, whole_tags=True, max_iterations=5, lean=0.3).fit(X, Y, whole)
    for name, array in model.to_arrays().items():
        assert array.tobytes() == twice.to_arrays()[name].tobytes(), name


def test_the_papers_relaxation_gives_nearly_the_same_tags() -> None:
    X, Y, _, _ = made(10)
    model = RegionModel(n_scenes=2, max_iterations=5).fit(X, Y)
    exact = model.predict(X)
    model.set_params(inference="lp")
    relaxed = model.predict(X)
    assert np.mean(relaxed.tags == exact.tags) > 0.9
    assert np.mean(relaxed.scenes == exact.scenes) > 0.8


def test_the_relaxation_leaves_rare_tags_and_small_pictures_alone() -> None:
    X, Y, _, _ = made(30)
    Y[:, 4] = 0
    Y[0, 4] = 1
    model = RegionModel(n_scenes=2, max_iterations=5, lean=50.0, inference="lp").fit(X, Y)
    said = model.predict([X[0], X[1][:1]])
    assert not said.tags[:, 4].any() and said.tags.any(axis=1).all()
    assert said.tags[1].sum() == 1


def test_one_region_takes_the_tag_that_is_worth_most() -> None:
    X, Y, _, _ = made(20)
    model = RegionModel(n_scenes=2, C=3.0, max_iterations=20).fit(X, Y)
    for tag in range(5):
        said = model.predict([np.eye(5)[[tag]]])
        assert said.tags[0].sum() <= 1 and len(said.regions[0]) == 1
    alone = RegionModel(n_scenes=1, max_iterations=5).fit([x[:1] for x in X], Y)
    assert alone.dropped_ == (Y.sum(axis=1) - 1).clip(0).sum()


def test_every_region_gets_a_tag_of_its_picture() -> None:
    X, Y, _, _ = made(10)
    model = RegionModel(n_scenes=2, max_iterations=10, lean=1.0).fit(X, Y)
    said = model.predict(X)
    for labels, owner, tags in zip(model.label_regions(X), said.regions, said.tags, strict=True):
        if tags.any():
            assert (labels >= 0).all() and tags[labels].all()
            assert (labels == owner)[owner >= 0].all()


def test_counts_start_near_what_occurs_together() -> None:
    words = np.eye(3)
    X = [words[[0, 1]], words[[0, 2]], words[[0, 1]], words[[2, 2]]] * 3
    Y = np.array([[1, 0], [0, 1], [1, 0], [0, 1]] * 3, bool)
    pictures = PictureRegions.of(X)
    scenes = pseudo_scenes(pictures, Y, 2)
    assert len(set(scenes[Y[:, 0]])) == 1
    w = start_weights(pictures, Y, scenes, 2, False)
    assert w.alpha[1, 0] > 0 > w.alpha[1, 1] and w.alpha[2, 1] > 0 > w.alpha[2, 0]
    assert w.gamma[scenes[0], 0, 1] > w.gamma[scenes[0], 0, 0]


@pytest.mark.parametrize(
    ("name", "value"),
    [("C", 0), ("n_scenes", 0), ("solver", "sgd"), ("inference", "ilp"), ("max_iterations", 0)],
)
def test_parameters_out_of_range_are_refused(name: str, value: object) -> None:
    X, Y, _, _ = made(4)
    with pytest.raises(ParameterError, match=name):
        RegionModel(**{name: value}).fit(X, Y)  # type: ignore[arg-type]


def test_data_that_cannot_be_is_refused() -> None:
    X, Y, _, _ = made(4)
    with pytest.raises(DataError, match="Picture 1 must have a row"):
        RegionModel().fit([X[0], X[1][:, :3]], Y[:2])
    with pytest.raises(DataError, match="0 or 1"):
        RegionModel().fit(X, Y * 2)
    with pytest.raises(DataError, match="finite"):
        RegionModel().fit([x * np.nan for x in X], Y)
    with pytest.raises(DataError, match="at least one picture"):
        RegionModel().fit([], Y)
    with pytest.raises(ParameterError, match="scenes"):
        RegionModel(n_scenes=2).fit(X, Y, scenes=[0, 1, 2, 0])
    with pytest.raises(NotFittedError, match="not fitted"):
        RegionModel().predict(X)
