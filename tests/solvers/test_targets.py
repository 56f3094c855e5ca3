"""What is to be learnt: queries from tables, from judgements and from elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from sightline.errors import DataError, ParameterError
from sightline.solvers.rows import SparseMatrix, as_rows
from sightline.solvers.targets import (
    QueryWords,
    Targets,
    from_indicator,
    from_judgements,
    from_queries,
    query_set,
)
from sightline.words.queries import caption_queries
from sightline.words.tfidf import idf

Y = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0]])


def as_lists(t: Targets) -> list[tuple[list[int], list[float], list[int]]]:
    q = t.queries
    return [
        (q.terms_of(i).tolist(), q.weight[q.start[i] : q.start[i + 1]].tolist(),
         q.relevant_to(i).tolist())
        for i in range(len(q))
    ]  # fmt: skip


def test_every_word_is_a_query_and_unused_ones_are_none() -> None:
    found = from_indicator(Y, 4)
    assert as_lists(found) == [([0], [1.0], [0, 1, 3]), ([1], [1.0], [0, 2, 3]),
                               ([2], [1.0], [1, 2, 3])]  # fmt: skip
    assert (found.n_words, found.n_pictures, found.n_negative.tolist()) == (4, 4, [1, 1, 1])


@pytest.mark.parametrize("max_len", [1, 2, 3])
def test_sets_of_words_are_the_captions_queries(max_len: int) -> None:
    names = "abcd"
    captions = [(i, [names[w] for w in np.flatnonzero(row)]) for i, row in enumerate(Y)]
    wanted = list(caption_queries(captions, max_len=max_len))
    found = as_lists(from_indicator(Y, 4, max_len))
    assert [(tuple(names[w] for w in words), fit) for words, _, fit in found] == wanted
    weights = idf(Y.sum(axis=0), 4)
    for words, values, _ in found:
        q = weights[words] / np.linalg.norm(weights[words])
        np.testing.assert_allclose(values, q, rtol=1e-6)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_matrix, sp.lil_matrix])
def test_sparse_tables_are_the_same(kind: Any) -> None:
    assert as_lists(from_indicator(kind(Y), 4, 3)) == as_lists(from_indicator(Y, 4, 3))
    assert as_lists(from_indicator(Y.astype(bool), 4, 3)) == as_lists(from_indicator(Y, 4, 3))


def test_explicit_zeros_are_no_words() -> None:
    table = sp.csr_array((np.array([1, 0, 1]), np.array([0, 1, 1]), np.array([0, 2, 3])))
    assert as_lists(from_indicator(table, 2)) == [([0], [1.0], [0]), ([1], [1.0], [1])]


def test_words_known_before_keep_their_weight() -> None:
    known = QueryWords(np.array([3.0, 4.0, 1.0, 1.0]))
    found = as_lists(from_indicator(Y, 4, 2, known))
    np.testing.assert_allclose(found[1][1], [0.6, 0.8], rtol=1e-6)


def test_judgements_are_by_query_with_others_of_their_own() -> None:
    found = from_judgements([2, 0, -1, 0.5, 1], ["b a", "b a", "a", "a b", "a"], 5)
    assert found.vocabulary.words == ("a", "b")
    assert as_lists(found) == [([0], [1.0], [4]), ([0, 1], pytest.approx([2**-0.5] * 2), [3]),
                               ([0, 1], pytest.approx([2**-0.5] * 2), [0])]  # fmt: skip
    assert (found.negative_start.tolist(), found.negative.tolist()) == ([0, 1, 1, 2], [2, 1])
    assert found.n_negative.tolist() == [1, 0, 1]


def test_numbers_are_words_of_their_own() -> None:
    found = from_judgements([1, 0, 1, 0], np.array([4, 4, 1, 1]), 4)
    assert (found.n_words, found.vocabulary.words) == (5, None)
    assert [words for words, _, _ in as_lists(found)] == [[1], [4]]
    unknown = from_judgements([1, 0, 1, 0], [4, 4, 1, 1], 4, QueryWords(np.ones(3)))
    assert [words for words, _, _ in as_lists(unknown)] == [[1], []]


def test_strings_may_be_objects() -> None:
    names = np.array(["a", "bc", "a"], dtype=object)
    assert from_judgements([1, 0, 0], names, 3).vocabulary.words == ("a", "bc")


def test_unknown_words_count_nothing_or_are_refused() -> None:
    known = QueryWords(np.ones(1), ("a",))
    found = from_judgements([1, 0], ["a new", "new"], 2, known)
    assert [words for words, _, _ in as_lists(found)] == [[0], []]
    with pytest.raises(DataError, match=r"'new' is none of the words of the first fit \(1 such"):
        from_judgements([1, 0], ["a new", "new"], 2, known, strict=True)
    with pytest.raises(DataError, match="7 is none of the words"):
        from_judgements([1, 0], [0, 7], 2, QueryWords(np.ones(3)), strict=True)
    with pytest.raises(DataError, match="words had no names"):
        from_judgements([1, 0], ["a", "a"], 2, QueryWords(np.ones(3)))


@pytest.mark.parametrize(
    ("y", "n", "message"),
    [
        (Y[:3], 4, "a row for each picture. Got 4 and 3"),
        (np.zeros((2, 3)), 2, "No picture has a word"),
        ([[2, 0], [0, 1]], 2, "0 and 1 alone"),
        ([[np.nan, 0], [0, 1]], 2, "0 and 1 alone"),
        ([1, 0], 2, "or come with a qid for each row"),
    ],
)
def test_wrong_tables(y: Any, n: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_indicator(y, n)
    with pytest.raises(DataError, match=r"must have 2 columns, a word each. Got 4"):
        from_indicator(Y, 4, 1, QueryWords(np.ones(2)))


@pytest.mark.parametrize(
    ("y", "qid", "message"),
    [
        ([1, 0], ["a"], "of one length"),
        ([1], ["a", "a"], "of one length"),
        ([1, np.inf], ["a", "a"], "must be finite"),
        (["yes", "no"], ["a", "a"], "must be numbers"),
        ([1, 0], [0.5, 0.5], "whole numbers or strings. Got float64"),
        ([1, 0], [-1, 2], "must not be negative. Got -1"),
    ],
)
def test_wrong_judgements(y: Any, qid: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_judgements(y, qid, 2)


def test_queries_from_elsewhere_are_checked() -> None:
    queries = query_set([([1, 0], [0, 2]), ([2], [1])], np.ones(3))
    found = from_queries(queries, 3, n_words=7)
    assert (found.n_words, found.n_negative.tolist()) == (7, [1, 2])
    assert from_queries(queries, 3).n_words == 3
    with pytest.raises(ParameterError, match="'n_words' parameter of fit must be at least 3"):
        from_queries(queries, 3, n_words=2)
    with pytest.raises(DataError, match="names picture 2, but the rows of X are 2"):
        from_queries(queries, 2)
    for fit in ([2, 0], [0, 0]):
        with pytest.raises(DataError, match="ascending order, each of them once"):
            from_queries(query_set([([0], fit), ([1], [0, 1])], np.ones(3)), 3)
    assert len(from_queries(query_set([], np.ones(2)), 3).queries) == 0
    twice = replace(queries, term=np.zeros_like(queries.term))
    with pytest.raises(DataError, match="The words of a query must be in ascending order"):
        from_queries(twice, 3)


def test_rows_are_checked_and_narrow() -> None:
    table = sp.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [5, 5, 2])), shape=(2, 65_536))
    rows = as_rows(table, "PAMIR")
    assert isinstance(rows, SparseMatrix)
    assert rows.indices.dtype == np.uint16
    assert (rows.indices.tolist(), rows.values.tolist()) == ([5, 2], [3.0, 3.0])
    wide = as_rows(sp.csr_array((2, 65_537)), "PAMIR")
    assert isinstance(wide, SparseMatrix) and wide.indices.dtype == np.uint32
    dense = as_rows(np.asfortranarray(np.eye(3)), "PAMIR")
    assert isinstance(dense, np.ndarray)
    assert dense.flags.c_contiguous and dense.dtype == np.float32


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], "a row for each sample"),
        ([[1.0, np.nan]], "PAMIR got 1 that are NaN or inf"),
        ([[1e300, 1.0]], "finite numbers"),
        (sp.csr_array([[np.inf, 1.0]]), "finite numbers"),
        (sp.csr_array([[1e300, 1.0]]), "finite numbers"),
        ([["a", "b"]], "a table of numbers"),
        (np.zeros((2, 0)), "0 feature"),
    ],
)
def test_wrong_rows(X: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_rows(X, "PAMIR")
    with pytest.raises(DataError, match=r"X has 2 features, but PAMIR is expecting 3 features"):
        as_rows([[1, 2]], "PAMIR", 3)
