"""What combiners learn from: lists, differences, triplets of pictures, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.combiners import examples
from sightline.combiners.examples import JudgedLists, differences, judging, lists
from sightline.errors import DataError, UsageError
from sightline.similarity.pairs import PairsOf, Phi
from sightline.solvers.picture_triplets import PictureTriplets, of_classes
from tests.naive import combiners as naive


def pictures(n: int = 12) -> PairsOf:
    views = tuple(np.random.default_rng(s).random((n, 4), dtype=np.float32) for s in range(2))
    return Phi.of(views).over(views)


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=9),
        min_size=1,
        max_size=5,
    )
)
def test_the_measure_of_lists_equals_its_twin(drawn: list[list[tuple[int, int]]]) -> None:
    rows = [(s, y, q) for q, part in enumerate(drawn) for s, y in part]
    made = JudgedLists.of([[s] for s, _, _ in rows], [y for _, y, _ in rows], [q for *_, q in rows])
    expected = [
        naive.average_precision([float(s) for s, _ in part], [float(y) for _, y in part])
        for part in drawn
    ]
    assert made.avgp(made.rows[:, 0]) == pytest.approx(np.array(expected), nan_ok=True)
    known = [value for value in expected if value == value]
    mean = float(np.mean(known)) if known else float("nan")
    assert made.mean_avgp(made.rows[:, 0]) == pytest.approx(mean, nan_ok=True)


def test_rows_of_a_query_stay_in_order() -> None:
    made = JudgedLists.of([[1], [2], [3], [4]], [0, 1, 1, 0], ["b", "a", "b", "a"])
    assert made.rows.tolist() == [[2], [4], [1], [3]] and made.relevance.tolist() == [1, 0, 0, 1]
    assert len(made) == 2


def test_triplets_become_the_differences_of_their_pictures() -> None:
    source = pictures()
    triplets = of_classes(np.arange(12) % 3, 50)
    found = differences(triplets, None, None, source, "OPR")
    assert len(found) == 50 and found.n_components == 8
    q, a, b = triplets.query, triplets.first, triplets.second
    assert found.whole() == pytest.approx(source.rows(q, a) - source.rows(q, b), abs=1e-6)


def test_portions_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "_PORTION", 7)
    rows = np.arange(40, dtype=np.float32).reshape(20, 2)
    found = differences(rows, None, None, None, "OPR")
    assert [len(part) for part in found.portions()] == [7, 7, 6]
    assert np.array_equal(found.whole(), rows)
    assert differences(rows[:0], None, None, None, "OPR").whole().shape == (0, 2)


def test_lists_make_every_pair_of_different_relevance_once() -> None:
    X, y, qid = [[1.0], [2.0], [4.0], [8.0], [16.0]], [0, 2, 1, 0, 1], [5, 5, 5, 9, 9]
    found = differences(X, y, qid, None, "OPR").whole()
    assert sorted(found[:, 0].tolist()) == [-2.0, 1.0, 3.0, 8.0]
    some = differences(X, y, qid, None, "OPR", n=2).whole()
    assert len(some) == 2
    again = differences(X, y, qid, None, "OPR", n=2).whole()
    assert np.array_equal(some, again)


def test_triplets_become_lists_of_their_pictures() -> None:
    source = pictures()
    triplets = PictureTriplets.of([0, 0, 5], [1, 1, 2], [2, 3, 7], [1, 1, -1])
    found = lists(triplets, None, None, source, "BestSingle")
    assert found.start.tolist() == [0, 3, 5] and found.relevance.tolist() == [1, 0, 0, 0, 1]
    assert found.rows == pytest.approx(source.rows([0, 0, 0, 5, 5], [1, 2, 3, 2, 7]))


def test_what_is_not_enough_is_refused() -> None:
    triplets = PictureTriplets.of([0], [1], [2])
    with pytest.raises(UsageError, match=r"Phi\.over"):
        differences(triplets, None, None, None, "OPR")
    with pytest.raises(UsageError, match="BestSingle learns from lists"):
        lists([[1.0]], None, None, None, "BestSingle")
    with pytest.raises(UsageError, match="need y"):
        differences([[1.0]], None, [1], None, "OPR")
    with pytest.raises(UsageError, match=r"\(X, y, qid\)"):
        judging(([[1.0]], [1]), "RankNet")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="relevant picture to judge by"):
        judging(([[1.0]], [0], [0]), "RankNet")
    with pytest.raises(DataError, match="1 or -1"):
        differences([[1.0], [2.0]], [1, 0], None, None, "OPR")
    with pytest.raises(DataError, match="one length"):
        JudgedLists.of([[1.0]], [1, 2], [0])
    with pytest.raises(DataError, match="finite"):
        JudgedLists.of([[np.nan]], [1], [0])
    with pytest.raises(DataError, match="at least one picture"):
        JudgedLists.of(np.zeros((0, 2)), [], [])
    with pytest.raises(DataError, match="table"):
        differences([1.0, 2.0], None, None, None, "OPR")
    with pytest.raises(DataError, match="table"):
        differences([["a"]], None, None, None, "OPR")
    with pytest.raises(DataError, match="not a number"):
        JudgedLists.of([[1.0]], [1], [0]).avgp(np.array([np.nan]))
