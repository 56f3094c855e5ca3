"""correction: from an answer to the next search that shows it, over HTTP, in a server of its own.

A synthetic store: rows of 512 numbers around 40 centres, of which the first 4,000 pictures have
words that a model of ridge has learned. The best prediction of a word is refused, and the word is
searched again; the picture must be gone from the first place. The answer is on the disk (fsync)
before it is acknowledged. Times are of the 95th of 100 corrections, each of another picture, of
words in turn. Beside them are the same search without a new answer, and the answer alone.

The gain is that of 20 answers on each word: the pictures that kernel ridge on an eighth of the
pictures predicts best among another half. AvgP of words on the rest, after online updates, is
compared with that after the exact update of the ridge by the same answers, which needs the whole
kernel. With data: Caltech-101 by `deep`. Without: made rows around 40 centres.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import stores
from benchmarks.bench import Bench
from benchmarks.real_sessions import real_rows
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.service import serving
from sightline.annotators.ridge import KernelRidge
from sightline.collection import Collection
from sightline.collection.models.online import coefficients_of
from sightline.measures.ranking import average_precision
from sightline.records import FeatureRows
from sightline.similarity.compact import CompactSpace, kernel_of_codes
from sightline.similarity.unit_rows import unit_gram
from sightline.store.folder import StoreFolder
from sightline.store.segments import MERGED_ROWS
from sightline.store.writer import Change, Writer
from sightline.vectors import l2_normalize
from sightline.web.client import Client

NAME = "correction"
ROWS = ("correction/p95", "correction/search", "correction/answer", "correction/gain")
_CENTRES, _LENGTH, _TAGGED, _CORRECTIONS = 40, 512, 4_000, 100
_P95, _SHARE = Goal("value", 50.0), 95.0
_ANSWERS, _MADE = 20, 3_000


def measure(bench: Bench) -> list[Row]:
    """Refuse the best prediction of a word, and search for the word again, a hundred times."""
    n = bench.sizes.worded
    root, store_folder = bench.once(f"corrected-{n}", lambda folder: _store(folder, n))
    with serving(root, store_folder.path) as (client, _):
        sessions = [client.begin(query=_word(k)).session for k in range(_CENTRES)]
        for k in range(_CENTRES):
            client.search(_word(k))
        taken = np.array([_corrected(client, sessions, i) for i in range(_CORRECTIONS)])
    p95 = np.percentile(taken, _SHARE, axis=0)
    note = f"{n:,} pictures, {_CORRECTIONS} corrections of {_CENTRES} words, p50 "
    note += f"{np.median(taken[:, 0]):.1f} ms"
    return [
        alone(ROWS[0], "wall ms, p95", [float(p95[0])], _P95, note),
        compared(
            ROWS[1], "wall ms, p50, search after an answer", taken[:, 1].tolist(),
            "the same search again", taken[:, 2].tolist(),
        ),
        alone(ROWS[2], "wall ms, p95, answer with fsync", [float(np.percentile(taken[:, 3], 95))]),
        _gain(bench),
    ]  # fmt: skip


def _gain(bench: Bench) -> Row:
    real = None if bench.data is None else real_rows(bench.data, "deep")
    rows, labels = _made() if real is None else real
    rng = np.random.default_rng(5)
    order = rng.permutation(len(rows))
    X, y = l2_normalize(np.asarray(rows, np.float32)[order]), labels[order]
    n = len(X) // 8
    known, asked, rest = slice(0, n), slice(n, 5 * n), slice(5 * n, None)
    words = np.flatnonzero(np.bincount(y[known], minlength=int(y.max()) + 1) > 1)
    Y = (y[:, None] == words).astype(np.float32)
    ridge = KernelRidge().fit(X[known], Y[known])
    scores, space = ridge.decision_function(X), CompactSpace.of((X[known],))
    codes, K = space.codes((X,)), unit_gram(ridge.kernel_, (X,)).astype(np.float64)
    inverse = np.linalg.inv(K[known, known] + ridge.alpha_ * np.eye(n))
    after = {"before": [], "online": [], "exact": []}  # type: dict[str, list[float]]
    for w in range(len(words)):
        at = n + np.argsort(-scores[asked, w], kind="stable")[:_ANSWERS]
        wrong = Y[at, w] - np.clip(scores[at, w], 0.0, 1.0)
        moved = kernel_of_codes(codes[rest], codes[at], space.gamma) @ coefficients_of(
            codes[at], wrong.astype(np.float64), space.gamma
        )
        through = K[at, known] @ inverse
        left = K[np.ix_(at, at)] - through @ K[known, at] + ridge.alpha_ * np.eye(len(at))
        exact = np.linalg.solve(left, Y[at, w] - scores[at, w])
        moved_exactly = (K[rest, at] - K[rest, known] @ through.T) @ exact
        for name, by in (("before", 0.0), ("online", moved), ("exact", moved_exactly)):
            after[name].append(average_precision(scores[rest, w] + by, Y[rest, w] > 0))
    before, online, exactly = (float(np.nanmean(after[k])) for k in ("before", "online", "exact"))
    what = "made rows" if real is None else "Caltech-101 by deep"
    note = f"{what}, {len(words)} words, {_ANSWERS} answers each: AvgP {before:.4f}, online "
    note += f"{online:.4f}, exact update {exactly:.4f}"
    share = (online - before) / max(exactly - before, 1e-9)
    return alone(ROWS[3], "of the exact update's gain", [share], None, note)


def _made() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    rng = np.random.default_rng(6)
    labels = np.arange(_MADE) % _CENTRES
    centres = rng.standard_normal((_CENTRES, _LENGTH), dtype=np.float32)
    noise = rng.standard_normal((_MADE, _LENGTH), dtype=np.float32)
    return centres[labels] + 5 * noise, labels


def _corrected(client: Client, sessions: list[str], i: int) -> tuple[float, float, float, float]:
    """Return milliseconds of answer and search, of the search, of another, and of the answer."""
    word = _word(i % _CENTRES)
    first = client.search(word, untagged=True).hits[0].id
    begun = time.perf_counter()
    client.judge(sessions[i % _CENTRES], negative=[first])
    answered = time.perf_counter()
    hits = client.search(word, untagged=True).hits
    searched = time.perf_counter()
    if hits[0].id == first:
        raise BenchmarkError(f"Picture {first} was refused for {word}, and still comes first.")
    client.search(word, untagged=True)
    again = time.perf_counter()
    times = searched - begun, searched - answered, again - searched, answered - begun
    return tuple(1e3 * t for t in times)  # type: ignore[return-value]


def _word(k: int) -> str:
    return f"cluster{k}"


def _store(folder: Path, n: int) -> tuple[Path, StoreFolder]:
    root, store_folder = folder / "pictures", StoreFolder(folder / "store")
    rng = np.random.default_rng(stores.SEED)
    centres = rng.standard_normal((_CENTRES, _LENGTH), dtype=np.float32)
    tagged = min(_TAGGED, n // 2)
    with Writer(store_folder, "bench") as writer:
        for first in range(0, n, MERGED_ROWS):
            at = np.arange(first, min(first + MERGED_ROWS, n))
            noise = rng.standard_normal((len(at), _LENGTH), dtype=np.float32)
            words = [[_word(i % _CENTRES)] if i < tagged else [] for i in at.tolist()]
            rows = FeatureRows("bench512-000000000000", centres[at % _CENTRES] + 2 * noise)
            stores.publish(writer, root, first, words, (rows,))
        writer.note(Change(meta=[("root", str(root))]))
        writer.publish(Change(), finished=True)
    Collection.open(root, store=store_folder.path).train()
    return root, store_folder
