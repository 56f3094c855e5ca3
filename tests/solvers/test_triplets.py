"""Triplets: by which law they are drawn, in what order, and what is left out."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import DataError, ParameterError
from sightline.solvers import _triplets_fast
from sightline.solvers.targets import Targets, from_indicator, from_judgements
from sightline.solvers.triplets import CHUNK, Sampling, TripletSampler
from tests.naive import solvers as naive

Y = np.array([[1, 0, 1, 1, 0], [1, 1, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 0, 1, 0], [1, 0, 0, 1, 0]])


def targets() -> Targets:
    """Four words that pictures have, one of them all pictures, and one that none has."""
    return from_indicator(Y, len(Y))


def share(sampler: TripletSampler, n: int) -> dict[tuple[int, int, int], float]:
    drawn = zip(*(part.tolist() for part in sampler.draw(n)), strict=True)
    return {triplet: times / n for triplet, times in Counter(drawn).items()}


def lists(t: Targets) -> tuple[list[list[int]], list[list[int]]]:
    fits = [t.queries.relevant_to(i).tolist() for i in range(len(t.queries))]
    return fits, [[p for p in range(t.n_pictures) if p not in fit] for fit in fits]


@pytest.mark.parametrize("pairs", [1, 8])
def test_queries_are_drawn_alike_then_pictures(pairs: int) -> None:
    found = share(TripletSampler(targets(), "query", pairs), 60_000)
    fits, others = lists(targets())
    wanted = {
        (q, p, m): 1 / (3 * len(fits[q]) * len(others[q]))
        for q in range(3)
        for p in fits[q]
        for m in others[q]
    }
    assert set(found) == set(wanted)
    assert all(abs(found[k] - wanted[k]) < 5 * (wanted[k] / 60_000) ** 0.5 for k in wanted)


@pytest.mark.parametrize("pairs", [1, 8])
def test_triplets_are_drawn_alike(pairs: int) -> None:
    found = share(TripletSampler(targets(), "triplet", pairs), 60_000)
    fits, others = lists(targets())
    n = sum(len(f) * len(o) for f, o in zip(fits, others, strict=True))
    assert len(found) == n == 16
    assert all(abs(s - 1 / n) < 5 * (1 / n / 60_000) ** 0.5 for s in found.values())


def test_one_pair_a_query_is_the_naive_loop() -> None:
    sampler = TripletSampler(targets(), pairs_per_query=1, seed=4)
    fits, others = lists(targets())
    wanted = naive.triplets(int(sampler.state[0]), fits, others, 200)
    assert list(zip(*(p.tolist() for p in sampler.draw(200)), strict=True)) == wanted


@pytest.mark.parametrize("sampling", ["query", "triplet"])
def test_blocks_come_in_the_order_of_queries(sampling: Sampling) -> None:
    sampler = TripletSampler(targets(), sampling, pairs_per_query=7, seed=2)
    assert sampler.block == 7 * 3
    query, plus, _ = sampler.draw(63)
    for block in range(0, 63, 21):
        pairs = list(zip(query[block : block + 21], plus[block : block + 21], strict=True))
        assert pairs == sorted(pairs)
    assert len(list(groupby(query.tolist()))) > 3, "more than one block"


def test_long_runs_of_one_query_are_in_order_too() -> None:
    t = from_indicator(np.arange(200)[:, None] < 100, 200)
    _, plus, minus = TripletSampler(t, pairs_per_query=500).draw(500)
    assert (np.diff(plus) >= 0).all() and plus.max() < 100 <= minus.min()


def test_portions_are_one_stream() -> None:
    whole = TripletSampler(targets(), pairs_per_query=8, seed=3).draw(50_000)
    parts = list(TripletSampler(targets(), pairs_per_query=8, seed=3).portions(50_000))
    assert len(parts) > 1
    for i in range(3):
        assert np.array_equal(np.concatenate([p[i] for p in parts]), whole[i])


def test_seeds() -> None:
    def first(seed: int | np.random.Generator | None) -> bytes:
        return b"".join(p.tobytes() for p in TripletSampler(targets(), seed=seed).draw(100))

    assert first(1) == first(1) != first(2)
    assert first(np.random.default_rng(1)) == first(1)
    assert first(None) != first(None)


def test_what_cannot_be_learnt_from_is_dropped_and_counted() -> None:
    sampler = TripletSampler(targets())
    assert (sampler.n_dropped, sampler.usable.tolist()) == (1, [0, 1, 2]), "all pictures fit word 3"
    judged = from_judgements([1, 0, 1, 1, 0], ["a", "a", "b", "b", "c"], 5)
    assert TripletSampler(judged).n_dropped == 2
    with pytest.raises(DataError, match="None of the 1 queries has both a picture that fits it"):
        TripletSampler(from_indicator([[1], [1]], 2))


def test_judged_queries_draw_judged_pictures_alone() -> None:
    judged = from_judgements([1, 0, 0, 1, 0, 1], ["a", "a", "b", "b", "a", "b"], 6)
    found = share(TripletSampler(judged), 3000)
    assert set(found) == {(0, 0, 1), (0, 0, 4), (1, 3, 2), (1, 5, 2)}


@given(st.sets(st.integers(0, 30), max_size=30))
def test_every_other_picture_has_its_number(fit: set[int]) -> None:
    others = [p for p in range(31) if p not in fit]
    ascending = np.array([99, *sorted(fit), 5])
    found = [_triplets_fast.nth_negative(ascending, 1, len(fit) + 1, n) for n in range(len(others))]
    assert found == others


def many() -> Targets:
    """Twelve words on 1,000 pictures, each word on neighbours and on a few others."""
    rng = np.random.default_rng(1)
    y = rng.random((1_000, 12)) < 0.01
    for word in range(12):
        y[80 * word : 80 * word + 40 + word, word] = True
    return from_indicator(y, len(y))


@pytest.mark.parametrize("sampling", ["query", "triplet"])
def test_a_portion_has_pictures_of_its_own_and_draws_pairs_by_their_chance(
    sampling: Sampling,
) -> None:
    t = many()
    sampler = TripletSampler(t, sampling, seed=5, among=200)
    fits, _ = lists(t)
    weights = [len(f) * (1_000 - len(f)) if sampling == "triplet" else 1.0 for f in fits]
    chances = [w / len(f) for w, f in zip(weights, fits, strict=True)]
    seen: set[int] = set()
    for pictures, (query, plus, minus) in sampler.divided(40_000):
        assert (np.diff(pictures) > 0).all() and len(query) == len(plus) == len(minus)
        chunks, counts = np.unique(pictures // CHUNK, return_counts=True)
        assert len(chunks) == 4 and (counts >= 1_000 % CHUNK).all()
        seen |= set(chunks.tolist())
        drawn = Counter(zip(query.tolist(), pictures[plus].tolist(), strict=True))
        wanted = naive.shares_of_pairs(fits, pictures.tolist(), chances)
        assert set(drawn) <= set(wanted)
        by_query = np.bincount(query, minlength=12)
        for q in range(12):
            expected = len(query) * sum(s for (of, _), s in wanted.items() if of == q)
            # Each block is right but for one triplet.
            assert abs(by_query[q] - expected) <= 1 + len(query) / sampler.block + 1
        others = zip(query.tolist(), pictures[minus].tolist(), strict=True)
        assert all(p not in fits[q] for q, p in others)
    assert seen == set(range(-(-1_000 // CHUNK)))


def test_pictures_of_a_query_are_drawn_alike_over_many_portions() -> None:
    t = many()
    query, plus, minus = TripletSampler(t, seed=2, among=300).draw(4_000_000)
    share = np.bincount(query, minlength=12) / len(query)
    assert share == pytest.approx(np.full(12, 1 / 12), rel=0.1)
    of_first = np.bincount(plus[query == 3], minlength=1_000)
    fit = lists(t)[0][3]
    assert set(np.flatnonzero(of_first)) == set(fit)
    assert of_first[fit] / of_first.sum() == pytest.approx(np.full(len(fit), 1 / len(fit)), rel=0.3)
    assert np.bincount(minus, minlength=1_000).min() > 0


def test_rounds_change_the_order_alone() -> None:
    t = many()
    plain, together = (TripletSampler(t, seed=3, rounds=r) for r in (1, 4))
    assert together.block == 4 * plain.block
    query, plus, _ = together.draw(together.block)
    assert (np.diff(query) >= 0).all()
    assert abs(np.bincount(query) - 32).max() < 32
    for q in range(12):
        own = plus[query == q]
        for first in range(0, len(own), 8):
            assert (np.diff(own[first : first + 8]) >= 0).all()
        assert (np.diff(own) < 0).any(), "every eight by themselves"


def test_a_portion_without_any_triplet_is_not_yielded() -> None:
    y = np.zeros((640, 1))
    y[:3] = 1
    sampler = TripletSampler(from_indicator(y, 640), among=64)
    query, plus, minus = sampler.draw(1_000)
    assert (len(query), set(plus.tolist())) == (1_000, {0, 1, 2}) and minus.min() > 2


def test_judged_pictures_and_the_order_of_drawing_are_never_divided() -> None:
    judged = from_judgements([1, 0, 0, 1, 0, 1], ["a", "a", "b", "b", "a", "b"], 6)
    assert TripletSampler(judged, among=2).among == 0
    assert TripletSampler(many(), pairs_per_query=1, among=64).among == 0
    assert TripletSampler(many(), among=1_000).among == 0


def test_parameters() -> None:
    with pytest.raises(ParameterError, match=r"'sampling' parameter .* Got 'pairs'"):
        TripletSampler(targets(), "pairs")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"'pairs_per_query' parameter .* at least 1. Got 0"):
        TripletSampler(targets(), pairs_per_query=0)
