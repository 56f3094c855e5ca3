"""Search over HTTP gives what the collection gives, page by page, and takes no paths."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.compute.inline import InlineCompute
from sightline.web.client import ClientHits, ServiceError
from tests.factories import starting_words
from tests.factories.servers import Served, grow, running


def ids(found: object) -> list[int]:
    return [h["id"] for h in found["hits"]]  # type: ignore[index]


def test_words_find_what_the_collection_finds(served: Served, taught: Collection) -> None:
    found = served.post("/v1/search", {"query": "red", "limit": 30}).json
    expected = taught.search("red", 30)
    assert ids(found) == [h.picture for h in expected.hits] and len(ids(found)) > 15
    assert [h["score"] for h in found["hits"]] == [h.score for h in expected.hits]
    assert found["version"] == expected.version
    first = found["hits"][0]
    assert first["tagged"] and first["name"] == expected.hits[0].name
    assert served.ask("GET", first["thumbnail"]).body[:4] == b"RIFF"


def test_pages_make_up_the_whole_list(served: Served) -> None:
    whole = served.post("/v1/search", {"query": "cold", "limit": 40}).json
    pages, cursor = [], None
    for _ in range(4):
        page = served.post("/v1/search", {"query": "cold", "limit": 10, "cursor": cursor}).json
        pages += ids(page)
        cursor = page["next"]
    assert pages == ids(whole) and len(set(pages)) == 40
    last = served.post("/v1/search", {"query": "cold", "limit": 1000}).json
    assert last["next"] is None


def test_a_page_of_another_version_is_refused(own: Served) -> None:
    page = own.post("/v1/search", {"query": "cold", "limit": 2}).json
    grow(own.service.collection)
    assert own.service.collection.store.version() > page["version"]
    again = own.post("/v1/search", {"query": "cold", "limit": 2, "cursor": page["next"]})
    assert (again.status, again.code) == (409, "changed")


def test_pages_for_a_picture_that_is_sent_make_up_the_whole_list(
    served: Served, taught: Collection
) -> None:
    picture = Path(os.fsdecode(taught.root), "000_x.png").read_bytes()

    def with_words(limit: int, cursor: str | None) -> ClientHits:
        return served.client.search_with("warm", picture, limit=limit, cursor=cursor)

    def alone(limit: int, cursor: str | None) -> ClientHits:
        return served.client.similar_to(picture, limit, cursor)

    for ask in (with_words, alone):
        found: list[tuple[int, float]] = []
        cursor: str | None = None
        whole = ask(30, None)
        for _ in range(3):
            page = ask(10, cursor)
            found += [(h.id, h.score) for h in page.hits]
            cursor = page.next
        assert found == [(h.id, h.score) for h in whole.hits] and len(set(found)) == 30
        assert cursor == whole.next and cursor is not None
        last = ask(1000, cursor)
        assert last.hits and last.next is None
    kind = {"Content-Type": "image/png"}
    wrong = served.ask("POST", "/v1/search/picture?cursor=x", picture, kind)
    assert (wrong.status, wrong.code) == (400, "cursor")


@pytest.mark.parametrize("cursor", ["", "x", "W10=", "WzEsMl0", "WzEsIC0xXQ==", "é", "bnVsbA=="])
def test_cursors_that_nobody_gave_are_refused(served: Served, cursor: str) -> None:
    reply = served.post("/v1/search", {"query": "red", "cursor": cursor})
    assert reply.status == (200 if not cursor else 400)


def test_the_cut_off_can_be_left_out(served: Served) -> None:
    with_cut = served.post("/v1/search", {"query": "red", "limit": 200}).json
    without = served.post("/v1/search", {"query": "red", "limit": 200, "cut": False}).json
    tagged = served.post("/v1/search", {"query": "red", "limit": 200, "learnt": False}).json
    assert len(ids(tagged)) < len(ids(with_cut)) < len(ids(without))


def test_folders_go_by_an_id(served: Served, taught: Collection) -> None:
    (late,) = served.client.get("/v1/folders")["folders"]
    assert (late["name"], late["pictures"]) == ("late", 12)
    body = {"query": "red", "limit": 100, "cut": False, "filters": {"folder": late["id"]}}
    found = served.post("/v1/search", body).json
    assert found["hits"] and {h["name"][:5] for h in found["hits"]} == {"late/"}
    body["filters"] = {"folder": "late"}
    assert served.post("/v1/search", body).code == "no-folder"


def test_words_and_pictures_together(served: Served, taught: Collection) -> None:
    blue = taught.search("blue", 3).hits
    body = {"query": "cold", "like": [h.picture for h in blue], "unlike": [2, 8], "limit": 12}
    found = served.post("/v1/search", body).json
    examples = [h.picture for h in blue]
    expected = taught.sessions.refine("cold", examples=examples, negative=[2, 8], k=12)
    assert ids(found) == [h.picture for h in expected.hits]
    assert not {2, 8, *examples} & set(ids(found))
    plain = ids(served.post("/v1/search", {"query": "cold", "limit": 12}).json)
    assert ids(found) != plain
    # One example is enough.
    assert ids(served.post("/v1/search", {"query": "cold", "like": [3], "limit": 12}).json) != plain
    assert taught.sessions.all() == []


def test_words_and_a_picture_that_is_sent(served: Served, taught: Collection) -> None:
    at = Path(taught.root.decode())
    for word, number in (("cold", 2), ("cold", 1), ("warm", 5)):
        sent = (at / f"{number:03d}_x.png").read_bytes()
        found = served.client.search_with(word, sent, feature="color", limit=5)
        expected = taught.sessions.refine(
            word, examples=at / f"{number:03d}_x.png", k=5, feature="color"
        ).hits
        assert {(h.id - 1) % 6 for h in found.hits} == {number}
        # Of the collection it is left out; sent, nobody knows that it is the same.
        assert found.hits[0].id == number + 1
        assert [h.id for h in found.hits[1:]] == [h.picture for h in expected][:4]
    unlike = [h.id for h in found.hits[1:3]]
    less = served.client.search_with("warm", sent, negative=unlike, limit=200)
    assert not {*unlike} & {h.id for h in less.hits}
    (late,) = served.client.get("/v1/folders")["folders"]
    kind, path = {"Content-Type": "image/png"}, "/v1/search/words-and-picture?query=warm&limit=50"
    few = served.ask("POST", f"{path}&folder={late['id']}", sent, kind).json
    assert len(few["hits"]) == 12 and {h["name"][:5] for h in few["hits"]} == {"late/"}
    assert taught.sessions.all() == []


def test_words_and_a_picture_that_cannot_be(
    served: Served, taught: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    picture = Path(taught.root.decode(), "000_x.png").read_bytes()
    kind, path = {"Content-Type": "image/png"}, "/v1/search/words-and-picture"
    broken = served.ask("POST", f"{path}?query=red", picture[:60], kind)
    assert (broken.status, broken.code) == (422, "data")
    assert broken.json["detail"].startswith("The uploaded picture cannot be read: ")
    assert str(tmp_path) not in broken.json["detail"]
    for query, status in (
        ("", 422), ("?query=", 422), ("?query=+", 400), ("?query=-red", 400),
        ("?query=./000_x.png", 400),
        ("?query=red&like=5000", 404), ("?query=red&limit=0", 422), ("?query=red&cut=true", 422),
    ):  # fmt: skip
        assert served.ask("POST", path + query, picture, kind).status == status, query
    assert list(tmp_path.iterdir()) == [] and taught.sessions.all() == []


def test_similar_and_a_picture_that_is_sent(served: Served, taught: Collection) -> None:
    found = served.post("/v1/similar", {"like": [1], "unlike": [2], "limit": 5}).json
    assert ids(found) == [h.picture for h in taught.similar(1, negative=[2], k=5)]
    assert sum(s["value"] for s in found["hits"][0]["shares"]) == pytest.approx(
        found["hits"][0]["score"], abs=1e-3
    )
    picture = Path(taught.root.decode(), "000_x.png").read_bytes()
    alike = served.client.similar_to(picture, 3)
    assert alike.hits[0].id == 1
    (late,) = served.client.get("/v1/folders")["folders"]
    kind, query = {"Content-Type": "image/png"}, f"folder={late['id']}&limit=50&untagged=true"
    few = served.ask("POST", f"/v1/search/picture?{query}", picture, kind).json
    assert len(few["hits"]) == 12 and {h["name"][:5] for h in few["hits"]} == {"late/"}
    assert served.ask("POST", "/v1/search/picture?min_side=41", picture, kind).json["hits"] == []
    assert served.ask("POST", "/v1/search/picture?other=1", picture, kind).status == 422
    with pytest.raises(ServiceError) as e:
        served.client.similar_to(b"no picture at all")
    assert e.value.status in (409, 422)


def test_a_long_text_finds_pictures(served: Served) -> None:
    found = served.post("/v1/search/text", {"text": "A red, warm evening. " * 50, "limit": 6}).json
    assert len(found["hits"]) == 6 and found["hits"][0]["learnt"]
    assert "1 stop word left out: a" in found["said"]


def test_describing_and_topics(served: Served, taught: Collection) -> None:
    told = served.client.get("/v1/pictures/1/words?limit=3")
    assert [w["word"] for w in told["words"]] == [
        w.word for w in taught.pictures.describe(1, 3).words
    ]
    texts = served.client.get("/v1/pictures/1/texts?limit=2")
    assert [t["text"] for t in texts["texts"]] == [
        t.text for t in taught.pictures.describe_texts(1, 2).texts
    ]
    picture = Path(taught.root.decode(), "000_x.png").read_bytes()
    kind = {"Content-Type": "image/png"}
    sent = served.ask("POST", "/v1/describe/words?limit=3", picture, kind).json
    assert sent["picture"] is None and sent["words"][0]["word"] == told["words"][0]["word"]
    assert len(served.ask("POST", "/v1/describe/texts", picture, kind).json["texts"]) > 1
    topics = served.client.get("/v1/topics?words=2&pictures=3")
    assert len(topics["topics"][0]["high_pictures"]) == 3
    assert served.client.get("/v1/topics/near?word=red&limit=2")["words"]


def test_what_is_known_of_a_picture(served: Served, taught: Collection) -> None:
    found = served.client.get("/v1/pictures/1")
    assert (found["name"], found["width"], found["format"]) == ("000_x.png", 40, "PNG")
    assert found["words"][0]["tags"] == ["red", "warm"]
    file = served.ask("GET", "/v1/pictures/1/original")
    assert file.body == Path(taught.root.decode(), "000_x.png").read_bytes()
    assert file.headers["content-type"] == "image/png"
    assert file.headers["sightline-version"] == str(taught.store.version())
    small = served.ask("GET", "/v1/pictures/1/thumbnail")
    same = {"If-None-Match": small.headers["etag"]}
    again = served.ask("GET", "/v1/pictures/1/thumbnail", headers=same)
    assert (again.status, again.body) == (304, b"")
    assert served.ask("GET", "/v1/pictures/2/thumbnail", headers=same).status == 200
    for path in ("", "/thumbnail", "/original", "/words", "/texts"):
        assert served.ask("GET", f"/v1/pictures/5000{path}").code == "no-picture"


def test_how_the_collection_stands(served: Served) -> None:
    report = served.client.get("/v1/report")
    assert report["pictures"] == 102 and report["up_to_date"] and report["models"][0]["queries"]
    assert served.client.get("/v1/health")["status"] == "ok"
    assert served.client.get("/v1/skipped")["skipped"] == []
    served.client.search("warm")
    said = served.ask("GET", "/v1/metrics").body.decode()
    assert 'route="POST /v1/search",status="200"' in said and "sightline_pictures 102" in said
    assert "warm" not in said


def test_any_page_of_a_counted_list(served: Served) -> None:
    whole = served.post("/v1/search", {"query": "red", "limit": 500, "cut": False}).json
    assert (whole["total"], whole["within"]) == (None, None)
    asked = {"query": "red", "limit": 10, "cut": False, "count": True}
    first = served.post("/v1/search", asked).json
    cut = served.post("/v1/search", {"query": "red", "limit": 500}).json
    assert (first["total"], first["within"]) == (102, len(ids(cut)))
    assert ids(whole)[: first["within"]] == ids(cut)
    last = served.post("/v1/search", {**asked, "offset": 95}).json
    assert ids(last) == ids(whole)[95:] and last["next"] is None
    middle = served.post("/v1/search", {**asked, "offset": 40}).json
    following = served.post("/v1/search", {**asked, "cursor": middle["next"]}).json
    assert ids(middle) + ids(following) == ids(whole)[40:60]
    assert ids(served.post("/v1/search", {**asked, "offset": 999_999}).json) == []
    assert served.post("/v1/search", {**asked, "offset": 1_000_000}).status == 422
    assert served.post("/v1/search", {**asked, "offset": -1}).status == 422
    both = served.post("/v1/search", {**asked, "offset": 0, "cursor": middle["next"]})
    assert (both.status, both.code) == (400, "usage")
    found = served.client.search("red", limit=3, offset=2, count=True, cut=False)
    assert [h.id for h in found.hits] == ids(whole)[2:5] and found.total == 102
    # Words and looks together are looked up from the first hit on.
    mixed = {"query": "red", "like": [3], "limit": 5}
    assert ids(served.post("/v1/search", {**mixed, "offset": 5}).json)
    assert served.post("/v1/search", {**mixed, "offset": 20_000}).code == "too-deep"


def test_words_are_suggested(own: Served) -> None:
    found = own.client.get("/v1/words?prefix=&limit=3")
    assert found["version"] == own.service.collection.store.version()
    counts = [w["pictures"] for w in found["words"]]
    assert len(counts) == 3 and counts == sorted(counts, reverse=True)
    assert own.client.words("RE") == (("red", 4),)
    assert own.client.words("zz") == ()
    assert own.ask("GET", "/v1/words?limit=0").status == 422
    # A word that comes later is there with the version that has it.
    root = Path(own.service.collection.root.decode())
    (root / "000_x.txt").write_text("reddish brown, red")
    own.service.collection.index(compute=InlineCompute())
    assert own.client.words("red") == (("red", 4), ("reddish", 1), ("reddish brown", 1))
    (root / "000_x.txt").unlink()
    own.service.collection.index(compute=InlineCompute())
    assert own.client.words("red") == (("red", 3),)


def test_only_pictures_that_have_some_word(served_copy: Served, taught: Collection) -> None:
    body = {"query": "red", "limit": 200, "cut": False, "tagged": True}
    found = ids(served_copy.post("/v1/search", body).json)
    assert found == [
        h.picture for h in taught.search("red", 200, cut=False, filters=Filters(tagged=True))
    ]
    assert len(found) == 90
    assert (
        len(ids(served_copy.post("/v1/similar", {"like": [1], "limit": 200, "tagged": True}).json))
        == 89
    )
    session = {"query": "red", "limit": 200, "tagged": True}
    assert len(ids(served_copy.post("/v1/sessions", session).json)) == 90
    picture = Path(taught.root.decode(), "000_x.png").read_bytes()
    sent = "/v1/search/picture?limit=200&tagged=true"
    assert (
        len(served_copy.ask("POST", sent, picture, {"Content-Type": "image/png"}).json["hits"])
        == 90
    )
    for path, asked in (
        ("/v1/search", body), ("/v1/sessions", session), ("/v1/where", {"query": "red"}),
        ("/v1/why", {"query": "red"}), ("/v1/similar", {"like": [1]}),
        ("/v1/search", {"query": "red", "like": [3]}), ("/v1/search/text", {"text": "red"}),
    ):  # fmt: skip
        both = served_copy.post(path, {**asked, "tagged": True, "untagged": True})
        assert (both.status, both.code) == (400, "usage"), path


def test_words_that_were_not_learned_are_named(served_copy: Served) -> None:
    alone = served_copy.post("/v1/search", {"query": "red", "limit": 60, "untagged": True}).json
    found = served_copy.post(
        "/v1/search", {"query": "red xyzzy", "limit": 60, "untagged": True}
    ).json
    assert ids(found) == ids(alone) and ids(found)
    xyzzy = {"word": "xyzzy", "pictures": 0, "near": []}
    assert found["not_learned"] == [xyzzy] and found["predicted"]
    assert alone["not_learned"] == []
    nothing = served_copy.post("/v1/search", {"query": "xyzzy"}).json
    assert nothing["predicted"] is False and not nothing["hits"]
    without = served_copy.post("/v1/search", {"query": "red xyzzy", "learnt": False}).json
    assert without["predicted"] is None and not without["not_learned"]
    assert served_copy.client.search("red xyzzy").not_learned == (("xyzzy", 0),)
    assert served_copy.client.begin("red xyzzy").not_learned == (("xyzzy", 0),)
    for path, body in (
        ("/v1/why", {"query": "red xyzzy", "limit": 1}),
        ("/v1/sessions", {"query": "red xyzzy"}),
        ("/collections/pictures/points/query",
         {"query": {"relevance_feedback": {"target": "red xyzzy"}}}),
        ("/rank/words",
         {"items": [{"id": "1"}], "fields": [{"name": "query", "value": "red xyzzy"}]}),
    ):  # fmt: skip
        assert served_copy.post(path, body).json["not_learned"] == found["not_learned"], path


def test_mistyped_words_are_corrected_alike_everywhere(served_copy: Served) -> None:
    corrections = [{"typed": "yelow", "searched": ["yellow"]}]
    right = served_copy.post("/v1/search", {"query": "yellow"}).json
    found = served_copy.post("/v1/search", {"query": "yelow"}).json
    assert found == {**right, "corrections": corrections} and ids(found)
    assert served_copy.client.search("yelow").corrections == ({**corrections[0]},)
    assert served_copy.client.begin("yelow").corrections == ({**corrections[0]},)
    for insisting in ({"query": '"yelow"'}, {"query": "yelow", "verbatim": True}):
        typed = served_copy.post("/v1/search", insisting).json
        assert not typed["corrections"] and typed["unknown"][0]["near"] == ["yellow"]
    for path, body in (
        ("/v1/why", {"query": "yelow", "k": 1}),
        ("/v1/sessions", {"query": "yelow"}),
        ("/collections/pictures/points/query",
         {"query": {"relevance_feedback": {"target": "yelow"}}}),
        ("/rank/words",
         {"items": [{"id": "1"}], "fields": [{"name": "query", "value": "yelow"}]}),
    ):  # fmt: skip
        assert served_copy.post(path, body).json["corrections"] == corrections, path


def test_a_text_for_the_search_box_is_sent_to_the_search_by_texts(served: Served) -> None:
    long = served.post("/v1/search", {"query": "many words " * 500})
    assert (long.status, long.code) == (400, "query-too-long")
    assert "POST /v1/search/text" in long.json["detail"]


def test_names_of_earlier_releases_are_the_same(served: Served) -> None:
    """A client of an earlier release sends them, and finds what it knew in the answer."""
    pairs = [
        ("/v1/search", {"query": "cold", "positive": [3], "negative": [2], "k": 4},
         {"query": "cold", "like": [3], "unlike": [2], "limit": 4}),
        ("/v1/search", {"query": "red", "predicted": False, "k": 3},
         {"query": "red", "learnt": False, "limit": 3}),
        ("/v1/similar", {"positive": [1], "k": 3}, {"like": [1], "limit": 3}),
    ]  # fmt: skip
    for path, new, earlier in pairs:
        answer = served.post(path, new).json
        assert answer == served.post(path, earlier).json and answer["hits"], path
        for h in answer["hits"]:
            assert h["name"] == h["path"] and h["tagged"] == (h["match"] == "exact")
            assert h["match"] in ("exact", "predicted", "partial", "similar")
    both = served.post("/v1/search", {"query": "red", "k": 3, "limit": 3})
    assert both.status == 422 and "name it once" in both.json["detail"]


@pytest.mark.parametrize(
    ("path", "field"),
    [("/v1/words", "words"), ("/v1/folders", "folders"), ("/v1/pictures/1/words", "words")],
)
def test_lists_take_k_and_limit_its_earlier_name(served: Served, path: str, field: str) -> None:
    one, same = (served.ask("GET", f"{path}?{name}=1") for name in ("k", "limit"))
    assert one.status == 200 and len(one.json[field]) == 1
    assert one.json == same.json
    assert served.ask("GET", f"{path}?k=0").status == 422


def test_an_uploaded_picture_takes_names_of_earlier_releases(served: Served) -> None:
    sent = served.client.thumbnail(1)
    answers = [
        served.ask(
            "POST",
            f"/v1/search/words-and-picture?query=warm&{more}",
            sent,
            {"Content-Type": "image/jpeg"},
        ).json
        for more in ("negative=2&negative=4&k=3", "unlike=2&unlike=4&limit=3", "unlike=2&k=3")
    ]
    assert answers[0] == answers[1] and len(answers[2]["hits"]) == 3


def test_the_answer_says_what_decided_on_words_with_a_sign(served: Served) -> None:
    found = served.post("/v1/search", {"query": "warm -red -xyzzy", "k": 3}).json
    red, unknown = found["constraints"]
    assert (red["word"], red["required"], red["predicted"]) == ("red", False, True)
    assert unknown == {"word": "xyzzy", "required": False, "tagged": 0, "predicted": False}
    assert served.client.search("warm -red").constraints == (red,)
    assert served.post("/v1/search", {"query": "warm", "k": 3}).json["constraints"] == []


def test_why_says_what_decided_on_words_with_a_sign(served: Served) -> None:
    untagged = served.post("/v1/search", {"query": "warm -red", "untagged": True, "k": 2}).json
    tagged = served.post("/v1/search", {"query": "warm -red", "tagged": True, "k": 2}).json
    pictures = [untagged["hits"][0]["id"], tagged["hits"][0]["id"]]
    body = {"query": "warm -red", "pictures": pictures, "blocks": 2}
    hits = served.post("/v1/why", body).json["hits"]
    by = {h["hit"]["id"]: h["why"]["signs"] for h in hits}
    ((predicted,), (decided,)) = (by[p] for p in pictures)
    assert (predicted["word"], predicted["required"], predicted["by"]) == (
        "red", False, "prediction",
    )  # fmt: skip
    assert predicted["factor"] == pytest.approx(1 - predicted["probability"], abs=1e-5)
    assert decided["by"] == "tags" and decided["factor"] is None and not decided["tagged"]
    assert decided["text"].startswith("by tags: not tagged")


def test_hits_by_a_word_that_is_not_yet_proven_show_no_probability(own: Served) -> None:
    c = own.service.collection
    c.train(rankers=["ridge"], force=True)
    with c.judge(pictures=1) as session:
        session.mark(positive=[7, 13], negative=[2, 3])
        session.save_as("scarlet")
    c.train(rankers=["ridge"], force=True)
    answer = own.post("/v1/search", {"query": "scarlet", "cut": False}).json
    predicted = [h for h in answer["hits"] if h["match"] == "predicted"]
    assert predicted and {(h["probability"], h["proven"]) for h in predicted} == {(None, False)}
    assert answer["unproven"] == [{"word": "scarlet", "pictures": 2}]
    proven = own.post("/v1/search", {"query": "red", "cut": False}).json
    assert proven["unproven"] == [] and all(h["proven"] for h in proven["hits"])
    words = own.client.get(f"/v1/pictures/{predicted[0]['id']}/words?k=50")["words"]
    assert [w["word"] for w in words if not w["proven"]] == ["scarlet"]


def test_nouns_that_no_model_has_learned_are_suggested(tmp_path: Path) -> None:
    c = starting_words.collection(tmp_path, starting_words.rows_of([151] * 8 + [340] * 8))
    with running(c) as served:
        body = {"query": "dog", "k": 20, "cut": False, "count": True, "offset": 0}
        found = served.post("/v1/search", body).json
        assert {h["match"] for h in found["hits"]} == {"suggested"}
        assert not any(h["tagged"] or h["learnt"] for h in found["hits"])
        likely = [h["probability"] for h in found["hits"]]
        assert likely == sorted(likely, reverse=True) and likely[0] > 0.2
        # Where a list ends that is cut off; zebras are no dogs.
        assert found["within"] == sum(p >= 0.2 for p in likely) < found["total"]
        (word,) = found["suggested"]
        assert word["word"] == "dog" and word["closeness"] > 0.5 and word["n_classes"] > 50
        assert served.client.search("dog").hits[0].match == "suggested"
        why = served.post("/v1/why", {"query": "dog", "pictures": [ids(found)[0]]}).json
        (reason,) = why["hits"]
        assert reason["hit"]["match"] == "suggested" and "network" in reason["why"]["problem"]
        # They are no tags.
        assert served.post("/v1/search", {"query": "dog", "predicted": False}).json["hits"] == []
        export = served.ask("GET", "/v1/export?format=json").body.decode()
        assert "dog" not in export


def test_suggested_pictures_can_be_turned_off(tmp_path: Path) -> None:
    made = starting_words.collection(tmp_path, starting_words.rows_of([151] * 8))
    off = Collection.open(made.root, store=made.store_folder.path, starting_words=False)
    with running(off) as served:
        found = served.post("/v1/search", {"query": "dog"}).json
        assert found["hits"] == [] and found["suggested"] == []
