"""Judgements under a key count once, and examples can be tried without being kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from sightline.errors import UsageError
from tests.factories.judging_collections import events_of, judged_collection, kind_of


def test_a_mark_sent_twice_under_a_key_counts_once(tmp_path: Path) -> None:
    c = judged_collection(tmp_path)
    session = c.judge("word1")
    assert session.mark(positive=[2], negative=[3], key="a") == 2
    assert session.mark(positive=[2], negative=[3], key="a") == 2
    assert c.judge(resume=session.id).mark(positive=[2], negative=[3], key="a") == 2
    assert len(events_of(c, "judged")) == 2 and session.judged == {2: True, 3: False}
    session.mark(positive=[2], negative=[3], key="b")
    assert len(events_of(c, "judged")) == 4
    # Of another session it is another key.
    other = c.judge("word1")
    other.mark(positive=[2], negative=[3], key="a")
    assert len(events_of(c, "judged")) == 6


def test_a_key_cannot_mean_two_things(tmp_path: Path) -> None:
    c = judged_collection(tmp_path)
    session = c.judge("word1")
    session.mark(positive=[2], key="a")
    for relevant, other in (([3], []), ([2, 3], []), ([], [2])):
        with pytest.raises(UsageError, match="was used for other judgements"):
            session.mark(positive=relevant, negative=other, key="a")
    assert session.judged == {2: True}


def test_a_late_repeat_does_not_bring_back_what_was_undone(tmp_path: Path) -> None:
    session = judged_collection(tmp_path).judge("word1")
    session.mark(positive=[2], key="a")
    session.undo()
    assert session.mark(positive=[2], key="a") == 1
    assert session.judged == {}


def test_an_undo_sent_twice_under_a_key_takes_one_mark_back(tmp_path: Path) -> None:
    session = judged_collection(tmp_path).judge("word1")
    session.mark(positive=[2])
    session.mark(positive=[8])
    assert session.undo(key="u") == {8: True}
    assert session.undo(key="u") == {8: True}
    assert session.judged == {2: True}
    assert session.undo(key="v") == {2: True}
    with pytest.raises(UsageError, match="nothing to undo"):
        session.undo(key="w")


def test_examples_rank_as_judgements_would_and_are_not_kept(tmp_path: Path) -> None:
    c = judged_collection(tmp_path)
    fit = [p for p in range(2, 60) if kind_of(p) == kind_of(1)][:4]
    unfit = [p for p in range(2, 60) if kind_of(p) == kind_of(2)][:4]
    for asked in ({"query": "word0"}, {"pictures": 1}):
        tried = c.sessions.refine(**asked, positive=fit, negative=unfit, k=20)
        assert events_of(c, "judged") == []
        session = c.judge(**asked)
        assert [h.picture for h in session.next(20)] != [h.picture for h in tried]
        session.mark(positive=fit, negative=unfit)
        kept = session.next(20, hide_judged=True)
        assert [(h.picture, h.score) for h in tried] == [(h.picture, h.score) for h in kept]
        c.sessions.revert(session.id)
        c.store.purge(sessions=[session.id])


def test_examples_on_top_of_a_session(tmp_path: Path) -> None:
    c = judged_collection(tmp_path)
    session = c.judge(pictures=1)
    session.mark(positive=[7])
    tried = session.supposing(negative=[2, 3], k=20)
    assert session.judged == {7: True} and not {2, 3, 7} & {h.picture for h in tried}
    assert session.supposing(k=5).hits == session.next(5, hide_judged=True).hits
    with pytest.raises(UsageError, match="both to fit and not to"):
        session.supposing([2], [2])
