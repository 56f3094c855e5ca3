"""Judgements of likeness: kept for good, learnt from at once, refused where they make no sense."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.similarity.model import uniform
from sightline.collection.similarity.online import in_use, triplets_of
from sightline.errors import CollectionError, UsageError
from sightline.records import SimilarityJudgement
from sightline.store.events import EventLog, NewEvent
from sightline.store.writer import Judging
from tests.factories.similar_collections import plant_similar


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    plant_similar(tmp_path / "store", 60)
    (tmp_path / "photos").mkdir()
    return Collection.open(tmp_path / "photos", store=tmp_path / "store")


def said(c: Collection) -> list[SimilarityJudgement]:
    log = EventLog(c.store_folder.events, write=False)
    try:
        return log.similarity_judgements()
    finally:
        log.close()


def weights(c: Collection) -> np.ndarray:
    with c.store_folder.reader() as reader:
        return in_use(reader)[0].w


def test_judgements_are_events_and_move_the_weights(c: Collection) -> None:
    before = weights(c)
    lesson = c.models.learn_similarity(
        1, positive=[7, "0012.jpg"], negative=[2, 3], session="s", source="me"
    )
    assert lesson.noted == 4 and lesson.triplets == 4 and lesson.contradicted == 0
    assert [(j.query, j.picture, j.similar, j.source) for j in said(c)] == [
        (1, 7, True, "me"), (1, 13, True, "me"), (1, 2, False, "me"), (1, 3, False, "me"),
    ]  # fmt: skip
    after = weights(c)
    assert (before != after).any()
    # Nothing was published: the weights are made from the log by whoever needs them.
    assert c.status().similarity_model == "" and (weights(c) == after).all()


def test_what_was_judged_is_ranked_better_the_more_often_it_is(c: Collection) -> None:
    lessons = [
        c.models.learn_similarity(1 + i, positive=[7 + i, 13 + i], negative=[2 + i])
        for i in range(30)
    ]
    assert lessons[-1].triplets == 60
    assert lessons[-1].wrong_after <= lessons[-1].wrong_before
    with c.store_folder.reader() as reader:
        base, moved = uniform(reader.snapshot), in_use(reader)[0]
    share = [np.abs(a.w).reshape(4, -1).sum(axis=1) for a in (base, moved)]
    at = base.names.index("signal")
    assert share[1][at] / share[1].sum() > share[0][at] / share[0].sum()


def test_alike_alone_teaches_by_others_that_are_drawn(c: Collection) -> None:
    before = weights(c)
    lesson = c.models.learn_similarity(1, positive=[7])
    assert lesson.triplets == 0 and (weights(c) != before).any()
    only_unlike = c.models.learn_similarity(2, negative=[3])
    assert only_unlike.noted == 1 and only_unlike.triplets == 0


def test_later_judgements_overrule_earlier_ones(c: Collection) -> None:
    c.models.learn_similarity(1, positive=[7], negative=[2])
    lesson = c.models.learn_similarity(1, positive=[2], negative=[7])
    assert lesson.contradicted == 2 and lesson.triplets == 1
    judged, drawn, ids = triplets_of(said(c), np.arange(1, 61))
    assert ids[judged.first].tolist() == [2] and ids[judged.second].tolist() == [7]
    assert set(ids[drawn.first].tolist()) == {2}


def test_a_reverted_session_stops_counting(c: Collection) -> None:
    before = weights(c)
    c.models.learn_similarity(1, positive=[7], negative=[2], session="mistake")
    assert (weights(c) != before).any()
    with Judging(c.store_folder) as judging:
        judging.append([NewEvent("session-reverted", body={"session": "mistake"})])
    assert said(c) == [] and (weights(c) == before).all()


def test_a_version_that_stays_open_reads_the_log_again_where_there_is_news(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    c.store_folder.fast = True
    reads: list[int] = []
    judgements = EventLog.similarity_judgements

    def counted(self: EventLog, after: int = 0) -> list[SimilarityJudgement]:
        reads.append(after)
        return judgements(self, after)

    monkeypatch.setattr(EventLog, "similarity_judgements", counted)
    before = weights(c)
    with Judging(c.store_folder) as judging:
        judging.append([NewEvent("judged", 7, {"query": "red", "relevance": 1.0}, "s")])
    assert (weights(c) == before).all() and len(reads) == 1
    c.models.learn_similarity(1, positive=[7], negative=[2], session="mistake")
    reads.clear()
    after = weights(c)
    assert (after != before).any() and (weights(c) == after).all() and len(reads) == 1
    c.store_folder.fast = False
    assert (weights(c) == after).all()
    c.store_folder.fast = True
    with Judging(c.store_folder) as judging:
        judging.append([NewEvent("session-reverted", body={"session": "mistake"})])
    assert (weights(c) == before).all()


def test_judgements_do_not_reach_what_is_learnt_of_words(c: Collection) -> None:
    c.models.learn_similarity(1, positive=[7], negative=[2])
    log = EventLog(c.store_folder.events, write=False)
    assert log.judgements() == [] and log.problems() == []
    log.close()


@pytest.mark.parametrize(
    ("query", "alike", "unlike", "kind", "message"),
    [
        (1, [2], [2], UsageError, "Picture 2 is judged both similar to picture 1 and not"),
        (1, [1], [], UsageError, "cannot be judged against itself"),
        (1, [], [], UsageError, "No picture is judged"),
        (1, [2, 999], [], CollectionError, "There is no picture 999"),
        ("nowhere.jpg", [2], [], CollectionError, "nowhere.jpg is not in the collection"),
    ],
)
def test_nonsense_is_refused_before_anything_is_written(
    c: Collection,
    query: int | str,
    alike: list[int],
    unlike: list[int],
    kind: type[Exception],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        c.models.learn_similarity(query, positive=alike, negative=unlike)
    assert said(c) == []


def test_pictures_that_are_gone_teach_nothing() -> None:
    told = [
        SimilarityJudgement(1, 2, True, "", 1),
        SimilarityJudgement(1, 3, False, "", 2),
        SimilarityJudgement(9, 2, True, "", 3),
    ]
    judged, drawn, ids = triplets_of(told, np.array([1, 2, 4, 5]))
    assert len(judged) == 0 and ids.tolist() == [1, 2, 4, 5]
    assert set(ids[drawn.query].tolist()) == {1} and set(ids[drawn.second].tolist()) <= {4, 5}
