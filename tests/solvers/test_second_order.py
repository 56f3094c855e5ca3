"""Second-order steps: closed forms against numeric minimisers, guards, limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from sightline.errors import ParameterError
from sightline.solvers import _second_order_fast
from sightline.solvers.pa_step import PASSIVE, REJECTED, UPDATED, ZERO
from sightline.solvers.second_order import AROW, SCW_I, SCW_II, deviations, step_sizes
from tests.naive import solvers as naive

RULES = {"AROW": AROW, "SCW-I": SCW_I, "SCW-II": SCW_II}
cases = st.tuples(
    st.floats(-3, 3), st.floats(1e-6, 9), st.floats(0.01, 10), st.floats(0.1, 3),
    st.sampled_from(sorted(RULES.values())),
)  # fmt: skip


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize("C", [0.1, 1.0, 5.0])
def test_closed_forms_minimise_the_objective_of_one_number(rule: str, C: float) -> None:
    random = np.random.default_rng(4)
    for _ in range(8):
        w, s, x = random.normal(), random.uniform(0.2, 2), random.normal()
        # AROW leaves what has its margin alone, though the variance still has a price.
        w = -abs(w) * np.sign(x) if rule == "AROW" else w
        z = deviations(0.8, "SCW")
        alpha, beta, _ = step_sizes(w * x, s * x * x, C, z, RULES[rule])
        ours = w + alpha * s * x, s - beta * (s * x) ** 2

        def price(
            at: tuple[float, float], w: float = w, s: float = s, x: float = x, z: float = z
        ) -> float:
            return naive.second_order_objective((at[0], math.exp(at[1])), (w, s), x, C, z, rule)

        starts = [(w, math.log(s)), (ours[0] + 0.1, math.log(ours[1]) - 0.1)]
        options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
        found = [minimize(price, at, method="Nelder-Mead", options=options) for at in starts]
        assert price((ours[0], math.log(ours[1]))) <= min(f.fun for f in found) + 1e-9


@given(cases)
def test_a_step_never_makes_the_variance_negative(
    case: tuple[float, float, float, float, int],
) -> None:
    _, variance, *_ = case
    alpha, beta, outcome = step_sizes(*case)
    assert alpha >= 0 and beta >= 0
    assert (outcome == UPDATED) == (alpha > 0)
    assert variance - beta * variance**2 > 0


@given(cases)
def test_the_compiled_step_is_the_same(case: tuple[float, float, float, float, int]) -> None:
    assert _second_order_fast.step_sizes(*case) == pytest.approx(step_sizes(*case), rel=1e-12)


def test_arow_moves_less_and_less_as_r_grows() -> None:
    steps = [step_sizes(0.0, 1.0, r, 0.0, AROW)[0] for r in (0.1, 10.0, 1e6, 1e12)]
    assert steps == sorted(steps, reverse=True) and steps[-1] < 1e-11


@pytest.mark.parametrize("rule", [AROW, SCW_I, SCW_II])
def test_what_cannot_be_learnt_from_is_left_out(rule: int) -> None:
    assert step_sizes(math.nan, 1.0, 1.0, 1.0, rule)[2] == REJECTED
    assert step_sizes(0.0, math.inf, 1.0, 1.0, rule)[2] == REJECTED
    assert step_sizes(0.0, 0.0, 1.0, 1.0, rule) == (0.0, 0.0, ZERO)
    assert step_sizes(5.0, 1.0, 1.0, 1.0, rule) == (0.0, 0.0, PASSIVE)


@pytest.mark.parametrize("eta", [0.5, 1.0, 0.2, math.nan, True])
def test_eta_lies_between_a_half_and_one(eta: float) -> None:
    with pytest.raises(ParameterError, match="'eta' parameter of SCW"):
        deviations(eta, "SCW")
