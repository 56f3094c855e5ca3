"""Completions: as a plain look through all words finds them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import ParameterError
from sightline.words.completion import Completions

TERMS = st.dictionaries(st.text("abé 東", min_size=1, max_size=5), st.integers(1, 4), max_size=30)


@given(TERMS, st.text("abé東", max_size=3), st.integers(1, 40))
def test_the_most_frequent_that_begin_so(counts: dict[str, int], prefix: str, k: int) -> None:
    begin = [(t, n) for t, n in counts.items() if t.startswith(prefix)]
    expected = sorted(begin, key=lambda x: (-x[1], x[0]))[:k]
    assert Completions(counts.items()).of(prefix, k) == expected


def test_what_is_typed_is_read_as_in_a_query() -> None:
    words = Completions([("straße".casefold(), 1), ("golden gate", 2), ("don't", 1), ("été", 3)])
    assert words.of("STRASS", 5) == [("strasse", 1)]
    assert words.of(" Golden,  GA", 5) == [("golden gate", 2)]
    assert words.of("don’t", 5) == [("don't", 1)]
    assert words.of("e\u0301t", 5) == [("été", 3)]
    assert words.of("%", 5) == [] == words.of("-", 5)
    assert len(words.of("   ", 5)) == 4 and Completions([]).of("a", 3) == []
    with pytest.raises(ParameterError, match="'k' parameter of vocabulary"):
        words.of("a", 0)
