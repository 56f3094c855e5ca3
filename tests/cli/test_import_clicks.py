"""`sightline import clicks` as people see it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.test_commands import Shell
from tests.factories.click_logs import ubi_event, ubi_query, write_lines
from tests.factories.photos import make_photos


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    shell = Shell(capfd, make_photos(tmp_path / "photos"), tmp_path / "store")
    shell.index()
    return shell


def log(tmp_path: Path) -> str:
    records = [
        ubi_query("1", "winter", ["000.jpg", "x.jpg", "004.jpg"]), ubi_event("1", "004.jpg", 3),
        ubi_query("2", "?", ["000.jpg"]), ubi_event("2", "000.jpg", 1, "hover"),
    ]  # fmt: skip
    path = Path(write_lines(tmp_path / "log.ndjson", records))
    path.write_text(path.read_text() + "{cut\n")
    return str(path)


def test_it_says_what_was_taken_in_and_what_was_left_out(shell: Shell, tmp_path: Path) -> None:
    path = log(tmp_path)
    dry = shell("import", "clicks", path, "--dry-run")
    assert dry.code == 0 and "1 list would be new, 0 were known" in dry.out
    ran = shell("import", "clicks", path)
    assert ran.code == 0
    assert "1 list for 1 query, 1 click, 1 time clicked over skipped above" in ran.out
    assert "eta 1.00 (assumed: too few pictures" in ran.out
    assert "1 list is new, 0 were known" in ran.out and "sightline train" in ran.out
    assert "log.ndjson, line 5: not JSON" in ran.err and "no picture here: x.jpg" in ran.err
    for reason in ("query without words", "event 'hover'", "record that cannot be read"):
        assert f"left out, 1 time: {reason}" in ran.err
    again = shell("import", "clicks", path)
    assert "0 lists are new, 1 were known" in again.out and "session" not in again.out


def test_it_answers_programs(shell: Shell, tmp_path: Path) -> None:
    path = log(tmp_path)
    said = json.loads(shell("import", "clicks", path, "--json", "--eta", "0.5").out)
    assert said["added"] == said["lists"] == said["clicks"] == said["pairs"] == 1
    assert said["eta"] == {"value": 0.5, "how": "given", "error": None, "clicks": 0}
    assert said["files"][0]["format"] == "UBI"
    assert said["files"][0]["session"].startswith("clicks-")
    assert said["unknown"] == {"names": ["x.jpg"], "count": 1}
    assert len(said["problems"]) == 1 and said["dry_run"] is False


def test_lists_that_were_known_with_fewer_clicks_are_counted(shell: Shell, tmp_path: Path) -> None:
    records = [ubi_query("1", "sea", ["000.jpg", "004.jpg"]), ubi_event("1", "000.jpg")]
    shell("import", "clicks", write_lines(tmp_path / "first", records))
    more = write_lines(tmp_path / "more", [*records, ubi_event("1", "004.jpg")])
    said = "new, 1 were known with fewer clicks, 0 were known as they are"
    assert f"0 lists would be {said}" in shell("import", "clicks", more, "--dry-run").out
    ran = shell("import", "clicks", more).out
    assert f"0 lists are {said}" in ran and "session clicks-" in ran
    assert json.loads(shell("import", "clicks", more, "--json").out)["grown"] == 0


def test_only_sessions_that_were_given_lists_are_named(shell: Shell, tmp_path: Path) -> None:
    queries = write_lines(tmp_path / "queries", [ubi_query("1", "sea", ["000.jpg"])])
    events = write_lines(tmp_path / "events", [ubi_event("1", "000.jpg")])
    ran = shell("import", "clicks", queries, events).out
    (named,) = re.findall(r"clicks-\w+", ran)
    assert f"session {named}. To learn" in ran and f"{named}\t" in shell("sessions").out
    again = json.loads(shell("import", "clicks", queries, events, "--json").out)
    assert [f["session"] for f in again["files"]] == [None, None] and again["added"] == 0
    shell("sessions", "revert", named)
    files = json.loads(shell("import", "clicks", queries, events, "--json").out)["files"]
    assert [f["session"] for f in files] == [f"{named}-2", None]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["log", "--eta", "much"], 2, "neither a number nor auto"),
        (["log", "--eta", "9"], 2, "must be from 0 to 3"),
        ([], 2, "Missing argument"),
        (["none"], 1, "There is no file"),
        (["."], 1, "is not a file"),
    ],
)
def test_wrong_use_is_one_line(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int,
    said: str,
) -> None:  # fmt: skip
    write_lines(tmp_path / "log", [ubi_query("1", "sea", ["000.jpg"]), ubi_event("1", "000.jpg")])
    monkeypatch.chdir(tmp_path)
    ran = shell("import", "clicks", *arguments)
    assert ran.code == code and said in ran.err


def test_the_group_lists_its_command(shell: Shell) -> None:
    assert "clicks" in shell("import", "--help", place=False).out


def test_an_import_is_a_session_that_can_be_taken_back(shell: Shell, tmp_path: Path) -> None:
    path = log(tmp_path)
    session = json.loads(shell("import", "clicks", path, "--json").out)["files"][0]["session"]
    assert f"{session}\t" in shell("sessions").out and "\t1 list\t" in shell("sessions").out
    dry = shell("sessions", "revert", session, "--dry-run")
    assert "would revert 1 list with clicks" in dry.out
    assert "reverted 1 list with clicks" in shell("sessions", "revert", session).out
    assert "reverted" in shell("sessions").out
    assert json.loads(shell("import", "clicks", path, "--json").out)["added"] == 1
