"""PAMIR as people call it: judgements, scikit-learn's searches and pipelines, and mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from sightline.contracts import WordScorer
from sightline.errors import DataError, ParameterError, UsageError
from sightline.measures import average_precision
from sightline.rankers import training
from sightline.rankers.pamir import PAMIR
from sightline.rankers.warp import WARP
from sightline.solvers.triplets import TripletSampler
from tests.factories.fresh_python import imported_by
from tests.factories.triplets import collection

Matrix = NDArray[np.float64]


def judged(names: bool) -> tuple[Matrix, NDArray[np.int64], NDArray[Any]]:
    """Rows that are judged for one of four queries, which their features tell apart."""
    rng = np.random.default_rng(2)
    X, qid, y = rng.random((120, 8)), np.arange(120) % 4, (np.arange(120) // 4) % 2
    X[np.arange(120), 2 * qid + y] += 2
    queries = np.array(["red", "red sea", "sea", "sky"]) if names else np.arange(4)
    return X, y, queries[qid]


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_judged_rows_are_ranked_within_their_query(names: bool, kind: Any) -> None:
    X, y, qid = judged(names)
    ranker = PAMIR(C=1.0).fit(kind(X), y, qid)
    assert ranker.words_ == (("red", "sea", "sky") if names else None)
    assert ranker.score(kind(X), y, qid) > 0.95
    wanted = []
    for query in np.unique(qid):
        rows = qid == query
        weights = ranker.query(query.split() if names else [query])
        wanted.append(average_precision((X[rows] @ weights).astype(np.float32), y[rows]))
    assert ranker.score(kind(X), y, qid) == pytest.approx(np.mean(wanted), abs=1e-3)


def test_judged_rows_can_say_when_to_stop_and_go_on() -> None:
    X, y, qid = judged(names=True)
    ranker = PAMIR(C=1.0, eval_every=1000, n_iter=5000)
    ranker.fit(X[:60], y[:60], qid[:60], validation=(X[60:], y[60:], qid[60:]))
    assert ranker.best_score_ == ranker.score(X[60:], y[60:], qid[60:])
    seen = ranker.n_iter_
    ranker.partial_fit(X, y, qid, n_iter=500)
    assert ranker.n_iter_ == ranker.best_iter_ <= seen + 500
    with pytest.raises(DataError, match="'moon' is none of the words of the first fit"):
        ranker.partial_fit(X, y, np.where(qid == "sky", "moon", qid))


def test_a_query_of_unknown_words_counts_as_chance() -> None:
    X, y, qid = judged(names=True)
    ranker = PAMIR(C=1.0).fit(X, y, qid)
    known = ranker.score(X, y, qid)
    other = np.where(qid == "sky", "moon", qid)
    best_first = np.argsort(-y, kind="stable")
    found = ranker.score(X[best_first], y[best_first], other[best_first])
    chance = average_precision(np.zeros(30), y[qid == "sky"], ties="mean")
    rest = known * 4 - ranker.score(X[qid == "sky"], y[qid == "sky"], qid[qid == "sky"])
    assert found == pytest.approx((rest + chance) / 4)
    with pytest.raises(DataError, match="was fitted to none of these words"):
        ranker.score(X, y, np.full(len(X), "moon"))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("table", [np.asarray, sp.csr_matrix])
def test_grid_search_and_pipeline_with_a_table(kind: Any, table: Any) -> None:
    X, y = collection(n=80)
    search = GridSearchCV(PAMIR(n_iter=1000), {"C": [1e-6, 0.1], "max_len": [1, 2]}, cv=2)
    search.fit(kind(X), table(y))
    assert search.best_params_["C"] in (1e-6, 0.1)
    assert 0 < search.score(kind(X), table(y)) <= 1
    pipeline = make_pipeline(Normalizer(), PAMIR(n_iter=1000))
    fitted = pipeline.fit(kind(X), table(y))
    assert fitted.decision_function(kind(X)).shape == y.shape
    direct = PAMIR(n_iter=1000).fit(Normalizer().fit_transform(kind(X)), y)
    assert fitted.score(kind(X), table(y)) == direct.score(Normalizer().transform(kind(X)), y)
    tuned = GridSearchCV(pipeline, {"pamir__C": [0.01, 0.1]}, cv=2).fit(kind(X), table(y))
    assert set(tuned.best_params_) == {"pamir__C"}


@pytest.mark.parametrize("names", [False, True])
def test_grid_search_and_pipeline_with_judgements(names: bool) -> None:
    X, y, qid = judged(names)
    folds = list(StratifiedKFold(3).split(X, [f"{q} {r}" for q, r in zip(qid, y, strict=True)]))
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(PAMIR(n_iter=2000), {"C": [1e-7, 1.0]}, cv=folds)
        search.fit(X, y, qid=qid)
        train, held = folds[1]
        alone = PAMIR(C=1.0, n_iter=2000).fit(X[train], y[train], qid[train])
        wanted = alone.score(X[held], y[held], qid[held])
        assert search.cv_results_["split1_test_score"][1] == wanted
        assert search.score(X, y, qid=qid) == search.best_estimator_.score(X, y, qid) > 0.9
        pipeline = make_pipeline(Normalizer(), PAMIR(C=1.0, n_iter=2000))
        scores = cross_val_score(pipeline, X, y, cv=folds, params={"qid": qid})
        assert scores.shape == (3,) and scores.min() > 0.9
        pipeline.fit(X, y, qid=qid)
        assert pipeline.score(X, y, qid=qid) > 0.9


def test_it_is_an_estimator() -> None:
    ranker = PAMIR(C=2.0, averaged=True)
    assert repr(ranker) == "PAMIR(C=2.0, averaged=True)"
    assert clone(ranker).get_params() == ranker.get_params()
    assert isinstance(ranker, WordScorer)
    X, y = collection()
    assert ranker.fit(X, y, n_iter=100) is ranker


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": -1}, "The 'C' parameter of PAMIR must be greater than 0. Got -1."),
        ({"C": float("nan")}, "The 'C' parameter of PAMIR must be greater than 0. Got nan."),
        ({"C": "much"}, "The 'C' parameter of PAMIR must be greater than 0. Got 'much'."),
        ({"variant": "PA-0"}, "must be 'PA', 'PA-I' or 'PA-II'. Got 'PA-0'."),
        ({"sampling": "pair"}, "must be 'query' or 'triplet'. Got 'pair'."),
        ({"n_iter": 0}, "'n_iter' parameter of PAMIR must be a whole number of at least 1. Got 0"),
        ({"n_iter": 1e6}, "a whole number of at least 1. Got 1000000.0"),
        ({"eval_every": -5}, "'eval_every' parameter"),
        ({"patience": 0}, "'patience' parameter"),
        ({"pairs_per_query": 0}, "'pairs_per_query' parameter"),
        ({"max_len": 0}, "'max_len' parameter"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    X, y = collection()
    ranker = PAMIR(**parameters)
    with pytest.raises(ParameterError) as error:
        ranker.fit(X, y)
    assert message in str(error.value)
    with pytest.raises(ParameterError):
        ranker.partial_fit(X, y)


def test_wrong_data() -> None:
    X, y = collection()
    holes = X.copy()
    holes[3, 3] = np.nan
    with pytest.raises(DataError, match=r"finite numbers. PAMIR got 1"):
        PAMIR().fit(holes, y)
    with pytest.raises(DataError, match=r"Got 60 and 59"):
        PAMIR().fit(X, y[:-1])
    with pytest.raises(DataError, match="No picture has a word"):
        PAMIR().fit(X, np.zeros_like(y))
    with pytest.raises(DataError, match=r"1 sample\(s\) .* minimum of 2 is required"):
        PAMIR().fit(X[:1], y[:1])
    with pytest.raises(DataError, match="nothing to learn"):
        PAMIR().fit(X, np.ones_like(y))
    with pytest.raises(DataError, match=r"Unknown label type.* Got numbers such as 0\.5"):
        PAMIR().fit(X, 0.5 * y[:, 0])
    with pytest.raises(DataError, match="PAMIR requires y to be passed, but the target y is None"):
        PAMIR().fit(X)
    with pytest.raises(ParameterError, match=r"'n_iter' parameter .* Got 0"):
        PAMIR().fit(X, y, n_iter=0)
    with pytest.raises(ParameterError, match=r"'validation' parameter .* Got 'ndarray'"):
        PAMIR().fit(X, y, validation=X)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="No picture has a word"):
        PAMIR().fit(X, y, validation=(X, np.zeros_like(y)))
    with pytest.raises(DataError, match="No validation query has a relevant picture"):
        PAMIR().fit(X, np.arange(60) % 2, np.zeros(60, int),
                    validation=(X, np.zeros(60), np.zeros(60, int)))  # fmt: skip
    with pytest.raises(DataError, match="but PAMIR is expecting 25 features"):
        PAMIR().fit(X, y, validation=(X[:, :9], y))


def test_wrong_use_once_fitted() -> None:
    X, y = collection()
    for call in ("decision_function", "score", "query"):
        with pytest.raises(UsageError, match="Call fit first"):
            getattr(PAMIR(), call)(*([X, y] if call == "score" else [X]))
    ranker = PAMIR().fit(X, y, n_iter=500)
    before = ranker.W_.tobytes()
    with pytest.raises(DataError, match="is expecting 25 features"):
        ranker.decision_function(X[:, :3])
    with pytest.raises(DataError, match="must have 5 columns, a word each"):
        ranker.score(X, y[:, :4])
    with pytest.raises(
        DataError, match=r"PAMIR was fitted to 5 words, which do not include all of \[7\]"
    ):
        ranker.query([7])
    with pytest.raises(DataError, match=r"which do not include all of \['sky'\]"):
        ranker.query(["sky"])
    with pytest.raises(DataError, match=r"2 terms need as many weights. Got 1"):
        ranker.query([1, 2], [0.5])
    with pytest.raises(DataError):
        ranker.fit(X, y[:-1])
    assert ranker.W_.tobytes() == before, "a fit that failed changes nothing"


def test_importing_the_package_brings_in_neither_numba_nor_sklearn() -> None:
    rooms = ("sightline", "sightline.solvers", "sightline.rankers", "sightline.solvers.pa_step")
    assert not {"numba", "sklearn", "scipy"} & imported_by(*rooms)


def test_large_rows_and_weights_are_learned_from_a_part_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    kind = np.arange(1_200) % 6
    X = (np.eye(6)[kind] + 0.4 * rng.normal(size=(1_200, 6))).astype(np.float32)
    y = np.eye(6, dtype=np.int8)[kind]
    whole = PAMIR().fit(X, y, n_iter=30_000)
    monkeypatch.setattr(training, "_CACHED_ROWS", 1_000)
    monkeypatch.setattr(training, "_PORTION_ROWS", 1_000)
    monkeypatch.setattr(training, "_FEWEST_AMONG", 128)
    monkeypatch.setattr(training, "_CACHED_WEIGHTS", 10)
    asked: list[tuple[int, int]] = []
    sampler = TripletSampler

    def recorded(*given: Any, rounds: int, among: int) -> Any:
        asked.append((rounds, among))
        return sampler(*given, rounds=rounds, among=among)

    monkeypatch.setattr("sightline.rankers.pamir.TripletSampler", recorded)
    parts = PAMIR().fit(X, y, n_iter=30_000)
    assert asked == [(16, 128)] and parts.n_iter_ == 30_000
    assert parts.score(X, y) > whole.score(X, y) - 0.01
    again = PAMIR().fit(X, y, n_iter=30_000)
    assert np.array_equal(again.W_, parts.W_), "the same seed, the same weights"
    # Queries of several words share weights: they keep their order and learn from all pictures.
    PAMIR(max_len=2).fit(X, np.hstack([y, y[:, :1] | y[:, 1:2]]), n_iter=100)
    WARP().fit(X, y, n_iter=100)
    assert asked[2:] == [(1, 0), (16, 0)]
