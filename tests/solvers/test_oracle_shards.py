"""Oracles in shards of lists: bit by bit what one machine finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sightline.errors import ParameterError
from sightline.rankers.lscmr import LSCMR
from sightline.solvers.oracle_shards import OracleShards
from sightline.solvers.oracles import CandidateLists, Criterion, separate


def made(n: int = 23, seed: int = 0) -> tuple[CandidateLists, Any]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 30, n)
    candidates = [rng.integers(0, 50, s) for s in sizes]
    relevance = [np.concatenate([[1, 0], rng.integers(0, 2, s - 2)]) for s in sizes]
    lists = CandidateLists.of(candidates, relevance)
    return lists, rng.standard_normal(len(lists.candidate))


@pytest.mark.parametrize("measure", ["map", "ndcg@5", "p@3", "mrr", "auc"])
@pytest.mark.parametrize("shards", [1, 2, 7, 100])
def test_shards_find_what_one_machine_finds(measure: str, shards: int) -> None:
    lists, scores = made()
    criterion = Criterion.named(measure)
    whole = separate(scores, lists, criterion)
    found = OracleShards(lists, criterion, shards).separate(scores)
    for name in ("counts", "losses", "values"):
        assert getattr(found, name).tobytes() == getattr(whole, name).tobytes()


@pytest.mark.parametrize("solver", ["descent", "planes"])
def test_shards_change_no_bit_of_the_factors(solver: Any) -> None:
    rng = np.random.default_rng(1)
    Q, D = rng.standard_normal((12, 6)), rng.standard_normal((40, 9))
    candidates = [rng.choice(40, 10, replace=False) for _ in range(12)]
    relevance = [[1, 1, 0, 0, 0, 0, 1, 0, 0, 0]] * 12
    given: dict[str, Any] = {"n_components": 3, "max_rounds": 8, "solver": solver}
    one = LSCMR(**given).fit(Q, D, candidates, relevance)
    for shards in (2, 5):
        found = LSCMR(**given, shards=shards).fit(Q, D, candidates, relevance)
        assert found.U_.tobytes() == one.U_.tobytes() and found.V_.tobytes() == one.V_.tobytes()


def test_nonsense_is_refused() -> None:
    lists, _ = made(3)
    with pytest.raises(ParameterError, match="'shards' parameter of LSCMR"):
        OracleShards(lists, Criterion.named("map"), 0)
