"""From scores of queries to probabilities: order, independence, dependence, saved curves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.measures.reliability import reliability
from sightline.words.calibration import calibrate
from sightline.words.combination import WAYS, Combination, How
from sightline.words.probability import ProbabilityCurves, logit_of_log, sigmoid

each_way = pytest.mark.parametrize("how", WAYS)


def planted(
    n: int, n_words: int = 30, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Scores, and words that come together: half of what decides on a word is the picture's."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_words)).astype(np.float32)
    hidden = rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, n_words))
    return scores, scores + 1.5 * hidden > 1.5


def curved(how: How, scores: NDArray[np.float32], tagged: NDArray[np.bool_]) -> Combination:
    combination = Combination(how).fit(scores, tagged)
    logits = combination.base_logits(scores)
    curves = ProbabilityCurves.of(*calibrate(logits.astype(np.float32), tagged))
    curves = curves.with_first_hits(
        (logits[:, w] * curves.slope[w] + curves.offset[w], tagged[:, w])
        for w in range(logits.shape[1])
    )
    some = combination.with_curves(curves)
    w = some.weights([1.0, 1.0]).astype(np.float64)
    rows = some.rows(scores)
    lists = [
        (some.joint_logits(rows[:, [a, b]] @ w, w, [a, b]), tagged[:, a] & tagged[:, b])
        for a in range(0, 20, 2)
        for b in (a + 1, a + 2)
    ]
    return combination.with_curves(curves.with_sets(2, lists))


@given(st.floats(-20, 20), st.integers(1, 4))
def test_independent_words_multiply(x: float, n: int) -> None:
    curves = ProbabilityCurves.of(np.ones(4), np.zeros(4))
    shown = curves.of_query(np.array([x]), np.arange(n), np.ones(n))
    assert shown == pytest.approx(sigmoid(x) ** n, rel=1e-6, abs=1e-12)
    assert logit_of_log(np.log(sigmoid(x))) == pytest.approx(x, rel=1e-6, abs=1e-6)


@each_way
def test_probabilities_keep_the_order_of_scores(how: How) -> None:
    scores, tagged = planted(400)
    made = curved(how, scores, tagged)
    for n in (1, 2, 3):
        w = made.weights([1.0] * n).astype(np.float64)
        total = np.sort(made.rows(scores)[:, :n] @ w)
        shown = made.probability(total, w, np.arange(n))
        assert ((shown >= 0) & (shown <= 1)).all() and (np.diff(shown) >= 0).all()


@each_way
def test_pairs_that_come_together_are_reliable_where_a_product_is_not(how: How) -> None:
    made = curved(how, *planted(1500, seed=1))
    scores, tagged = planted(3000, seed=2)
    w = made.weights([1.0, 1.0]).astype(np.float64)
    rows = made.rows(scores)
    base = tagged.mean(axis=0)
    shown, multiplied, fits = [], [], []
    for a, b in ((20, 25), (21, 28), (22, 29), (23, 27)):
        best = np.argsort(-(rows[:, [a, b]] @ w))[:200]
        shown.append(made.probability((rows[:, [a, b]] @ w)[best], w, [a, b]))
        multiplied.append(made.word_probabilities(rows[best][:, [a, b]], [a, b]).prod(axis=1))
        fits.append((tagged[:, a] & tagged[:, b])[best])
    y, none = np.concatenate(fits), np.full(800, float(base.mean()) ** 2)
    honest = reliability(np.concatenate(shown), y, none)
    product = reliability(np.concatenate(multiplied), y, none)
    assert honest.ece < 0.08 < 0.12 < product.ece and honest.skill > product.skill


def test_few_examples_change_nothing() -> None:
    curves = ProbabilityCurves.of(np.ones(2), np.zeros(2))
    assert curves.with_sets(2, []).beta.tolist() == curves.beta.tolist()
    one = curves.with_first_hits([(np.zeros(1), np.zeros(1, bool))] * 2)
    assert one.beta == pytest.approx(curves.beta, abs=0.15)


@each_way
def test_saved_curves_give_the_same_and_none_are_those_of_an_earlier_release(how: How) -> None:
    scores, tagged = planted(200)
    made = curved(how, scores, tagged)
    again = Combination.from_arrays(how, made.to_arrays())
    total = made.rows(scores)[:, 3]
    assert (
        again.probability(total, [1.0], [3]).tolist() == made.probability(total, [1], [3]).tolist()
    )
    earlier = {
        n: a for n, a in made.to_arrays().items() if n in ("slope", "offset", "known", "shown")
    }
    old = Combination.from_arrays(how, earlier)
    assert old.curves_ is None
    if how == "product":
        pair = made.rows(scores)[:, [0, 1]].astype(np.float64).sum(axis=1)
        assert old.probability(pair, [1.0, 1.0], [0, 1]) == pytest.approx(np.exp(pair / 2))
    else:
        slope, offset = made.shown_
        assert old.probability(total, [1.0], [3]) == pytest.approx(sigmoid(total * slope + offset))
