"""The only way to change a store: append to the log, write segments, move the pointer.

The order makes a crash harmless at any point: facts are durable in the log before anything is
derived from them; segments and the version file are durable before the pointer names them; the
pointer moves in the same transaction that records the pictures. The next writer removes what a
crash left over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from sightline._typing import Ints
from sightline.contracts import Progress
from sightline.errors import StoreDamaged, StoreError, StoreFull
from sightline.records import Batch, Skipped
from sightline.store import seal
from sightline.store.catalogue import Catalogue
from sightline.store.database import transaction
from sightline.store.durable import disk_errors, make_folder
from sightline.store.events import Event, EventLog, NewEvent
from sightline.store.folder import StoreFolder, current_version
from sightline.store.locks import Lock, Presence, check_local_file_system, require_writable
from sightline.store.models import model_problems, remove_models_except
from sightline.store.scores import Scores, with_scores
from sightline.store.segments import OpenSegment, merge, with_dead, worth_merging, write_segment
from sightline.store.upkeep.permissions import restrict
from sightline.store.upkeep.rollback import outdated_after
from sightline.store.versions import SCORING_KINDS, ScoringKind, Segment, Version
from sightline.vectors import Fingerprint


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Size and times of a picture and its word files, to detect later whether they changed."""

    picture: int
    size: int
    mtime: int
    stamps: str


@dataclass(frozen=True, slots=True)
class Change:
    """What one publish changes; all of it becomes visible at once.

    Attributes
    ----------
    events : sequence of Event
        Facts that are in the log, to be applied to the catalogue.
    batches : sequence of Batch
        New rows of pictures.
    dead : sequence of int
        Pictures whose rows no longer count.
    stamps : sequence of FileStamp
        Sizes and times of files that were read.
    outdated : sequence of (int, str)
        Pictures and their new stamps, for rows that a rollback made out of date.
    skipped : sequence of (Skipped, int, int)
        Files that were skipped, with their sizes and times.
    unskipped : sequence of bytes
        Paths that are no longer skipped.
    terms : sequence of (int, str)
        Ids of new terms and their spelling.
    meta : sequence of (str, str)
        Small values, by name.
    """

    events: Sequence[Event] = ()
    batches: Sequence[Batch] = ()
    dead: Sequence[int] = ()
    stamps: Sequence[FileStamp] = ()
    outdated: Sequence[tuple[int, str]] = ()
    skipped: Sequence[tuple[Skipped, int, int]] = ()
    unskipped: Sequence[bytes] = ()
    terms: Sequence[tuple[int, str]] = ()
    meta: Sequence[tuple[str, str]] = field(default=())


class Scorer(Protocol):
    """Scores a segment by one model, before the segment is published."""

    model: str

    def scores(self, segment: OpenSegment) -> Scores | None:
        """Return scores of words (ascending) and points; None if the model cannot score it."""
        ...


@runtime_checkable
class ManyScorer(Scorer, Protocol):
    """Scores several segments at once, so that they can be processed in parallel."""

    def many(self, segments: Sequence[OpenSegment]) -> Iterator[Scores | None]:
        """Yield what `scores` would return for each."""
        ...


class Judging:
    """A store open for appending judgements, by any number of processes at a time."""

    def __init__(self, store_folder: StoreFolder) -> None:
        if not store_folder.exists():
            raise StoreError(f"Nothing is indexed in {store_folder.path} yet. Run: sightline index")
        require_writable(store_folder.path)
        self._store_folder = store_folder
        self._presence = Presence(store_folder.path)
        try:
            seal.break_seal(store_folder.path)
            self.log = EventLog(store_folder.events, write=True)
        except BaseException:
            self._presence.leave()
            raise

    def append(self, events: Sequence[NewEvent]) -> list[Event]:
        """Append facts; they are durable when this returns."""
        return self.log.append(events)

    def close(self) -> None:
        """Close the files; the last writer to leave seals the store."""
        _leave(self._store_folder, self._presence, [self.log])

    def __enter__(self) -> Judging:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Writer:
    """A store open for changing what is published, by one process at a time.

    Parameters
    ----------
    store_folder : StoreFolder
        The store; it is created if it does not exist.
    command : str
        The command that writes, for the error messages of others.
    wait : float, default=0.0
        How many seconds to wait for another writer.

    Attributes
    ----------
    scorer, text_scorer : Scorer or None
        What scores new pictures, by the word model and by the text model in use.
    """

    def __init__(self, store_folder: StoreFolder, command: str, wait: float = 0.0) -> None:
        require_writable(store_folder.path)
        check_local_file_system(_existing(store_folder.path))
        new = not store_folder.exists() and store_folder.is_free()
        for folder in (
            store_folder.path,
            store_folder.shards,
            store_folder.versions.folder,
            store_folder.models,
        ):
            make_folder(folder)
        if new:
            restrict(store_folder.path)  # It holds only files of a store.
        self.store_folder = store_folder
        self.scorer: Scorer | None = None
        self.text_scorer: Scorer | None = None
        self._lock = Lock(store_folder.path, command, wait)
        try:
            self._presence = Presence(store_folder.path)
            seal.break_seal(store_folder.path)
            self.log = EventLog(store_folder.events, write=True)
            self.catalogue = Catalogue(store_folder.catalogue, write=True)
            self._catch_up()
        except BaseException:
            self._abandon()
            raise

    def _abandon(self) -> None:
        """Release everything after a start that failed."""
        for name in ("log", "catalogue"):
            if hasattr(self, name):
                getattr(self, name).close()
        if hasattr(self, "_presence"):
            self._presence.leave()
        self._lock.release()

    def _catch_up(self) -> None:
        """Apply facts that a crash left unapplied, and remove files it left unpublished."""
        after = self.catalogue.applied()
        check_log(self.log, self.catalogue)
        if self.log.last_seq() > after:
            with transaction(self.catalogue.db, self.catalogue.path):
                self.catalogue.apply(self.log.read(after), published=False)
        self.version = current_version(self.store_folder, self.catalogue)
        self._remove_leftovers()

    def _remove_leftovers(self) -> None:
        versions = self.store_folder.versions
        with disk_errors(self.store_folder.path):
            versions.remove(n for n in versions.numbers() if n > self.version.number)
            for path in versions.folder.glob("*.json.*.part"):
                path.unlink()
            for path in self.store_folder.path.glob("seal.json.*.part"):
                path.unlink()
        self._prune()

    def append(self, events: Sequence[NewEvent]) -> list[Event]:
        """Append facts; they are durable when this returns."""
        return self.log.append(events)

    def publish(self, change: Change, *, finished: bool, note: str = "") -> Version:
        """Write new segments and move the pointer; from then on readers see all of the change."""
        segments = tuple(self._changed_segments(change))
        number = self.version.number + 1
        new = replace(self.version, number=number, segments=segments, finished=finished, note=note)
        return self._swap(new, change)

    def publish_model(self, scorer: Scorer, note: str, progress: Progress) -> Version:
        """Publish a word model: score every picture by it, then move the pointer."""
        version = self._publish_scored("words", scorer, note, progress)
        self.scorer = scorer
        return version

    def publish_text(self, scorer: Scorer, note: str, progress: Progress) -> Version:
        """Publish a text model: map every picture and its text, then move the pointer."""
        version = self._publish_scored("text", scorer, note, progress)
        self.text_scorer = scorer
        return version

    def _publish_scored(
        self, kind: ScoringKind, scorer: Scorer, note: str, progress: Progress
    ) -> Version:
        progress.start("score", self.version.live)
        segments = []
        unscored = [s.with_published(kind) for s in self.version.segments]
        for s, scores in zip(unscored, self._scores(unscored, scorer), strict=True):
            segments.append(self._with_scores(s, scores, kind))
            progress.advance(s.live)
        progress.finish()
        number = self.version.number + 1
        new = replace(self.version, number=number, segments=tuple(segments))
        new = new.with_scoring_model(kind, scorer.model)
        return self._swap(replace(new, finished=True, note=note), Change())

    def publish_similar(self, model: str, note: str) -> Version:
        """Publish a similarity model."""
        number = self.version.number + 1
        new = replace(self.version, number=number, similar=model, finished=True, note=note)
        return self._swap(new, Change())

    def publish_regions(self, model: str, note: str) -> Version:
        """Publish a region model, which places words in pictures."""
        number = self.version.number + 1
        new = replace(self.version, number=number, regions=model, finished=True, note=note)
        return self._swap(new, Change())

    def drop_models(self) -> None:
        """Publish a version without any model of words, similarity, regions or texts."""
        v = self.version
        if v.model or v.similar or v.regions or v.text:
            segments = tuple(s.unscored() for s in v.segments)
            new = replace(v, segments=segments, model="", similar="", regions="", text="")
            self.scorer = self.text_scorer = None
            self._swap(replace(new, number=v.number + 1, finished=False), Change())

    def publish_codebook(self, codebook: str) -> Version:
        """Publish a codebook in place of an older one of the same kind."""
        kind = Fingerprint.parse(codebook).name
        others = (c for c in self.version.codebooks if Fingerprint.parse(c).name != kind)
        books = tuple(sorted([*others, codebook]))
        new = replace(self.version, number=self.version.number + 1, codebooks=books, finished=False)
        return self._swap(new, Change())

    def score_missing(self) -> bool:
        """Score the pictures that a model in use has not scored; return whether there were any."""
        old = self.version.segments
        new = tuple(self._all_scored(old))
        if new == old:
            return False
        number = self.version.number + 1
        self._swap(replace(self.version, number=number, segments=new, finished=False), Change())
        return True

    def _scorers(self) -> Iterator[tuple[ScoringKind, Scorer]]:
        """Yield what scores new pictures."""
        for kind, scorer in zip(SCORING_KINDS, (self.scorer, self.text_scorer), strict=True):
            if scorer is not None:
                yield kind, scorer

    def _scores(self, segments: Sequence[Segment], scorer: Scorer) -> Iterator[Scores | None]:
        opened = (OpenSegment.open(self.store_folder.shards, s) for s in segments)
        if isinstance(scorer, ManyScorer):
            return scorer.many(list(opened))
        return map(scorer.scores, opened)

    def _all_scored(self, segments: Sequence[Segment]) -> list[Segment]:
        """Return segments with scores; those that a model has scored keep its scores."""
        all_scored = list(segments)
        for kind, scorer in self._scorers():
            missing = [i for i, s in enumerate(all_scored) if s.published(kind)[1] != scorer.model]
            unscored = [all_scored[i] for i in missing]
            if len(unscored) == 1:
                all_scored[missing[0]] = self._scored(unscored[0], scorer, kind)
                continue
            for i, scores in zip(missing, self._scores(unscored, scorer), strict=True):
                all_scored[i] = self._with_scores(all_scored[i], scores, kind)
        return all_scored

    def _scored(self, s: Segment, scorer: Scorer, kind: ScoringKind) -> Segment:
        scores = scorer.scores(OpenSegment.open(self.store_folder.shards, s))
        return self._with_scores(s, scores, kind)

    def _with_scores(self, s: Segment, scores: Scores | None, kind: ScoringKind) -> Segment:
        return s if scores is None else with_scores(self.store_folder.shards, s, scores, kind)

    def _changed_segments(self, change: Change) -> list[Segment]:
        replaced = [i for b in change.batches for i in b.ids.tolist()]
        dead = np.unique(np.array([*change.dead, *replaced], np.int64))
        segments = list(self.version.segments)
        if len(dead):
            ids = dead.tolist()
            segments = [self._with_dead_rows(s, dead) if s.may_hold(ids) else s for s in segments]
        new = [write_segment(self.store_folder.shards, b) for b in change.batches if len(b.ids)]
        for kind, scorer in self._scorers():
            new = [self._scored(s, scorer, kind) for s in new]
        return [s for s in [*segments, *new] if s.live]

    def _with_dead_rows(self, s: Segment, dead: Ints) -> Segment:
        rows = OpenSegment.open(self.store_folder.shards, s).rows_of(dead)
        return with_dead(self.store_folder.shards, s, rows) if len(rows) else s

    def compact(self, *, everything: bool = False) -> bool:
        """Merge small segments and drop dead rows; return whether any segment was merged."""
        old = list(self.version.segments)
        chosen = old if everything else worth_merging(old)
        if not chosen:
            return False
        unmerged = [s for s in old if s not in chosen]
        # A merge drops scores of different words, and scores of some pictures only.
        merged = self._all_scored(merge(self.store_folder.shards, chosen))
        segments = (*unmerged, *merged)
        new = replace(self.version, number=self.version.number + 1, segments=segments)
        self._swap(replace(new, finished=True), Change())
        return True

    def rollback(self, number: int) -> Version:
        """Publish an older version again.

        Pictures whose rows are out of date by that are marked in the same transaction.
        """
        old = self.store_folder.versions.read(number)
        if self.scorer is not None and self.scorer.model != old.model:
            self.scorer = None
        if self.text_scorer is not None and self.text_scorer.model != old.text:
            self.text_scorer = None
        known = self.catalogue.known()
        outdated = outdated_after(self.store_folder, self.log, known, self.version, old)
        note, number = f"rollback to {number}", self.version.number + 1
        new = replace(old, number=number, note=note, returned=number)
        new = replace(new, codebooks=self._codebooks_with(old))
        return self._swap(new, Change(outdated=outdated))

    def _codebooks_with(self, old: Version) -> tuple[str, ...]:
        """Return an older version's codebooks, and the current ones of kinds it did not have.

        So rows that are made with the current codebooks stay usable.
        """
        kinds = {Fingerprint.parse(c).name for c in old.codebooks}
        newer = [c for c in self.version.codebooks if Fingerprint.parse(c).name not in kinds]
        sound = [c for c in newer if not model_problems(self.store_folder.models, c)]
        return tuple(sorted([*old.codebooks, *sound]))

    def forget_older(self) -> None:
        """Remove every version but the current one; a rollback is no longer possible."""
        versions = self.store_folder.versions
        with disk_errors(versions.folder):
            versions.remove(n for n in versions.numbers() if n < self.version.number)
        self._prune()

    def _swap(self, version: Version, change: Change) -> Version:
        self.store_folder.versions.write(version)
        with transaction(self.catalogue.db, self.catalogue.path):
            self._record(change)
            self.catalogue.set_meta("current", str(version.number))
        self.version = version
        self._prune()
        return version

    def _prune(self) -> None:
        with disk_errors(self.store_folder.shards):
            self.store_folder.versions.prune(self.version.number)
        with disk_errors(self.store_folder.models):
            remove_models_except(self.store_folder.models, self.store_folder.versions.models())

    def note(self, change: Change) -> None:
        """Record stamps, skipped files and small values without publishing anything."""
        with transaction(self.catalogue.db, self.catalogue.path):
            self._record(change)

    def _record(self, change: Change) -> None:
        c = self.catalogue
        c.apply(change.events)
        c.add_terms(change.terms)
        for s in change.stamps:
            c.stamp(s.picture, s.size, s.mtime, s.stamps)
        c.restamp(change.outdated)
        for skipped, size, mtime in change.skipped:
            c.skip(skipped, size, mtime)
        c.unskip(change.unskipped)
        for key, value in change.meta:
            c.set_meta(key, value)

    def close(self) -> None:
        """Close the files; the last writer to leave seals the store."""
        try:
            _leave(self.store_folder, self._presence, [self.log, self.catalogue])
        finally:
            self._lock.release()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _leave(
    store_folder: StoreFolder, presence: Presence, files: Iterable[EventLog | Catalogue]
) -> None:
    """Close the files; the last to leave folds in both logs and seals the store, if it can."""
    try:
        is_last = presence.alone()
        if is_last:
            seal.fold_logs(store_folder.path)
        for f in files:
            f.close()
        if is_last and not seal.has_open_logs(store_folder.path):
            # Everything is written; without a seal `verify` checks every row.
            with contextlib.suppress(StoreFull):
                seal.write_seal(store_folder.path)
    finally:
        presence.leave()


def check_log(log: EventLog, catalogue: Catalogue) -> None:
    """Raise if the log is older than the tables made from it: ids would be used twice."""
    applied, last = catalogue.applied(), log.last_seq()
    if applied > last:
        raise StoreDamaged(
            f"The log ends at event {last}, but the catalogue was made from {applied} events: the "
            "log was replaced by an older one, or cut off. Run: sightline store repair"
        )


def _existing(folder: Path) -> Path:
    """Return a folder or the closest folder above it that exists."""
    while not folder.exists():
        folder = folder.parent
    return folder
