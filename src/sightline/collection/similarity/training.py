"""Training: learn how much each similarity counts, prove it on held-out queries, then serve.

Frames and scales of phi come from pictures that are not held out. Which frame each descriptor gets
is decided by queries that are validation pictures (`framing`). Every learner learns from triplets
whose pictures are neither held out nor for validation; which one is taken, and which component is
best alone, is decided by validation queries too. The choice then learns from all pictures that are
not held out, and is measured on queries that are, against all descriptors alike as the store has
them, the best similarity alone, and the combination now in use. It is published only if its mean
AvgP is below neither of the first and the last (less .001); what is served has learnt from
everything. With under 30 held-out queries there is no proof, and the combination is marked
`unproven`.

Which frame each descriptor is laid out in, decided by validation queries.

Each is tried alone, all measures counting alike, on some pictures that are not held out; what is
best there is taken, if it gains .005 of mean AvgP over rows as the store has them: of eight that
are equally good one looks a little better by chance. Descriptors that are long are tried in fewer
frames, so that training stays a matter of seconds.

The learners that a combination is chosen from, and how one is measured.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sightline.collection.models.dataset import View, common_features
from sightline.collection.models.lifecycle import (
    GateReport,
    apply_gate,
    publish,
    stored_figures,
)
from sightline.collection.models.versions import SIMILARITY
from sightline.collection.similarity.candidates import choose_shortlist, measure_recall
from sightline.collection.similarity.descriptors import (
    Bool,
    Described,
    Framed,
    Int,
    descriptors_of,
    lengths_of,
    stored,
    too_rare,
)
from sightline.collection.similarity.model import (
    Alike,
    Doubles,
    Floats,
    Shortlist,
    as_stored,
    complete,
    even_weights,
    evenly,
    load_alike,
    uniform,
)
from sightline.collection.similarity.supervision import Grounds, find_grounds, query_set
from sightline.combiners.online import OnlineCombiner
from sightline.combiners.opar import OGDR, OPARI, OPARII, OPR
from sightline.combiners.second_order import AROW, SCW
from sightline.contracts import Json, Progress
from sightline.errors import CollectionError, DataError
from sightline.measures.many import average_precisions
from sightline.measures.significance import wilcoxon
from sightline.measures.splits import HELD_OUT, VALIDATION, fold_of
from sightline.similarity.frames import FRAMES, PLAIN, Frame
from sightline.similarity.pairs import Phi
from sightline.store.events import EventLog
from sightline.store.home import Home, Reader
from sightline.store.snapshot import Snapshot

PICTURES = 3_000
QUERIES = 250
TRIPLETS = 20_000


@dataclass(frozen=True, slots=True)
class SimilarOptions:
    """What to learn from: a ground of `grounds.SOURCES`, names of descriptors; all by default.

    `session_cap` is how many pictures one judging session can speak of, None for all.
    """

    source: str = ""
    features: tuple[str, ...] = ()
    force: bool = False
    dry_run: bool = False
    session_cap: int | None = None


@dataclass(frozen=True, slots=True)
class SimilarReport:
    """What a training did; `table` has the mean AvgP of validation queries by learner."""

    source: str
    learner: str
    descriptors: tuple[str, ...]
    frames: tuple[str, ...]
    constant: tuple[str, ...]
    single: str
    table: tuple[tuple[str, float], ...]
    proof: GateReport
    shortlist: Shortlist
    pictures: int
    left_out: int
    too_rare: tuple[tuple[str, int], ...]
    model: str
    version: int
    unproven: bool
    forced: bool
    seconds: float


def train_similar(
    home: Home, options: SimilarOptions, wait: float, progress: Progress
) -> SimilarReport:
    """Learn from what the collection says of which pictures belong together, and publish.

    The store is locked only while the combination is published.
    """
    begun = time.monotonic()
    with home.reader() as reader, contextlib.closing(EventLog(home.events, write=False)) as log:
        before, seq = reader.snapshot.similar, log.last_seq()
        said = log.likenesses(sessions=True, most=options.session_cap)
        grounds = find_grounds(reader.snapshot, reader.catalogue, said, options.source)
        course = _Course(reader, grounds, options.features)
        progress.start("learn", None)
        learner, table = course.choose()
        alike, proof = course.prove(learner, load_alike(home, before))
        shortlist = course.shortlist(alike)
        progress.finish()
    forced = apply_gate(proof, force=options.force, dry_run=options.dry_run)
    tried: list[Json] = [{"what": name, "AvgP": value} for name, value in table]
    alike = replace(
        alike,
        shortlist=shortlist,
        about={
            "source": grounds.source,
            "learner": learner,
            "judged_up_to": seq if grounds.source == "judgements" else 0,
            "figures": stored_figures(proof, forced, tried=tried),
        },
    )
    name, version = before, 0
    if not options.dry_run:
        name, version = publish(
            SIMILARITY, home, *alike.to_saved(), started_from=before,
            learned_from=course.grounds.ids, note=f"train --similar: {learner}", wait=wait,
        )  # fmt: skip
    return SimilarReport(
        grounds.source, learner, alike.names, tuple(f.kind for f in alike.frames), alike.constant,
        course.single_name, tuple(table), proof, shortlist, len(course.grounds), course.left_out,
        course.too_rare, name, version, not proof.is_proven, forced, time.monotonic() - begun,
    )  # fmt: skip


class _Course:
    """The pictures of one training, and what is made of them step by step."""

    def __init__(self, reader: Reader, grounds: Grounds, features: Sequence[str]) -> None:
        self.snapshot: Snapshot = reader.snapshot
        prints = descriptors_of(self.snapshot, features)
        lengths = lengths_of(self.snapshot, prints)
        self.too_rare = too_rare(self.snapshot, prints)
        few = _few(len(grounds), PICTURES)
        data = stored(self.snapshot, grounds.ids[few], prints, lengths)
        whole = complete(data)
        self.left_out = len(few) - len(whole)
        self.raw: Described = data.only(whole)
        self.grounds: Grounds = grounds.only(few[whole])
        fold = fold_of(self.grounds.ids)
        self.held, self.validating = fold == HELD_OUT, fold == VALIDATION
        rest = np.flatnonzero(~self.held)
        if len(rest) < 2:
            raise CollectionError(
                f"Only {len(rest)} pictures that are not held out can be compared, so there is "
                "nothing to learn. Index more pictures."
            )
        # What is in use before anything was learnt.
        self.untrained = evenly(prints, as_stored(lengths), self.raw.only(rest))
        self._lay_out(self.untrained)
        self.single = 0

    def _lay_out(self, blank: Alike) -> None:
        self.blank = blank
        self.data: Framed = blank.framed(self.raw)

    @property
    def single_name(self) -> str:
        """The component that is best alone."""
        return self.blank.phi.names(self.blank.names)[self.single]

    def choose(self) -> tuple[str, list[tuple[str, float]]]:
        """Return the best learner on validation queries, and what each had there."""
        judges = self._asking(self.validating, ~self.held)
        if not len(judges):
            raise CollectionError(
                f"None of {int(self.validating.sum())} validation pictures has both a picture that "
                f"belongs to it and one that does not, by {self.grounds.source}. Add pictures or "
                "words, then: sightline index"
            )
        rest = np.flatnonzero(~self.held)
        frames = choose_frames(self.grounds, self.raw, judges.queries, rest)
        self._lay_out(evenly(self.blank.descriptors, frames, self.raw.only(rest)))
        judges = replace(judges, data=self.data)
        n = self.blank.phi.n_components
        alone = _means(judges.avgp(self.blank, list(np.eye(n))))
        self.single = int(np.argmax(np.where(self.blank.phi.factor > 0, alone, -1.0)))
        rows = self._differences(~self.held & ~self.validating)
        names = [UNIFORM, f"{self.single_name} alone", *(ONLINE if len(rows) else ())]
        found = [self._weights(name, rows) for name in names]
        means = _means(judges.avgp(self.blank, found))
        table = sorted(zip(names, means.tolist(), strict=True), key=lambda t: -t[1])
        return table[0][0], table

    def prove(self, learner: str, current: Alike | None) -> tuple[Alike, GateReport]:
        """Return the combination that is to be served, and what held-out queries say of it."""
        proof_w = self._weights(learner, self._differences(~self.held))
        served_w = self._weights(learner, self._differences(np.ones(len(self.held), bool)))
        alike = replace(self.blank, w=served_w, proof=proof_w)
        judges = self._asking(self.held, np.ones(len(self.held), bool))
        if not len(judges):
            return alike, GateReport.unmeasured(SIMILARITY)
        single = np.zeros(len(proof_w))
        single[self.single] = 1.0
        mine, alone = judges.avgp(alike, [proof_w, single])
        before = self.untrained
        even = replace(judges, data=before.framed(self.raw)).avgp(before, [before.w])[0]
        test = wilcoxon(mine, even)
        report = GateReport(
            SIMILARITY, len(judges), float(mine.mean()), float(even.mean()), p=test.p,
            helped=test.helped, harmed=test.harmed, extra={"single": float(alone.mean())},
        )  # fmt: skip
        known, lost = self._current(judges, current)
        report = replace(report, not_compared=lost)
        if known is None:
            return alike, report
        on_common = report.candidate
        return alike, replace(
            report, current=known, candidate_on_common=on_common, n_common=report.n
        )

    def shortlist(self, alike: Alike) -> Shortlist:
        """Choose how candidates are found, and measure on held-out queries what that loses."""
        rest, held = self.grounds.ids[~self.held], self.grounds.ids[self.held]
        chosen = choose_shortlist(self.snapshot, alike, rest)
        return measure_recall(self.snapshot, replace(alike, shortlist=chosen), held)

    def _asking(self, queries: Bool, pictures: Bool) -> Asking:
        parts = np.flatnonzero(queries), np.flatnonzero(pictures)
        return asking(self.grounds, self.data, *parts, QUERIES)

    def _differences(self, among: Bool) -> Floats:
        """Return phi of what belongs to a query less that of what does not."""
        try:
            t = self.grounds.triplets(among, among, TRIPLETS)
        except DataError:
            return np.zeros((0, self.blank.phi.n_components), np.float32)
        found = self.blank.pairs(self.data, t.query, t.first)
        found -= self.blank.pairs(self.data, t.query, t.second)
        return found

    def _weights(self, learner: str, rows: Floats) -> Doubles:
        return weights_of(learner, self.blank.phi, rows, self.single)

    def _current(self, judges: Asking, current: Alike | None) -> tuple[float | None, bool]:
        """Return the mean AvgP of the combination in use, and whether a learnt one cannot be asked.

        Where nothing learnt is in use, all descriptors alike are: not only those asked for now.
        """
        there = set(common_features(self.snapshot, self.snapshot.ids()))
        lost = current is not None and not set(current.descriptors) <= there
        if current is None or lost:
            if set(self.blank.descriptors) == there:
                return None, lost
            current = uniform(self.snapshot)
        ids = self.grounds.ids
        data = stored(self.snapshot, ids, current.descriptors, current.lengths)
        found = replace(judges, data=current.framed(data)).avgp(current, [current.proof])
        return float(found.mean()), lost


def _means(avgp: Doubles) -> Doubles:
    return np.asarray(avgp.mean(axis=1), np.float64)


def _few(n: int, most: int) -> Int:
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


SCALING_PICTURES = 1_000
SCALING_QUERIES = 60
PAIRS = 2_000
LEAST = 0.005
# Longer descriptors are tried in the frames that cost little; what these cost grows with the
# square of a descriptor's length at least.
LONG = 600
_QUICK = (PLAIN, "root", "reduced")


def frames_to_try(view: View) -> tuple[str, ...]:
    """Return the frames that a descriptor may get; a sparse one stays as it is."""
    if hasattr(view, "tocsr"):
        return (PLAIN,)
    return FRAMES if view.shape[1] <= LONG else _QUICK


def choose_frames(
    grounds: Grounds, data: Described, queries: Int, pictures: Int
) -> tuple[Frame, ...]:
    """Return the best frame of each descriptor; the plain one where there is no query to ask.

    Parameters
    ----------
    queries, pictures : positions of those that ask, and of those that frames learn from; some of
        the latter are ranked.
    """
    few = pictures
    if len(few) > SCALING_PICTURES:
        few = np.sort(np.random.default_rng(0).choice(pictures, SCALING_PICTURES, replace=False))
    plain = Framed(data.views, data.have)
    judges = asking(grounds, plain, queries, few, SCALING_QUERIES)
    return tuple(_best(judges, data, v, pictures) for v in range(len(data.views)))


def _best(judges: Asking, data: Described, v: int, pictures: Int) -> Frame:
    rows = data.views[v]
    tried = [Frame.of(kind, rows[pictures]) for kind in frames_to_try(rows)]
    if len(tried) == 1 or not len(judges):
        return tried[0]
    one = Described((rows,), data.have[:, v : v + 1])
    worth = []
    for frame in tried:
        alike = evenly(("",), (frame,), one.only(pictures), PAIRS)
        asked = replace(judges, data=alike.framed(one))
        worth.append(float(asked.avgp(alike, [alike.w]).mean()))
    best = int(np.argmax(worth))
    return tried[best if worth[best] >= worth[0] + LEAST else 0]


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
    """Learn the weights of one learner from differences, scaled to a mean margin of 1.

    Scale changes no order, but judgements go on from these weights by steps of a known length.
    `single` is the component that is best alone.
    """
    if learner == UNIFORM:
        w = even_weights(phi)
    elif learner in ONLINE:
        made = type(ONLINE[learner])(**ONLINE[learner].get_params())
        w = np.where(phi.factor > 0, made.fit(rows).w_, 0.0)
    else:
        w = np.zeros(phi.n_components)
        w[single] = 1.0
    margin = float((rows.astype(np.float64) @ w).mean()) if len(rows) else 0.0
    return w / margin if margin > 0 else w


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """Queries of one kind, and the pictures they rank, by position."""

    grounds: Grounds
    data: Framed
    queries: Int
    pictures: Int

    def __len__(self) -> int:
        return len(self.queries)

    def avgp(self, alike: Alike, weights: Sequence[Doubles]) -> NDArray[np.float64]:
        """Return the AvgP of each query by each of several weights, (weights, queries)."""
        W = np.array(weights, np.float32).T
        out = np.full((len(weights), len(self.queries)), np.nan)
        ranked = self.data.only(self.pictures)
        for start in range(0, len(self.queries), _QUERIES):
            some = self.queries[start : start + _QUERIES]
            relevance = self.grounds.relevance(some, self.pictures)
            queries, away = query_set(relevance), relevance < 0
            scores = alike.compare(self.data.only(some), ranked) @ W
            scores[away] = -np.inf
            for i in range(len(weights)):
                found = average_precisions(np.ascontiguousarray(scores[:, :, i]), queries)
                out[i, start : start + len(some)] = found.avgp
        return out


def asking(grounds: Grounds, data: Framed, queries: Int, pictures: Int, most: int) -> Asking:
    """Return at most so many of the queries that have both pictures that belong and others."""
    usable = []
    for start in range(0, len(queries), _QUERIES):
        some = queries[start : start + _QUERIES]
        relevance = grounds.relevance(some, pictures)
        usable.append(some[(relevance == 1).any(axis=1) & (relevance == 0).any(axis=1)])
    found = np.concatenate([np.zeros(0, np.int64), *usable])
    if len(found) > most:
        found = np.sort(np.random.default_rng(0).choice(found, most, replace=False))
    return Asking(grounds, data, found, pictures)
