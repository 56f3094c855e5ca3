"""Judging at the command line: rounds driven by lines of answers, sessions listed and reverted."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from sightline.cli.dialogue.answers import read_answer
from sightline.cli.dialogue.terminal import drawn, way_to_show
from sightline.collection import Collection
from sightline.errors import UsageError
from tests.cli.test_commands import Shell
from tests.factories.judging_collections import judge_with_label_noise, judged_collection, kind_of


@pytest.fixture
def shell(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    judged_collection(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    return Shell(capfd, tmp_path / "photos", tmp_path / "store")


def say(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def rounds(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_answers_are_learnt_from_round_by_round(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, "1-3 y", "4,5 n", "why 1", "1 y", "u", "q")
    ran = shell("judge", "--like", "1", "-t", "5", "--json")
    assert ran.code == 0, ran.err
    first, second = rounds(ran.out)
    assert [h["hit"] for h in first["hits"]] == [1, 2, 3, 4, 5] and first["like"] == [1]
    assert (first["relevant"], first["other"], second["relevant"]) == (0, 0, 3)
    assert second["round"] == 1 and second["session"] == first["session"]
    assert second["blend"]["before"] is not None and second["blend"]["share"] <= 1
    judged = {h["picture"]: h["judged"] for h in second["hits"]}
    assert judged[first["hits"][0]["picture"]] is True
    assert "undid the judgement of 0" in ran.err and "the untrained order" in ran.err
    assert f"session {first['session']}: 3 fit, 2 do not" in ran.err


def test_hits_are_asked_for_one_by_one_and_resumed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, "y", "s", "n")
    ran = shell("judge", "--query", "word2", "-t", "3")
    assert ran.code == 0, ran.err
    table = [line.split("\t") for line in ran.out.splitlines()]
    assert [row[0] for row in table] == ["1", "2", "3"] * 2
    assert [row[3] for row in table[:3]] == ["", "", ""]
    session = ran.err.split("sightline judge --resume ")[1].split()[0]
    say(monkeypatch, "q")
    again = shell("judge", "--resume", session, "--undo", "--json", "-t", "3")
    assert (rounds(again.out)[0]["relevant"], rounds(again.out)[0]["other"]) == (1, 0)
    other = shell("judge", "--resume", session, "--propose", "--json", "-t", "4")
    assert len(rounds(other.out)[0]["hits"]) == 4


def test_hits_that_were_skipped_or_judged_give_way_to_others(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, "s", "", "1-3 y", "1-3 y", "1,2 y", "q")
    ran = shell("judge", "--like", "1", "-t", "3", "--json")
    assert ran.code == 0, ran.err
    shown = [[h["picture"] for h in r["hits"]] for r in rounds(ran.out)]
    # Nothing was judged of the first three, so three others come, and no skipped one again.
    assert len(shown) == 4 and not set(shown[0]) & {p for r in shown[1:] for p in r}
    for r in rounds(ran.out)[1:]:
        assert any(h["judged"] is None for h in r["hits"])
    assert sum("were all judged, 3 of them to fit" in s for r in rounds(ran.out) for s in r["said"])


def test_an_answer_of_an_earlier_round_is_taken_back_by_name(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, "1 y", "2,3 n", "u", "u", "q")
    ran = shell("judge", "--like", "1", "-t", "3", "--json")
    assert ran.code == 0, ran.err
    first, second, third, fourth = rounds(ran.out)
    assert (second["relevant"], second["other"], third["relevant"], third["other"]) == (1, 2, 1, 0)
    assert fourth["hits"] == first["hits"]
    names = [Path(h["path"]).name for h in first["hits"]]
    assert f"undid the judgement of {names[1]}, {names[2]}\n" in ran.err
    assert f"undid the judgement of {names[0]}\n" in ran.err


def test_hits_are_drawn_anew_once_what_made_them_is_taken_back(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What fits stands first, so it is among the hits before and after.
    say(monkeypatch, "1 n", "2 y", "", "u", "q")
    ran = shell("judge", "--like", "1", "-t", "4", "--json")
    assert ran.code == 0, ran.err
    _, second, third = rounds(ran.out)
    assert (second["relevant"], second["other"]) == (1, 1)
    assert (third["relevant"], third["other"]) == (0, 1)
    assert {h["judged"] for h in third["hits"]} <= {None, False}


def test_a_skip_is_an_answer_that_can_be_taken_back(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, "y", "s", "u", "n", "", "", "u", "q")
    ran = shell("judge", "--like", "1", "-t", "4", "--json")
    assert ran.code == 0, ran.err
    first, second, third, fourth = rounds(ran.out)
    names = [Path(h["path"]).name for h in first["hits"]]
    assert f"undid the skip of {names[1]}\n" in ran.err
    assert "undid the judgement" not in ran.err
    assert [h["judged"] for h in second["hits"]].count(True) == 1 and second["other"] == 1
    # Passing over all hits is taken back as well: the same ones come again.
    assert fourth["hits"] == second["hits"] != third["hits"]
    assert ran.err.count("undid the skip of") == 2


@pytest.mark.parametrize("way", ["--hide-judged", "--propose", "--no-thumbnails"])
def test_what_is_doubted_is_asked_about_first_and_may_be_insisted_on(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    c = Collection.open(shell.photos, store=shell.store)
    with c.judge(pictures=1) as session:
        unfit = judge_with_label_noise(session)
    # It is insisted on, taken back, and insisted on again; then a new picture is asked about.
    say(monkeypatch, "n", "u", "n", "3 n", "")
    ran = shell("judge", "--resume", session.id, "-t", "3", "--json", way)
    assert ran.code == 0, ran.err
    first, second = rounds(ran.out)
    assert first["hits"][0]["picture"] == unfit
    assert [h["slip"] for h in first["hits"]] == [True, False, False, False]
    assert ran.err.count("undid the judgement of") == 1
    assert unfit not in {h["picture"] for h in second["hits"] if h["slip"]}
    assert c.sessions.get(session.id).positive == 13


def test_filters_are_those_of_search(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = {
        h["picture"] for h in json.loads(shell("similar", "1", "-t", "200", "--json").out)["hits"]
    }
    ran = shell("judge", "--like", "1", "--untagged", "--json", "-t", "200")
    assert ran.code == 0, ran.err
    shown = {h["picture"] for h in rounds(ran.out)[0]["hits"]}
    assert len(shown) == 60 and shown < plain
    assert shell("judge", "--like", "1", "--min-mb", "1").err.count("leave none") == 1
    wrong = shell("judge", "--query", "word2", "--folder", "nowhere")
    assert wrong.code == 2 and "There is no folder nowhere" in wrong.err


def test_a_session_is_listed_saved_and_reverted(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, "1-4 y", "save my find", "5 n", "q")
    ran = shell("judge", "--query", "word2", "-t", "5")
    assert ran.code == 0 and "4 pictures with the word 'my find' now" in ran.err
    found = shell("search", '"my find"', "--json")
    hits = json.loads(found.out)["hits"]
    assert len(hits) == 4 and all(kind_of(h["picture"]) == 2 for h in hits)
    listed = shell("sessions")
    (row,) = [line.split("\t") for line in listed.out.splitlines()]
    assert row[2:] == ["4/1", "1", "saved as my find", "word2"]
    (told,) = json.loads(shell("sessions", "--json").out)
    assert told["id"] == row[0] and told["words"] == ["my find"] and told["state"] == "saved"
    assert "would revert 5 judgements" in shell("sessions", "revert", row[0], "--dry-run").out
    done = shell("sessions", "revert", row[0])
    assert done.code == 0 and "reverted 5 judgements and 1 word of" in done.out
    assert json.loads(shell("sessions", "--json").out)[0]["state"] == "reverted"
    assert "was reverted before" in shell("sessions", "revert", row[0]).err
    assert json.loads(shell("search", '"my find"', "--json").out)["hits"] == []
    refused = shell("judge", "--resume", row[0])
    assert refused.code == 2 and "was reverted" in refused.err


def test_wrong_use_is_refused_in_a_line(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, code, message in (
        (["judge"], 2, "Name one thing to judge by"),
        (["judge", "--query", "word2", "--like", "1"], 2, "Name one thing to judge by"),
        (["judge", "--query", "word2", "--undo"], 2, "Name it with --resume"),
        (["judge", "--resume", "nope"], 1, "There is no session 'nope'"),
        (["judge", "--like", "nowhere.jpg"], 1, "There is no picture nowhere.jpg"),
        (["sessions", "revert", "nope"], 1, "There is no session 'nope'"),
    ):
        ran = shell(*arguments)
        assert ran.code == code and message in ran.err and ran.err.count("\n") == 1
    assert "Nothing was judged yet" in shell("sessions").err
    say(monkeypatch, "1 y", "9 y")
    ran = shell("judge", "--query", "word2", "-t", "3")
    assert ran.code == 2 and "Line 2 of the answers: There are hits 1 to 3. Got 9." in ran.err
    # What came before it is kept.
    assert json.loads(shell("sessions", "--json").out)[0]["relevant"] == 1


def test_an_empty_ranking_ends_the_dialogue(shell: Shell) -> None:
    ran = shell("judge", "--query", "unheard")
    assert ran.code == 0 and ran.out == "" and "No picture has the word 'unheard'" in ran.err
    assert shell("sessions", "--json").out.strip() == "[]"


@pytest.mark.parametrize(
    ("text", "what", "hits"),
    [
        ("", "next", ()), ("u", "undo", ()), ("Q", "quit", ()), ("?", "help", ()),
        ("y", "fits", (2,)), ("no", "other", (2,)), ("skip", "skip", (2,)),
        ("1-3 y", "fits", (0, 1, 2)), ("n 4,6", "other", (3, 5)), ("1 3-4 n", "other", (0, 2, 3)),
        ("2,2 y", "fits", (1,)), ("why", "why", (2,)), ("why 5", "why", (4,)),
    ],
)  # fmt: skip
def test_what_a_line_says(text: str, what: str, hits: tuple[int, ...]) -> None:
    answer = read_answer(text + "\n", 6, 2)
    assert (answer.what, answer.hits) == (what, hits)


@pytest.mark.parametrize(
    "text", ["maybe", "0 y", "7 y", "3-1 y", "a-b n", "1-3", ", y", "99999999 y"]
)
def test_what_no_line_can_say(text: str) -> None:
    with pytest.raises(UsageError):
        read_answer(text, 6, 0)


@pytest.mark.parametrize(
    ("environment", "way"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM": "foot"}, "sixel"),
        ({"TERM": "xterm-256color"}, ""),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, ""),
        ({"TERM": "screen-256color", "TERM_PROGRAM": "iTerm.app"}, ""),
        ({}, ""),
    ],
)
def test_what_a_terminal_can_show_is_told_by_its_environment(
    environment: dict[str, str], way: str
) -> None:
    assert way_to_show(environment, True) == way
    assert way_to_show(environment, False) == ""


def test_thumbnails_are_drawn_as_each_terminal_wants_them() -> None:
    import base64

    import numpy as np
    from PIL import Image

    from sightline.pictures.thumbnails import thumbnail

    rgb = np.zeros((60, 90, 3), np.uint8)
    rgb[:, 45:] = 255
    jpeg = thumbnail(rgb)
    assert drawn(jpeg, "") == ""
    iterm = drawn(jpeg, "iterm")
    assert base64.b64decode(iterm.partition(":")[2].removesuffix("\x07")) == jpeg
    kitty = drawn(jpeg, "kitty")
    pieces = [p.partition(";") for p in kitty.split("\x1b\\") if p]
    assert all(p[0].startswith("\x1b_G") and len(p[2]) <= 4096 for p in pieces)
    png = Image.open(io.BytesIO(base64.b64decode("".join(p[2] for p in pieces))))
    assert png.size == (90, 60)
    sixel = drawn(jpeg, "sixel")
    assert sixel.startswith('\x1bPq"1;1;90;60') and sixel.endswith("\x1b\\")
    assert sixel.count("-") == 10  # sixty rows are ten bands
