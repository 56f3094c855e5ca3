"""The blend whatever the spread of either ranking: scale-free, bounded, its share as it is told."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.contracts import Estimator
from sightline.errors import DataError
from sightline.feedback.blend import Blend
from sightline.feedback.scale import LARGEST
from tests.feedback.test_passive_aggressive import Floats

Doubles = NDArray[np.float64]


class FirstNumber(Estimator):
    """A learner that ranks by the first number of a row, in a unit and from a zero of its own."""

    linear = False
    ready = True

    def __init__(self, unit: float = 1.0, zero: float = 0.0) -> None:
        self.unit = unit
        self.zero = zero

    def start(self, query_weights: Any = None, background: Any = None) -> Self:
        """Begin."""
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn nothing."""
        return self

    def decision_function(self, X: Any) -> Doubles:
        """Return the first numbers."""
        return self.unit * np.asarray(X, np.float64)[:, 0] + self.zero


def pictures(seed: int, n: int = 60) -> tuple[Floats, NDArray[np.int64], Doubles]:
    """Rows, judgements of the first 20, and scores that a ranking by words might give."""
    random = np.random.default_rng(seed)
    wanted = np.arange(n) % 4 == 0
    rows = random.normal(size=(n, 4)) + np.outer(wanted, [1.0, 0.5, 0.0, 0.0])
    words = np.where(wanted & (random.random(n) < 0.5), 1.0, 0.0) + 0.2 * random.random(n)
    return rows.astype(np.float32), np.where(wanted, 1, -1), words


def blended(
    rows: Floats, y: NDArray[np.int64], words: Doubles, learner: Any = None, judged: int = 20
) -> Blend:
    """Return a blend of pictures of which the first are judged."""
    rest = slice(judged, None)
    blend = Blend(learner=learner).start(
        None, rows[rest], words[rest], ranked=rows[rest], ranked_untouched=words[rest]
    )
    return blend.partial_fit(rows[:judged], y[:judged], words[:judged])


def measured_share(blend: Blend, rows: Floats, words: Doubles) -> float:
    """Return the untouched ranking's part of the spread, from nothing but scores."""
    with_both = blend.decision_function(rows, words)
    learnt = blend.decision_function(rows, np.full(len(rows), words.mean()))
    own = float((with_both - learnt).std())
    return own / (own + float(learnt.std()))


@given(st.integers(0, 50), st.integers(-12, 12), st.integers(-12, 12), st.integers(-50, 50))
@settings(max_examples=60)
def test_unit_and_zero_of_either_ranking_do_not_count(
    seed: int, power: int, other: int, zero: int
) -> None:
    rows, y, words = pictures(seed)
    plain = blended(rows, y, words, FirstNumber())
    words_else = 2.0**power * (words + zero)
    changed = blended(rows, y, words_else, FirstNumber(2.0**other, float(zero)))
    assert (plain.weight_, plain.before_, plain.after_) == (
        changed.weight_, changed.before_, changed.after_,
    )  # fmt: skip
    assert plain.share_ == pytest.approx(changed.share_, abs=1e-6)
    if plain.weight_ < 1:
        found = changed.decision_function(rows, words_else)
        assert found == pytest.approx(plain.decision_function(rows, words), abs=1e-4)


@given(st.integers(0, 100))
@settings(max_examples=40)
def test_the_share_that_is_told_is_that_of_the_spread(seed: int) -> None:
    rows, y, words = pictures(seed)
    blend = blended(rows, y, words)
    if blend.weight_ == 1.0:
        assert blend.share_ == 1.0
        return
    assert blend.share_ == pytest.approx(measured_share(blend, rows[20:], words[20:]), abs=1e-6)
    assert blend.share_ == pytest.approx(blend.weight_)


DEGENERATE = (
    "equal", "zero", "one differs", "rounding", "denormal", "outlier", "huge", "tiny",
    "flat but judged",
)  # fmt: skip


def spoiled(values: Doubles, how: str) -> Doubles:
    """Return scores of a spread that is hard to divide by, in the order of the given ones."""
    n = len(values)
    places = values.argsort().argsort() / n
    last = values == values.max()
    return {
        "equal": np.full(n, 0.1),
        "zero": np.zeros(n),
        "one differs": np.where(last, 1.0, 0.0),
        "rounding": 0.1 + 1e-17 * places,
        "denormal": 5e-324 * np.arange(n),
        "outlier": np.where(last, 1e30, places),
        "huge": 1e300 * places,
        "tiny": 1e-9 * places + (np.arange(n) < 20) * places,
        "flat but judged": np.where(np.arange(n) < 20, 1.0 + values, 1e-6),
    }[how]


@pytest.mark.parametrize("words_are", DEGENERATE)
@pytest.mark.parametrize("rows_are", [*DEGENERATE, "as they are"])
@pytest.mark.parametrize("given_ranked", [True, False])
@given(seed=st.integers(0, 30))
@settings(max_examples=3)
def test_no_spread_blows_up(words_are: str, rows_are: str, given_ranked: bool, seed: int) -> None:
    rows, y, words = pictures(seed)
    words = spoiled(words, words_are)
    if rows_are != "as they are":
        column = spoiled(rows[:, 0].astype(np.float64), rows_are)
        rows = np.zeros_like(rows)
        with np.errstate(under="ignore", over="ignore"):
            rows[:, 0] = np.clip(column, -1e15, 1e15)
    if given_ranked:
        blend = blended(rows, y, words)
    else:
        blend = (
            Blend().start(None, rows[20:], words[20:]).partial_fit(rows[:20], y[:20], words[:20])
        )
    assert 0.0 <= blend.share_ <= 1.0 and 0.0 <= blend.weight_ <= 1.0
    if blend.weight_ == 1.0:
        # The ranking as it was, bit by bit.
        assert blend.decision_function(rows, words).tolist() == words.tolist()
        return
    rest = slice(20, None)
    scores = blend.decision_function(rows[rest], words[rest])
    assert np.isfinite(scores).all() and np.abs(scores).max() <= LARGEST * 1.001
    # A judged picture is as bounded in the part that is no weights.
    alone = blend.decision_function(rows, words) - blend.decision_function(
        rows, np.full(len(rows), words[rest].mean())
    )
    assert np.abs(alone).max() <= 2 * LARGEST
    if given_ranked:
        assert blend.share_ == pytest.approx(
            measured_share(blend, rows[rest], words[rest]), abs=1e-4
        )


def test_a_background_without_what_words_rank_high_is_no_measure() -> None:
    """Of a model that is sure, all but the pictures with the word have next to no score."""
    random = np.random.default_rng(3)
    rows, y, _ = pictures(3, 400)
    tagged = (y > 0) & (random.random(400) < 0.5)
    words = np.where(tagged, 1.78, 1e-5 * random.random(400))
    rest = np.flatnonzero(~tagged & (np.arange(400) >= 40))
    blend = Blend().start(None, rows[rest], words[rest])
    blend.partial_fit(rows[:40], y[:40], words[:40])
    assert np.abs(blend.decision_function(rows, words)).max() < 2 * LARGEST


@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_picture_or_two_are_ranked(n: int) -> None:
    rows, y, words = pictures(1)
    blend = Blend().start(
        None, rows[20:], words[20:], ranked=rows[20 : 20 + n], ranked_untouched=words[20 : 20 + n]
    )
    blend.partial_fit(rows[:20], y[:20], words[:20])
    found = blend.decision_function(rows[20 : 20 + n], words[20 : 20 + n])
    assert np.isfinite(found).all() and np.abs(found).max() <= LARGEST
    if n == 1:
        assert blend.weight_ == 1.0


def test_scores_of_ranked_pictures_that_are_no_numbers_are_refused() -> None:
    rows, _, words = pictures(1)
    with pytest.raises(DataError, match="'ranked_untouched' of Blend must be finite scores"):
        Blend().start(None, ranked=rows, ranked_untouched=words * np.nan)
