"""Bags: what goes in comes out, in any order, and what cannot be a bag is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.similarity.bags import Bags

SIZES = st.lists(st.integers(0, 4), min_size=1, max_size=8)


def bags_of(sizes: list[int], dim: int = 3, seed: int = 0) -> Bags:
    rng = np.random.default_rng(seed)
    return Bags.from_list([rng.random((n, dim)) for n in sizes], dim)


@given(SIZES, st.data())
def test_some_pictures_are_those_pictures(sizes: list[int], data: Any) -> None:
    bags = bags_of(sizes)
    rows = data.draw(st.lists(st.integers(0, len(sizes) - 1)))
    found = bags.some(rows)
    assert len(found) == len(rows) and found.dim == bags.dim
    for bag, i in zip(found, rows, strict=True):
        assert np.array_equal(bag, bags[i])
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(sizes))] * 2)))
    part = bags[first:last]
    assert part.sizes.tolist() == sizes[first:last]
    assert np.array_equal(part.values, bags.values[bags.start[first] : bags.start[last]])


def test_masks_and_steps_will_do_too() -> None:
    bags = bags_of([1, 2, 0, 3])
    assert bags.some(np.array([True, False, True, True])).sizes.tolist() == [1, 0, 3]
    assert bags[::-1].sizes.tolist() == [3, 0, 2, 1]
    assert np.array_equal(bags[-1], bags[3]) and bags[-1].shape == (3, 3)


def test_empty_pictures_and_no_pictures() -> None:
    bags = Bags.from_list([[], [[1, 2]], np.zeros((0, 2))])
    assert (len(bags), bags.dim, bags.sizes.tolist()) == (3, 2, [0, 1, 0])
    assert bags[0].shape == (0, 2)
    nothing = Bags.from_list([])
    assert (len(nothing), nothing.dim) == (0, 0)
    assert Bags.from_list([[], []], dim=5).values.shape == (0, 5)
    assert len(bags.some([])) == 0 and bags.some([]).dim == 2


def test_descriptors_are_kept_as_float32_side_by_side() -> None:
    whole: Any = np.arange(6).reshape(3, 2)[:, ::-1]
    start: Any = np.array([0, 1, 3], np.int32)
    bags = Bags(whole, start)
    assert bags.values.dtype == np.float32 and bags.values.flags.c_contiguous
    assert bags.start.dtype == np.int64
    assert bags[1].tolist() == [[3, 2], [5, 4]]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e39])
def test_descriptors_must_be_finite(wrong: float) -> None:
    with pytest.raises(DataError, match="finite"):
        Bags.from_list([[[1.0, wrong]]])


def test_what_is_no_bag_is_refused() -> None:
    table: Any = np.ones((3, 2))
    with pytest.raises(DataError, match=r"of one length. Got \[1, 2\]"):
        Bags.from_list([[[1]], [[1, 2]]])
    with pytest.raises(DataError, match=r"of one length. Got \[2, 3\]"):
        Bags.from_list([[[1, 2]]], dim=3)
    with pytest.raises(DataError, match=r"Bag 1 must be a table .* \(2,\)"):
        Bags.from_list([[[1, 2]], [1, 2]])
    with pytest.raises(DataError, match=r"must be a table, one in a row. Got shape \(3,\)"):
        Bags(table[:, 0], np.array([0, 3]))
    for start in ([0, 2], [1, 3], [0, 3, 2, 3], [0, 4]):
        with pytest.raises(DataError, match="must rise from 0 to the 3 descriptors"):
            Bags(table, np.array(start))
    for wrong in (np.array([]), np.array([0.0, 3.0]), np.array([[0, 3]])):
        with pytest.raises(DataError, match="whole numbers in a row"):
            Bags(table, wrong)
    with pytest.raises(IndexError):
        bags_of([1])[1]
