"""The region model on what ridge says: tags, places and scenes that were put there."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.errors import NotFittedError, ParameterError
from sightline.regions.examples import PictureRegions
from sightline.regions.inference import choose_tags
from sightline.regions.model import RegionModel
from sightline.regions.ridge import averaged, fit_region_ridge, fitting_regions, labelled, ridge
from sightline.regions.risk import Risk, explain
from sightline.regions.scored import ScoredRegionModel
from tests.regions.test_model import made, random_weights


def test_tags_places_and_scenes_are_learnt() -> None:
    X, Y, _, scenes = made(60)
    model = ScoredRegionModel(n_scenes=2, max_iterations=20).fit(X, Y)
    test, tags, where, true = made(40, seed=1)
    said = model.predict(test)
    assert model.score(test, tags) > 0.9
    painted = model.label_regions(test)
    right = [np.mean(a == b) for a, b in zip(painted, where, strict=True)]
    assert np.mean(right) > 0.85
    # Names of scenes are free; pictures of the shared tag alone tell nothing.
    agree = np.mean(said.scenes == true)
    assert max(agree, 1 - agree) > 0.75 and len(scenes) == 60


def test_leaning_gives_more_tags_and_margins_agree_with_them() -> None:
    X, Y, _, _ = made(30)
    model = ScoredRegionModel(n_scenes=2, max_iterations=10).fit(X, Y)
    plain = model.predict(X).tags.sum()
    assert ((model.decision_function(X) > 0) == model.predict(X).tags).all()
    model.lean = 3.0
    assert model.predict(X).tags.sum() > plain


def test_scenes_start_where_ridge_would_put_pictures() -> None:
    X, Y, _, _ = made(40)
    model = ScoredRegionModel(n_scenes=2, C=1e-9, max_iterations=1).fit(X, Y)
    scenes = model.model_.start_scenes_
    assert len(set(scenes.tolist())) == 2
    assert np.mean(model.predict(X).scenes == scenes) > 0.8


def test_where_rows_of_pictures_lie_does_not_matter() -> None:
    X, Y, _, _ = made(40)
    whole = np.array([x.mean(axis=0) for x in X])
    said = [
        ScoredRegionModel(n_scenes=2, C=1e-9, max_iterations=1).fit(X, Y, rows).predict(X, rows)
        for rows in (whole, whole + 100.0)
    ]
    assert (said[0].scenes == said[1].scenes).all() and (said[0].tags == said[1].tags).all()


def test_a_share_of_nothing_leaves_the_best_region_without_a_say() -> None:
    X, Y, _, _ = made(30)
    for share in (0.0, 1.0):
        model = ScoredRegionModel(n_scenes=2, C=1e-9, max_iterations=1, region_share=share).fit(
            X, Y
        )
        delta = model.model_.weights_.delta
        assert delta is not None
        assert np.abs(delta[:5]).max() == pytest.approx(8 * (1 - share), abs=1e-4)
        assert np.abs(delta[5:10]).max() == pytest.approx(8 * share, abs=1e-4)


def test_problems_are_what_inference_solves() -> None:
    X, Y, _, _ = made(12)
    model = ScoredRegionModel(n_scenes=1, max_iterations=5).fit(X, Y)
    problems = model.problems(X)
    assert len(problems) == 12
    found = np.array([choose_tags(a, b).tags(5) for a, b in problems])
    assert (found == model.predict(X).tags).all()


def test_a_start_that_may_not_be_left_stays() -> None:
    X, Y, _, _ = made(12)
    start = random_weights(0)
    model = RegionModel(n_scenes=2, C=1e-9).fit(X, Y, start=start)
    assert np.allclose(model.weights_.as_vector(), start.as_vector(), atol=1e-5)


def test_a_wrong_scene_counts() -> None:
    X, Y, _, scenes = made(8)
    pictures, w = PictureRegions.of(X), random_weights(1)
    plain = Risk(w, pictures, Y.astype(bool), scenes)
    strict = Risk(w, pictures, Y.astype(bool), scenes, 2.0)
    without, counted = (risk(w.as_vector())[0] for risk in (plain, strict))
    wrong = np.count_nonzero(explain(w, pictures).scenes != scenes)
    assert without < counted <= without + 2.0 * len(X) and wrong > 0


def test_regions_are_labelled_with_tags_of_their_picture_alone() -> None:
    X, Y, _, _ = made(20)
    pictures, yes = PictureRegions.of(X), Y.astype(bool)
    owner = labelled(np.random.default_rng(0).normal(size=(len(pictures.rows), 5)), pictures, yes)
    assert yes[pictures.picture, owner].all()
    for n, part in enumerate(pictures.split(owner)):
        assert set(part.tolist()) == set(np.flatnonzero(yes[n]).tolist())


def test_ridge_is_that_of_normal_equations_and_weights_repeat_rows() -> None:
    random = np.random.default_rng(0)
    rows, targets = random.normal(size=(9, 3)), random.normal(size=(9, 2))
    found = ridge(rows, targets, 1e-9)
    full = np.linalg.lstsq(np.hstack([rows, np.ones((9, 1))]), targets, rcond=None)[0]
    assert np.allclose(found(rows), np.hstack([rows, np.ones((9, 1))]) @ full, atol=1e-6)
    twice = np.array([2.0] + [1.0] * 8)
    repeated = ridge(np.vstack([rows, rows[:1]]), np.vstack([targets, targets[:1]]), 1e-9)
    assert np.allclose(ridge(rows, targets, 1e-9, twice)(rows), repeated(rows), atol=1e-6)


def test_means_of_regions_count_by_their_weight() -> None:
    pictures = PictureRegions.of([[[0.0], [4.0]], [[1.0]]])
    assert averaged(pictures, np.array([3.0, 1.0, 1.0])).tolist() == [[1.0], [1.0]]


def test_pictures_without_tags_of_one_region_or_with_too_many_tags_are_learnt_from() -> None:
    X, Y, _, _ = made(20)
    Y[0] = 0
    X[1], Y[1] = X[1][:1], [1, 1, 1, 0, 0]
    model = ScoredRegionModel(n_scenes=2, max_iterations=5).fit(X, Y)
    assert model.predict([X[1]]).tags.sum() <= 1
    learnt = fit_region_ridge(PictureRegions.of(X[:1]), Y[:1].astype(bool), np.ones(len(X[0])))
    assert np.isfinite(learnt.regions(X[0])).all()


def test_what_cannot_be_is_refused() -> None:
    X, Y, _, _ = made(6)
    with pytest.raises(ParameterError, match="region_alpha"):
        ScoredRegionModel(region_alpha=0.0).fit(X, Y)
    with pytest.raises(ParameterError, match="region_share"):
        ScoredRegionModel(region_share=1.5).fit(X, Y)
    with pytest.raises(ParameterError, match="workers"):
        ScoredRegionModel(workers=0).fit(X, Y)
    with pytest.raises(ParameterError, match="folds"):
        ScoredRegionModel(folds=1).fit(X, Y)
    with pytest.raises(ParameterError, match="areas"):
        ScoredRegionModel().fit(X, Y, areas=[[1.0]])
    with pytest.raises(NotFittedError, match="not fitted"):
        ScoredRegionModel().predict(X)
    with pytest.raises(ParameterError, match="scene_loss"):
        RegionModel(scene_loss=-1.0).fit(X, Y)


def test_a_model_that_was_kept_says_the_same() -> None:
    X, Y, _, _ = made(30)
    model = ScoredRegionModel(n_scenes=2, max_iterations=5).fit(X, Y)
    again = ScoredRegionModel.from_arrays(model.to_arrays())
    assert (again.decision_function(X) == model.decision_function(X)).all()
    assert (again.scene_fits(X) == model.scene_fits(X)).all()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ScoredRegionModel().to_arrays()


def test_given_tags_are_placed_each_somewhere_and_where_they_are() -> None:
    X, Y, _, _ = made(60)
    model = ScoredRegionModel(n_scenes=2, max_iterations=10).fit(X, Y)
    test, tags, where, _ = made(40, seed=1)
    placed = model.place(test, tags)
    right = []
    for own, true, has in zip(placed.regions, where, placed.tags, strict=True):
        assert set(own[own >= 0]) == set(np.flatnonzero(has))
        right.append(np.mean(own[own >= 0] == true[own >= 0]))
    assert np.mean(right) > 0.85
    none = model.place(test, np.zeros_like(tags))
    assert all((own == -1).all() for own in none.regions)


def test_a_picture_without_tags_takes_no_region_from_the_one_before() -> None:
    pictures = PictureRegions.of([np.zeros((2, 1)), np.zeros((2, 1))])
    scores = np.array([[0.0, 0.05], [0.0, 0.02], [0.0, 0.9], [0.0, 0.9]])
    Y = np.array([[False, True], [False, False]])
    assert fitting_regions(scores, pictures, Y).tolist() == [1, -1, -1, -1]
