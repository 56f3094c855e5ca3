"""OPR, OPAR-I, OPAR-II and OGDR: the same as their twins, and the laws they keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sightline.combiners.opar import OGDR, OPARI, OPARII, OPR, FirstOrder
from sightline.errors import DataError
from tests.factories.fresh_python import output_without_compiler
from tests.naive import combiners as naive

Floats = NDArray[np.float32]
# Of sums and products of such numbers single precision loses nothing, so ties stay ties.
numbers = st.integers(-24, 24).map(lambda value: np.float32(value / 8))
ROWS = arrays(np.float32, st.tuples(st.integers(1, 12), st.just(3)), elements=numbers)
sizes = st.floats(0.01, 10)


def learner(rule: str, C: float, **more: object) -> FirstOrder:
    made: dict[str, FirstOrder] = {
        "OPR": OPR(),
        "OPAR-I": OPARI(C=C),
        "OPAR-II": OPARII(C=C),
        "OGDR": OGDR(eta=C),
    }
    return made[rule].set_params(**more)


def ordered(n: int, d: int, seed: int = 0, noise: float = 1.0) -> Floats:
    """Differences that some weights order, but for noise."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, d)) * noise
    rows += np.linspace(0, 1, d)
    return rows.astype(np.float32)


RULES = ["OPR", "OPAR-I", "OPAR-II", "OGDR"]


@pytest.mark.parametrize("rule", RULES)
@given(ROWS, sizes)
def test_a_pass_equals_its_twin(rule: str, rows: Floats, C: float) -> None:
    found, twin = learner(rule, C).fit(rows), naive.first_order(rows, rule, C)
    # Rounding decides whether such a one is a tie.
    assume(twin.closest > 1e-3)
    assert found.w_ == pytest.approx(twin.w, rel=1e-4, abs=1e-4)
    assert found.loss_ == pytest.approx(twin.loss, rel=1e-4, abs=1e-4)
    told = found.n_updates_, found.n_zero_, found.n_rejected_, found.n_mistakes_, found.n_seen_
    assert told == (twin.updates, twin.zero, 0, twin.mistakes, len(rows))


@pytest.mark.parametrize("rule", RULES)
def test_a_long_pass_equals_its_twin_with_36_components(rule: str) -> None:
    rows = ordered(400, 36)
    rows[7], rows[50, 3], rows[80, 5], rows[90, 0] = 0, np.nan, np.inf, -np.inf
    found, twin = learner(rule, 0.02, averaged=True).fit(rows), naive.first_order(rows, rule, 0.02)
    assert found.w_ == pytest.approx(twin.mean, rel=1e-4, abs=1e-5)
    assert found.n_rejected_ == twin.rejected == 3 and found.n_zero_ == twin.zero == 1
    assert learner(rule, 0.02).fit(rows).w_ == pytest.approx(twin.w, rel=1e-4, abs=1e-5)


def test_opr_starts_from_nothing() -> None:
    assert OPR().fit([[1.0, 2.0]]).w_.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("rule", RULES)
@given(rows=ROWS)
def test_opr_moves_on_mistakes_alone_and_the_others_below_the_margin(
    rule: str, rows: Floats
) -> None:
    before = learner(rule, 0.5).fit(rows[:-1])
    x = rows[-1].astype(np.float64)
    after = learner(rule, 0.5).fit(rows)
    margin = float(before.w_ @ x)
    if x.any() and abs(margin) > 1e-4 and abs(margin - 1) > 1e-4:
        moves = margin <= 0 if rule == "OPR" else margin < 1
        assert (after.n_updates_ > before.n_updates_) == moves


@given(ROWS)
def test_without_a_bound_opar_reaches_the_margin_exactly(rows: Floats) -> None:
    last = rows[-1].astype(np.float64)
    for C in (np.inf, 1e30):
        found = OPARI(C=C).fit(rows)
        if float(last @ last) > 1e-12:
            assert float(found.w_ @ last) > 1 - 1e-6
            again = OPARI(C=C).fit(rows[:-1])
            if float(again.w_ @ last) < 1 - 1e-6:
                assert float(found.w_ @ last) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("rule", RULES)
@given(rows=ROWS, C=sizes, flips=st.integers(0, 2**12 - 1))
def test_flipping_pictures_and_sign_changes_nothing(
    rule: str, rows: Floats, C: float, flips: int
) -> None:
    y = np.array([-1 if flips >> i & 1 else 1 for i in range(len(rows))])
    flipped = (rows * y[:, None]).astype(np.float32)
    one, two = learner(rule, C).fit(rows), learner(rule, C).fit(flipped, y)
    assert np.array_equal(one.w_, two.w_)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([-1, 1])), max_size=30))
def test_opr_weights_are_whole_multiples_of_differences(drawn: list[tuple[int, int]]) -> None:
    basis = np.diag([0.5, 1.25, 2.0, 4.0]).astype(np.float32)
    rows = np.array([sign * basis[i] for i, sign in drawn]).reshape(-1, 4)
    times = OPR().fit(rows).w_ / np.diag(basis)
    assert np.array_equal(times, np.round(times))


@given(ROWS, st.floats(0.01, 2), arrays(np.float64, 3, elements=st.floats(-5, 5)))
def test_the_losses_of_ogdr_are_bounded(rows: Floats, eta: float, u: NDArray[np.float64]) -> None:
    x = rows.astype(np.float64)
    squares = float(np.square(x).sum())
    others = float(np.maximum(0, 1 - x @ u).sum())
    bound = float(u @ u) / (2 * eta) + eta * squares / 2 + others
    assert OGDR(eta=eta).fit(rows).loss_ <= bound + 1e-9


@pytest.mark.parametrize("rule", ["OPAR-I", "OPAR-II"])
@given(rows=ROWS, C=sizes)
def test_a_step_never_raises_the_loss_of_its_own_difference(
    rule: str, rows: Floats, C: float
) -> None:
    x = rows[-1].astype(np.float64)
    before, after = learner(rule, C).fit(rows[:-1]), learner(rule, C).fit(rows)
    assert 1 - float(after.w_ @ x) <= max(1 - float(before.w_ @ x), 0) + 1e-9


@given(ROWS, sizes)
def test_weights_are_bounded_by_their_steps(rows: Floats, C: float) -> None:
    longest = np.sqrt(np.square(rows.astype(np.float64)).sum(axis=1)).max()
    assert np.linalg.norm(OPARI(C=C).fit(rows).w_) <= C * len(rows) * longest + 1e-9


@pytest.mark.parametrize("rule", ["OPAR-I", "OPAR-II"])
def test_scaled_differences_scale_the_weights(rule: str) -> None:
    rows = ordered(60, 5)
    one = learner(rule, 0.3).fit(rows)
    two = learner(rule, 0.3 / 16).fit(rows * np.float32(4))
    assert two.w_ * 4 == pytest.approx(one.w_, rel=1e-9)


def test_both_variants_become_plain_passive_aggressive_without_a_bound() -> None:
    rows = ordered(50, 4)
    assert OPARI(C=1e12).fit(rows).w_ == pytest.approx(OPARII(C=1e12).fit(rows).w_, rel=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_what_is_ordered_well_enough_is_learnt(rule: str) -> None:
    rows, unseen = ordered(3000, 12), ordered(2000, 12, seed=1)
    w = learner(rule, 0.01, averaged=True).fit(rows).w_
    right = float(np.mean(unseen @ w > 0))
    best = float(np.mean(unseen @ np.linspace(0, 1, 12) > 0))
    assert right > best - 0.02


def test_loops_run_with_the_compiler_off() -> None:
    code = (
        "import numpy as np; from sightline.combiners.opar import OPR, OPARI, OPARII, OGDR;"
        "from sightline.combiners.second_order import AROW, SCW;"
        "X = np.array([[2, 0], [0, 1], [1, -1]], dtype=np.float32);"
        "print([m.fit(X).w_.round(6).tolist() for m in (OPR(), OPARI(averaged=True), OPARII(),"
        "OGDR(), AROW(), AROW(full=False), SCW(), SCW(variant='SCW-II'))])"
    )
    from sightline.combiners.second_order import AROW, SCW

    X = [[2, 0], [0, 1], [1, -1]]
    models = (
        OPR(), OPARI(averaged=True), OPARII(), OGDR(), AROW(), AROW(full=False), SCW(),
        SCW(variant="SCW-II"),
    )  # fmt: skip
    expected = [m.fit(X).w_.round(6).tolist() for m in models]
    assert output_without_compiler(code).strip() == str(expected)


@pytest.mark.parametrize("rule", ["OPAR-I", "OGDR"])
def test_weights_from_elsewhere_are_gone_on_from(rule: str) -> None:
    rows = ordered(200, 5)
    whole = learner(rule, 0.1).fit(rows)
    first = learner(rule, 0.1).fit(rows[:120])
    second = learner(rule, 0.1).start_from(first.w_).partial_fit(rows[120:])
    assert (second.w_ == whole.w_).all() and second.n_seen_ == 80
    mean = learner(rule, 0.1, averaged=True).start_from(first.w_)
    assert (mean.w_ == first.w_).all()
    for wrong in ([], [[1.0]], [np.nan, 1.0]):
        with pytest.raises(DataError, match="finite numbers in a row"):
            learner(rule, 0.1).start_from(wrong)
