"""train-growth: what `train --rankers ridge` costs a picture as there are more, up to a million.

Rows of 512 numbers and 1,000 words. With data: Caltech-101 by `deep`, reduced to its principal
directions and repeated, each number of a copy times 1 + N(0, .1^2), as there are no million
pictures here; a picture has the word of its class, and one of the part of the class in which it
lies. Copies fall on both sides of the split, so AvgP says nothing of quality. Without data: rows
around the mean of the directions of a picture's three words. The cost is that of the gate, of
calibration and of publishing word scores too. Each training is a process of its own with all
threads, and the setting `memory` at 2 GB: beyond that rows stay on the disk. One of each size.

The difference is the largest between scores of the first pictures by a fit to blocks of them and by
one in memory, both with the same landmarks and the same alpha.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from benchmarks.bench import Bench
from benchmarks.real_sessions import real_rows
from benchmarks.rows import BenchmarkError, Goal, Row, alone, curve
from benchmarks.timing import command, python
from sightline.annotators.landmarks import LandmarkRidge
from sightline.annotators.ridge import KernelRidge
from sightline.records import Batch, FeatureRows
from sightline.store.folder import StoreFolder
from sightline.store.segments import MERGED_ROWS
from sightline.store.writer import Change, Writer
from sightline.vectors import l2_normalize
from sightline.words.term_ids import term_id

NAME = "train-growth"
ROWS = ("train-growth/cpu", "train-growth/peak", "train-growth/wall", "train-growth/difference")
_FEATURE = "bench512-000000000000"
_LENGTH, _WORDS, _WORDS_EACH = 512, 1_000, 3
_NOISE, _MADE_NOISE, _PLANES = 0.1, 0.6, 3
_CPU, _PEAK, _WALL = Goal("ratio", 1.1), Goal("value", 4.0), Goal("value", 10.0)
_DIFFERENCE, _COMPARED, _BLOCK = Goal("value", 1e-4), 7_000, 1_000
_TRAINING = """
import json, resource, sys, time
from pathlib import Path
from sightline.collection.models.training import TrainOptions, train
from sightline.progress import NoProgress
from sightline.store.folder import StoreFolder
options = TrainOptions(("ridge",), force=True, memory=2 * 10**9)
wall, cpu = time.perf_counter(), time.process_time()
report = train(StoreFolder(Path(sys.argv[1])), options, 0.0, NoProgress())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(json.dumps({
    "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "peak": peak,
    "avgp": report.proof.candidate, "baseline": report.proof.baseline, "recipe": report.recipe,
    "words": report.words,
}))
"""

Matrix = NDArray[np.float32]
Ints = NDArray[np.int64]


def measure(bench: Bench) -> list[Row]:
    """Train on each size once, in a process of its own."""
    source, what = _source(bench)
    taken = []
    for n in bench.sizes.trained:
        folder = bench.fresh("train-growth")
        _plant(folder, n, source)
        ran = json.loads(command(python("-c", _TRAINING, str(folder)), bench.folder).out)
        if not ran["avgp"] > 2 * ran["baseline"]:
            raise BenchmarkError(f"Training learnt nothing of {n} pictures: {ran}.")
        bench.say(f"{n:,} pictures: {ran}")
        taken.append(ran)
    sizes, last = bench.sizes.trained, taken[-1]
    each = [[1e6 * t["cpu"] / n] for n, t in zip(sizes, taken, strict=True)]
    more = 1e6 * (last["cpu"] - taken[-2]["cpu"]) / (sizes[-1] - sizes[-2])
    note = f"{what}; {last['words']} words; {more:.0f} CPU µs for each picture beyond {sizes[-2]:,}"
    cpu = curve(ROWS[0], "CPU µs/picture", sizes, "pictures", each, _CPU)
    at = f"at {sizes[-1]:,} pictures, by {last['recipe']}"
    return [
        cpu,
        alone(ROWS[1], "GB", [last["peak"]], _PEAK, f"{note}; {at}"),
        alone(ROWS[2], "minutes", [last["wall"] / 60], _WALL, at),
        _difference(source, min(_COMPARED, sizes[0])),
    ]


def _difference(source: _Source, n: int) -> Row:
    rows, words = next(source.blocks(n))
    X, Y = l2_normalize(rows), np.zeros((n, int(words.max()) + 1), np.float32)
    Y[np.arange(n)[:, None], words] = 1
    Y = Y[:, Y.any(axis=0)]
    whole = KernelRidge(landmarks=n * 4 // 7).fit(X, Y)
    ridge, labels = LandmarkRidge(whole.kernel_, whole.landmarks_, Y.shape[1]), csr_matrix(Y)
    for start in range(0, n, _BLOCK):
        part = slice(start, start + _BLOCK)
        ridge.partial_fit((X[part],), labels[part])
    again = KernelRidge.from_arrays(ridge.solve().arrays(whole.alpha_))
    off = np.abs(again.decision_function(X) - whole.decision_function(X)).max()
    note = f"of {n:,} pictures by {len(whole.landmarks_[0]):,} landmarks, alpha {whole.alpha_:.3g}"
    return alone(ROWS[3], "of a score", [float(off)], _DIFFERENCE, note)


class _Source:
    """Where rows and words come from, block by block, always the same."""

    def __init__(self, rows: Matrix | None, words: Ints | None) -> None:
        self._rows, self._words = rows, words

    def blocks(self, n: int) -> Iterator[tuple[Matrix, Ints]]:
        """Yield rows, and the numbers of the words of each picture."""
        random = np.random.default_rng(31)
        scale = np.exp(-np.arange(_LENGTH) / 120).astype(np.float32)
        centres = random.standard_normal((_WORDS, _LENGTH), dtype=np.float32) * scale
        share = 1.0 / np.arange(10, _WORDS + 10)
        for first in range(0, n, MERGED_ROWS):
            count = min(MERGED_ROWS, n - first)
            noise = random.standard_normal((count, _LENGTH), dtype=np.float32)
            if self._rows is None or self._words is None:
                words = random.choice(_WORDS, (count, _WORDS_EACH), p=share / share.sum())
                yield centres[words].mean(axis=1) + _MADE_NOISE * noise * scale, words
            else:
                at = np.arange(first, first + count)
                copies = (at >= len(self._rows))[:, None] * np.float32(_NOISE)
                at %= len(self._rows)
                yield self._rows[at] * (1 + copies * noise), self._words[at]


def _source(bench: Bench) -> tuple[_Source, str]:
    real = None if bench.data is None else real_rows(bench.data, "deep")
    if real is None:
        return _Source(None, None), "made rows of 512 numbers"
    rows, labels = real
    centred = rows - rows.mean(axis=0)
    _, vectors = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    reduced = np.asarray(centred @ vectors[:, ::-1][:, :_LENGTH], np.float32)
    planes = np.random.default_rng(7).standard_normal((_LENGTH, _PLANES))
    part = (reduced @ planes > 0) @ (1 << np.arange(_PLANES))
    n_classes = int(labels.max()) + 1
    words = np.stack([labels, n_classes + labels * (1 << _PLANES) + part], axis=1)
    return _Source(reduced, words), "rows of Caltech-101 (deep, reduced to 512), tiled, perturbed"


def _plant(folder: Path, n: int, source: _Source) -> None:
    """Write rows and words straight into the segments of a store."""
    terms: dict[int, int] = {}
    with Writer(StoreFolder(folder), "bench") as writer:
        first = 1
        for rows, words in source.blocks(n):
            for w in np.unique(words).tolist():
                terms.setdefault(w, term_id(f"word{w}"))
            ids = np.arange(first, first + len(rows), dtype=np.int64)
            first += len(rows)
            tagged = tuple(tuple(sorted({terms[w] for w in row})) for row in words.tolist())
            features = (FeatureRows(_FEATURE, np.asarray(rows, np.float32)),)
            batch = Batch(ids, tagged, (b"",) * len(ids), features)
            writer.publish(Change(batches=[batch]), finished=True)
