"""Words that are missing, where they lie, scenes and heat maps, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.store.locks import Lock
from tests.factories.servers import Served, running
from tests.factories.tagged_collections import copied


@pytest.fixture
def cut(tagged: Path, tmp_path: Path) -> Iterator[Served]:
    """Serve a collection whose regions were learnt, which a test may change."""
    with running(copied(tagged, tmp_path)) as found:
        yield found


def test_words_are_proposed_and_answered_once(cut: Served) -> None:
    c = cut.service.collection
    body = {"untagged": True, "limit": 6}
    found = cut.post("/v1/tags", body).json
    expected = c.tag(filters=Filters(untagged=True), k=6)
    assert [(s["picture"], s["word"]) for s in found["suggestions"]] == [
        (s.picture, s.word) for s in expected.suggestions
    ]
    first, second, *_ = found["suggestions"]
    assert sum(first["mask"]["counts"]) == first["mask"]["size"][0] * first["mask"]["size"][1]
    assert 0 <= first["box"]["left"] < 1 and first["confidence"] > 0.5
    said = [{"picture": s["picture"], "word": s["word"], "yes": yes}
            for s, yes in ((first, True), (second, False))]  # fmt: skip
    reviewed = cut.post("/v1/tags/answers", {"answers": said}).json
    assert (reviewed["answered"], reviewed["not_asked"], reviewed["changed"]) == (2, 0, 1)
    assert first["word"] in [w for t in c.pictures.words(first["picture"]) for w in t.tags]
    again = cut.post("/v1/tags/answers", {"answers": said}).json
    assert (again["answered"], again["not_asked"], again["session"]) == (0, 2, None)
    asked = cut.post("/v1/tags", {"untagged": True, "limit": 1000}).json["suggestions"]
    pairs = {(s["picture"], s["word"]) for s in asked}
    assert not {(s["picture"], s["word"]) for s in said} & pairs
    (session,) = c.sessions.all()
    assert session.id == reviewed["session"] and cut.client.revert(session.id)


def test_answers_stand_while_another_process_changes_the_store(cut: Served) -> None:
    c = cut.service.collection
    (s,) = cut.post("/v1/tags", {"untagged": True, "limit": 1}).json["suggestions"]
    answer = {"picture": s["picture"], "word": s["word"], "yes": True}
    with Lock(c.store_folder.path, "test"):
        reviewed = cut.post("/v1/tags/answers", {"answers": [answer]}).json
    assert (reviewed["answered"], reviewed["changed"]) == (1, None)
    assert len(c.sessions.all()) == 1
    cut.post("/v1/tags/answers", {"answers": [answer]})
    assert s["word"] in [w for t in c.pictures.words(s["picture"]) for w in t.tags]


def test_how_sure_each_word_is(cut: Served) -> None:
    found = cut.post("/v1/tags", {"precision": 0.8, "limit": 500}).json
    words = {w["word"]: w for w in found["words"]}
    assert {s["word"] for s in found["suggestions"] if s["add"]} <= set(words)
    assert words and not set(words) & {a["word"] for a in found["abstained"]}
    for w in words.values():
        n, share = w["given"], w["right"] / w["given"]
        z = 1.6449
        spread = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
        low = (share + z * z / (2 * n) - spread) / (1 + z * z / n)
        assert w["promised"] == pytest.approx(low, abs=1e-3) and low >= 0.8
        assert w["right"] <= w["pictures"]
    counts = [w["pictures"] for w in found["words"]]
    assert counts == sorted(counts, reverse=True)
    surer = cut.post("/v1/tags", {"precision": 0.95}).json["words"]
    assert all(w["promised"] >= 0.95 for w in surer)


def test_where_words_lie_and_scenes(cut: Served) -> None:
    c = cut.service.collection
    found = cut.post("/v1/where", {"query": "cow", "limit": 3}).json
    expected = c.tagging.localize("cow", 3)
    assert [h["hit"]["id"] for h in found["hits"]] == [h.hit.picture for h in expected.hits]
    (word,) = found["hits"][0]["words"]
    assert word["word"] == "cow" and word["mask"]["counts"] == list(
        expected.hits[0].words[0].mask.counts
    )
    scenes = cut.client.get("/v1/scenes?words=2&pictures=3")
    assert scenes["version"] == c.store.version() and len(scenes["scenes"]) >= 2
    assert sum(s["size"] for s in scenes["scenes"]) == 200
    assert all(len(s["pictures"]) <= 3 and len(s["words"]) <= 2 for s in scenes["scenes"])


def test_the_model_of_regions_is_listed_with_its_proof(cut: Served) -> None:
    found = cut.client.get("/v1/models")
    (now,) = [v for v in found["versions"] if v["current"]]
    (regions,) = [m for m in now["models"] if m["kind"] == "regions"]
    assert regions["measure"] == "F" and regions["value"] > regions["untrained"] > 0


def test_without_regions_that_is_said(served: Served, taught: Collection) -> None:
    for method, path, body in (
        ("POST", "/v1/tags", b"{}"), ("POST", "/v1/where", b'{"query": "red"}'),
    ):  # fmt: skip
        reply = served.ask(method, path, body)
        assert reply.status in (400, 409) and "train regions" in reply.json["detail"]
    groups = served.ask("GET", "/v1/scenes").json
    assert groups["by"] == "edges" and groups["scenes"][0]["size"] > 1


def test_heat_maps_of_hits(served: Served, taught: Collection) -> None:
    found = served.post("/v1/why", {"query": "red", "limit": 2, "blocks": 2}).json
    assert [h["hit"]["id"] for h in found["hits"]] == [h.picture for h in taught.search("red", 2)]
    why = found["hits"][0]["why"]
    assert len(why["parts"]) == why["rows"] and len(why["parts"][0]) == why["columns"]
    assert why["words"][0]["word"] == "red" and why["words"][0]["tagged"]
    by = {f["feature"]: f["contribution"] for f in why["features"]}
    with taught.store_folder.reader() as reader:
        assert found["model"] == why["model"] == reader.snapshot.model
    assert found["recipe"].startswith("cca on ")
    assert set(by) == set(found["recipe"].split()[2].split("+")) <= {"color", "edges"}


def test_any_picture_is_explained(served: Served, taught: Collection, cut: Served) -> None:
    ranked = [h.picture for h in taught.search("red", 500, cut=False)]
    some = [ranked[-1], ranked[0], ranked[50]]
    asked = {"query": "red", "pictures": some, "blocks": 1, "untagged": True}
    found = served.post("/v1/why", asked).json
    assert [h["hit"]["id"] for h in found["hits"]] == some
    scores = {h.picture: h.score for h in taught.search("red", 500, cut=False)}
    assert [h["hit"]["score"] for h in found["hits"]] == [scores[p] for p in some]
    assert all(h["why"]["parts"] and h["why"]["words"][0]["seen"] for h in found["hits"])
    nobody = served.post("/v1/why", {**asked, "pictures": [5000]})
    assert nobody.code == "no-picture"
    assert served.post("/v1/why", {**asked, "pictures": list(range(1, 14))}).status == 422
    placed = cut.post("/v1/where", {"query": "cow", "pictures": [7, 3]}).json
    assert [h["hit"]["id"] for h in placed["hits"]] == [7, 3]
    assert all(h["words"][0]["word"] == "cow" for h in placed["hits"])
