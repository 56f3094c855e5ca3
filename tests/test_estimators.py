"""What every public estimator promises: parameters, errors, saved files."""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sightline import annotators, combiners, errors, feedback, rankers, regions
from sightline.annotators import KernelRidge
from sightline.contracts import Estimator, PersistentEstimator
from sightline.errors import DataError, ParameterError, SightlineError
from sightline.feedback import Blend, PassiveAggressive, Rocchio
from sightline.rankers import PAMIR, WARP
from tests.estimators import CASES, GROUP, Case, X, Y
from tests.factories.fresh_python import output_of

by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def public_estimators() -> list[type[Estimator]]:
    found = []
    for package in (annotators, combiners, feedback, rankers, regions):
        for name in package.__all__:
            value = getattr(package, name)
            if isinstance(value, type) and issubclass(value, Estimator):
                found.append(value)
    return [c for c in found if not inspect.isabstract(c) and "__init__" in dir(c)]


def test_every_public_estimator_with_arrays_is_among_the_cases() -> None:
    # Two classes are bases without parameters of their own.
    bases = {rankers.LowRank, rankers.WordWeights, combiners.LinearCombiner}
    with_arrays = {c for c in public_estimators() if issubclass(c, PersistentEstimator)} - bases
    assert {type(case.estimator) for case in CASES} == with_arrays


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda c: c.__name__)
def test_parameters_are_keyword_only_with_defaults(estimator: type[Estimator]) -> None:
    parameters = list(inspect.signature(estimator).parameters.values())
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in parameters) or (
        estimator.__init__ is object.__init__
    )


@by_name
def test_clones_have_the_same_parameters_and_are_not_fitted(case: Case) -> None:
    copy = clone(case.fitted())
    assert copy.get_params() == case.estimator.get_params()
    assert repr(copy) == repr(case.estimator)
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)


@by_name
def test_an_estimator_that_is_not_fitted_says_so(case: Case) -> None:
    for use in (case.answer, lambda e: e.to_arrays(), lambda e: e.save(os.devnull)):
        with pytest.raises(NotFittedError, match=f"This {case.name} is not fitted yet. Call fit"):
            use(case.estimator)
    with pytest.raises(errors.NotFittedError):
        case.answer(case.estimator)


@by_name
def test_fitting_returns_the_estimator_and_the_number_of_columns(case: Case) -> None:
    made: Any = type(case.estimator)(**case.estimator.get_params())
    assert not hasattr(made, "n_features_in_")
    assert made.fit(*case.data) is made
    assert made.n_features_in_ == case.n_features
    check_is_fitted(made)


@by_name
def test_a_saved_estimator_is_loaded_as_it_was(case: Case, tmp_path: Path) -> None:
    fitted, path = case.fitted(), tmp_path / "model.safetensors"
    fitted.save(path)
    loaded: Any = type(case.estimator).load(path)
    assert type(loaded) is type(fitted)
    assert loaded.get_params() == fitted.get_params()
    assert loaded.n_features_in_ == case.n_features
    assert np.asarray(case.answer(loaded)).tobytes() == np.asarray(case.answer(fitted)).tobytes()
    before, after = fitted.to_arrays(), loaded.to_arrays()
    assert {k: (v.dtype, v.shape, v.tobytes()) for k, v in before.items()} == {
        k: (v.dtype, v.shape, v.tobytes()) for k, v in after.items()
    }
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@by_name
def test_a_file_of_another_class_is_refused_by_name(case: Case, tmp_path: Path) -> None:
    case.fitted().save(tmp_path / "model")
    other = WARP if case.name == "PAMIR" else PAMIR
    with pytest.raises(DataError, match=f"a fitted {case.name}, not a {other.__name__}. Read it"):
        other.load(tmp_path / "model")


def test_labels_and_words_are_saved_too(tmp_path: Path) -> None:
    labels = np.array(["sea", "oak", "red"])[GROUP]
    named = PAMIR(n_iter=500).fit(X, labels)
    named.save(tmp_path / "labels")
    assert PAMIR.load(tmp_path / "labels").classes_.tolist() == ["oak", "red", "sea"]
    asked = PAMIR(n_iter=500).fit(X, GROUP == 0, qid=["red sea"] * len(X))
    asked.save(tmp_path / "words")
    assert PAMIR.load(tmp_path / "words").words_ == ("red", "sea")


@pytest.mark.parametrize("kind", [PAMIR, KernelRidge], ids=lambda c: c.__name__)
def test_one_label_for_each_picture_is_a_table_of_one_word_each(kind: type[Any]) -> None:
    by_label, by_table = kind().fit(X, GROUP + 7), kind().fit(X, Y)
    assert by_label.classes_.tolist() == [7, 8, 9] and by_table.classes_.tolist() == [0, 1, 2]
    scores = by_table.decision_function(X)
    assert by_label.decision_function(X).tobytes() == scores.tobytes()
    assert by_label.score(X, GROUP + 7) == by_table.score(X, Y)
    # A label that was not learnt fits no word.
    assert by_label.score(X, np.where(GROUP == 2, 99, GROUP + 7)) >= 0


def test_going_on_with_a_label_that_was_not_learnt_is_an_error() -> None:
    ranker = PAMIR(n_iter=500).partial_fit(X, GROUP)
    ranker.partial_fit(X, GROUP)
    with pytest.raises(DataError, match=r"99.* is none of the labels of the first fit"):
        ranker.partial_fit(X, np.where(GROUP == 2, 99, GROUP))


def test_what_is_no_model_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"no model")
    with pytest.raises(DataError, match="is not a model file"):
        PAMIR.load(path)
    save_file({"W": np.zeros((1, 1), np.float32)}, path)
    with pytest.raises(DataError, match="names no estimator"):
        PAMIR.load(path)
    with pytest.raises(FileNotFoundError):
        PAMIR.load(tmp_path / "none")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "newer Sightline"),
        ({"format": "other"}, "names no estimator"),
        ({"parameters": {"Z": 1}}, "does not hold all of a fitted PAMIR"),
    ],
)
def test_a_changed_header_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    header = {
        "format": "sightline-estimator", "version": 1, "class": "PAMIR",
        "parameters": {}, "attributes": {}, **change,
    }  # fmt: skip
    path = tmp_path / "model"
    arrays = {"W": np.zeros((1, 1), np.float32)}
    save_file(arrays, path, {"sightline": json.dumps(header)})
    with pytest.raises(DataError, match=message):
        PAMIR.load(path)


def test_missing_arrays_are_refused(tmp_path: Path) -> None:
    PAMIR(n_iter=500).fit(X, Y).save(tmp_path / "model")
    held = (tmp_path / "model").read_bytes()
    (tmp_path / "model").write_bytes(held.replace(b'"W"', b'"V"'))
    with pytest.raises(DataError, match="does not hold all of a fitted PAMIR"):
        PAMIR.load(tmp_path / "model")


def test_a_failed_save_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "model"
    PAMIR(n_iter=500).fit(X, Y).save(path)
    before = path.read_bytes()
    ranker = PAMIR(n_iter=500, random_state=np.random.default_rng(0)).fit(X, Y)
    with pytest.raises(ParameterError, match="'random_state' parameter of PAMIR must be a number"):
        ranker.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("learner", [PassiveAggressive(), Rocchio(), Blend()], ids=repr)
def test_a_feedback_learner_is_fitted_once_it_can_rank(learner: Any) -> None:
    made = type(learner)()
    with pytest.raises(NotFittedError, match="Start it with a query"):
        made.decision_function(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(made)
    made.start(X[0]).partial_fit(X[:6], [1, -1, 1, -1, 1, -1])
    check_is_fitted(made)
    assert made.decision_function(X).shape == (len(X),)


def test_an_error_needs_no_scikit_learn() -> None:
    code = (
        "import sys\n"
        "from sightline.errors import NotFittedError\n"
        "from sightline.rankers import PAMIR\n"
        "try: PAMIR().to_arrays()\n"
        "except NotFittedError as error: print(error)\n"
        "print('sklearn' in sys.modules)"
    )
    assert output_of(code).splitlines() == [
        "This PAMIR is not fitted yet. Call fit first.",
        "False",
    ]
    assert issubclass(errors.NotFittedError, SightlineError)
