"""Imports of clicks that mean harm: what one file can move is bounded, and nothing breaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.errors import DataError
from tests.factories.click_logs import Record, ubi_event, ubi_query, write_lines
from tests.factories.judging_collections import events_of, judged_collection, kind_of


def found(c: Collection) -> dict[int, float]:
    """Return P@10 of untagged pictures for each word."""
    out = {}
    for k in range(6):
        hits = c.search(f"word{k}", 10, filters=Filters(untagged=True), cut=False).hits
        out[k] = sum(kind_of(h.picture) == k for h in hits) / 10
    return out


def lies(n: int) -> list[Record]:
    """Return lists for every word in which only what does not fit is clicked, again and again."""
    records: list[Record] = []
    for i in range(n):
        k = i % 6
        wrong = [p for p in range(1, 241) if kind_of(p) != k]
        shown = [wrong[(i * 7 + j) % len(wrong)] for j in range(20)]
        records.append(ubi_query(str(i), f"word{k}", shown))
        records += [ubi_event(str(i), p) for p in shown]
    return records


def test_a_file_of_lies_hardly_moves_any_word(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    c = judged_collection(tmp_path, n=240)
    c.train(rankers=["ridge"], features=["deep"], force=True)
    before = found(c)
    report = c.clicks.import_logs(write_lines(tmp_path / "log", lies(1_200)))
    assert report.clicks == 24_000
    trained = c.train(rankers=["ridge"], features=["deep"], force=True)
    after = found(c)
    # A tenth of the words that pictures have, 240 of them, is all that one file may give.
    assert len(trained.clicks.judgements) == 24 and trained.clicks.capped > 500
    mean = [sum(p.values()) / len(p) for p in (before, after)]
    record_property("P@10 of all words before and after", f"{mean[0]:.3f} {mean[1]:.3f}")
    assert min(before.values()) > 0.8 and mean[0] - mean[1] <= 0.02


def test_the_gate_keeps_lies_out_by_itself(tmp_path: Path) -> None:
    c = judged_collection(tmp_path, n=240)
    c.train(rankers=["ridge"], features=["deep"])
    before = found(c)
    c.clicks.import_logs(write_lines(tmp_path / "log", lies(600)))
    c.train(rankers=["ridge"], features=["deep"])
    assert sum(before.values()) - sum(found(c).values()) <= 0.1


@pytest.mark.parametrize(
    "query",
    ["\ud800 sea", "sea\x00\x1b[31m", "s" * 100_000, "a " * 50_000, "-" * 2_000, '"' * 999, "-sea"],
)
def test_any_query_is_taken_or_left_out_and_said(tmp_path: Path, query: str) -> None:
    c = judged_collection(tmp_path, n=12)
    good = [
        ubi_query("1", "sea", [1, 2]),
        ubi_event("1", 2),
        ubi_query("2", "sea", [1, 2]),
        ubi_event("2", 2),
    ]
    wrong = [
        ubi_query("3", query, [3, 4]),
        ubi_event("3", 4),
        ubi_query("4", query, [3, 4]),
        ubi_event("4", 4),
    ]
    report = c.clicks.import_logs(write_lines(tmp_path / "log", [*good, *wrong]))
    assert report.lists + report.skipped.get("query without words", 0) == 4
    c.train(rankers=["ridge"], features=["deep"], force=True)
    assert c.store.verify().sound
    for e in events_of(c, "clicked"):
        json.dumps(e.body).encode("utf-8")
        assert len(str(e.body["query"])) < 2_000


def test_a_log_of_other_pictures_is_refused_by_name_and_nothing_is_written(tmp_path: Path) -> None:
    c = judged_collection(tmp_path, n=12)
    other = [f"/elsewhere/{i}.jpg" for i in range(100)]
    records = [ubi_query("1", "sea", other), *(ubi_event("1", name) for name in other)]
    with pytest.raises(DataError, match=r"no picture's: /elsewhere/0.jpg. Pictures are found by"):
        c.clicks.import_logs(write_lines(tmp_path / "log", records))
    assert not events_of(c, "clicked") and c.sessions.all() == []
