"""Evaluating the word model in use, and the text model, on held-out pictures.

Measured is its proof: the same recipe, fitted without the held-out pictures. The gain is over the
untrained order, in which these pictures cannot be told apart. The learning curve fits the recipe to
growing shares of the training pictures, and so shows whether more tags would help.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.collection.models.dataset import (
    MOST_TEXT_WORDS,
    MOST_WORDS,
    Dataset,
    aligned,
    split,
)
from sightline.collection.models.held_out import HeldOutQueries, measure, measure_rows
from sightline.collection.models.lifecycle import FEWEST
from sightline.collection.models.online_replay import OnlineGain, replay
from sightline.collection.models.queries import combined, one_word, picture_counts
from sightline.collection.models.recipe import Fitted, fit
from sightline.collection.models.remote import (
    fewer_shards,
    fit_remote,
    is_sharded,
)
from sightline.collection.models.saved_words import load_known
from sightline.collection.models.streaming import fit_all
from sightline.collection.models.text_model import load_text_model
from sightline.collection.models.text_queries import TextEvaluation, evaluate_texts
from sightline.collection.models.word_model import WordModel, load_word_model
from sightline.contracts import Json, Mapper, Progress
from sightline.errors import CollectionError
from sightline.measures.judged import Judged, RankedList
from sightline.measures.many import ManyMeasured, query_scores
from sightline.measures.precision_recall import (
    PrecisionRecall,
    eleven_points,
    mean_eleven_points,
)
from sightline.measures.reliability import Reliability, reliability
from sightline.measures.significance import wilcoxon
from sightline.records import QuerySet
from sightline.store.events import EventLog
from sightline.store.folder import StoreFolder

SHARES = (0.1, 0.2, 0.4, 0.7, 1.0)
_ENOUGH = 5
_SHOWN = 8
_DEPTH = 1_000  # of the lists for other tools
_HARMED = 20
# The hits of a query whose probabilities are checked: those that people look at.
FIRST_HITS = 20
# Number of queries in the mean curve, and of random lists that give a smooth one.
_CURVES = 1_000

Words = tuple[tuple[str, float, int], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """What the model and the untrained order reach on some queries."""

    name: str
    n: int
    avgp: float
    untrained: float
    p10: float
    bep: float
    p: float
    helped: int
    harmed: int
    significantly_harmed: int

    @property
    def gain(self) -> float:
        """How much the mean AvgP rises."""
        return self.avgp - self.untrained

    @property
    def harmed_rate(self) -> float:
        """The share of queries below the mean of random orders, of rare words mostly by chance."""
        return self.harmed / self.n if self.n else float("nan")

    @property
    def significantly_harmed_rate(self) -> float:
        """The share of queries that the model ranks worse than 95 of 100 random orders."""
        return self.significantly_harmed / self.n if self.n else float("nan")


@dataclass(frozen=True, slots=True)
class Harmed:
    """A query ranked worse than in 95 of 100 random orders, and its number of held-out pictures.

    `untrained` is the mean AvgP of random orders.
    """

    words: str
    avgp: float
    untrained: float
    n: int


@dataclass(frozen=True, slots=True)
class MeanCurve:
    """Mean interpolated precision at eleven recalls over some queries.

    `untrained` is that of the same lists in random order, with a fixed seed.
    """

    recall: tuple[float, ...]
    precision: tuple[float, ...]
    untrained: tuple[float, ...]
    queries: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A report on the owner's own pictures.

    `curve` holds (training pictures, mean AvgP) for growing shares of them; `best` and `worst` are
    words with their AvgP and the number of held-out pictures that have them; `harmed` are the
    queries that are worse than chance, those that lost most first. `reliability` is that of the
    probabilities of the first hits of each word, `several_reliability` of each query of several.
    `texts` is that of the text model, if there is one; `online` what the answers since the training
    gain, if there are any.
    """

    recipe: str
    how: str
    pictures: int
    held_out: int
    words: int
    groups: tuple[Group, ...]
    curve: tuple[tuple[int, float], ...]
    best: Words
    worst: Words
    proven: bool
    seconds: float
    precision_recall: MeanCurve
    harmed: tuple[Harmed, ...]
    reliability: Reliability
    several_reliability: Reliability
    texts: TextEvaluation | None = None
    online: OnlineGain | None = None

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values, also under the names that earlier releases had."""
        groups: list[Json] = [
            {
                "queries": g.name, "n": g.n, "avgp": g.avgp, "untrained": g.untrained,
                "gain": g.gain, "p10": g.p10, "bep": g.bep, "p": g.p, "helped": g.helped,
                "harmed": g.harmed, "harmed_rate": g.harmed_rate,
                "significantly_harmed": g.significantly_harmed,
                "significantly_harmed_rate": g.significantly_harmed_rate,
                "AvgP": g.avgp, "P10": g.p10, "BEP": g.bep,
            }
            for g in self.groups
        ]  # fmt: skip
        curve: list[Json] = [{"pictures": n, "avgp": a, "AvgP": a} for n, a in self.curve]
        c = self.precision_recall
        means: dict[str, Json] = {
            "recall": list[Json](c.recall), "precision": list[Json](c.precision),
            "untrained": list[Json](c.untrained), "queries": c.queries,
        }  # fmt: skip
        harmed: list[Json] = [
            {"words": h.words, "avgp": h.avgp, "AvgP": h.avgp, "untrained": h.untrained, "n": h.n}
            for h in self.harmed
        ]
        return {
            "recipe": self.recipe, "combination": self.how, "model": self.recipe,
            "words combined by": self.how, "pictures": self.pictures,
            "held_out": self.held_out, "seconds": round(self.seconds, 3), "words": self.words,
            "proven": self.proven,
            "groups": groups, "curve": curve, "precision_recall": means,
            "best": _words_json(self.best), "worst": _words_json(self.worst), "harmed": harmed,
            "reliability": {"first_hits": FIRST_HITS, **self.reliability.to_dict()},
            "several_reliability": {"first_hits": FIRST_HITS, **self.several_reliability.to_dict()},
            "texts": None if self.texts is None else self.texts.to_dict(),
            "online": None if self.online is None else self.online.to_dict(),
        }  # fmt: skip


def _words_json(words: Words) -> list[Json]:
    return [{"word": w, "avgp": a, "AvgP": a, "n": n} for w, a, n in words]


def evaluate(
    store_folder: StoreFolder,
    progress: Progress,
    *,
    curve: bool = True,
    compute: Mapper | None = None,
    memory: int = 0,
) -> Evaluation:
    """Measure the model in use on held-out pictures; `compute` is where, if not here.

    Rows of pictures that would take more than `memory` bytes are read in blocks; 0 reads them all.
    """
    started = time.monotonic()
    model, dataset, spelled = _loaded(store_folder, memory)
    held = HeldOutQueries.of(dataset)
    if not len(held.queries):
        raise CollectionError(
            f"None of the {len(dataset)} pictures with words is both held out and has words "
            "that others have, so nothing can be measured. Give words to more pictures, "
            "or judge more and save them as a word."
        )
    rows = model.proof_combination.rows(model.proof.scores(held.dataset.views))
    queries = combined(held.queries, model.proof_combination, held.idf)
    measured = measure_rows(rows, queries, compute)
    groups = tuple(_groups(held, measured))
    best, worst = _examples(held, measured, spelled)
    training = dataset.only(~split(dataset)[0])
    points = _curve(model, training, held, progress, compute) if curve else ()
    with store_folder.reader() as reader:
        online = replay(reader, model, held, rows, queries)
    return Evaluation(
        str(model.served.recipe), model.combination.how, len(dataset), len(held.dataset),
        len(dataset.terms), groups, points, best, worst, len(held.queries) >= FEWEST,
        time.monotonic() - started, _mean_curve(rows, queries), _harmed(held, measured, spelled),
        *_reliabilities(model, held, training, rows),
        _texts(store_folder, model), online,
    )  # fmt: skip


def _texts(store_folder: StoreFolder, words: WordModel) -> TextEvaluation | None:
    """Measure the text model in use; None without one."""
    with (
        store_folder.reader() as reader,
        contextlib.closing(EventLog(store_folder.events, write=False)) as log,
    ):
        model = load_text_model(store_folder, reader.snapshot.text)
        if model is None:
            return None
        dataset, _ = load_known(reader, log, (), MOST_TEXT_WORDS, shared_space=True)
    return evaluate_texts(model, dataset, words)


def _loaded(
    store_folder: StoreFolder, memory: int = 0
) -> tuple[WordModel, Dataset, dict[int, str]]:
    with (
        store_folder.reader() as reader,
        contextlib.closing(EventLog(store_folder.events, write=False)) as log,
    ):
        model = load_word_model(store_folder, reader.snapshot.model)
        if model is None:
            raise CollectionError("There is no word model yet. Run: sightline train")
        if model.about.get("proof_seen"):
            raise CollectionError(
                "When the model was trained, too few pictures had words to hold any out. "
                "Train again: sightline train"
            )
        most, shared = max(MOST_WORDS, len(model.terms)), model.served.shared_space
        dataset, _ = load_known(reader, log, (), most, shared_space=shared, memory=memory)
        spelled = dict(reader.catalogue.terms())
    missing = set(model.features) - set(dataset.views)
    if missing:
        raise CollectionError(
            f"The model was trained on {sorted(missing)[0]}, which the pictures no longer have. "
            "Run: sightline train"
        )
    return model, aligned(dataset, model.terms, model.aliases), spelled


def _groups(held: HeldOutQueries, measured: ManyMeasured) -> Iterator[Group]:
    untrained, single = held.untrained(), one_word(held.queries)
    worse_than_chance = held.significantly_harmed(measured.avgp)
    for name, rows in (
        ("all", np.ones(len(single), bool)),
        ("one word", single),
        ("several words", ~single),
    ):
        if rows.any():
            test = wilcoxon(measured.avgp[rows], untrained[rows])
            yield Group(
                name, int(rows.sum()), float(measured.avgp[rows].mean()),
                float(untrained[rows].mean()), float(measured.p10[rows].mean()),
                float(measured.bep[rows].mean()), test.p, test.helped, test.harmed,
                int(worse_than_chance[rows].sum()),
            )  # fmt: skip


def _examples(
    held: HeldOutQueries, measured: ManyMeasured, spelled: dict[int, str]
) -> tuple[Words, Words]:
    """Return the words with the highest and the lowest AvgP."""
    single = np.flatnonzero(one_word(held.queries))
    order = single[np.argsort(-measured.avgp[single], kind="stable")]
    # The AvgP of a word on very few held-out pictures varies too much.
    n_relevant = held.queries.n_relevant
    many = order[n_relevant[order] >= _ENOUGH].tolist() or order.tolist()
    words = [
        (spelled.get(t, f"word {t}"), float(measured.avgp[i]), int(n_relevant[i]))
        for i in many
        for t in held.dataset.terms[held.queries.terms_of(i)].tolist()
    ]
    half = min(_SHOWN, len(words) // 2)
    return tuple(words[:half]), tuple(words[len(words) - half :][::-1])


def _harmed(
    held: HeldOutQueries, measured: ManyMeasured, spelled: dict[int, str]
) -> tuple[Harmed, ...]:
    """Return the queries that are ranked worse than chance, those that lost most first."""
    before, worse_than_chance = held.untrained(), held.significantly_harmed(measured.avgp)
    lost = np.where(worse_than_chance, before - measured.avgp, -np.inf)
    worst = [i for i in np.argsort(-lost, kind="stable")[:_HARMED].tolist() if worse_than_chance[i]]
    return tuple(
        Harmed(
            _query_text(held, i, spelled), float(measured.avgp[i]), float(before[i]),
            len(held.queries.relevant_to(i)),
        )
        for i in worst
    )  # fmt: skip


def _query_text(held: HeldOutQueries, query: int, spelled: dict[int, str]) -> str:
    """Return the words of a query as somebody would type them."""
    terms = held.dataset.terms[held.queries.terms_of(query)].tolist()
    words = [spelled.get(t, f"word {t}") for t in terms]
    return " ".join(f'"{w}"' if " " in w else w for w in words)


def _reliabilities(
    model: WordModel, held: HeldOutQueries, training: Dataset, rows: NDArray[np.float32]
) -> tuple[Reliability, Reliability]:
    """Return how reliable the probabilities of first hits are, of one word and of several.

    Words of no held-out picture count too: all of their hits are wrong.
    """
    of_training, of_held_out = training.labels.tocsc(), held.dataset.labels.tocsc()
    queries = combined(held.queries, model.proof_combination, held.idf)
    asked = [np.array([w]) for w in np.flatnonzero(picture_counts(training.labels)).tolist()]
    n_single = len(asked)
    several = np.flatnonzero(~one_word(queries))
    asked += [queries.terms_of(i) for i in several.tolist()]
    weights = [np.ones(1, np.float32)] * n_single
    weights += [queries.weight[queries.start[i] : queries.start[i + 1]] for i in several.tolist()]
    outcomes = []
    for columns, factors in zip(asked, weights, strict=True):
        scores = rows[:, columns] @ factors
        best = np.argsort(-scores, kind="stable")[:FIRST_HITS]
        likely = model.proof_combination.probability(scores[best], factors, columns)
        base = np.full(len(best), _have_all(of_training, columns).mean())
        outcomes.append(np.stack((likely, _have_all(of_held_out, columns)[best], base)))
    one, more = (
        np.concatenate([np.zeros((3, 0)), *part], axis=1)
        for part in (outcomes[:n_single], outcomes[n_single:])
    )
    return reliability(*one), reliability(*more)


def _have_all(labels: Any, columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which pictures have all of some words."""
    n_of_them: NDArray[np.int64] = np.asarray((labels[:, columns] != 0).sum(axis=1)).ravel()
    return np.asarray(n_of_them == len(columns), np.bool_)


def _mean_curve(rows: NDArray[np.float32], queries: QuerySet) -> MeanCurve:
    """Return the mean precision-recall curve of the model and of random order."""
    some = np.linspace(0, len(queries) - 1, min(len(queries), _CURVES)).astype(np.int64)
    drawn, rng = set(some.tolist()), np.random.default_rng(0)
    draws = -(-_CURVES // len(drawn))
    by_model: list[PrecisionRecall] = []
    by_chance: list[PrecisionRecall] = []
    for first, block in query_scores(rows, queries):
        for i, scores in enumerate(block, first):
            if i in drawn:
                relevant = np.zeros(len(scores))
                relevant[queries.relevant_to(i)] = 1
                by_model.append(eleven_points(scores, relevant))
                by_chance += [eleven_points(rng.permutation(relevant)) for _ in range(draws)]
    model_mean, chance_mean = mean_eleven_points(by_model), mean_eleven_points(by_chance)
    lines = (model_mean.recall, model_mean.precision, chance_mean.precision)
    recall, precision, untrained = (tuple(x.round(6).tolist()) for x in lines)
    return MeanCurve(recall, precision, untrained, len(by_model))


def _curve(
    model: WordModel,
    training: Dataset,
    held: HeldOutQueries,
    progress: Progress,
    compute: Mapper | None,
) -> tuple[tuple[int, float], ...]:
    shares = [s for s in SHARES if len(training) * s >= _ENOUGH]
    progress.start("learning curve", len(shares))
    order = np.random.default_rng(0).permutation(len(training))
    points = []
    parts = [training.only(np.sort(order[: round(s * len(training))])) for s in shares]
    recipe = model.served.recipe
    if training.is_streamed:
        fits: Iterator[Fitted] = (fit_all(recipe, part) for part in parts)
    elif compute is None or is_sharded(recipe):
        fits = (fit(fewer_shards(recipe, len(part)), part, compute=compute) for part in parts)
    else:
        fits = fit_remote(recipe, parts, compute)
    for part, fitted in zip(parts, fits, strict=True):
        measured = measure(fitted, model.proof_combination, held, compute)
        points.append((len(part), measured.mean_avgp))
        progress.advance()
    progress.finish()
    return tuple(points)


def trec(store_folder: StoreFolder) -> tuple[list[Judged], list[RankedList]]:
    """Return what is relevant to the held-out queries, and how the model ranks the pictures.

    Pictures go by their paths in the collection.
    """
    model, dataset, spelled = _loaded(store_folder)
    held = HeldOutQueries.of(dataset)
    with store_folder.reader() as reader:
        facts = reader.catalogue.facts(held.dataset.ids.tolist())
    names = [os.fsdecode(facts[i].path) for i in held.dataset.ids.tolist()]
    rows = model.proof_combination.rows(model.proof.scores(held.dataset.views))
    queries = combined(held.queries, model.proof_combination, held.idf)
    judged, ranked = [], []
    for first, block in query_scores(rows, queries):
        for i, scores in enumerate(block, first):
            words = " ".join(
                spelled.get(t, str(t)) for t in dataset.terms[queries.terms_of(i)].tolist()
            )
            fit = tuple(names[p] for p in queries.relevant_to(i).tolist())
            judged.append(Judged(words, fit, (1.0,) * len(fit)))
            best = np.argsort(-scores, kind="stable")[:_DEPTH].tolist()
            paths = tuple(names[p] for p in best)
            ranked.append(RankedList(words, paths, tuple(scores[best].tolist())))
    return judged, ranked
