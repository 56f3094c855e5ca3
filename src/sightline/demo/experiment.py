"""The demo experiment: emoji whose words were withheld, found by what the others' words teach.

Of 1,883 pictures the words of 400 are withheld; models are fitted to the others and rank the 400
for every word that at least 8 of all pictures carry and at least one of the 400. The figure is the
mean over words, averaged over five random choices of the 400. Kernel ridge chooses its strength on
left-out scores of training pictures; PAMIR has the settings that `sightline train` finds on
validation pictures when the first 400 are withheld. No setting is chosen on withheld pictures, but
features, the kernel's bandwidth and PAMIR's frame were developed on this collection.
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
from sightline.collection.index.tags import WordFiles, terms_of
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
_AT_ONCE = 2
MEASURES = ("AvgP", "P10", "BEP")
_PROTOCOL = f"{WITHHELD} of 1,883 withheld, words on at least {LEAST_PICTURES}"

Values = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the table: its name, the features it sees, and how it fills a table of words."""

    name: str
    features: str
    ranker: str
    prints: tuple[str, ...]


def load_truth(c: Collection, tables: Sequence[Path]) -> Dataset:
    """Return all pictures with all their words, withheld ones too, and their features."""
    from scipy.sparse import csr_matrix

    files = WordFiles([str(t) for t in tables], c.root)
    with c.home.reader() as reader:
        ids = reader.snapshot.ids()
        views = {f: as_view(reader.snapshot.rows(f, ids)) for f in reader.snapshot.features()}
        facts = reader.catalogue.facts(ids.tolist())
    # Pictures are taken in the order of their names, which does not depend on how they were read.
    order = sorted(range(len(ids)), key=lambda i: facts[int(ids[i])].path)
    ids = ids[order]
    # Single words alone: a label of several words is asked for by its words.
    spelled = [terms_of(files.of(facts[int(i)].path)).spelled for i in ids]
    words = [[i for i, text in terms if " " not in text] for terms in spelled]
    terms = np.unique(np.concatenate([np.array(w, np.int64) for w in words]))
    start = np.concatenate([[0], np.cumsum([len(w) for w in words])])
    column = np.searchsorted(terms, np.concatenate([np.array(w, np.int64) for w in words]))
    ones = np.ones(len(column), np.float32)
    labels = csr_matrix((ones, column, start), shape=(len(ids), len(terms)))
    return Dataset(ids, terms, labels, {f: v[order] for f, v in views.items()})


def sets_of(truth: Dataset) -> dict[str, tuple[str, ...]]:
    """Return the features to measure with, by fingerprint: all there are, and the classic ones."""
    classic = tuple(f for f in truth.views if not f.startswith("deep"))
    deep = tuple(truth.views) if len(classic) < len(truth.views) else ()
    return {said: prints for said, prints in (("deep", deep), ("classic", classic)) if prints}


def measured_before(file: Path, truth: Dataset) -> Figures | None:
    """Return figures that were measured on the same pictures, words and features before."""
    try:
        found = Figures.read(file)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if found.settings.get("basis") == truth.basis() else None


def run_demo(
    truth: Dataset, sets: Mapping[str, Sequence[str]], progress: Progress,
    seeds: Sequence[int] = SEEDS,
) -> Figures:  # fmt: skip
    """Measure PAMIR, kernel ridge and a random order; `sets` names features by fingerprint."""
    methods = [
        Method(name, said, ranker, tuple(prints))
        for said, prints in sets.items()
        for name, ranker in (("PAMIR", "pamir"), ("kernel ridge", "ridge"))
    ]
    settings: dict[str, Json] = {
        "pictures": len(truth), "withheld": WITHHELD, "seeds": list(seeds),
        "basis": truth.basis(), "sightline": __version__,
        "features": {said: list[Json](prints) for said, prints in sets.items()},
        "note": "features named deep come from a network trained on ImageNet",
    }  # fmt: skip
    figures = Figures("demo", settings)
    progress.start("measure", len(methods) * len(seeds))
    splits = [_Split.of(truth, seed) for seed in seeds]
    values: dict[tuple[str, str], list[Values]] = {}
    # Fits of different pictures know nothing of each other, and leave the interpreter to others.
    with ThreadPoolExecutor(min(os.cpu_count() or 1, _AT_ONCE)) as pool:
        for m in methods:
            found = values[m.name, m.features] = []
            for ranked in pool.map(partial(_Split.ranked, m=m), splits):
                found.append(_values(ranked))
                progress.advance()
    progress.finish()
    for said in sets:
        values["random", said] = [s.untrained() for s in splits]
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
        carriers = np.split(columns.indices, columns.indptr[1:-1])
        asked = [
            ((int(t),), np.sort(carriers[t]))
            for t in np.flatnonzero(counts >= LEAST_PICTURES)
            if len(carriers[t])
        ]
        queries = query_set(asked, np.ones(len(counts)))
        return cls(truth.only(~hidden), truth.only(hidden), queries)

    def ranked(self, m: Method) -> ManyMeasured:
        """Fit a method and measure it."""
        scores = _fitted(m, self.training).scores(self.withheld.views)
        return measure_queries(scores, self.queries)

    def untrained(self) -> Values:
        """Return what a random order has on average."""
        n, relevant = len(self.withheld), np.diff(self.queries.fit_start)
        # Any place holds a relevant picture with the share of them as its probability.
        share = relevant / n
        return {"AvgP": untrained_average_precision(relevant, n), "P10": share, "BEP": share}


def _values(found: ManyMeasured) -> Values:
    return {"AvgP": found.avgp, "P10": found.p10, "BEP": found.bep}


def _fitted(m: Method, training: Dataset) -> Fitted:
    """Fit a method: kernel ridge chooses by left-out scores, PAMIR takes so many steps."""
    kind = ranker_spec(m.ranker)
    prints = kind.usable({f: training.views[f] for f in m.prints})
    recipe = Recipe(m.ranker, prints, tuple(sorted(kind.grid[0].items())))
    return fit(recipe.with_settings(n_iter=STEPS) if kind.iterative else recipe, training)


def _fill(
    figures: Figures, values: dict[tuple[str, str], list[Values]], queries: Sequence[int]
) -> None:
    for (name, said), found in values.items():
        for measure in MEASURES:
            means = [float(v[measure].mean()) for v in found]
            figures.rows.append(
                Figure(
                    name, measure, float(np.mean(means)), said, _PROTOCOL,
                    spread=float(np.std(means)), n=round(float(np.mean(queries))),
                )
            )  # fmt: skip
        if name != "random":
            harmed = [
                float((v["AvgP"] < u["AvgP"]).mean())
                for v, u in zip(found, values["random", said], strict=True)
            ]
            spread = float(np.std(harmed))
            figures.rows.append(
                Figure(name, "harmed", float(np.mean(harmed)), said, _PROTOCOL, spread=spread)
            )
    for said in dict.fromkeys(s for _, s in values):
        for a, b in (("PAMIR", "random"), ("kernel ridge", "random"), ("PAMIR", "kernel ridge")):
            # One choice of withheld pictures: those of the others overlap with it.
            test = wilcoxon(values[a, said][0]["AvgP"], values[b, said][0]["AvgP"])
            figures.tests.append(Compared(f"{a} ({said})", f"{b} ({said})", "AvgP", test.p))


def lines(figures: Figures) -> list[str]:
    """Return the figures as a table for people."""
    out = ["method        features   AvgP ± sd        P10     BEP   harmed   p against random"]
    for row in figures.find(measure="AvgP"):
        mine = {"method": row.method, "features": row.features}
        p10, bep = (figures.find(measure=m, **mine)[0].value for m in ("P10", "BEP"))
        harmed = figures.find(measure="harmed", **mine)
        name = f"{row.method} ({row.features})"
        tests = [t.p for t in figures.tests if t.a == name and t.b.startswith("random")]
        out.append(
            f"{row.method:<13} {row.features:<9} {row.value:.3f} ± {row.spread or 0:.3f}   "
            f"{p10:.3f}   {bep:.3f}   "
            + (f"{harmed[0].value:6.1%}   {p_text(tests[0])}" if harmed and tests else "     -   -")
        )
    return out
