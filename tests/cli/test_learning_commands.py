"""Training, learnt hits and evaluation as people see them at the command line."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline.compute.features import load_feature
from sightline.measures.runs import read_qrels, read_run
from sightline.records import percent
from tests.cli.test_commands import Shell
from tests.factories.photos import paint_some_with_words
from tests.factories.plugins import plugged


@pytest.fixture(autouse=True)
def _plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with plugged(monkeypatch):
        yield


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    photos = paint_some_with_words(tmp_path / "photos")
    shell = Shell(capfd, photos, tmp_path / "store")
    assert shell("index", "--workers", "1", "--features", "mean-colour").code == 0
    return shell


@pytest.fixture
def trained(shell: Shell) -> Shell:
    assert shell("train", "--ranker", "ridge").code == 0
    return shell


@pytest.mark.all_rankers
def test_train_shows_what_it_tried_chose_and_proved(shell: Shell) -> None:
    quick = shell("train")
    assert quick.code == 0 and "Chosen: ridge on mean-colour" in quick.out
    ran = shell("train", "--search")
    assert ran.code == 0 and "nothing is left to try" in ran.out
    assert "AvgP" in ran.out and "pamir on mean-colour" in ran.out and "ridge on" in ran.out
    assert "Chosen: " in ran.out and "untrained" in ran.out and "version" in ran.out
    again = shell("train", "--search", "--json")
    said = json.loads(again.out)
    assert said["proof"]["current"] is not None and said["words"] == 8
    assert {t["ranker"] for t in said["tried"]} >= {"pamir", "ridge", "log-product", "warp"}
    assert any(line.startswith("cmrm: it learns from counts") for line in said["not_tried"])
    assert all(t["train_seconds"] >= 0 and t["bytes"] > 0 for t in said["tried"])
    assert said["search"]["trials"] == 0 < said["search"]["reused"]
    assert "--search takes a number of seconds" in shell("train", "--search", "soon").err
    assert shell("train", "regions", "--trials", "3").code == 2
    # The names of the field, and beside them those of earlier releases with the same values.
    held, proof = said["held_out"], said["proof"]
    assert (held["queries"], held["avgp"], held["untrained"]) == (
        proof["queries"], proof["AvgP"], proof["untrained"],
    )  # fmt: skip
    assert held["against_current"] == proof["against_current"] and proof["n"] == held["queries"]
    assert said["chosen"] == said["recipe"] and said["recipe"].startswith(said["ranker"] + " on ")
    assert said["combination"] == said["words_combined_by"] == said["how"]
    trial, tried = said["trials"][0], said["tried"][0]
    assert trial["avgp"] == tried["AvgP"] and trial["hyperparameters"] == tried["settings"]
    assert said["hyperparameters"].keys() >= trial["hyperparameters"].keys()


def test_a_dry_run_says_so_and_publishes_nothing(shell: Shell) -> None:
    ran = shell("train", "--dry-run", "--ranker", "ridge")
    assert ran.code == 0 and "not published (--dry-run)" in ran.out
    assert "model: nothing yet" in shell(place=True).out


def test_search_marks_learnt_hits_in_every_form(trained: Shell) -> None:
    lines = [x.split("\t") for x in trained("search", "red", "-t", "50").out.splitlines()]
    labels = [x[0] for x in lines]
    marks = ["predicted" if x.endswith(" %") else x for x in labels]
    assert marks == ["exact"] * 15 + ["predicted"] * (len(marks) - 15) and len(marks) > 15
    said = json.loads(trained("search", "red", "-t", "50", "--json").out)
    assert sum(h["learnt"] for h in said["hits"]) == len(marks) - 15
    assert [h["match"] for h in said["hits"]] == marks
    shown = [h["probability"] for h in said["hits"]]
    assert [p is None for p in shown] == [m == "exact" for m in marks]
    assert labels[15:] == [percent(p) for p in shown[15:]]
    assert shown[15:] == sorted(shown[15:], reverse=True)
    assert all(h["id"] == h["picture"] for h in said["hits"])
    rows = list(csv.DictReader(io.StringIO(trained("search", "red", "-t", "50", "--csv").out)))
    assert sum(int(r["learnt"]) for r in rows) == len(marks) - 15
    assert [r["match"] for r in rows] == marks
    assert [float(r["probability"]) for r in rows[15:]] == shown[15:]
    assert {r["probability"] for r in rows[:15]} == {""}
    assert trained("search", "red", "-k", "3").out == trained("search", "red", "-t", "3").out
    untagged = trained("search", "red", "--untagged").out.splitlines()
    assert untagged and all("%\t" in x for x in untagged)
    assert "%\t" not in trained("search", "red", "-t", "50", "--no-learnt").out
    assert len(trained("search", "red", "-t", "500", "--no-cutoff").out.splitlines()) == 102


def test_trec_runs_can_be_read_back(trained: Shell, tmp_path: Path) -> None:
    file = tmp_path / "run.txt"
    file.write_text(trained("search", "red", "--trec", "-t", "20").out)
    (ranked,) = read_run(file)
    assert ranked.query == "red" and len(ranked.ids) >= 15 and "000_x.png" in ranked.ids
    queries = tmp_path / "queries.txt"
    queries.write_text("q1\tred\nblue warm\n\nq3\tzzz\n")
    many = trained("search", "--trec", "--queries", str(queries))
    file.write_text(many.out)
    assert {r.query for r in read_run(file)} <= {"q1", "blue warm"}
    assert "No picture fits 'zzz'" in many.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("search", "--queries", "x.txt"), "only --trec can print"),
        (("search", "--queries", "x.txt", "--trec"), "cannot be read"),
        (("search", "red", "--queries", "x.txt", "--trec"), "Name a query"),
        (("train", "--ranker", "magic"), "There is no ranker 'magic'"),
        (("train", "--features", "magic"), "no 'magic' among the features"),
        (
            ("train", "--ranker", "lscmr", "--features", "color,regions"),
            "'regions' cannot be used for word models: it holds the regions of a picture, not one "
            "vector for the whole. Leave it out: --features color.",
        ),
        (
            ("train", "--similar", "--features", "regions"),
            "'regions' cannot be used for the similarity of pictures",
        ),
        (("evaluate", "--plot", "x.gif"), "A plot is a PNG file"),
        (("evaluate", "--plot", "no/such/x.png"), "There is no folder"),
        (("index", "--vectors", "nowhere.npy"), "nowhere.npy"),
        (("index", "--features", "deeep"), "no 'deeep' among the features"),
    ],
)
def test_mistakes_get_one_line(trained: Shell, arguments: tuple[str, ...], said: str) -> None:
    ran = trained(*arguments)
    assert ran.code in (1, 2) and said in ran.err and len(ran.err.strip().splitlines()) == 1


def test_evaluate_reports_draws_and_writes(trained: Shell, tmp_path: Path) -> None:
    plot, run, qrels = (tmp_path / n for n in ("curve.png", "run.txt", "qrels.txt"))
    ran = trained("evaluate", "--plot", str(plot), "--run", str(run), "--qrels", str(qrels))
    assert ran.code == 0 and "untrained" in ran.out and "harmed" in ran.out
    assert "no queries are worse than chance: than 95 of 100 random orders" in ran.out
    assert "probabilities of the first 20 hits of each word: calibration error" in ran.out
    assert re.search(r"of \d+ hits shown at 90-100 %, \d+ % were right", ran.out)
    assert "learning curve: " in ran.out and "best words: " in ran.out
    assert np.asarray(Image.open(plot).convert("L")).std() > 5
    judged, ranked = read_qrels(qrels), read_run(run)
    assert {j.query for j in judged} == {r.query for r in ranked} and len(judged) >= 8
    with Image.open(plot) as drawn:
        both = drawn.width
    ran = trained("evaluate", "--plot", str(plot), "--json", "--no-curve")
    with Image.open(plot) as drawn:
        assert drawn.width == both // 2, "without a curve the reliability is alone"
    said = json.loads(ran.out)
    assert said["reliability"]["n"] == sum(b["n"] for b in said["reliability"]["bins"])
    assert said["groups"][0]["gain"] > 0.2 and said["curve"] == []
    inside = trained("evaluate", "--plot", str(trained.photos / "x.png"))
    assert inside.code == 2 and "nothing is ever written" in inside.err


def test_state_and_doctor_tell_what_was_learnt(shell: Shell) -> None:
    assert "next: sightline train" in shell().out
    assert shell("train", "--ranker", "ridge").code == 0
    state = shell().out
    assert "8 words by ridge on mean-colour" in state and "next: sightline search" in state
    listed = shell("doctor", "--features").out
    line = next(x for x in listed.splitlines() if x.startswith("mean-colour"))
    assert "3 numbers" in line and "102 pictures" in line and "used by the model" in line
    said = json.loads(shell("doctor", "--features", "--json").out)
    assert {f["name"] for f in said} >= {"mean-colour", "visterms", "deep"}
    assert "word model" in shell("doctor").out


def test_a_missing_extra_is_named_with_its_remedy(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sightline.features.deep.session.is_available", lambda *_: False)
    load_feature.cache_clear()
    ran = shell("index", "--features", "deep")
    assert ran.code == 1 and "pip install 'sightline[deep]'" in ran.err
    listed = shell("doctor", "--features").out
    assert "pip install 'sightline[deep]'" in listed
