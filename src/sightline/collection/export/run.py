"""One run of `export`: check the target, gather, plan, ask, write, report."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.collection.discovery import inside
from sightline.collection.export.select import ExportSelection, gather
from sightline.collection.export.sidecars import Beside, Mirror, Sidecar
from sightline.contracts import Json, Progress
from sightline.errors import DataError, ParameterError, UsageError
from sightline.exchange.exported import KINDS, ExportedPicture
from sightline.records import ProposedWord, shown
from sightline.registry import EXPORT_FORMATS
from sightline.settings import Settings
from sightline.store.catalogue import Where
from sightline.store.durable import disk_errors, write_file
from sightline.store.events import EventLog
from sightline.store.folder import StoreFolder
from sightline.store.locks import Lock

if TYPE_CHECKING:
    from sightline.collection import Collection

# Files that are flushed at once share the work of the disk: 4 are ten times as fast as one by one.
AT_ONCE = 4
_PIECE = 64


def _writer(form: str) -> Callable[[Iterable[ExportedPicture]], Iterator[bytes]]:
    """Return what turns pictures into the bytes of a file of this format."""
    module, _, function = EXPORT_FORMATS[form].writer.partition(":")
    writer: Callable[[Iterable[ExportedPicture]], Iterator[bytes]] = getattr(
        importlib.import_module(module), function
    )
    return writer


@dataclass(frozen=True, slots=True)
class ExportOrder:
    """What is to be exported, and where to; beside the pictures if there is no place."""

    form: str
    place: Path | None
    choice: ExportSelection
    where: Where
    boxes: bool = True
    overwrite: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A file that was not written, with the reason."""

    path: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written, or would be.

    Attributes
    ----------
    form : str
        As ordered; no place means beside the pictures.
    place : Path or None
        As ordered; no place means beside the pictures.
    pictures : int
        That have words to export.
    words : int
        Written, or beside the pictures: added; `kinds` has the number of each kind.
    completed : int
        Words that some keyword lists of a sidecar had and others get.
    captions, regions : int
        Running texts and boxes written.
    new, changed : int
        Files that are made, and files that are there and added to.
    sidecars : tuple of Sidecar
        What is done to each sidecar, in the order of the pictures' ids.
    left : tuple of LeftAlone
        Files that were left as they are, with reasons.
    written : int
        Files that were written; 0 in a dry run, or if it was declined.
    """

    form: str
    place: Path | None
    pictures: int = 0
    words: int = 0
    kinds: tuple[tuple[str, int], ...] = ()
    captions: int = 0
    regions: int = 0
    new: int = 0
    changed: int = 0
    sidecars: tuple[Sidecar, ...] = ()
    left: tuple[LeftAlone, ...] = ()
    written: int = 0
    dry_run: bool = False
    completed: int = 0

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values."""
        return {
            "format": self.form, "target": None if self.place is None else str(self.place),
            "pictures": self.pictures, "words": self.words, "kinds": dict(self.kinds),
            "completed": self.completed, "captions": self.captions, "regions": self.regions,
            "new": self.new, "changed": self.changed, "written": self.written,
            "dry_run": self.dry_run,
            "files": [
                {"path": os.fsdecode(s.path), "new": s.before is None,
                 "words": list[Json](s.words), "completed": list[Json](s.completed)}
                for s in self.sidecars
            ],
            "left": [{"path": os.fsdecode(x.path), "reason": x.reason} for x in self.left],
        }  # fmt: skip


class ExportRun:
    """One run of an export."""

    def __init__(
        self,
        store_folder: StoreFolder,
        root: bytes,
        settings: Settings,
        order: ExportOrder,
        proposed: Mapping[int, Sequence[ProposedWord]],
    ) -> None:
        self.store_folder, self.root, self.settings, self.order = (
            store_folder,
            root,
            settings,
            order,
        )
        self._proposed = proposed
        self._counts: Counter[str] = Counter()

    def run(
        self, progress: Progress, confirm: Callable[[ExportReport], bool] | None
    ) -> ExportReport:
        """Run the export; return what was written."""
        if EXPORT_FORMATS[self.order.form].is_file:
            return self._file(progress)
        return self._sidecars(progress, confirm)

    def _pictures(self, progress: Progress, what: str) -> Iterator[ExportedPicture]:
        """Yield the pictures with their words, counted."""
        progress.start(what, None)
        log = EventLog(self.store_folder.events, write=False)
        with self.store_folder.reader() as reader, contextlib.closing(log):
            judgements = log.judgements()
            order = self.order
            for p in gather(
                reader.catalogue, judgements, order.where, order.choice, self._proposed
            ):
                self._counts.update(w.kind for w in p.words)
                self._counts.update(pictures=1, captions=bool(p.caption))
                self._counts["regions"] += sum(w.box is not None for w in p.words)
                yield p
                progress.advance()
        progress.finish()

    def _file(self, progress: Progress) -> ExportReport:
        place = self.order.place
        parts = _writer(self.order.form)(self._pictures(progress, "export"))
        if place is None or self.order.dry_run:
            for _ in parts:
                pass
        else:
            with disk_errors(place):
                os.makedirs(place.parent, exist_ok=True)
            write_file(place.parent, place.name, parts)
        done = self._report()
        return replace(done, new=1, written=int(not self.order.dry_run))

    def _report(self) -> ExportReport:
        c = self._counts
        kinds = tuple((k, c[k]) for k in KINDS if c[k])
        return ExportReport(
            self.order.form, self.order.place, c["pictures"], sum(n for _, n in kinds), kinds,
            c["captions"], c["regions"], dry_run=self.order.dry_run,
        )  # fmt: skip

    def _sidecars(
        self, progress: Progress, confirm: Callable[[ExportReport], bool] | None
    ) -> ExportReport:
        order, s = self.order, self.settings
        limit = int(s.max_file_mb * 1e6)
        beside = Beside(self.root, boxes=order.boxes, follow=s.follow, max_bytes=limit)
        writer: Beside | Mirror = beside
        if order.place is not None:
            target = os.fsencode(order.place)
            writer = Mirror(target, beside, overwrite=order.overwrite)
        plans, left = self._plan(writer, progress)
        report = replace(
            self._report(),
            words=sum(len(p.words) for p in plans),
            completed=sum(len(p.completed) for p in plans),
            captions=sum(p.captioned for p in plans),
            regions=sum(p.regions for p in plans),
            new=sum(p.before is None for p in plans),
            changed=sum(p.before is not None for p in plans),
            sidecars=tuple(plans),
            left=tuple(left),
        )
        asked = confirm if order.place is None and plans else None
        if order.dry_run or (asked is not None and not asked(report)):
            return report
        if not plans and not beside.with_leftovers:
            return report
        return self._write(writer, report, progress)

    def _plan(
        self, writer: Beside | Mirror, progress: Progress
    ) -> tuple[list[Sidecar], list[LeftAlone]]:
        plans: list[Sidecar] = []
        left: list[LeftAlone] = []
        for p in self._pictures(progress, "plan"):
            place = p.path
            try:
                place = writer.place(p)
                plan = writer.plan(p)
            except DataError as e:
                left.append(LeftAlone(place, str(e)))
                continue
            plans += [plan] if plan is not None else []
        return plans, left

    def _write(
        self, writer: Beside | Mirror, report: ExportReport, progress: Progress
    ) -> ExportReport:
        if isinstance(writer, Mirror):
            with disk_errors(os.fsdecode(writer.target)):
                os.makedirs(writer.target, exist_ok=True)
            return self._write_all(writer, report, progress)
        if not os.access(self.store_folder.path, os.W_OK):
            return self._write_all(writer, report, progress)
        with Lock(self.store_folder.path, "export", self.settings.wait):
            writer.clean()
            return self._write_all(writer, report, progress)

    def _write_all(
        self, writer: Beside | Mirror, report: ExportReport, progress: Progress
    ) -> ExportReport:
        left, written = list(report.left), 0
        progress.start("export", len(report.sidecars))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            # Piece by piece, so that Ctrl-C or a full disk ends it soon.
            for start in range(0, len(report.sidecars), _PIECE):
                piece = report.sidecars[start : start + _PIECE]
                for s, reason in zip(piece, pool.map(writer.try_to_write, piece), strict=True):
                    left += [LeftAlone(s.path, reason)] if reason else []
                    written += not reason
                    progress.advance()
        progress.finish()
        return replace(report, left=tuple(left), written=written)


def check_target(
    collection: Collection,
    format: str,
    target: str | os.PathLike[str] | None,
    into_collection: bool,
    overwrite: bool,
) -> Path | None:
    """Return where to write, None for beside the pictures; raise for what must not be written."""
    root, store = collection.root, collection.store.folder
    if format not in EXPORT_FORMATS:
        raise ParameterError.of("format", "export", f"one of {', '.join(EXPORT_FORMATS)}", format)
    is_file = EXPORT_FORMATS[format].is_file
    if into_collection and (is_file or target is not None or overwrite):
        raise UsageError(
            "Only xmp goes into the collection, without a target, and is merged. Leave out "
            + ("--overwrite." if overwrite else "the flag." if is_file else "TARGET.")
        )
    if into_collection:
        return None
    if target is None:
        raise UsageError(f"Where to? Name a {'file' if is_file else 'folder'}.")
    place = Path(os.path.realpath(_named(format, target)))
    _check_outside(place, root, store)
    if not is_file and inside(Path(os.fsdecode(root)), os.fsencode(place)):
        raise UsageError(
            f"The collection {shown(root)} lies inside {place}, so sidecars could land "
            "among the pictures. Name a folder of its own."
        )
    if not is_file and place.exists() and not place.is_dir():
        raise UsageError(f"{place} is no folder. Name a folder for the sidecars.")
    if is_file and place.exists() and not overwrite:
        raise UsageError(f"{place} is there already. Name another file, or add --overwrite.")
    return place


def _check_outside(place: Path, root: bytes, store: Path) -> None:
    if inside(place, root):
        raise UsageError(
            f"{place} lies inside the collection, where nothing is ever written. Name another "
            "place; sidecars beside the pictures: sightline export xmp --into-collection"
        )
    if inside(place, os.fsencode(os.path.realpath(store))):
        raise UsageError(f"{place} lies inside the store. Name another place.")


def _named(format: str, target: str | os.PathLike[str]) -> Path:
    """Return the file that is meant; a folder gets one with the usual name."""
    place = Path(target).expanduser().absolute()
    entry = EXPORT_FORMATS[format]
    if not entry.is_file:
        return place
    if place.is_dir() or os.fspath(target).endswith("/"):
        return place / entry.file
    ending = Path(entry.file).suffix
    if place.suffix.lower() != ending:
        raise UsageError(f"A file of {format} ends in {ending}. Name it so, not {place.name!r}.")
    return place
