"""Mixing what shards learnt: in one order, whole at one shard, and refused where it is nonsense."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import ParameterError
from sightline.solvers.mixing import check_mixing, mixed, quotas, shard


@given(st.integers(0, 50), st.integers(1, 9))
def test_every_example_is_dealt_out_once(n: int, shards: int) -> None:
    dealt = [shard(n, shards, s) for s in range(shards)]
    assert sorted(np.concatenate(dealt).tolist()) == list(range(n))
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    assert quotas(n, shards) == [len(d) for d in dealt]


@pytest.mark.parametrize("mix", ["add", "mean"])
def test_one_shard_is_what_it_learnt_bit_by_bit(mix: str) -> None:
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.integers(-6, 6, (40, 30))
    before = (rng.standard_normal((40, 30)) * sizes).astype(np.float32)
    after = before + rng.standard_normal((40, 30)).astype(np.float32)
    found = mixed(before, [after], [7], mix).astype(np.float32)  # type: ignore[arg-type]
    assert found.tobytes() == after.tobytes()


def test_the_mean_weighs_shards_by_their_examples_and_adding_goes_as_far_as_all() -> None:
    rng = np.random.default_rng(1)
    before, ends = rng.standard_normal(5), [rng.standard_normal(5) for _ in range(3)]
    mean = sum(n * e for n, e in zip((1, 2, 5), ends, strict=True)) / 8
    assert np.allclose(mixed(before, ends, [1, 2, 5], "mean"), mean)
    assert np.allclose(mixed(before, ends, [1, 2, 5], "add"), sum(ends) - 2 * before)
    assert mixed(before, [], [], "mean").tolist() == before.tolist()


@pytest.mark.parametrize(
    "wrong",
    [(0, "add", 1), (True, "add", 1), (1.5, "add", 1), (2, "sum", 1), (2, "mean", 0)],
)
def test_nonsense_is_refused(wrong: tuple[object, object, object]) -> None:
    with pytest.raises(ParameterError, match="parameter of PAMIR"):
        check_mixing(*wrong, "PAMIR")
