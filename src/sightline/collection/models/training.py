"""Training: choose on validation pictures, prove on held-out ones, then serve.

The fifth of pictures that a hash of their ids puts into fold 0 is held out, for ever. A candidate
is chosen and fitted on the others. It is published only if it passes the *no-harm gate*: its mean
AvgP is not below that of the model now served (less .001), on the held-out queries both know, and
not below the untrained order on all. What is then served is fitted again, on everything, by the
same recipe. With under 30 held-out queries there is no proof, and the model is marked `unproven`.

Words saved from judging sessions are learnt beside the ordinary ones (`learning/saved_words`), and
each is reported by itself. Where there are no others, the whole training is theirs; a ranker is
chosen among several only if there are 30 validation queries to choose by.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sightline import plugins
from sightline.collection.clicks.labels import FromClicks
from sightline.collection.models import selection
from sightline.collection.models.dataset import MOST_TEXT_WORDS, MOST_WORDS, Sample, split
from sightline.collection.models.held_out import HeldOutQueries, measure_candidate
from sightline.collection.models.lifecycle import (
    FEWEST,
    GateReport,
    apply_gate,
    publish,
    stored_figures,
)
from sightline.collection.models.queries import carriers, idf_in
from sightline.collection.models.recipe import Fitted, Recipe, fit, kind_of
from sightline.collection.models.remote import fit_elsewhere, is_sharded
from sightline.collection.models.saved_words import (
    Joined,
    SavedWord,
    SavedWordModel,
    learn_saved,
    load_known,
    saved_report,
)
from sightline.collection.models.selection import Choice
from sightline.collection.models.trials import Tried, noted
from sightline.collection.models.unvalidated import unvalidated
from sightline.collection.models.versions import WORDS
from sightline.collection.models.word_model import (
    Learnt,
    bytes_per_row,
    load_learnt,
    segment_scorer,
    text_curve,
    to_saved,
    within_budget,
)
from sightline.contracts import Json, Mapper, Progress
from sightline.errors import UsageError
from sightline.progress import NoProgress
from sightline.registry import BY_DEFAULT
from sightline.solvers.structural import course_said
from sightline.store.events import EventLog
from sightline.store.home import Home

# Choosing looks at so many pictures at most; the chosen recipe then sees all of them.
CHOOSE_AMONG = 6_000
# Those that are tried where none is named.
RANKERS = BY_DEFAULT


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """What to choose from: names of rankers and features, all there are by default.

    `session_cap` is how many pictures one session can speak of, None for all; `shards` in how many
    parts rankers learn that can do so.
    """

    rankers: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    force: bool = False
    dry_run: bool = False
    session_cap: int | None = None
    shards: int = 1


@dataclass(frozen=True, slots=True)
class TrainReport:
    """What a training did; `course` says how the one of lists went, without held-out pictures.

    `saved` are the words that were saved from judging sessions.
    """

    recipe: str
    how: str
    proof: GateReport
    table: tuple[Tried, ...]
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


def train(
    home: Home,
    options: TrainOptions,
    wait: float,
    progress: Progress,
    compute: Mapper | None = None,
) -> TrainReport:
    """Train on all that is known now, and publish if the gate opens.

    The store is locked only while the model is published: pictures may be indexed and judged
    meanwhile, and an interrupted training leaves everything as it was. `compute` is where to learn
    and score, if not here.
    """
    begun = time.monotonic()
    with home.reader() as reader, contextlib.closing(EventLog(home.events, write=False)) as log:
        before = reader.snapshot.model
        current = load_learnt(home, before)
        rankers = _in_shards(options.rankers or RANKERS, options.shards)
        needed, most = _needed(options, current), _most_words(rankers)
        shared = any(kind_of(r).shared_space for r in rankers)
        given = (reader, log, needed, most, options.session_cap, shared)
        sample, clicks = load_known(*given)
        spelled = dict(reader.catalogue.terms())
    choice = prepare(sample, rankers, _prints(sample, options.features), progress, compute)
    held = HeldOutQueries.of(sample)
    serve = choice.served or choice
    recipes = [choice.recipe, *([] if options.dry_run else [serve.recipe])]
    fits = _fits(sample, recipes, progress, compute)
    candidate, proof, seen = _proven(sample, choice, held, current, next(fits), compute)
    forced = apply_gate(proof, force=options.force, dry_run=options.dry_run)
    saved, extra = saved_report(sample, candidate, choice.combination, spelled), None
    if sample.saved is not None:
        extra = learn_saved(sample.saved, choice.recipe.features, spelled)
        saved = extra.words
    name, version = before, 0
    if not options.dry_run:
        about, arrays = make_model(sample, serve, candidate, next(fits), extra)
        about["basis"], about["most_words"] = sample.basis(), most
        about["proof_seen"] = seen
        about["figures"] = _figures(proof, choice.table, forced)
        name, version = publish(
            WORDS, home, about, arrays, started_from=before, learned_from=_learned_from(sample),
            note=f"train: {serve.recipe}", wait=wait, progress=progress,
            scorer=lambda saved: segment_scorer(saved, compute),
        )  # fmt: skip
    n_words = len(sample.terms) + (len(sample.saved.terms) if sample.saved is not None else 0)
    return TrainReport(
        str(serve.recipe), serve.combination.how, proof, choice.table, n_words,
        len(sample), sample.left_out, name, version, not proof.is_proven, forced,
        time.monotonic() - begun, choice.not_tried, clicks, course_said(candidate.arrays), saved,
    )  # fmt: skip


def is_trained(home: Home, session_cap: int | None = None) -> bool:
    """Say whether the model in use was trained on all that is known now."""
    with home.reader() as reader, contextlib.closing(EventLog(home.events, write=False)) as log:
        learnt = load_learnt(home, reader.snapshot.model)
        if learnt is None:
            return False
        most = int(str(learnt.about.get("most_words", MOST_WORDS)))
        shared = learnt.served.shared_space
        sample, _ = load_known(reader, log, (), most, session_cap, shared)
        return sample.basis() == learnt.about["basis"]


def _in_shards(rankers: Sequence[str], shards: int) -> tuple[str, ...]:
    """Return rankers, those that can learn in shards with how many."""
    if shards == 1:
        return tuple(rankers)
    return tuple(f"{r}:{shards}" if kind_of(r).option == "shards" else r for r in rankers)


def _fits(
    sample: Sample, recipes: Sequence[Recipe], progress: Progress, compute: Mapper | None
) -> Iterator[Fitted]:
    """Yield one recipe fitted to what may prove it, and another, if there is one, to everything.

    Elsewhere the same recipe is learnt from both side by side.
    """
    recipe, samples = recipes[0], [_provable(sample)[0], sample][: len(recipes)]
    if compute is not None and not is_sharded(recipe) and len(set(recipes)) == 1:
        found = fit_elsewhere(recipe, samples, compute)
        for what in ("prove", "fit")[: len(samples)]:
            progress.start(what, 1)
            fitted = next(found)
            progress.advance()
            progress.finish()
            yield fitted
        return
    # What has no rounds to tell of is proven in silence.
    silent = not kind_of(recipe.ranker).shared_space
    yield _fitted(recipe, samples[0], "prove", NoProgress() if silent else progress, compute)
    for other, rest in zip(recipes[1:], samples[1:], strict=True):
        yield _fitted(other, rest, "fit", progress, compute)


def _provable(sample: Sample) -> tuple[Sample, bool]:
    """Return the pictures that are not held out, if anything can be learnt from them."""
    rest = sample.only(~split(sample)[0])
    learnable = bool(carriers(rest.labels).any())
    return rest if learnable else sample, learnable


def _proven(
    sample: Sample,
    choice: Choice,
    held: HeldOutQueries,
    current: Learnt | None,
    candidate: Fitted,
    compute: Mapper | None,
) -> tuple[Fitted, GateReport, bool]:
    """Measure the choice, fitted without the held-out pictures, on them.

    Also say whether it had to see them, for want of others: then it proves nothing, now or later.
    """
    if not _provable(sample)[1]:
        return candidate, GateReport.unmeasured(WORDS), True
    report = measure_candidate(held, candidate, choice.combination, current, compute)
    return candidate, report, False


def _most_words(rankers: Sequence[str]) -> int:
    """Return how many words are learnt: more where each costs but a point of a small space."""
    texts = all(kind_of(r).shared_space for r in rankers)
    return MOST_TEXT_WORDS if texts else MOST_WORDS


def _needed(options: TrainOptions, current: Learnt | None) -> list[str]:
    """Return the features to load: those asked for, and those the model in use is judged by."""
    if not options.features or current is None:
        return list(options.features)
    return [*options.features, *(f.rpartition("-")[0] for f in current.features)]


def _prints(sample: Sample, names: Sequence[str]) -> list[str] | None:
    """Return the fingerprints of features given by name."""
    if not names:
        return None
    found = {f.rpartition("-")[0]: f for f in sample.views}
    names = plugins.expanded(names)
    missing = [n for n in names if n not in found]
    if missing:
        raise UsageError(
            f"The pictures have no feature {missing[0]!r} (they have: {', '.join(found)}). "
            f"Run: sightline index --features {','.join(dict.fromkeys([*found, *names]))}"
        )
    return [found[n] for n in names]


def prepare(
    sample: Sample,
    rankers: Sequence[str],
    features: Sequence[str] | None,
    progress: Progress,
    compute: Mapper | None = None,
) -> Choice:
    """Choose recipe, combination and cut-off without looking at held-out pictures."""
    held, validating = split(sample)
    inner = _few(np.flatnonzero(~held & ~validating))
    training, validation = sample.only(inner), sample.only(_few(np.flatnonzero(validating)))
    rankers, not_tried = selection.able(sample, rankers, features)
    if not rankers:
        raise UsageError("No ranker can learn here. " + "; ".join(not_tried) + ".")
    # Few queries of saved words would choose by luck.
    fewest = 1 if sample.unlabelled is None else FEWEST
    given = (training, validation, rankers, features, progress, compute, fewest)
    choice = selection.choose_on(*given)
    if choice is None:
        alone = unvalidated(sample, rankers, features)
        return replace(alone, not_tried=tuple(not_tried))
    return replace(choice, not_tried=(*not_tried, *choice.not_tried))


def _few(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(rows) <= CHOOSE_AMONG:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, CHOOSE_AMONG, replace=False))


def _learned_from(sample: Sample) -> NDArray[np.int64]:
    """Return the ids of all pictures that ordinary and saved words are learned from."""
    return sample.ids if sample.saved is None else np.union1d(sample.ids, sample.saved.ids)


def _figures(report: GateReport, table: Sequence[Tried], forced: bool) -> Json:
    tried: list[Json] = [
        {"what": str(t.recipe), "how": t.how, "AvgP": t.avgp if np.isfinite(t.avgp) else None}
        for t in table[:20]
    ]
    return stored_figures(report, forced, tried=tried, trained=int(time.time()))


def make_model(
    sample: Sample,
    choice: Choice,
    proof_fit: Fitted,
    served: Fitted,
    saved: SavedWordModel | None = None,
) -> tuple[dict[str, Json], dict[str, NDArray[np.float32]]]:
    """Return what is to be kept of a recipe that was fitted to everything."""
    terms, counts, idf = sample.terms, carriers(sample.labels), idf_in(sample.labels)
    room = bytes_per_row([sample.views[f] for f in choice.recipe.features])
    held = sample.only(split(sample)[0])
    curve = None
    if served.shared_space:
        curve = text_curve(proof_fit, held if len(held) > 1 else sample)
    if saved is not None:
        joined, labels = Joined.of(terms, saved), saved.sample.labels
        terms, choice = joined.terms, joined.choice(choice)
        counts = joined.values(counts, carriers(labels))
        idf = joined.values(idf, idf_in(labels))
        served = joined.fitted(served, saved.served)
        proof_fit = joined.fitted(proof_fit, saved.proof)
    return to_saved(
        terms, counts, idf, within_budget(counts, room), choice.combination, choice.cutoff,
        served, proof_fit, curve,
    )  # fmt: skip


def _fitted(
    recipe: Recipe, sample: Sample, what: str, progress: Progress, compute: Mapper | None
) -> Fitted:
    """Fit a recipe, and show how it goes."""
    note = noted(recipe, progress)

    def told(round_: object) -> None:
        note(round_)
        progress.advance()

    progress.start(what, None)
    try:
        return fit(recipe, sample, told=told, compute=compute)
    finally:
        progress.finish()
