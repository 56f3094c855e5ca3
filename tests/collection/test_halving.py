"""The search: its budget, what an interrupt leaves, what is reused, and when it publishes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.models import halving, quick, training
from sightline.collection.models.dataset import Dataset
from sightline.collection.models.halving import Budget, rungs
from sightline.collection.models.recipe import Recipe
from sightline.collection.models.selection import candidates
from sightline.collection.models.training import TrainOptions, TrainReport, train
from sightline.collection.models.trials import run_trials
from sightline.errors import Interrupted, NotBetter, ParameterError
from sightline.progress import NoProgress
from sightline.store.folder import StoreFolder
from tests.collection.test_training import sha
from tests.factories.planted_stores import clusters, noise_like, plant

RANKERS = ("pamir", "ridge")


@pytest.fixture
def poor_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the quick model learn from noise, so that there is something better."""

    def noise_alone(dataset: Dataset, rankers: Sequence[str], _: object) -> list[Recipe]:
        return candidates(dataset, rankers, [f for f in dataset.views if f.startswith("noise")])

    monkeypatch.setattr(quick, "candidates", noise_alone)


def planted(folder: Path) -> StoreFolder:
    words, rows = clusters(240, 12, noise=0.8)
    return plant(
        folder, words, {"signal": rows, "noise": noise_like(rows) + np.float32(0.5) * rows}
    )


def searched(
    store_folder: StoreFolder, budget: Budget | None = None, **more: object
) -> TrainReport:
    options = TrainOptions(rankers=RANKERS, budget=budget or Budget(), **more)  # type: ignore[arg-type]
    return train(store_folder, options, 0.0, NoProgress())


def versions(store_folder: StoreFolder) -> tuple[str, int]:
    with store_folder.reader() as reader:
        return reader.snapshot.model, reader.snapshot.version


@pytest.mark.usefixtures("poor_start")
def test_a_search_publishes_what_is_better_than_the_quick_model(tmp_path: Path) -> None:
    store_folder = planted(tmp_path / "store")
    report = searched(store_folder)
    assert "signal" in report.recipe and report.search is not None
    assert report.search.improved and report.search.ended == "complete"
    assert report.proof.current is not None
    assert report.proof.candidate_on_common > report.proof.current  # type: ignore[operator]
    assert versions(store_folder) == (report.model, report.version)
    assert "a better model was published" in str(report.search)
    assert report.to_dict()["search"]["improved"] is True  # type: ignore[index,call-overload]


def test_a_search_that_finds_nothing_better_keeps_the_quick_model(tmp_path: Path) -> None:
    before, store_folder = planted(tmp_path / "before"), planted(tmp_path / "store")
    train(before, TrainOptions(), 0.0, NoProgress())
    report = searched(store_folder)
    assert report.search is not None
    if not report.search.improved:
        assert sha(store_folder) == sha(before)
    assert report.search.trials > 0


def test_a_budget_of_nothing_trains_the_quick_model(tmp_path: Path) -> None:
    before = planted(tmp_path / "before")
    train(before, TrainOptions(), 0.0, NoProgress())
    for i, budget in enumerate((Budget(seconds=0.0), Budget(trials=0))):
        store_folder = planted(tmp_path / str(i))
        report = searched(store_folder, budget)
        assert report.search is not None and report.search.trials == 0
        assert report.search.ended == "budget" and sha(store_folder) == sha(before)


def test_a_search_goes_on_with_the_trials_of_the_one_before(tmp_path: Path) -> None:
    at_once, in_parts = planted(tmp_path / "a"), planted(tmp_path / "b")
    whole = searched(at_once)
    first = searched(in_parts, Budget(trials=2))
    assert first.search is not None and (first.search.trials, first.search.reused) == (2, 0)
    second = searched(in_parts)
    assert whole.search is not None and second.search is not None
    assert second.search.reused == 2
    assert second.search.trials == whole.search.trials - 2
    assert second.recipe == whole.recipe
    third = searched(in_parts)
    assert third.search is not None and third.search.trials == 0
    assert (in_parts.path / "trials.jsonl").stat().st_mode & 0o777 == 0o600


def test_trials_of_other_words_and_torn_lines_are_not_reused(tmp_path: Path) -> None:
    store_folder = planted(tmp_path / "store")
    memory = halving.TrialMemory(store_folder.path, "basis")
    report = train(store_folder, TrainOptions(rankers=("ridge",)), 0.0, NoProgress())
    recipe = report.table[0].recipe
    memory.add(recipe, 10, report.table)
    with open(store_folder.path / "trials.jsonl", "a", encoding="utf-8") as f:
        f.write('{"basis": "torn')
    again = halving.TrialMemory(store_folder.path, "basis")
    assert again.get(recipe, 10) == report.table
    other = halving.TrialMemory(store_folder.path, "other")
    assert other.get(recipe, 10) is None
    other.add(recipe, 20, report.table)
    lines = (store_folder.path / "trials.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(x)["basis"].split()[0] for x in lines] == ["other"]


@pytest.mark.usefixtures("poor_start")
def test_an_interrupted_search_publishes_the_best_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_folder = planted(tmp_path / "store")

    def cut(*args: object) -> object:
        outcomes = run_trials(*args)  # type: ignore[arg-type]
        for _ in range(6):
            yield next(outcomes)
        raise KeyboardInterrupt

    monkeypatch.setattr(halving, "run_trials", cut)
    report = searched(store_folder)
    assert report.search is not None and report.search.ended == "interrupted"
    assert "signal" in report.recipe and report.search.improved


@pytest.mark.usefixtures("poor_start")
def test_a_second_interrupt_keeps_the_quick_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, store_folder = planted(tmp_path / "before"), planted(tmp_path / "store")
    train(before, TrainOptions(), 0.0, NoProgress())

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "fit_twice", stop)
    with pytest.raises(Interrupted, match=r"The quick model is in use.*train --search"):
        searched(store_folder)
    assert sha(store_folder) == sha(before)


def test_a_search_goes_on_where_the_quick_model_is_no_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, tried = training._WordTraining.published, []

    def harmful(self: object, *args: object) -> TrainReport:
        tried.append(args)
        if len(tried) == 1:
            raise NotBetter("The new word model is worse than the untrained order.")
        return real(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(training._WordTraining, "published", harmful)
    store_folder = planted(tmp_path / "store")
    report = searched(store_folder)
    assert report.version and versions(store_folder)[0] == report.model
    tried.clear()
    with pytest.raises(NotBetter, match="worse than the untrained order"):
        searched(planted(tmp_path / "other"), Budget(trials=0))


def test_a_dry_run_searches_and_leaves_nothing(tmp_path: Path) -> None:
    store_folder = planted(tmp_path / "store")
    before = versions(store_folder)
    report = searched(store_folder, Budget(trials=1), dry_run=True)
    assert report.version == 0 and versions(store_folder) == before
    assert not (store_folder.path / "trials.jsonl").exists()


def test_few_pictures_try_everything_and_more_are_halved() -> None:
    assert rungs(60) == [60] and rungs(4_500) == [500, 1500, 4500]


@pytest.mark.parametrize(
    ("search", "trials", "wrong"),
    [(-1.0, None, "'search' .* must be a number of seconds"),
     (True, -1, "'trials' .* must be 0 or more"), (float("nan"), None, "'search' .* must be")],
)  # fmt: skip
def test_what_a_budget_must_be_is_said(
    tmp_path: Path, search: float, trials: int | None, wrong: str
) -> None:
    store_folder = planted(tmp_path / "store")
    (tmp_path / "pictures").mkdir()
    c = Collection.open(tmp_path / "pictures", store=store_folder.path)
    with pytest.raises(ParameterError, match=wrong):
        c.train(search=search, trials=trials)
    with store_folder.reader() as reader:
        assert reader.snapshot.model == ""


def test_the_progress_of_a_search_says_what_is_left(tmp_path: Path) -> None:
    notes: list[str] = []

    class Noting(NoProgress):
        def note(self, text: str) -> None:
            notes.append(text)

    options = TrainOptions(rankers=RANKERS, budget=Budget())
    train(planted(tmp_path / "store"), options, 0.0, Noting())
    assert any("best AvgP" in n and "s left on" in n for n in notes)
