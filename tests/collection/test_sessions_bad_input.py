"""Judging sessions given what makes no sense, or what has changed under them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.sessions.log import FORMAT, SessionStart
from sightline.contracts import Json
from sightline.errors import CollectionError, SightlineError, StoreDamaged, UsageError
from sightline.store.events import NewEvent
from sightline.store.writer import Change, Judging, Writer
from tests.factories.judging_collections import events_of, judged_collection


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    return judged_collection(tmp_path)


def remove(c: Collection, picture: int) -> None:
    """Take a picture out of the collection, as an index does that finds its file gone."""
    with Writer(c.store_folder, "test") as w:
        events = w.append([NewEvent("picture-gone", picture)])
        w.publish(Change(events=events, dead=[picture]), finished=True)
    os.remove(os.path.join(c.root, b"%04d.jpg" % (picture - 1)))


@pytest.mark.parametrize(
    ("relevant", "other", "kind", "message"),
    [
        ([2, 999], [], CollectionError, "There is no picture 999"),
        (["nowhere.jpg"], [], CollectionError, "nowhere.jpg is not in the collection"),
        ([2, 3], [3], UsageError, "Picture 3 is judged both to fit and not to"),
        ([], [], UsageError, "No picture is judged"),
        ([], [1], UsageError, "Picture 1 is what the session looks for"),
        ("0002.jpg", [], UsageError, "Name pictures in a list"),
        (np.int64(7), [], UsageError, "Name pictures in a list"),
        (7.5, [], UsageError, "Name pictures in a list. Got 7.5"),
        ([True], [], UsageError, "True names no picture"),
        (np.array([True]), [], UsageError, "True_? names no picture"),
        ([], [2.0], UsageError, "2.0 names no picture. Give a hit, an id or a path"),
    ],
)
def test_nonsense_is_refused_before_anything_is_written(
    c: Collection,
    relevant: list[int | str | bytes],
    other: list[int | str | bytes],
    kind: type[SightlineError],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        c.judge(pictures=1).mark(positive=relevant, negative=other)
    assert events_of(c, "judged", "session-started") == []


def test_whole_numbers_of_numpy_name_pictures(c: Collection) -> None:
    for like in (np.int64(3), np.array([3]), [np.uint8(3)], np.array(3), Path("0002.jpg")):
        # `pictures` is what `positive` was called earlier.
        assert c.judge(pictures=like).start.examples == (3,)
        session = c.judge(positive=like)
        assert session.start.examples == (3,)
    assert session.mark(positive=np.array([9, 15]), negative=[np.int32(2)]) == 3
    assert session.judged == {9: True, 15: True, 2: False}
    assert session.why(np.int64(9)).judged is True and session.why(2).judged is False
    hit = session.next(np.int64(1)).hits[0]  # type: ignore[arg-type]
    assert c.judge(pictures=hit).start.examples == (hit.picture,)
    for wrong in (True, 2.5, None):
        with pytest.raises(UsageError, match="names no picture"):
            c.judge(pictures=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [2.5, "3", None, True, 0, -1])
def test_how_many_is_a_whole_number(c: Collection, n: int) -> None:
    session = c.judge(pictures=1)
    for ask, what in ((session.next, "hit"), (session.propose, "picture")):
        with pytest.raises(UsageError, match=f"1 {what} must be .* as a whole number. Got {n!r}"):
            ask(n)


def test_a_deleted_picture_cannot_be_judged_and_teaches_no_more(c: Collection) -> None:
    session = c.judge(pictures=1)
    session.mark(positive=[7, 13], negative=[2, 3])
    remove(c, 13)
    with pytest.raises(CollectionError, match="There is no picture 13"):
        session.mark(negative=[13])
    after = session.next(119)
    assert 13 not in {h.picture for h in after} and after.hits[0].learned
    assert "1 judged picture can no longer be learned from." in after.remarks
    fresh = c.judge(pictures=1)
    fresh.mark(positive=[7], negative=[2, 3])
    assert [h.picture for h in fresh.next(119)] == [h.picture for h in after]


def test_the_picture_a_session_began_with_may_go(c: Collection) -> None:
    session = c.judge(pictures=1)
    session.mark(positive=[7], negative=[2])
    before = [h.picture for h in session.next(30)]
    remove(c, 1)
    assert [h.picture for h in c.judge(resume=session.id).next(30)] == before
    with pytest.raises(CollectionError, match="There is no picture 1 in"):
        c.judge(pictures=1)


@pytest.mark.parametrize("begun", ["word2", 3])
def test_only_pictures_that_fit_leave_the_ranking(c: Collection, begun: str | int) -> None:
    session = c.judge(begun) if isinstance(begun, str) else c.judge(pictures=begun)
    before = [h.picture for h in session.next(10)]
    best = before[1:3]
    session.mark(positive=best)
    after = session.next(10)
    rest = [p for p in before if p not in best]
    assert {h.picture for h in after.hits[:2]} == set(best)
    assert [h.picture for h in after.hits[2:]] == rest
    assert after.share == 1.0 and after.before is None and not after.hits[0].learned
    assert any("pictures that do not fit are judged too" in s for s in after.remarks)


def test_only_pictures_that_do_not_fit_teach_where_a_picture_was_asked_for(c: Collection) -> None:
    words, like = c.judge("word2"), c.judge(pictures=3)
    before = words.next(10)
    for session in (words, like):
        session.mark(negative=[1, 2])
    after = words.next(10)
    assert [h.picture for h in after] == [h.picture for h in before]
    assert any("pictures that fit are judged too" in s for s in after.remarks)
    assert like.next(10).before is not None


def test_the_last_judgement_of_a_picture_counts(c: Collection) -> None:
    session = c.judge(pictures=1)
    session.mark(positive=[7, 2], negative=[3])
    session.mark(negative=[2])
    plain = c.judge(pictures=1)
    plain.mark(positive=[7], negative=[3, 2])
    assert session.judged == {7: True, 3: False, 2: False}
    assert [(h.picture, h.score) for h in session.next(50)] == [
        (h.picture, h.score) for h in plain.next(50)
    ]


def test_an_unknown_session_and_one_of_another_store(
    c: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CollectionError, match=r"no session 'abc' in .*photos. See: sightline sess"):
        c.judge(resume="abc")
    with pytest.raises(CollectionError, match="no session 'abc'"):
        c.sessions.revert("abc")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    place = tmp_path / "data" / "sightline"
    other = judged_collection(place / "made")
    os.rename(place / "made" / "store", place / "store")
    other = Collection.open(place / "made" / "photos", store=place / "store")
    with Writer(other.store_folder, "test") as w:
        w.note(Change(meta=[("root", f'"{other.root.decode()}"')]))
    session = other.judge(pictures=1)
    session.mark(positive=[7])
    with pytest.raises(CollectionError, match=r"it is one of .*made/photos"):
        c.judge(resume=session.id)


def test_a_session_goes_on_with_what_is_served_now_and_says_so(c: Collection) -> None:
    session = c.judge("word2")
    session.mark(positive=[3, 9], negative=[1, 2])
    now = session.next(20)
    start = replace(session.start, model="words-0123456789ab", feature="ehd-0123456789ab")
    judged = [(e.picture, e.body) for e in events_of(c, "judged")]
    with Judging(c.store_folder) as judging:
        judging.append([NewEvent("session-started", None, start.body(), "older")])
        judging.append([NewEvent("judged", p, body, "older") for p, body in judged])
    older = c.judge(resume="older").next(20)
    assert older.remarks == (
        "The session began with model words-0123456789ab of words; it goes on with no model.",
        "The session began with ehd; it goes on with deep.",
    )
    assert [(h.picture, h.score) for h in older] == [(h.picture, h.score) for h in now]


def test_an_empty_ranking_says_so_and_can_still_learn(c: Collection) -> None:
    session = c.judge("unheard")
    first = session.next(10)
    assert len(first) == 0 and first.unknown[0].word == "unheard"
    assert any("No picture has the word 'unheard'" in s for s in first.remarks)
    assert any("No picture fits" in s for s in first.remarks)
    session.mark(positive=[1, 7, 13], negative=[2, 3, 4])
    assert {(h.picture - 1) % 6 for h in session.next(10)} == {0}


def test_what_begins_a_session_must_be_one_thing(c: Collection) -> None:
    for given in ({}, {"query": "tree", "pictures": 1}, {"pictures": 1, "resume": "x"}):
        with pytest.raises(UsageError, match="Name one thing to judge by"):
            c.judge(**given)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no dense descriptor 'gist'"):
        c.judge(pictures=1, feature="gist")
    with pytest.raises(UsageError, match="names no word"):
        c.judge("-people")
    with pytest.raises(UsageError, match="At least 1"):
        c.judge(pictures=1).next(0)


def test_sessions_that_others_wrote_are_listed_but_not_resumed(c: Collection) -> None:
    c.models.learn_similarity(1, positive=[7], negative=[2], session="by hand")
    with Judging(c.store_folder) as judging:
        body = {"query": "tree", "relevance": 1.0, "source": "me"}
        judging.append([NewEvent("judged", 3, body, "told")])  # type: ignore[arg-type]
    found = {s.id: s for s in c.sessions.all()}
    assert (found["by hand"].positive, found["by hand"].negative) == (1, 1)
    assert found["told"].query == "tree" and not found["told"].resumable
    with pytest.raises(UsageError, match="cannot be resumed"):
        c.judge(resume="told")
    assert (
        c.sessions.revert("told")
        and {s.id: s.state for s in c.sessions.all()}["told"] == "reverted"
    )


def started(c: Collection, session: str, **changes: Json) -> None:
    """Write the beginning of a session, as another Sightline may have."""
    (body,) = [e.body for e in events_of(c, "session-started")][:1]
    with Judging(c.store_folder) as judging:
        judging.append([NewEvent("session-started", None, {**body, **changes}, session)])


def test_a_session_of_another_format(c: Collection) -> None:
    session = c.judge(pictures=1, filters=Filters(min_side=1, untagged=True))
    session.mark(positive=[8], negative=[9])
    (kept,) = events_of(c, "session-started")
    assert SessionStart.of(kept) == session.start and kept.body["format"] == FORMAT
    old = {k: kept.body[k] for k in ("query", "like", "rows", "feature", "model", "version")}
    with Judging(c.store_folder) as judging:
        judging.append([NewEvent("session-started", None, old, "older")])
    assert len(c.judge(resume="older").next(200)) == 119
    started(c, "newer", format=FORMAT + 1, where={"colour": "red"})
    assert {s.id for s in c.sessions.all(empty=True)} == {session.id, "older", "newer"}
    assert {s.id for s in c.sessions.all()} == {session.id}
    with pytest.raises(UsageError, match=rf"later Sightline \(format {FORMAT + 1}, here up to"):
        c.judge(resume="newer")
    assert c.sessions.revert("newer")
    started(c, "damaged", where={"colour": "red"})
    with pytest.raises(StoreDamaged, match=r"an invalid filter: \{'colour': 'red'\}"):
        c.judge(resume="damaged")
