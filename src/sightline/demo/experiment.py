"""The demo experiment: emoji whose words were withheld, ranked by models trained on the others.

Of 1,883 pictures the words of 400 are withheld; models are fitted to the others and rank the 400
for every word that at least 8 of all pictures are tagged with, and at least one of the 400. The
figure is the mean over words, averaged over five random choices of the 400. Kernel ridge chooses
its alpha by leave-one-out scores of training pictures; PAMIR has the hyperparameters that
`sightline train` finds on validation pictures when the first 400 are withheld. None is chosen on
withheld pictures, but features, the kernel's bandwidth and PAMIR's scaling of features were
developed on this collection.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline import __version__
from sightline.collection import Collection
from sightline.collection.index.tables import WordFiles
from sightline.collection.index.tags import terms_of
from sightline.collection.models.dataset import Dataset, as_view
from sightline.collection.models.recipe import Fitted, Recipe, fit, ranker_spec
from sightline.contracts import Json, Progress
from sightline.demo.emoji import WITHHELD, withheld_rows
from sightline.measures.figures import Compared, Figure, Figures
from sightline.measures.many import ManyMeasured, measure_queries, untrained_average_precision
from sightline.measures.significance import p_text, wilcoxon
from sightline.records import QuerySet
from sightline.solvers.targets import query_set

SEEDS = (0, 1, 2, 3, 4)
LEAST_PICTURES = 8
STEPS = 300_000
_MAX_THREADS = 2
MEASURES = ("AvgP", "P10", "BEP")
_PROTOCOL = f"{WITHHELD} of 1,883 withheld, words on at least {LEAST_PICTURES}"

Values = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the table: its name, its feature set and fingerprints, and its ranker."""

    name: str
    features: str
    ranker: str
    fingerprints: tuple[str, ...]


def load_truth(c: Collection, tables: Sequence[Path]) -> Dataset:
    """Return all pictures with their features and all their words, withheld ones too."""
    from scipy.sparse import csr_matrix

    with c.store_folder.reader() as reader:
        ids = reader.snapshot.ids()
        views = {f: as_view(reader.snapshot.rows(f, ids)) for f in reader.snapshot.features()}
        facts = reader.catalogue.facts(ids.tolist())
    present = [facts[i].path for i in ids.tolist()]
    files = WordFiles([str(t) for t in tables], c.root, {}, present)
    # Pictures are ordered by name, which does not depend on the order in which they were indexed.
    order = sorted(range(len(ids)), key=lambda i: facts[int(ids[i])].path)
    ids = ids[order]
    # Only single words: a label of several words is searched by its words.
    spelled = [terms_of(files.of(facts[int(i)].path)).spelled for i in ids]
    words = [[i for i, text in terms if " " not in text] for terms in spelled]
    terms = np.unique(np.concatenate([np.array(w, np.int64) for w in words]))
    start = np.concatenate([[0], np.cumsum([len(w) for w in words])])
    column = np.searchsorted(terms, np.concatenate([np.array(w, np.int64) for w in words]))
    ones = np.ones(len(column), np.float32)
    labels = csr_matrix((ones, column, start), shape=(len(ids), len(terms)))
    return Dataset(ids, terms, labels, {f: v[order] for f, v in views.items()})


def sets_of(truth: Dataset) -> dict[str, tuple[str, ...]]:
    """Return the feature sets to measure, as fingerprints: all features, and the classic ones."""
    classic = tuple(f for f in truth.views if not f.startswith("deep"))
    deep = tuple(truth.views) if len(classic) < len(truth.views) else ()
    return {name: features for name, features in (("deep", deep), ("classic", classic)) if features}


def measured_before(file: Path, truth: Dataset) -> Figures | None:
    """Return saved figures if they were measured on the same pictures, words and features."""
    try:
        figures = Figures.read(file)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return figures if figures.settings.get("basis") == truth.basis() else None


def run_demo(
    truth: Dataset, sets: Mapping[str, Sequence[str]], progress: Progress,
    seeds: Sequence[int] = SEEDS,
) -> Figures:  # fmt: skip
    """Measure PAMIR, kernel ridge and a random order; `sets` names features by fingerprint."""
    methods = [
        Method(name, feature_set, ranker, tuple(fingerprints))
        for feature_set, fingerprints in sets.items()
        for name, ranker in (("PAMIR", "pamir"), ("kernel ridge", "ridge"))
    ]
    settings: dict[str, Json] = {
        "pictures": len(truth), "withheld": WITHHELD, "seeds": list(seeds),
        "basis": truth.basis(), "sightline": __version__,
        "features": {name: list[Json](fingerprints) for name, fingerprints in sets.items()},
        "note": "features named deep come from a network trained on ImageNet",
    }  # fmt: skip
    figures = Figures("demo", settings)
    progress.start("measure", len(methods) * len(seeds))
    splits = [_Split.of(truth, seed) for seed in seeds]
    values: dict[tuple[str, str], list[Values]] = {}
    # Fits of different splits are independent, and release the interpreter lock.
    with ThreadPoolExecutor(min(os.cpu_count() or 1, _MAX_THREADS)) as pool:
        for m in methods:
            split_values = values[m.name, m.features] = []
            for ranked in pool.map(partial(_Split.ranked, m=m), splits):
                split_values.append(_values(ranked))
                progress.advance()
    progress.finish()
    for feature_set in sets:
        values["random", feature_set] = [s.untrained() for s in splits]
    _fill(figures, values, [len(s.queries) for s in splits])
    return figures


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """One choice of withheld pictures, and the words they are ranked for."""

    training: Dataset
    withheld: Dataset
    queries: QuerySet

    @classmethod
    def of(cls, truth: Dataset, seed: int) -> _Split:
        hidden = np.zeros(len(truth), bool)
        hidden[sorted(withheld_rows(len(truth), WITHHELD, seed))] = True
        counts = np.asarray(truth.labels.sum(axis=0)).reshape(-1)
        columns = truth.labels[hidden].tocsc()
        tagged_rows = np.split(columns.indices, columns.indptr[1:-1])
        words_and_rows = [
            ((int(t),), np.sort(tagged_rows[t]))
            for t in np.flatnonzero(counts >= LEAST_PICTURES)
            if len(tagged_rows[t])
        ]
        queries = query_set(words_and_rows, np.ones(len(counts)))
        return cls(truth.only(~hidden), truth.only(hidden), queries)

    def ranked(self, m: Method) -> ManyMeasured:
        """Fit a method, rank the withheld pictures and measure the rankings."""
        scores = _fitted(m, self.training).scores(self.withheld.views)
        return measure_queries(scores, self.queries)

    def untrained(self) -> Values:
        """Return the expected values of a random order."""
        n, relevant = len(self.withheld), np.diff(self.queries.relevant_start)
        # At each rank the probability of a relevant picture is the share of relevant pictures.
        share = relevant / n
        return {"AvgP": untrained_average_precision(relevant, n), "P10": share, "BEP": share}


def _values(measured: ManyMeasured) -> Values:
    return {"AvgP": measured.avgp, "P10": measured.p10, "BEP": measured.bep}


def _fitted(m: Method, training: Dataset) -> Fitted:
    """Fit a method: kernel ridge selects by leave-one-out scores, PAMIR takes `STEPS` steps."""
    kind = ranker_spec(m.ranker)
    features = kind.usable({f: training.views[f] for f in m.fingerprints})
    recipe = Recipe(m.ranker, features, tuple(sorted(kind.grid[0].items())))
    return fit(recipe.with_settings(n_iter=STEPS) if kind.iterative else recipe, training)


def _fill(
    figures: Figures, values: dict[tuple[str, str], list[Values]], queries: Sequence[int]
) -> None:
    for (name, feature_set), split_values in values.items():
        for measure in MEASURES:
            means = [float(v[measure].mean()) for v in split_values]
            figures.rows.append(
                Figure(
                    name, measure, float(np.mean(means)), feature_set, _PROTOCOL,
                    spread=float(np.std(means)), n=round(float(np.mean(queries))),
                )
            )  # fmt: skip
        if name != "random":
            harmed = [
                float((v["AvgP"] < u["AvgP"]).mean())
                for v, u in zip(split_values, values["random", feature_set], strict=True)
            ]
            spread = float(np.std(harmed))
            figures.rows.append(
                Figure(
                    name, "harmed", float(np.mean(harmed)), feature_set, _PROTOCOL, spread=spread
                )
            )
    for feature_set in dict.fromkeys(s for _, s in values):
        for a, b in (("PAMIR", "random"), ("kernel ridge", "random"), ("PAMIR", "kernel ridge")):
            # Only the first split: the withheld pictures of the others overlap with its own.
            test = wilcoxon(values[a, feature_set][0]["AvgP"], values[b, feature_set][0]["AvgP"])
            figures.tests.append(
                Compared(f"{a} ({feature_set})", f"{b} ({feature_set})", "AvgP", test.p)
            )


def lines(figures: Figures) -> list[str]:
    """Return the figures as lines of a table."""
    out = ["method        features   AvgP ± sd        P10     BEP   harmed   p against random"]
    for row in figures.find(measure="AvgP"):
        same_row = {"method": row.method, "features": row.features}
        p10, bep = (figures.find(measure=m, **same_row)[0].value for m in ("P10", "BEP"))
        harmed = figures.find(measure="harmed", **same_row)
        name = f"{row.method} ({row.features})"
        tests = [t.p for t in figures.tests if t.a == name and t.b.startswith("random")]
        out.append(
            f"{row.method:<13} {row.features:<9} {row.value:.3f} ± {row.spread or 0:.3f}   "
            f"{p10:.3f}   {bep:.3f}   "
            + (f"{harmed[0].value:6.1%}   {p_text(tests[0])}" if harmed and tests else "     -   -")
        )
    return out
