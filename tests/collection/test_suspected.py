"""Suspected mislabels: found by training, listed, reviewed, and never asked about twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.cli import main
from sightline.collection import Collection
from sightline.errors import ParameterError, UsageError
from tests.factories.photos import COLOURS, paint_some_with_words
from tests.factories.plugins import plugged
from tests.factories.servers import running

WRONG = {"012_x.txt": "blue", "030_x.txt": "green", "055_x.txt": "white"}
"""Words given to pictures of other colours.

The mean colour of black pictures has no direction, so their words cannot be learned here.
"""
BLACK = list(COLOURS).index("black")


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """Return 90 tagged pictures of one colour each, three with a wrong word, and a word model."""
    folder = tmp_path_factory.mktemp("suspected")
    with pytest.MonkeyPatch.context() as patch, plugged(patch):
        photos = paint_some_with_words(folder / "photos")
        for name, word in WRONG.items():
            assert list(COLOURS)[int(name[:3]) % len(COLOURS)] != word
            (photos / name).write_text(word)
        collection = Collection.open(photos, store=folder / "store", workers=1)
        collection.index(features=["mean-colour"])
        report = collection.train(rankers=["ridge"])
        assert report.suspected is not None and report.suspected >= 3
        assert report.to_dict()["suspected"] == report.suspected
        yield collection


def test_the_wrong_words_are_suspected(c: Collection) -> None:
    tags = c.tagging.suspected()
    found = [(s.path.decode()[:3], s.word) for s in tags.suggestions]
    coloured = {(n, word) for n, word in found if int(n) % len(COLOURS) != BLACK}
    assert coloured == {(name[:3], word) for name, word in WRONG.items()}
    probabilities = [s.confidence for s in tags.suggestions]
    assert probabilities == sorted(probabilities, reverse=True) and min(probabilities) >= 0.5
    assert 3 <= tags.expected < 12 and tags.tags > 150 and tags.judged == 0
    every = c.tagging.suspected(confidence=1e-9)
    assert len(every) == tags.tags and sum(s.confidence for s in every.suggestions) == (
        pytest.approx(tags.expected, abs=0.1)
    )


def test_pictures_and_numbers_can_be_named(c: Collection) -> None:
    assert len(c.tagging.suspected(k=1)) == 1
    (only,) = c.tagging.suspected("030_x.png").suggestions
    assert (only.path, only.word) == (b"030_x.png", "green")
    with pytest.raises(ParameterError, match="above 0, at most 1"):
        c.tagging.suspected(confidence=0)
    with pytest.raises(ParameterError, match="at least 1"):
        c.tagging.suspected(k=0)


def test_the_command_lists_them_as_text_json_and_csv(
    c: Collection, capfd: pytest.CaptureFixture[str]
) -> None:
    where = ["-C", str(c.root.decode()), "--store", str(c.store_folder.path)]

    def run(*options: str) -> tuple[str, str]:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["tag", "--suspected", *options, *where])
        assert not ended.value.code
        out, err = capfd.readouterr()
        return out, err

    out, err = run()
    lines = [line.split("\t") for line in out.splitlines()]
    assert {line[1] for line in lines} >= {f"-{word}" for word in WRONG.values()}
    assert all(0.5 <= float(line[0]) <= 1 for line in lines)
    assert err.startswith(f"{len(lines)} suspected mislabels; of ") and " are wrong" in err
    listed = json.loads(run("--json", "-k", "3")[0])
    assert listed["tags"] == c.tagging.suspected().tags
    assert {s["kind"] for s in listed["suggestions"]} == {"remove"}
    assert run("--csv", "-k", "1")[0].splitlines()[0] == "kind,word,confidence,path"


def test_answers_over_http_settle_them_for_good(c: Collection) -> None:
    with running(c) as served:
        first, second, third = served.post("/v1/tags/suspected", {"k": 3}).json["suggestions"]
        answers = [
            {"picture": s["id"], "word": s["word"], "add": False, "yes": s is not third}
            for s in (first, second, third)
        ]
        told = served.post("/v1/tags/answers", {"answers": answers, "suspected": True}).json
        assert (told["answered"], told["not_asked"]) == (3, 0)
        left = served.post("/v1/tags/suspected", {}).json
    assert left["judged"] == 3
    assert not {(s["id"], s["word"]) for s in left["suggestions"]} & {
        (s["id"], s["word"]) for s in (first, second, third)
    }
    # The next training does not learn the words that were judged not to fit.
    c.train()
    terms = {(s.picture, s.word) for s in c.tagging.suspected(confidence=1e-9).suggestions}
    assert not terms & {(s["id"], s["word"]) for s in (first, second)}
    review = c.tagging.review(suspected=True)
    assert review.queue.judged == 1 or third["word"] not in {s.word for s in review.suggestions}
    review.close()


def test_without_a_model_or_left_out_scores_it_says_what_to_run(tmp_path: Path) -> None:
    photos = paint_some_with_words(tmp_path / "photos")
    with pytest.MonkeyPatch.context() as patch, plugged(patch):
        fresh = Collection.open(photos, store=tmp_path / "store", workers=1)
        fresh.index(features=["mean-colour"])
        with pytest.raises(UsageError, match="no word model yet"):
            fresh.tagging.suspected()
        report = fresh.train(rankers=("warp",))
        assert report.suspected is None
        with pytest.raises(UsageError, match=r"\(warp\).*train --ranker ridge"):
            fresh.tagging.suspected()
