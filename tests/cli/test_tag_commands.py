"""Regions at the command line: train --regions, tag, its review, scenes and search --where."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.regions.outlines import Mask
from tests.cli.test_commands import Shell
from tests.factories.tagged_collections import UNTAGGED, N, copied, painted, words_of


@pytest.fixture
def shell(tagged: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Shell:
    copied(tagged, tmp_path)
    return Shell(capfd, tagged / "photos", tmp_path / "store")


def mask_of(told: dict[str, Any]) -> Mask:
    height, width = told["mask"]["size"]
    return Mask(height, width, tuple(told["mask"]["counts"]))


def test_tag_prints_words_with_confidence_path_box_and_scene(shell: Shell) -> None:
    ran = shell("tag", "--untagged", "-t", "5")
    assert ran.code == 0
    for line in ran.out.splitlines():
        confidence, word, path, box, scene = line.split("\t")
        assert 0.5 < float(confidence) <= 1 and word[0] == "+" and scene.startswith("scene ")
        assert word[1:] in words_of(int(os.path.basename(path)[:3]))
        assert all(0 <= float(x) <= 1 for x in box.split(","))
    assert len(ran.out.splitlines()) == 5
    assert f"5 words proposed and 0 doubted in {UNTAGGED} pictures, at 90%" in ran.err


def test_tag_as_json_and_csv_and_what_it_abstains_from(shell: Shell) -> None:
    said = json.loads(shell("tag", "--json").out)
    kinds = {s["kind"] for s in said["suggestions"]}
    assert said["pictures"] == N and kinds == {"add", "remove"} and said["precision"] == 0.9
    one = said["suggestions"][0]
    mask = mask_of(one)
    assert mask.inside().shape == (48, 64) and {"left", "top", "width", "height"} == set(one["box"])
    rows = list(csv.DictReader(io.StringIO(shell("tag", "--csv").out)))
    assert [(r["word"], r["kind"]) for r in rows] == [
        (s["word"], s["kind"]) for s in said["suggestions"]
    ]
    ran = shell("tag", "--precision", "0.99")
    assert not ran.out and "never proposed, for lack of evidence: sky (" in ran.err
    ran = shell("tag", "--precision", "1.5")
    assert ran.code == 2 and "must be from 0.5 to below 1. Got 1.5" in ran.err


def test_a_review_reads_answers_and_says_what_came_of_them(
    tagged: Path, shell: Shell, tmp_path: Path
) -> None:
    asked = json.loads(shell("tag", "--untagged", "--json").out)["suggestions"]
    where = ["-C", str(tagged / "photos"), "--store", str(tmp_path / "store")]
    command = [sys.executable, "-m", "sightline", "tag", "--untagged", "--review", *where]
    answers = b"y\nn\nu\ns\n?\nn\nq\n"
    ran = subprocess.run(command, input=answers, capture_output=True, check=True)
    lines = [line.split("\t")[2] for line in ran.stdout.decode().splitlines()]
    assert lines == [f"+{asked[i]['word']}" for i in (0, 1, 2, 1, 2, 3)]
    assert b"2 answered; the words of 1 picture changed" in ran.stderr
    left = json.loads(shell("tag", "--untagged", "--json").out)
    # The picture of the yes has a word now, so it is none of those without words.
    assert left["judged"] == 1 and left["pictures"] == UNTAGGED - 1
    bad = subprocess.run(command, input=b"perhaps\n", capture_output=True, check=False)
    assert bad.returncode == 2 and b"Line 1 of the answers: 'perhaps' is no answer" in bad.stderr
    assert shell("tag", "--review", "--json").code == 2


def test_the_last_answer_of_a_review_can_be_taken_back(
    tagged: Path, shell: Shell, tmp_path: Path
) -> None:
    where = ["-C", str(tagged / "photos"), "--store", str(tmp_path / "store")]
    command = [sys.executable, "-m", "sightline", "tag", "--untagged", "--review", "-t", "2"]

    def review(answers: bytes) -> tuple[list[bytes], bytes]:
        ran = subprocess.run([*command, *where], input=answers, capture_output=True, check=True)
        return [line.split(b"\t")[0] for line in ran.stdout.splitlines()], ran.stderr

    asked, said = review(b"s\ny\nu\nu\ns\ns\nu\nq\n")
    assert asked == [b"1", b"2", b"2", b"1", b"2", b"2"] and b"answered" not in said
    # The end of the answers ends it, and so does any other that comes after the last question.
    asked, said = review(b"s\nn\ny\ny\n")
    assert asked == [b"1", b"2"] and b"1 answered" in said
    asked, said = review(b"s\nn")
    assert asked == [b"1", b"2"] and b"1 answered" in said


def test_scenes_are_listed_and_drawn(shell: Shell, tmp_path: Path) -> None:
    ran = shell("scenes", "--words", "2", "--sheet", str(tmp_path / "sheets"))
    lines = [line.split("\t") for line in ran.out.splitlines()]
    assert sum(int(n.split()[0]) for _, n, _ in lines) == N and "drew 2 sheets" in ran.err
    names = sorted(os.listdir(tmp_path / "sheets"))
    assert names == ["scene-00.png", "scene-01.png"]
    with Image.open(tmp_path / "sheets" / names[0]) as sheet:
        assert np.asarray(sheet).std() > 10
    # Sheets give way to new ones, and nothing else does.
    (tmp_path / "sheets" / "scene-07.png").write_bytes(
        (tmp_path / "sheets" / names[0]).read_bytes()
    )
    assert shell("scenes", "--sheet", str(tmp_path / "sheets")).code == 0
    assert sorted(os.listdir(tmp_path / "sheets")) == names
    for foreign in (b"mine", b"\x89PNG sightline regions"):
        (tmp_path / "sheets" / names[0]).write_bytes(foreign)
        ran = shell("scenes", "--sheet", str(tmp_path / "sheets"))
        assert ran.code == 2 and f"holds other files, such as {names[0]}" in ran.err
        assert (tmp_path / "sheets" / names[0]).read_bytes() == foreign
    said = json.loads(shell("scenes", "--json").out)
    assert sum(len(s["pictures"]) for s in said["scenes"]) == N
    assert shell("scenes", "--csv").out.splitlines()[0] == "scene,pictures,words"
    inside = shell("scenes", "--sheet", str(shell.photos / "sheets"))
    assert inside.code == 2 and "nothing is ever written" in inside.err


def test_where_draws_the_regions_of_a_querys_words(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = shell("search", "cow grass", "--where", "-t", "3", "--where-to", "drawn")
    assert ran.code == 0 and "drew 3 of 3 hits into drawn" in ran.err
    assert len(os.listdir("drawn")) == 3 and ran.out.count("\tcow: ") == 3
    said = json.loads(shell("search", "cow grass", "--where", "-t", "2", "--json").out)
    assert not Path("where").exists()
    for hit in said["hits"]:
        words = hit["where"]["words"]
        masks = [mask_of(w).inside() for w in words]
        assert [w["word"] for w in words] == ["cow", "grass"] and not (masks[0] & masks[1]).any()
    ran = shell("search", "sky nowhere", "--where", "-t", "1", "--where-to", "more")
    assert "The region model has not learned 'nowhere'." in ran.err
    assert shell("search", "sky", "--where", "--why").code == 2
    assert shell("search", "sky", "--where-to", str(shell.photos / "x")).code == 2


def test_after_a_refit_the_advice_is_to_train_again(shell: Shell, tmp_path: Path) -> None:
    # A codebook of the same pictures is the same, and so is its fingerprint, unless one is new.
    photos = shutil.copytree(shell.photos, tmp_path / "photos")
    c = Collection.open(photos, store=tmp_path / "own", workers=1)
    for p in sorted(photos.iterdir())[60:]:
        p.unlink()
    c.index(compute=InlineCompute())
    c.models.train_regions(feature="regions", scenes=1)
    Image.fromarray(painted(300)).save(photos / "300.png")
    c.index(refit=True, compute=InlineCompute())
    own = Shell(shell.capfd, photos, tmp_path / "own")
    advice = "cut into regions anew since the training. Run: sightline train regions"
    for verb in ("tag", "scenes"):
        ran = own(verb)
        assert advice in ran.err and "sightline index" not in ran.err, ran
        assert json.loads(own(verb, "--json").out)["cut_otherwise"] > 30
    ran = own("search", "cow", "--where", "-t", "1", "--where-to", str(tmp_path / "drawn"))
    assert "run: sightline train regions" in ran.err and "sightline index" not in ran.err
    c.models.train_regions(feature="regions", scenes=1)
    assert advice not in own("scenes").err


def test_training_says_what_was_learnt_and_doctor_shows_the_list(
    shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "store" / "tag-words.toml").write_text('[merge]\nheaven = ["sky", "dusk"]\n')
    options = ("train", "--regions", "--features", "regions", "--scenes", "2", "--dry-run")
    said = json.loads(shell(*options, "--json").out)
    assert said["words"] == 5 and said["version"] == 0 and said["proof"]["n"] > 30
    assert said["held_out"]["pictures"] == said["proof"]["n"] and said["kind"] == "regions"
    ran = shell(*options)
    assert "Trained regions of 5 words on 180 pictures with regions, 2 scenes" in ran.out
    assert "the same words for all" in ran.out and "Nothing was published" in ran.out
    told = shell("doctor").out
    assert "heaven = sky = dusk" in told and "6 words in 2 scenes by regions" in told
    for wrong in (("--similar",), ("--ranker", "ridge"), ("--features", "regions,regions-deep")):
        assert shell("train", "--regions", *wrong).code == 2
    assert shell("train", "--scenes", "3").code == 2


def test_proposed_words_are_exported_where_they_are_asked_for(shell: Shell, tmp_path: Path) -> None:
    asked = json.loads(shell("tag", "--untagged", "--json").out)["suggestions"]
    ran = shell("export", "json", str(tmp_path / "words.jsonl"), "--only", "proposed", "--untagged")
    assert ran.code == 0, ran.err
    text = (tmp_path / "words.jsonl").read_text()
    assert len(text.splitlines()) == len({s["path"] for s in asked})
    assert all(f'"{s["word"]}"' in text for s in asked) and '"box"' in text
    assert shell("export", "json", str(tmp_path / "all.jsonl"), "--untagged").code == 0
    assert '"proposed"' not in (tmp_path / "all.jsonl").read_text()
