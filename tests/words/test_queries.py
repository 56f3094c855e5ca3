"""Queries made from captions."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import ParameterError
from sightline.words.queries import caption_queries
from tests.naive import words as naive

TERMS = "abcdefg"
CAPTIONS = st.lists(st.tuples(st.integers(0, 9), st.lists(st.sampled_from(TERMS))), max_size=6)
Captions = list[tuple[int, list[str]]]


@given(CAPTIONS, st.sets(st.sampled_from(TERMS)), st.integers(1, 6))
def test_queries_equal_the_naive_ones(
    captions: Captions, vocabulary: set[str], max_len: int
) -> None:
    found = list(caption_queries(captions, vocabulary, max_len))
    assert dict(found) == naive.caption_queries(captions, vocabulary, max_len)
    assert [query for query, _ in found] == sorted(query for query, _ in found)
    assert len(dict(found)) == len(found)


@given(CAPTIONS)
def test_a_longer_query_fits_fewer_pictures(captions: Captions) -> None:
    relevant = {frozenset(query): set(ids) for query, ids in caption_queries(captions)}
    for query, ids in relevant.items():
        assert ids
        for longer, fewer in relevant.items():
            assert not query <= longer or ids >= fewer


@pytest.mark.parametrize("k", range(9))
def test_a_caption_of_k_words_gives_all_its_subsets(k: int) -> None:
    assert len(list(caption_queries([(1, "abcdefghi"[:k])], max_len=9))) == 2**k - 1


def test_a_word_said_twice_counts_once() -> None:
    assert list(caption_queries([(1, ["a", "a"])])) == [(("a",), [1])]


def test_long_captions_are_judged_in_full() -> None:
    found = dict(caption_queries([(2, "zyxwvutsrq"), (1, "z")], max_len=1))
    assert found["z",] == [1, 2]
    assert len(found) == 10


def test_a_picture_given_twice_counts_twice() -> None:
    assert dict(caption_queries([(4, ["a"]), (4, ["a", "b"])]))["a",] == [4, 4]


@given(CAPTIONS, st.integers(1, 30), st.integers(0, 3))
def test_sampled_queries_are_judged_on_full_captions(
    captions: Captions, limit: int, seed: int
) -> None:
    full = dict(caption_queries(captions, max_len=4))
    some = list(caption_queries(captions, max_len=4, max_queries_per_caption=limit, seed=seed))
    assert all(full[query] == ids for query, ids in some)
    assert [query for query, _ in some] == sorted({query for query, _ in some})


@given(CAPTIONS)
def test_a_wide_limit_leaves_nothing_out(captions: Captions) -> None:
    full = list(caption_queries(captions))
    assert list(caption_queries(captions, max_queries_per_caption=2**7)) == full


@pytest.mark.parametrize("limit", [1, 5, 11, 12, 40, 77, 78, 79, 200])
def test_a_long_caption_gives_short_queries_first(limit: int) -> None:
    queries = [
        query for query, _ in caption_queries([(1, "abcdefghijkl")], max_queries_per_caption=limit)
    ]
    assert len(queries) == limit
    assert sum(len(query) == 1 for query in queries) == min(limit, 12)
    assert sum(len(query) == 2 for query in queries) == min(max(limit - 12, 0), 66)


def test_the_choice_depends_on_the_caption_and_the_seed_only() -> None:
    long: tuple[int, list[str]] = (1, list("abcdefghij"))
    one = dict(caption_queries([long], max_queries_per_caption=20))
    assert one == dict(caption_queries([(1, long[1][::-1])], max_queries_per_caption=20))
    more = dict(caption_queries([(2, ["x", "y"]), long], max_queries_per_caption=20))
    assert set(more) - set(one) == {("x",), ("y",), ("x", "y")}
    assert set(one) != set(dict(caption_queries([long], max_queries_per_caption=20, seed=1)))


def test_a_huge_caption_is_bounded() -> None:
    caption = [f"w{i}" for i in range(10_000)]
    found = list(caption_queries([(1, caption)], max_len=10_000, max_queries_per_caption=50))
    assert len(found) == 50


def test_queries_come_one_by_one() -> None:
    endless = caption_queries([(1, [f"w{i:03d}" for i in range(500)])], max_len=500)
    assert next(islice(endless, 2, None))[0] == ("w000", "w001", "w002")


def test_no_captions_no_queries() -> None:
    assert list(caption_queries([])) == []
    assert list(caption_queries([(1, []), (2, ["x"])], vocabulary=())) == []


def test_parameters_are_checked_at_once() -> None:
    with pytest.raises(ParameterError, match=r"'max_len' .* Got 0"):
        caption_queries([], max_len=0)
    with pytest.raises(ParameterError, match=r"'max_queries_per_caption' .* Got 0"):
        caption_queries([], max_queries_per_caption=0)
