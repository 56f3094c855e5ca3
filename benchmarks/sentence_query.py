"""sentence-query: a sentence of twelve words against its three content words, and against one word.

A synthetic store: 4,000 pictures have captions of two or three content words and half of nine stop
words, all others have no word and are predicted by a model of all of these words. Their rows are
those of the 4,000, tiled and perturbed. CPU time of `Collection.search` for the ten best, files
looked up; sentence, content words and one word are asked in turn. Among candidates, only 1,000
pictures may appear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks import stores
from benchmarks.bench import Bench
from benchmarks.rows import BenchmarkError, Row, compared
from benchmarks.timing import Cost, clocked, cpus, interleaved
from sightline.collection import Collection
from sightline.records import FeatureRows
from sightline.store.folder import StoreFolder
from sightline.store.segments import MERGED_ROWS
from sightline.store.writer import Change, Writer

NAME = "sentence-query"
ROWS = (
    "sentence-query/small", "sentence-query/small-one-word",
    "sentence-query/large", "sentence-query/large-one-word",
    "sentence-query/candidates", "sentence-query/candidates-one-word",
)  # fmt: skip
_STOP = ("this", "is", "one", "of", "the", "and", "a", "in", "with")
_CLUSTERS, _LENGTH, _TAGGED, _CANDIDATES, _K = 40, 64, 4_000, 1_000, 10
_ASKED = 10  # a repetition is the sum of so many queries, each of another cluster


def measure(bench: Bench) -> list[Row]:
    """Ask a small and a large store, and a thousand pictures of the small one."""
    small, large = bench.sizes.sentences
    rows = [*_rows(bench, small, ROWS[:2]), *_rows(bench, large, ROWS[2:4])]
    return [*rows, *_rows(bench, small, ROWS[4:], _CANDIDATES)]


def _rows(bench: Bench, n: int, names: Sequence[str], candidates: int = 0) -> list[Row]:
    root, store_folder = bench.once(f"sentences-{n}", lambda folder: _store(folder, n))
    c = Collection.open(root, store=store_folder.path)
    among = None if not candidates else np.random.default_rng(1).permutation(list(c))[:candidates]
    ids = None if among is None else among.tolist()
    sides = [_asking(c, words, ids) for words in (_sentence, _content, _one)]
    sentence, content, one = (
        [1e3 * s / _ASKED for s in cpus(costs)]
        for costs in interleaved(bench.sizes.repetitions, sides)
    )
    tagged = min(_TAGGED, n // 2)
    what = f"{n:,} pictures, tiled rows, {tagged:,} with captions, {len(_STOP)} stop words"
    note = what + (f", {candidates:,} candidates" if candidates else "")
    return [
        compared(names[0], "CPU ms", sentence, "CPU ms without stop words", content, None, note),
        compared(names[1], "CPU ms", sentence, "CPU ms one word", one),
    ]


def _asking(
    c: Collection, words: Callable[[int], str], ids: Sequence[int] | None
) -> Callable[[], Cost]:
    def ask() -> None:
        for k in range(_ASKED):
            if not c.search(words(k), _K, ids=ids, cut=False).predicted:
                raise BenchmarkError(f"Nothing was predicted for {words(k)!r}.")

    return lambda: clocked(ask)


def _sentence(k: int) -> str:
    return f"this is one of the cluster{k} and a ten{k // 10} in the half{k // 20}"


def _content(k: int) -> str:
    return f"cluster{k} ten{k // 10} half{k // 20}"


def _one(k: int) -> str:
    return f"cluster{k}"


def _store(folder: Path, n: int) -> tuple[Path, StoreFolder]:
    """Return a folder of n empty files and its store with captions and a model."""
    root, store_folder = folder / "pictures", StoreFolder(folder / "store")
    rng = np.random.default_rng(stores.SEED)
    centres = rng.standard_normal((_CLUSTERS, _LENGTH), dtype=np.float32)
    tagged = min(_TAGGED, n // 2)
    tagged_rows = centres[np.arange(tagged) % _CLUSTERS]
    tagged_rows = tagged_rows + rng.standard_normal(tagged_rows.shape, dtype=np.float32)
    with Writer(store_folder, "bench") as writer:
        for first in range(0, n, MERGED_ROWS):
            at = np.arange(first, min(first + MERGED_ROWS, n))
            rows = tagged_rows[at % tagged] + 0.1 * rng.standard_normal(
                (len(at), _LENGTH), np.float32
            )
            words = [_caption(i % _CLUSTERS, rng) if i < tagged else [] for i in at.tolist()]
            features = (FeatureRows("bench64-000000000000", rows),)
            stores.publish(writer, root, first, words, features)
        writer.note(Change(meta=[("root", str(root))]))
        writer.publish(Change(), finished=True)
    Collection.open(root, store=store_folder.path).train(rankers=["ridge"])
    return root, store_folder


def _caption(cluster: int, rng: np.random.Generator) -> list[str]:
    content = [f"cluster{cluster}", f"ten{cluster // 10}", f"half{cluster // 20}"]
    return [*content, *(w for w in _STOP if rng.random() < 0.5)]
