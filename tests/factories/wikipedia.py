"""A small set of pairs in the form of the Wikipedia one, made for tests."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.io import savemat

from sightline_experiments.datasets.wikipedia import (
    CLASSES,
    FEATURES,
    TEST,
    TRAIN,
    Counts,
    Wikipedia,
    load_wikipedia,
)
from tests.factories.corel5k import unpack

NAMES = ("art", "biology", "sport")
N_TRAIN, N_TEST = 90, 30
COUNTS = Counts(N_TRAIN, N_TEST, len(NAMES), 12, 5)


def made_files(seed: int = 0) -> dict[str, bytes]:
    """Return the files of the set by name: shares drawn around those of a class."""
    rng = np.random.default_rng(seed)
    usual = [rng.dirichlet(np.ones(n), len(NAMES)) for n in (12, 5)]
    files = {CLASSES: "\n".join(NAMES).encode() + b"\n"}
    matrices = {}
    for end, name, n in (("tr", TRAIN, N_TRAIN), ("te", TEST, N_TEST)):
        classes = np.arange(n) % len(NAMES)
        for side, own in zip("IT", usual, strict=True):
            drawn = [rng.dirichlet(20 * own[c] + 0.3) for c in classes]
            matrices[f"{side}_{end}"] = np.array(drawn)
        lines = (f"text-{i}\tpicture-{i}\t{c + 1}" for i, c in enumerate(classes))
        files[name] = "\n".join(lines).encode() + b"\n"
    files[FEATURES] = packed(matrices)
    return files


def packed(matrices: Mapping[str, object]) -> bytes:
    """Return a MATLAB file that holds matrices."""
    out = io.BytesIO()
    savemat(out, dict(matrices), do_compression=True)
    return out.getvalue()


def load_made(folder: Path) -> Wikipedia:
    """Write the set into a folder and load it."""
    dataset = load_wikipedia(unpack(made_files(), folder / "wikipedia").parent, COUNTS)
    assert dataset is not None
    return dataset
