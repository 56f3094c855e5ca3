"""Training word models: select, pass the held-out gate, refit, publish.

By default the quick model (`quick`) is trained; of named rankers the best on validation pictures.

The candidate is selected and fitted without the held-out pictures, and goes through the gate of
`lifecycle`: it must be below neither the model in use, on the held-out queries both know, nor the
untrained order, on all of them. What is served is the same recipe, fitted to everything.

Words saved from judging sessions are learned beside the ordinary ones (`saved_words`), and each is
reported by itself. Where there are no ordinary words, the whole training is of saved ones; several
rankers are then tried only if there are enough validation queries to select by.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sightline import plugins
from sightline._typing import Arrays, Floats
from sightline.collection.clicks.labels import FromClicks
from sightline.collection.models.dataset import MOST_TEXT_WORDS, MOST_WORDS, Dataset, split
from sightline.collection.models.few_tags import NamedWords, helped, named_words
from sightline.collection.models.halving import Budget, SearchSummary, search
from sightline.collection.models.held_out import HeldOutQueries, measure_candidate
from sightline.collection.models.lifecycle import (
    GateReport,
    apply_gate,
    publish,
    stored_figures,
)
from sightline.collection.models.online import OnlineSpace, learn_space
from sightline.collection.models.probabilities import CROSS_FITTED, calibrated
from sightline.collection.models.queries import idf_in, picture_counts
from sightline.collection.models.quick import quick_model
from sightline.collection.models.recipe import (
    SAVED_BY,
    Fitted,
    Recipe,
    fit,
    no_scores,
    ranker_spec,
)
from sightline.collection.models.remote import fit_remote, is_sharded
from sightline.collection.models.requirements import fingerprints, needed_features
from sightline.collection.models.saved_words import (
    JointVocabulary,
    SavedWord,
    SavedWordModel,
    learn_saved,
    load_known,
    saved_report,
)
from sightline.collection.models.selection import Selection, select
from sightline.collection.models.streaming import fit_streamed, select_streamed
from sightline.collection.models.suspected import TagProbabilities
from sightline.collection.models.text_model import FITS, text_curve
from sightline.collection.models.trials import TrialResult, note_rounds
from sightline.collection.models.versions import WORDS
from sightline.collection.models.word_model import (
    KnownScores,
    WordModel,
    bytes_per_row,
    load_word_model,
    segment_scorer,
    to_saved,
    within_budget,
)
from sightline.contracts import Json, Mapper, Progress
from sightline.errors import Interrupted, MissingExtra, NotBetter
from sightline.progress import NoProgress
from sightline.registry import BY_DEFAULT, RANKERS
from sightline.solvers.structural import course_summary
from sightline.store.events import EventLog
from sightline.store.folder import StoreFolder
from sightline.words.combination import Combination

# The built-in rankers that are tried if none is named.
DEFAULT_RANKERS = BY_DEFAULT


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """Names of rankers and features to select from, by default all there are.

    `session_cap` is the number of judged pictures that count of one session, None for all; `shards`
    the number of data-parallel parts, for rankers that have them. With a `budget`, the quick model
    is published first, and then searched for a better one. `memory` are the bytes that learning may
    take before rows stay on the disk (`streaming`), 0 for any number.
    """

    rankers: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    force: bool = False
    dry_run: bool = False
    session_cap: int | None = None
    shards: int = 1
    budget: Budget | None = None
    memory: int = 0


# Figures of the held-out pictures, with the fields of `GateReport`.
_HELD_OUT = {
    "queries": "n", "avgp": "candidate", "untrained": "baseline", "p": "p", "helped": "helped",
    "harmed": "harmed", "harmed_rate": "harmed_rate",
    "significantly_harmed": "significantly_harmed", "p10": "p10", "bep": "bep",
    "current": "current", "against_current": "candidate_on_common", "common_queries": "n_common",
    "not_compared": "not_compared",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TrainReport:
    """The report of a training.

    `served` is the recipe as a record, `recipe` as text; `course` describes the rounds of a
    list-wise ranker; `saved` are the words that were saved from judging sessions. `suspected`
    counts the tags that are probably wrong; None where that is unknown. `search` says what a search
    did.
    """

    recipe: str
    how: str
    proof: GateReport
    table: tuple[TrialResult, ...]
    words: int
    pictures: int
    left_out: int
    model: str
    version: int
    unproven: bool
    forced: bool
    seconds: float
    not_tried: tuple[str, ...] = ()
    clicks: FromClicks = field(default_factory=FromClicks)
    course: str = ""
    saved: tuple[SavedWord, ...] = ()
    served: Recipe | None = None
    suspected: int | None = None
    search: SearchSummary | None = None

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values, also under the names that earlier releases had."""
        served, p = self.served, self.proof
        trials = [t.to_dict() for t in self.table]
        tried = [_earlier_trial(t) for t in trials]
        return {
            "kind": "words",
            "ranker": served.ranker if served else "",
            "features": list[Json](served.features) if served else [],
            "hyperparameters": dict(served.settings) if served else {},
            "combination": self.how, "words": self.words, "pictures": self.pictures,
            "left_out": self.left_out, "model": self.model, "version": self.version,
            "unproven": self.unproven, "forced": self.forced, "seconds": round(self.seconds, 3),
            "not_tried": list[Json](self.not_tried), "course": self.course,
            "saved": [w.to_dict() for w in self.saved], "suspected": self.suspected,
            "clicks": {
                "judgements": len(self.clicks.judgements), "lists": self.clicks.lists,
                "imports": self.clicks.imports, "capped": self.clicks.capped,
            },
            "held_out": p.figures(_HELD_OUT), "trials": list[Json](trials),
            "search": None if self.search is None else self.search.to_dict(),
            # Names of earlier releases: of the command line, and of jobs of the service.
            "chosen": self.recipe, "recipe": self.recipe, "words_combined_by": self.how,
            "how": self.how, "tried": list[Json](tried), "table": list[Json](tried),
            "proof": {**p.to_dict(), **p.figures({"queries": "n", "AvgP": "candidate"})},
        }  # fmt: skip


def _earlier_trial(trial: dict[str, Json]) -> dict[str, Json]:
    """Return a trial under the names that earlier releases had."""
    named = {name: trial[name] for name in ("ranker", "features")}
    settings = trial["hyperparameters"]
    return {
        **trial, "settings": settings, "words_combined_by": trial["combination"],
        "how": trial["combination"], "AvgP": trial["avgp"], "P10": trial["p10"],
        "BEP": trial["bep"], "ms_per_1000": trial["query_ms"], "memory": trial["bytes"],
        "recipe": {**named, "settings": settings},
    }  # fmt: skip


def train(
    store_folder: StoreFolder,
    options: TrainOptions,
    wait: float,
    progress: Progress,
    compute: Mapper | None = None,
) -> TrainReport:
    """Train on all present labels, and publish if the gate opens.

    Without named rankers the quick model is trained. The store is locked only while the model is
    published: pictures may be indexed and judged meanwhile, and an interrupted training leaves
    everything as it was. `compute` is where to learn and score, if not here.
    """
    started = time.monotonic()
    run = _WordTraining(store_folder, options, wait, progress, compute, started)
    if options.budget is None:
        known = run.gathered()
        return run.published(known, run.selected(known))
    return run.searched(options.budget)


@dataclass(frozen=True, slots=True, eq=False)
class _Evidence:
    """What there is to learn from, and the model in use when that was read."""

    dataset: Dataset
    clicks: FromClicks
    spelled: Mapping[int, str]
    before: str
    current: WordModel | None
    unloadable: bool
    rankers: tuple[str, ...]
    most_words: int
    named: NamedWords | None
    last_event: int
    last_picture: int


@dataclass(frozen=True, slots=True, eq=False)
class _FittedSelection:
    """What was selected, its proof, and how what is served is fitted.

    `held_out` are the proof's scores of the held-out pictures, if they are known; `serve` also
    returns the scores of the pictures that the served model was fitted to.
    """

    selection: Selection
    proof: Fitted
    serve: Callable[[], tuple[Fitted, KnownScores | None]]
    held_out: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _WordTraining:
    """A training under way."""

    store_folder: StoreFolder
    options: TrainOptions
    wait: float
    progress: Progress
    compute: Mapper | None
    started: float

    def gathered(self) -> _Evidence:
        """Return what there is to learn from now."""
        options, store_folder = self.options, self.store_folder
        store_folder.require_indexed()
        with contextlib.closing(EventLog(store_folder.events, write=False)) as log:
            # Before the version is read: what comes between may count twice, but is not lost.
            last_event = log.last_seq()
        with (
            store_folder.reader() as reader,
            contextlib.closing(EventLog(store_folder.events, write=False)) as log,
        ):
            before, ids = reader.snapshot.model, reader.snapshot.ids()
            current, unloadable = _current_model(store_folder, before)
            rankers = _in_shards(options.rankers or _default_rankers(), options.shards)
            needed, most = needed_features(options.features, current), _most_words(rankers)
            shared = any(ranker_spec(r).shared_space for r in rankers)
            dataset, clicks = load_known(
                reader, log, needed, most, options.session_cap, shared, options.memory
            )
            spelled = dict(reader.catalogue.terms())
            named = named_words(reader, dataset, spelled)
        return _Evidence(
            dataset, clicks, spelled, before, current, unloadable, rankers, most, named,
            last_event, int(ids[-1]) if len(ids) else 0,
        )  # fmt: skip

    def selected(self, known: _Evidence) -> _FittedSelection:
        """Return the quick model, its few-tag words helped, or what is best of named rankers."""
        is_quick = not self.options.rankers or self.options.budget is not None
        chosen = self._selected(known, is_quick)
        if not is_quick or known.named is None:
            return chosen
        held = split(known.dataset)[0] & _provable(replace(known.dataset, views={}))[1]
        proof, held_out, serve = helped(
            chosen.proof, chosen.held_out, chosen.serve, known.dataset, held, known.named
        )
        return replace(chosen, proof=proof, held_out=held_out, serve=serve)

    def _selected(self, known: _Evidence, is_quick: bool) -> _FittedSelection:
        progress, compute = self.progress, self.compute
        dataset, names = known.dataset, fingerprints(known.dataset, self.options.features)
        if dataset.is_streamed:
            rankers = known.rankers if self.options.rankers else (SAVED_BY,)
            selection = select_streamed(dataset, rankers, names, progress, compute)
            return self.fitted(known, selection)
        quick = None
        if is_quick and dataset.unlabelled is None:
            quick = quick_model(dataset, names, progress)
        if quick is not None and quick.proof is not None and quick.serve is not None:
            return _FittedSelection(quick.selection, quick.proof, quick.serve, quick.held_out)
        rankers = (SAVED_BY,) if is_quick else known.rankers
        selected = quick.selection if quick else select(dataset, rankers, names, progress, compute)
        return self.fitted(known, selected)

    def fitted(self, known: _Evidence, selection: Selection) -> _FittedSelection:
        """Return what was selected, fitted as its recipe says."""
        served = selection.served or selection
        recipes = [selection.recipe, *([] if self.options.dry_run else [served.recipe])]
        fits = fit_twice(known.dataset, recipes, self.progress, self.compute)
        proof = next(fits)
        if known.dataset.is_streamed:
            # Alpha and the number of landmarks were chosen by the fit.
            selection = replace(selection, recipe=proof.recipe, served=None)
        return _FittedSelection(selection, proof, lambda: (next(fits), None))

    def published(self, known: _Evidence, selected: _FittedSelection) -> TrainReport:
        """Measure what was selected, and if the gate opens, fit it to everything and publish it."""
        options, dataset, selection = self.options, known.dataset, selected.selection
        candidate, how = selected.proof, selection.combination.how
        stacked = bool(ranker_spec(candidate.recipe.ranker).stacked_class)
        needs_rows = candidate.unseen is None or (stacked and len(dataset) <= CROSS_FITTED)
        bare = dataset if needs_rows else replace(dataset, views={})
        of_proof = calibrated(how, candidate, _provable(bare)[0], selection.combination)
        proof, proof_seen = _proven(known, selected, of_proof, self.compute)
        forced = apply_gate(proof, force=options.force, dry_run=options.dry_run)
        candidate = replace(candidate, left_out=no_scores, below=no_scores)
        selected = replace(selected, proof=candidate, held_out=None)
        course = course_summary(candidate.arrays)
        served, fitted, scores = selection.served or selection, None, None
        if not options.dry_run:
            fitted, scores = selected.serve()
        saved = saved_report(dataset, candidate, of_proof, known.spelled, fitted)
        tags = None if fitted is None else TagProbabilities.of(dataset, fitted)
        extra = None
        if dataset.saved is not None:
            extra = learn_saved(dataset.saved, selection.recipe.features, known.spelled)
            saved = extra.words
        n_words = dataset.n_words + (dataset.saved.n_words if dataset.saved is not None else 0)
        name, version = known.before, 0
        if fitted is not None:
            of_served = calibrated(how, fitted, bare, served.combination)
            served = replace(served, combination=of_served)
            online = learn_space(dataset, fitted, served.combination)
            fitted = replace(fitted, left_out=no_scores, below=no_scores)
            unproven = [w.term for w in saved if not w.is_proven]
            about, arrays = make_model(
                dataset, served, fitted, candidate, of_proof, extra, tags, unproven, online
            )
            about["words"], about["proof_seen"] = n_words, proof_seen
            about["figures"] = _figures(proof, selection.table, forced)
            # From here on the rows are those of the written model.
            del selected, candidate, fitted
            name, version = self._put_in_use(known, about, arrays, str(served.recipe), scores)
        return TrainReport(
            str(served.recipe), how, proof, selection.table, n_words, len(dataset),
            dataset.left_out, name, version, not proof.is_proven, forced,
            time.monotonic() - self.started, selection.not_tried, known.clicks, course, saved,
            served.recipe, None if tags is None else tags.suspected,
        )  # fmt: skip

    def _put_in_use(
        self,
        known: _Evidence,
        about: dict[str, Json],
        arrays: Arrays,
        recipe: str,
        scores: KnownScores | None,
    ) -> tuple[str, int]:
        """Save a model and publish it; the rows of the data set are not needed any more."""
        about["basis"], about["most_words"] = known.dataset.basis(), known.most_words
        about["learned_until"], about["last_picture"] = known.last_event, known.last_picture
        known.dataset.views.clear()
        return publish(
            WORDS, self.store_folder, about, arrays,
            started_from=known.before, learned_from=_learned_from(known.dataset),
            note=f"train: {recipe}", wait=self.wait, progress=self.progress,
            scorer=lambda model: segment_scorer(model, self.compute, scores),
        )  # fmt: skip

    def searched(self, budget: Budget) -> TrainReport:
        """Publish the quick model, then what a search selects, if it is better."""
        known, first = self.gathered(), None
        try:
            first = self.published(known, self.selected(known))
        except NotBetter as e:
            harmful = e
        known = self.gathered()
        if first is not None and known.dataset.unlabelled is not None:
            # Words of sessions have one recipe.
            return first
        try:
            selection, summary = search(
                known.dataset, known.rankers, fingerprints(known.dataset, self.options.features),
                None if first is None else first.served, budget,
                None if self.options.dry_run else self.store_folder.path,
                self.progress, self.compute,
            )  # fmt: skip
            if selection is not None:
                try:
                    better = self.published(known, self.fitted(known, selection))
                    return replace(better, search=replace(summary, improved=True))
                except NotBetter as e:
                    harmful = e
        except KeyboardInterrupt:
            in_use = "The quick model is in use, and finished" if first else "Finished"
            raise Interrupted(
                f"Cancelled. {in_use} trials are kept. To resume: sightline train --search"
            ) from None
        if first is None:
            raise harmful
        table = summary.table or first.table
        return replace(first, table=table, not_tried=summary.not_tried, search=summary)


def _proven(
    known: _Evidence, selected: _FittedSelection, combination: Combination, compute: Mapper | None
) -> tuple[GateReport, bool]:
    """Measure the choice, fitted without the held-out pictures, on them.

    Also return whether it was fitted to them, for lack of others: then it is no proof.
    """
    if not _provable(replace(known.dataset, views={}))[1]:
        report, seen = GateReport.unmeasured(WORDS), True
    else:
        held, seen = HeldOutQueries.of(known.dataset), False
        report = measure_candidate(
            held, selected.proof, combination, known.current, compute, selected.held_out
        )
    return (replace(report, not_compared=True) if known.unloadable else report), seen


def _current_model(store_folder: StoreFolder, name: str) -> tuple[WordModel | None, bool]:
    """Return the model in use, and whether there is one whose ranker is not installed any more."""
    try:
        return load_word_model(store_folder, name), False
    except MissingExtra:
        return None, True


def is_trained(store_folder: StoreFolder, session_cap: int | None = None, memory: int = 0) -> bool:
    """Return whether the model in use was trained on all present labels."""
    with (
        store_folder.reader() as reader,
        contextlib.closing(EventLog(store_folder.events, write=False)) as log,
    ):
        model = load_word_model(store_folder, reader.snapshot.model)
        if model is None:
            return False
        most = int(str(model.about.get("most_words", MOST_WORDS)))
        shared = model.served.shared_space
        dataset, _ = load_known(reader, log, (), most, session_cap, shared, memory)
        return dataset.basis() == model.about["basis"]


def _default_rankers() -> tuple[str, ...]:
    """Return the rankers that are tried where none is named, those of plugins last."""
    added = (n for n, entry in plugins.rankers().items() if n not in RANKERS and not entry.opt_in)
    return (*DEFAULT_RANKERS, *added)


def _in_shards(rankers: Sequence[str], shards: int) -> tuple[str, ...]:
    """Return rankers, those that can learn in shards with how many."""
    if shards == 1:
        return tuple(rankers)
    return tuple(f"{r}:{shards}" if ranker_spec(r).option == "shards" else r for r in rankers)


def fit_twice(
    dataset: Dataset, recipes: Sequence[Recipe], progress: Progress, compute: Mapper | None
) -> Iterator[Fitted]:
    """Yield one recipe fitted without held-out pictures, and another, if any, to everything.

    Remotely, the same recipe is fitted to both at the same time.
    """
    if dataset.is_streamed:
        held = split(dataset)[0] & _provable(dataset)[1]
        parts = [~held, held][: len(recipes)]
        yield from fit_streamed(recipes[0], dataset, parts, progress)
        return
    recipe, datasets = recipes[0], [_provable(dataset)[0], dataset][: len(recipes)]
    if compute is not None and not is_sharded(recipe) and len(set(recipes)) == 1:
        fits = fit_remote(recipe, datasets, compute)
        for what in ("prove", "fit")[: len(datasets)]:
            progress.start(what, 1)
            fitted = next(fits)
            progress.advance()
            progress.finish()
            yield fitted
        return
    # Rankers without rounds show no progress for the proof.
    silent = not ranker_spec(recipe.ranker).shared_space
    yield _fitted(recipe, datasets[0], "prove", NoProgress() if silent else progress, compute)
    for other, rest in zip(recipes[1:], datasets[1:], strict=True):
        yield _fitted(other, rest, "fit", progress, compute)


def _provable(dataset: Dataset) -> tuple[Dataset, bool]:
    """Return the pictures that are not held out, if anything can be learned from them."""
    training = dataset.only(~split(dataset)[0])
    learnable = bool(picture_counts(training.labels).any())
    return training if learnable else dataset, learnable


def _most_words(rankers: Sequence[str]) -> int:
    """Return the maximum number of words: more if each is only a point of a small space."""
    texts = all(ranker_spec(r).shared_space for r in rankers)
    return MOST_TEXT_WORDS if texts else MOST_WORDS


def _learned_from(dataset: Dataset) -> NDArray[np.int64]:
    """Return the ids of all pictures that ordinary and saved words are learned from."""
    return dataset.ids if dataset.saved is None else np.union1d(dataset.ids, dataset.saved.ids)


def _figures(report: GateReport, table: Sequence[TrialResult], forced: bool) -> Json:
    tried: list[Json] = [
        {"what": str(t.recipe), "how": t.how, "AvgP": t.avgp if np.isfinite(t.avgp) else None}
        for t in table[:20]
    ]
    return stored_figures(report, forced, tried=tried, trained=int(time.time()))


def make_model(
    dataset: Dataset,
    selected: Selection,
    served: Fitted,
    proof_fit: Fitted,
    proof_combination: Combination,
    saved: SavedWordModel | None = None,
    tags: TagProbabilities | None = None,
    unproven: Sequence[int] = (),
    online_space: OnlineSpace | None = None,
) -> tuple[dict[str, Json], dict[str, NDArray[np.float32]]]:
    """Return description and arrays of the model to save."""
    terms, counts, idf = dataset.terms, picture_counts(dataset.labels), idf_in(dataset.labels)
    aliases = dataset.aliases
    floors = counts / len(dataset) if dataset.unlabelled is None else np.full(len(counts), FITS)
    room = bytes_per_row([dataset.views[f] for f in selected.recipe.features])
    curve = None
    if served.shared_space:
        held = dataset.only(split(dataset)[0])
        curve = text_curve(proof_fit, held if len(held) > 1 else dataset)
    if saved is not None:
        joined, labels = JointVocabulary.of(terms, saved), saved.dataset.labels
        terms, ordinary = joined.terms, selected
        selected = joined.selection(ordinary)
        of_proof = joined.selection(replace(ordinary, combination=proof_combination))
        proof_combination = of_proof.combination
        floors = joined.values(floors, np.full(labels.shape[1], FITS))
        counts = joined.values(counts, picture_counts(labels))
        idf = joined.values(idf, idf_in(labels))
        served = joined.fitted(served, saved.served)
        if online_space is not None:
            is_saved = joined.is_saved
            gain, origin = selected.combination.slope_.copy(), selected.combination.offset_.copy()
            # Ridge learns saved words: their scores are on the scale of labels.
            gain[~is_saved], origin[~is_saved] = online_space.gain, online_space.origin
            online_space = replace(online_space, gain=gain, origin=origin)
        proof_fit = joined.fitted(proof_fit, saved.proof)
        aliases = aliases.joined(saved.dataset.aliases)
    return to_saved(
        terms, counts, idf, within_budget(counts, room), selected.combination, proof_combination,
        selected.cutoff, served, proof_fit, floors, curve, aliases, tags, unproven, online_space,
    )  # fmt: skip


def _fitted(
    recipe: Recipe, dataset: Dataset, label: str, progress: Progress, compute: Mapper | None
) -> Fitted:
    """Fit a recipe, and show its progress."""
    note = note_rounds(recipe, progress)

    def on_round(round_: object) -> None:
        note(round_)
        progress.advance()

    progress.start(label, None)
    try:
        return fit(recipe, dataset, on_round=on_round, compute=compute)
    finally:
        progress.finish()
