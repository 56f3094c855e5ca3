"""Training of the region model: which region of a picture each of its words describes.

The pictures have fixed folds, five of them, one held out. Five models are fitted to four folds each
and predict the fifth; thresholds are chosen on these predictions. The model without the held-out
fold is the proof: its micro F on held-out pictures goes through the gate of `lifecycle`, against
the model in use on the words both know, and against the baseline of the same words for every
picture. The served model is a sixth one, fitted to everything.

The six fits are independent, so a cluster runs them in parallel. The data set is sent once.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Arrays, Bools, Ints
from sightline.collection.clicks.labels import known_judgements
from sightline.collection.models.evidence import gather_evidence
from sightline.collection.models.lifecycle import (
    GateReport,
    apply_gate,
    publish,
    stored_figures,
)
from sightline.collection.models.versions import REGIONS
from sightline.collection.tagging.dataset import (
    Inputs,
    RegionDataset,
    WordList,
    load_region_dataset,
    region_words,
)
from sightline.collection.tagging.model import RegionTagger, load_region_tagger
from sightline.collection.tagging.thresholds import thresholds
from sightline.contracts import Json, Mapper, Part, Progress
from sightline.errors import CollectionError, ParameterError
from sightline.measures.annotation import f_measure
from sightline.measures.splits import FOLDS, HELD_OUT, fold_of
from sightline.regions.examples import fitting
from sightline.regions.scored import ScoredRegionModel
from sightline.store.events import EventLog
from sightline.store.folder import StoreFolder

PRECISION = 0.9
_MOST_SCENES, _PICTURES_OF_A_SCENE = 20, 15


@dataclass(frozen=True, slots=True)
class RegionOptions:
    """Options of a training: the number of `scenes`, 0 for a default by the number of pictures.

    `feature` names the kind of regions to learn from; empty for the one that most pictures have.
    """

    scenes: int = 0
    force: bool = False
    dry_run: bool = False
    session_cap: int | None = None
    feature: str = ""


# Figures of the held-out pictures, with the fields of `GateReport`.
_HELD_OUT = {
    "pictures": "n", "f": "candidate", "same_words": "baseline", "current": "current",
    "against_current": "candidate_on_common", "suggested": "given", "right": "right",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RegionReport:
    """The report of a training; `sure` of the `words` can be proposed with a precision of .9.

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

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values; `proof` has the names that earlier releases had."""
        return {
            "kind": "regions", "feature": self.feature, "features": [self.feature],
            "pictures": self.pictures, "words": self.words, "sure": self.sure,
            "scenes": self.scenes, "without_regions": self.without_regions,
            "left_out": self.left_out, "rare": self.rare, "frequent": self.frequent,
            "dropped": self.dropped, "model": self.model, "version": self.version,
            "unproven": self.unproven, "forced": self.forced, "seconds": round(self.seconds, 3),
            "held_out": self.proof.figures(_HELD_OUT), "proof": self.proof.to_dict(),
        }  # fmt: skip


def train_regions(
    store_folder: StoreFolder,
    options: RegionOptions,
    wait: float,
    progress: Progress,
    compute: Mapper | None = None,
) -> RegionReport:
    """Learn from all pictures with words and regions, and publish if the gate opens.

    The store is locked only while the model is published. `compute` runs the fits, if it is given.
    """
    started = time.monotonic()
    if options.scenes < 0:
        raise ParameterError.of("scenes", "train_regions", "0 or more", options.scenes)
    with (
        store_folder.reader() as reader,
        contextlib.closing(EventLog(store_folder.events, write=False)) as log,
    ):
        before, words = reader.snapshot.regions, region_words(reader)
        judgements, _ = known_judgements(log, reader.snapshot, options.session_cap)
        dataset = load_region_dataset(
            reader.snapshot, judgements, words.counts_as(), options.feature,
            gather_evidence(reader, judgements),
        )  # fmt: skip
        current = load_region_tagger(store_folder, before)
    training = _RegionTraining(dataset, options.scenes, progress, compute)
    tagger = training.learn(words)
    proof = training.measure(tagger, current)
    forced = apply_gate(proof, force=options.force, dry_run=options.dry_run)
    tagger = replace(tagger, about={"figures": stored_figures(proof, forced)})
    name, version = before, 0
    if not options.dry_run:
        name, version = publish(
            REGIONS, store_folder, *tagger.to_saved(), started_from=before, learned_from=tagger.ids,
            note=f"train --regions: {len(tagger.terms)} words", wait=wait,
        )  # fmt: skip
    sure = thresholds(tagger.margins.astype(np.float64), dataset.labels, PRECISION)
    return RegionReport(
        dataset.feature, len(dataset), len(dataset.terms), int(np.isfinite(sure.give).sum()),
        tagger.n_scenes, proof, dataset.without_regions, dataset.left_out, dataset.rare,
        dataset.frequent, fitting(dataset.labels, training.counts)[1], name, version,
        not proof.is_proven, forced, time.monotonic() - started,
    )  # fmt: skip


class _RegionTraining:
    """One training on one data set."""

    def __init__(
        self, dataset: RegionDataset, scenes: int, progress: Progress, compute: Mapper | None
    ) -> None:
        self.dataset, self.progress, self.compute = dataset, progress, compute
        most = max(1, len(dataset) // _PICTURES_OF_A_SCENE)
        self.scenes = scenes or min(_MOST_SCENES, most)
        self.fold = fold_of(dataset.ids)
        self.counts: Ints = np.array([len(x) for x in dataset.inputs.X], np.int64)
        if len(dataset) < FOLDS:
            raise CollectionError(
                f"Only {len(dataset)} pictures with words are cut into regions, and {FOLDS} are "
                "needed to train the region model. Give words to more pictures."
            )

    def learn(self, words: WordList) -> RegionTagger:
        """Fit all models, and return the one to be served."""
        g = self.dataset
        nothing = np.zeros(0, np.int64)
        folds = {-1: TrainingFold(np.arange(len(g)), nothing)}
        for k in range(FOLDS):
            part, rest = np.flatnonzero(self.fold == k), np.flatnonzero(self.fold != k)
            if len(part) and len(rest):
                folds[k] = TrainingFold(rest, part)
        self.progress.start("train regions", len(folds))
        margins, is_known = np.zeros(g.labels.shape, np.float32), np.ones(g.labels.shape, np.bool_)
        models: dict[int, ScoredRegionModel] = {}
        fits = fitted(g.inputs, g.labels, list(folds.values()), self.scenes, self.compute)
        for (k, fold), fitted_fold in zip(folds.items(), fits, strict=True):
            margins[fold.test] = fitted_fold.margins
            is_known[fold.test] = fitted_fold.model.model_.known_
            models[k] = fitted_fold.model
            self.progress.advance()
        self.progress.finish()
        margins = _lowest_where(margins, ~is_known)
        served, proof = models[-1], models.get(HELD_OUT, models[-1])
        marks = g.inputs.marks()
        return RegionTagger(
            served, proof, g.terms, g.feature, g.ids, margins, g.labels, marks, words
        )

    def measure(self, tagger: RegionTagger, current: RegionTagger | None) -> GateReport:
        """Measure the proof, and that of the model in use, on held-out pictures."""
        g, is_held_out = self.dataset, self.fold == HELD_OUT
        held_out = np.flatnonzero(is_held_out)
        if not len(held_out) or is_held_out.all():
            return GateReport.unmeasured(REGIONS, {"given": 0, "right": 0})
        some, truth = g.inputs.only(held_out), g.labels[held_out]
        predicted = tagger.proof.predict(some.X, some.whole, some.areas).tags
        promised = thresholds(
            tagger.margins[~is_held_out].astype(float), g.labels[~is_held_out], PRECISION
        )
        proposed = tagger.margins[held_out] >= promised.give
        report = GateReport(
            REGIONS, len(held_out), f_measure(truth, predicted).micro,
            _same_words(g.labels[~is_held_out], truth),
            extra={"given": int(proposed.sum()), "right": int((proposed & truth).sum())},
        )  # fmt: skip
        if current is None or current.feature != g.feature:
            return report
        common, ours, of_current = np.intersect1d(
            g.terms, current.terms, assume_unique=True, return_indices=True
        )
        if not len(common):
            return report
        by_current = current.proof.predict(some.X, some.whole, some.areas).tags
        return replace(
            report,
            current=f_measure(truth[:, ours], by_current[:, of_current]).micro,
            candidate_on_common=f_measure(truth[:, ours], predicted[:, ours]).micro,
            n_common=len(held_out),
        )


def _lowest_where(margins: NDArray[np.float32], unknown: Bools) -> NDArray[np.float32]:
    """Return margins, with the overall minimum where a model does not know the word.

    A rare word may be on too few pictures once a fold is left out. The margin of a model that does
    not know it is so far below all others that no word could be calibrated with it.
    """
    if not unknown.any() or unknown.all():
        return np.where(unknown, np.float32(0), margins)
    return np.where(unknown, margins[~unknown].min(), margins)


def _same_words(training: Bools, truth: Bools) -> float:
    """Return the best F of giving every picture the same, most frequent words."""
    order = np.argsort(-training.sum(axis=0), kind="stable")
    values = []
    for k in range(1, min(20, len(order)) + 1):
        predicted = np.zeros_like(truth)
        predicted[:, order[:k]] = True
        values.append(f_measure(truth, predicted).micro)
    return max(values)


# Codewords carry less information than vectors and need more regularisation.
_WHOLE_ALPHA, _REGION_ALPHA = 0.6, 0.3


@dataclass(frozen=True, slots=True, eq=False)
class TrainingFold:
    """The pictures that one model is fitted to, and those it predicts, by position."""

    train: Ints
    test: Ints


@dataclass(frozen=True, slots=True, eq=False)
class FittedFold:
    """A fitted model, and the margins it predicts."""

    model: ScoredRegionModel
    margins: NDArray[np.float32]


def fitted(
    inputs: Inputs,
    labels: Bools,
    folds: Sequence[TrainingFold],
    scenes: int,
    compute: Mapper | None = None,
) -> Iterator[FittedFold]:
    """Yield a model for each fold, in order."""
    if compute is None:
        for c in folds:
            yield _fit(inputs, labels, c, scenes)
        return
    held = (compute.hold({"labels": labels, **_inputs_arrays(inputs)}),)
    parts = (Part({"scenes": scenes}, {"train": c.train, "test": c.test}, held) for c in folds)
    for done in compute.map(fit_regions, parts):
        arrays = {n: np.asarray(a) for n, a in done.arrays.items()}
        margins = arrays.pop("margins")
        yield FittedFold(ScoredRegionModel.from_arrays(arrays), margins)


def fit_regions(
    args: dict[str, Json], arrays: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, Json], Arrays]:
    """Fit one model."""
    fold = TrainingFold(arrays["train"], arrays["test"])
    fitted_fold = _fit(_inputs_of(arrays), arrays["labels"], fold, int(str(args["scenes"])))
    return {}, {**fitted_fold.model.to_arrays(), "margins": fitted_fold.margins}


def _fit(inputs: Inputs, labels: Bools, fold: TrainingFold, scenes: int) -> FittedFold:
    training, test = inputs.only(fold.train), inputs.only(fold.test)
    model = ScoredRegionModel(n_scenes=scenes)
    if training.whole is None:
        model.set_params(whole_alpha=_WHOLE_ALPHA, region_alpha=_REGION_ALPHA)
    model.fit(training.X, labels[fold.train], training.whole, training.areas)
    margins = np.zeros((0, labels.shape[1]), np.float32)
    if len(fold.test):
        margins = model.decision_function(test.X, test.whole, test.areas).astype(np.float32)
    return FittedFold(model, margins)


def _inputs_arrays(inputs: Inputs) -> Arrays:
    """Return the inputs as few arrays."""
    counts = np.array([len(x) for x in inputs.X], np.int64)
    out: Arrays = {
        "counts": counts, "rows": np.concatenate(inputs.X), "areas": np.concatenate(inputs.areas)
    }  # fmt: skip
    return out if inputs.whole is None else {**out, "whole": inputs.whole}


def _inputs_of(arrays: Mapping[str, NDArray[Any]]) -> Inputs:
    ends = np.cumsum(arrays["counts"])[:-1]
    rows, areas = (np.split(arrays[n], ends) for n in ("rows", "areas"))
    return Inputs(rows, arrays.get("whole"), areas)
