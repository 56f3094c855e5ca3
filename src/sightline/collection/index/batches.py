"""Reading pictures in batches: files to workers, answers to the log, rows to the store.

A picture that only lacks features is decoded once more, and published anew with the words, the
thumbnail and the features it has: none of them is computed again.

A batch is published when it is full or some seconds old, so that little is read twice after a crash
and search sees pictures early. Ctrl-C publishes the pictures read so far and stops.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sightline.collection.index import tags
from sightline.collection.index.options import FeatureRequest, IndexOptions
from sightline.collection.index.plan import Plan, ToRead, stamps_of
from sightline.collection.index.tables import WordFiles
from sightline.compute.features import DESCRIBE_TASK, Row, describe_job, rows_of, stacked
from sightline.compute.prefetch import prefetch
from sightline.contracts import Compute, Done, Failed, Json, Progress
from sightline.pictures.reading import READ_TASK, PictureRead, answer, request
from sightline.pictures.tally import Loss, Tally
from sightline.records import Batch, FeatureRows, Skipped, SparseRows, Tags, shown
from sightline.store.catalogue import KnownPicture
from sightline.store.events import Event, NewEvent
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, FileStamp, Writer
from sightline.vectors import Fingerprint

BATCH = 1024
BATCH_SECONDS = 10.0

Bad = list[tuple[Skipped, int, int]]


@dataclass(slots=True)
class _Read:
    """A picture that was read: its data, its words, and its rows if it has them.

    `requests` are the features to compute.
    """

    todo: ToRead
    picture: PictureRead
    words: dict[str, Tags]
    requests: tuple[FeatureRequest, ...]
    rows: list[Row] | None = None
    number: int = 0


class PictureReader:
    """Reads the pictures of a plan and publishes them, batch by batch."""

    def __init__(
        self,
        root: bytes,
        writer: Writer,
        compute: Compute,
        options: IndexOptions,
        progress: Progress,
        files: WordFiles,
        snapshot: Snapshot,
        lacks: Mapping[int, tuple[FeatureRequest, ...]],
    ) -> None:
        self.root, self.writer, self.compute = root, writer, compute
        self.options, self.progress, self.files = options, progress, files
        self.snapshot, self.lacks = snapshot, lacks
        self.skipped: list[Skipped] = []
        self.problems: list[str] = []
        self.losses, self.txt = Tally(), Tally()
        self.added = self.changed = self.moved = self.described = 0
        self._revived: set[int] = set()

    def read(self, plan: Plan) -> None:
        """Read everything the plan asks for."""
        # A codebook may have been fitted again and be as it was.
        files = [*plan.read, *(t for t in plan.describe if t.picture in self.lacks)]
        if not files:
            return
        limits, pixels = self.options.limits, bool(self.options.features)
        jobs = (request(self.root, t.file, limits, pixels=pixels, known=t.known_sha) for t in files)
        answers = prefetch(self.compute.run(READ_TASK, jobs, "decode"), BATCH)
        self.progress.start("index" if plan.read else "describe", len(files))
        todo = iter(files)
        try:
            with contextlib.closing(answers):
                while self._read_batch(plan, todo, answers):
                    pass
        finally:
            self.progress.finish()

    def _read_batch(
        self, plan: Plan, todo: Iterator[ToRead], answers: Iterator[Done | Failed]
    ) -> bool:
        """Read and publish one batch; return whether there may be more."""
        read: list[_Read] = []
        skipped: Bad = []
        dead: list[int] = []
        begun, more, stopped = time.monotonic(), False, False
        try:
            for t, result in zip(todo, answers, strict=False):
                picture = result if isinstance(result, Failed) else self._checked(result, t.known)
                if isinstance(picture, Failed) or not self.options.features:
                    self.progress.advance()
                if isinstance(picture, Failed) and t.known is not None:
                    self._report_without(t, self.lacks[t.known.picture], picture.reason)
                elif isinstance(picture, Failed):
                    bad = Skipped(t.file.path, picture.kind, picture.reason)
                    skipped.append((bad, t.file.size, t.file.mtime))
                    dead += [t.picture] if t.picture is not None else []
                elif t.known is not None and picture.sha == t.known.sha:
                    read.append(_Read(t, picture, {}, self.lacks[t.known.picture]))
                else:
                    t = replace(t, known=None)  # Its file may have changed since it was planned.
                    words = self._words(t, picture)
                    read.append(_Read(t, picture, words, self.options.features))
                if len(read) + len(skipped) >= BATCH or time.monotonic() - begun > BATCH_SECONDS:
                    more = True
                    break
            self._describe(read)
        except KeyboardInterrupt:
            stopped = True
            read = [r for r in read if r.rows is not None or not self.options.features]
        self.skipped += [s for s, _, _ in skipped]
        if read or skipped:
            self._publish(plan, read, skipped, dead)
        if stopped:
            raise KeyboardInterrupt
        return more

    def _checked(self, result: Done, known: KnownPicture | None) -> PictureRead | Failed:
        """Return what a worker sent, checked: a hostile picture may control the worker."""
        try:
            picture = answer(result)
        except (KeyError, ValueError):
            return Failed("crash", "it made the decoder send an answer that makes no sense")
        if self.options.features and picture.rgb is None:
            return Failed("crash", "it made the decoder send no pixels")
        if not picture.thumbnail and (known is None or picture.sha != known.sha):
            return Failed("crash", "it made the decoder send no thumbnail")
        return picture

    def _words(self, todo: ToRead, r: PictureRead) -> dict[str, Tags]:
        self.count_losses(r.problems, r.losses)
        extra = tags.extra_words(self.files, todo.file.path, self.options.folder_words)
        words = tags.clean([*r.words, *extra], self.options.txt_as)
        tags.count_txt(words, todo.file.path, self.txt)
        return words

    def count_losses(self, problems: Iterable[str], losses: Iterable[Loss]) -> None:
        """Count words that could not be read, and files beside pictures that could not."""
        for problem in problems:
            self.losses.add("sidecar", "files beside pictures that cannot be read", problem)
        for loss in losses:
            self.losses.add(loss.kind, loss.reason, *([loss.example] if loss.example else []))

    def _describe(self, read: list[_Read]) -> None:
        """Compute the features; a picture a feature fails on goes without, and is named."""
        if not self.options.features:
            return
        jobs = (
            describe_job(r.todo.file.path, r.picture.rgb, [w.place for w in r.requests])
            for r in read
            if r.picture.rgb is not None
        )
        answers = self.compute.run(DESCRIBE_TASK, jobs, "describe")
        for r, result in zip(read, answers, strict=True):
            # Only now: decoding runs ahead, and is many times as fast.
            self.progress.advance()
            if isinstance(result, Failed):
                self._report_without(r.todo, r.requests, result.reason)
            else:
                r.rows = rows_of(result)

    def _report_without(
        self, todo: ToRead, requests: Sequence[FeatureRequest], reason: str
    ) -> None:
        names = ", ".join(w.name for w in requests)
        self.problems.append(f"{shown(todo.file.path)}: no features ({names}): {reason}")

    def _publish(
        self,
        plan: Plan,
        read: list[_Read],
        skipped: list[tuple[Skipped, int, int]],
        dead: list[int],
    ) -> None:
        new: list[NewEvent] = []
        described = [r for r in read if r.todo.known is not None and r.rows is not None]
        self.described += len(described)
        read = [r for r in read if r.todo.known is None]
        for r in read:
            picture_events, r.number = self._events(plan, r, len(new))
            new += picture_events
        events = self.writer.append(new)
        for r in read:
            r.number = r.number if r.number > 0 else _number(events[-r.number - 1])
        read.sort(key=lambda r: r.number)
        terms = {r.number: tags.terms_of(r.words.values()) for r in read}
        with_rows = [r for r in read if r.rows is not None]
        without = [r for r in read if r.rows is None]
        change = Change(
            events=events,
            batches=[
                *(self._batch(part, terms) for part in (with_rows, without) if part),
                *self._with_more_features(described),
            ],
            dead=dead,
            stamps=[
                *(_stamp(r.number, r, stamps_of(r.todo.file)) for r in read),
                *(_stamp(k.picture, r, k.plain_stamps) for r in described if (k := r.todo.known)),
            ],
            skipped=skipped,
            terms=[s for t in terms.values() for s in t.spelled],
        )
        self.writer.publish(change, finished=False)

    def _batch(self, read: list[_Read], terms: dict[int, tags.Terms]) -> Batch:
        return Batch(
            ids=np.array([r.number for r in read], np.int64),
            terms=tuple(terms[r.number].ids for r in read),
            thumbnails=tuple(r.picture.thumbnail for r in read),
            features=_rows(read[0].requests, read) if read[0].rows is not None else (),
        )

    def _with_more_features(self, read: Sequence[_Read]) -> Iterator[Batch]:
        """Yield pictures as they are stored, with the features they lacked.

        Rows of the same features by other settings or codebooks go.
        """
        by_picture = {r.todo.picture: r for r in read if r.todo.picture is not None}
        ids = np.array(sorted(by_picture), np.int64)
        for have, group in self.snapshot.by_features(ids):
            part = [by_picture[i] for i in group.tolist()]
            requests = part[0].requests
            names = {w.name for w in requests}
            stored = self.snapshot.batch(
                group, [f for f in have if Fingerprint.parse(f).name not in names]
            )
            yield replace(stored, features=(*stored.features, *_rows(requests, part)))

    def _events(self, plan: Plan, r: _Read, position: int) -> tuple[list[NewEvent], int]:
        """Return a picture's events, and its id or (below 0) the place of its first event."""
        picture = self._identity(plan, r)
        body: dict[str, Json] = {
            "path": r.todo.file.path.decode("utf-8", "surrogateescape"),
            "sha": r.picture.sha, "size": r.picture.size, "mtime": r.picture.mtime,
            "width": r.picture.width, "height": r.picture.height, "format": r.picture.format,
            "taken": r.picture.taken,
        }  # fmt: skip
        reference = -position - 1 if picture is None else picture
        old = self.writer.catalogue.words(picture) if picture is not None else []
        # A table that cannot be read changes no words, and words of sessions are in no file.
        kept = (t for t in old if t.source in self.files.failed or tags.of_session(t.source))
        r.words.update((t.source, t) for t in kept)
        seen = NewEvent("picture-seen", picture, body)
        return [seen, *tags.changes(reference, old, r.words)], reference

    def _identity(self, plan: Plan, r: _Read) -> int | None:
        if r.todo.picture is not None:
            if r.todo.moved:
                self.moved += 1
            else:
                self.changed += 1
            return r.todo.picture
        picture = plan.claim(r.picture.sha)
        if picture is not None:
            self.moved += 1
            return picture
        self.added += 1
        for gone in self.writer.catalogue.gone_with(r.picture.sha):
            # Two new files may have the content of one lost picture; only one of them is it.
            if gone.picture not in self._revived:
                self._revived.add(gone.picture)
                return gone.picture
        return None


def _rows(
    requests: Sequence[FeatureRequest], read: Sequence[_Read]
) -> tuple[FeatureRows | SparseRows, ...]:
    return tuple(
        stacked(w.fingerprint, w.length, [r.rows[f] for r in read if r.rows is not None])
        for f, w in enumerate(requests)
    )


def _stamp(picture: int, r: _Read, stamps: str) -> FileStamp:
    return FileStamp(picture, r.picture.size, r.picture.mtime, stamps)


def _number(e: Event) -> int:
    return e.picture or 0
