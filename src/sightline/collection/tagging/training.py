"""Training: learn which words lie where, prove it on held-out pictures, then serve.

The pictures fall into five parts for ever, one of them held out. Five models each learn from four
parts and say what the fifth shows: thresholds are chosen by what they say, so by pictures that were
not learnt from. The model without the held-out part is the proof: its F over all decisions on
held-out pictures must not be below that of the model in use (less .001) on the words both know,
nor below that of giving every picture the same words. What is served has learnt from everything.
With under 30 held-out pictures there is no proof, and the model is marked `unproven`.

Models of regions, each fitted to some of the pictures and asked about others, here or elsewhere.

Six models are learnt in a training, and none needs another: on a cluster they learn side by side.
What is learnt from goes out once.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.collection.clicks.labels import known_judgements
from sightline.collection.models.lifecycle import (
    GateReport,
    apply_gate,
    publish,
    stored_figures,
)
from sightline.collection.models.versions import REGIONS
from sightline.collection.tagging.dataset import (
    Bools,
    Ground,
    Inputs,
    Int,
    WordList,
    load_ground,
    load_list,
)
from sightline.collection.tagging.model import Placer, load_placer
from sightline.collection.tagging.thresholds import thresholds
from sightline.contracts import Json, Mapper, Part, Progress
from sightline.errors import CollectionError, ParameterError
from sightline.measures.annotation import f_measure
from sightline.measures.splits import FOLDS, HELD_OUT, fold_of
from sightline.regions.examples import fitting
from sightline.regions.scored import ScoredRegionModel
from sightline.store.events import EventLog
from sightline.store.home import Home

PRECISION = 0.9
_MOST_SCENES, _PICTURES_OF_A_SCENE = 20, 15


@dataclass(frozen=True, slots=True)
class RegionOptions:
    """How to learn: `scenes` to tell apart, 0 for as many as the pictures allow.

    `feature` names the kind of regions to learn from; empty for that which most pictures have.
    """

    scenes: int = 0
    force: bool = False
    dry_run: bool = False
    session_cap: int | None = None
    feature: str = ""


@dataclass(frozen=True, slots=True)
class RegionReport:
    """What a training did; `sure` of the `words` can be given with nine in ten right.

    `dropped` counts words of pictures that have more words than regions.
    """

    feature: str
    pictures: int
    words: int
    sure: int
    scenes: int
    proof: GateReport
    without_regions: int
    left_out: int
    rare: int
    frequent: int
    dropped: int
    model: str
    version: int
    unproven: bool
    forced: bool
    seconds: float


def train_regions(
    home: Home,
    options: RegionOptions,
    wait: float,
    progress: Progress,
    compute: Mapper | None = None,
) -> RegionReport:
    """Learn from all pictures with words and regions, and publish if the gate opens.

    The store is locked only while the model is published. `compute` is where models learn, if not
    here.
    """
    begun = time.monotonic()
    if options.scenes < 0:
        raise ParameterError.of("scenes", "train_regions", "0 or more", options.scenes)
    words = load_list(home.folder)
    with home.reader() as reader, contextlib.closing(EventLog(home.events, write=False)) as log:
        before = reader.snapshot.regions
        judgements, _ = known_judgements(log, reader.snapshot, options.session_cap)
        ground = load_ground(reader.snapshot, judgements, words.counts_as(), options.feature)
        current = load_placer(home, before)
    course = _Course(ground, options.scenes, progress, compute)
    placer = course.learn(words)
    proof = course.prove(placer, current)
    forced = apply_gate(proof, force=options.force, dry_run=options.dry_run)
    placer = replace(placer, about={"figures": stored_figures(proof, forced)})
    name, version = before, 0
    if not options.dry_run:
        name, version = publish(
            REGIONS, home, *placer.to_saved(), started_from=before, learned_from=placer.ids,
            note=f"train --regions: {len(placer.terms)} words", wait=wait,
        )  # fmt: skip
    sure = thresholds(placer.margins.astype(np.float64), ground.labels, PRECISION)
    return RegionReport(
        ground.feature, len(ground), len(ground.terms), int(np.isfinite(sure.give).sum()),
        placer.n_scenes, proof, ground.without_regions, ground.left_out, ground.rare,
        ground.frequent, fitting(ground.labels, course.counts)[1], name, version,
        not proof.is_proven, forced, time.monotonic() - begun,
    )  # fmt: skip


class _Course:
    """One training on one ground."""

    def __init__(
        self, ground: Ground, scenes: int, progress: Progress, compute: Mapper | None
    ) -> None:
        self.ground, self.progress, self.compute = ground, progress, compute
        most = max(1, len(ground) // _PICTURES_OF_A_SCENE)
        self.scenes = scenes or min(_MOST_SCENES, most)
        self.fold = fold_of(ground.ids)
        self.counts: Int = np.array([len(x) for x in ground.inputs.X], np.int64)
        if len(ground) < FOLDS:
            raise CollectionError(
                f"Only {len(ground)} pictures with words are cut into regions, and {FOLDS} are "
                "needed to learn where words lie. Give words to more pictures."
            )

    def learn(self, words: WordList) -> Placer:
        """Fit all models, and return what is to be served."""
        g = self.ground
        nothing = np.zeros(0, np.int64)
        courses = {-1: Course(np.arange(len(g)), nothing)}
        for k in range(FOLDS):
            part, rest = np.flatnonzero(self.fold == k), np.flatnonzero(self.fold != k)
            if len(part) and len(rest):
                courses[k] = Course(rest, part)
        self.progress.start("learn where words lie", len(courses))
        margins, asked = np.zeros(g.labels.shape, np.float32), np.ones(g.labels.shape, np.bool_)
        models: dict[int, ScoredRegionModel] = {}
        found = fitted(g.inputs, g.labels, list(courses.values()), self.scenes, self.compute)
        for (k, course), made in zip(courses.items(), found, strict=True):
            margins[course.asked] = made.margins
            asked[course.asked] = made.model.model_.known_
            models[k] = made.model
            self.progress.advance()
        self.progress.finish()
        margins = _lowest_where(margins, ~asked)
        served, proof = models[-1], models.get(HELD_OUT, models[-1])
        marks = g.inputs.marks()
        return Placer(served, proof, g.terms, g.feature, g.ids, margins, g.labels, marks, words)

    def prove(self, placer: Placer, current: Placer | None) -> GateReport:
        """Measure the proof, and that of the model in use, on held-out pictures."""
        g, held = self.ground, self.fold == HELD_OUT
        at = np.flatnonzero(held)
        if not len(at) or held.all():
            return GateReport.unmeasured(REGIONS, given=0, right=0)
        some, truth = g.inputs.only(at), g.labels[at]
        said = placer.proof.predict(some.X, some.whole, some.areas).tags
        promised = thresholds(placer.margins[~held].astype(float), g.labels[~held], PRECISION)
        given = placer.margins[at] >= promised.give
        report = GateReport(
            REGIONS, len(at), f_measure(truth, said).micro, _same_words(g.labels[~held], truth),
            extra={"given": int(given.sum()), "right": int((given & truth).sum())},
        )  # fmt: skip
        if current is None or current.feature != g.feature:
            return report
        both, mine, theirs = np.intersect1d(
            g.terms, current.terms, assume_unique=True, return_indices=True
        )
        if not len(both):
            return report
        other = current.proof.predict(some.X, some.whole, some.areas).tags[:, theirs]
        return replace(
            report,
            current=f_measure(truth[:, mine], other).micro,
            candidate_on_common=f_measure(truth[:, mine], said[:, mine]).micro,
            n_common=len(at),
        )


def _lowest_where(margins: NDArray[np.float32], unknown: Bools) -> NDArray[np.float32]:
    """Return margins, the lowest there is where a model had never learnt the word.

    A rare word may be on too few pictures once a part is left out. What such a model says of it is
    no margin but a refusal, so far below all others that no word could be calibrated with it.
    """
    if not unknown.any() or unknown.all():
        return np.where(unknown, np.float32(0), margins)
    return np.where(unknown, margins[~unknown].min(), margins)


def _same_words(learnt: Bools, truth: Bools) -> float:
    """Return the best F of giving every picture the same, most frequent words."""
    order = np.argsort(-learnt.sum(axis=0), kind="stable")
    values = []
    for k in range(1, min(20, len(order)) + 1):
        said = np.zeros_like(truth)
        said[:, order[:k]] = True
        values.append(f_measure(truth, said).micro)
    return max(values)


Arrays = dict[str, NDArray[Any]]
# Codewords say less than vectors do, and are held shorter.
_WHOLE_ALPHA, _REGION_ALPHA = 0.6, 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """What one model learns from and is asked about: positions of pictures."""

    learnt: Int
    asked: Int


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A model, and the margins of what it was asked about."""

    model: ScoredRegionModel
    margins: NDArray[np.float32]


def fitted(
    inputs: Inputs,
    labels: Bools,
    courses: Sequence[Course],
    scenes: int,
    compute: Mapper | None = None,
) -> Iterator[Outcome]:
    """Yield a model for each course, in order."""
    if compute is None:
        for c in courses:
            yield _fit(inputs, labels, c, scenes)
        return
    held = (compute.hold({"labels": labels, **_sent(inputs)}),)
    parts = (
        Part({"scenes": scenes}, {"learnt": c.learnt, "asked": c.asked}, held) for c in courses
    )
    for done in compute.map(fit_regions, parts):
        arrays = {n: np.asarray(a) for n, a in done.arrays.items()}
        margins = arrays.pop("margins")
        yield Outcome(ScoredRegionModel.from_arrays(arrays), margins)


def fit_regions(
    args: dict[str, Json], arrays: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, Json], Arrays]:
    """Fit one model."""
    course = Course(arrays["learnt"], arrays["asked"])
    made = _fit(_received(arrays), arrays["labels"], course, int(str(args["scenes"])))
    return {}, {**made.model.to_arrays(), "margins": made.margins}


def _fit(inputs: Inputs, labels: Bools, course: Course, scenes: int) -> Outcome:
    some, other = inputs.only(course.learnt), inputs.only(course.asked)
    model = ScoredRegionModel(n_scenes=scenes)
    if some.whole is None:
        model.set_params(whole_alpha=_WHOLE_ALPHA, region_alpha=_REGION_ALPHA)
    model.fit(some.X, labels[course.learnt], some.whole, some.areas)
    margins = np.zeros((0, labels.shape[1]), np.float32)
    if len(course.asked):
        margins = model.decision_function(other.X, other.whole, other.areas).astype(np.float32)
    return Outcome(model, margins)


def _sent(inputs: Inputs) -> Arrays:
    """Return what is seen of pictures as few arrays."""
    counts = np.array([len(x) for x in inputs.X], np.int64)
    out: Arrays = {
        "counts": counts, "rows": np.concatenate(inputs.X), "areas": np.concatenate(inputs.areas)
    }  # fmt: skip
    return out if inputs.whole is None else {**out, "whole": inputs.whole}


def _received(arrays: Mapping[str, NDArray[Any]]) -> Inputs:
    ends = np.cumsum(arrays["counts"])[:-1]
    rows, areas = (np.split(arrays[n], ends) for n in ("rows", "areas"))
    return Inputs(rows, arrays.get("whole"), areas)
