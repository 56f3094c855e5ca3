"""Indexing: one run from the folder to a published version.

The store is asked once what it knows; only new and changed files are read, in batches. Each batch
goes to the log, then to a segment, then is published, so a run that is killed goes on where it
was. A file that cannot be read is named with its reason and never stops the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

from sightline.collection.index import codebooks, tags
from sightline.collection.index.batches import BATCH, PictureReader
from sightline.collection.index.options import FeatureRequest, IndexOptions
from sightline.collection.index.plan import (
    Plan,
    complete_rows,
    lacking_features,
    limits_text,
    plan_for,
    stamps_of,
)
from sightline.collection.index.skipped import SkipGroup, skip_groups
from sightline.collection.index.tables import (
    RULES_VERSION,
    TableReport,
    WordChanges,
    WordFiles,
    remembered_rules,
    stamp,
)
from sightline.collection.index.tags import (
    from_files,
    publish_kept,
    publish_words,
    with_new_sidecars,
)
from sightline.collection.index.vectors import ImportReport, import_vectors, refresh_vectors
from sightline.contracts import Compute, Failed, Json, Progress
from sightline.errors import CollectionError, DataError, Interrupted
from sightline.features.imported import ImportedVectors
from sightline.pictures.folder import PictureFile
from sightline.pictures.reading import WORDS_TASK, losses_of, problems_of, request, words_of
from sightline.pictures.tally import ReasonCount
from sightline.records import Skipped, Tags, shown
from sightline.store.events import NewEvent
from sightline.store.snapshot import Snapshot
from sightline.store.upkeep.rollback import reusable_rows
from sightline.store.versions import ScoringKind
from sightline.store.writer import Change, FileStamp, Writer
from sightline.words import tokens

T = TypeVar("T")
# Noted once captions that name their language were divided by language.
_LANGUAGES_READ = "languages_read"


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a run saw and did: `seen` is always `indexed` + the number of `skipped`.

    `vectors` has a report for each imported file of vectors.
    `groups` are the skipped files by reason; `left_out` are names that were not looked at, such as
    hidden ones, and `left_out_new` says whether they are others than at the index before.
    `txt_files` say how text beside pictures was read, `lost_words` what was dropped or cut while
    metadata was read; both are of the pictures that this run read.
    `tables` has one for each table of words that was read.
    `starting_words` says that no picture has a word, and that the feature was computed by which a
    network answers nouns.
    `described` counts pictures that only lacked features; nothing else of them was computed.
    `reused` counts pictures whose rows came from another version after a rollback, unread.
    """

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
    vectors: tuple[ImportReport, ...] = ()
    reused: int = 0
    described: int = 0
    tables: tuple[TableReport, ...] = ()
    groups: tuple[SkipGroup, ...] = ()
    left_out: tuple[ReasonCount, ...] = ()
    left_out_new: bool = False
    txt_files: tuple[ReasonCount, ...] = ()
    lost_words: tuple[ReasonCount, ...] = ()
    starting_words: bool = False

    def word_lines(self) -> list[str]:
        """Return what is to be said of words that were read beside and in pictures."""
        lines = [f"words not read: {c}" for c in self.lost_words]
        if self.txt_files:
            lines.append("; ".join(map(str, self.txt_files)) + "; --txt-as says how for all")
        return lines

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values."""
        return {
            "seen": self.seen, "indexed": self.indexed, "added": self.added,
            "changed": self.changed, "moved": self.moved, "gone": self.gone,
            "reused": self.reused, "described": self.described,
            "skipped": [{**s.to_dict()} for s in self.skipped],
            "problems": list[Json](self.problems), "version": self.version,
            "seconds": round(self.seconds, 3), "vectors": [v.to_dict() for v in self.vectors],
            "tables": [t.to_dict() for t in self.tables],
            "skipped_by_reason": [g.to_dict() for g in self.groups],
            "left_out": [c.to_dict() for c in self.left_out],
            "txt_files": [c.to_dict() for c in self.txt_files],
            "lost_words": [c.to_dict() for c in self.lost_words],
            "starting_words": self.starting_words,
        }  # fmt: skip


class IndexRun:
    """One run; `Collection.index` is the way to start it."""

    def __init__(
        self,
        root: bytes,
        writer: Writer,
        compute: Compute,
        options: IndexOptions,
        progress: Progress,
        vectors: Sequence[ImportedVectors] = (),
        by_order: bool = False,
    ) -> None:
        self.root, self.writer, self.compute = root, writer, compute
        self.options, self.progress = options, progress
        self.vectors, self.by_order = vectors, by_order
        self.problems: list[str] = []
        self.reworded = self.gone = 0
        self._changes: dict[str, WordChanges] = {}

    def run(self) -> IndexReport:
        """Bring the store up to date with the folder."""
        begun = time.monotonic()
        before = self.writer.version.number
        left_out_before = self.writer.catalogue.meta("left_out") or _text_of([])
        plan = self._plan()
        self._left_out = _text_of(plan.left_out.counts())
        self._prepare_features(plan)
        reader = PictureReader(
            self.root,
            self.writer,
            self.compute,
            self.options,
            self.progress,
            self._files,
            self._snapshot,
            self._lacks,
        )
        try:
            self._reuse(plan)
            reader.read(plan)
            self._reword(plan, reader)
            self._drop(plan, reader)
            imported, problem = self._import_vectors()
            self.problems += refresh_vectors(self.writer, self.root, self.progress)
        except KeyboardInterrupt:
            raise Interrupted(
                f"Stopped. {self.writer.version.live} pictures are indexed; "
                "run the same command again to go on."
            ) from None
        self._finish(before)
        if problem:
            raise DataError(problem)
        # Pictures in folders that could not be listed are still held, and count as seen.
        live = set(self._ids_now()) if plan.unlisted else set()
        skipped = [*plan.still_skipped, *plan.skipped_now, *reader.skipped]
        return IndexReport(
            seen=plan.seen + sum(k.picture in live for k in plan.unlisted),
            indexed=self.writer.version.live,
            added=reader.added,
            changed=reader.changed + self.reworded,
            moved=reader.moved,
            gone=self.gone,
            skipped=tuple(sorted(skipped, key=lambda s: (s.by_rule, s.path))),
            problems=(*self.problems, *reader.problems),
            version=self.writer.version.number,
            seconds=time.monotonic() - begun,
            vectors=imported,
            reused=len(plan.reuse),
            described=reader.described,
            tables=self._files.reports(self._changes),
            groups=skip_groups(skipped, plan.skipped_before),
            left_out=plan.left_out.counts(),
            left_out_new=self._left_out != left_out_before,
            txt_files=reader.txt.counts(),
            lost_words=reader.losses.counts(),
        )

    def _import_vectors(self) -> tuple[tuple[ImportReport, ...], str]:
        """Import the files of vectors; return their reports, and what went wrong.

        They were checked before the run; only what depends on the pictures read can still be wrong.
        """
        done: list[ImportReport] = []
        for v in self.vectors:
            try:
                report = import_vectors(self.writer, self.root, v, self.progress, self.by_order)
            except DataError as e:
                return (), f"The pictures are indexed, but vectors were not added: {e}"
            done.append(report)
            self.problems += report.problems()
        return tuple(done), ""

    # -- planning ----------------------------------------------------------------------------

    def _plan(self) -> Plan:
        catalogue = self.writer.catalogue
        if not self.options.refit:
            size = self.options.limits.side
            features = codebooks.resolved(
                self.writer.store_folder.models,
                self.writer.version,
                self.options.features,
                size,
            )
            self.options = replace(self.options, features=features)
        self._snapshot = Snapshot(self.writer.store_folder.shards, self.writer.version)
        live, lacking = complete_rows(self._snapshot, self.options)
        wanted = {w.fingerprint for w in self.options.features}
        known = catalogue.known()
        self._kept = reusable_rows(self.writer.store_folder, known, self._snapshot, live, wanted)
        plan = plan_for(self.root, catalogue, live, self.options, lacking, self._kept)
        self._check_not_vanished(plan)
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

    def _check_not_vanished(self, plan: Plan) -> None:
        if plan.vanished and not plan.seen and not self.options.allow_empty:
            count = len(plan.vanished)
            raise CollectionError(
                f"{shown(self.root)} is empty, but {count} pictures were there before. "
                "If a disk is not mounted, mount it; if they are really gone, use --allow-empty."
            )

    def _prepare_features(self, plan: Plan) -> None:
        """Fit what has to be fitted, and have everything compiled before workers are timed."""
        self._lacks: dict[int, tuple[FeatureRequest, ...]] = {}
        if not self.options.features:
            return
        features, too_few = codebooks.fit_missing(
            self.root,
            self.writer,
            self.compute,
            self.options,
            [*plan.read, *plan.describe],
            self.progress,
        )
        self.problems += too_few
        self.options = replace(self.options, features=features)
        self._lacks = lacking_features(self._snapshot, plan.describe, features)
        needed = set(features) if plan.read else set(chain.from_iterable(self._lacks.values()))
        codebooks.warm([w for w in features if w in needed])

    def _load_word_files(self, plan: Plan) -> None:
        catalogue = self.writer.catalogue
        paths, rules = catalogue.words_files(), remembered_rules(catalogue)
        self._stamp_now = stamp(paths, rules, self.options.folder_words)
        before = catalogue.meta("words_stamp") or stamp([], {}, False)
        changed = self.options.reread or self._stamp_now != before
        needed = bool(plan.read or plan.describe) or changed
        present = plan.present(catalogue.known())
        self._files = WordFiles(paths if needed else [], self.root, rules, present)
        self._stale = changed or self._files.depend_on_all
        self._leaving = {k.picture for k in plan.vanished}
        self.problems += self._files.problems
        if not self._stale and catalogue.meta("table_rules") != str(RULES_VERSION):
            self.problems += self._files.by_earlier_rules()

    # -- rows of other versions, words that changed, pictures that went ----------------------------

    def _reuse(self, plan: Plan) -> None:
        """Publish the right rows of pictures that a rollback left behind; no file is read."""
        if not plan.reuse:
            return
        features = {w.fingerprint for w in self.options.features}
        features |= {f.fingerprint for f in self.writer.catalogue.vectors_files()}
        features |= {f for s in self._snapshot.segments for f in s.features}
        self.progress.start("reuse", len(plan.reuse))
        for part in _chunks(plan.reuse):
            publish_kept(self.writer, part, self._kept, features)
            self.progress.advance(len(part))
        self.progress.finish()

    def _reword(self, plan: Plan, reader: PictureReader) -> None:
        """Publish pictures whose own words, or words in files about many, have changed."""
        now: dict[int, dict[str, Tags]] = {}
        stamps: list[FileStamp] = []
        jobs = [request(self.root, f, self.options.limits, pixels=False) for f, _ in plan.words]
        answers = self.compute.run(WORDS_TASK, jobs, "decode") if jobs else iter(())
        for (file, k), result in zip(plan.words, answers, strict=True):
            if isinstance(result, Failed):
                self.problems.append(f"{shown(file.path)}: {result.reason}")
                continue
            reader.count_losses(problems_of(result), losses_of(result))
            fresh = tags.clean(words_of(result), self.options.txt_as)
            tags.count_txt(fresh, file.path, reader.txt)
            now[k.picture] = with_new_sidecars(self.writer.catalogue.words(k.picture), fresh)
            stamps.append(_stamp(k.picture, file))
        if self._stale:
            folders = self.options.folder_words
            self._changes = from_files(
                self.writer.catalogue, self._files, now, folders, self._leaving
            )
        if self.writer.catalogue.meta(_LANGUAGES_READ) is None:
            now = {**self._with_languages(), **now}
        live = set(self._ids_now())
        if self._other_rules():
            known = {p: self.writer.catalogue.words(p) for p in live - now.keys()}
            now.update((p, {t.source: t for t in w}) for p, w in known.items())
        self._publish_words({p: w for p, w in now.items() if p in live}, stamps)

    def _with_languages(self) -> dict[int, dict[str, Tags]]:
        """Return the words of pictures whose captions name languages, if they are still one text.

        No file is read.
        """
        catalogue, txt_as = self.writer.catalogue, self.options.txt_as
        pictures = catalogue.with_text(tags.LANGUAGE_MARK)
        return {p: tags.clean(catalogue.words(p), txt_as) for p in pictures}

    def _publish_words(self, now: dict[int, dict[str, Tags]], stamps: list[FileStamp]) -> None:
        if not now:
            return
        self.progress.start("words", len(now))
        for part in _chunks(sorted(now)):
            part_stamps = [s for s in stamps if s.picture in part]
            self.reworded += publish_words(self.writer, {p: now[p] for p in part}, part_stamps)
            self.progress.advance(len(part))
        self.progress.finish()

    def _other_rules(self) -> bool:
        """Say whether the rows were made when words were split by other rules."""
        return self.writer.catalogue.meta("tokens") not in (None, str(tokens.VERSION))

    def _ids_now(self) -> list[int]:
        snapshot = Snapshot(self.writer.store_folder.shards, self.writer.version)
        return [int(i) for i in snapshot.ids()]

    def _drop(self, plan: Plan, reader: PictureReader) -> None:
        """Remove pictures whose files are gone from the results; they keep their ids."""
        left = {p for ids in plan.free.values() for p in ids}
        gone = [k.picture for k in plan.vanished if k.picture in left]
        self.gone = len(gone)
        events = self.writer.append([NewEvent("picture-gone", p) for p in gone])
        rows = [*gone, *self._rows_without_picture(plan, reader)]
        if rows:
            self.writer.publish(Change(events=events, dead=rows), finished=False)

    def _rows_without_picture(self, plan: Plan, reader: PictureReader) -> list[int]:
        """Return the ids of rows that must not be shown.

        They belong to pictures that a crash left half removed, and to files that used to be
        pictures and can no longer be read (these keep their id).
        """
        bad = (*plan.still_skipped, *plan.skipped_now, *reader.skipped)
        skipped = {s.path for s in bad}
        good = {k.picture for k in self.writer.catalogue.known() if k.path not in skipped}
        return [i for i in self._ids_now() if i not in good]

    def _finish(self, before: int) -> None:
        w = self.writer
        meta = [("tokens", str(tokens.VERSION)), ("limits", limits_text(self.options))]
        meta.append((_LANGUAGES_READ, "1"))
        meta += [("left_out", self._left_out), ("txt_as", self.options.txt_as)]
        if not self._files.failed:
            # Otherwise the next run reads the tables again, and reports the problems again.
            meta.append(("words_stamp", self._stamp_now))
            if self._stale:
                meta.append(("table_rules", str(RULES_VERSION)))
        w.note(Change(meta=meta))
        w.score_missing()
        if without := self._unscored("words"):
            self.problems.append(
                f"{without} pictures lack the features the model was trained on and are found by "
                "their words alone. Train again: sightline train"
            )
        if without := self._unscored("text"):
            self.problems.append(
                f"{without} pictures lack the features the text model was trained on, and no text "
                "finds them. Train again: sightline train text"
            )
        if not w.compact() and (w.version.number != before or not w.version.finished):
            w.publish(Change(), finished=True)

    def _unscored(self, kind: ScoringKind) -> int:
        """Return how many pictures the model of a kind, if there is one, could not score."""
        version = self.writer.version
        model = version.scoring_model(kind)
        return sum(s.live for s in version.segments if model and s.published(kind)[1] != model)


def _stamp(picture: int, file: PictureFile) -> FileStamp:
    return FileStamp(picture, file.size, file.mtime, stamps_of(file))


def _text_of(counts: Sequence[ReasonCount]) -> str:
    return "; ".join(f"{c.kind} {c.count}" for c in counts)


def _chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for i in range(0, len(items), BATCH):
        yield items[i : i + BATCH]
