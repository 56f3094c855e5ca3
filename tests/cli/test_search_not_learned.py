"""Words that were not learned, as people see them at the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from tests.cli.test_commands import Shell
from tests.factories.photos import paint_some_with_words
from tests.factories.plugins import plugged


@pytest.fixture(autouse=True)
def _plugin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("SIGHTLINE_WORKERS", "1")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with plugged(monkeypatch):
        yield


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    photos = paint_some_with_words(tmp_path / "photos")
    (photos / "006_x.txt").write_text("red, warm, bathes")
    c = Collection.open(photos, store=tmp_path / "store", workers=1)
    c.index(features=["mean-colour"], compute=InlineCompute())
    c.train(rankers=["ridge"])
    return Shell(capfd, photos, tmp_path / "store")


def test_search_names_words_that_were_not_learned(shell: Shell) -> None:
    ran = shell("search", "red bathes", "-t", "40")
    assert ran.code == 0 and ran.err.splitlines() == [
        "not learned: bathes (on 1 picture)",
        "learned words near bathes: red, warm",
    ]
    lines = [line.split("\t") for line in ran.out.splitlines()]
    assert lines[0][1].endswith("006_x.png") and lines[0][0] == "exact"
    alone = shell("search", "red", "-t", "40").out.splitlines()
    learnt = [line for line in alone if "%\t" in line]
    assert learnt and set(learnt) <= set(ran.out.splitlines())
    ran = shell("search", "red xyzzy")
    assert ran.err.splitlines()[-1] == "not learned: xyzzy (on no picture)" and ran.out
    frequent = shell("search", "xyzzy").err.splitlines()[-1]
    assert frequent.startswith("Frequent words of this collection: cold, warm, ")
    ran = shell("search", "bathes")
    assert ran.err.splitlines() == [
        "not learned: bathes (on 1 picture)",
        "learned words near bathes: red, warm",
        "nothing is predicted: the model has learned none of the words",
    ]
    assert shell("search", "red bathes", "--no-learnt").err == ""


def test_json_has_them_as_values(shell: Shell) -> None:
    said = json.loads(shell("search", "red bathes xyzzy", "--json").out)
    assert said["not_learned"] == [
        {"word": "bathes", "pictures": 1, "near": ["red", "warm"]},
        {"word": "xyzzy", "pictures": 0, "near": []},
    ]
    assert said["predicted"] is True and any(h["learnt"] for h in said["hits"])
    assert json.loads(shell("search", "red", "--json").out)["not_learned"] == []
    assert json.loads(shell("search", "bathes", "--json").out)["predicted"] is False


def test_why_and_runs_of_many_queries_name_them_too(shell: Shell) -> None:
    ran = shell("search", "red bathes", "--untagged", "-t", "1", "--why")
    assert "not learned: bathes (on 1 picture)" in ran.err
    assert "bathes  0  not learned, so it does not count (not tagged)" in ran.out
    assert "drew " in ran.err
    ran = shell("search", "red bathes", "--trec")
    assert "'red bathes': not learned: bathes (on 1 picture)" in ran.err and ran.out


def test_judge_names_them(shell: Shell) -> None:
    ran = shell("judge", "--query", "red bathes", "--json", "-t", "3")
    assert "not learned: bathes (on 1 picture)" in ran.err
    said = json.loads(ran.out.splitlines()[0])
    bathes = {"word": "bathes", "pictures": 1, "near": ["red", "warm"]}
    assert said["not_learned"] == [bathes] and said["predicted"]


def test_what_decided_on_words_with_a_sign_is_printed(shell: Shell) -> None:
    ran = shell("search", "warm -red -bathes", "-t", "3")
    assert ran.code == 0 and ran.err.splitlines() == [
        "-red by tags where there are tags, else by prediction (tag on 15 pictures)",
        "-bathes by tags (tag on 1 picture)",
    ]
    constraints = json.loads(shell("search", "+red", "--json").out)["constraints"]
    assert constraints == [{"word": "red", "required": True, "tagged": 15, "predicted": True}]
    assert shell("search", "warm", "-t", "3").err == ""


def test_mistyped_words_are_searched_as_what_was_meant_and_that_is_said(shell: Shell) -> None:
    ran = shell("search", "yelow -Warrm", "-t", "3")
    first, second = ran.err.splitlines()[:2]
    assert first == 'searched yellow for yelow; to search yelow as typed, put it in quotes: "yelow"'
    assert second.startswith("searched warm for warrm")
    hits = ran.out.splitlines()
    assert ran.code == 0 and not any("exact" in line for line in hits)
    said = json.loads(shell("search", "yelow", "--json").out)
    assert said["corrections"] == [{"typed": "yelow", "searched": ["yellow"]}]
    assert (
        said["unknown"] == []
        and said["hits"] == json.loads(shell("search", "yellow", "--json").out)["hits"]
    )
    for insist in (['"yelow"'], ["yelow", "--verbatim"]):
        ran = shell("search", *insist)
        assert "No picture has the word 'yelow'. Did you mean: yellow?" in ran.err and not ran.out


def test_judge_and_why_follow_the_corrected_query(shell: Shell) -> None:
    said = json.loads(shell("judge", "--query", "yelow", "--json", "-t", "3").out.splitlines()[0])
    assert said["query"] == "yellow" and said["corrections"][0]["typed"] == "yelow"
    ran = shell("search", "yelow", "--untagged", "-t", "1", "--why")
    assert "searched yellow for yelow" in ran.err and "yellow  " in ran.out


def test_a_text_for_the_search_box_is_sent_to_the_search_by_texts(shell: Shell) -> None:
    ran = shell("search", " ".join(f"word{i}" for i in range(1_000)))
    assert ran.code == 2 and "1,000 characters, this one has 7,889" in ran.err
    assert "sightline search --text-file FILE" in ran.err
    ran = shell("search", " ".join(f"w{i}" for i in range(100)))
    assert ran.code == 2 and "64 terms, this one has 100" in ran.err
    assert shell("search", "red -red").code == 2
