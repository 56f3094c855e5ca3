"""Training of the similarity model: the weight of each descriptor and each measure.

Scales of phi come from pictures that are not held out. Each descriptor gets the feature scaling
with the best mean AvgP on validation queries, with equal weights of all measures. It must gain .005
over unscaled rows, since one of eight equally good scalings looks better by chance. Long
descriptors are tried with fewer scalings, so that training takes seconds.

Each learner is fitted to triplets of pictures that are neither held out nor used for validation.
Validation queries select the learner, and the best single component. The selected learner is then
fitted to all pictures that are not held out, and measured on held-out queries against equal
weights, the best single component, and the model in use. It goes through the gate of `lifecycle`;
the served model is fitted to everything.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Doubles, Floats, Ints
from sightline.collection.features import common_features
from sightline.collection.models.dataset import View
from sightline.collection.models.lifecycle import (
    GateReport,
    apply_gate,
    publish,
    stored_figures,
)
from sightline.collection.models.versions import SIMILARITY
from sightline.collection.similarity.candidates import choose_shortlist, measure_recall
from sightline.collection.similarity.descriptors import (
    DescribedPictures,
    ScaledPictures,
    descriptors_of,
    lengths_of,
    stored,
    too_rare,
)
from sightline.collection.similarity.model import (
    CandidateSearch,
    SimilarityModel,
    as_stored,
    complete,
    even_weights,
    evenly,
    load_similarity_model,
    uniform,
)
from sightline.collection.similarity.supervision import Supervision, find_supervision, query_set
from sightline.combiners.online import OnlineCombiner
from sightline.combiners.opar import OGDR, OPARI, OPARII, OPR
from sightline.combiners.second_order import AROW, SCW
from sightline.contracts import Json, Progress
from sightline.errors import CollectionError, DataError
from sightline.measures.many import average_precisions
from sightline.measures.significance import wilcoxon
from sightline.measures.splits import HELD_OUT, VALIDATION, fold_of
from sightline.similarity.pairs import Phi
from sightline.similarity.scaling import PLAIN, SCALINGS, FeatureScaling
from sightline.store.events import EventLog
from sightline.store.folder import Reader, StoreFolder
from sightline.store.snapshot import Snapshot

PICTURES = 3_000
QUERIES = 250
TRIPLETS = 20_000


@dataclass(frozen=True, slots=True)
class SimilarOptions:
    """The supervision to learn from, one of `supervision.SOURCES`, and names of descriptors.

    By default the source is chosen and all descriptors are used. `session_cap` limits the number of
    judged pictures of one session; None for no limit.
    """

    source: str = ""
    features: tuple[str, ...] = ()
    force: bool = False
    dry_run: bool = False
    session_cap: int | None = None


# Figures of the held-out pictures, with the fields of `GateReport`.
_HELD_OUT = {
    "queries": "n", "avgp": "candidate", "equal_weights": "baseline", "single": "single", "p": "p",
    "helped": "helped", "harmed": "harmed", "harmed_rate": "harmed_rate", "current": "current",
    "not_compared": "not_compared",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SimilarReport:
    """The report of a training; `table` has the mean AvgP on validation queries by learner."""

    source: str
    learner: str
    descriptors: tuple[str, ...]
    scalings: tuple[str, ...]
    constant: tuple[str, ...]
    single: str
    table: tuple[tuple[str, float], ...]
    proof: GateReport
    shortlist: CandidateSearch
    pictures: int
    left_out: int
    too_rare: tuple[tuple[str, int], ...]
    model: str
    version: int
    unproven: bool
    forced: bool
    seconds: float

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values, also under the names that earlier releases had."""
        p, s = self.proof, self.shortlist
        nearest: list[Json] = [[self.descriptors[i], how] for i, how in s.descriptors]
        return {
            "kind": "similarity", "source": self.source, "learner": self.learner,
            "features": list[Json](self.descriptors), "scaling": list[Json](self.scalings),
            "constant": list[Json](self.constant), "too_rare": dict(self.too_rare),
            "single": self.single, "pictures": self.pictures, "left_out": self.left_out,
            "model": self.model, "version": self.version, "unproven": self.unproven,
            "forced": self.forced, "seconds": round(self.seconds, 3),
            "held_out": p.figures(_HELD_OUT),
            "shortlist": {
                "features": nearest, "descriptors": nearest, "depth": s.depth,
                "recall": s.recall if s.queries else None, "queries": s.queries,
            },
            "trials": [{"learner": name, "avgp": value} for name, value in self.table],
            # Names of earlier releases: of the command line, and of jobs of the service.
            "chosen": self.learner, "descriptors": list[Json](self.descriptors),
            "frames": list[Json](self.scalings),
            "proof": {
                **p.to_dict(), **p.figures({"queries": "n", "AvgP": "candidate"}),
                "single_is": self.single, "harmed_rate": p.harmed_rate,
            },
            "tried": [{"learner": name, "AvgP": value} for name, value in self.table],
            "table": [[name, value] for name, value in self.table],
        }  # fmt: skip


def train_similar(
    store_folder: StoreFolder, options: SimilarOptions, wait: float, progress: Progress
) -> SimilarReport:
    """Learn from the supervision of the collection, and publish if the gate opens.

    The store is locked only while the model is published.
    """
    started = time.monotonic()
    with (
        store_folder.reader() as reader,
        contextlib.closing(EventLog(store_folder.events, write=False)) as log,
    ):
        before, seq = reader.snapshot.similar, log.last_seq()
        judgements = log.similarity_judgements(sessions=True, most=options.session_cap)
        supervision = find_supervision(
            reader.snapshot, reader.catalogue, judgements, options.source
        )
        training = _SimilarityTraining(reader, supervision, options.features)
        progress.start("learn", None)
        learner, table = training.choose()
        model, proof = training.prove(learner, load_similarity_model(store_folder, before))
        shortlist = training.shortlist(model)
        progress.finish()
    forced = apply_gate(proof, force=options.force, dry_run=options.dry_run)
    tried: list[Json] = [{"what": name, "AvgP": value} for name, value in table]
    model = replace(
        model,
        shortlist=shortlist,
        about={
            "source": supervision.source,
            "learner": learner,
            "judged_up_to": seq if supervision.source == "judgements" else 0,
            "figures": stored_figures(proof, forced, tried=tried),
        },
    )
    name, version = before, 0
    if not options.dry_run:
        name, version = publish(
            SIMILARITY, store_folder, *model.to_saved(), started_from=before,
            learned_from=training.supervision.ids, note=f"train --similar: {learner}", wait=wait,
        )  # fmt: skip
    return SimilarReport(
        supervision.source, learner, model.names, tuple(f.kind for f in model.scalings),
        model.constant, training.single_name, tuple(table), proof, shortlist,
        len(training.supervision), training.left_out, training.too_rare, name, version,
        not proof.is_proven, forced, time.monotonic() - started,
    )  # fmt: skip


class _SimilarityTraining:
    """The pictures of one training, and its steps."""

    def __init__(self, reader: Reader, supervision: Supervision, features: Sequence[str]) -> None:
        self.snapshot: Snapshot = reader.snapshot
        prints = descriptors_of(self.snapshot, features)
        lengths = lengths_of(self.snapshot, prints)
        self.too_rare = too_rare(self.snapshot, prints)
        few = _few(len(supervision), PICTURES)
        data = stored(self.snapshot, supervision.ids[few], prints, lengths)
        whole = complete(data)
        self.left_out = len(few) - len(whole)
        self.raw: DescribedPictures = data.only(whole)
        self.supervision: Supervision = supervision.only(few[whole])
        fold = fold_of(self.supervision.ids)
        self.held, self.validating = fold == HELD_OUT, fold == VALIDATION
        rest = np.flatnonzero(~self.held)
        if len(rest) < 2:
            raise CollectionError(
                f"Only {len(rest)} pictures that are not held out can be compared, so there is "
                "nothing to learn. Index more pictures."
            )
        # The model in use before any training.
        self.untrained = evenly(prints, as_stored(lengths), self.raw.only(rest))
        self._scale(self.untrained)
        self.single = 0

    def _scale(self, blank: SimilarityModel) -> None:
        self.blank = blank
        self.data: ScaledPictures = blank.scaled(self.raw)

    @property
    def single_name(self) -> str:
        """The name of the best single component."""
        return self.blank.phi.names(self.blank.names)[self.single]

    def choose(self) -> tuple[str, list[tuple[str, float]]]:
        """Return the best learner on validation queries, and the mean AvgP of each."""
        queries = self._queries(self.validating, ~self.held)
        if not len(queries):
            raise CollectionError(
                f"None of {int(self.validating.sum())} validation pictures has both a picture that "
                f"belongs to it and one that does not, by {self.supervision.source}. Add pictures "
                "or words, then: sightline index"
            )
        rest = np.flatnonzero(~self.held)
        scalings = choose_scalings(self.supervision, self.raw, queries.queries, rest)
        self._scale(evenly(self.blank.descriptors, scalings, self.raw.only(rest)))
        queries = replace(queries, data=self.data)
        n = self.blank.phi.n_components
        alone = _means(queries.avgp(self.blank, list(np.eye(n))))
        self.single = int(np.argmax(np.where(self.blank.phi.factor > 0, alone, -1.0)))
        rows = self._differences(~self.held & ~self.validating)
        names = [UNIFORM, f"{self.single_name} alone", *(ONLINE if len(rows) else ())]
        weights = [self._weights(name, rows) for name in names]
        means = _means(queries.avgp(self.blank, weights))
        table = sorted(zip(names, means.tolist(), strict=True), key=lambda t: -t[1])
        return table[0][0], table

    def prove(
        self, learner: str, current: SimilarityModel | None
    ) -> tuple[SimilarityModel, GateReport]:
        """Return the model to be served, and its metrics on held-out queries."""
        proof_w = self._weights(learner, self._differences(~self.held))
        served_w = self._weights(learner, self._differences(np.ones(len(self.held), bool)))
        model = replace(self.blank, w=served_w, proof=proof_w)
        queries = self._queries(self.held, np.ones(len(self.held), bool))
        if not len(queries):
            return model, GateReport.unmeasured(SIMILARITY)
        single = np.zeros(len(proof_w))
        single[self.single] = 1.0
        candidate, alone = queries.avgp(model, [proof_w, single])
        untrained = self.untrained
        even = replace(queries, data=untrained.scaled(self.raw)).avgp(untrained, [untrained.w])[0]
        test = wilcoxon(candidate, even)
        report = GateReport(
            SIMILARITY, len(queries), float(candidate.mean()), float(even.mean()), p=test.p,
            helped=test.helped, harmed=test.harmed, extra={"single": float(alone.mean())},
        )  # fmt: skip
        current_avgp, not_compared = self._current(queries, current)
        report = replace(report, not_compared=not_compared)
        if current_avgp is None:
            return model, report
        # Both rank all held-out queries.
        ours, n = report.candidate, report.n
        return model, replace(report, current=current_avgp, candidate_on_common=ours, n_common=n)

    def shortlist(self, model: SimilarityModel) -> CandidateSearch:
        """Choose the shortlist, and measure its recall on held-out queries."""
        rest, held = self.supervision.ids[~self.held], self.supervision.ids[self.held]
        chosen = choose_shortlist(self.snapshot, model, rest)
        return measure_recall(self.snapshot, replace(model, shortlist=chosen), held)

    def _queries(self, queries: Bools, pictures: Bools) -> EvaluationQueries:
        parts = np.flatnonzero(queries), np.flatnonzero(pictures)
        return usable_queries(self.supervision, self.data, *parts, QUERIES)

    def _differences(self, pictures: Bools) -> Floats:
        """Return phi of positive pairs minus phi of negative pairs."""
        try:
            t = self.supervision.triplets(pictures, pictures, TRIPLETS)
        except DataError:
            return np.zeros((0, self.blank.phi.n_components), np.float32)
        differences = self.blank.pairs(self.data, t.query, t.first)
        differences -= self.blank.pairs(self.data, t.query, t.second)
        return differences

    def _weights(self, learner: str, rows: Floats) -> Doubles:
        return weights_of(learner, self.blank.phi, rows, self.single)

    def _current(
        self, queries: EvaluationQueries, current: SimilarityModel | None
    ) -> tuple[float | None, bool]:
        """Return the mean AvgP of the model in use, and whether a trained one cannot be measured.

        Without a trained one, the baseline is equal weights of all descriptors, also those not
        named.
        """
        present = set(common_features(self.snapshot, self.snapshot.ids()))
        lost = current is not None and not set(current.descriptors) <= present
        if current is None or lost:
            if set(self.blank.descriptors) == present:
                return None, lost
            current = uniform(self.snapshot)
        ids = self.supervision.ids
        data = stored(self.snapshot, ids, current.descriptors, current.lengths)
        avgp = replace(queries, data=current.scaled(data)).avgp(current, [current.proof])
        return float(avgp.mean()), lost


def _means(avgp: Doubles) -> Doubles:
    return np.asarray(avgp.mean(axis=1), np.float64)


def _few(n: int, most: int) -> Ints:
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


SCALING_PICTURES = 1_000
SCALING_QUERIES = 60
PAIRS = 2_000
LEAST = 0.005
# Longer descriptors are tried with the cheap scalings only; the cost of the others grows at least
# with the square of a descriptor's length.
LONG = 600
_QUICK = (PLAIN, "root", "reduced")


def scalings_to_try(view: View) -> tuple[str, ...]:
    """Return the scalings to try for a descriptor; a sparse one is not scaled."""
    if hasattr(view, "tocsr"):
        return (PLAIN,)
    return SCALINGS if view.shape[1] <= LONG else _QUICK


def choose_scalings(
    supervision: Supervision, data: DescribedPictures, queries: Ints, pictures: Ints
) -> tuple[FeatureScaling, ...]:
    """Return the best scaling of each descriptor; no scaling if there are no queries.

    Parameters
    ----------
    queries, pictures : ndarray of int64
        Positions of query pictures, and of those that scalings are fitted to; some of the latter
        are ranked.
    """
    ranked = pictures
    if len(ranked) > SCALING_PICTURES:
        ranked = np.sort(np.random.default_rng(0).choice(pictures, SCALING_PICTURES, replace=False))
    plain = ScaledPictures(data.views, data.have)
    evaluation = usable_queries(supervision, plain, queries, ranked, SCALING_QUERIES)
    return tuple(_best(evaluation, data, v, pictures) for v in range(len(data.views)))


def _best(
    evaluation: EvaluationQueries, data: DescribedPictures, v: int, pictures: Ints
) -> FeatureScaling:
    rows = data.views[v]
    scalings = [FeatureScaling.of(kind, rows[pictures]) for kind in scalings_to_try(rows)]
    if len(scalings) == 1 or not len(evaluation):
        return scalings[0]
    one = DescribedPictures((rows,), data.have[:, v : v + 1])
    avgp = []
    for scaling in scalings:
        model = evenly(("",), (scaling,), one.only(pictures), PAIRS)
        scaled = replace(evaluation, data=model.scaled(one))
        avgp.append(float(scaled.avgp(model, [model.w]).mean()))
    best = int(np.argmax(avgp))
    return scalings[best if avgp[best] >= avgp[0] + LEAST else 0]


UNIFORM = "uniform"
_QUERIES = 32

ONLINE: dict[str, OnlineCombiner] = {
    "OPR": OPR(averaged=True),
    **{f"OPAR-I C={c:g}": OPARI(C=c, averaged=True) for c in (1e-4, 1e-3, 1e-2, 0.1)},
    **{f"OPAR-II C={c:g}": OPARII(C=c, averaged=True) for c in (1e-4, 1e-3, 1e-2)},
    **{f"OGDR eta={e:g}": OGDR(eta=e, averaged=True) for e in (1e-4, 1e-3, 1e-2)},
    **{f"AROW r={r:g}": AROW(r=r) for r in (1.0, 100.0, 10_000.0)},
    **{f"SCW-I C={c:g}": SCW(C=c) for c in (1e-3, 1e-2)},
}
"""The online learners by name, with the settings that are tried."""


def weights_of(learner: str, phi: Phi, rows: Floats, single: int) -> Doubles:
    """Return the weights of one learner, fitted to differences of phi, with a mean margin of 1.

    The scale does not change the order, but online updates have a fixed step size. `single` is the
    best single component.
    """
    if learner == UNIFORM:
        w = even_weights(phi)
    elif learner in ONLINE:
        ranker = type(ONLINE[learner])(**ONLINE[learner].get_params())
        w = np.where(phi.factor > 0, ranker.fit(rows).w_, 0.0)
    else:
        w = np.zeros(phi.n_components)
        w[single] = 1.0
    margin = float((rows.astype(np.float64) @ w).mean()) if len(rows) else 0.0
    return w / margin if margin > 0 else w


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationQueries:
    """Query pictures, and the pictures they rank, by position."""

    supervision: Supervision
    data: ScaledPictures
    queries: Ints
    pictures: Ints

    def __len__(self) -> int:
        return len(self.queries)

    def avgp(self, model: SimilarityModel, weights: Sequence[Doubles]) -> NDArray[np.float64]:
        """Return the AvgP of each query by each of several weight vectors, (weights, queries)."""
        W = np.array(weights, np.float32).T
        out = np.full((len(weights), len(self.queries)), np.nan)
        ranked = self.data.only(self.pictures)
        for start in range(0, len(self.queries), _QUERIES):
            some = self.queries[start : start + _QUERIES]
            relevance = self.supervision.relevance(some, self.pictures)
            queries, away = query_set(relevance), relevance < 0
            scores = model.compare(self.data.only(some), ranked) @ W
            scores[away] = -np.inf
            for i in range(len(weights)):
                measured = average_precisions(np.ascontiguousarray(scores[:, :, i]), queries)
                out[i, start : start + len(some)] = measured.avgp
        return out


def usable_queries(
    supervision: Supervision, data: ScaledPictures, queries: Ints, pictures: Ints, most: int
) -> EvaluationQueries:
    """Return at most a given number of queries that have positives and negatives."""
    usable = []
    for start in range(0, len(queries), _QUERIES):
        some = queries[start : start + _QUERIES]
        relevance = supervision.relevance(some, pictures)
        usable.append(some[(relevance == 1).any(axis=1) & (relevance == 0).any(axis=1)])
    chosen = np.concatenate([np.zeros(0, np.int64), *usable])
    if len(chosen) > most:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, most, replace=False))
    return EvaluationQueries(supervision, data, chosen, pictures)
