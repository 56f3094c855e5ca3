"""One collection against the same pictures in several collections, searched as one.

    python -m benchmarks.federation PICTURES TRAINING.csv TEST.csv --work FOLDER [--json FILE]

The pictures are indexed once, with the words of TRAINING.csv and the feature deep. They are dealt
into 2, 4 and 8 collections, each a copy of the store that keeps its share of pictures and trains a
word model of its own. The queries are the words of TEST.csv that the whole has learned; pictures of
TEST.csv are ranked.

    AvgP          mean over queries; a picture that is not ranked counts as behind all others
    frequent      the same over words on at least 80 pictures of TRAINING.csv
    top 20 kept   share of the first twenty of the one collection that are among the merged twenty
    error         calibration error of the first twenty hits that are shown, in ten bins
    ms            a search for twenty hits, one after the other in turns: median, and processor time

Rows: `one`, the whole; `k`, collections with models of their own, merged by probability; `k turns`,
the same lists merged in turns by rank; `k one model`, collections that all have the whole's model,
which is what the merge alone changes.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.errors import SightlineError
from sightline.federation import Collections, FederatedHit
from sightline.federation.merge import merge
from sightline.records import Hit
from sightline.words.grammar import Term

SHARDS = (2, 4, 8)
_LISTS = (8, 100, 1_000)
_SHOWN, _BINS, _ROUNDS, _TIMED, _FREQUENT = 20, 10, 5, 40, 80
_TEST = Filters(untagged=True)

# What a search returns: path, probability, of each hit.
Ranking = list[tuple[str, float]]
Search = Callable[[str, int, bool], Ranking]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("training", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="A folder for copies; kept.")
    parser.add_argument("--rankers", default="ridge", help="Rankers to select from.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    merging = merged_lists()
    options.work.mkdir(parents=True, exist_ok=True)
    rankers = tuple(filter(None, options.rankers.split(",")))
    files = sorted(
        p.relative_to(options.pictures).as_posix() for p in options.pictures.rglob("*.*")
    )
    store = base(options.pictures, options.training, options.work / "base")
    whole = shard(options.pictures, store, options.work / "one", files, rankers)
    # A copy whose folder is not there, so that other folders may take it over.
    trained = moved_copy(whole, options.work / "trained")
    searches: dict[str, Search] = {"one": of_one(whole)}
    for k in SHARDS:
        parts = dealt(files, k)
        places = [options.work / f"{k}-{i}" for i in range(k)]
        pairs = list(zip(places, parts, strict=True))
        own = [shard(options.pictures, store, p, part, rankers) for p, part in pairs]
        copies = [
            shard(options.pictures, trained, p.with_name(f"{p.name}-same"), part)
            for p, part in pairs
        ]
        searches[f"{k}"] = of_many(own)
        searches[f"{k} turns"] = in_turns([of_one(c) for c in own])
        searches[f"{k} one model"] = of_many(copies)
    relevant = words_of(options.test)
    queries = [w for w in sorted(relevant) if whole.search(str(Term(w)), 1).predicted]
    counts = {word: len(files) for word, files in words_of(options.training).items()}
    frequent = [w for w in queries if counts.get(w, 0) >= _FREQUENT]
    rows = measured(searches, queries, relevant, frequent)
    for name, row in rows.items():
        print(f"{name:12} " + "  ".join(f"{n} {v}" for n, v in row.items()))
    print(
        "merge of lists of 21 hits, cpu ms: " + "  ".join(f"{k}: {v}" for k, v in merging.items())
    )
    if options.json:
        sizes = {"queries": len(queries), "frequent": len(frequent)}
        outcome = {**sizes, "rows": rows, "merge": merging}
        options.json.write_text(json.dumps(outcome, indent=1) + "\n")


def merged_lists() -> dict[int, float]:
    """Return the processor milliseconds that the merge of k made lists of hits takes."""
    rng = np.random.default_rng(0)
    out = {}
    for k in _LISTS:
        lists = []
        for member in range(k):
            likely = sorted(rng.random(_SHOWN + 1).tolist(), reverse=True)
            hits = [
                Hit(i, b"a.jpg", p, "predicted", probability=p) for i, p in enumerate(likely, 1)
            ]
            lists.append([FederatedHit(str(member), h) for h in hits])
        begun = time.process_time()
        for _ in range(_ROUNDS):
            merge(lists)
        out[k] = round(1000 * (time.process_time() - begun) / _ROUNDS, 2)
    return out


def base(pictures: Path, training: Path, place: Path) -> Path:
    """Return a store of all pictures, of a folder that has moved: its copies may get others."""
    folder, store = place / "pictures", place / "store"
    if not (place / "moved").exists():
        for p in pictures.rglob("*.*"):
            _linked(p, folder / p.relative_to(pictures))
        Collection.open(folder, store=store, workers=1).index(words=[training], features=["deep"])
        folder.rename(place / "moved")
    return store


def moved_copy(c: Collection, place: Path) -> Path:
    """Return a copy of a store whose folder is no longer where it was."""
    store = place / "store"
    if not (place / "moved").exists():
        shutil.copytree(c.store_folder.path, store)
        folder, away = Path(os.fsdecode(c.root)), place / "away"
        folder.rename(away)
        Collection.open(_renamed(away, place / "pictures"), store=store, workers=1).index()
        (place / "pictures").rename(folder)
        (place / "moved").touch()
    return store


def _renamed(source: Path, target: Path) -> Path:
    source.rename(target)
    return target


def dealt(files: Sequence[str], k: int) -> list[list[str]]:
    """Return k parts of the files, drawn at random, the same in every run."""
    at = np.random.default_rng(k).permutation(len(files)) % k
    return [[f for f, part in zip(files, at, strict=True) if part == i] for i in range(k)]


def shard(
    pictures: Path,
    store: Path,
    place: Path,
    files: Sequence[str],
    rankers: Sequence[str] | None = None,
) -> Collection:
    """Return a collection of some of the pictures, trained unless it keeps the store's model."""
    folder, copy = place / "pictures", place / "store"
    if not copy.exists():
        begun = time.process_time()
        for name in files:
            _linked(pictures / name, folder / name)
        shutil.copytree(store, copy)
        c = Collection.open(folder, store=copy, workers=1)
        c.index()
        if rankers is not None:
            _train(c, rankers)
        seconds = time.process_time() - begun
        print(f"{place.name}: {len(c)} pictures, {seconds:.0f} CPU s", file=sys.stderr, flush=True)
    return Collection.open(folder, store=copy, workers=1)


def _train(c: Collection, rankers: Sequence[str]) -> None:
    """Train a model; a collection for which none passes the gate has its tags alone."""
    try:
        c.train(rankers=rankers)
    except SightlineError as e:
        print(f"no model: {e}", file=sys.stderr)


def _linked(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def of_one(c: Collection) -> Search:
    """Return the search of one collection."""

    def search(word: str, k: int, cut: bool) -> Ranking:
        hits = c.search(word, k, cut=cut, filters=_TEST).hits
        return [(h.name, h.probability or 0.0) for h in hits]

    return search


def of_many(parts: Sequence[Collection]) -> Search:
    """Return the search of several collections."""
    both = Collections(parts)

    def search(word: str, k: int, cut: bool) -> Ranking:
        hits: Iterable[FederatedHit] = both.search(word, k, cut=cut, filters=_TEST)
        return [(h.hit.name, h.hit.probability or 0.0) for h in hits]

    return search


def in_turns(searches: Sequence[Search]) -> Search:
    """Return lists merged in turns by rank, without regard to probabilities."""

    def search(word: str, k: int, cut: bool) -> Ranking:
        lists = [s(word, k, cut) for s in searches]
        depth = max(map(len, lists), default=0)
        return [some[i] for i in range(depth) for some in lists if i < len(some)][:k]

    return search


def words_of(test: Path) -> dict[str, set[str]]:
    """Return the pictures of each word of a table."""
    relevant: dict[str, set[str]] = {}
    with test.open(newline="") as file:
        for row in csv.DictReader(file):
            for word in row["words"].split(";"):
                relevant.setdefault(word, set()).add(row["file"])
    return relevant


def measured(
    searches: dict[str, Search], queries: Sequence[str], relevant: dict[str, set[str]],
    frequent: Sequence[str],
) -> dict[str, dict[str, float]]:  # fmt: skip
    """Return the figures of each way to search."""
    terms = [str(Term(q)) for q in queries]
    deep = {n: [s(t, 1_000, False) for t in terms] for n, s in searches.items()}
    cut = {n: [s(t, _SHOWN, True) for t in terms] for n, s in searches.items()}
    wall, cpu = timed(searches, terms[:: max(1, len(terms) // _TIMED)])
    rows = {}
    for name in searches:
        values = [avgp(r, relevant[q]) for r, q in zip(deep[name], queries, strict=True)]
        by_query = dict(zip(queries, values, strict=True))
        kept = [
            len({p for p, _ in r[:_SHOWN]} & {p for p, _ in best[:_SHOWN]}) / min(_SHOWN, len(best))
            for r, best in zip(deep[name], deep["one"], strict=True)
            if best
        ]
        rows[name] = {
            "AvgP": round(float(np.mean(values)), 4),
            "frequent": round(float(np.mean([by_query[q] for q in frequent])), 4),
            "top 20 kept": round(float(np.mean(kept)), 3),
            "error": round(error(cut[name], queries, relevant), 4),
            "shown": sum(map(len, cut[name])),
            "ms": round(wall[name], 1), "cpu ms": round(cpu[name], 1),
        }  # fmt: skip
    return rows


def avgp(ranking: Ranking, relevant: set[str]) -> float:
    """Return the average precision; pictures that are not ranked count as never reached."""
    hits, total = 0, 0.0
    for rank, (path, _) in enumerate(ranking, 1):
        if path in relevant:
            hits += 1
            total += hits / rank
    return total / len(relevant)


def error(
    rankings: Sequence[Ranking], queries: Sequence[str], relevant: dict[str, set[str]]
) -> float:
    """Return the calibration error of hits that are shown."""
    pairs = [
        (p, path in relevant[q]) for r, q in zip(rankings, queries, strict=True) for path, p in r
    ]
    likely, right = np.array([p for p, _ in pairs]), np.array([r for _, r in pairs], float)
    at = np.minimum((likely * _BINS).astype(int), _BINS - 1)
    difference = np.bincount(at, likely - right, minlength=_BINS)
    return float(np.abs(difference).sum() / max(1, len(pairs)))


def timed(
    searches: dict[str, Search], terms: Sequence[str]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return median milliseconds of a search for twenty hits, wall and processor, in turns."""
    wall: dict[str, list[float]] = {n: [] for n in searches}
    cpu: dict[str, list[float]] = {n: [] for n in searches}
    for _ in range(_ROUNDS):
        for term in terms:
            for name, search in searches.items():
                begun = time.perf_counter(), time.process_time()
                search(term, _SHOWN, True)
                wall[name].append(time.perf_counter() - begun[0])
                cpu[name].append(time.process_time() - begun[1])
    medians = [{n: 1000 * float(np.median(v)) for n, v in by.items()} for by in (wall, cpu)]
    return medians[0], medians[1]


if __name__ == "__main__":
    main()
