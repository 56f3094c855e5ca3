"""Click logs: both formats, whole and broken, and nothing in a file ends the reading of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.exchange import impressions, json_records
from sightline.exchange.clicklogs import read_clicks
from tests.factories.click_logs import (
    Record,
    interaction,
    ranking,
    ubi_event,
    ubi_query,
    write_array,
    write_lines,
)

UBI = [ubi_query("1", "red sea", ["a.jpg", "b.jpg", "c.jpg"]), ubi_event("1", "b.jpg", 2)]
GOOD = [*UBI, ubi_query("2", "sea", ["b.jpg"])]


def test_ubi_as_lines_as_an_array_and_in_two_files_is_the_same(tmp_path: Path) -> None:
    one = read_clicks([write_lines(tmp_path / "a.ndjson", GOOD)])
    (first, second) = one.impressions
    assert (first.query, first.shown) == ("red sea", ("a.jpg", "b.jpg", "c.jpg"))
    assert (first.ranks, first.clicked) == ((1, 2, 3), ("b.jpg",))
    assert second.clicked == () and second.key != first.key
    assert (one.formats, one.records, one.clicks) == (("UBI",), 3, 1) and not one.skipped.counts
    assert read_clicks([write_array(tmp_path / "b.json", GOOD)]).impressions == one.impressions
    assert (
        read_clicks([write_array(tmp_path / "c.json", GOOD, None)]).impressions == one.impressions
    )
    events = write_lines(tmp_path / "events", [r for r in GOOD if "action_name" in r])
    queries = write_array(tmp_path / "queries", [r for r in GOOD if "action_name" not in r])
    assert read_clicks([queries, events]).impressions == one.impressions
    turned = read_clicks([events, queries]).impressions
    assert [(i.key, i.clicked, i.file) for i in turned] == [
        (first.key, ("b.jpg",), 1), (second.key, (), 1)
    ]  # fmt: skip


def test_metarank(tmp_path: Path) -> None:
    log = read_clicks(
        [
            write_lines(
                tmp_path / "log",
                [
                    {"event": "item", "item": "x", "fields": []},
                    {"event": "user", "user": "u"},
                    interaction("r", "y.png"),
                    ranking("r", "grey cat", ["x.png", "y.png"]),
                    ranking("n", None, ["x.png"]),
                    interaction(None, "x.png"),
                    interaction("r", "x.png", "impression"),
                ],
            )
        ]
    )
    (only,) = log.impressions
    assert (only.query, only.shown, only.clicked) == ("grey cat", ("x.png", "y.png"), ("y.png",))
    assert log.formats == ("Metarank",)
    assert log.skipped.counts == {
        "ranking without a query": 1, "click without a list": 1, "event 'impression'": 1
    }  # fmt: skip


def test_impression_events_tell_what_was_shown_where(tmp_path: Path) -> None:
    records = [
        {"query_id": "1", "user_query": "sea"},
        ubi_event("1", "d", 12, "impression"),
        ubi_event("1", "c", 11, "impression"),
        ubi_event("1", "d", 12),
        ubi_event("1", "x", 13),
    ]
    log = read_clicks([write_lines(tmp_path / "log", records)])
    (only,) = log.impressions
    assert (only.shown, only.ranks, only.clicked) == (("c", "d"), (11, 12), ("d",))
    assert log.skipped.counts == {"click on what was not shown": 1}


@pytest.mark.parametrize("made", [ubi_query, ranking])
def test_names_that_cannot_be_used_leave_their_places_empty(
    tmp_path: Path, made: Callable[[str, str, list[object]], Record]
) -> None:
    shown: list[object] = ["a.jpg", None, "b.jpg", "a.jpg", "", "c.jpg"]
    clicks = [ubi_event("1", "c.jpg", 6)] if made is ubi_query else [interaction("1", "c.jpg")]
    log = read_clicks([write_lines(tmp_path / "log", [made("1", "sea", shown), *clicks])])
    (only,) = log.impressions
    assert (only.shown, only.ranks) == (("a.jpg", "b.jpg", "c.jpg"), (1, 3, 6))
    # The click says that it was at the sixth place, and so does the list.
    assert log.skipped.counts == {"name that is no text or number": 1, "picture twice in a list": 1}


def test_exported_documents_and_bulk_files_are_read(tmp_path: Path) -> None:
    bulk: list[Record] = []
    for r in UBI:
        bulk += [{"index": {"_index": "ubi"}}, {"_index": "ubi", "_id": "1", "_source": r}]
    log = read_clicks([write_lines(tmp_path / "log", bulk)])
    assert log.impressions[0].clicked == ("b.jpg",) and not log.skipped.counts


def test_ids_may_be_numbers_and_words_any_text(tmp_path: Path) -> None:
    records = [ubi_query("1", "Straße 東京 🦊", [7, "ü/é.jpg"]), ubi_event("1", 7, 1)]
    for path in (write_lines(tmp_path / "a", records), write_array(tmp_path / "b", records)):
        (only,) = read_clicks([path]).impressions
        assert only.query == "Straße 東京 🦊" and only.shown == ("7", "ü/é.jpg")
        assert only.clicked == ("7",)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (ubi_query("1", "again", ["z"]), "list given twice"),
        ({**ubi_query("9", "x", []), "query_id": None}, "query without query_id"),
        ({**ubi_query("9", "x", ["a"]), "user_query": 5}, "query that is no text"),
        ({**ubi_query("9", "x", ["a"]), "query_response_hit_ids": "a"}, "hits that are no list"),
        (ubi_query("9", "x", []), "list of nothing"),
        (ubi_query("9", "x", ["a", "a"]), "picture twice in a list"),
        (ubi_query("9", "x", ["a", None, True, {}]), "name that is no text or number"),
        ({**ubi_event("1", "b.jpg"), "action_name": 3}, "action that is no text"),
        ({**ubi_event("1", "b.jpg"), "query_id": []}, "event without query_id"),
        ({**ubi_event("1", "b.jpg"), "event_attributes": "no"}, "name that is no text or number"),
        (ubi_event("1", "b.jpg", 2), "picture clicked again"),
        (ubi_event("1", "zzz", 2), "click on what was not shown"),
        (ubi_event("7", "b.jpg", 2), "click without a list"),
        (
            ubi_event("1", "a.jpg", 3),
            "click that was counted at another place than the list has it",
        ),
        (ubi_event("1", "b.jpg", 2, "view"), "event 'view'"),
        (ubi_event("8", "b.jpg", 1, "impression"), "list without a query"),
        (ubi_event("1", "b.jpg", 0, "impression"), "place that is no whole number from 1 on"),
        (ubi_event("1", "b.jpg", -3, "impression"), "place that is no whole number from 1 on"),
        (ubi_event("1", "b.jpg", 1.5, "impression"), "place that is no whole number from 1 on"),
        (ubi_event("1", "b.jpg", True, "impression"), "place that is no whole number from 1 on"),
        (ubi_event("1", "b.jpg", None, "impression"), "place that is no whole number from 1 on"),
        ({"hello": 1}, "record of no known kind"),
        ({"event": "ranking", "items": [1]}, "ranking without id"),
        ({"event": "ranking", "id": "r", "items": {}}, "items that are no list"),
        ({"event": "interaction", "ranking": "r"}, "interaction without type"),
        ([1, 2], "record that cannot be read"),
        ("text", "record that cannot be read"),
        (None, "record that cannot be read"),
    ],
)
def test_a_bad_record_is_counted_by_reason_and_nothing_else_is_lost(
    tmp_path: Path, record: object, reason: str
) -> None:
    for path in (
        write_lines(tmp_path / "a", [*UBI, record, *GOOD[2:]]),
        write_array(tmp_path / "b", [*UBI, record, *GOOD[2:]]),
    ):
        log = read_clicks([path])
        assert dict(log.skipped.counts) == {reason: 1}
        assert {i.query: i.clicked for i in log.impressions if i.query != "x"} in (
            {"red sea": ("b.jpg",), "sea": ()},
            {"red sea": ("a.jpg", "b.jpg"), "sea": ()},
        )


def test_a_place_given_to_two_pictures_keeps_the_first(tmp_path: Path) -> None:
    records = [
        ubi_query("1", "sea", []),
        ubi_event("1", "a", 1, "impression"),
        ubi_event("1", "b", 1, "impression"),
        ubi_event("1", "a", 3, "impression"),
        ubi_event("1", "c", 2, "impression"),
        ubi_event("1", "c", 2),
    ]
    log = read_clicks([write_lines(tmp_path / "log", records)])
    (only,) = log.impressions
    assert (only.shown, only.ranks, only.clicked) == (("a", "c"), (1, 2), ("c",))
    assert log.skipped.counts == {"place taken twice": 1, "picture twice in a list": 1}
    assert log.skipped.named[0] == "log, line 3: place 1 of '1' has a picture already"


def test_bad_lines_are_named_by_number(tmp_path: Path) -> None:
    path = tmp_path / "log"
    good = [json.dumps(r).encode() for r in GOOD]
    deep = b"[" * 200_000
    path.write_bytes(
        b"\n".join([good[0], b'{"cut": ', b"", b"\xff\xfe{}", deep, good[1], good[2][:-9]])
    )
    log = read_clicks([str(path)])
    assert [i.clicked for i in log.impressions] == [("b.jpg",)]
    assert [n.split(":")[0] for n in log.skipped.named] == [f"log, line {k}" for k in (2, 4, 5, 7)]
    assert log.skipped.counts == {"record that cannot be read": 4}


def test_a_huge_line_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_records, "MAX_RECORD", 2_000)
    monkeypatch.setattr(json_records, "_PORTION", 500)
    huge = ubi_query("9", "x" * 5_000, ["a"])
    log = read_clicks([write_lines(tmp_path / "a", [GOOD[0], huge, *GOOD[1:]])])
    assert log.skipped.named == ["a, line 2: the line has more than 2,000 bytes"]
    assert len(log.impressions) == 2
    cut = read_clicks([write_array(tmp_path / "b", [*GOOD, huge, *GOOD])])
    assert "more than 2,000 characters" in cut.skipped.named[0] and len(cut.impressions) == 2


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_arrays_are_read_in_portions_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(json_records, "_PORTION", size)
    records = [ubi_query("1", "東京 é", ["ü.jpg", "🦊.jpg"]), ubi_event("1", "🦊.jpg", 2)]
    path = write_array(tmp_path / "log", records)
    text = Path(path).read_text(encoding="utf-8")
    Path(path).write_text("\ufeff" + text, encoding="utf-8")
    told: list[tuple[int, str]] = []
    with open(path, "rb") as file:
        found = list(
            json_records._of_array(file, lambda n, what: told.append((n, what)), lambda n: None)
        )
    assert [r.body for r in found] == records and not told
    begins = text.rindex("{", 0, text.index('"action_name"'))
    assert found[1].line == 1 + text[:begins].count("\n")


def test_an_array_that_is_cut_off_keeps_what_was_whole(tmp_path: Path) -> None:
    path = Path(write_array(tmp_path / "log", GOOD))
    whole = path.read_bytes()
    for end in range(len(whole) - 30, len(whole) - 1, 7):
        path.write_bytes(whole[:end])
        log = read_clicks([str(path)])
        assert log.impressions[0].clicked == ("b.jpg",)
        assert log.skipped.counts == {"record that cannot be read": 1}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no record in it"),
        (b"[]", "no record in it"),
        (b"hello\nworld\n", "line 1: not JSON"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "zero bytes"),
        (b"\x1f\x8b\x08", "is compressed"),
        (b'{"a": 1}\n', "neither UBI nor Metarank: its names are 'a'"),
        ("sea".encode("utf-16"), "zero bytes"),
    ],
)
def test_what_is_no_click_log_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_clicks([str(path)])


def test_what_is_no_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="is not a file"):
        read_clicks([str(tmp_path)])
    with pytest.raises(DataError, match="There is no file"):
        read_clicks([str(tmp_path / "none")])
    monkeypatch.setattr(json_records, "MAX_FILE", 10)
    with pytest.raises(DataError, match="at most 10 are read"):
        read_clicks([write_lines(tmp_path / "log", GOOD)])


def test_clicks_without_lists_are_refused_and_it_is_said_why(tmp_path: Path) -> None:
    for records in ([ubi_event("1", "a", 1)], [interaction("r", "x")]):
        with pytest.raises(DataError) as refused:
            read_clicks([write_lines(tmp_path / "log", records)])
        said = str(refused.value)
        assert "1 clicks and no list" in said and "cannot be learned from" in said
        assert "query_response_hit_ids" in said and "1 times: click without a list" in said


def test_lists_without_clicks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Nothing was clicked in the 1 lists"):
        read_clicks([write_lines(tmp_path / "log", GOOD[:1])])


def test_a_log_that_is_too_much_at_once_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(impressions, "MAX_PLACES", 3)
    with pytest.raises(DataError, match="Split it into several files"):
        read_clicks([write_lines(tmp_path / "log", GOOD)])
    monkeypatch.setattr(impressions, "MAX_PLACES", 100)
    monkeypatch.setattr(impressions, "MAX_SHOWN", 2)
    log = read_clicks([write_lines(tmp_path / "log", GOOD)])
    assert log.impressions[0].shown == ("a.jpg", "b.jpg")
    assert log.skipped.counts == {"end of a list longer than 2": 1}


_KEYS = (
    "query_id", "user_query", "query_response_hit_ids", "action_name", "event", "items", "object",
    "event_attributes", "object_id", "position", "ordinal", "id", "fields", "name", "value", "type",
    "ranking", "item", "_source", "index",
)  # fmt: skip
_WORDS = ("click", "impression", "ranking", "interaction", "query", "b.jpg", "5")


def nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    records = st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5)
    return st.one_of(inner, st.lists(inner, max_size=3), records)


_values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
    st.sampled_from(_WORDS),
)  # fmt: skip


@given(st.lists(nested(nested(nested(_values))), max_size=6))
def test_no_record_whatever_ends_the_reading(
    tmp_path_factory: pytest.TempPathFactory, records: list[object]
) -> None:
    path = tmp_path_factory.mktemp("any") / "log"
    log = read_clicks([write_lines(path, [*GOOD, *records])])
    assert {"red sea", "sea"} <= {i.query for i in log.impressions}
    assert log.impressions[0].clicked == ("b.jpg",)
