"""Starting words on a collection without tags whose folders are named after what they show.

    python -m benchmarks.starting_words PICTURES STORE [--parents bird=emu,ibis ...]

The name of each folder is a query ("_" is a space); pictures below it are relevant. AvgP is over
the ranking of the whole collection; the calibration error is over the first 20 hits of each query,
in ten bins of probability. Names are grouped by whether the noun is at or above a class of the
network, or only near some. Nothing here is fitted to the names.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sightline.collection import Collection
from sightline.collection.search.starting_words import StartingQuery
from sightline.store.folder import Reader

_SHOWN = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pictures")
    parser.add_argument("store")
    parser.add_argument("--parents", nargs="*", default=[], help="NOUN=FOLDER,FOLDER,…")
    parser.add_argument("--each", action="store_true", help="Print a line for each query.")
    options = parser.parse_args()
    c = Collection.open(options.pictures, store=options.store)
    with c.store_folder.reader() as reader:
        ids = reader.snapshot.ids()
        facts = reader.catalogue.facts(ids.tolist())
        folder = np.array([facts[i].path.split(b"/")[-2].decode() for i in ids.tolist()])
        names = {n.replace("_", " "): [n] for n in sorted(set(folder.tolist()))}
        parents = dict(p.split("=") for p in options.parents)
        groups = {"names": names, "parents": {n: f.split(",") for n, f in parents.items()}}
        for group, queries in groups.items():
            if queries:
                print(json.dumps({group: measured(reader, ids, folder, queries, options.each)}))


def measured(
    reader: Reader,
    ids: NDArray[np.int64],
    folder: NDArray[np.str_],
    queries: Mapping[str, list[str]],
    each: bool,
) -> dict[str, object]:
    """Return the mean AvgP of queries, whole and by group, and the calibration error."""
    values: dict[str, list[float]] = {"all": [], "at or above a class": [], "near or unknown": []}
    likely, fits, seconds = [], [], []
    for query, folders in queries.items():
        relevant = np.isin(folder, folders)
        begun = time.perf_counter()
        starting = StartingQuery(reader, query.lower().split())
        n, none = len(ids), np.zeros(0, np.int64)
        scores, top = np.zeros(n), starting.top(n, none, None, none, cut=False, most=n)
        seconds.append(time.perf_counter() - begun)
        scores[np.searchsorted(ids, top.ids)] = top.scores
        value = _average_precision(scores, relevant) if len(top.ids) else float(relevant.mean())
        known = max((w.closeness for w in starting.words.words), default=0.0) > 0.5
        values["all"].append(value)
        values["at or above a class" if known else "near or unknown"].append(value)
        likely.append(top.scores[:_SHOWN])
        fits.append(relevant[np.searchsorted(ids, top.ids[:_SHOWN])])
        if each:
            print(f"{value:.3f} {query}: {', '.join(map(str, starting.words.words))}")
    means = {name: round(float(np.mean(v)), 4) for name, v in values.items() if v}
    return {
        "AvgP": means, "queries": {n: len(v) for n, v in values.items()},
        "calibration error": round(_error(np.concatenate(likely), np.concatenate(fits)), 3),
        "median ms": round(1000 * float(np.median(seconds))), "processor": os.cpu_count(),
    }  # fmt: skip


def _average_precision(scores: NDArray[np.float64], relevant: NDArray[np.bool_]) -> float:
    ranks = np.flatnonzero(relevant[np.argsort(-scores, kind="stable")])
    return float(np.mean((np.arange(len(ranks)) + 1) / (ranks + 1)))


def _error(likely: NDArray[np.float32], fits: NDArray[np.bool_]) -> float:
    bins = np.minimum((likely * 10).astype(int), 9)
    parts = [bins == b for b in range(10)]
    return float(sum(abs(likely[p].mean() - fits[p].mean()) * p.mean() for p in parts if p.any()))


if __name__ == "__main__":
    main()
