"""What was learnt of likeness, published by a killed writer or without power: old or new, whole."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from sightline.store.folder import StoreFolder
from sightline.store.models import load_model, save_model
from sightline.store.upkeep.verify import verify
from sightline.store.writer import Writer
from tests.factories.failing_disks import KILLS, Crash, Disk, loaded_sqlite, run_child
from tests.factories.scored_stores import crash_learning, learning, scored_store

pytestmark = pytest.mark.skipif(
    loaded_sqlite() is None, reason="this Python has SQLite built in, where it cannot be watched"
)
BEFORE, NEW = 3, 4


def learn(w: Writer, seed: int) -> None:
    """Save a model whose numbers all are its seed, and publish it."""
    name = save_model(
        w.store_folder.models, "similar", {"seed": seed}, {"w": np.full(500, float(seed))}
    )
    w.publish_similar(name, "test")


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """Return a store in which likeness was learnt so often that the next time removes a model."""
    folder = tmp_path / "trained"
    scored_store(StoreFolder(folder))
    with Writer(StoreFolder(folder), "train") as w:
        for seed in range(1, BEFORE + 1):
            learn(w, seed)
    return folder


def served(store_folder: StoreFolder) -> int:
    """Return which model is served; all of its numbers must be of one training."""
    with store_folder.reader() as reader:
        model = load_model(store_folder.models, reader.snapshot.similar)
        assert reader.snapshot.model, "the model of words went along"
    (seed,) = set(model.arrays["w"].tolist())
    assert seed == model.about["seed"]
    return int(seed)


def crash_at(trained: Path, point: int, seed: int | None, *, flush: bool = True) -> list[str]:
    """Crash at one step (a power cut if there is a seed) and return the problems."""
    return crash_learning(trained, learn, NEW, problems_after, point, seed, flush)


def problems_after(store_folder: StoreFolder, crash: Crash) -> list[str]:
    found = [p.what for p in verify(store_folder).problems]
    if found:
        return found
    seed = served(store_folder)
    if seed not in (BEFORE, NEW) or (crash.acks and seed != NEW):
        found.append(f"model {seed} is served after {crash.acks}")
    Writer(store_folder, "index").close()
    checked = verify(store_folder)
    if not checked.sound or checked.strays or served(store_folder) != seed:
        found.append(f"after the next writer: {checked}")
    return found


def steps_of(trained: Path) -> int:
    store = trained.parent / "undisturbed"
    shutil.copytree(trained, store)
    disk = Disk(store, trained.parent / "shadow", 0)
    crash = run_child(learning(store, disk, learn, NEW), disk)
    assert crash.finished and served(StoreFolder(store)) == NEW
    return crash.steps


@pytest.mark.parametrize("power", [False, True])
def test_the_old_model_or_the_new_one_is_served(trained: Path, power: bool) -> None:
    steps = steps_of(trained)
    rng = random.Random(5)
    points = sorted(rng.sample(range(1, steps + 1), min(KILLS, steps)))
    for point in points:
        assert crash_at(trained, point, rng.randrange(1 << 30) if power else None) == []


def test_the_harness_reports_loss_without_flushes(trained: Path) -> None:
    steps = steps_of(trained)
    assert any(crash_at(trained, point, point, flush=False) for point in range(1, steps + 1, 2))
