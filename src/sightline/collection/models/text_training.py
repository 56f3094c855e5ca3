"""Training the text model: select by texts, pass the held-out gate, refit, publish.

The rankers with a shared space are tried as those of words are, but each is measured by texts that
ask for pictures and pictures that ask for texts (`text_queries`). The gate compares the candidate
with the untrained order and with the text model in use, never with the word model, which stays as
it is. How that ranks pictures for the same texts is measured too: where it is better, it goes on
answering texts, and the text model serves topics and the texts for a picture.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sightline import plugins
from sightline.collection.models.dataset import MOST_TEXT_WORDS, Dataset, split
from sightline.collection.models.lifecycle import (
    GateReport,
    apply_gate,
    publish,
    stored_figures,
)
from sightline.collection.models.queries import picture_counts
from sightline.collection.models.recipe import Fitted, Recipe
from sightline.collection.models.requirements import fingerprints, needed_features
from sightline.collection.models.saved_words import load_known
from sightline.collection.models.selection import (
    best_recipe,
    candidates,
    screen,
    selected_on,
    trainable_rankers,
)
from sightline.collection.models.text_model import (
    TextModel,
    load_text_model,
    text_curve,
    text_scorer,
)
from sightline.collection.models.text_queries import (
    HELD_OUT_TEXTS,
    TextQueries,
    measure_candidate,
)
from sightline.collection.models.training import fit_twice
from sightline.collection.models.trials import SelectionTask, TrialResult
from sightline.collection.models.versions import TEXT
from sightline.collection.models.word_model import WordModel, load_word_model
from sightline.contracts import Json, Mapper, Progress
from sightline.errors import MissingExtra, UsageError
from sightline.solvers.structural import course_summary
from sightline.store.events import EventLog
from sightline.store.folder import StoreFolder


@dataclass(frozen=True, slots=True)
class TextOptions:
    """Names of rankers with a shared space, and of features, by default all there are.

    `session_cap` is the number of judged pictures that count of one session, None for all.
    """

    rankers: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    force: bool = False
    dry_run: bool = False
    session_cap: int | None = None


@dataclass(frozen=True, slots=True)
class TextReport:
    """The report of a training; `course` describes the rounds of a list-wise ranker."""

    served: Recipe
    proof: GateReport
    table: tuple[TrialResult, ...]
    words: int
    dimensions: int
    pictures: int
    left_out: int
    model: str
    version: int
    unproven: bool
    forced: bool
    seconds: float
    not_tried: tuple[str, ...] = ()
    course: str = ""

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values."""
        return {
            "kind": "text", "ranker": self.served.ranker,
            "features": list[Json](self.served.features),
            "hyperparameters": dict(self.served.settings), "words": self.words,
            "dimensions": self.dimensions, "pictures": self.pictures, "left_out": self.left_out,
            "model": self.model, "version": self.version, "unproven": self.unproven,
            "forced": self.forced, "seconds": round(self.seconds, 3),
            "not_tried": list[Json](self.not_tried), "course": self.course,
            "held_out": self.proof.figures(HELD_OUT_TEXTS), "proof": self.proof.to_dict(),
            "trials": [t.to_dict() for t in self.table],
        }  # fmt: skip


def text_rankers() -> tuple[str, ...]:
    """Return the rankers that map words, texts and pictures into one space."""
    return tuple(name for name, entry in plugins.rankers().items() if entry.shared_space)


def check_text_rankers(rankers: Sequence[str]) -> None:
    """Raise for a ranker without a shared space."""
    known = text_rankers()
    for name in rankers:
        if name.partition(":")[0] not in known:
            raise UsageError(
                f"The ranker {name!r} has no space of texts. Those that do: {', '.join(known)}."
            )


def train_text(
    store_folder: StoreFolder,
    options: TextOptions,
    wait: float,
    progress: Progress,
    compute: Mapper | None = None,
) -> TextReport:
    """Train on all pictures with words, and publish if the gate opens.

    The store is locked only while the model is published. `compute` is where to learn, if not here.
    """
    started = time.monotonic()
    rankers = options.rankers or text_rankers()
    check_text_rankers(rankers)
    with (
        store_folder.reader() as reader,
        contextlib.closing(EventLog(store_folder.events, write=False)) as log,
    ):
        before = reader.snapshot.text
        current, unloadable = _in_use(store_folder, before)
        words = _word_model(store_folder, reader.snapshot.model)
        # What the models in use need is loaded too, to compare with them.
        needed = needed_features(options.features, current, words)
        dataset, _ = load_known(
            reader, log, needed, MOST_TEXT_WORDS, options.session_cap, shared_space=True
        )
    selected = _select(dataset, rankers, fingerprints(dataset, options.features), progress, compute)
    recipes = [selected.recipe] * (1 if options.dry_run else 2)
    fits = fit_twice(dataset, recipes, progress, compute)
    candidate, proof_seen = next(fits), not _is_provable(dataset)
    held = TextQueries.held_out(dataset)
    proof = GateReport.unmeasured(TEXT)
    if not proof_seen:
        proof = measure_candidate(held, candidate, current, words)
    proof = replace(proof, not_compared=True) if unloadable else proof
    forced = apply_gate(proof, force=options.force, dry_run=options.dry_run)
    name, version = before, 0
    if not options.dry_run:
        model = _model(dataset, candidate, next(fits))
        about: dict[str, Json] = {
            "basis": dataset.basis(), "proof_seen": proof_seen, "words": dataset.n_words,
            "figures": stored_figures(proof, forced, trained=int(time.time())),
        }  # fmt: skip
        name, version = publish(
            TEXT, store_folder, *replace(model, about=about).to_saved(),
            started_from=before, learned_from=dataset.ids,
            note=f"train text: {selected.recipe}", wait=wait, progress=progress,
            scorer=text_scorer,
        )  # fmt: skip
    return TextReport(
        selected.recipe, proof, selected.table, dataset.n_words,
        candidate.word_points(np.zeros(1, np.int64)).shape[1], len(dataset), dataset.left_out,
        name, version, not proof.is_proven, forced, time.monotonic() - started,
        selected.not_tried, course_summary(candidate.arrays),
    )  # fmt: skip


def _in_use(store_folder: StoreFolder, name: str) -> tuple[TextModel | None, bool]:
    """Return the model in use, and whether there is one whose ranker is not installed any more."""
    try:
        return load_text_model(store_folder, name), False
    except MissingExtra:
        return None, True


def _word_model(store_folder: StoreFolder, name: str) -> WordModel | None:
    try:
        return load_word_model(store_folder, name)
    except MissingExtra:
        return None


@dataclass(frozen=True, slots=True)
class _Selected:
    recipe: Recipe
    table: tuple[TrialResult, ...] = ()
    not_tried: tuple[str, ...] = ()


def _select(
    dataset: Dataset,
    rankers: Sequence[str],
    features: Sequence[str] | None,
    progress: Progress,
    compute: Mapper | None,
) -> _Selected:
    """Select the recipe by texts of validation pictures."""
    held, validating = split(dataset)
    training = dataset.only(selected_on(np.flatnonzero(~held & ~validating)))
    validation = dataset.only(selected_on(np.flatnonzero(validating)))
    can, cannot = trainable_rankers(dataset, rankers, features)
    if not can:
        raise UsageError("No ranker can learn here. " + "; ".join(cannot) + ".")
    known = picture_counts(training.labels) > 0
    if not known.any() or not len(TextQueries.of(validation, known)):
        # The most regularised one, for too few pictures to validate by.
        return _Selected(candidates(dataset, can[-1:], features)[-1], (), tuple(cannot))
    task = SelectionTask.of(training, validation, known, texts=True)
    passing, first = screen(can, features, task, progress, compute)
    best = best_recipe(candidates(training, passing, features), task, progress, first, compute)
    return _Selected(best.fitted.recipe, best.table, (*cannot, *best.not_tried))


def _is_provable(dataset: Dataset) -> bool:
    """Say whether anything can be learned from the pictures that are not held out."""
    return bool(picture_counts(dataset.labels[~split(dataset)[0]]).any())


def _model(dataset: Dataset, proof: Fitted, served: Fitted) -> TextModel:
    held = dataset.only(split(dataset)[0])
    curve = text_curve(proof, held if len(held) > 1 else dataset)
    return TextModel("", {}, dataset.terms, served, proof, curve, dataset.aliases)
