"""Names of measures and averages over queries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sightline.errors import ParameterError
from sightline.measures import (
    average_precision,
    average_precision_at,
    break_even_point,
    evaluate,
    map_at,
    mean_over,
    measure,
    ndcg_at,
    precision_at,
    rank,
    rankings,
    reciprocal_rank,
)
from tests.factories.fresh_python import imported_by

GRADES = [0, 1, 0, 2, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AvgP", average_precision(GRADES)),
        ("mAP", average_precision(GRADES)),
        ("MAP", average_precision(GRADES)),
        ("P10", precision_at(GRADES, k=10)),
        ("P@3", precision_at(GRADES, k=3)),
        ("p@3", precision_at(GRADES, k=3)),
        ("BEP", break_even_point(GRADES)),
        ("AP@5", average_precision_at(GRADES, k=5)),
        ("AP@180", average_precision_at(GRADES, k=180)),
        ("AP@T", average_precision_at(GRADES, k=4)),
        ("MAP@5", map_at(GRADES, k=5)),
        ("NDCG@3", ndcg_at(GRADES, k=3)),
        ("NDCG", ndcg_at(GRADES)),
        ("MRR", reciprocal_rank(GRADES)),
        ("AUC", (3 + 2 + 2) / 16),
    ],
)
def test_names(name: str, value: float) -> None:
    found = measure(name)
    assert found.name == name
    assert found(GRADES) == pytest.approx(value)


def test_ap_at_t_stops_at_180() -> None:
    grades = [0] * 10 + [1] * 300
    assert measure("AP@T")(grades) == average_precision_at(grades, k=180)


def test_older_discount_by_name() -> None:
    older = measure("NDCG@3", discount="log2(r)")(GRADES)
    assert older == ndcg_at(GRADES, k=3, discount="log2(r)") != ndcg_at(GRADES, k=3)
    assert measure("NDCG", discount="log2(r)")(GRADES) == ndcg_at(GRADES, discount="log2(r)")
    with pytest.raises(ParameterError, match="left out: AvgP has none"):
        measure("AvgP", discount="log2(r)")


@pytest.mark.parametrize("name", ["", "P", "P@", "P@0", "NDCG@0", "recall", "P@-1", "P@1.5", "@3"])
def test_unknown_names_list_the_known(name: str) -> None:
    with pytest.raises(ParameterError, match=r"Known are AvgP, .* BEP, MRR, AUC, .* NDCG@k"):
        measure(name)


def test_mean_over_leaves_nan_out_and_counts_it() -> None:
    found = mean_over("P@1", [1.0, math.nan, 0.0, 0.5])
    assert (found.measure, found.mean, found.n, found.skipped) == ("P@1", 0.5, 3, 1)
    assert math.isnan(found.values[1])
    nothing = mean_over("P@1", [math.nan])
    assert math.isnan(nothing.mean)
    assert (nothing.n, nothing.skipped) == (0, 1)


def test_evaluate_skips_queries_without_a_relevant_picture() -> None:
    queries = [rank([1, 0]), rank([0, 0]), rank([0, 1])]
    found = evaluate(queries, ["AvgP", "P@1", "MRR"])
    assert [m.measure for m in found] == ["AvgP", "P@1", "MRR"]
    assert [m.mean for m in found] == [0.75, 0.5, 0.75]
    assert {(m.n, m.skipped) for m in found} == {(2, 1)}
    assert np.array_equal(found[0].values, [1.0, math.nan, 0.5], equal_nan=True)


def test_evaluate_may_count_them_as_0() -> None:
    queries = [rank([1, 0]), rank([0, 0]), rank([0, 1])]
    (found,) = evaluate(queries, ["AvgP"], empty="zero")
    assert (found.mean, found.n, found.skipped) == (0.5, 3, 0)
    # A query whose pictures are all relevant has no AUC, for another reason than having none.
    (area,) = evaluate([rank([1, 1]), rank([0, 0]), rank([1, 0])], ["AUC"], empty="zero")
    assert (area.mean, area.n, area.skipped) == (0.5, 2, 1)
    with pytest.raises(ParameterError, match="'empty' parameter"):
        evaluate(queries, ["AvgP"], empty="one")  # type: ignore[arg-type]


def test_evaluate_without_queries() -> None:
    (found,) = evaluate([], ["AvgP"])
    assert math.isnan(found.mean)
    assert (found.n, found.skipped) == (0, 0)


def test_rankings_sort_rows_with_shared_ids() -> None:
    scores, relevance = np.ones((2, 3)), [[1, 0, 0], [0, 0, 1]]
    (found,) = evaluate(rankings(scores, relevance, ids=[3, 2, 1]), [measure("MRR")])
    assert found.values.tolist() == [pytest.approx(1 / 3), 1.0]
    (mean,) = evaluate(rankings(scores, relevance, ties="mean"), ["P@1"])
    assert mean.values.tolist() == [pytest.approx(1 / 3)] * 2


def test_rows_must_pair_up() -> None:
    with pytest.raises(ValueError, match="shorter"):
        list(rankings([[1.0], [2.0]], [[1]]))


def test_importing_the_room_brings_in_no_scipy() -> None:
    assert not {"scipy"} & imported_by("sightline.measures")
