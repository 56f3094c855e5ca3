"""Training killed or without power at any step: the old model or the new one serves, whole."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from sightline.contracts import Progress
from sightline.store.folder import StoreFolder
from sightline.store.models import load_model
from sightline.store.snapshot import Snapshot
from sightline.store.upkeep.verify import verify
from sightline.store.versions import Version
from sightline.store.writer import Change, Scorer, Writer
from tests.factories.failing_disks import KILLS, Crash, Disk, loaded_sqlite, run_child
from tests.factories.scored_stores import (
    TERMS,
    crash_learning,
    learning,
    scored_store,
    scores_of,
    train,
)

pytestmark = pytest.mark.skipif(
    loaded_sqlite() is None, reason="this Python has SQLite built in, where it cannot be watched"
)
# The versions before are full of models, so that publishing the new one removes an old one.
BEFORE, NEW = 3, 4
PICTURES = list(range(1, 10))


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """Return a store of nine pictures in three segments, trained three times."""
    folder = tmp_path / "trained"
    scored_store(StoreFolder(folder))
    with Writer(StoreFolder(folder), "train") as w:
        for seed in range(2, BEFORE + 1):
            train(w, seed)
    return folder


def crash_at(trained: Path, point: int, seed: int | None, *, flush: bool = True) -> list[str]:
    """Crash at one step (a power cut if there is a seed) and return the problems."""
    return crash_learning(trained, train, NEW, problems_after, point, seed, flush)


def steps_of(trained: Path) -> int:
    """Return how many steps an undisturbed training has."""
    store = trained.parent / "undisturbed"
    shutil.copytree(trained, store)
    disk = Disk(store, trained.parent / "shadow", 0)
    crash = run_child(learning(store, disk, train, NEW), disk)
    assert crash.finished and served(StoreFolder(store)) == (NEW, [])
    return crash.steps


def served(store_folder: StoreFolder) -> tuple[int, list[str]]:
    """Return which training a reader is served, and what is not whole about it."""
    with store_folder.reader() as reader:
        snapshot = reader.snapshot
    found = []
    if snapshot.ids().tolist() != PICTURES:
        found.append(f"the pictures are {snapshot.ids().tolist()}")
    seed = int(str(load_model(store_folder.models, snapshot.model).about["seed"]))
    return seed, found + wrong_scores(snapshot, seed)


def wrong_scores(snapshot: Snapshot, seed: int) -> list[str]:
    found = []
    for s in snapshot.segments:
        if s.scores is None or s.scores.model != snapshot.model:
            found.append(f"pictures {s.ids.tolist()} have no scores of the model that is served")
        elif (s.scores.rows != scores_of(seed, s.ids, TERMS)).any():
            found.append(f"pictures {s.ids.tolist()} have wrong scores")
    return found


def problems_after(store_folder: StoreFolder, crash: Crash) -> list[str]:
    """Return what a crash did that it must not do; then go on, and see that all comes right."""
    seed, found = served(store_folder)
    if seed not in (BEFORE, NEW):
        found.append(f"the model is that of training {seed}")
    if crash.acks and seed != NEW:
        found.append("the new model was published and is gone")
    found += [p.what for p in verify(store_folder).problems]
    if found:
        return found
    Writer(store_folder, "index").close()
    checked = verify(store_folder)
    if not checked.sound or checked.strays or not checked.sealed:
        found.append(f"after the next writer: {checked}")
    if served(store_folder) != (seed, []):
        found.append("the next writer changed what is served")
    with Writer(store_folder, "train") as w:
        train(w, NEW + 1)
    return (
        found if served(store_folder) == (NEW + 1, []) else [*found, "training again does not help"]
    )


def points(total: int, count: int = KILLS) -> list[int]:
    """Return seeded steps to crash at; the last steps, of publishing and removing, are there."""
    return sorted(random.Random(7).sample(range(1, total + 1), min(count, total)))


def test_a_kill_at_any_step_leaves_a_whole_model(trained: Path) -> None:
    for point in points(steps_of(trained)):
        assert crash_at(trained, point, None) == [], f"killed at step {point}"


def test_a_power_cut_at_any_step_leaves_a_whole_model(trained: Path) -> None:
    for point in points(steps_of(trained)):
        assert crash_at(trained, point, point) == [], f"cut at step {point}"


def test_without_our_flushes_a_power_cut_is_noticed(trained: Path) -> None:
    """The harness would see it if models, scores and versions were not flushed."""
    total = steps_of(trained)
    assert any(crash_at(trained, point, point, flush=False) for point in points(total, 12))


def test_a_model_published_before_its_scores_is_noticed(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness would see it if the pointer moved before everything was scored."""

    def careless(self: Writer, scorer: Scorer, note: str, progress: Progress) -> Version:
        number = self.version.number + 1
        self._swap(Version(number, self.version.segments, scorer.model), Change())
        self.scorer = scorer
        self.score_missing()
        return self.version

    monkeypatch.setattr(Writer, "publish_model", careless)
    total = steps_of(trained)
    problems = (p for point in points(total, 20) for p in crash_at(trained, point, None))
    assert any("no scores of the model" in p for p in problems)
