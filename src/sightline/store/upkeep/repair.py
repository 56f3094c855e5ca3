"""Repairing a store: derived data are discarded and made again; the log is never discarded.

A damaged log is renamed, and every event whose checksum is right is copied to a new one. A damaged
catalogue is made again from the log. A version that lists a damaged file loses the segments that
need it; the next `index` reads those pictures again. Damaged scores, models and codebooks are left
out; the pictures stay.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from sightline.errors import SightlineError, StoreBusy, StoreDamaged, StoreError
from sightline.store import seal
from sightline.store.catalogue import Catalogue
from sightline.store.database import connect_sealed, transaction
from sightline.store.durable import disk_errors, make_folder, sync_folder
from sightline.store.engines import faiss_files
from sightline.store.events import COLUMNS, Event, EventLog, checked
from sightline.store.folder import StoreFolder
from sightline.store.locks import Lock, Presence, require_writable
from sightline.store.models import model_problems, remove_models_except
from sightline.store.segments import OpenSegment
from sightline.store.upkeep.verify import Verified, file_problem, verify
from sightline.store.versions import (
    ARRAY_FILE,
    SCORING_KINDS,
    ScoringKind,
    Segment,
    Version,
)


def repair(store_folder: StoreFolder, report: Callable[[str], None], wait: float = 0.0) -> Verified:
    """Repair what `verify` finds; return the state afterwards.

    Pictures whose rows were lost are read again by the next `index`.

    Parameters
    ----------
    store_folder : StoreFolder
        The store.
    report : callable
        Is called with a sentence about each step.
    wait : float, default=0.0
        How many seconds to wait for another writer.
    """
    require_writable(store_folder.path)
    for folder in (
        store_folder.path,
        store_folder.shards,
        store_folder.versions.folder,
        store_folder.models,
    ):
        make_folder(folder)
    with (
        Lock(store_folder.path, "store repair", wait),
        _only_writer(store_folder),
        disk_errors(store_folder.path),
    ):
        before = (
            verify(store_folder)
            if store_folder.events.exists() or store_folder.catalogue.exists()
            else None
        )
        damaged = {p.file for p in before.problems} if before else {"catalogue.sqlite3"}
        seal.break_seal(store_folder.path)
        if "events.sqlite3" in damaged:
            _repair_log(store_folder, report)
        if "catalogue.sqlite3" in damaged or "events.sqlite3" in damaged:
            _set_aside(store_folder.catalogue, report)
        _repair_versions(store_folder, report)
        for name in faiss_files.remove_damaged(store_folder.ivf):
            report(f"removed the damaged ivf/{name}; to build it again: sightline export faiss")
        for stray in before.strays if before else ():
            # Only array files, which a killed writer leaves behind, may be removed.
            if ARRAY_FILE.fullmatch(os.path.basename(stray)):
                (store_folder.path / stray).unlink(missing_ok=True)
                report(f"removed the unfinished file {stray}")
        seal.write_seal(store_folder.path)
        return verify(store_folder)


@contextlib.contextmanager
def _only_writer(store_folder: StoreFolder) -> Iterator[None]:
    """Keep others from appending to a log that is about to be replaced."""
    presence = Presence(store_folder.path)
    try:
        if not presence.alone():
            raise StoreBusy(
                f"{store_folder.path} is in use by another process. Try again when it is done."
            )
        yield
    finally:
        presence.leave()


def _set_aside(path: Path, report: Callable[[str], None]) -> None:
    """Rename a database and its write-ahead log; nothing of them is lost."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{path}-shm")
    for tail in ("-wal", ""):
        if os.path.exists(f"{path}{tail}"):
            os.replace(f"{path}{tail}", f"{aside}{tail}")
            report(f"renamed the damaged {path.name}{tail} to {aside.name}{tail}")
    sync_folder(path.parent)


def _repair_log(store_folder: StoreFolder, report: Callable[[str], None]) -> None:
    expected = _events_applied(store_folder)
    events, cut = _sound_events(store_folder.events)
    # Nothing is renamed before the new log is written: the disk may be full.
    new = store_folder.path / "events.sqlite3.new"
    for tail in ("", "-wal", "-shm"):
        Path(f"{new}{tail}").unlink(missing_ok=True)
    with contextlib.closing(EventLog(new, write=True)) as log:
        log.restore(events)
        log.checkpoint()
    _set_aside(store_folder.events, report)
    os.replace(new, store_folder.events)
    sync_folder(store_folder.path)
    lost = max(expected, events[-1].seq if events else 0) - len(events)
    tail = "; the file was cut off, so later ones may be missing" if cut else ""
    report(f"kept {len(events)} events of the log; {lost} could not be read{tail}")


def _events_applied(store_folder: StoreFolder) -> int:
    """Return how many events the catalogue was made from; 0 if it cannot be read."""
    try:
        catalogue = Catalogue(store_folder.catalogue, write=False)
    except SightlineError:
        return 0
    try:
        return catalogue.applied()
    except StoreError:
        return 0
    finally:
        catalogue.close()


def _sound_events(path: Path) -> tuple[list[Event], bool]:
    """Return every event that can be read with a right checksum, and whether the file was cut."""
    events: dict[int, Event] = {}
    if not path.exists():
        return [], False
    # Acknowledged rows may still be in the write-ahead log; opening the file folds them in.
    with contextlib.suppress(StoreError, sqlite3.Error):
        log = EventLog(path, write=True)
        log.checkpoint()
        log.close()
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="repair-") as folder:
        copy = Path(folder) / "events.sqlite3"
        shutil.copyfile(path, copy)
        cut = _pad(copy)
        # In a damaged B-tree, one order of traversal can reach rows that another does not.
        for order in ("ORDER BY seq", "ORDER BY seq DESC", "ORDER BY picture", ""):
            with contextlib.suppress(StoreError, sqlite3.Error, UnicodeDecodeError):
                db = connect_sealed(copy)
                for row in db.execute(f"SELECT {COLUMNS} FROM events {order}"):
                    with contextlib.suppress(StoreDamaged, ValueError, TypeError):
                        events.setdefault(row[0], checked(row, path))
    return [events[seq] for seq in sorted(events)], cut


def _pad(copy: Path) -> bool:
    """Extend a truncated file to the size in its header, without which SQLite does not open it."""
    with open(copy, "r+b") as f:
        header = f.read(100)
        if len(header) == 100:
            page = int.from_bytes(header[16:18], "big")
            full_size = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
            if os.fstat(f.fileno()).st_size < full_size < 1 << 40:
                f.truncate(full_size)
                return True
    return False


def _repair_versions(store_folder: StoreFolder, report: Callable[[str], None]) -> None:
    catalogue = Catalogue(store_folder.catalogue, write=True)
    log = EventLog(store_folder.events, write=True)
    try:
        with transaction(catalogue.db, catalogue.path):
            catalogue.apply(log.read(catalogue.applied()), published=False)
        version = _best_version(store_folder, catalogue, report)
        with transaction(catalogue.db, catalogue.path):
            catalogue.set_meta("current", str(version.number))
        store_folder.versions.prune(version.number)
        remove_models_except(store_folder.models, store_folder.versions.models())
    finally:
        for f in (catalogue, log):
            f.checkpoint()
            f.close()


def _best_version(
    store_folder: StoreFolder, catalogue: Catalogue, report: Callable[[str], None]
) -> Version:
    """Return the newest version that can be read, without the segments that cannot."""
    numbers = store_folder.versions.numbers()
    for number in reversed(numbers):
        try:
            version = store_folder.versions.read(number)
        except StoreError:
            store_folder.versions.remove([number])
            report(f"removed the damaged version {number}")
            continue
        if number != int(catalogue.meta("current") or 0):
            # The rows of another version may not be those the catalogue describes.
            with transaction(catalogue.db, catalogue.path):
                catalogue.mark_all_unpublished()
        _drop_damaged_older(store_folder, number, report)
        return _without_damage(store_folder, version, report)
    version = Version(max([*numbers, int(catalogue.meta("current") or 0), 0]) + 1)
    store_folder.versions.write(version)
    return version


def _drop_damaged_older(
    store_folder: StoreFolder, newest: int, report: Callable[[str], None]
) -> None:
    for number in store_folder.versions.numbers():
        if number < newest:
            try:
                version = store_folder.versions.read(number)
                sound = all(_sound(store_folder, s) for s in version.segments) and _model_sound(
                    store_folder, version
                )
            except StoreError:
                sound = False
            if not sound:
                store_folder.versions.remove([number])
                report(f"removed the damaged version {number}")


def _without_damage(
    store_folder: StoreFolder, version: Version, report: Callable[[str], None]
) -> Version:
    damaged = {m for m in version.models() if model_problems(store_folder.models, m)}
    scored = [_with_sound_scores(store_folder, s, damaged) for s in version.segments]
    sound = tuple(s for s in scored if _sound(store_folder, s))
    if sound == version.segments and not damaged:
        return version
    repaired = replace(
        version,
        number=version.number + 1,
        segments=sound,
        model=version.model if version.model not in damaged else "",
        similar=version.similar if version.similar not in damaged else "",
        regions=version.regions if version.regions not in damaged else "",
        text=version.text if version.text not in damaged else "",
        codebooks=tuple(c for c in version.codebooks if c not in damaged),
    )
    store_folder.versions.write(repaired)
    store_folder.versions.remove([version.number])
    for line in _losses(version, repaired, damaged):
        report(line)
    return repaired


def _losses(version: Version, repaired: Version, damaged: set[str]) -> Iterator[str]:
    """Yield what a version lost by the repair, each with how to restore it."""
    if lost := version.live - repaired.live:
        yield f"the rows of {lost} pictures were damaged; the next index reads the pictures again"
    before = {s.base.name: s for s in version.segments}
    what_of: dict[ScoringKind, str] = {"words": "scores", "text": "points"}
    for kind, what in what_of.items():
        unscored = [s for s in repaired.segments if _lost(before[s.base.name], s, kind)]
        if unscored and repaired.scoring_model(kind):
            count = sum(s.live for s in unscored)
            yield f"the {what} of {count} pictures were damaged; the next index computes them again"
    for name in sorted(damaged & set(version.codebooks)):
        yield f"the codebook {name} is damaged and no longer used; the next index builds another"
    if version.model in damaged:
        yield f"the model {version.model} is damaged and no longer used"
        yield "run: sightline train"
    if version.similar in damaged:
        yield f"the model {version.similar} is damaged and no longer used"
        yield "run: sightline train similarity"
    if version.regions in damaged:
        yield f"the model {version.regions} is damaged and no longer used"
        yield "run: sightline train regions"
    if version.text in damaged:
        yield f"the model {version.text} is damaged and no longer used"
        yield "run: sightline train text"


def _lost(before: Segment, after: Segment, kind: ScoringKind) -> bool:
    """Say whether a segment lost what a model of a kind published for it."""
    return before.published(kind)[0] is not None and after.published(kind)[0] is None


def _with_sound_scores(store_folder: StoreFolder, s: Segment, damaged: set[str]) -> Segment:
    """Return a segment without published scores that are damaged, or whose model is."""
    for kind in SCORING_KINDS:
        file, model = s.published(kind)
        if file is None:
            continue
        if model in damaged or file_problem(store_folder.shards, file) is not None:
            s = s.with_published(kind)
    return s


def _model_sound(store_folder: StoreFolder, version: Version) -> bool:
    return not any(model_problems(store_folder.models, m) for m in version.models())


def _sound(store_folder: StoreFolder, s: Segment) -> bool:
    if any(file_problem(store_folder.shards, f) is not None for f in s.files()):
        return False
    try:
        OpenSegment.open(store_folder.shards, s)
    except StoreError:
        return False
    return True
