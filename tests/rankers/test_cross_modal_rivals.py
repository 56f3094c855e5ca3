"""SSI, CCA and semantic matching: against twins and laws, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from sightline.errors import DataError, ParameterError
from sightline.rankers.cca import CCA
from sightline.rankers.pamir import PAMIR
from sightline.rankers.posteriors import Posteriors, scaled_softmax, softmax, softmax_regression
from sightline.rankers.semantic_matching import SemanticMatching
from sightline.rankers.ssi import SSI, Pairs
from sightline.records import QuerySet
from sightline.solvers.oracles import CandidateLists
from sightline.solvers.targets import QueryWords, Targets
from tests.naive.ssi import ssi

Doubles = NDArray[np.float64]


def made(seed: int = 0, n: int = 60) -> dict[str, Any]:
    """Three classes seen from two sides of 4 and 6 columns, none negative."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    Q = np.abs(rng.normal(size=(3, 4)))[classes] + 0.15 * rng.random((n, 4))
    D = np.abs(rng.normal(size=(3, 6)))[classes] + 0.15 * rng.random((n, 6))
    candidates = np.array([rng.permutation(n)[:10] for _ in range(n)])
    return {
        "Q": Q, "D": D, "candidates": candidates, "classes": classes,
        "relevance": classes[candidates] == classes[:, None],
        "relevant": classes[:, None] == classes,
    }  # fmt: skip


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("per_query", [1, 5])
def test_ssi_takes_the_steps_of_its_twin(thin: bool, per_query: int) -> None:
    data = made()
    lists = CandidateLists.of(data["candidates"], data["relevance"])
    told = [
        (int(q), own[flags].tolist(), own[~flags].tolist())
        for q, own, flags in (
            (lists.query[i], lists.candidate[part], lists.relevant[part])
            for i, part in enumerate(map(slice, lists.start[:-1], lists.start[1:]))
        )
    ]
    Q, D = data["Q"], data["D"]
    sides = (sparse.csr_array(Q), sparse.csr_array(D)) if thin else (Q, D)
    pairs = Pairs(*sides, lists, per_query, seed=3)
    state = int(pairs._state[0])
    rng = np.random.default_rng(1)
    U, V = rng.normal(size=(2, 4)) / 2, rng.normal(size=(2, 6)) / 2
    A, B = (np.ascontiguousarray(x.T, dtype=np.float32) for x in (U, V))
    moved = sum(pairs.learn(A, B, n, 0.05) for n in (17, 23))
    # A call begins with a new query, so the twin is asked as often.
    first = ssi(U, V, Q, D, told, state, 17, per_query, 0.05)
    again = Pairs(*sides, lists, per_query, seed=3)
    again.learn(A.copy(), B.copy(), 17, 0.05)
    second = ssi(*first[:2], Q, D, told, int(again._state[0]), 23, per_query, 0.05)
    assert moved == first[2] + second[2] > 0
    assert pytest.approx(second[0], abs=1e-4) == A.T
    assert pytest.approx(second[1], abs=1e-4) == B.T


def test_the_steps_of_ssi_follow_the_gradient_of_its_loss() -> None:
    rng = np.random.default_rng(0)
    U, V, Q, D = (rng.normal(size=s) for s in ((2, 4), (2, 6), (1, 4), (2, 6)))
    D *= 0.1

    def loss(u: Doubles, v: Doubles) -> float:
        return 1 - float((u @ Q[0]) @ (v @ (D[0] - D[1])))

    moved = ssi(U, V, Q, D, [(0, [0], [1])], 5, 1, 1, 1e-6)
    for side in (0, 1):
        numeric = np.zeros_like((U, V)[side])
        for at in np.ndindex(numeric.shape):
            step = [U.copy(), V.copy()]
            step[side][at] += 1e-6
            numeric[at] = (loss(*step) - loss(U, V)) / 1e-6
        assert (moved[side] - (U, V)[side]) / 1e-6 == pytest.approx(-numeric, abs=1e-3)


def test_ssi_learns_and_stops_where_validation_is_best() -> None:
    data = made()
    ranker = SSI(n_components=3, eta=0.05, n_iter=6000, eval_every=1000, patience=2)
    held = data["Q"], data["D"], data["relevant"]
    ranker.fit(data["Q"], data["D"], data["candidates"], data["relevance"], validation=held)
    best = max(value for _, value in ranker.history_)
    assert ranker.score(*held) == pytest.approx(best) and best > 0.8
    assert dict(ranker.history_)[ranker.best_iter_] == best
    assert 0 < ranker.n_updates_ <= ranker.n_iter_ <= 6000
    again = SSI.from_arrays(ranker.to_arrays())
    assert np.array_equal(again.embed(data["D"]), ranker.embed(data["D"]))


def test_ssi_says_when_it_grew_without_bound() -> None:
    data = made()
    with pytest.raises(DataError, match="grew without bound"):
        SSI(n_components=3, eta=1e6, n_iter=20_000).fit(
            100 * data["Q"], -100 * data["D"], data["candidates"], ~data["relevance"]
        )
    with pytest.raises(ParameterError, match="'eta'"):
        SSI(eta=0.0).fit(data["Q"], data["D"], data["candidates"], data["relevance"])


def test_pamir_learns_from_lists_given_as_targets() -> None:
    data = made()
    Q, D = data["Q"].astype(np.float32), data["D"]
    n, m = Q.shape
    order = np.sort(data["candidates"], axis=1)
    flags = data["classes"][order] == data["classes"][:, None]
    starts = [np.concatenate([[0], np.cumsum(f.sum(axis=1))]).astype(np.int64)
              for f in (flags, ~flags)]  # fmt: skip
    queries = QuerySet(np.arange(n + 1) * m, np.tile(np.arange(m), n), Q.ravel(), starts[0],
                       order[flags])  # fmt: skip
    targets = Targets(queries, n, QueryWords(np.ones(m)), starts[1], order[~flags])
    ranker = PAMIR(C=0.1).fit(D, targets, n_iter=5000)
    scores = Q @ ranker.W_ @ D.T
    right = scores[data["relevant"]].mean() - scores[~data["relevant"]].mean()
    assert right > 0.3


def test_cca_finds_what_two_sides_share() -> None:
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(200, 2))
    Q = np.c_[shared + 0.1 * rng.normal(size=(200, 2)), rng.normal(size=(200, 3))]
    D = np.c_[rng.normal(size=(200, 4)), shared[:, ::-1]]
    plain = CCA(n_components=4, kappa=0.0).fit(Q, D)
    assert (np.diff(plain.correlations_) <= 1e-12).all()
    assert plain.correlations_.min() >= 0 and plain.correlations_.max() <= 1
    assert plain.correlations_[1] > 0.95 > 0.4 > plain.correlations_[2]
    x = (Q - Q.mean(axis=0)) @ plain.A_.T
    y = (D - D.mean(axis=0)) @ plain.B_.T
    measured = [np.corrcoef(x[:, i], y[:, i])[0, 1] for i in range(4)]
    assert measured == pytest.approx(plain.correlations_.tolist(), abs=1e-4)
    turned = CCA(n_components=4, kappa=0.0).fit(
        Q @ rng.normal(size=(5, 5)), D @ rng.normal(size=(6, 6))
    )
    assert turned.correlations_ == pytest.approx(plain.correlations_, abs=1e-8)
    assert (CCA(n_components=4, kappa=1.0).fit(Q, D).correlations_ < plain.correlations_).all()


def test_cca_of_few_rows_and_of_sparse_ones_is_the_same_as_of_dense_ones() -> None:
    rng = np.random.default_rng(0)
    Q, D = rng.random((12, 30)) * (rng.random((12, 30)) < 0.4), rng.random((12, 7))
    dense, thin = (
        CCA(n_components=3, kappa=0.1).fit(Q, D),
        CCA(n_components=3, kappa=0.1).fit(sparse.csr_matrix(Q), D),
    )
    assert thin.correlations_ == pytest.approx(dense.correlations_)
    scores = dense.decision_function(Q, D)
    assert thin.decision_function(sparse.csr_matrix(Q), D) == pytest.approx(scores, abs=1e-4)
    again = CCA.from_arrays(dense.to_arrays())
    assert np.array_equal(again.decision_function(Q, D), scores)
    assert np.linalg.norm(dense.embed(D), axis=1) == pytest.approx(1)


def test_cca_refuses_what_is_no_pairs() -> None:
    Q = np.random.default_rng(0).random((5, 3))
    with pytest.raises(DataError, match="learns from pairs"):
        CCA(n_components=2).fit(Q, Q[:4])
    with pytest.raises(DataError, match="All rows of a side are the same"):
        CCA(n_components=2).fit(Q, np.ones((5, 3)))
    with pytest.raises(DataError, match="differ in 1 alone"):
        CCA(n_components=2).fit(Q, np.outer(np.arange(5), np.ones(3)))
    with pytest.raises(ParameterError, match="'kappa'"):
        CCA(n_components=2, kappa=-1.0).fit(Q, Q)


@pytest.mark.parametrize("model", ["logistic", "chi2-ridge", "chi2-svm"])
def test_semantic_matching_gives_probabilities_that_rank(model: Any) -> None:
    if model == "chi2-svm":
        pytest.importorskip("sklearn")
    data = made()
    ranker = SemanticMatching(model=model)
    ranker.fit(data["Q"], data["classes"], data["D"], data["classes"])
    for rows in (ranker.embed(data["D"]), ranker.embed_queries(data["Q"]), ranker.q_held_out_):
        assert rows.shape == (60, 3) and rows.min() >= 0
        assert rows.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert ranker.score(data["Q"], data["D"], data["relevant"]) > 0.9
    again = SemanticMatching.from_arrays(ranker.to_arrays())
    assert np.array_equal(again.embed(data["D"]), ranker.embed(data["D"]))


def test_left_out_decisions_of_least_squares_are_those_of_fits_without_the_row() -> None:
    data = made(n=15)
    model = Posteriors("chi2-ridge", 2.0).fit(data["D"], data["classes"], 3)
    from sightline.rankers import posteriors
    from sightline.similarity.kernels import gram

    K = gram(data["D"], kernel="chi2", bandwidth=model._bandwidth).astype(float)
    _, offset, held_out = posteriors._ridge(K, np.eye(3)[data["classes"]], 0.5)
    told = np.eye(3)[data["classes"]]
    for i in (0, 7, 14):
        rest = np.delete(np.arange(15), i)
        alpha = np.linalg.solve(K[np.ix_(rest, rest)] + 0.5 * np.eye(14), told[rest] - offset)
        assert held_out[i] == pytest.approx(K[i, rest] @ alpha + offset)


def test_softmax_regression_equals_scikit_learns() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    data = made()
    X, y = data["D"], data["classes"]
    W, b = softmax_regression(X, y, 3, 1 / (0.5 * len(X)))
    theirs = linear.LogisticRegression(C=0.5, tol=1e-8, max_iter=5000).fit(X, y)
    assert pytest.approx(theirs.coef_, abs=1e-3) == W
    assert b - b.mean() == pytest.approx(theirs.intercept_, abs=1e-3)


def test_one_scale_for_all_decisions_is_the_best_there_is() -> None:
    rng = np.random.default_rng(4)
    classes = rng.integers(0, 3, 200)
    decisions = np.eye(3)[classes] + rng.normal(scale=1.5, size=(200, 3))

    def loss(scale: float, b: Any) -> float:
        P = softmax(scale * decisions + b)
        return float(-np.log(P[np.arange(200), classes]).mean())

    W, b = scaled_softmax(decisions, classes, 3)
    assert np.array_equal(W, W[0, 0] * np.eye(3))
    best = loss(W[0, 0], b)
    for scale in np.geomspace(0.05, 20, 60):
        assert loss(scale, b) >= best - 1e-9
    for c in range(3):
        for step in (-0.1, 0.1):
            assert loss(W[0, 0], b + step * np.eye(3)[c]) > best
    assert best < loss(1.0, np.zeros(3))


def test_calibration_by_one_scale_keeps_the_order_of_decisions() -> None:
    data = made()
    rows, classes = data["D"], data["classes"]
    by_scale = Posteriors("chi2-ridge", calibration="scale").fit(rows, classes, 3)
    by_rows = Posteriors("chi2-ridge").fit(rows, classes, 3)
    assert pytest.approx(by_scale._W[0, 0] * np.eye(3)) == by_scale._W
    assert pytest.approx(by_rows._W[0, 0] * np.eye(3)) != by_rows._W
    again = Posteriors.from_arrays(by_scale.to_arrays())
    assert np.array_equal(again.predict(rows), by_scale.predict(rows))
    assert by_scale.predict(rows).sum(axis=1) == pytest.approx(1)
    with pytest.raises(ParameterError, match="'calibration'"):
        Posteriors("chi2-ridge", calibration="twice")  # type: ignore[arg-type]


def test_semantic_matching_refuses_classes_that_do_not_agree() -> None:
    data = made()
    with pytest.raises(DataError, match="the same two or more classes"):
        SemanticMatching().fit(data["Q"], data["classes"], data["D"], data["classes"] + 1)
    with pytest.raises(DataError, match="every class two rows"):
        SemanticMatching().fit(data["Q"][:3], [0, 1, 2], data["D"][:3], [0, 1, 2])
    with pytest.raises(ParameterError, match="'model'"):
        SemanticMatching(model="forest").fit(  # type: ignore[arg-type]
            data["Q"], data["classes"], data["D"], data["classes"]
        )
