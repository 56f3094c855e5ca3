"""Small stores whose pictures a fake model has scored, without picture files or training."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline.errors import SightlineError
from sightline.progress import NoProgress
from sightline.records import Batch, FeatureRows
from sightline.store.folder import StoreFolder
from sightline.store.models import save_model
from sightline.store.scores import Scores
from sightline.store.segments import OpenSegment
from sightline.store.writer import Change, Writer
from tests.factories.failing_disks import Crash, Disk, cut_power, run_child

FEATURE = "f-1"
TERMS = (11, 12, 13, 14, 15)

Int = NDArray[np.int64]
Float = NDArray[np.float32]


def score(seed: int, picture: int, term: int) -> float:
    """Return the score of a fake model: few different values, so that there are many ties."""
    return ((picture * 7919 + term * 101 + seed * 31 + picture * term) % 13 - 6) / 4


def scores_of(seed: int, ids: Int, terms: Sequence[int]) -> Float:
    """Return the scores of many pictures, a row for each word."""
    rows = [[score(seed, p, t) for p in ids.tolist()] for t in terms]
    return np.array(rows, np.float32).reshape(len(terms), len(ids))


def points_of(seed: int, ids: Int) -> Float:
    """Return a fake model's embedding of pictures, two numbers each."""
    return np.stack([np.sin(ids * (seed + 1.0)), np.cos(ids * 3.0 + seed)], axis=1).astype("f4")


class FakeScorer:
    """Scores the pictures that have the feature, for some words; if `spaced` they have points."""

    def __init__(
        self,
        store_folder: StoreFolder,
        seed: int,
        terms: Sequence[int] = TERMS,
        spaced: bool = False,
        kind: str = "words",
    ) -> None:
        self.seed, self.terms, self.spaced = seed, terms, spaced
        numbers = np.arange(40, dtype=np.float32) + seed
        self.model = save_model(store_folder.models, kind, {"seed": seed}, {"W": numbers})

    def scores(self, segment: OpenSegment) -> Scores | None:
        if FEATURE not in segment.features:
            return None
        rows = scores_of(self.seed, segment.ids, self.terms)
        points = {"pictures": points_of(self.seed, segment.ids)} if self.spaced else {}
        return Scores(self.model, np.array(self.terms, np.int64), rows, points)


def batch(ids: Sequence[int], words: Sequence[tuple[int, ...]] | None = None) -> Batch:
    """Return pictures that have the feature, each with its own words."""
    rows = np.arange(2 * len(ids), dtype=np.float32).reshape(-1, 2)
    return Batch(
        np.array(ids, np.int64),
        tuple(words) if words is not None else ((),) * len(ids),
        tuple(b"jpeg%d" % i for i in ids),
        (FeatureRows(FEATURE, rows),),
    )


def train(writer: Writer, seed: int, terms: Sequence[int] = TERMS) -> str:
    """Write a model and publish it, as training does at its end; return its name."""
    scorer = FakeScorer(writer.store_folder, seed, terms)
    writer.publish_model(scorer, f"seed {seed}", NoProgress())
    return scorer.model


def scored_store(store_folder: StoreFolder, seed: int = 1) -> str:
    """Make a store of nine pictures in three segments, scored by a model; return its name."""
    with Writer(store_folder, "test") as w:
        for first in (1, 4, 7):
            ids = range(first, first + 3)
            words = [(TERMS[i % 5],) for i in ids]
            w.publish(Change(batches=[batch(list(ids), words)]), finished=True)
        return train(w, seed)


def crash_learning(
    trained: Path,
    learn: Callable[[Writer, int], object],
    new: int,
    problems_after: Callable[[StoreFolder, Crash], list[str]],
    point: int,
    seed: int | None,
    flush: bool,
) -> list[str]:
    """Crash a training at one step (a power cut if there is a seed) and return the problems."""
    folder = trained.parent / f"run-{point}-{seed}"
    store, shadow = folder / "store", folder / "shadow"
    shutil.copytree(trained, store)
    disk = Disk(store, shadow, point, flush=flush)
    try:
        crash = run_child(learning(store, disk, learn, new), disk)
        if seed is not None:
            cut_power(store, shadow, seed)
        return problems_after(StoreFolder(store), crash)
    except SightlineError as e:
        return [f"cannot be used: {e}"]
    finally:
        shutil.rmtree(folder)


def learning(
    store: Path, disk: Disk, learn: Callable[[Writer, int], object], seed: int
) -> Callable[..., None]:
    """Return the work of a child: train again, publish, and report it."""

    def run(say: Callable[..., None]) -> None:
        # The existing files are on the disk already.
        for path in (store.parent, store, *sorted(store.rglob("*"))):
            disk.flushed_path(str(path))
        with Writer(StoreFolder(store), "train") as w:
            learn(w, seed)
            say("published", w.version.number)

    return run
