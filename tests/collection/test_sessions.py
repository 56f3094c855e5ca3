"""Judging sessions: every judgement counts at once, is kept, and can be taken back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.sessions.session import Session
from sightline.contracts import Json
from sightline.errors import UsageError
from sightline.store.events import NewEvent
from sightline.store.writer import Change, Writer
from tests.factories.judging_collections import (
    events_of,
    judge_with_label_noise,
    judged_collection,
    kind_of,
    precision,
)


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    return judged_collection(tmp_path)


def answer(session: Session, kind: int, n: int = 20) -> list[int]:
    """Judge the best hits as somebody would who looks for one cluster; return them."""
    found = [h.picture for h in session.next(n, hide_judged=True)]
    fit = [p for p in found if kind_of(p) == kind]
    session.mark(positive=fit, negative=[p for p in found if p not in fit])
    return found


def test_a_session_of_a_picture_finds_more_of_its_kind_each_round(tmp_path: Path) -> None:
    c = judged_collection(tmp_path, n=240, noise=1.0)
    session = c.judge(pictures=1)
    rounds = [answer(session, 0) for _ in range(4)]
    after = [h.picture for h in session.next(20)]
    assert 1 not in rounds[0] and 1 not in after
    assert precision(after, 0) > precision(rounds[0], 0)
    assert session.after is not None and session.before is not None
    assert session.after > session.before and session.share < 1


def test_a_session_of_words_finds_pictures_that_do_not_have_them(c: Collection) -> None:
    session = c.judge("word2")
    first = session.next(20)
    # Ten have the word; those that look like them follow.
    assert [h.tagged for h in first] == [True] * 10 + [False] * 10
    assert not any(h.learned for h in first)
    assert precision([h.picture for h in first], 2) >= 0.9
    session.mark(positive=list(first)[:6], negative=[1, 2, 4, 5, 6, 7, 8, 10, 11, 12])
    found = session.next(20)
    assert found.round == 1 and found.session == session.id and found.hits[0].learned
    assert precision([h.picture for h in found], 2) >= 0.9
    assert not all(h.tagged for h in found)


def test_marks_are_events_that_say_all_of_it(c: Collection) -> None:
    session = c.judge("word2")
    assert events_of(c, "judged", "session-started") == []
    assert session.mark(positive=[3, "0008.jpg"], negative=[4]) == 3
    session.next(5)
    session.mark(negative=[5])
    (start,) = events_of(c, "session-started")
    assert start.body["query"] == "word2" and start.session == session.id
    judged = events_of(c, "judged")
    assert [(e.picture, e.body["relevance"], e.body["round"]) for e in judged] == [
        (3, 1.0, 1), (9, 1.0, 1), (4, 0.0, 1), (5, 0.0, 2),
    ]  # fmt: skip
    assert len({e.body["mark"] for e in judged[:3]}) == 1
    for e in judged:
        assert e.session == session.id and e.body["query"] == "word2" and e.body["version"] == 1
        assert {"model", "feature", "like"} <= set(e.body)


def test_marks_before_the_next_look_are_one_round(c: Collection) -> None:
    one, other = c.judge(pictures=1), c.judge(pictures=1)
    one.mark(positive=[7, 13], negative=[2, 3])
    other.mark(positive=[7])
    other.mark(positive=[13])
    other.mark(negative=[2, 3])
    assert other.round == one.round == 1
    assert [(h.picture, h.score) for h in one.next(30)] == [
        (h.picture, h.score) for h in other.next(30)
    ]


RESUME = """
import json, sys
from sightline.collection import Collection
c = Collection.open(sys.argv[1], store=sys.argv[2])
r = c.judge(resume=sys.argv[3]).next(50)
print(json.dumps([[h.picture, float(h.score).hex(), h.tagged] for h in r] + [r.share, r.after]))
"""


@pytest.mark.parametrize("begun", ["word2", 3])
def test_another_process_goes_on_with_the_same_ranking(c: Collection, begun: str | int) -> None:
    session = c.judge(begun) if isinstance(begun, str) else c.judge(pictures=begun)
    session.mark(negative=[1, 2, 4, 5])
    for _ in range(3):
        answer(session, 2)
    session.undo()
    here = session.next(50)
    args = [str(c.root.decode()), str(c.store_folder.path), session.id]
    told = subprocess.run([sys.executable, "-c", RESUME, *args], capture_output=True, check=True)
    mine = [[h.picture, float(h.score).hex(), h.tagged] for h in here]
    assert json.loads(told.stdout) == [*mine, here.share, here.after]


def test_undo_takes_the_last_mark_back_by_an_event(c: Collection) -> None:
    session = c.judge(pictures=1)
    session.mark(positive=[7], negative=[2])
    before = [(h.picture, h.score) for h in session.next(20)]
    n = len(events_of(c))
    session.mark(positive=[2], negative=[7])
    assert [(h.picture, h.score) for h in session.next(20)] != before
    assert session.undo() == {2: True, 7: False}
    assert [(h.picture, h.score) for h in session.next(20)] == before
    assert len(events_of(c)) == n + 3 and session.judged == {7: True, 2: False}
    session.undo()
    assert session.judged == {} and session.round == 0
    with pytest.raises(UsageError, match="nothing to undo"):
        session.undo()
    assert c.sessions.all()[0].undone == 2


def test_judged_pictures_can_be_hidden(c: Collection) -> None:
    session = c.judge(pictures=1)
    session.mark(positive=[7, 13], negative=[2])
    shown = {h.picture for h in session.next(119)}
    hidden = {h.picture for h in session.next(119, hide_judged=True)}
    assert shown - hidden == {2, 7, 13} and 1 not in shown


def test_why_adds_up_to_the_score(c: Collection) -> None:
    for session in (c.judge(pictures=1), c.judge("word0")):
        session.mark(positive=[7, 13], negative=[2, 3])
        for h in session.next(10):
            why = session.why(h)
            assert why.path == h.path and abs(why.score - h.score) < 1e-4
            total = why.untrained + why.rest + sum(b.contribution for b in why.because)
            assert abs(total - why.score) < 1e-9
    judged = session.why(2)
    assert judged.judged is False and judged.lines()[-1] == (
        "it was judged: does not fit, so it is ranked last"
    )
    assert {b.picture for b in judged.because} == {7, 13, 2, 3}


def test_what_to_judge_next_lies_on_the_edge_and_is_diverse(c: Collection) -> None:
    session = c.judge(pictures=1)
    session.mark(positive=[7, 13], negative=[2, 3])
    proposed = [h.picture for h in session.propose(6)]
    assert len(set(proposed)) == 6 and not {1, 2, 3, 7, 13} & set(proposed)
    best = [h.picture for h in session.next(6, hide_judged=True)]
    # The best are nearly all of one kind; what is proposed is of several.
    assert len({kind_of(p) for p in proposed}) > len({kind_of(p) for p in best})


def test_a_session_saved_as_a_word_is_found_by_search_and_goes_with_it(c: Collection) -> None:
    session = c.judge(pictures=1)
    session.mark(positive=[7, 13, 19], negative=[2])
    assert session.save_as("My find") == 3
    assert [h.picture for h in c.search('"my find"').hits if h.tagged] == [7, 13, 19]
    assert c.sessions.all()[0].words == ("My find",) and c.sessions.all()[0].state == "saved"
    session.mark(positive=[25], negative=[19])
    assert session.save_as("My find") == 3 and session.save_as("other") == 3
    assert {h.picture for h in c.search('"my find"').hits if h.tagged} == {7, 13, 25}
    assert {h.picture for h in c.search("other").hits if h.tagged} == {7, 13, 25}
    assert c.store.verify().sound
    assert c.sessions.revert(session.id) and not c.sessions.revert(session.id)
    assert not c.search('"my find"').hits and not c.search("other").hits
    assert all("session:" not in t.source for t in c.pictures.words(7)) and c.store.verify().sound
    with pytest.raises(UsageError, match="was reverted"):
        session.mark(positive=[7])
    with pytest.raises(UsageError, match="was reverted"):
        c.judge(resume=session.id)


@pytest.mark.parametrize("word", ["", " ", "a/b", "..."])
def test_only_one_label_can_be_made_of_a_session(c: Collection, word: str) -> None:
    session = c.judge(pictures=1)
    session.mark(positive=[7])
    with pytest.raises(UsageError, match="cannot be a word"):
        session.save_as(word)


def test_a_session_can_begin_with_several_pictures(c: Collection) -> None:
    both = c.judge(pictures=[1, "0001.jpg", 1])
    found = [h.picture for h in both.next(30)]
    assert both.start.examples == (1, 2) and sum(kind_of(p) in (0, 1) for p in found) >= 20
    assert not {1, 2} & set(found)
    both.mark(positive=[7], negative=[3])
    assert events_of(c, "judged")[0].body["like"] == [1, 2]


def test_ranks_are_finite_and_sorted(c: Collection) -> None:
    session = c.judge("word0 word1")
    session.mark(positive=[1, 2], negative=[3])
    hits = session.next(200).hits
    scores = [h.score for h in hits if h.picture not in session.judged]
    assert scores == sorted(scores, reverse=True) and np.isfinite(scores).all()
    assert len({h.picture for h in hits}) == len(hits) == 120


def test_what_was_judged_stands_first_and_last(c: Collection) -> None:
    for session in (c.judge("word0"), c.judge(pictures=1)):
        session.mark(positive=[8, 31], negative=[7, 13])
        found = [h.picture for h in session.next(200)]
        assert set(found[:2]) == {8, 31} and set(found[-2:]) == {7, 13}


def test_a_slip_is_said_does_not_count_and_may_be_insisted_on(c: Collection) -> None:
    session = c.judge(pictures=1)
    unfit = judge_with_label_noise(session)
    found = session.next(200)
    assert session.suspected_mislabels == found.suspected_mislabels == {unfit}
    (said,) = [s for s in found.remarks if "contradict" in s]
    assert said == (
        "1 judgement contradicts the others, and nothing is learned from it: "
        f"{unfit - 1:04d}.jpg (does not fit). To insist, judge it again."
    )
    order = [h.picture for h in found]
    assert order.index(unfit) < 60
    assert "which contradicts the others" in session.why(unfit).lines()[-1]
    session.mark(negative=[unfit])
    assert not session.suspected_mislabels and session.next(200).hits[-1].picture in session.judged


def test_slips_are_at_hand_where_judged_pictures_are_hidden(c: Collection) -> None:
    session = c.judge(pictures=1)
    unfit = judge_with_label_noise(session)
    scores = {h.picture: h.score for h in session.next(200)}
    for found in (session.next(5), session.next(5, hide_judged=True), session.propose(5)):
        assert [(h.picture, h.score) for h in found.doubted] == [(unfit, scores[unfit])]
    session.mark(negative=[unfit])
    assert not session.next(5).doubted


def test_excluded_and_required_words_stay_in_force(c: Collection) -> None:
    session = c.judge("pair0 -word0")
    session.mark(positive=[2], negative=[3, 4])
    found = {h.picture for h in session.next(200)}
    tagged = {h.picture for h in c.search("word0").hits if h.tagged}
    assert tagged and not tagged & found


def test_a_session_of_words_where_all_fits_never_runs_dry(c: Collection) -> None:
    session = c.judge("word2")
    seen: list[int] = []
    for _ in range(4):
        hits = [h.picture for h in session.next(4, hide_judged=True)]
        assert len(hits) == 4 and not set(hits) & set(seen)
        seen += hits
        session.mark(positive=hits)
    # All that have the word are judged, and of the others it says nothing.
    assert session.share == 0.0 and session.before is None
    # Ten have the word; what follows them is of their kind.
    assert precision(seen, 2) >= 0.9
    every = session.next(200).hits
    assert len({h.picture for h in every}) == 120
    assert all(h.tagged for h in c.judge("word2").next(10))
    assert {h.picture for h in every[:16]} == set(seen)
    for h in every[8:14]:
        assert abs(session.why(h).score - h.score) < 1e-4


def test_where_tagged_pictures_do_not_fit_others_like_the_rest_follow(c: Collection) -> None:
    session = c.judge("pair0")
    tagged = [h.picture for h in session.next(200) if h.tagged]
    wrong = [p for p in tagged if kind_of(p) == 1]
    session.mark(negative=wrong)
    followers = [h.picture for h in session.next(30, hide_judged=True) if not h.tagged]
    assert precision(followers[:5], 0) == 1.0
    session.mark(negative=[p for p in tagged if kind_of(p) == 0])
    # Nothing is left that tells what is wanted, so nothing can follow.
    dry = session.next(30, hide_judged=True)
    assert not dry.hits and "No picture is left to judge" in dry.remarks[-1]


def test_filters_are_those_of_search_and_stay_in_force(c: Collection) -> None:
    with Writer(c.store_folder, "test") as w:
        for p in range(1, 61):
            body: dict[str, Json] = {
                "path": f"old/{p:04d}.jpg", "sha": "0" * 64, "size": p, "mtime": 1, "width": p,
                "height": 1, "format": "JPEG", "taken": 86_400 * p,
            }  # fmt: skip
            w.note(Change(events=w.append([NewEvent("picture-seen", p, body)])))
    for p in range(1, 61):
        target = Path(c.root.decode(), "old", f"{p:04d}.jpg")
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(b"x")
    assert {h.picture for h in c.search("word2", 200, filters=Filters(folder="old")).hits} <= set(
        range(1, 61)
    )
    for filters in (
        Filters(folder="old"), Filters(after=86_400 * 20, before=86_400 * 40),
        Filters(untagged=True), Filters(min_side=30, max_bytes=50),
    ):  # fmt: skip
        inside = {h.picture for h in c.similar(1, k=200, filters=filters)} | {1}
        assert 1 < len(inside) < 110
        for begun in ({"query": "word2"}, {"pictures": 1}):
            session = c.judge(**begun, filters=filters)
            some = sorted(inside - {1})
            assert {h.picture for h in session.next(200)} <= inside
            session.mark(positive=some[:2], negative=[*some[2:5], 62])
            for again in (session, c.judge(resume=session.id)):
                found = {h.picture for h in again.next(200)}
                assert found and found <= inside
                assert {h.picture for h in again.propose(50)} <= inside
            with pytest.raises(UsageError, match="filters it began with"):
                c.judge(resume=session.id, filters=filters)


def test_a_filter_that_leaves_nothing_says_so(c: Collection) -> None:
    found = c.judge(pictures=1, filters=Filters(min_side=2)).next(10)
    assert not found.hits and any("No picture fits: filters" in s for s in found.remarks)
    with pytest.raises(UsageError, match="before"):
        c.judge(pictures=1, filters=Filters(before="yesterday-ish"))
    with pytest.raises(UsageError, match="There is no folder nowhere"):
        c.judge("word2", filters=Filters(folder="nowhere"))
    with pytest.raises(TypeError, match="colour"):
        c.judge(pictures=1, colour="red")  # type: ignore[call-arg]
