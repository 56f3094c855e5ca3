"""Reviews: answers are judgements, never asked again, undone, applied, and learned from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.tagging.review import Review, pending, settle
from sightline.collection.tagging.suggest import Suggestion, Suggestions
from sightline.collection.tagging.suspected import SuspectedTag
from sightline.compute.inline import InlineCompute
from sightline.errors import StoreBusy, UsageError
from sightline.store.locks import Lock
from tests.factories.judging_collections import events_of
from tests.factories.tagged_collections import TOO_MUCH, copied


@pytest.fixture
def own(tagged: Path, tmp_path: Path) -> Collection:
    return copied(tagged, tmp_path)


def key(s: Suggestion | SuspectedTag) -> tuple[int, str, bool]:
    return s.picture, s.word, s.add


def has_word(c: Collection, s: Suggestion | SuspectedTag) -> bool:
    return any(s.word in t.tags for t in c.pictures.words(s.picture))


def some(review: Review) -> tuple[Suggestion, Suggestion, Suggestion]:
    """Return two proposals, of pictures without words, and the doubt that is right."""
    assert isinstance(review.queue, Suggestions) and not review.queue.abstained
    suggestions = review.queue.suggestions
    add = [s for s in suggestions if s.add]
    return add[0], add[1], next(s for s in suggestions if not s.add)


def test_answers_are_in_the_log_before_the_next_question(own: Collection) -> None:
    review = own.tagging.review()
    yes, no, doubt = some(review)
    review.answer(yes, True)
    assert [e.picture for e in events_of(own, "judged")] == [yes.picture]
    review.answer(no, False)
    review.answer(doubt, True)
    judged = {(e.picture, e.body["query"]): e.body["relevance"] for e in events_of(own, "judged")}
    assert judged == {
        (yes.picture, yes.word): 1.0, (no.picture, no.word): 0.0, (doubt.picture, "cow"): 0.0,
    }  # fmt: skip
    assert doubt.picture == TOO_MUCH + 1 and review.answered == 3
    # Nothing is applied before the review is closed, and nobody is asked again all the same.
    assert not has_word(own, yes)
    now = {key(s) for s in own.tag().suggestions}
    assert not now & {key(s) for s in (yes, no, doubt)} and own.tag().judged == 3
    assert review.close() == 1 and has_word(own, yes) and not has_word(own, no)
    assert not pending(own.store_folder)


def test_accepted_words_are_found_by_search_and_taught(own: Collection) -> None:
    with own.tagging.review() as review:
        yes, _, doubt = some(review)
        review.answer(yes, True)
        review.answer(doubt, True)
    assert yes.picture in {h.picture for h in own.search(yes.word, 1000).hits if h.tagged}
    report = own.models.train_regions(feature="regions", scenes=2)
    from sightline.collection.tagging.model import load_region_tagger

    placer = load_region_tagger(own.store_folder, report.model)
    assert placer is not None
    terms = placer.columns([_id(yes.word), _id("cow")])
    at = placer.ids.tolist()
    assert placer.tagged[at.index(yes.picture), terms[0]]
    assert not placer.tagged[at.index(doubt.picture), terms[1]]
    now = {key(s) for s in own.tag().suggestions}
    assert not now & {key(yes), key(doubt)}


def _id(word: str) -> int:
    from sightline.words.term_ids import term_id

    return term_id(word)


def test_a_no_is_remembered_for_good_also_by_the_next_model(own: Collection) -> None:
    with own.tagging.review() as review:
        _, no, doubt = some(review)
        review.answer(no, False)
        review.answer(doubt, False)  # It is a cow, says the owner.
    assert own.index(compute=InlineCompute()).seen
    with own.store_folder.reader() as reader:
        assert reader.snapshot.regions
    left = own.tag()
    assert key(no) not in {key(s) for s in left.suggestions} and left.judged == 2
    assert {e.body["relevance"] for e in events_of(own, "judged")} == {0.0, 1.0}
    assert has_word(own, doubt)


def test_the_last_answer_can_be_taken_back_and_all_of_them(own: Collection) -> None:
    review = own.tagging.review()
    yes, no, _ = some(review)
    with pytest.raises(UsageError, match="Nothing was answered"):
        review.undo()
    review.answer(yes, True)
    review.answer(no, False)
    assert review.undo() == no
    assert key(no) in {key(s) for s in own.tag().suggestions}
    review.close()
    assert has_word(own, yes)
    again = own.tagging.review()
    assert key(yes) not in {key(s) for s in again.suggestions}
    again.close()
    (session,) = own.sessions.all()
    assert (session.id, session.positive, session.negative) == (review.id, 1, 0)
    assert own.sessions.revert(review.id)
    assert not has_word(own, yes) and key(yes) in {key(s) for s in own.tag().suggestions}


def test_several_answers_on_one_picture_all_count(own: Collection) -> None:
    review = own.tagging.review(filters=Filters(untagged=True))
    first = review.suggestions[0].picture
    mine = [s for s in review.suggestions if s.picture == first][:2]
    with review:
        review.answer(mine[0], True)
        review.answer(mine[1], False)
    state = own.sessions.get(review.id)
    assert (state.positive, state.negative) == (1, 1)


def test_an_undo_after_words_were_published_takes_them_away(own: Collection) -> None:
    review = own.tagging.review()
    yes, _, _ = some(review)
    review.answer(yes, True)
    settle(own.store_folder, 0.0)
    assert has_word(own, yes)
    review.undo()
    assert review.close() == 1 and not has_word(own, yes)


def test_answers_stand_where_the_store_is_busy_and_are_applied_later(own: Collection) -> None:
    review = own.tagging.review()
    yes, _, _ = some(review)
    with Lock(own.store_folder.path, "index", 0.0):
        review.answer(yes, True)
        with pytest.raises(StoreBusy):
            review.close()
    assert pending(own.store_folder) and not has_word(own, yes)
    own.tagging.review().close()
    assert has_word(own, yes) and own.store.verify().sound


def test_nothing_is_written_among_the_pictures(own: Collection) -> None:
    root = os.fsdecode(own.root)
    before = {f: os.stat(os.path.join(root, f)).st_mtime_ns for f in os.listdir(root)}
    with own.tagging.review() as review:
        yes, no, doubt = some(review)
        for s, said in ((yes, True), (no, False), (doubt, True)):
            review.answer(s, said)
    assert before == {f: os.stat(os.path.join(root, f)).st_mtime_ns for f in os.listdir(root)}
