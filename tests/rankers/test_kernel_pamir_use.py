"""Kernel PAMIR as people call it: views, tables, budgets, saving, interrupts and mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sightline.contracts import WordScorer
from sightline.errors import DataError, ParameterError, UsageError
from sightline.progress import NoProgress
from sightline.rankers.kernel_pamir import KernelPAMIR
from sightline.similarity.kernels import gram
from tests.factories.triplets import collection
from tests.rankers.test_pamir_use import judged


class Stopped(NoProgress):
    """Presses Ctrl-C after some triplets."""

    def __init__(self, after: int = 0) -> None:
        self.left = after

    def advance(self, n: int = 1) -> None:
        self.left -= n
        if self.left < 0:
            raise KeyboardInterrupt


def test_views_have_a_kernel_each() -> None:
    X, y = collection()
    views = (X[:, :10], sp.csr_matrix(X[:, 10:]))
    ranker = KernelPAMIR(kernel=("exponential", "linear"), factor=(0.5, 1.0), weights=(3.0, 1.0))
    ranker.fit(views, y, n_iter=2000, validation=(views, y))
    assert ranker.kernel_ is not None and ranker.kernel_.weights == (0.75, 0.25)
    table = 0.75 * gram(views[0], kernel="exponential", bandwidth=ranker.kernel_.bandwidths[0])
    table = table + 0.25 * gram(views[1], kernel="linear")
    wanted = table[:, ranker.support_] @ ranker.alpha_.T
    assert ranker.decision_function(views) == pytest.approx(wanted, abs=1e-4)
    one = KernelPAMIR().fit((X, X), y, n_iter=500)
    assert one.decision_function((X, X)) == pytest.approx(
        KernelPAMIR().fit(X, y, n_iter=500).decision_function(X), abs=1e-3
    )


def test_a_precomputed_table_is_as_good_as_its_kernel() -> None:
    X, y = collection(n=80)
    train, held = np.arange(60), np.arange(60, 80)
    plain = KernelPAMIR(eval_every=500, n_iter=3000)
    plain.fit(X[train], y[train], validation=(X[held], y[held]))
    assert plain.kernel_ is not None
    table = gram(X, bandwidth=plain.kernel_.bandwidths[0])
    ranker = KernelPAMIR(kernel="precomputed", eval_every=500, n_iter=3000)
    own, theirs = table[np.ix_(train, train)], table[np.ix_(held, train)]
    ranker.fit(own, y[train], validation=(theirs, y[held]))
    assert ranker.best_iter_ == plain.best_iter_
    assert ranker.decision_function(theirs) == pytest.approx(
        plain.decision_function(X[held]), abs=1e-3
    )
    assert ranker.score(theirs, y[held]) == pytest.approx(plain.score(X[held], y[held]), abs=1e-3)
    own.flags.writeable = False
    assert KernelPAMIR(kernel="precomputed").fit(own, y[train], n_iter=100).n_iter_ == 100


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_words_can_be_scored_alone(kind: Any) -> None:
    X, y = collection()
    ranker = KernelPAMIR(C=1.0).fit(kind(X), y, n_iter=80)
    scores = ranker.decision_function(kind(X))
    assert scores.shape == (60, 5) and scores.dtype == np.float32
    words = np.array([3, 0, 3])
    assert ranker.decision_function(kind(X), words) == pytest.approx(scores[:, words], abs=1e-5)
    assert ranker.decision_function(kind(X), []).shape == (60, 0)
    assert ranker.decision_function(kind(X)[:0]).shape == (0, 5)
    weights = ranker.query([3, 1], [0.5, 2.0])
    assert len(weights) == len(ranker.support_)
    assert ranker.kernel_ is not None
    K = gram(X, X[ranker.support_], bandwidth=ranker.kernel_.bandwidths[0])
    assert K @ weights == pytest.approx(0.5 * scores[:, 3] + 2 * scores[:, 1], abs=1e-4)


def test_judged_rows_and_named_words() -> None:
    X, y, qid = judged(names=True)
    ranker = KernelPAMIR(C=1.0).fit(X, y, qid)
    assert ranker.words_ == ("red", "sea", "sky")
    assert ranker.score(X, y, qid) > 0.95
    assert ranker.query(["red", "sea"]) == pytest.approx(ranker.query([0, 1]))
    assert ranker.support_of("sky").tolist() == ranker.support_of(2).tolist()
    again = KernelPAMIR.from_arrays(ranker.to_arrays())
    assert again.words_ == ranker.words_ and again.score(X, y, qid) == ranker.score(X, y, qid)


@pytest.mark.parametrize("landmarks", [None, 20])
@pytest.mark.parametrize("kernel", ["rbf", "chi2", "precomputed", ("linear", "exponential")])
def test_saved_and_loaded_it_scores_the_same(kernel: Any, landmarks: int | None) -> None:
    X, y = collection()
    pictures: Any = gram(X) if kernel == "precomputed" else X
    if isinstance(kernel, tuple):
        pictures = (sp.csr_matrix(X), X[:, :4])
    ranker = KernelPAMIR(kernel=kernel, C=1.0, landmarks=landmarks, max_len=2).fit(
        pictures, y, n_iter=100
    )
    arrays = ranker.to_arrays()
    assert all(a.dtype.kind in "fiu" for a in arrays.values())
    again = KernelPAMIR.from_arrays({name: a.copy() for name, a in arrays.items()})
    wanted = ranker.decision_function(pictures)
    assert again.decision_function(pictures).tobytes() == wanted.tobytes()
    assert again.decision_function(pictures, [2]).tobytes() == (
        ranker.decision_function(pictures, [2]).tobytes()
    )
    assert again.query([0, 3]).tobytes() == ranker.query([0, 3]).tobytes()
    assert again.score(pictures, y) == KernelPAMIR.from_arrays(arrays).score(pictures, y)
    assert again.support_of(1).tolist() == ranker.support_of(1).tolist()
    assert KernelPAMIR.from_arrays(again.to_arrays()).to_arrays().keys() == arrays.keys()


def test_too_many_pictures_are_refused_with_the_memory_they_need() -> None:
    n = 100_000
    X = np.zeros((n, 2), np.float32)
    y = sp.csr_matrix((np.ones(n, int), (np.arange(n), np.arange(n) % 10)), shape=(n, 10))
    with pytest.raises(UsageError) as error:
        KernelPAMIR().fit(X, y)
    needed = n * n * 4 + 10 * n * 12
    assert f"100000 pictures with 10 words needs {needed} bytes (37.3 GiB)" in str(error.value)
    assert "budget of 2.0 GiB" in str(error.value)
    assert "Set landmarks=2684, use PAMIR, which is linear, or raise the budget." in str(
        error.value
    )
    with pytest.raises(UsageError, match=r"Take fewer landmarks"):
        KernelPAMIR(landmarks=9000).fit(X, y)


def test_budgets_hold_for_small_tables_too() -> None:
    X, y = collection()
    needed = 60 * 60 * 4 + 5 * 60 * 12
    KernelPAMIR(budget=needed).fit(X, y, n_iter=10)
    with pytest.raises(UsageError, match=f"needs {needed} bytes"):
        KernelPAMIR(budget=needed - 1).fit(X, y, n_iter=10)
    with pytest.raises(UsageError, match=f"needs {needed + 5 * 60 * 16} bytes"):
        KernelPAMIR(budget=needed, averaged=True).fit(X, y, n_iter=10)
    many = np.vstack([X] * 30)
    ranker = KernelPAMIR(budget=needed, C=1.0).fit(X, y, n_iter=3000)
    with pytest.raises(UsageError, match="1800 by 60 pictures needs 432000 bytes"):
        ranker.score(many, np.vstack([y] * 30))
    assert ranker.decision_function(many).shape == (1800, 5), "scores come in blocks"
    with pytest.raises(UsageError, match="1800 by 60 pictures"):
        ranker.fit(X, y, validation=(many, np.vstack([y] * 30)))


@pytest.mark.parametrize("landmarks", [None, 20])
def test_an_interrupt_leaves_what_there_was(landmarks: int | None) -> None:
    X, y = collection()
    ranker = KernelPAMIR(landmarks=landmarks)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X, y, n_iter=100_000, progress=Stopped(50_000))
    assert vars(ranker) == KernelPAMIR(landmarks=landmarks).get_params()
    with pytest.raises(UsageError, match="Call fit first"):
        ranker.decision_function(X)
    ranker.fit(X, y, n_iter=1000)
    before = dict(vars(ranker))
    scores = ranker.decision_function(X).tobytes()
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X[:, :7], y[:, :2], validation=(X[:, :7], y[:, :2]), progress=Stopped())
    assert vars(ranker).keys() == before.keys()
    assert all(vars(ranker)[k] is v for k, v in before.items())
    assert ranker.decision_function(X).tobytes() == scores


def test_it_is_an_estimator() -> None:
    ranker = KernelPAMIR(kernel="exponential", C=2.0, landmarks=9)
    assert repr(ranker) == "KernelPAMIR(C=2.0, kernel='exponential', landmarks=9)"
    assert clone(ranker).get_params() == ranker.get_params()
    assert isinstance(ranker, WordScorer)
    X, y = collection()
    assert ranker.fit(X, y, n_iter=100) is ranker
    search = GridSearchCV(KernelPAMIR(n_iter=500), {"factor": [0.5, 1.0]}, cv=2).fit(X, y)
    assert search.best_params_["factor"] in (0.5, 1.0)
    tables = GridSearchCV(KernelPAMIR(kernel="precomputed", n_iter=500), {"C": [0.1, 1.0]}, cv=2)
    assert 0 < tables.fit(gram(X), y).best_score_ <= 1


def test_queries_from_elsewhere_and_words_nobody_asks_for() -> None:
    from sightline.solvers.targets import from_indicator

    X, y = collection()
    queries = from_indicator(y, len(X), 3).queries
    table = KernelPAMIR(max_len=3).fit(X, y, n_iter=2000)
    given = KernelPAMIR().fit(X, queries=queries, n_words=9, n_iter=2000)
    assert given.alpha_.shape[0] == 9 and not given.alpha_[5:].any()
    assert given.alpha_[:5].tobytes() == table.alpha_.tobytes()
    assert given.decision_function(X)[:, 5:].any() == np.False_
    assert KernelPAMIR().fit(X[:2], [[1, 1, 0], [0, 1, 0]], n_iter=50).n_dropped_ == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": -1}, "The 'C' parameter of KernelPAMIR must be greater than 0. Got -1."),
        ({"variant": "PA-0"}, "must be 'PA', 'PA-I' or 'PA-II'. Got 'PA-0'."),
        ({"n_iter": 0}, "must be a whole number of at least 1. Got 0"),
        ({"landmarks": 0}, "'landmarks' parameter of KernelPAMIR must be a whole number"),
        ({"landmarks": 2.5}, "Got 2.5"),
        ({"budget": 0}, "'budget' parameter of KernelPAMIR"),
        ({"random_state": None}, "'random_state' parameter of KernelPAMIR"),
        (
            {"kernel": "rfb"},
            "must be one of ['chi2', 'exponential', 'likelihood', 'linear', 'rbf']. Got 'rfb'.",
        ),
        ({"factor": 0.0}, "'factor' parameter of bandwidth must be greater than 0. Got 0.0."),
        ({"weights": (-1.0,)}, "'weights' parameter of MeanKernel"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    X, y = collection()
    with pytest.raises(ParameterError) as error:
        KernelPAMIR(**parameters).fit(X, y)
    assert message in str(error.value)


def test_wrong_data() -> None:
    X, y = collection()
    holes = X.copy()
    holes[3, 3] = np.nan
    with pytest.raises(DataError, match="NaN or inf"):
        KernelPAMIR().fit(holes, y)
    with pytest.raises(DataError, match=r"Got 60 and 59"):
        KernelPAMIR().fit(X, y[:-1])
    with pytest.raises(DataError, match=r"1 sample\(s\) .* minimum of 2 is required"):
        KernelPAMIR().fit(X[:1], y[:1])
    with pytest.raises(DataError, match="nothing to learn"):
        KernelPAMIR().fit(X, np.ones_like(y))
    with pytest.raises(ParameterError, match=r"'n_iter' parameter .* Got 0"):
        KernelPAMIR().fit(X, y, n_iter=0)
    with pytest.raises(ParameterError, match="'validation' parameter"):
        KernelPAMIR().fit(X, y, validation=X)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="one length on both sides"):
        KernelPAMIR().fit(X, y, validation=(X[:, :9], y))
    with pytest.raises(DataError, match=r"must be square. Got shape \(60, 25\)"):
        KernelPAMIR(kernel="precomputed").fit(X, y)
    with pytest.raises(DataError, match="must be symmetric"):
        KernelPAMIR(kernel="precomputed").fit(np.triu(gram(X)), y)
    with pytest.raises(DataError, match="precomputed similarities must be dense"):
        KernelPAMIR(kernel="precomputed").fit(sp.csr_matrix(gram(X)), y)
    with pytest.raises(DataError, match=r"finite numbers. KernelPAMIR got 2"):
        table = gram(X)
        table[0, 1] = table[1, 0] = np.inf
        KernelPAMIR(kernel="precomputed").fit(table, y)
    with pytest.raises(DataError, match="Every landmark has similarity 0 to itself"):
        KernelPAMIR(kernel="linear", landmarks=5).fit(np.zeros((60, 2)), y)


def test_wrong_use_once_fitted() -> None:
    X, y = collection()
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("decision_function", (X,)), ("score", (X, y)), ("query", ([0],)),
        ("support_of", (0,)), ("to_arrays", ()),
    ]  # fmt: skip
    for call, given in calls:
        with pytest.raises(UsageError, match="Call fit first"):
            getattr(KernelPAMIR(), call)(*given)
    ranker = KernelPAMIR().fit(X, y, n_iter=500)
    with pytest.raises(DataError, match="X has 3 features, but KernelPAMIR is expecting 25"):
        ranker.decision_function(X[:, :3])
    with pytest.raises(DataError, match=r"was fitted to 5 words, which do not include all of"):
        ranker.decision_function(X, [7])
    with pytest.raises(DataError, match=r"was fitted to 5 words, which do not include all of"):
        ranker.support_of(-1)
    with pytest.raises(DataError, match="must have 5 columns, a word each"):
        ranker.score(X, y[:, :4])
    table = KernelPAMIR(kernel="precomputed").fit(gram(X), y, n_iter=500)
    with pytest.raises(DataError, match="but KernelPAMIR is expecting 60 features"):
        table.decision_function(gram(X)[:, :9])
    before = ranker.alpha_.tobytes()
    with pytest.raises(DataError):
        ranker.fit(X, y[:-1])
    assert ranker.alpha_.tobytes() == before, "a fit that failed changes nothing"
