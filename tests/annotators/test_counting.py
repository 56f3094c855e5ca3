"""What all annotators of counts promise: CMRM, CMTT and PLSA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sightline.annotators.cmrm import CMRM
from sightline.annotators.cmtt import CMTT
from sightline.annotators.plsa import PLSA
from sightline.contracts import WordScorer
from sightline.errors import DataError, ParameterError, UsageError
from tests.factories.fresh_python import imported_by
from tests.naive.media import problem

Model = CMRM | CMTT | PLSA

# Collections here are small, and the settings those of larger ones.
pytestmark = pytest.mark.filterwarnings("ignore:There are .* training pictures with words")


def each(*models: Model) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("model", models, ids=repr)


def same(model: Model) -> Any:
    """Return a model with the same parameters that has learnt nothing."""
    return clone(model)


each_usual = each(CMRM(), CMTT(rank=5), PLSA(n_aspects=4))
each_kind = pytest.mark.parametrize("kind", [CMRM, CMTT, PLSA])


@each_usual
def test_training_pictures_without_words_are_left_out(model: Model) -> None:
    X, Y = problem()
    Y[5:15] = 0
    kept = Y.any(axis=1)
    expected = same(model).fit(X[kept], Y[kept]).decision_function(X)
    assert same(model).fit(X, Y).decision_function(X).tobytes() == expected.tobytes()


@each(CMRM(), CMTT(rank=5), PLSA(n_aspects=4, random_state=1))
def test_sparse_and_dense_counts_are_the_same(model: Model) -> None:
    X, Y = problem()
    expected = same(model).fit(X, Y).decision_function(X)
    sparse = same(model).fit(csr_matrix(X), csr_matrix(Y))
    assert sparse.decision_function(csr_matrix(X)).tobytes() == expected.tobytes()


@each(CMRM(), CMTT(rank=5), PLSA(n_aspects=4, n_iter=10))
def test_permuting_pictures_and_visual_terms_changes_nothing(model: Model) -> None:
    X, Y = problem()
    rng = np.random.default_rng(3)
    pictures, visterms = rng.permutation(len(X)), rng.permutation(X.shape[1])
    expected = same(model).fit(X, Y).decision_function(X)
    shuffled = same(model).fit(X[pictures][:, visterms], Y[pictures])
    near = 1e-6 if isinstance(model, CMRM) else 1e-5
    assert shuffled.decision_function(X[:, visterms]) == pytest.approx(expected, abs=near)


@each(CMRM(), CMRM(joint_counts=True), CMTT(rank=5), PLSA(n_aspects=4))
def test_some_words_alone_have_the_same_scores(model: Model) -> None:
    X, Y = problem()
    fitted = same(model).fit(X, Y)
    some = fitted.decision_function(X, words=np.array([3, 0]))
    assert some == pytest.approx(fitted.decision_function(X)[:, [3, 0]], abs=1e-7)
    assert fitted.decision_function(X, words=np.array([], dtype=np.int64)).shape == (40, 0)


@each(
    CMRM(alpha=0.2, beta=0.3),
    CMRM(alpha=0.2, beta=0.3, joint_counts=True),
    CMTT(rank=5),
    PLSA(n_aspects=4, n_iter=7, tol=1e-3),
)
@pytest.mark.parametrize("counts", [np.asarray, lambda X: csr_matrix(X / 3)])
def test_arrays_make_the_same_model(model: Model, counts: Any) -> None:
    X, Y = problem()
    fitted = same(model).fit(counts(X), Y)
    arrays = fitted.to_arrays()
    assert all(a.dtype.kind in "fiu" for a in arrays.values())
    again = type(model).from_arrays(arrays)
    assert again.decision_function(X).tobytes() == fitted.decision_function(X).tobytes()
    assert not hasattr(again, "leave_one_out_")
    if not isinstance(model, CMTT):
        assert repr(again) == repr(fitted)


@each(CMRM(), CMTT(rank=6), PLSA(n_aspects=8))
def test_it_learns_what_can_be_learnt(model: Model) -> None:
    X, Y = problem(300)
    assert isinstance(model, WordScorer)
    fitted = same(model).fit(X[:200], Y[:200])
    assert fitted.score(X[200:], Y[200:]) > 0.8
    assert fitted.score(X[200:], np.random.default_rng(0).permutation(Y[200:])) < 0.5


@each(CMRM(), PLSA(n_aspects=5))
def test_all_words_on_one_picture_words_on_none_and_one_word(model: Model) -> None:
    X = problem(4)[0]
    Y = np.zeros((4, 3))
    Y[2, :2] = 1
    scores = same(model).fit(X, Y).decision_function(X)
    assert scores == pytest.approx(np.tile([0.5, 0.5, 0.0], (4, 1)))
    every = same(model).fit(X, np.ones((4, 1))).decision_function(X)
    assert every == pytest.approx(np.ones((4, 1)), abs=0 if isinstance(model, CMRM) else 1e-6)


@pytest.mark.parametrize(
    ("kind", "name", "worse", "better"),
    [(CMRM, "beta", 1.0, 0.2), (CMTT, "rank", 1, 6), (PLSA, "n_aspects", 1, 6)],
)
def test_scikit_learn_can_search_its_parameters(
    kind: type[Model], name: str, worse: Any, better: Any
) -> None:
    X, Y = problem(60)
    search = GridSearchCV(kind(), {name: [worse, better]}, cv=3).fit(X, Y)
    assert search.best_params_ == {name: better}


@pytest.mark.parametrize(
    ("model", "shown"),
    [(CMRM(beta=0.3), "CMRM(beta=0.3)"), (CMTT(rank=3), "CMTT(rank=3)"),
     (PLSA(n_iter=3), "PLSA(n_iter=3)")],
)  # fmt: skip
def test_scikit_learn_can_clone_it(model: Model, shown: str) -> None:
    assert repr(clone(model)) == shown


@pytest.mark.parametrize(
    ("kind", "usual"),
    [(CMRM, {"alpha": 0.5, "beta": 0.1, "joint_counts": False}), (CMTT, {"rank": 50}),
     (PLSA, {"n_aspects": 400})],
)  # fmt: skip
def test_every_setting_of_the_grid_can_be_fitted(kind: Any, usual: dict[str, Any]) -> None:
    X, Y = problem(10)
    assert usual in kind.GRID
    for chosen in kind.GRID:
        kind(**chosen).fit(X, Y)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [(CMRM, "alpha", -0.1), (CMRM, "alpha", 1.1), (CMRM, "alpha", float("nan")),
     (CMRM, "alpha", True), (CMRM, "alpha", "much"), (CMRM, "beta", 0), (CMRM, "beta", 2),
     (CMRM, "beta", float("nan")), (CMRM, "beta", None), (CMRM, "joint_counts", 1),
     (CMTT, "rank", 0), (CMTT, "rank", 2.5), (CMTT, "rank", True), (CMTT, "clip", 1),
     (CMTT, "weighting", "idf"), (CMTT, "random_state", -1), (CMTT, "random_state", None),
     (PLSA, "n_aspects", 0), (PLSA, "n_aspects", 2.0), (PLSA, "n_iter", 0), (PLSA, "n_iter", True),
     (PLSA, "tol", -1e-9), (PLSA, "tol", float("nan")), (PLSA, "validation_fraction", 1),
     (PLSA, "validation_fraction", -0.1), (PLSA, "random_state", -1),
     (PLSA, "random_state", None)],
)  # fmt: skip
def test_impossible_parameters_are_refused(kind: Any, name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of {kind.__name__} must be"):
        kind(**{name: value}).fit(*problem(5))


@each_kind
def test_impossible_data_is_refused(kind: Any) -> None:
    X, Y = problem(5)
    with pytest.raises(UsageError, match="is not fitted yet"):
        kind().decision_function(X)
    with pytest.raises(UsageError, match="is not fitted yet"):
        kind().to_arrays()
    with pytest.raises(DataError, match=r"Negative values .* Got -1"):
        kind().fit(-np.minimum(X, 1), Y)
    with pytest.raises(DataError, match="finite"):
        kind().fit(X * np.nan, Y)
    with pytest.raises(DataError, match="finite"):
        kind().fit(csr_matrix(X) * np.inf, Y)
    with pytest.raises(DataError, match="No picture has a word"):
        kind().fit(X, Y * 0)
    with pytest.raises(DataError, match="each of the 5 pictures"):
        kind().fit(X, Y[:4])
    with pytest.raises(DataError, match=rf"X has 3 features, but {kind.__name__} is expecting 12"):
        kind().fit(X, Y).decision_function(X[:, :3])
    for wrong in ([5], [-1], [0.5], ["tree"]):
        with pytest.raises(DataError, match="positions from 0 to 4"):
            kind().fit(X, Y).decision_function(X, words=wrong)


def test_importing_them_imports_neither_scipy_nor_numba() -> None:
    kinds = (f"sightline.annotators.{name}" for name in ("cmrm", "cmtt", "plsa"))
    assert not {"scipy", "numba"} & imported_by(*kinds)
