"""Collections for tests of feedback sessions: clusters planted in a store, with files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sightline.collection import Collection
from sightline.collection.sessions.session import Session
from sightline.store.events import Event, EventLog
from tests.factories.planted_stores import clusters, noise_like, plant


def judged_collection(folder: Path, n: int = 120, kinds: int = 6, noise: float = 0.5) -> Collection:
    """Return a collection of clusters; picture i, of id i + 1, is of cluster i mod `kinds`.

    Every second picture is tagged with the word of its cluster; the feature `deep` separates the
    clusters, `color` is noise.
    """
    words, rows = clusters(n, kinds, noise=noise)
    some = [w if (i // kinds) % 2 == 0 else [] for i, w in enumerate(words)]
    plant(folder / "store", some, {"deep": rows, "color": noise_like(rows)})
    photos = folder / "photos"
    photos.mkdir(parents=True)
    for i in range(n):
        (photos / f"{i:04d}.jpg").write_bytes(b"x")
    return Collection.open(photos, store=folder / "store")


def kind_of(picture: int, kinds: int = 6) -> int:
    """Return the cluster of a picture."""
    return (picture - 1) % kinds


def precision(pictures: list[int], kind: int, kinds: int = 6) -> float:
    """Return the share of pictures in a cluster."""
    return float(np.mean([kind_of(p, kinds) == kind for p in pictures]))


def events_of(c: Collection, *kinds: str) -> list[Event]:
    """Return events of some kinds, all by default."""
    log = EventLog(c.store_folder.events, write=False)
    try:
        return list(log.read(kinds=kinds))
    finally:
        log.close()


def judge_with_label_noise(session: Session) -> int:
    """Judge 27 pictures of a session that began with picture 1, one of them wrongly; return it.

    It is relevant, and is judged not to be.
    """
    alike = [h.picture for h in session.next(120) if kind_of(h.picture) == kind_of(1)]
    unlike = [p for p in range(2, 60) if kind_of(p) != kind_of(1)]
    session.mark(positive=alike[1:14], negative=[*unlike[:13], alike[0]])
    return alike[0]
