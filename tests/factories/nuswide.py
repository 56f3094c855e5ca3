"""A small set of pictures in the form of NUS-WIDE, made for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sightline_experiments.datasets.nuswide import (
    CONCEPTS,
    LABELS,
    TAGS,
    VISUAL_WORDS,
    Counts,
    NusWide,
    load_nuswide,
)
from tests.factories.corel5k import unpack

NAMES = ("animal", "sky", "water", "zebra")
N, N_TAGS, N_WORDS = 400, 24, 16
COUNTS = Counts(N, len(NAMES), N_TAGS, N_WORDS)
# Every tenth picture has no tag and every sixteenth no concept.
NO_TAG, NO_CONCEPT = 10, 16


def made_tables(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return concepts, tags and counts of visual words; the last two depend on the concepts."""
    rng = np.random.default_rng(seed)
    concepts = rng.random((N, len(NAMES))) < 0.05
    concepts[np.arange(N), rng.integers(len(NAMES), size=N)] = True
    concepts[::NO_CONCEPT] = False
    tags = rng.random((N, N_TAGS)) < 0.03 + 0.3 * (concepts @ _blocks(N_TAGS) > 0)
    tags[np.arange(N), rng.integers(N_TAGS, size=N)] = True
    tags[::NO_TAG] = False
    words = rng.poisson(0.3 + 2.5 * (concepts @ _blocks(N_WORDS)))
    return concepts, tags, words


def _blocks(n: int) -> np.ndarray:
    """Return the indicator of the columns that belong to each concept."""
    return np.repeat(np.eye(len(NAMES)), n // len(NAMES), axis=1)


def made_files(seed: int = 0) -> dict[str, bytes]:
    """Return the files of the set by name."""
    concepts, tags, words = made_tables(seed)
    files = {CONCEPTS: "\n".join(NAMES).encode() + b"\n"}
    for i, name in enumerate(NAMES):
        files[LABELS.format(name)] = _lines(concepts[:, i : i + 1], " ")
    # As published: tabs between tags and one after the last, blanks between visual words.
    files[TAGS] = _lines(tags, "\t").replace(b"\n", b"\t\r\n")
    files[VISUAL_WORDS[0]] = _lines(words, " ")
    return files


def _lines(table: np.ndarray, between: str) -> bytes:
    return b"".join(between.join(map(str, r)).encode() + b"\n" for r in table.astype(int).tolist())


def load_made(folder: Path) -> NusWide:
    """Write the set into a folder and load it."""
    dataset = load_nuswide(unpack(made_files(), folder / "nuswide").parent, COUNTS)
    assert dataset is not None
    return dataset
