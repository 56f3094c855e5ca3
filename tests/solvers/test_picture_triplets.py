"""Triplets of pictures: who comes first, how often, and what is left out and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sightline.errors import DataError, ParameterError
from sightline.solvers.picture_triplets import (
    Law,
    PictureTriplets,
    of_classes,
    of_judgements,
    of_tags,
)

CLASSES = np.array([0, 1, 0, 2, 1, 0, 3])
TAGS = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]])


def triples(found: PictureTriplets) -> list[tuple[int, int, int]]:
    return list(zip(found.query.tolist(), found.first.tolist(), found.second.tolist(), strict=True))


@pytest.mark.parametrize("law", ["pairs", "queries"])
def test_pictures_of_the_querys_class_come_first(law: Law) -> None:
    found = of_classes(CLASSES, 3000, law=law)
    assert len(found) == 3000 and (found.y == 1).all()
    expected = {
        (q, p, o)
        for q in range(7)
        for p in range(7)
        for o in range(7)
        if p != q and CLASSES[p] == CLASSES[q] != CLASSES[o]
    }
    assert set(triples(found)) == expected
    assert found.n_dropped == 2 and found.n_equal == 0


def test_all_relevant_pairs_come_equally_often() -> None:
    found = of_classes(CLASSES, 20)
    times = Counter(zip(found.query.tolist(), found.first.tolist(), strict=True))
    assert len(times) == 8 and sorted(times.values()) == [2] * 4 + [3] * 4
    assert len(of_classes(CLASSES)) == 8


def test_queries_come_equally_often_where_asked_for() -> None:
    found = of_classes(np.array([0, 0, 0, 0, 1, 1]), 6000, law="queries")
    times = np.bincount(found.query, minlength=6)
    assert times == pytest.approx(np.full(6, 1000), abs=120)


def test_queries_and_pictures_may_be_chosen() -> None:
    found = of_classes(CLASSES, 500, queries=[0, 3], pictures=[1, 2, 4, 5])
    assert set(found.query.tolist()) == {0} and found.n_dropped == 1
    assert set(found.first.tolist()) == {2, 5} and set(found.second.tolist()) == {1, 4}


@pytest.mark.parametrize("law", ["pairs", "queries"])
@pytest.mark.parametrize("table", [np.asarray, csr_matrix])
def test_pictures_that_share_tags_come_first(law: Law, table: Callable[[object], object]) -> None:
    found = of_tags(table(TAGS), 2000, law=law)
    shared = TAGS @ TAGS.T
    expected = {
        (q, p, o)
        for q in range(5)
        for p in range(5)
        for o in range(5)
        if len({q, p, o}) == 3 and shared[q, p] > 0 and shared[q, o] == 0
    }
    assert set(triples(found)) == expected
    assert len(found) == 2000 and found.n_equal == 0
    more = of_tags(table(TAGS), 2000, least=2, law=law)
    assert set(zip(more.query.tolist(), more.first.tolist(), strict=True)) == {(0, 2), (2, 0)}


def test_judgements_make_all_pairs_of_different_grades() -> None:
    query, picture = [9, 9, 9, 8, 8, 7], [1, 2, 3, 1, 2, 1]
    found = of_judgements(query, picture, [2, 0, 1, 0, 0, 1])
    assert sorted(triples(found)) == [(9, 1, 2), (9, 1, 3), (9, 3, 2)]
    assert found.n_dropped == 2
    assert len(of_judgements(query, picture, [2, 0, 1, 0, 0, 1], 7)) == 3
    some = of_judgements(query, picture, [2, 0, 1, 0, 0, 1], 2)
    assert len(set(triples(some))) == 2 and set(triples(some)) < set(triples(found))


def test_the_last_of_contradicting_judgements_wins() -> None:
    found = of_judgements([5, 5, 5, 5, 5], [1, 2, 1, 2, 2], [1, 0, 0, 0, 1])
    assert triples(found) == [(5, 2, 1)]
    assert found.n_contradicted == 3


def test_triplets_of_equal_pictures_are_left_out_and_counted() -> None:
    found = PictureTriplets.of([0, 0, 1, 2], [1, 1, 1, 3], [2, 1, 3, 2])
    assert triples(found) == [(0, 1, 2)] and found.n_equal == 3
    copies = np.array([0, 1, 2, 1, 4, 5, 6])
    made = of_classes(CLASSES, 1000, copies=copies)
    assert made.n_equal > 0 and len(made) + made.n_equal == 1000
    assert all(len({copies[i] for i in t}) == 3 for t in triples(made))
    assert of_judgements([0, 0], [1, 0], [1, 0]).n_equal == 1


@pytest.mark.parametrize("seed", [0, 7])
def test_the_same_seed_draws_the_same(seed: int) -> None:
    draws: tuple[Callable[[int], PictureTriplets], ...] = (
        lambda s: of_classes(CLASSES, 90, random_state=s),
        lambda s: of_tags(TAGS, 90, random_state=s),
        lambda s: of_judgements([0] * 9, range(1, 10), range(9), random_state=s),
    )
    for draw in draws:
        assert triples(draw(seed)) == triples(draw(seed))
        assert triples(draw(seed)) != triples(draw(seed + 1))


def test_lists_hold_each_picture_once() -> None:
    found = PictureTriplets.of([0, 0, 4, 0], [1, 2, 1, 1], [2, 3, 2, 3], [1, 1, -1, 1])
    assert [part.tolist() for part in found.lists()] == [
        [0, 0, 0, 4, 4],
        [1, 2, 3, 1, 2],
        [1, 0, 0, 0, 1],
    ]


def test_wrong_input_is_named() -> None:
    with pytest.raises(DataError, match="nothing to learn"):
        of_classes([1, 1, 1], 5)
    with pytest.raises(DataError, match=r"must be 1 or -1\. Got 2"):
        PictureTriplets.of([0], [1], [2], [2])
    with pytest.raises(DataError, match="Got 1, 2, 1 and 1"):
        PictureTriplets.of([0], [1, 2], [2])
    with pytest.raises(DataError, match="negative"):
        PictureTriplets.of([-1], [1], [2])
    with pytest.raises(DataError, match="whole numbers"):
        PictureTriplets.of([0.5], [1], [2])
    with pytest.raises(DataError, match="Got position 7"):
        of_classes(CLASSES, 5, queries=[7])
    with pytest.raises(DataError, match="finite"):
        of_judgements([0], [1], [np.nan])
    with pytest.raises(ParameterError, match="'law'"):
        of_classes(CLASSES, 5, law="all")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'n'"):
        of_classes(CLASSES, 0)
    with pytest.raises(ParameterError, match="'least'"):
        of_tags(TAGS, 5, least=0)
