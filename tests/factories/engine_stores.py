"""Stores to try engines on, and one Milvus server for all tests of a process that want it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sightline.records import Batch, FeatureRows
from sightline.store.folder import StoreFolder
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, Writer
from sightline.testing.milvus import MilvusProcess

WITHOUT_MILVUS = "needs a server: pip install 'sightline[milvus,milvus-server]', then make test"


def a_server(folder: Path, *, password: bool = False) -> Iterator[MilvusProcess]:
    """Yield a server of one's own, ended and removed at the end.

    Its program is unpacked once for all processes of a test run, which removes it when it ends.
    """
    try:
        program = Path(os.environ["SIGHTLINE_TEST_MILVUS"])
        with MilvusProcess(folder, program, password=password) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def store_of(
    folder: Path, batches: Sequence[Batch], deleted: Sequence[int] = (), *, merged: bool = False
) -> StoreFolder:
    """Return a store with some pictures in it."""
    store_folder = StoreFolder(folder)
    with Writer(store_folder, "test") as w:
        for b in batches:
            w.publish(Change(batches=[b]), finished=True)
        w.publish(Change(dead=deleted), finished=True)
        if merged:
            w.compact(everything=True)
    return store_folder


def opened(store_folder: StoreFolder) -> Snapshot:
    """Return the current version of a store."""
    with store_folder.reader() as reader:
        return reader.snapshot


def random_batch(first: int, n: int, length: int = 8, seed: int = 0) -> Batch:
    """Return pictures with rows in clusters, of one feature `made-1`."""
    rng = np.random.default_rng([seed, first])
    centres = np.random.default_rng(99).standard_normal((20, length))
    rows = centres[rng.integers(20, size=n)] + 0.3 * rng.standard_normal((n, length))
    ids = np.arange(first, first + n, dtype=np.int64)
    terms = tuple((int(i) % 7,) for i in ids)
    return Batch(ids, terms, (b"",) * n, (FeatureRows("made-1", rows.astype(np.float32)),))
