"""From pictures to words at the command line: describe, topics, and texts as queries."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from tests.cli.test_commands import Shell
from tests.factories.photos import paint_some_with_words
from tests.factories.plugins import plugged


@pytest.fixture(autouse=True)
def _plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with plugged(monkeypatch):
        yield


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    shell = Shell(capfd, paint_some_with_words(tmp_path / "photos"), tmp_path / "store")
    shell.index("mean-colour")
    return shell


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a collection with a model that can tell texts; to be copied."""
    folder = tmp_path_factory.mktemp("telling")
    with pytest.MonkeyPatch.context() as patch, plugged(patch):
        photos = paint_some_with_words(folder / "photos")
        c = Collection.open(photos, store=folder / "store")
        c.index(features=["mean-colour"], compute=InlineCompute())
        c.train(rankers=["lscmr:ndcg@10"])
    return folder


@pytest.fixture
def trained(made: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    """Run commands in a copy of its store; its pictures are shared."""
    shutil.copytree(made / "store", tmp_path / "store")
    return Shell(capfd, made / "photos", tmp_path / "store")


@pytest.fixture
def trained_here(shell: Shell) -> Shell:
    """Train by a command; the pictures may be changed."""
    ran = shell("train", "--ranker", "lscmr", "--optimise", "ndcg@10")
    assert ran.code == 0 and "lscmr:ndcg@10 on mean-colour" in ran.out, ran.err
    assert re.search(r"Rounds: \d+ rounds?, objective 0\.\d+ .*(converged|max_)", ran.out)
    return shell


def test_a_picture_outside_is_described_as_its_twin_inside(trained: Shell, tmp_path: Path) -> None:
    hit = json.loads(trained("search", "red", "--json", "-t", "1").out)["hits"][0]
    file = tmp_path / "mine.jpg"
    shutil.copyfile(hit["path"], file)
    ran = trained("describe", str(file), "--no-cutoff", "-t", "5")
    lines = [line.split("\t") for line in ran.out.splitlines()]
    assert ran.code == 0 and len(lines) == 5, ran.err
    assert all(0 <= float(line[0]) <= 1 for line in lines)
    outside, inside = (
        json.loads(trained("describe", p, "--json", "--no-cutoff").out)
        for p in (str(file), hit["path"])
    )
    assert outside["picture"] is None and inside["picture"] == hit["picture"]
    for a, b in zip(outside["words"], inside["words"], strict=True):
        assert (a["word"], a["fits"]) == (b["word"], b["fits"]) and not a["tagged"]
        assert a["score"] == pytest.approx(b["score"], abs=1e-3)
    # Words that are likely, and more so than on any picture, come first.
    order = [w["score"] * log(max(w["lift"], 1e-12)) for w in inside["words"]]
    assert order == sorted(order, reverse=True) and order[0] > 0 > order[-1]
    rows = list(csv.DictReader(io.StringIO(trained("describe", str(file), "--csv").out)))
    assert [r["word"] for r in rows] == [w["word"] for w in outside["words"] if w["fits"]]


def test_a_picture_of_the_collection_has_its_tags_described(trained: Shell) -> None:
    hit = json.loads(trained("search", "red", "--json", "-t", "1").out)["hits"][0]
    for asked in (str(hit["picture"]), hit["path"]):
        said = json.loads(trained("describe", asked, "--json").out)
        assert said["picture"] == hit["picture"]
        assert "red" in [w["word"] for w in said["words"] if w["tagged"]]


def test_texts_of_the_collection_are_ranked_for_a_picture(trained: Shell, tmp_path: Path) -> None:
    hit = json.loads(trained("search", "red", "--json", "-t", "1").out)["hits"][0]
    file = tmp_path / "mine.jpg"
    shutil.copyfile(hit["path"], file)
    outside, inside = (
        json.loads(trained("describe", p, "--texts", "--json", "--no-cutoff", "-t", "6").out)
        for p in (str(file), hit["path"])
    )
    assert (outside["picture"], inside["picture"]) == (None, hit["picture"])
    told = inside["texts"]
    assert len(told) == 6 and len({t["text"] for t in told}) == 6
    scores = [t["score"] for t in told]
    assert scores == sorted(scores, reverse=True) and 0 <= scores[-1] <= scores[0] <= 1
    assert all(t["fits"] == (t["score"] >= 0.5) and t["pictures"] >= 1 for t in told)
    assert "red" in told[0]["text"]
    assert [t["text"] for t in outside["texts"]] == [t["text"] for t in told]
    assert not any(t["own"] for t in outside["texts"])
    rows = list(csv.DictReader(io.StringIO(trained("describe", str(file), "--texts", "--csv").out)))
    listed = json.loads(trained("describe", str(file), "--texts", "--json").out)["texts"]
    assert listed and [r["text"] for r in rows] == [t["text"] for t in listed]
    assert all(t["fits"] for t in listed)
    lines = trained("describe", str(file), "--texts", "-t", "2").out.splitlines()
    assert lines[0].split("\t")[1] == told[0]["text"]


def texts_of(shell: Shell, picture: str, *more: str) -> list[dict[str, Any]]:
    ran = shell("describe", picture, "--texts", "--json", "--no-cutoff", *more)
    assert ran.code == 0, ran.err
    found: list[dict[str, Any]] = json.loads(ran.out)["texts"]
    return found


def test_equal_texts_are_told_once_with_all_their_pictures(shell: Shell, tmp_path: Path) -> None:
    names = sorted(p.name for p in shell.photos.glob("*.png"))
    table = tmp_path / "more.jsonl"
    orders = (["sea", "sun"], ["sun", "sea"])
    lines = [json.dumps({"path": n, "words": orders[i % 2]}) for i, n in enumerate(names[:12])]
    # Words of a single picture are not learnt, and such texts lie nowhere.
    lines += [json.dumps({"path": n, "words": [f"only{i}"]}) for i, n in enumerate(names[12:15])]
    table.write_text("\n".join(lines))
    for n in names[:15]:
        (shell.photos / n).with_suffix(".txt").unlink(missing_ok=True)
    assert shell("index", "--words", str(table)).code == 0
    assert shell("train", "--ranker", "lscmr").code == 0
    for k in (1, 2, 5, 50):
        told = texts_of(shell, str(shell.photos / names[3]), "-t", str(k))
        assert len(told) <= k
        mine = [t for t in told if {"sea", "sun"} == set(t["text"].split(", "))]
        if k == 50:
            assert len(mine) == 1
        for t in mine:
            assert t["pictures"] == 12 and t["own"] and t["path"] == names[0]
        assert not any("only" in t["text"] for t in told)


def test_texts_are_those_of_the_version_that_is_served(trained_here: Shell) -> None:
    trained = trained_here
    before = texts_of(trained, "1", "-t", "50")
    files = sorted(trained.photos.glob("*.png"))
    version = json.loads(trained("search", "red", "--json").out)["version"]
    worded = [f for f in files if f.with_suffix(".txt").exists()]
    worded[0].with_suffix(".txt").write_text("entirely, different")
    gone = worded[1]
    gone.with_suffix(".txt").unlink()
    gone.unlink()
    assert trained("index").code == 0
    assert trained("store", "rollback", str(version)).code == 0
    after = texts_of(trained, "1", "-t", "50")
    assert all(t["text"] and t["path"] != gone.name for t in after)
    words = [set(t["text"].replace(",", " ").split()) for t in before]
    assert all(set(t["text"].replace(",", " ").split()) in words for t in after)


def test_semantic_matching_can_be_trained_by_name(shell: Shell, tmp_path: Path) -> None:
    ran = shell("train", "--ranker", "semantic-matching")
    assert ran.code == 0 and "semantic-matching on mean-colour" in ran.out, ran.err
    article = tmp_path / "article.txt"
    article.write_text("A red house.")
    hits = json.loads(shell("search", "--text-file", str(article), "--json").out)["hits"]
    assert hits and all(0 <= h["score"] <= 1 for h in hits)


def test_topics_show_both_ends_near_words_and_a_sheet(trained: Shell, tmp_path: Path) -> None:
    lines = [line.split("\t") for line in trained("topics", "-t", "2").out.splitlines()]
    assert [line[0] for line in lines] == [str(i) for i in range(len(lines))] and lines
    assert all(len(line[1].split()) == len(line[2].split()) == 2 for line in lines)
    near = [line.split("\t") for line in trained("topics", "red", "-t", "3").out.splitlines()]
    assert len(near) == 3 and "red" not in [w for _, w in near]
    sheet = tmp_path / "ends.png"
    ran = trained("topics", "--dimension", "0", "--sheet", str(sheet), "--json")
    assert ran.code == 0 and f"drew {sheet}" in ran.err
    with Image.open(sheet) as drawn:
        assert drawn.width > 100
    (told,) = json.loads(ran.out)
    assert len(told["high_pictures"]) == 8 and not set(told["high_pictures"]) & set(
        told["low_pictures"]
    )


def test_a_text_asks_for_pictures(trained: Shell, tmp_path: Path) -> None:
    article = tmp_path / "article.txt"
    article.write_text("An old house, painted red.\nRed, not so much zyxwvut, as RED can be.")
    ran = trained("search", "--text-file", str(article), "--json")
    said = json.loads(ran.out)
    hits = said["hits"]
    missing = {"word": "zyxwvut", "pictures": 0, "near": []}
    assert missing in said["not_learned"] and said["predicted"] is True
    assert "not learned: old (on no picture), house" in ran.err
    assert not any(w["word"] == "red" for w in said["not_learned"])
    tagged = {
        h["picture"]
        for h in json.loads(trained("search", "red", "--json", "-t", "99").out)["hits"]
        if h["tagged"]
    }
    assert hits and sum(h["picture"] in tagged for h in hits[:5]) >= 2
    assert all(h["learnt"] for h in hits)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("topics", "zyxwvut"), "The text model has not learned 'zyxwvut'."),
        (("topics", "--dimension", "99"), "There are dimensions from 0 to"),
        (("topics", "--sheet", "a.png"), "name it: --dimension 0"),
        (("topics", "-t", "0"), "at least 1"),
        (("describe", "no-such-file.jpg"), "There is no picture no-such-file.jpg"),
        (("search", "--text-file", "no-such-file.txt"), "cannot be read"),
        (("search", "tree", "--text-file", "x.txt"), "Name a query"),
        (("train", "--optimise", "map"), "--optimise requires --ranker lscmr"),
        (("train", "--ranker", "lscmr", "--optimise", "bleu"), "must be 'map'"),
        (("train", "--ranker", "ridge:map"), "nothing to set after a colon"),
    ],
)
def test_mistakes_get_one_line(trained: Shell, arguments: tuple[str, ...], said: str) -> None:
    ran = trained(*arguments)
    assert ran.code in (1, 2) and said in ran.err and "Traceback" not in ran.err


def test_texts_of_unknown_words_and_empty_ones_are_refused(trained: Shell, tmp_path: Path) -> None:
    article = tmp_path / "article.txt"
    for text in ("zyxwvut qwpoeiru", "", "  \n"):
        article.write_text(text)
        ran = trained("search", "--text-file", str(article))
        assert ran.code == 2 and "has learned any of the words" in ran.err


def test_without_a_text_model_the_word_model_answers_texts_alone(
    shell: Shell, tmp_path: Path
) -> None:
    article = tmp_path / "article.txt"
    article.write_text("A red house.")
    search = ("search", "--text-file", str(article), "--json")
    assert "There is no word model yet" in shell("describe", "1").err
    assert "no word model yet, nor a text model" in shell(*search).err
    assert shell("train", "--ranker", "ridge").code == 0
    for arguments in (("topics",), ("describe", "1", "--texts")):
        ran = shell(*arguments)
        assert ran.code == 2 and "no text model yet. Run: sightline train text" in ran.err
    ran = shell(*search)
    assert "Answered by the word model, since there is no text model" in ran.err
    said = json.loads(ran.out)
    assert said["hits"] and said["text_answer"]["model"] == "words"
    # Any model can describe.
    assert shell("describe", "1", "--no-cutoff").code == 0


def test_a_text_model_leaves_searches_by_words_as_they_are(shell: Shell, tmp_path: Path) -> None:
    assert shell("train", "--ranker", "ridge").code == 0
    before = json.loads(shell("search", "red", "--json").out)
    ran = shell("train", "text", "--ranker", "cca", "--force")
    assert ran.code == 0 and "Trained the text model" in ran.out, ran.err
    after = json.loads(shell("search", "red", "--json").out)
    assert after["hits"] == before["hits"] and after["version"] > before["version"]
    assert shell("topics").code == 0
    assert "text model" in shell("doctor").out and "texts: " in shell().out
    article = tmp_path / "article.txt"
    article.write_text("A red house.")
    ran = shell("search", "--text-file", str(article), "--json")
    assert "Answered by the" in ran.err
    assert json.loads(ran.out)["hits"]
    assert shell("train", "text", "--ranker", "ridge").code == 2
