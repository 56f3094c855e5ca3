"""What was judged flows into train, within bounds, and a reverted session leaves no trace."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.models.dataset import Dataset, load_dataset
from sightline.compute.inline import InlineCompute
from sightline.store.events import EventLog, NewEvent
from sightline.store.writer import Judging
from sightline.words.term_ids import term_id
from tests.factories.judging_collections import judged_collection, kind_of


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    return judged_collection(tmp_path)


def sample(c: Collection, cap: int | None = None) -> Dataset:
    """Return what a training would see."""
    log = EventLog(c.store_folder.events, write=False)
    try:
        with c.store_folder.reader() as reader:
            return load_dataset(reader.snapshot, log.judgements(cap))
    finally:
        log.close()


def tagged(s: Dataset, word: str) -> set[int]:
    """Return the pictures that have a word in a sample."""
    column = s.labels[:, list(s.terms).index(term_id(word))].toarray()[:, 0]
    return set(s.ids[column > 0].tolist())


def arrays_of(c: Collection) -> str:
    """Return the checksum of the arrays of the model in use."""
    with c.store_folder.reader() as reader:
        model = c.store_folder.models / reader.snapshot.model
    return hashlib.sha256((model / "arrays.safetensors").read_bytes()).hexdigest()


def train(c: Collection) -> str:
    c.train(rankers=["ridge"], features=["deep"], force=True)
    return arrays_of(c)


def test_judgements_give_and_take_the_words_of_the_query(c: Collection) -> None:
    before = tagged(sample(c), "word2")
    untagged, wrong = 9, 3  # Both are of cluster 2; only the second has its word.
    assert untagged not in before and wrong in before
    session = c.judge("word2")
    session.mark(positive=[untagged], negative=[wrong])
    assert tagged(sample(c), "word2") == before - {wrong} | {untagged}
    session.undo()
    assert tagged(sample(c), "word2") == before


def test_a_session_that_began_with_a_picture_says_nothing_of_words_until_saved(
    c: Collection,
) -> None:
    session = c.judge(pictures=1)
    session.mark(positive=[7, 13], negative=[2])
    log = EventLog(c.store_folder.events, write=False)
    assert log.judgements() == [] and log.similarity_judgements() == []
    said = log.similarity_judgements(sessions=True)
    assert [(j.query, j.picture, j.similar) for j in said] == [
        (1, 7, True),
        (1, 13, True),
        (1, 2, False),
    ]
    log.close()
    session.save_as("treasure")
    assert tagged(sample(c), "treasure") == {7, 13}


def test_reverting_and_training_again_leaves_no_trace(c: Collection) -> None:
    never = train(c)
    session = c.judge("word2")
    session.mark(positive=[9, 21, 33], negative=[3, 15])
    session.save_as("treasure")
    moved = train(c)
    assert moved != never
    c.sessions.revert(session.id)
    assert train(c) == never


def test_one_session_can_speak_of_so_many_pictures_only(c: Collection) -> None:
    plain = tagged(sample(c), "word2")
    session = c.judge("word2")
    others = [p for p in range(1, 121) if kind_of(p) != 2]
    session.mark(positive=others[:40])
    session.mark(positive=others[40:60])
    assert len(tagged(sample(c), "word2")) == 10 + 60
    bounded = tagged(sample(c, 25), "word2")
    assert len(bounded) == 10 + 25 and set(others[40:60]) <= bounded
    # Each session has its own measure, and what others said of the same pictures stands.
    second = c.judge("word2")
    second.mark(positive=[others[0]], negative=[others[59]])
    again = tagged(sample(c, 25), "word2")
    assert again == bounded - {others[59]} | {others[0]}
    assert tagged(sample(c, 0), "word2") == plain


def test_the_cap_is_a_setting_that_training_obeys(c: Collection) -> None:
    free = Collection.open(c.root, store=c.store_folder.path, session_cap=0)
    never = train(free)
    session = c.judge("word2")
    session.mark(positive=[9, 21, 33], negative=[3, 15])
    assert train(free) == never
    assert train(c) != never


def test_a_hostile_session_hardly_moves_other_words(tmp_path: Path) -> None:
    c = judged_collection(tmp_path, n=240)
    train(c)

    def found() -> dict[int, float]:
        out = {}
        for k in (0, 1, 3, 4, 5):
            hits = c.search(f"word{k}", 10, filters=Filters(untagged=True), cut=False).hits
            out[k] = sum(kind_of(h.picture) == k for h in hits) / 10
        return out

    before = found()
    body = {"query": "word2", "source": "session"}
    with Judging(c.store_folder) as judging:
        for p in range(1, 241):
            lie = {**body, "relevance": float(kind_of(p) != 2)}
            judging.append([NewEvent("judged", p, lie, "hostile")])  # type: ignore[arg-type]
    train(c)
    after = found()
    assert min(before.values()) > 0.8
    assert sum(before.values()) / 5 - sum(after.values()) / 5 <= 0.02


def test_words_of_a_session_survive_an_edit_of_the_picture_and_a_repair(tmp_path: Path) -> None:
    from tests.factories.photos import make_photo, make_photos

    photos = make_photos(tmp_path / "photos")
    c = Collection.open(photos, store=tmp_path / "store", workers=1)
    c.index(features=["color"], compute=InlineCompute())
    session = c.judge(pictures="000.jpg")
    session.mark(positive=["001.jpg"], negative=["002.jpg"])
    session.save_as("treasure")
    session.close()
    make_photo(photos / "001.jpg", 77)
    c.index(compute=InlineCompute())
    assert [h.path for h in c.search("treasure")] == [b"001.jpg"]
    c.store_folder.catalogue.unlink()
    c.store.repair(lambda _: None)
    assert [h.path for h in c.search("treasure")] == [b"001.jpg"]
    assert c.store.purge(sessions=[session.id]) >= 4
    assert not c.search("treasure").hits and c.sessions.all() == [] and c.store.verify().sound
