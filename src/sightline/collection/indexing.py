"""Indexing: one run from the folder to a published version.

The store is asked once what it knows; only new and changed files are read, in batches. Each batch
goes to the log, then to a segment, then is published, so a run that is killed goes on where it
was. A file that cannot be read is named with its reason and never stops the run.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sightline.collection import words
from sightline.collection.planning import Plan, ToRead, make_plan, stamps_of
from sightline.collection.rewording import (
    extra_words,
    from_files,
    publish_words,
    with_new_sidecars,
)
from sightline.compute.ahead import run_ahead
from sightline.compute.describing import DESCRIBE_TASK, describe_job, rows_of
from sightline.contracts import Compute, Done, Failed, Json, Progress
from sightline.errors import CollectionError, Interrupted
from sightline.pictures.folder import Found, walk
from sightline.pictures.reading import (
    READ_TASK,
    WORDS_TASK,
    PictureRead,
    ReadLimits,
    answer,
    problems_of,
    request,
    words_of,
)
from sightline.records import Batch, FeatureRows, Skipped, Tags, shown
from sightline.store.events import Event, NewEvent
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, Stamp, Writer
from sightline.words import tokens

BATCH = 1024

T = TypeVar("T")
Row = NDArray[np.float32]
Reads = list[tuple[ToRead, PictureRead]]
Bad = list[tuple[Skipped, int, int]]


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """How a run behaves."""

    limits: ReadLimits = field(default_factory=ReadLimits)
    hidden: bool = False
    exclude: tuple[bytes, ...] = ()
    folder_words: bool = False
    retry: bool = False
    allow_empty: bool = False
    features: tuple[tuple[str, str], ...] = ()  # fingerprint, dotted place


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a run saw and did: `seen` is always `indexed` + the number of `skipped`."""

    seen: int
    indexed: int
    added: int
    changed: int
    moved: int
    gone: int
    skipped: tuple[Skipped, ...]
    problems: tuple[str, ...]
    version: int
    seconds: float


class IndexRun:
    """One run; `Collection.index` is the way to start it."""

    def __init__(
        self,
        root: bytes,
        writer: Writer,
        compute: Compute,
        options: IndexOptions,
        progress: Progress,
    ) -> None:
        self.root, self.writer, self.compute = root, writer, compute
        self.options, self.progress = options, progress
        self.skipped: list[Skipped] = []
        self.problems: list[str] = []
        self.added = self.changed = self.moved = self.gone = 0

    def run(self) -> IndexReport:
        """Bring the store up to date with the folder."""
        begun = time.monotonic()
        before = self.writer.version.number
        plan = self._plan()
        try:
            self._read(plan)
            self._reword(plan)
            self._drop(plan)
        except KeyboardInterrupt:
            raise Interrupted(
                f"Stopped. {self.writer.version.live} pictures are indexed; "
                "run the same command again to go on."
            ) from None
        self._finish(before)
        # Pictures in folders that could not be listed are still held, and count as seen.
        live = set(self._ids_now()) if plan.unlisted else set()
        return IndexReport(
            seen=plan.seen + sum(k.picture in live for k in plan.unlisted),
            indexed=self.writer.version.live,
            added=self.added,
            changed=self.changed,
            moved=self.moved,
            gone=self.gone,
            skipped=tuple(sorted(self.skipped, key=lambda s: s.path)),
            problems=tuple(self.problems),
            version=self.writer.version.number,
            seconds=time.monotonic() - begun,
        )

    # -- planning ----------------------------------------------------------------------------

    def _plan(self) -> Plan:
        catalogue, o = self.writer.catalogue, self.options
        self._snapshot = Snapshot(self.writer.home.shards, self.writer.version)
        walked = walk(self.root, follow=o.limits.follow, hidden=o.hidden, exclude=o.exclude)
        plan = make_plan(
            walked,
            catalogue.known(),
            catalogue.skipped(),
            self._complete(),
            self.root,
            retry=o.retry,
            follow=o.limits.follow,
        )
        self._refuse_vanished(plan)
        self.skipped = [*plan.still_skipped, *plan.skipped_now]
        self.problems = [f"{shown(u.path)}: {u.reason}" for u in plan.unreadable]
        self._load_word_files(plan)
        self.writer.note(
            Change(
                skipped=[(s, 0, 0) for s in plan.skipped_now],
                unskipped=plan.no_longer_skipped,
                stamps=[_stamp(k.picture, f) for f, k in plan.touched],
            )
        )
        return plan

    def _refuse_vanished(self, plan: Plan) -> None:
        if plan.vanished and not plan.seen and not self.options.allow_empty:
            count = len(plan.vanished)
            raise CollectionError(
                f"{shown(self.root)} is empty, but {count} pictures were there before. "
                "If a disk is not mounted, mount it; if they are really gone, use --allow-empty."
            )

    def _complete(self) -> set[int]:
        """Return the ids whose rows have all the features wanted."""
        wanted = {fp for fp, _ in self.options.features}
        segments = [s for s in self._snapshot.segments if wanted <= set(s.features)]
        return {i for s in segments for i in s.ids[s.alive()].tolist()}

    def _load_word_files(self, plan: Plan) -> None:
        catalogue = self.writer.catalogue
        paths = catalogue.words_files()
        self._stamp_now = words.stamp(paths) + f"\nfolders:{self.options.folder_words}"
        self._stale = self._stamp_now != (catalogue.meta("words_stamp") or "\nfolders:False")
        needed = bool(plan.read) or self._stale
        self._files = words.WordFiles(paths if needed else [], self.root)
        self.problems += self._files.problems

    # -- reading pictures ----------------------------------------------------------------------

    def _read(self, plan: Plan) -> None:
        if not plan.read:
            return
        limits, pixels = self.options.limits, bool(self.options.features)
        jobs = (request(self.root, t.found, limits, pixels=pixels) for t in plan.read)
        answers = run_ahead(self.compute.run(READ_TASK, jobs, "decode"), BATCH)
        self.progress.start("index", len(plan.read))
        with contextlib.closing(answers):
            for part in _chunks(plan.read):
                self._read_batch(plan, part, answers)
        self.progress.finish()

    def _read_batch(
        self, plan: Plan, part: Sequence[ToRead], answers: Iterator[Done | Failed]
    ) -> None:
        read: Reads = []
        skipped: Bad = []
        dead: list[int] = []
        for todo, result in zip(part, answers, strict=False):
            self.progress.advance()
            picture = result if isinstance(result, Failed) else self._checked(result)
            if isinstance(picture, Failed):
                bad = Skipped(todo.found.path, picture.kind, picture.reason)
                skipped.append((bad, todo.found.size, todo.found.mtime))
                dead += [todo.picture] if todo.picture is not None else []
            else:
                read.append((todo, picture))
        read, rows, failed = self._describe(read)
        skipped += failed
        self.skipped += [s for s, _, _ in skipped]
        self._publish_batch(plan, read, rows, skipped, dead)

    def _checked(self, result: Done) -> PictureRead | Failed:
        """Return what a worker sent, unless it makes no sense: a picture may have taken it over."""
        try:
            picture = answer(result)
        except (KeyError, ValueError):
            return Failed("crash", "it made the decoder send an answer that makes no sense")
        if self.options.features and picture.rgb is None:
            return Failed("crash", "it made the decoder send no pixels")
        return picture

    def _describe(self, read: Reads) -> tuple[Reads, list[list[Row]], Bad]:
        places = [place for _, place in self.options.features]
        if not places:
            return read, [[] for _ in read], []
        jobs = (describe_job(t.found.path, r.rgb, places) for t, r in read if r.rgb is not None)
        kept: Reads = []
        rows: list[list[Row]] = []
        failed: Bad = []
        for (todo, r), result in zip(
            read, self.compute.run(DESCRIBE_TASK, jobs, "describe"), strict=True
        ):
            if isinstance(result, Failed):
                bad = Skipped(todo.found.path, result.kind, result.reason)
                failed.append((bad, todo.found.size, todo.found.mtime))
            else:
                kept.append((todo, r))
                rows.append(rows_of(result))
        return kept, rows, failed

    def _publish_batch(
        self,
        plan: Plan,
        read: Reads,
        rows: list[list[Row]],
        skipped: Bad,
        dead: list[int],
    ) -> None:
        found_words = [self._all_words(t.found, r) for t, r in read]
        new: list[NewEvent] = []
        ids: list[int] = []
        for (todo, r), w in zip(read, found_words, strict=True):
            said, picture = self._events(plan, todo, r, w, len(new))
            new += said
            ids.append(picture)
        events = self.writer.append(new)
        numbers = [p if p > 0 else _number(events[-p - 1]) for p in ids]
        terms = [words.terms_of(w.values()) for w in found_words]
        order = np.argsort(numbers)
        batch = Batch(
            ids=np.array(numbers, np.int64)[order],
            terms=tuple(terms[i].ids for i in order),
            thumbnails=tuple(read[i][1].thumbnail for i in order),
            features=tuple(
                FeatureRows(fp, np.stack([rows[i][f] for i in order]))
                for f, (fp, _) in enumerate(self.options.features)
                if read
            ),
        )
        change = Change(
            events=events,
            batches=[batch],
            dead=dead,
            stamps=[
                Stamp(p, r.size, r.mtime, stamps_of(t.found))
                for p, (t, r) in zip(numbers, read, strict=True)
            ],
            skipped=skipped,
            terms=[s for t in terms for s in t.spelled],
        )
        self.writer.publish(change, finished=False)

    def _all_words(self, found: Found, r: PictureRead) -> dict[str, Tags]:
        self.problems += r.problems
        extra = extra_words(self._files, found.path, self.options.folder_words)
        return words.clean([*r.words, *extra])

    def _events(
        self, plan: Plan, todo: ToRead, r: PictureRead, w: dict[str, Tags], position: int
    ) -> tuple[list[NewEvent], int]:
        """Return a picture's events, and its id or (below 0) the place of its first event."""
        picture = todo.picture if todo.picture is not None else plan.claim(r.sha)
        if picture is None:
            gone = self.writer.catalogue.gone_with(r.sha)
            picture = gone[0].picture if gone else None
            self.added += 1
        elif todo.picture is None or todo.moved:
            self.moved += 1
        else:
            self.changed += 1
        body: dict[str, Json] = {
            "path": todo.found.path.decode("utf-8", "surrogateescape"),
            "sha": r.sha, "size": r.size, "mtime": r.mtime, "width": r.width,
            "height": r.height, "format": r.format, "taken": r.taken,
        }  # fmt: skip
        reference = -position - 1 if picture is None else picture
        old = self.writer.catalogue.words(picture) if picture is not None else []
        seen = NewEvent("picture-seen", picture, body)
        return [seen, *words.changes(reference, old, w)], reference

    # -- words that changed, pictures that went --------------------------------------------------

    def _reword(self, plan: Plan) -> None:
        """Publish pictures whose own words, or words in files about many, have changed."""
        now: dict[int, dict[str, Tags]] = {}
        stamps: list[Stamp] = []
        jobs = [request(self.root, f, self.options.limits, pixels=False) for f, _ in plan.words]
        answers = self.compute.run(WORDS_TASK, jobs, "decode") if jobs else iter(())
        for (found, k), result in zip(plan.words, answers, strict=True):
            if isinstance(result, Failed):
                self.problems.append(f"{shown(found.path)}: {result.reason}")
                continue
            self.problems += problems_of(result)
            fresh = words.clean(words_of(result))
            now[k.picture] = with_new_sidecars(self.writer.catalogue.words(k.picture), fresh)
            stamps.append(_stamp(k.picture, found))
        if self._stale:
            from_files(self.writer, self._files, now, self.options.folder_words)
        live = set(self._ids_now())
        if self._other_rules():
            known = {p: self.writer.catalogue.words(p) for p in live - now.keys()}
            now.update((p, {t.source: t for t in w}) for p, w in known.items())
        for part in _chunks(sorted(now)):
            chosen = {p: now[p] for p in part if p in live}
            self.changed += publish_words(self.writer, chosen, stamps)
            stamps = []

    def _other_rules(self) -> bool:
        """Say whether the rows were made when words were split by other rules."""
        return self.writer.catalogue.meta("tokens") not in (None, str(tokens.VERSION))

    def _ids_now(self) -> list[int]:
        snapshot = Snapshot(self.writer.home.shards, self.writer.version)
        return [int(i) for i in snapshot.ids()]

    def _drop(self, plan: Plan) -> None:
        """Take pictures that are no longer there out of the results; their ids stay theirs."""
        left = {p for ids in plan.free.values() for p in ids}
        gone = [k.picture for k in plan.vanished if k.picture in left]
        self.gone = len(gone)
        events = self.writer.append([NewEvent("picture-gone", p) for p in gone])
        rows = [*gone, *self._rows_without_picture(plan)]
        if rows:
            self.writer.publish(Change(events=events, dead=rows), finished=False)

    def _rows_without_picture(self, plan: Plan) -> list[int]:
        """Return rows that must not show: of pictures a crash left half removed, and of files
        that used to be pictures and now cannot be read (these keep their id)."""
        skipped = {s.path for s in self.skipped}
        good = {k.picture for k in self.writer.catalogue.known() if k.path not in skipped}
        return [i for i in self._ids_now() if i not in good]

    def _finish(self, before: int) -> None:
        w = self.writer
        meta = [("words_stamp", self._stamp_now), ("tokens", str(tokens.VERSION))]
        w.note(Change(meta=meta))
        if not w.compact() and (w.version.number != before or not w.version.finished):
            w.publish(Change(), finished=True)


def _stamp(picture: int, found: Found) -> Stamp:
    return Stamp(picture, found.size, found.mtime, stamps_of(found))


def _number(e: Event) -> int:
    return e.picture or 0


def _chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for i in range(0, len(items), BATCH):
        yield items[i : i + BATCH]
