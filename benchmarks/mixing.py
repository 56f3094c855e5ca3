"""mixing: how well learners in shards rank beside one learner over everything (`solvers.mixing`).

PAMIR learns Corel5K's captions, and OPAR-II which of its pictures come from the same disc, by the
same number of examples in 1, 2, 4 and 8 shards. Validation pictures judge, several splits of the
development pictures; test pictures are not looked at. Without data, pictures of about its kind are
made up. `python -m benchmarks.mixing DATA PNG JSON` also measures the paper's mean, and draws.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import machine
from benchmarks.bench import Bench
from benchmarks.corel_like import corel_like
from benchmarks.rows import Goal, Row
from sightline.combiners.opar import OPARII
from sightline.contracts import Json
from sightline.progress import NoProgress
from sightline.rankers.pamir import PAMIR
from sightline.records import QuerySet

NAME = "mixing"
SHARDS = (2, 4, 8)
ROWS = tuple(f"mixing/{kind}-{n}" for kind in ("pamir", "online") for n in SHARDS)
_GOAL = Goal("value", 0.005)
_VISTERMS, _DEEP = "b64_k2000", "deep"
_ALIKE = ("color", "gist")
_ONLINE = "OPAR-II"
_SEEDS = (0, 1, 2, 3, 4)
_TRIPLETS, _EVERY = 4_000_000, 200_000
_DIFFERENCES = 200_000

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Captions:
    """Pictures and queries to learn from, and validation pictures and queries."""

    X: Any
    queries: Any
    n_words: int
    held: Any
    held_queries: Any


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityModel:
    """Differences of phi to learn from, and phi of validation queries with their relevance."""

    rows: Floats
    phi: Floats
    queries: QuerySet


def measure(bench: Bench) -> list[Row]:
    """Learn in shards and in one; the figures are what is lost of validation AvgP."""
    if bench.data is None:
        made = corel_like()
        captions = [Captions(made.X, made.y, made.y.shape[1], made.X_held, made.y_held)]
        alike, what = [_made_alike()], "made-up pictures, no data given"
    else:
        splits = list(corel(bench.data, bench.folder, (_VISTERMS, *_ALIKE), _SEEDS[:2]))
        captions = [c[_VISTERMS] for c, _ in splits]
        alike, what = [a for _, a in splits], f"{len(splits)} splits of Corel5K"
    found = {n: [ranked(c, n) for c in captions] for n in (1, *SHARDS)}
    online = {n: [combined(a, n) for a in alike] for n in (1, *SHARDS)}
    rows = [_lost(f"mixing/pamir-{n}", found[1], found[n], what) for n in SHARDS]
    return rows + [_lost(f"mixing/online-{n}", online[1], online[n], what) for n in SHARDS]


def _lost(name: str, one: Sequence[float], shards: Sequence[float], what: str) -> Row:
    lost = [a - b for a, b in zip(one, shards, strict=True)]
    note = f"mean AvgP {np.mean(shards):.4f} of {np.mean(one):.4f} on validation pictures, {what}"
    samples = {"ours": shards, "baseline": one}
    return Row(name, float(np.mean(lost)), "AvgP lost", "AvgP of one learner", float(np.mean(one)),
               goal=_GOAL, repetitions=len(lost), samples=samples, note=note)  # fmt: skip


def ranked(c: Captions, shards: int, mix: Any = "add") -> float:
    """Return the best validation AvgP of PAMIR in so many shards."""
    settings: dict[str, Any] = {"C": 0.1, "n_iter": _TRIPLETS, "eval_every": _EVERY, "patience": 20}
    ranker = PAMIR(**settings, shards=shards, mix=mix)
    if isinstance(c.queries, QuerySet):
        ranker.fit(c.X, queries=c.queries, n_words=c.n_words, validation=(c.held, c.held_queries))
    else:
        ranker.fit(c.X, c.queries, validation=(c.held, c.held_queries))
    return float(ranker.best_score_)


def combined(a: SimilarityModel, shards: int, mix: Any = "mean") -> float:
    """Return the validation AvgP of OPAR-II in so many shards."""
    from sightline.measures.many import average_precisions

    w = OPARII(C=1e-3, averaged=True, shards=shards, mix=mix).fit(a.rows).w_
    scores = a.phi @ w.astype(np.float32)
    return average_precisions(scores, a.queries).mean_avgp


def corel(
    data: Path, cache: Path, views: Sequence[str], seeds: Sequence[int]
) -> Iterator[tuple[dict[str, Captions], SimilarityModel]]:
    """Yield splits of Corel5K's development pictures, seen by each view."""
    from sightline.compute.local import LocalCompute
    from sightline_experiments.cache import ArrayCache
    from sightline_experiments.datasets.corel5k import load_corel5k
    from sightline_experiments.pamir.methods import method_inputs
    from sightline_experiments.pamir.pool import Describer
    from sightline_experiments.pamir.protocol import make_splits

    c = load_corel5k(data)
    assert c is not None, f"{data} has no corel5k.zip"
    with LocalCompute() as compute:
        pool = Describer(c, compute, ArrayCache(cache), NoProgress()).describe(views)
    discs = np.array([r.picture // 1000 for r in c.development])
    for split in make_splits(c, pool.development, seeds):
        captions = {}
        for view in views:
            if view not in _ALIKE:
                X, held = method_inputs(split, {"view": view}).joined()
                words = split.train.labels.shape[1]
                arguments = (X, split.train_queries, words, held, split.validation_queries)
                captions[view] = Captions(*arguments)
        rows = [np.asarray(pool.development[v]) for v in _ALIKE]
        yield captions, _alike(rows, discs, split.train.rows, split.validation.rows)


def _alike(views: Sequence[Floats], discs: Any, train: Any, held: Any) -> SimilarityModel:
    from sightline.similarity.pairs import Phi
    from sightline.solvers.picture_triplets import of_classes

    train_views = tuple(v[train] for v in views)
    phi = Phi.of(train_views)
    triplets = of_classes(discs[train], _DIFFERENCES)
    rows = phi.over(train_views).differences(
        triplets.query, triplets.first, triplets.second, triplets.y
    )
    held_views = tuple(v[held] for v in views)
    return SimilarityModel(rows, phi(held_views, held_views), _same_disc(discs[held]))


def _same_disc(discs: Any) -> QuerySet:
    """Return each picture as a query, with the others of its disc."""
    fits = [np.flatnonzero(discs == d) for d in discs]
    start = np.concatenate([[0], np.cumsum([len(f) for f in fits])])
    one = np.arange(len(discs) + 1)
    weight = np.ones(len(discs), np.float32)
    return QuerySet(one, np.zeros(len(discs), np.int64), weight, start, np.concatenate(fits))


def _made_alike() -> SimilarityModel:
    rng = np.random.default_rng(0)
    discs = np.arange(1200) % 24
    middles = [rng.standard_normal((24, 16)) for _ in range(2)]
    views = [
        np.abs(m[discs] + rng.standard_normal((1200, 16)) * 3).astype(np.float32) for m in middles
    ]
    return _alike(views, discs, np.arange(1000), np.arange(1000, 1200))


def main(data: Path, picture: Path, results: Path) -> None:
    """Measure every way to mix on every split, keep it and draw it."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        splits = list(corel(data, Path(folder), (_VISTERMS, _DEEP, *_ALIKE), _SEEDS))
        facts = machine.facts(Path(folder))
    for what in (_VISTERMS, _DEEP, _ONLINE):
        for mix in ("add", "mean"):
            for n in (1, *SHARDS):
                values = [
                    combined(a, n, mix) if what == _ONLINE else ranked(c[what], n, mix)
                    for c, a in splits
                ]
                rows.append({"what": what, "mix": mix, "shards": n, "AvgP": values})
                print(what, mix, n, f"{np.mean(values):.4f}", flush=True)
    settings: dict[str, Json] = {"triplets": _TRIPLETS, "splits": len(splits)}
    settings["commit"] = facts["commit"]
    figures = {"experiment": "mixing", "settings": settings, "rows": rows}
    results.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    draw(rows, picture)


def draw(rows: Sequence[dict[str, Any]], picture: Path) -> None:
    """Draw what shards gain or lose; added changes of combiners, which rank nothing, left out."""
    from sightline.measures.plots import draw_lines

    names = {_VISTERMS: "PAMIR, visterms", _DEEP: "PAMIR, network", _ONLINE: "OPAR-II"}
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for what in names:
        for mix, label in (("add", "added"), ("mean", "mean")):
            of_mix = [r for r in rows if (r["what"], r["mix"]) == (what, mix)]
            means = [float(np.mean(r["AvgP"])) for r in of_mix]
            if (what, mix) != (_ONLINE, "add"):
                across = [float(r["shards"]) for r in of_mix]
                lines[f"{names[what]}, {label}"] = across, [m - means[0] for m in means]
    title = "Mean AvgP on validation pictures of Corel5K, less that of one learner; five splits"
    draw_lines(picture, lines, title, ("shards", "AvgP gained or lost"))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
