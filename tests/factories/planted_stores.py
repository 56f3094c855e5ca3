"""Collections planted straight into a store: ids, words and features, without picture files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Json
from sightline.records import Batch, FeatureRows
from sightline.store.events import NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.writer import Change, Writer
from sightline.words.term_ids import term_id

Float = NDArray[np.float32]


def plant(
    folder: Path,
    words: Sequence[Sequence[str]],
    features: Mapping[str, Float],
    *,
    segments: int = 1,
) -> StoreFolder:
    """Make a store whose pictures have some words and features, by name or fingerprint."""
    store_folder = StoreFolder(folder)
    spelled = sorted({(term_id(w), w) for ws in words for w in ws})
    with Writer(store_folder, "test") as writer:
        events = writer.append([seen_event(i) for i in range(len(words))])
        ids = np.array([e.picture for e in events], np.int64)
        terms = [tuple(sorted(term_id(w) for w in ws)) for ws in words]
        batches = [
            Batch(
                ids=ids[at],
                terms=tuple(terms[i] for i in at),
                thumbnails=(b"x",) * len(at),
                features=tuple(FeatureRows(_fingerprint(n), m[at]) for n, m in features.items()),
            )
            for at in np.array_split(np.arange(len(words)), segments)
        ]
        writer.publish(Change(events=events, batches=batches, terms=spelled), finished=True)
    return store_folder


def _fingerprint(name: str) -> str:
    return name if re.search("-[0-9a-f]{12}$", name) else f"{name}-0123456789ab"


def seen_event(i: int) -> NewEvent:
    """Return the event of a picture that was seen."""
    body: dict[str, Json] = {
        "path": f"{i:04d}.jpg", "sha": f"{i:064x}", "size": 1, "mtime": 1, "width": 1, "height": 1,
        "format": "JPEG", "taken": None,
    }  # fmt: skip
    return NewEvent("picture-seen", body=body)


def clusters(
    n: int, n_words: int, seed: int = 0, noise: float = 0.3, size: int = 12
) -> tuple[list[list[str]], Float]:
    """Return pictures in clusters, a word for each cluster and a second one for pairs of them."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_words, size))
    which = np.arange(n) % n_words
    rows = centres[which] + noise * rng.normal(size=(n, size))
    words = [[f"word{k}", f"pair{k // 2}"] for k in which.tolist()]
    return words, rows.astype(np.float32)


def noise_like(rows: Float, seed: int = 1) -> Float:
    """Return a feature of random numbers."""
    return np.random.default_rng(seed).normal(size=rows.shape).astype(np.float32)
