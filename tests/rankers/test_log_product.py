"""The ranking loss in the log-product form: its slopes, what it learns, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.sparse import csr_matrix

from sightline.errors import DataError, ParameterError, UsageError
from sightline.measures.ranking import average_precision
from sightline.rankers._list_loss import loss_and_slopes
from sightline.rankers.log_product import LogProduct, _directions
from sightline.solvers.targets import from_indicator


def problem(n: int = 300, n_words: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return word scores in which word 0 is blind, but is on nearly all pictures with word 1."""
    rng = np.random.default_rng(seed)
    tagged = rng.random((n, n_words)) < 0.3
    tagged[:, 0] = tagged[:, 1] & (rng.random(n) < 0.9)
    scores = tagged + 0.5 * rng.normal(size=tagged.shape)
    scores[:, 0] = rng.normal(size=n)
    return scores.astype(np.float32), tagged


def test_the_loss_is_the_mean_list_wise_loss_and_its_slopes_are_right() -> None:
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(7, 3)), rng.normal(size=(7, 2))
    Q = csr_matrix([[1, 0, 1], [0, 1, 0.0]])
    R = csr_matrix([[1, 0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0.0]])
    start = np.concatenate([rng.normal(size=3), rng.normal(size=3), rng.normal(size=6)])

    def parts(v: np.ndarray) -> tuple[np.ndarray, ...]:
        return v[:3], v[3:6], v[6:].reshape(2, 3)

    def plainly(v: np.ndarray) -> float:
        a, b, M = parts(v)
        total = 0.0
        for q, r in zip(Q.toarray(), R.toarray(), strict=True):
            F = []
            for p in range(7):
                f = [a[t] * x[p, t] + b[t] + sum(M[:, t] * z[p]) for t in range(3)]
                F.append(sum(np.log(1 / (1 + np.exp(-f[t]))) for t in range(3) if q[t]))
            log_shares = np.array(F) - np.log(np.exp(F).sum())
            total -= log_shares[r > 0].mean()
        return total / 2

    loss, slopes = loss_and_slopes(x, z, Q, R, *parts(start))  # type: ignore[arg-type]
    assert loss == pytest.approx(plainly(start), rel=1e-6)
    found = np.concatenate([s.ravel() for s in slopes])
    assert np.allclose(found, approx_fprime(start, plainly, 1e-6), atol=1e-4)


def test_a_word_is_corrected_by_others() -> None:
    scores, tagged = problem()
    unseen, truth = problem(seed=5)
    alone = LogProduct(n_directions=0).fit(scores, tagged).decision_function(unseen)[:, 0]
    together = LogProduct().fit(scores, tagged).decision_function(unseen)[:, 0]
    before = average_precision(alone.astype(np.float64), truth[:, 0])
    assert average_precision(together.astype(np.float64), truth[:, 0]) > before + 0.2


def test_the_loss_falls_and_the_ranking_is_better_than_products_of_what_it_was_given() -> None:
    scores, tagged = problem(n=500)
    unseen, truth = problem(n=500, seed=7)
    ranker = LogProduct().fit(scores, tagged)
    assert np.diff(ranker.history_).max() < 1e-3
    plain = LogProduct(n_steps=1, rate=1e-9).fit(scores, tagged)
    assert ranker.score(unseen, truth) > plain.score(unseen, truth) + 0.01


def test_it_begins_at_the_calibrated_product() -> None:
    scores, tagged = problem()
    ranker = LogProduct(n_steps=1, rate=1e-12).fit(scores, tagged)
    logits = scores * ranker.slope_ + ranker.offset_
    assert np.allclose(ranker.decision_function(scores), logits, atol=1e-4)


def test_strength_holds_the_corrections() -> None:
    scores, tagged = problem()
    loose, firm = (LogProduct(strength=s).fit(scores, tagged) for s in (0.0, 10.0))
    assert np.abs(firm.M_).mean() < 0.5 * np.abs(loose.M_).mean()


def test_the_same_seed_gives_the_same_bytes_and_some_words_are_scored_alone() -> None:
    scores, tagged = problem()
    one, two = LogProduct().fit(scores, tagged), LogProduct().fit(scores, tagged)
    for name, array in one.to_arrays().items():
        assert np.array_equal(array, two.to_arrays()[name])
    some = np.array([3, 0])
    whole = one.decision_function(scores)
    assert np.allclose(one.decision_function(scores, some), whole[:, some], atol=1e-6)
    again = LogProduct.from_arrays(one.to_arrays())
    assert np.array_equal(again.decision_function(scores), whole)


def test_queries_made_elsewhere_are_the_same_as_those_of_captions() -> None:
    scores, tagged = problem(120, 5)
    asked = from_indicator(tagged, len(tagged), 5).queries
    a = LogProduct().fit(scores, tagged)
    b = LogProduct().fit(scores, tagged, queries=asked)
    assert np.array_equal(a.M_, b.M_)


def test_odd_collections_give_numbers() -> None:
    scores, tagged = problem(40, 4)
    tagged[:, 2], tagged[:, 3], scores[:, 1] = False, True, 0.5
    ranker = LogProduct().fit(scores, csr_matrix(tagged))
    assert np.isfinite(ranker.decision_function(scores)).all()
    assert (ranker.M_[:, 2] == 0).all() and ranker.a_[2] == 1
    flat = LogProduct().fit(np.zeros((10, 3)), np.eye(10, 3) > 0)
    assert np.isfinite(flat.decision_function(np.zeros((2, 3)))).all()
    wide = LogProduct(n_directions=200).fit(*(t[:6] for t in problem(40, 30)))
    # Six centred pictures differ in five directions.
    assert wide.M_.shape == (5, 30)


@pytest.mark.parametrize(("n", "n_words"), [(60, 160), (95, 139), (100, 40)])
def test_directions_are_as_wide_for_new_pictures_as_for_those_learnt_from(
    n: int, n_words: int
) -> None:
    scores, _ = problem(n + 300, n_words)
    mean, directions = _directions(scores[:n], 128)
    learnt, new = ((part - mean) @ directions for part in (scores[:n], scores[n:]))
    assert np.square(learnt).mean() == pytest.approx(1, abs=0.05)
    assert np.square(new).mean(axis=0).max() < 10


def test_many_queries_and_pictures_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sightline.rankers.log_product._MOST_PICTURES", 50)
    scores, tagged = problem(120, 6)
    lengths: list[tuple[int, int]] = []

    def seen(x: Any, z: Any, Q: Any, R: Any, *more: Any) -> Any:
        lengths.append((len(x), Q.shape[0]))
        return loss_and_slopes(x, z, Q, R, *more)

    monkeypatch.setattr("sightline.rankers.log_product.loss_and_slopes", seen)
    # Of six words, three are asked for; the others stay as they were.
    ranker = LogProduct(most_queries=3, max_len=1, batch=3).fit(scores, tagged)
    assert set(lengths) == {(50, 3)}
    assert int((np.abs(ranker.M_).sum(axis=0) > 0).sum()) == 3


@pytest.mark.parametrize(
    ("setting", "value"),
    [("strength", -1.0), ("own_strength", float("nan")), ("rate", 0.0), ("n_steps", 0),
     ("n_directions", -1), ("batch", 0), ("max_len", 0), ("most_queries", 0)],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(setting: str, value: float) -> None:
    with pytest.raises(ParameterError, match=setting):
        LogProduct(**{setting: value}).fit(*problem(20, 3))  # type: ignore[arg-type]


def test_bad_input_is_named() -> None:
    scores, tagged = problem(20, 3)
    with pytest.raises(UsageError, match="is not fitted yet"):
        LogProduct().decision_function(scores)
    with pytest.raises(DataError, match="shape"):
        LogProduct().fit(scores, tagged[:, :2])
    scores[0, 0] = np.nan
    with pytest.raises(DataError, match="finite"):
        LogProduct().fit(scores, tagged)
    with pytest.raises(DataError, match="No picture has a word"):
        LogProduct().fit(problem(20, 3)[0], np.zeros((20, 3)))
    with pytest.raises(DataError, match="is expecting 3 features"):
        LogProduct().fit(*problem(20, 3)).decision_function(np.zeros((2, 5)))
