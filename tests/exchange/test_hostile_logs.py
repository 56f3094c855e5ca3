"""Click logs made to do harm: each is told by line and value, and what is sound in it is read."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest

from sightline.exchange.clicklogs import ClickLog, read_clicks
from tests.factories.click_logs import (
    Record,
    interaction,
    ranking,
    ubi_event,
    ubi_query,
    write_array,
    write_lines,
)

GOOD: list[Record] = [ubi_query("1", "sea", ["a.jpg", "b.jpg"]), ubi_event("1", "b.jpg", 2)]


def sound(log: ClickLog) -> bool:
    """Say whether the good records were read."""
    return [(i.query, i.clicked) for i in log.impressions if i.query == "sea"] == [
        ("sea", ("b.jpg",))
    ]


def read_text(path: Path, *records: str) -> ClickLog:
    path.write_text("\n".join([json.dumps(GOOD[0]), *records, json.dumps(GOOD[1])]))
    return read_clicks([str(path)])


@pytest.mark.parametrize(
    ("place", "got"),
    [
        ("-1", "-1"), ("0", "0"), ("NaN", "nan"), ("Infinity", "inf"), ("-Infinity", "-inf"),
        ("1e400", "inf"), ("1" + 400 * "0", "1" + 39 * "0"), ("1000001", "1000001"),
        ("2.0", "2.0"), ('"1"', "'1'"), ("[1]", "[1]"), ("{}", "{}"),
    ],
)  # fmt: skip
def test_a_place_that_is_none_is_told(tmp_path: Path, place: str, got: str) -> None:
    record = json.dumps(ubi_event("1", "a.jpg", 7, "impression")).replace(
        '"ordinal": 7', f'"ordinal": {place}'
    )
    log = read_text(tmp_path / "log", record)
    assert log.skipped.named == [
        f"log, line 2: a place must be a whole number from 1 on. Got {got}"
    ]
    assert sound(log)


def test_numbers_too_long_to_be_read_are_told(tmp_path: Path) -> None:
    record = json.dumps(ubi_event("1", "a.jpg", 7, "impression")).replace("7", "9" * 5_000)
    log = read_text(tmp_path / "log", record)
    assert "log, line 2: not JSON (Exceeds the limit" in log.skipped.named[0] and sound(log)


@pytest.mark.parametrize("depth", [50, 900, 980, 2_000, 100_000])
def test_deep_nesting_ends_nothing(tmp_path: Path, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    records = [
        deep,
        f'{{"query_id": "2", "user_query": {deep}}}',
        f'{{"query_id": "2", "user_query": "x", "query_response_hit_ids": [{deep}, "c"]}}',
        f'{{"query_id": "1", "action_name": "click", "event_attributes": {deep}}}',
        f'{{"event": "ranking", "id": "r", "items": {{"a": {deep}}}}}',
        f'{{"event": "interaction", "ranking": "r", "type": {deep}}}',
    ]
    log = read_text(tmp_path / "log", *records)
    assert sound(log)
    assert [n.split(":")[0] for n in log.skipped.named] == [f"log, line {k}" for k in range(2, 8)]


def test_bytes_that_are_no_text_are_told_in_lines_and_arrays(tmp_path: Path) -> None:
    wrong = json.dumps(ubi_query("2", "sky", ["c.jpg"])).encode().replace(b"c.jpg", b"c\xff.jpg")
    good = [json.dumps(r).encode() for r in GOOD]
    (tmp_path / "a").write_bytes(b"\n".join([good[0], wrong, good[1]]))
    (tmp_path / "b").write_bytes(b"[\n" + b",\n".join([good[0], wrong, good[1]]) + b"]")
    by_line, by_array = (read_clicks([str(tmp_path / n)]) for n in "ab")
    assert sound(by_line) and sound(by_array)
    assert "a, line 2: not JSON ('utf-8' codec can't decode byte 0xff" in by_line.skipped.named[0]
    assert by_array.skipped.named == ["b, line 3: not UTF-8 (byte 0xff)"]
    assert len(by_line.impressions) == len(by_array.impressions) == 1


def test_ids_given_twice_are_told_and_the_first_counts(tmp_path: Path) -> None:
    again = ubi_query("1", "sky", ["b.jpg", "c.jpg"])
    log = read_clicks([write_lines(tmp_path / "log", [GOOD[0], again, again, GOOD[1], GOOD[1]])])
    assert sound(log) and len(log.impressions) == 1
    assert log.skipped.named == [f"log, line {k}: the list '1' was given before" for k in (2, 3)]
    assert log.skipped.counts == {"list given twice": 2, "picture clicked again": 1}
    both = [
        ranking("1", "sea", ["a.jpg", "b.jpg"]),
        ranking("1", "sky", []),
        interaction("1", "b.jpg"),
    ]
    log = read_clicks([write_lines(tmp_path / "log", both)])
    assert sound(log) and log.skipped.named == ["log, line 2: the list '1' was given before"]


def test_names_and_words_without_end_take_no_memory_to_speak_of(tmp_path: Path) -> None:
    """A line of 100 MB is passed over in portions, and so are names of a megabyte each."""
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.write(json.dumps(GOOD[0]).encode() + b'\n{"query_id": "')
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n')
        for i in range(50):
            file.write(json.dumps(ubi_event("1", "n" * 900_000 + str(i))).encode() + b"\n")
        file.write(json.dumps(GOOD[1]).encode())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    log = read_clicks([str(path)])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64_000
    assert (
        sound(log) and log.skipped.named[0] == "log, line 2: the line has more than 1,048,576 bytes"
    )
    assert log.skipped.counts["name that is no text or number"] == 50
    assert all(len(line) < 200 for line in log.skipped.named)


def test_one_list_with_very_many_clicks(tmp_path: Path) -> None:
    many = [ubi_event("1", f"made-up-{i % 1_000}.jpg", 1) for i in range(20_000)]
    log = read_clicks([write_array(tmp_path / "log", [*GOOD, *many], None)])
    assert sound(log) and log.clicks == 1_001
    assert log.skipped.counts == {
        "picture clicked again": 19_000, "click on what was not shown": 1_000,
    }  # fmt: skip
