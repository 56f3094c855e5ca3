"""TREC runs and qrels."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.measures import (
    Judged,
    RankedList,
    average_precision,
    evaluate,
    judged_run,
    parse_qrels,
    parse_run,
    qrels_lines,
    read_qrels,
    read_run,
    run_lines,
    write_qrels,
    write_run,
)
from sightline.measures.runs import decoded, encoded

BYTE_STRINGS = st.binary(min_size=1, max_size=12).map(os.fsdecode)
IDS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
    BYTE_STRINGS,
    st.from_regex(r"\A(%[0-9a-fA-F]{2}| |%|a){1,6}\Z"),
)
FLOATS = st.floats(allow_nan=False)


@settings(deadline=None)
@given(IDS)
def test_ids_survive(picture: str) -> None:
    word = encoded(picture)
    assert word.isascii()
    assert word.isprintable()
    assert len(word.split()) == 1
    assert decoded(word) == picture


@settings(deadline=None)
@given(st.binary(min_size=1))
def test_bytes_survive(raw: bytes) -> None:
    assert os.fsencode(decoded(encoded(raw))) == raw


@settings(deadline=None)
@given(st.dictionaries(IDS, st.dictionaries(IDS, FLOATS, min_size=1), max_size=3), IDS)
def test_a_run_survives(wanted: dict[str, dict[str, float]], tag: str) -> None:
    lists = [RankedList(q, tuple(x), tuple(x.values())) for q, x in wanted.items()]
    lines = [f"{line}\n".encode() for line in run_lines(lists, tag)]
    found = parse_run(lines)
    assert {x.query: dict(zip(x.ids, x.scores, strict=True)) for x in found} == wanted
    for x in found:
        assert list(x.scores) == sorted(x.scores, reverse=True)


@settings(deadline=None)
@given(st.dictionaries(IDS, st.floats(-5, 5), min_size=1))
def test_qrels_survive(wanted: dict[str, float]) -> None:
    judged = Judged("q 1", tuple(wanted), tuple(wanted.values()))
    assert parse_qrels([line.encode() for line in qrels_lines([judged])]) == (judged,)


def test_ids_of_other_tools_stay_as_they_are() -> None:
    for word in ["clueweb-1%2F7", "50%off", "%", "%zz", "%e9", "caf\u00e9", "a\u00a0b"]:
        assert decoded(word) == word
    (found,) = parse_run(["q Q0 caf\u00e9\u3000x 1 2 t".encode()])
    assert found.ids == ("caf\u00e9\u3000x",)


def test_ranks_follow_score_then_id_as_numbers() -> None:
    lists = [RankedList("sea", ("10", "b", "9", "a", "7"), (1.0, 1.0, 1.0, 1.0, 2.0))]
    assert list(run_lines(lists, "my run")) == [
        "sea Q0 7 1 2.0 my%20run",
        "sea Q0 9 2 1.0 my%20run",
        "sea Q0 10 3 1.0 my%20run",
        "sea Q0 a 4 1.0 my%20run",
        "sea Q0 b 5 1.0 my%20run",
    ]


def test_files(tmp_path: Path) -> None:
    run = (RankedList("my query", ("a b", "c"), (0.1 + 0.2, -1e-300)),)
    qrels = (Judged("my query", ("a b", "c"), (1.0, 0.5)),)
    write_run(tmp_path / "x.run", run)
    write_qrels(tmp_path / "x.qrels", qrels)
    assert read_run(tmp_path / "x.run") == run
    assert read_qrels(tmp_path / "x.qrels") == qrels
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.qrels", "x.run"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_text("old")
    good, bad = RankedList("q", ("a",), (1.0,)), RankedList("q", ("",), (1.0,))
    with pytest.raises(DataError, match="must not be empty"):
        write_run(path, [good, bad])
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("x.run", "old")]


def test_other_tools_files_are_read() -> None:
    text = b"\xef\xbb\xbf1 Q0 d1 1 2.5 t\r\n\r\n1\tQ0\td2  0 -inf t\n2 Q0 d1 1 1e-3 t"
    assert parse_run(text.splitlines(keepends=True)) == (
        RankedList("1", ("d1", "d2"), (2.5, float("-inf"))),
        RankedList("2", ("d1",), (0.001,)),
    )
    assert parse_qrels([b"1 0 d1 -1\n"]) == (Judged("1", ("d1",), (-1.0,)),)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("q Q0 b 1 2.0", "expected 'query Q0 picture rank score tag'"),
        ("q Q0 my cat 1 2.0 t", "expected 'query Q0 picture rank score tag'"),
        ("q Q0 b first 2.0 t", "the rank must be a whole number"),
        ("q Q0 b 1 high t", "the score must be a number"),
        ("q Q0 b 1 nan t", "the score must be a number"),
        ("q Q0 b 1 1_0 t", "the score must be a number"),
        ("q Q0 a 2 1.0 t", "the picture was named before"),
    ],
)
def test_malformed_run_lines_are_named(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "bad.run"
    path.write_text(f"q Q0 a 1 3.0 t\n{line}\n")
    with pytest.raises(DataError) as caught:
        read_run(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line 2: {why}")
    assert message.endswith(f"Got {line!r}.")


@pytest.mark.parametrize("line", ["q 0 b", "q 0 b yes", "q 0 b nan", "q 0 b inf", "q 0 a 1"])
def test_malformed_qrels_lines_are_named(line: str) -> None:
    with pytest.raises(DataError, match=f"^judged.txt, line 2: .* Got '{line}'"):
        parse_qrels([b"q 0 a 1\n", line.encode()], "judged.txt")


@pytest.mark.parametrize(
    ("ids", "scores"), [(("a", "a"), (1.0, 2.0)), (("a",), (1.0, 2.0)), (("a",), (float("nan"),))]
)
def test_impossible_lists_are_not_written(ids: tuple[str, ...], scores: tuple[float, ...]) -> None:
    with pytest.raises(DataError, match="Query 'q'"):
        list(run_lines([RankedList("q", ids, scores)]))
    with pytest.raises(DataError, match="Query 'q'"):
        list(qrels_lines([Judged("q", ids, scores)]))
    with pytest.raises(DataError, match="Query 'q'"):
        judged_run([RankedList("q", ids, scores)], [Judged("q", (), ())])


def test_broken_text_is_no_id() -> None:
    with pytest.raises(DataError, match="not valid text"):
        encoded("\ud800")


def test_a_run_held_against_judgements() -> None:
    run = [RankedList("a", ("2", "10", "1"), (1.0, 1.0, 3.0)), RankedList("c", ("1",), (1.0,))]
    judged = [Judged("a", ("10", "5"), (1.0, 2.0)), Judged("b", ("1",), (1.0,))]
    held = judged_run(run, judged)
    assert (held.queries, held.unjudged) == (("a", "b"), ("c",))
    assert held.rankings[0].grades.tolist() == [0, 0, 1]
    assert average_precision(held.rankings[0]) == pytest.approx((1 / 3) / 2)
    (found,) = evaluate(held.rankings, ["MRR"])
    assert found.values.tolist() == [pytest.approx(1 / 3), 0.0]
    mean = judged_run(run, judged, ties="mean").rankings[0]
    assert average_precision(mean) == pytest.approx((1 / 2 + 1 / 3) / 2 / 2)
