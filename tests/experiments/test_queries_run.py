"""Questions in words to real collections of small sets: what is measured, printed and written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.errors import UsageError
from sightline.measures.figures import Figures
from sightline.progress import NoProgress
from sightline_experiments.cache import ArrayCache, temporary
from sightline_experiments.datasets.corel5k import Corel5K
from sightline_experiments.queries import report, run
from sightline_experiments.queries.collection import ids_of, index_untagged, tagged_copy
from sightline_experiments.queries.evaluation import Answer, QuestionTestSet, answers_of
from sightline_experiments.queries.pictures import WordedPictures, of_corel
from sightline_experiments.queries.plan import PARTS, full_plan, quick_plan
from sightline_experiments.queries.questions import KINDS, MINUS, ONE, RARE, questions_of
from sightline_experiments.queries.results import QueryResults, figures_of
from tests.factories import classed
from tests.factories.corel5k import load_made
from tests.factories.photos import fingerprint

PLAN = replace(
    full_plan(), features=("color",), rankers=("ridge",), questions=8, sizes=(10, 30, 500), draws=2
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made")


@pytest.fixture(scope="module")
def corel(folder: Path) -> Corel5K:
    return load_made(folder / "corel5k")


@pytest.fixture(scope="module")
def cache(folder: Path) -> Iterator[ArrayCache]:
    with temporary() as cache:
        yield cache


@pytest.fixture(scope="module")
def measured(corel: Corel5K, folder: Path, cache: ArrayCache) -> QueryResults:
    classes = classed.load_made(folder)
    before = fingerprint(folder)
    with temporary() as other:
        sets = {"Made": (corel, cache), "Classes": (classes, other), "Lost": None}
        results = run(sets, PLAN, InlineCompute(), NoProgress())
    assert fingerprint(folder) == before
    return results


@pytest.fixture(scope="module")
def figures(measured: QueryResults) -> Figures:
    return figures_of(measured)


@pytest.fixture(scope="module")
def tagged(
    corel: Corel5K, cache: ArrayCache, measured: QueryResults
) -> Iterator[tuple[Collection, WordedPictures]]:
    """Return a collection whose features are those that the run left in the cache."""
    pictures, folder = of_corel(corel), cache.folder / "collection-color"
    index_untagged(corel, pictures.files, folder, ("color",), InlineCompute(), NoProgress())
    with tagged_copy(folder, pictures, InlineCompute(), NoProgress()) as collection:
        collection.train(rankers=["ridge"], features=["color"])
        yield collection, pictures


def test_only_the_pictures_of_the_owner_are_tagged(
    tagged: tuple[Collection, WordedPictures],
) -> None:
    collection, pictures = tagged
    ids = ids_of(collection, pictures.files)
    with collection.store_folder.reader() as reader:
        untagged = set(reader.snapshot.without_words().tolist())
    assert untagged == set(ids[~pictures.tagged].tolist())
    assert pictures.tagged.sum() == 80 and pictures.measured.sum() == 20
    # One picture has no published words; it is in the collection, and not measured on.
    assert len(pictures.files) == len(collection) == 101


def test_answers_are_those_of_the_product(
    tagged: tuple[Collection, WordedPictures], measured: QueryResults
) -> None:
    collection, pictures = tagged
    ids = ids_of(collection, pictures.files)
    test_set = QuestionTestSet(pictures, ids, questions_of(pictures, 8))
    own, _ = test_set.measure("again", answers_of(collection, test_set.ids))
    before, _ = measured.answered[0].measures["sightline"]
    assert np.array_equal(own.avgp, before.avgp) and np.array_equal(own.shown, before.shown)
    question = next(q for q in test_set.questions if q.kind == ONE)
    hits = collection.search(question.text, 10, ids=test_set.ids.tolist()).hits
    right = sum(
        set(question.having) <= set(pictures.words[ids.tolist().index(h.picture)]) for h in hits
    )
    assert own.hits[test_set.questions.index(question)] == right


def test_a_method_is_measured_once(tagged: tuple[Collection, WordedPictures]) -> None:
    collection, pictures = tagged
    test_set = QuestionTestSet(pictures, ids_of(collection, pictures.files), [])
    nothing = Answer(np.zeros(0, np.int64), np.zeros(0, np.int64))
    test_set.measure("silent", lambda _: nothing)
    with pytest.raises(UsageError, match="measured on the test pictures"):
        test_set.measure("silent", lambda _: nothing)


def test_a_known_ranking_has_known_measures(tagged: tuple[Collection, WordedPictures]) -> None:
    collection, pictures = tagged
    ids = ids_of(collection, pictures.files)
    questions = [q for q in questions_of(pictures, 8) if q.kind == MINUS][:1]
    test_set = QuestionTestSet(pictures, ids, questions)
    (q,) = questions
    having = [set(pictures.words[i]) for i in np.flatnonzero(pictures.measured)]
    relevant = [bool(set(q.having) <= w and not set(q.lacking) & w) for w in having]
    order = np.argsort(~np.array(relevant), kind="stable")

    def ask(text: str) -> Answer:
        best = test_set.ids[order if text == q.text else order[::-1]]
        return Answer(best, best[:5])

    own, plain = test_set.measure("perfect", ask)
    assert own.avgp[0] == 1.0 and own.p10[0] == min(10, sum(relevant)) / 10
    assert own.hits[0] == min(5, sum(relevant)) and own.shown[0] == 5
    assert own.signed[0] == sum(q.signed in having[i] for i in order[:5])
    assert plain.avgp[0] < 0.6 and plain.hits[0] == 0


def test_the_baseline_has_the_same_questions_and_learns(measured: QueryResults) -> None:
    for answered in measured.answered:
        assert list(answered.measures) == ["sightline", "ridge"]
        one = answered.of(ONE)
        assert answered.measures["ridge"][0].avgp[one].mean() > 0.8
        assert set(answered.baseline) == {"features", "scaling", "alpha", "AvgP"}


def test_a_minus_changes_what_is_found(measured: QueryResults) -> None:
    answered = measured.answered[0]
    own, plain = (m.only(answered.of(MINUS)) for m in answered.measures["sightline"])
    assert own.share() < plain.share() and own.avgp.mean() > plain.avgp.mean()


def test_a_word_on_one_picture_is_made_where_there_is_none(measured: QueryResults) -> None:
    rare = [q.text for q in measured.answered[0].questions if q.kind == RARE]
    assert rare and all(text.endswith(" keepsake") for text in rare)


def test_figures_are_means_over_questions(measured: QueryResults, figures: Figures) -> None:
    answered = measured.answered[0]
    keep = answered.of(MINUS)
    where = {"protocol": "Corel5K", "subset": MINUS, "method": "sightline", "measure": "AvgP"}
    (row,), (plain,) = figures.find(**where, at=None), figures.find(**where, at="plain question")
    own, beside = (m.only(keep) for m in answered.measures["sightline"])
    assert (row.value, plain.value) == (own.avgp.mean(), beside.avgp.mean())
    assert row.n == keep.sum()
    (share,) = figures.find(**where | {"measure": "share with the signed word"}, at=None)
    assert share.value == own.signed.sum() / own.shown.sum()
    assert figures.settings["unavailable"] == ["Lost"]
    assert {t.measure for t in figures.tests} == {"AvgP"}


def test_sizes_above_the_tagged_pictures_take_all_of_them(
    measured: QueryResults, figures: Figures
) -> None:
    calibrated = measured.calibrated[0]
    assert {n: len(draws) for n, draws in calibrated.sizes.items()} == {10: 2, 30: 2, 80: 1}
    (all_tagged,) = calibrated.sizes[80]
    assert all_tagged.tagged == 80 and all_tagged.words == 6
    (row,) = figures.find(protocol="Corel5K", measure="calibration error", at=80)
    assert row.value == all_tagged.error and row.n == len(all_tagged.probability)
    skill = figures.find(protocol="Corel5K", measure="Brier skill", at=80)[0].value
    assert skill == all_tagged.skill > 0


def test_tables_state_what_was_measured(measured: QueryResults, tmp_path: Path) -> None:
    text = "\n".join(report.lines(measured))
    answered = measured.answered[0]
    avgp = answered.measures["sightline"][0].avgp[answered.of(ONE)].mean()
    assert f"{avgp:.3f}" in text and "Lost             data unavailable" in text
    for kind in answered.kinds():
        assert f"\n{kind:<22}" in text
    assert "minus, sightline: the word with the sign is on" in text
    pytest.importorskip("matplotlib")
    files = report.draw_reliability(measured, tmp_path)
    assert [f.name for f in files] == ["reliability-corel5k.png", "reliability-made.png"]


def test_what_failed_to_train_is_named(corel: Corel5K, cache: ArrayCache) -> None:
    plan = replace(PLAN, parts=("calibration",), sizes=(1,), draws=1, features=("color",))
    results = run({"Made": (corel, cache)}, plan, InlineCompute(), NoProgress())
    (hits,) = results.calibrated[0].sizes[1]
    assert hits.why and "nothing learned in 1 of 1" in "\n".join(report.lines(results))
    assert figures_of(results).settings["nothing learned"] == {"Corel5K, 1": hits.why}
    assert not figures_of(results).rows


def test_plans_name_all_parts() -> None:
    for plan in (full_plan(), quick_plan()):
        assert plan.kinds() == frozenset(KINDS)
        assert plan.parts == tuple(PARTS) and not plan.withheld
    assert [full_plan().draws_of(n) for n in full_plan().sizes] == [5, 5, 3, 1, 1]
