"""train-ridge: what `Collection.train` costs beside a few lines of scikit-learn on the same rows.

A synthetic store: pictures with four features of the lengths that the default ones have, rows that
follow a dozen hidden numbers, and ten words each of a vocabulary by Zipf's law, the likelier the
nearer. The baseline concatenates the L2-normalised rows, fits `Ridge` with four strengths without a
validation fifth, takes the one with the best mean AvgP of words there, fits it to everything, and
scores all pictures. Its words would be combined by the sum of log p, with one logistic curve for
all words. CPU time is that of the whole command; memory is the peak of its process, of which each
round starts a new one.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import stores
from benchmarks.bench import Bench
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.timing import command, python
from sightline.records import FeatureRows
from sightline.store.folder import StoreFolder
from sightline.store.writer import Change, Writer

NAME = "train-ridge"
ROWS = ("train-ridge/cpu", "train-ridge/memory", "train-ridge/avgp")
# Lengths of deep, deep-stages, deep-peaks and classic.
LENGTHS = {"deep": 1280, "deep-stages": 2976, "deep-peaks": 1824, "classic": 2803}
_HIDDEN, _WORDS_EACH, _SHARPNESS = 12, 10, 2.0
_GOAL, _MEMORY = Goal("ratio", 1.5), Goal("value", 1.0)

# Both print the CPU seconds after imports, and the peak of the process in GB.
_SPENT = """
import json, resource, sys
def spent(**more):
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"peak": used.ru_maxrss / 1e6, **more}))
"""
_OURS = (
    _SPENT
    + """
from sightline.collection import Collection
root, store, out = sys.argv[1:]
report = Collection.open(root, store=store).train()
spent(avgp=report.proof.candidate, recipe=report.recipe)
"""
)
_BASELINE = (
    _SPENT
    + """
import numpy as np
from scipy.sparse import load_npz
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import normalize
folder, part = sys.argv[1:]
X = np.hstack([normalize(np.load(f"{folder}/{name}.npy"), copy=False) for name in FEATURES])
Y = load_npz(f"{folder}/labels.npz")
fold = np.arange(len(X)) % 5
held, validation, fitted = fold == 0, fold == 1, fold > 1
def ap(scores, truth):
    words = np.flatnonzero(truth.any(axis=0))
    hits = np.take_along_axis(truth[:, words], np.argsort(-scores[:, words], axis=0), axis=0) > 0
    precision = np.cumsum(hits, axis=0) / np.arange(1, len(hits) + 1)[:, None]
    return float(((precision * hits).sum(axis=0) / hits.sum(axis=0)).mean())
best = None
for alpha in (0.3, 1.0, 3.0, 10.0):
    ridge = Ridge(alpha).fit(X[fitted], Y[fitted].toarray().astype(np.float32))
    scores, truth = ridge.predict(X[validation]), Y[validation].toarray()
    now = ap(scores, truth)
    if best is None or now > best[0]:
        best = (now, alpha, scores)
rng = np.random.default_rng(0)
some = rng.integers(truth.size, size=200_000)
curve = LogisticRegression().fit(best[2].reshape(-1, 1)[some], truth.reshape(-1)[some])
proof = Ridge(best[1]).fit(X[~held], Y[~held].toarray().astype(np.float32))
avgp = ap(proof.predict(X[held]), Y[held].toarray())
ridge = Ridge(best[1]).fit(X, Y.toarray().astype(np.float32))
p = 1 / (1 + np.exp(-(curve.coef_[0, 0] * ridge.predict(X) + curve.intercept_[0])))
np.save(part, np.log(p))
spent(avgp=avgp, alpha=best[1])
"""
)


def measure(bench: Bench) -> list[Row]:
    """Train both, each in a process of its own, in turn."""
    n, words = bench.sizes.ridge
    root, folder, rows = bench.once(f"ridge-{n}", lambda f: made(f, n, words))
    ours: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    for _ in range(bench.sizes.repetitions):
        ours.append(_ours(bench, root, folder.path))
        theirs.append(_baseline(bench, rows))
    note = f"{n:,} pictures × {words:,} words by Zipf's law, {sum(LENGTHS.values()):,} numbers each"

    baseline = "scikit-learn ridge"
    cpu, peak, avgp = ([run[name] for run in ours] for name in ("cpu", "peak", "avgp"))
    cpu_theirs, peak_theirs = ([run[name] for run in theirs] for name in ("cpu", "peak"))
    return [
        compared(ROWS[0], "CPU s", cpu, baseline, cpu_theirs, _GOAL, note),
        compared(ROWS[1], "GB at the peak", peak, baseline, peak_theirs, _MEMORY),
        alone(ROWS[2], "mean AvgP of held-out queries", avgp),
    ]


def _ours(bench: Bench, root: Path, store: Path) -> dict[str, float]:
    copy = bench.fresh("ridge-store")
    shutil.copytree(store, copy)
    ran = command(python("-c", _OURS, str(root), str(copy), ""), bench.folder)
    shutil.rmtree(copy)
    return {**_told(ran.out), "cpu": ran.cost.cpu}


def _baseline(bench: Bench, rows: Path) -> dict[str, float]:
    out = bench.fresh("ridge-scores")
    code = _BASELINE.replace("FEATURES", repr(tuple(LENGTHS)))
    ran = command(python("-c", code, str(rows), f"{out}.npy"), bench.folder)
    Path(f"{out}.npy").unlink()
    return {**_told(ran.out), "cpu": ran.cost.cpu}


def _told(out: str) -> dict[str, float]:
    try:
        figures: dict[str, float] = json.loads(out.splitlines()[-1])
    except (IndexError, ValueError) as e:
        raise BenchmarkError(f"The process printed no figures: {out[-200:]!r}") from e
    return figures


def made(
    folder: Path, n: int, n_words: int, lengths: dict[str, int] = LENGTHS
) -> tuple[Path, StoreFolder, Path]:
    """Return a folder of n empty files, its store, and a folder of the same rows and words."""
    from scipy.sparse import csr_matrix, save_npz

    root, store_folder, rows = folder / "pictures", StoreFolder(folder / "store"), folder / "rows"
    rows.mkdir(parents=True)
    rng = np.random.default_rng(stores.SEED)
    hidden = rng.standard_normal((n, _HIDDEN), dtype=np.float32)
    words, spelled = _words(rng, hidden, n_words), stores.vocabulary(n_words)
    parts = []
    for name, length in lengths.items():
        aim = rng.standard_normal((_HIDDEN, length), dtype=np.float32)
        values = np.maximum(np.sin(hidden @ aim / 2) + _noise(rng, n, length), 0.0)
        np.save(rows / f"{name}.npy", values)
        parts.append(FeatureRows(f"{name}-000000000000", values))
    column = np.concatenate(words)
    start = np.concatenate([[0], np.cumsum([len(w) for w in words])])
    ones = np.ones(len(column), np.float32)
    save_npz(rows / "labels.npz", csr_matrix((ones, column, start), shape=(n, n_words)))
    chosen = [[spelled[j] for j in w.tolist()] for w in words]
    with Writer(store_folder, "bench") as writer:
        stores.publish(writer, root, 0, chosen, tuple(parts))
        writer.note(Change(meta=[("root", str(root))]))
        writer.publish(Change(), finished=True)
    return root, store_folder, rows


def _words(
    rng: np.random.Generator, hidden: NDArray[np.float32], n_words: int
) -> list[NDArray[np.int64]]:
    """Draw the words of each picture: by Zipf's law, and the likelier the nearer they lie."""
    aims = rng.standard_normal((hidden.shape[1], n_words), dtype=np.float32)
    common = -np.log(np.arange(1, n_words + 1))
    out = []
    for row in hidden:
        fits = _SHARPNESS * (row @ aims) / np.sqrt(len(row)) + common
        # The largest after Gumbel noise are a draw without replacement.
        out.append(np.sort(np.argsort(-(fits + rng.gumbel(size=n_words)))[:_WORDS_EACH]))
    return out


def _noise(rng: np.random.Generator, n: int, length: int) -> NDArray[np.float32]:
    return 0.5 * rng.standard_normal((n, length), dtype=np.float32)
