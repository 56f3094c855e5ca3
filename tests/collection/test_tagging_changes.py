"""Regions of a collection that changes: rare words, replaced pictures, synonyms, later answers."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline.collection import Collection
from sightline.collection.models.dataset import (
    judged_pairs,
    tagged_and_judged,
    term_verdicts,
    verdicts,
)
from sightline.collection.tagging.dataset import load_list, load_region_dataset
from sightline.collection.tagging.review import SOURCE, accepted
from sightline.collection.tagging.training import _lowest_where
from sightline.compute.inline import InlineCompute
from sightline.contracts import Json
from sightline.records import Judgement
from sightline.store.events import EventLog, NewEvent
from sightline.store.writer import Judging
from sightline.words.term_ids import term_id
from tests.factories.tagged_collections import UNTAGGED, N, copied, painted, painted_collection


@pytest.fixture
def own(tagged: Path, tmp_path: Path) -> Collection:
    return copied(tagged, tmp_path)


@pytest.fixture
def changing(tmp_path: Path) -> Collection:
    """Return a collection whose pictures may change too."""
    c = painted_collection(tmp_path)
    c.models.train_regions(feature="regions")
    return c


def photo(c: Collection, i: int) -> Path:
    return Path(c.root.decode()) / f"{i:03d}.png"


def log(c: Collection) -> EventLog:
    return EventLog(c.store_folder.events, write=False)


def answered(c: Collection, picture: int, word: str, fits: bool, session: str, source: str) -> None:
    body: dict[str, Json] = {
        "query": word, "relevance": float(fits), "source": source, "mark": f"{picture}{fits}",
        "word": word if fits and source == SOURCE else "",
    }  # fmt: skip
    with Judging(c.store_folder) as judging:
        judging.append([NewEvent("judged", picture, body, session)])


def test_a_rare_word_takes_no_proposals_from_others(changing: Collection) -> None:
    own = changing
    before = {(s.picture, s.word) for s in own.tag().suggestions if s.add}
    # On three pictures: where one of them is left out, it is on too few to be learnt.
    for i in (4, 9, 14):
        path = photo(own, i).with_suffix(".txt")
        path.write_text(path.read_text() + ", marmot")
    own.index(compute=InlineCompute())
    report = own.models.train_regions(feature="regions")
    assert report.words == 7
    found = own.tag()
    after = {(s.picture, s.word) for s in found.suggestions if s.add}
    assert len(after & before) > 0.8 * len(before) > 10
    assert "marmot" in [a.word for a in found.abstained]
    assert len({s.confidence for s in found.suggestions if s.add}) > 5


def test_what_was_never_learnt_gets_the_lowest_margin() -> None:
    margins = np.array([[1.0, -1e6], [-2.0, 0.5]], np.float32)
    unknown = margins < -1e5
    assert _lowest_where(margins, unknown).tolist() == [[1.0, -2.0], [-2.0, 0.5]]
    assert _lowest_where(margins, ~unknown & unknown).tolist() == margins.tolist()
    assert not _lowest_where(margins, unknown | True).any()


def test_a_replaced_picture_is_looked_at_anew(changing: Collection) -> None:
    own = changing
    # Picture 0 shows grass and a cow; in its place comes one of sand and a boat.
    other = next(i for i in range(1, N) if i % 4 == 1 and i % 3)
    photo(own, 0).with_suffix(".txt").unlink()
    Image.fromarray(painted(other)).save(photo(own, 0))
    own.index(compute=InlineCompute())
    said = {s.word for s in own.tag(str(photo(own, 0))).suggestions if s.add}
    assert {"sand", "boat"} & said and not {"grass", "cow"} & said


def test_a_word_that_only_the_list_knows_is_spelt(own: Collection) -> None:
    (own.store_folder.path / "tag-words.toml").write_text('[merge]\nvessel = ["boat"]\n')
    own.models.train_regions(feature="regions")
    words = {s.word for s in own.tag(precision=0.7).suggestions}
    assert "vessel" in words and "?" not in words
    shown = {w for scene in own.tagging.scenes().scenes for w in map(str, scene.words)}
    assert not any("?" in w for w in shown)
    with own.tagging.review(precision=0.7) as review:
        review.answer(next(s for s in review.suggestions if s.word == "vessel"), True)
    own.models.train_regions(feature="regions")
    assert own.tag().pictures == N


def test_synonyms_are_judged_as_what_they_count_as(own: Collection) -> None:
    (own.store_folder.path / "tag-words.toml").write_text('[merge]\nvessel = ["boat"]\n')
    list_ = load_list(own.store_folder.path).counts_as()
    boat = next(i for i in range(N - UNTAGGED) if i % 4 == 1) + 1
    said = [Judgement("vessel", boat, 0.0, SOURCE, 9)]
    with own.store_folder.reader() as reader:
        for judgements, tagged in (([], True), (said, False)):
            ground = load_region_dataset(reader.snapshot, judgements, list_)
            at = int(np.searchsorted(ground.terms, term_id("vessel")))
            assert ground.labels[int(np.searchsorted(ground.ids, boat)), at] == tagged
    twice = [Judgement("boat", 1, 1.0, "", 2), Judgement("vessel", 1, 0.0, "", 1)]
    assert term_verdicts(twice, list_) == {(1, term_id("vessel")): True}


def test_the_last_judgement_of_a_word_counts() -> None:
    yes, no = Judgement("tree sky", 7, 1.0, "a", 1), Judgement("sky", 7, 0.0, "tag", 2)
    for order in ([yes, no], [no, yes]):
        assert verdicts(order) == {(7, "sky"): False, (7, "tree"): True}
    later = Judgement("sky", 7, 1.0, "tag", 3)
    assert verdicts([later, yes, no])[7, "sky"]


def test_a_later_no_takes_an_accepted_word_back(own: Collection) -> None:
    bare = N - UNTAGGED + 1
    answered(own, bare, "cow", True, "first", SOURCE)
    with contextlib.closing(log(own)) as events:
        assert accepted(events)["first"] == {bare: ("cow",)}
    answered(own, bare, "cow", False, "second", "judge")
    with contextlib.closing(log(own)) as events, own.store_folder.reader() as reader:
        assert accepted(events)["first"] == {}
        picture, term = tagged_and_judged(reader.snapshot, events.judgements())
    assert not ((picture == bare) & (term == term_id("cow"))).any()


def test_every_answer_of_a_review_counts_whatever_a_session_may_say(own: Collection) -> None:
    for picture in range(1, 31):
        answered(own, picture, "cow", False, "long", SOURCE)
        answered(own, picture, "boat", True, "judging", "judge")
    with contextlib.closing(log(own)) as events:
        said = events.judgements(most=20)
    assert sum(j.query == "cow" for j in said) == 30 and sum(j.query == "boat" for j in said) == 20


@pytest.mark.parametrize("n_tags", [0, 4])
def test_judgements_join_the_tags_once_and_take_tags_away(n_tags: int) -> None:
    words = ((3, "sky"), (3, "tree"), (9, "sky"), (4, "red"))[:n_tags]
    pairs = {(p, term_id(w)) for p, w in words}
    said = [
        Judgement("sky", 3, 1.0, "", 1), Judgement("tree", 3, 0.0, "", 2),
        Judgement("red", 1, 1.0, "", 3), Judgement("tree", 8, 0.0, "", 4),
    ]  # fmt: skip
    both = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    verdict = term_verdicts(said, {})
    expected = sorted(p for p in {*pairs, *verdict} if verdict.get(p, True))
    picture, term = judged_pairs(both[:, 0], both[:, 1], said, {})
    assert list(zip(picture.tolist(), term.tolist(), strict=True)) == expected
