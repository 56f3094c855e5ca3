"""The one way to change a store: append to the log, write segments, move the pointer.

The order makes a crash harmless at any point: facts are durable in the log before they are
derived from; segments and the version file are durable before the pointer names them; the pointer
moves in the same transaction that records the pictures. What is left over from a crash is removed
by the next writer.
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
from sightline.store.home import Home, current_version
from sightline.store.locks import Lock, Presence, check_local_file_system, require_writable
from sightline.store.models import model_problems, remove_models_except
from sightline.store.scores import Scores, with_scores
from sightline.store.segments import OpenSegment, merge, wants_merging, with_dead, write_segment
from sightline.store.upkeep.permissions import restrict
from sightline.store.upkeep.rollback import outdated_after
from sightline.store.versions import Segment, Version
from sightline.vectors import Fingerprint


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Size and times of a picture and its word files, to tell later whether they changed."""

    picture: int
    size: int
    mtime: int
    stamps: str


@dataclass(frozen=True, slots=True)
class Change:
    """What one publish changes; everything in it becomes visible at once."""

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
    """Says what one model has to say of a segment, before the segment is published."""

    model: str

    def scores(self, segment: OpenSegment) -> Scores | None:
        """Return scores of words, ascending, and points; None if it cannot say."""
        ...


@runtime_checkable
class ManyScorer(Scorer, Protocol):
    """Says it of several segments at once, so that they can be looked at side by side."""

    def many(self, segments: Sequence[OpenSegment]) -> Iterator[Scores | None]:
        """Yield what `scores` would return for each."""
        ...


class Judging:
    """Open for appending judgements: shared with any number of others, durable at once."""

    def __init__(self, home: Home) -> None:
        if not home.exists():
            raise StoreError(f"Nothing is indexed in {home.folder} yet. Run: sightline index")
        require_writable(home.folder)
        self._home = home
        self._presence = Presence(home.folder)
        try:
            seal.break_seal(home.folder)
            self.log = EventLog(home.events, write=True)
        except BaseException:
            self._presence.leave()
            raise

    def append(self, events: Sequence[NewEvent]) -> list[Event]:
        """Append facts; they are on the disk when this returns."""
        return self.log.append(events)

    def close(self) -> None:
        """Leave; the last writer seals the store."""
        _leave(self._home, self._presence, [self.log])

    def __enter__(self) -> Judging:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Writer:
    """Open for changing what is published; one at a time."""

    def __init__(self, home: Home, verb: str, wait: float = 0.0) -> None:
        require_writable(home.folder)
        check_local_file_system(_existing(home.folder))
        new = not home.exists() and home.is_free()
        for folder in (home.folder, home.shards, home.versions.folder, home.models):
            make_folder(folder)
        if new:
            restrict(home.folder)  # Nothing is in there but what stores hold.
        self.home = home
        self.scorer: Scorer | None = None
        self._lock = Lock(home.folder, verb, wait)
        try:
            self._presence = Presence(home.folder)
            seal.break_seal(home.folder)
            self.log = EventLog(home.events, write=True)
            self.catalogue = Catalogue(home.catalogue, write=True)
            self._catch_up()
        except BaseException:
            self._abandon()
            raise

    def _abandon(self) -> None:
        """Let go of everything after a start that failed."""
        for name in ("log", "catalogue"):
            if hasattr(self, name):
                getattr(self, name).close()
        if hasattr(self, "_presence"):
            self._presence.leave()
        self._lock.release()

    def _catch_up(self) -> None:
        """Apply facts a crash left unapplied, and remove files it left unpublished."""
        after = self.catalogue.applied()
        check_log(self.log, self.catalogue)
        if self.log.last_seq() > after:
            with transaction(self.catalogue.db, self.catalogue.path):
                self.catalogue.apply(self.log.read(after), published=False)
        self.version = current_version(self.home, self.catalogue)
        self._remove_leftovers()

    def _remove_leftovers(self) -> None:
        versions = self.home.versions
        with disk_errors(self.home.folder):
            versions.remove(n for n in versions.numbers() if n > self.version.number)
            for path in versions.folder.glob("*.json.*.part"):
                path.unlink()
            for path in self.home.folder.glob("seal.json.*.part"):
                path.unlink()
        self._prune()

    def append(self, events: Sequence[NewEvent]) -> list[Event]:
        """Append facts; they are on the disk when this returns."""
        return self.log.append(events)

    def publish(self, change: Change, *, finished: bool, note: str = "") -> Version:
        """Write the new segment and move the pointer; readers see all of it from then on."""
        segments = tuple(self._changed_segments(change))
        number = self.version.number + 1
        new = replace(self.version, number=number, segments=segments, finished=finished, note=note)
        return self._swap(new, change)

    def publish_model(self, scorer: Scorer, note: str, progress: Progress) -> Version:
        """Serve another model from now on: score every picture by it, then move the pointer."""
        progress.start("score", self.version.live)
        segments = []
        unscored = [_unscored(s) for s in self.version.segments]
        for s, found in zip(unscored, self._scores(unscored, scorer), strict=True):
            segments.append(self._with(s, found))
            progress.advance(s.live)
        progress.finish()
        self.scorer = scorer
        number = self.version.number + 1
        new = replace(self.version, number=number, segments=tuple(segments), model=scorer.model)
        return self._swap(replace(new, finished=True, note=note), Change())

    def publish_similar(self, model: str, note: str) -> Version:
        """Compare pictures by another model from now on."""
        number = self.version.number + 1
        new = replace(self.version, number=number, similar=model, finished=True, note=note)
        return self._swap(new, Change())

    def publish_regions(self, model: str, note: str) -> Version:
        """Say by another model from now on which words lie where in pictures."""
        number = self.version.number + 1
        new = replace(self.version, number=number, regions=model, finished=True, note=note)
        return self._swap(new, Change())

    def drop_models(self) -> None:
        """Serve no model any more: none of words, of similarity, nor of regions."""
        v = self.version
        if v.model or v.similar or v.regions:
            segments = tuple(_unscored(s) for s in v.segments)
            new = replace(v, segments=segments, model="", similar="", regions="", finished=False)
            self.scorer = None
            self._swap(replace(new, number=v.number + 1), Change())

    def publish_codebook(self, codebook: str) -> Version:
        """Have the version list a codebook, in place of an older one of the same kind."""
        kind = Fingerprint.parse(codebook).name
        others = (c for c in self.version.codebooks if Fingerprint.parse(c).name != kind)
        books = tuple(sorted([*others, codebook]))
        new = replace(self.version, number=self.version.number + 1, codebooks=books, finished=False)
        return self._swap(new, Change())

    def score_missing(self) -> bool:
        """Score the pictures the model has not scored; return whether there were any."""
        scorer = self.scorer
        if scorer is None:
            return False
        old = self.version.segments
        new = tuple(self._all_scored(old, scorer))
        if new == old:
            return False
        number = self.version.number + 1
        self._swap(replace(self.version, number=number, segments=new, finished=False), Change())
        return True

    def _scores(self, segments: Sequence[Segment], scorer: Scorer) -> Iterator[Scores | None]:
        opened = (OpenSegment.open(self.home.shards, s) for s in segments)
        if isinstance(scorer, ManyScorer):
            return scorer.many(list(opened))
        return map(scorer.scores, opened)

    def _all_scored(self, segments: Sequence[Segment], scorer: Scorer) -> list[Segment]:
        """Return segments with scores; those that have them by the same model keep them."""
        todo = [s for s in segments if s.scored_by != scorer.model]
        if len(todo) == 1:
            return [self._scored(s, scorer) if s in todo else s for s in segments]
        found = self._scores(todo, scorer)
        return [s if s.scored_by == scorer.model else self._with(s, next(found)) for s in segments]

    def _scored(self, s: Segment, scorer: Scorer) -> Segment:
        return self._with(s, scorer.scores(OpenSegment.open(self.home.shards, s)))

    def _with(self, s: Segment, found: Scores | None) -> Segment:
        return s if found is None else with_scores(self.home.shards, s, found)

    def _changed_segments(self, change: Change) -> list[Segment]:
        replaced = [i for b in change.batches for i in b.ids.tolist()]
        gone = np.unique(np.array([*change.dead, *replaced], np.int64))
        segments = list(self.version.segments)
        if len(gone):
            ids = gone.tolist()
            segments = [self._without(s, gone) if s.may_hold(ids) else s for s in segments]
        new = [write_segment(self.home.shards, b) for b in change.batches if len(b.ids)]
        if self.scorer is not None:
            new = [self._scored(s, self.scorer) for s in new]
        return [s for s in [*segments, *new] if s.live]

    def _without(self, s: Segment, gone: Ints) -> Segment:
        rows = OpenSegment.open(self.home.shards, s).rows_of(gone)
        return with_dead(self.home.shards, s, rows) if len(rows) else s

    def compact(self, *, everything: bool = False) -> bool:
        """Merge small segments and drop dead rows; return whether anything was worth it."""
        old = list(self.version.segments)
        chosen = old if everything else wants_merging(old)
        if not chosen:
            return False
        rest = [s for s in old if s not in chosen]
        merged = merge(self.home.shards, chosen)
        if (scorer := self.scorer) is not None:
            # Scores of different words, or of some pictures only, are not kept by a merge.
            merged = self._all_scored(merged, scorer)
        segments = (*rest, *merged)
        new = replace(self.version, number=self.version.number + 1, segments=segments)
        self._swap(replace(new, finished=True), Change())
        return True

    def rollback(self, number: int) -> Version:
        """Publish an older version again.

        The pictures whose rows are then behind what is known are marked with the pointer's move.
        """
        old = self.home.versions.read(number)
        if self.scorer is not None and self.scorer.model != old.model:
            self.scorer = None
        known = self.catalogue.known()
        outdated = outdated_after(self.home, self.log, known, self.version, old)
        note, number = f"rollback to {number}", self.version.number + 1
        new = replace(old, number=number, note=note, returned=number)
        new = replace(new, codebooks=self._codebooks_with(old))
        return self._swap(new, Change(outdated=outdated))

    def _codebooks_with(self, old: Version) -> tuple[str, ...]:
        """Return a version's codebooks and those of kinds it had none of yet, so that rows made
        with them are of use again."""
        kinds = {Fingerprint.parse(c).name for c in old.codebooks}
        more = [c for c in self.version.codebooks if Fingerprint.parse(c).name not in kinds]
        sound = [c for c in more if not model_problems(self.home.models, c)]
        return tuple(sorted([*old.codebooks, *sound]))

    def forget_older(self) -> None:
        """Remove every version but the current one; there is no going back after this."""
        versions = self.home.versions
        with disk_errors(versions.folder):
            versions.remove(n for n in versions.numbers() if n < self.version.number)
        self._prune()

    def _swap(self, version: Version, change: Change) -> Version:
        self.home.versions.write(version)
        with transaction(self.catalogue.db, self.catalogue.path):
            self._record(change)
            self.catalogue.set_meta("current", str(version.number))
        self.version = version
        self._prune()
        return version

    def _prune(self) -> None:
        with disk_errors(self.home.shards):
            self.home.versions.prune(self.version.number)
        with disk_errors(self.home.models):
            remove_models_except(self.home.models, self.home.versions.models())

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
        """Leave; the last writer seals the store."""
        try:
            _leave(self.home, self._presence, [self.log, self.catalogue])
        finally:
            self._lock.release()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _leave(home: Home, presence: Presence, files: Iterable[EventLog | Catalogue]) -> None:
    """Close; whoever is the last to leave folds both logs in and seals, if nothing is left over."""
    try:
        alone = presence.alone()
        if alone:
            seal.fold_logs(home.folder)
        for f in files:
            f.close()
        if alone and not seal.has_open_logs(home.folder):
            # All is written; without a seal `verify` looks at every row.
            with contextlib.suppress(StoreFull):
                seal.lay_seal(home.folder)
    finally:
        presence.leave()


def _unscored(s: Segment) -> Segment:
    """Return a segment as it is without any model: what was read of its pictures."""
    return replace(s, scores=None, scored_by="")


def check_log(log: EventLog, catalogue: Catalogue) -> None:
    """Refuse a log that is older than the tables made from it: ids would be given twice."""
    applied, last = catalogue.applied(), log.last_seq()
    if applied > last:
        raise StoreDamaged(
            f"The log ends at event {last}, but {applied} were read from it before: it was "
            "replaced by an older one, or cut off. Run: sightline store repair"
        )


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
