"""Synthetic stores, written through the real writer: many rows without many pictures."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import Bench
from benchmarks.rows import BenchmarkError
from sightline.collection import Collection
from sightline.contracts import Json
from sightline.pictures.thumbnails import thumbnail
from sightline.records import Batch, DenseQuery, FeatureRows, Tags
from sightline.store.engines.quantised import ROUNDED_AT_ONCE
from sightline.store.events import NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.segments import MERGED_ROWS
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, FileStamp, Writer
from sightline.words.term_ids import term_id
from sightline.words.tokens import caption_terms

SEED = 4_711
FEATURE = "bench-128"
LENGTH = 128
# Lengths of colour, edges, Gabor, LBP and GIST.
DESCRIPTORS = (81, 37, 120, 59, 512)
WORDS_EACH = 8
_ONSETS = (*"bdfgklmnprstvz", "br", "dr", "st", "tr")
_VOWELS = (*"aeiou", "ai")

Vectors = NDArray[np.float32]


def vectors(bench: Bench) -> StoreFolder:
    """Return a store with seeded Gaussian rows of 128 numbers and nothing else."""
    n = bench.sizes.vectors
    return bench.once(f"vectors-{n}", lambda folder: _vectors(folder, n))


def blocks(n: int) -> Iterator[tuple[int, Vectors]]:
    """Yield the rows of a store of vectors again, block by block, each with its first id."""
    rng = np.random.default_rng(SEED)
    for first in range(0, n, MERGED_ROWS):
        count = min(MERGED_ROWS, n - first)
        yield first + 1, rng.standard_normal((count, LENGTH), dtype=np.float32)


def _vectors(folder: Path, n: int) -> StoreFolder:
    store_folder = StoreFolder(folder)
    with Writer(store_folder, "bench") as writer:
        for first, rows in blocks(n):
            ids = np.arange(first, first + len(rows), dtype=np.int64)
            batch = Batch(ids, ((),) * len(ids), (b"",) * len(ids), (FeatureRows(FEATURE, rows),))
            writer.publish(Change(batches=[batch]), finished=False)
        writer.publish(Change(), finished=True)
    return store_folder


def of_rows(folder: Path, rows: Vectors, feature: str = FEATURE) -> StoreFolder:
    """Return a store with these rows and nothing else, ids from 1 on."""
    store_folder = StoreFolder(folder)
    with Writer(store_folder, "bench") as writer:
        for first in range(0, len(rows), MERGED_ROWS):
            part = rows[first : first + MERGED_ROWS]
            ids = np.arange(first + 1, first + 1 + len(part), dtype=np.int64)
            batch = Batch(ids, ((),) * len(ids), (b"",) * len(ids), (FeatureRows(feature, part),))
            writer.publish(Change(batches=[batch]), finished=False)
        writer.publish(Change(), finished=True)
    return store_folder


@contextlib.contextmanager
def served(store_folder: StoreFolder) -> Iterator[Snapshot]:
    """Open a store of rows as a server has it, with its rows rounded."""
    other = StoreFolder(store_folder.path)
    other.fast = True
    with other.reader() as reader:
        snapshot = reader.snapshot
        query = DenseQuery(FEATURE, np.ones(snapshot.length(FEATURE), np.float32))
        quantised, numbers = snapshot.quantised, snapshot.size() * len(query.weights)
        # One query rounds a limited number of rows.
        for _ in range(2 + numbers // ROUNDED_AT_ONCE):
            snapshot.top(query, 1)
        if quantised is None or quantised.n_bytes < numbers:
            raise BenchmarkError(f"The rows of {store_folder.path} were not rounded.")
        yield snapshot


@functools.cache
def vocabulary(n: int) -> tuple[str, ...]:
    """Return n words that can be spoken, the most frequent first."""
    rng = np.random.default_rng(SEED)
    words: dict[str, None] = {}
    while len(words) < n:
        syllables = rng.integers(2, 5)
        word = "".join(
            str(rng.choice(_ONSETS)) + str(rng.choice(_VOWELS)) for _ in range(syllables)
        )
        words[word] = None
    return tuple(words)


def worded(bench: Bench, n: int) -> tuple[Path, StoreFolder]:
    """Return a folder of n empty files and its store: about 8 words each, by Zipf's law.

    A search looks whether its hits are still there, so the files exist; nobody reads them.
    """
    words = vocabulary(bench.sizes.vocabulary)
    return bench.once(f"worded-{n}", lambda folder: _worded(folder, n, words))


def _worded(folder: Path, n: int, words: tuple[str, ...]) -> tuple[Path, StoreFolder]:
    root, store_folder = folder / "pictures", StoreFolder(folder / "store")
    share = 1.0 / np.arange(1, len(words) + 1)
    rng = np.random.default_rng(SEED)
    with Writer(store_folder, "bench") as writer:
        for first in range(0, n, MERGED_ROWS):
            count = min(MERGED_ROWS, n - first)
            drawn = rng.choice(len(words), (count, WORDS_EACH), p=share / share.sum())
            chosen = [[words[j] for j in sorted(set(row))] for row in drawn.tolist()]
            publish(writer, root, first, chosen)
        writer.note(Change(meta=[("root", str(root))]))
        writer.publish(Change(), finished=True)
    return root, store_folder


def publish(
    writer: Writer,
    root: Path,
    first: int,
    chosen: list[list[str]],
    rows: tuple[FeatureRows, ...] = (),
    thumbnails: tuple[bytes, ...] = (),
) -> None:
    """Publish pictures as an index run would: facts to the log, then rows, then the pointer."""
    new: list[NewEvent] = []
    for i, labels in enumerate(chosen, first):
        path = f"{i // 1000:04d}/{i:07d}.jpg"
        if i % 1000 == 0 or i == first:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
        new += [_seen(path), _said(len(new), labels)]
    events = writer.append(new)
    ids = [e.picture or 0 for e in events if e.kind == "picture-seen"]
    terms = tuple(tuple(sorted({t for label in row for t in _terms(label)})) for row in chosen)
    spelled = {(term_id(label), label) for row in chosen for label in row}
    batch = Batch(np.array(ids, np.int64), terms, thumbnails or (b"",) * len(ids), rows)
    stamps = [FileStamp(i, 0, 0, "[]") for i in ids]
    change = Change(events=events, batches=[batch], stamps=stamps, terms=sorted(spelled))
    writer.publish(change, finished=False)


def described(bench: Bench, n: int) -> tuple[Path, StoreFolder]:
    """Return a folder of n empty files and its store: five descriptors each, around 200 centres."""
    return bench.once(f"described-{n}", lambda folder: _described(folder, n))


def _described(folder: Path, n: int) -> tuple[Path, StoreFolder]:
    root, store_folder = folder / "pictures", StoreFolder(folder / "store")
    rng = np.random.default_rng(SEED)
    centres = {m: rng.random((200, m), dtype=np.float32) for m in DESCRIPTORS}
    with Writer(store_folder, "bench") as writer:
        for first in range(0, n, MERGED_ROWS):
            which = rng.integers(0, 200, min(MERGED_ROWS, n - first))
            rows = tuple(
                FeatureRows(f"bench{m}-000000000000", c[which] + _noise(rng, len(which), m))
                for m, c in centres.items()
            )
            publish(writer, root, first, [[] for _ in which], rows)
        writer.note(Change(meta=[("root", str(root))]))
        writer.publish(Change(), finished=True)
    return root, store_folder


def _noise(rng: np.random.Generator, n: int, length: int) -> Vectors:
    return rng.random((n, length), dtype=np.float32)


def _seen(path: str) -> NewEvent:
    body: dict[str, Json] = {
        "path": path, "sha": path, "size": 0, "mtime": 0, "width": 640, "height": 480,
        "format": "JPEG", "taken": None,
    }  # fmt: skip
    return NewEvent("picture-seen", None, body)


def _said(position: int, labels: list[str]) -> NewEvent:
    body: dict[str, Json] = {"source": "txt", "tags": list[Json](labels), "text": ""}
    return NewEvent("words", -position - 1, body)


@functools.cache
def _terms(label: str) -> tuple[int, ...]:
    return tuple(term_id(t) for t in caption_terms(Tags("txt", tags=(label,))))


def planted(bench: Bench, n: int) -> StoreFolder:
    """Return a store of n pictures in 40 clusters, two words each, with rows of 64 numbers."""
    return bench.once(f"planted-{n}", lambda folder: _planted(folder, n))


def _planted(folder: Path, n: int) -> StoreFolder:
    store_folder, rng = StoreFolder(folder), np.random.default_rng(SEED)
    centres = rng.standard_normal((40, 64), dtype=np.float32)
    terms = [term_id(f"cluster{k}") for k in range(40)] + [term_id(f"ten{k}") for k in range(4)]
    with Writer(store_folder, "bench") as writer:
        for first in range(0, n, MERGED_ROWS):
            which = rng.integers(0, 40, min(MERGED_ROWS, n - first))
            rows = centres[which] + rng.standard_normal((len(which), 64), dtype=np.float32)
            ids = np.arange(first + 1, first + 1 + len(which), dtype=np.int64)
            words = tuple(tuple(sorted((terms[k], terms[40 + k // 10]))) for k in which.tolist())
            batch = Batch(ids, words, (b"",) * len(ids), (FeatureRows(FEATURE, rows),))
            writer.publish(Change(batches=[batch]), finished=True)
    return store_folder


def taught(bench: Bench, n: int) -> tuple[Path, StoreFolder]:
    """Return a folder of n empty files and its store: 40 clusters with words, rows, and a model."""
    return bench.once(f"taught-{n}", lambda folder: _taught(folder, n))


def _taught(folder: Path, n: int) -> tuple[Path, StoreFolder]:
    root, store_folder = folder / "pictures", StoreFolder(folder / "store")
    rng = np.random.default_rng(SEED)
    centres = rng.standard_normal((40, 64), dtype=np.float32)
    with Writer(store_folder, "bench") as writer:
        for first in range(0, n, MERGED_ROWS):
            which = rng.integers(0, 40, min(MERGED_ROWS, n - first))
            rows = centres[which] + rng.standard_normal((len(which), 64), dtype=np.float32)
            # Every fourth picture has no words, and is found by what the others teach.
            worded = rng.random(len(which)) < 0.75
            words = [
                [f"cluster{k}", f"ten{k // 10}"] if w else []
                for k, w in zip(which.tolist(), worded.tolist(), strict=True)
            ]
            publish(writer, root, first, words, (FeatureRows("bench64-000000000000", rows),))
        writer.note(Change(meta=[("root", str(root))]))
        writer.publish(Change(), finished=True)
    Collection.open(root, store=store_folder.path).train(rankers=["ridge"])
    return root, store_folder


def pictured(bench: Bench, n: int, *, taught: bool) -> tuple[Path, StoreFolder]:
    """Return a folder of n empty files and a store to look at: 40 clusters, each of one colour.

    All pictures have the word `any`, three of four the word of their cluster, and each has a
    thumbnail of the size that an index makes.
    """
    name = f"pictured-{n}-{taught}"
    return bench.once(name, lambda folder: _pictured(folder, n, taught))


def _pictured(folder: Path, n: int, taught: bool) -> tuple[Path, StoreFolder]:
    root, store_folder = folder / "pictures", StoreFolder(folder / "store")
    rng = np.random.default_rng(SEED)
    centres = rng.standard_normal((40, 64), dtype=np.float32)
    small = [_thumbnail(rng) for _ in range(40)]
    with Writer(store_folder, "bench") as writer:
        for first in range(0, n, MERGED_ROWS):
            which = rng.integers(0, 40, min(MERGED_ROWS, n - first))
            rows = centres[which] + rng.standard_normal((len(which), 64), dtype=np.float32)
            worded = rng.random(len(which)) < 0.75
            pairs = zip(which.tolist(), worded.tolist(), strict=True)
            words = [["any", f"cluster{k}"] if w else ["any"] for k, w in pairs]
            features = (FeatureRows("bench64-000000000000", rows),)
            publish(writer, root, first, words, features, tuple(small[k] for k in which.tolist()))
        writer.note(Change(meta=[("root", str(root))]))
        writer.publish(Change(), finished=True)
    if taught:
        Collection.open(root, store=store_folder.path).train(rankers=["pamir"])
    return root, store_folder


def _thumbnail(rng: np.random.Generator) -> bytes:
    """Return a soft picture of one colour as an index keeps it."""
    colour = rng.integers(40, 216, 3)
    noise = rng.integers(-8, 9, (24, 32, 1))
    rgb = np.clip(colour + noise, 0, 255).astype(np.uint8)
    return thumbnail(np.kron(rgb, np.ones((8, 8, 1), np.uint8)))
