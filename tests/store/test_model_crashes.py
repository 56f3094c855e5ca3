"""Similarity and text models, published by a killed writer or without power: old or new, whole."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sightline.progress import NoProgress
from sightline.store.folder import Reader, StoreFolder
from sightline.store.models import load_model, save_model
from sightline.store.upkeep.verify import verify
from sightline.store.writer import Writer
from tests.factories.failing_disks import KILLS, Crash, Disk, loaded_sqlite, run_child
from tests.factories.scored_stores import (
    FakeScorer,
    crash_learning,
    learning,
    points_of,
    scored_store,
)

pytestmark = pytest.mark.skipif(
    loaded_sqlite() is None, reason="this Python has SQLite built in, where it cannot be watched"
)
BEFORE, NEW = 3, 4


def learn_similarity(w: Writer, seed: int) -> None:
    """Save a similarity model whose numbers all are its seed, and publish it."""
    name = save_model(
        w.store_folder.models, "similar", {"seed": seed}, {"w": np.full(500, float(seed))}
    )
    w.publish_similar(name, "test")


def learn_text(w: Writer, seed: int) -> None:
    """Save a text model, map all pictures by it, and publish it."""
    w.publish_text(FakeScorer(w.store_folder, seed, spaced=True, kind="text"), "", NoProgress())


def similarity_served(reader: Reader, store_folder: StoreFolder) -> int:
    model = load_model(store_folder.models, reader.snapshot.similar)
    (seed,) = set(model.arrays["w"].tolist())
    assert seed == model.about["seed"]
    return int(seed)


def text_served(reader: Reader, store_folder: StoreFolder) -> int:
    model = load_model(store_folder.models, reader.snapshot.text)
    seed = int(str(model.about["seed"]))
    for s in reader.snapshot.segments:
        assert s.text_scores is not None and s.text_scores.model == model.name
        assert np.array_equal(s.text_scores.points["pictures"], points_of(seed, s.ids))
    return seed


Learn = Callable[[Writer, int], None]
KINDS: dict[str, tuple[Learn, Callable[[Reader, StoreFolder], int]]] = {
    "similar": (learn_similarity, similarity_served),
    "text": (learn_text, text_served),
}


class Training:
    """A store in which a kind of model was trained so often that the next time removes one."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.learn, self.of = KINDS[kind]
        self.folder = folder
        scored_store(StoreFolder(folder))
        with Writer(StoreFolder(folder), "train") as w:
            for seed in range(1, BEFORE + 1):
                self.learn(w, seed)

    def served(self, store_folder: StoreFolder) -> int:
        """Return which model is served; all of its numbers must be of one training."""
        with store_folder.reader() as reader:
            assert reader.snapshot.model, "the word model went along"
            assert all(s.scores is not None for s in reader.snapshot.segments)
            return self.of(reader, store_folder)

    def crash_at(self, point: int, seed: int | None, *, flush: bool = True) -> list[str]:
        """Crash at one step (a power cut if there is a seed) and return the problems."""
        return crash_learning(self.folder, self.learn, NEW, self.problems_after, point, seed, flush)

    def problems_after(self, store_folder: StoreFolder, crash: Crash) -> list[str]:
        found = [p.what for p in verify(store_folder).problems]
        if found:
            return found
        seed = self.served(store_folder)
        if seed not in (BEFORE, NEW) or (crash.acks and seed != NEW):
            found.append(f"model {seed} is served after {crash.acks}")
        Writer(store_folder, "index").close()
        checked = verify(store_folder)
        if not checked.sound or checked.strays or self.served(store_folder) != seed:
            found.append(f"after the next writer: {checked}")
        return found

    def steps(self) -> int:
        store = self.folder.parent / "undisturbed"
        shutil.copytree(self.folder, store)
        disk = Disk(store, self.folder.parent / "shadow", 0)
        crash = run_child(learning(store, disk, self.learn, NEW), disk)
        assert crash.finished and self.served(StoreFolder(store)) == NEW
        return crash.steps


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("power", [False, True])
def test_the_old_model_or_the_new_one_is_served(tmp_path: Path, kind: str, power: bool) -> None:
    training = Training(kind, tmp_path / "trained")
    steps = training.steps()
    rng = random.Random(5)
    points = sorted(rng.sample(range(1, steps + 1), min(KILLS, steps)))
    for point in points:
        assert training.crash_at(point, rng.randrange(1 << 30) if power else None) == []


def test_the_harness_reports_loss_without_flushes(tmp_path: Path) -> None:
    training = Training("similar", tmp_path / "trained")
    steps = training.steps()
    assert any(training.crash_at(point, point, flush=False) for point in range(1, steps + 1, 2))
