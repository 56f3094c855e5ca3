"""WARP: equal to its slow twin, to PAMIR where it should be, and better at the top."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sightline.contracts import WordScorer
from sightline.errors import DataError, ParameterError, UsageError
from sightline.progress import NoProgress
from sightline.rankers.pamir import PAMIR
from sightline.rankers.training import Weights
from sightline.rankers.warp import WARP, RankLoss, WarpLoop, rank_weights
from sightline.solvers.rows import as_rows
from sightline.solvers.targets import Targets, from_indicator, from_judgements
from sightline.solvers.triplets import TripletSampler
from tests.factories.fresh_python import output_of, output_without_compiler
from tests.factories.triplets import collection, drawn, query_matrix
from tests.naive import warp as naive
from tests.rankers.test_graded import judged

Matrix = NDArray[np.float64]
each_kind = pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])


def others(t: Targets, q: int, p: int) -> list[int]:
    """What a picture of a query should precede, in the order in which it is numbered."""
    if t.graded is not None:
        first = t.graded.lower_start[q]
        return list(map(int, t.graded.lower[first : first + t.graded.n_lower[p]]))
    if len(t.negative_start):
        return list(map(int, t.negative[t.negative_start[q] : t.negative_start[q + 1]]))
    return [m for m in range(t.n_pictures) if m not in t.queries.relevant_to(q).tolist()]


# With a small C few steps end exactly at the margin, where rounding would decide on the next trial.
C = 0.004


def twin(
    X: Matrix, t: Targets, n: int, seed: int, max_trials: int, loss: RankLoss = "harmonic",
    C: float = C, **how: Any,
) -> tuple[Matrix, Matrix]:  # fmt: skip
    sampler = TripletSampler(t, seed=seed)
    loop = WarpLoop(as_rows(X, "WARP"), sampler, Weights.zeros(t.n_words, X.shape[1], False),
                    C, 1, np.zeros(1), 1)  # fmt: skip
    return naive.warp(
        X, query_matrix(t.queries, t.n_words), drawn(t, n, seed=seed),
        lambda q, p: others(t, q, p), int(loop.state[1]), C, max_trials,
        naive.harmonic if loss == "harmonic" else float,
        None if t.graded is None else t.graded.gains.tolist(), **how,
    )  # fmt: skip


@each_kind
@pytest.mark.parametrize("variant", ["PA-I", "PA-II"])
@pytest.mark.parametrize("loss", ["harmonic", "auc"])
@pytest.mark.parametrize("trials", [5, 1000])
def test_equal_to_the_slow_twin(kind: Any, variant: Any, loss: RankLoss, trials: int) -> None:
    X, y = collection()
    t = from_indicator(y, len(X), max_len=3)
    found = twin(X, t, 1000, 5, trials, loss, variant=variant)
    for averaged, wanted in zip((False, True), found, strict=True):
        ranker = WARP(
            C=C,
            variant=variant,
            rank_loss=loss,
            max_trials=trials,
            averaged=averaged,
            max_len=3,
            random_state=5,
        )
        ranker.fit(kind(X), y, n_iter=1000)
        np.testing.assert_allclose(ranker.W_, wanted, atol=2e-4 * np.abs(wanted).max())


@each_kind
@pytest.mark.parametrize("grades", ["binary", "linear", "exponential"])
def test_judgements_are_the_slow_twins_too(kind: Any, grades: Any) -> None:
    X, y, qid = judged()
    t = from_judgements(y, qid, len(X), grades=grades)
    weights = Weights.zeros(2, X.shape[1], False)
    weights.W[:] = np.random.default_rng(1).normal(size=weights.W.shape)
    wanted, _ = twin(X, t, 800, 2, 50, C=1e-3, start=weights.W.astype(np.float64))
    before, L = weights.W.copy(), rank_weights(len(X))
    loop = WarpLoop(as_rows(kind(X), "WARP"), TripletSampler(t, seed=2), weights, 1e-3, 1, L, 50)
    loop.run(800, NoProgress())
    np.testing.assert_allclose(weights.W, wanted, atol=1e-5)
    assert np.abs(weights.W - before).max() > 0.01
    assert weights.counts[1] > 700, "a violator was found, often not at the first trial"


@each_kind
def test_one_trial_is_pamir(kind: Any) -> None:
    X, y = collection()
    for averaged in (False, True):
        how: dict[str, Any] = {"C": 0.1, "max_len": 3, "averaged": averaged, "random_state": 6}
        one = WARP(max_trials=1, **how).fit(kind(X), y, n_iter=4000)
        assert one.W_.tobytes() == PAMIR(**how).fit(kind(X), y, n_iter=4000).W_.tobytes()
        assert WARP(**how).fit(kind(X), y, n_iter=4000).W_.tobytes() != one.W_.tobytes()


@given(st.integers(1, 2000))
def test_the_weight_of_a_rank(n: int) -> None:
    L = rank_weights(n)
    assert len(L) == n + 1
    assert L[1] == 1.0
    assert (np.diff(L) > 0).all()
    assert L[n] == pytest.approx(naive.harmonic(n))
    assert rank_weights(n, "auc").tolist() == list(range(n + 1))


def one_step(X: Any, y: Any, before: Any, trials: int = 100, C: float = 0.01) -> tuple[Any, Any]:
    """Let WARP take one step from given weights; return them after it, and what became of it."""
    n, n_features = X.shape
    t = from_indicator(y, n)
    weights = Weights.zeros(1, n_features, False)
    weights.W[:] = before
    L = rank_weights(n)
    loop = WarpLoop(as_rows(X, "WARP"), TripletSampler(t), weights, C, 1, L, trials)
    loop.run(1, NoProgress())
    return weights.W, weights.counts.tolist()


@each_kind
def test_a_violator_at_the_first_trial_takes_all_of_c(kind: Any) -> None:
    X = np.vstack([[1.0, 0.0], np.tile([0.0, 1.0], (9, 1))])
    W, counts = one_step(kind(X), np.arange(10)[:, None] < 1, 0.0)
    np.testing.assert_allclose(W, [[0.01, -0.01]], rtol=1e-6)
    assert counts == [0, 1, 0, 0]


@each_kind
def test_without_a_violator_nothing_changes(kind: Any) -> None:
    X = np.vstack([[1.0, 0.0], np.tile([0.0, 1.0], (9, 1))])
    before = np.array([[0.8, -0.8]], dtype=np.float32)
    W, counts = one_step(kind(X), np.arange(10)[:, None] < 1, before)
    assert W.tobytes() == before.tobytes()
    assert counts == [1, 0, 0, 0]


@each_kind
def test_a_rare_violator_weighs_little(kind: Any) -> None:
    """One of 40 other pictures violates; the later it is found, the shorter the step."""
    X = np.vstack([[1.0, 0.0], [0.9, 0.1], np.tile([-1.0, 0.0], (39, 1))])
    before = np.array([[1.0, 0.0]], dtype=np.float32)
    X, fits, n_other = kind(X), np.arange(41)[:, None] < 1, 40
    short = WARP(C=0.01, max_trials=1000).fit(X, fits, n_iter=1)
    assert short.W_.any()
    W, counts = one_step(X, fits, before, trials=1000)
    L = rank_weights(n_other)
    steps = np.linalg.norm(W - before) / np.linalg.norm([0.1, -0.1])
    shares = {round(0.01 * float(L[n_other // n] / L[n_other]), 6) for n in range(2, n_other + 1)}
    assert counts[1] == 0 or round(float(steps), 6) in shares
    assert counts[0] + counts[1] == 1


def test_the_loops_run_with_the_compiler_off() -> None:
    code = (
        "import numpy as np, scipy.sparse as sp\n"
        "from tests.factories.triplets import collection\n"
        "from tests.rankers.test_graded import judged\n"
        "from sightline.rankers.warp import WARP\n"
        "X, y = collection(n=14, n_features=6)\n"
        "Z, g, qid = judged(n=30)\n"
        "for kind in (np.asarray, sp.csr_array):\n"
        "    for pairs in (1, 4):\n"
        "        r = WARP(C=0.004, pairs_per_query=pairs, averaged=True, max_len=2)\n"
        "        r.fit(kind(X), y, n_iter=100, validation=(kind(X), y))\n"
        "        s = WARP(C=0.002, pairs_per_query=pairs, grades='linear')\n"
        "        s.fit(kind(Z), g, qid, n_iter=80)\n"
        "        print(np.array2string(np.hstack((r.W_, s.W_[[0, 1, 0, 1, 0]])), precision=3,\n"
        "                              suppress_small=True))\n"
    )
    assert output_without_compiler(code) == output_of(code)


def test_it_stops_where_validation_is_best() -> None:
    X, y = collection(n=90)
    ranker = WARP(max_len=2, eval_every=300, n_iter=3000, patience=2)
    ranker.fit(X[:60], y[:60], validation=(X[60:], y[60:]))
    assert ranker.best_score_ == max(s for _, s in ranker.history_)
    assert ranker.best_score_ == ranker.score(X[60:], y[60:])
    assert ranker.best_iter_ == {s: n for n, s in reversed(ranker.history_)}[ranker.best_score_]


@each_kind
def test_words_alone_and_arrays_score_the_same(kind: Any) -> None:
    X, y = collection()
    ranker = WARP(max_len=2).fit(kind(X), y, n_iter=2000)
    assert isinstance(ranker, WordScorer)
    scores = ranker.decision_function(kind(X))
    np.testing.assert_allclose(
        ranker.decision_function(kind(X), np.array([3, 1])), scores[:, [3, 1]], rtol=1e-5, atol=1e-6
    )
    again = WARP.from_arrays(ranker.to_arrays())
    assert isinstance(again, WARP)
    assert again.decision_function(kind(X)).tobytes() == scores.tobytes()
    assert again.set_params(max_len=2).score(kind(X), y) == ranker.score(kind(X), y)
    with pytest.raises(UsageError, match="This WARP was loaded for scoring alone"):
        again.partial_fit(kind(X), y)


def test_it_is_an_estimator() -> None:
    ranker = WARP(C=2.0, max_trials=7)
    assert repr(ranker) == "WARP(C=2.0, max_trials=7)"
    assert clone(ranker).get_params() == ranker.get_params()
    assert "weight" not in ranker.get_params()
    X, y = collection()
    search = GridSearchCV(WARP(n_iter=500), {"C": [1e-6, 0.1]}, cv=2).fit(X, y)
    assert 0 < search.best_score_ <= 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "The 'C' parameter of WARP must be greater than 0. Got 0."),
        ({"variant": "PA"}, "'variant' parameter of WARP must be 'PA-I' or 'PA-II'. Got 'PA'."),
        ({"max_trials": 0}, "'max_trials' parameter of WARP must be a whole number of at least 1"),
        ({"rank_loss": "top"}, "must be 'harmonic' or 'auc'. Got 'top'."),
        ({"grades": "many"}, "'grades' parameter of WARP"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    X, y = collection()
    with pytest.raises(ParameterError) as error:
        WARP(**parameters).fit(X, y)
    assert message in str(error.value)


def test_wrong_data() -> None:
    X, y = collection()
    with pytest.raises(DataError, match=r"finite numbers. WARP got 1"):
        WARP().fit(np.where(np.arange(X.size).reshape(X.shape) == 7, np.nan, X), y)
    with pytest.raises(UsageError, match="This WARP is not fitted yet"):
        WARP().query([0])
    with pytest.raises(DataError, match="WARP was fitted to 5 words"):
        WARP().fit(X, y, n_iter=10).query([9])
    with pytest.raises(DataError, match="nothing to learn"):
        WARP().fit(X, np.ones_like(y))
