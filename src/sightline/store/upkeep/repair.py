"""Mending a store: what is derived is thrown away and made again; the log is never thrown away.

A damaged log is put aside under another name, and every event whose checksum is right goes into a
new one. A damaged catalogue is made again from the log. A version that lists a damaged file loses
the segments that need it; the next `index` reads those pictures again. Scores, models and codebooks
that are damaged are left out; the pictures stay.
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
from sightline.store.home import Home
from sightline.store.locks import Lock, Presence, require_writable
from sightline.store.models import model_problems, remove_models_except
from sightline.store.segments import OpenSegment
from sightline.store.upkeep.verify import Verified, file_problem, verify
from sightline.store.versions import OURS, Segment, Version


def repair(home: Home, say: Callable[[str], None], wait: float = 0.0) -> Verified:
    """Mend what `verify` finds, saying each step; return the state afterwards.

    Pictures whose rows were lost are read again by the next `index`.
    """
    require_writable(home.folder)
    for folder in (home.folder, home.shards, home.versions.folder, home.models):
        make_folder(folder)
    with Lock(home.folder, "store repair", wait), _nobody_else(home), disk_errors(home.folder):
        before = verify(home) if home.events.exists() or home.catalogue.exists() else None
        damaged = {p.file for p in before.problems} if before else {"catalogue.sqlite3"}
        seal.break_seal(home.folder)
        if "events.sqlite3" in damaged:
            _mend_log(home, say)
        if "catalogue.sqlite3" in damaged or "events.sqlite3" in damaged:
            _put_aside(home.catalogue, say)
        _mend_versions(home, say)
        for name in faiss_files.remove_damaged(home.ivf):
            say(f"removed the damaged ivf/{name}; to build it again: sightline export faiss")
        for stray in before.strays if before else ():
            # Only what a killed writer leaves behind is ours to remove.
            if OURS.fullmatch(os.path.basename(stray)):
                (home.folder / stray).unlink(missing_ok=True)
                say(f"removed the leftover {stray}")
        seal.lay_seal(home.folder)
        return verify(home)


@contextlib.contextmanager
def _nobody_else(home: Home) -> Iterator[None]:
    """Keep everybody from appending to a log that is about to be replaced."""
    presence = Presence(home.folder)
    try:
        if not presence.alone():
            raise StoreBusy(f"{home.folder} is in use by others. Try again when they are done.")
        yield
    finally:
        presence.leave()


def _put_aside(path: Path, say: Callable[[str], None]) -> None:
    """Give a database and its log other names; nothing of them is thrown away."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{path}-shm")
    for tail in ("-wal", ""):
        if os.path.exists(f"{path}{tail}"):
            os.replace(f"{path}{tail}", f"{aside}{tail}")
            say(f"put the damaged {path.name}{tail} aside as {aside.name}{tail}")
    sync_folder(path.parent)


def _mend_log(home: Home, say: Callable[[str], None]) -> None:
    expected = _events_applied(home)
    events, cut = _sound_events(home.events)
    # Nothing is moved before all of it is written: the disk may be full.
    new = home.folder / "events.sqlite3.new"
    for tail in ("", "-wal", "-shm"):
        Path(f"{new}{tail}").unlink(missing_ok=True)
    with contextlib.closing(EventLog(new, write=True)) as log:
        log.restore(events)
        log.checkpoint()
    _put_aside(home.events, say)
    os.replace(new, home.events)
    sync_folder(home.folder)
    lost = max(expected, events[-1].seq if events else 0) - len(events)
    tail = "; the file was cut off, so later ones may be missing" if cut else ""
    say(f"kept {len(events)} events of the log; {lost} were beyond reading{tail}")


def _events_applied(home: Home) -> int:
    """Return how many events the catalogue was made from, as far as it can tell."""
    try:
        catalogue = Catalogue(home.catalogue, write=False)
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
    # Acknowledged rows may still lie in the log beside the file; an ordinary opening sees them.
    with contextlib.suppress(StoreError, sqlite3.Error):
        log = EventLog(path, write=True)
        log.checkpoint()
        log.close()
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="repair-") as folder:
        copy = Path(folder) / "events.sqlite3"
        shutil.copyfile(path, copy)
        cut = _pad(copy)
        # A damaged tree can hide rows from one way of walking it and show them to another.
        for order in ("ORDER BY seq", "ORDER BY seq DESC", "ORDER BY picture", ""):
            with contextlib.suppress(StoreError, sqlite3.Error, UnicodeDecodeError):
                db = connect_sealed(copy)
                for row in db.execute(f"SELECT {COLUMNS} FROM events {order}"):
                    with contextlib.suppress(StoreDamaged, ValueError, TypeError):
                        events.setdefault(row[0], checked(row, path))
    return [events[seq] for seq in sorted(events)], cut


def _pad(copy: Path) -> bool:
    """Lengthen a file that was cut off to what its header says; SQLite reads no shorter one."""
    with open(copy, "r+b") as f:
        header = f.read(100)
        if len(header) == 100:
            page = int.from_bytes(header[16:18], "big")
            whole = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
            if os.fstat(f.fileno()).st_size < whole < 1 << 40:
                f.truncate(whole)
                return True
    return False


def _mend_versions(home: Home, say: Callable[[str], None]) -> None:
    catalogue = Catalogue(home.catalogue, write=True)
    log = EventLog(home.events, write=True)
    try:
        with transaction(catalogue.db, catalogue.path):
            catalogue.apply(log.read(catalogue.applied()), published=False)
        version = _best_version(home, catalogue, say)
        with transaction(catalogue.db, catalogue.path):
            catalogue.set_meta("current", str(version.number))
        home.versions.prune(version.number)
        remove_models_except(home.models, home.versions.models())
    finally:
        for f in (catalogue, log):
            f.checkpoint()
            f.close()


def _best_version(home: Home, catalogue: Catalogue, say: Callable[[str], None]) -> Version:
    """Return the newest version that can be read, without the segments that cannot."""
    numbers = home.versions.numbers()
    for number in reversed(numbers):
        try:
            version = home.versions.read(number)
        except StoreError:
            home.versions.remove([number])
            say(f"removed the damaged version {number}")
            continue
        if number != int(catalogue.meta("current") or 0):
            # The rows of another version need not be what the catalogue says of the pictures.
            with transaction(catalogue.db, catalogue.path):
                catalogue.mark_all_unpublished()
        _drop_damaged_older(home, number, say)
        return _without_damage(home, version, say)
    version = Version(max([*numbers, int(catalogue.meta("current") or 0), 0]) + 1)
    home.versions.write(version)
    return version


def _drop_damaged_older(home: Home, newest: int, say: Callable[[str], None]) -> None:
    for number in home.versions.numbers():
        if number < newest:
            try:
                version = home.versions.read(number)
                sound = all(_sound(home, s) for s in version.segments) and _model_sound(
                    home, version
                )
            except StoreError:
                sound = False
            if not sound:
                home.versions.remove([number])
                say(f"removed the damaged version {number}")


def _without_damage(home: Home, version: Version, say: Callable[[str], None]) -> Version:
    bad = {m for m in version.models() if model_problems(home.models, m)}
    scored = [_with_sound_scores(home, s, bad) for s in version.segments]
    kept = tuple(s for s in scored if _sound(home, s))
    if kept == version.segments and not bad:
        return version
    mended = replace(
        version,
        number=version.number + 1,
        segments=kept,
        model=version.model if version.model not in bad else "",
        similar=version.similar if version.similar not in bad else "",
        regions=version.regions if version.regions not in bad else "",
        codebooks=tuple(c for c in version.codebooks if c not in bad),
    )
    home.versions.write(mended)
    home.versions.remove([version.number])
    for line in _losses(version, mended, bad):
        say(line)
    return mended


def _losses(version: Version, mended: Version, bad: set[str]) -> Iterator[str]:
    """Yield what a version lost when it was mended, each with what brings it back."""
    if lost := version.live - mended.live:
        yield f"{lost} pictures lost their place and will be read again"
    before = {s.base.name: s for s in version.segments}
    unscored = [s for s in mended.segments if s.scores is None and before[s.base.name].scores]
    if unscored and mended.model:
        count = sum(s.live for s in unscored)
        yield f"the scores of {count} pictures were damaged; the next index makes them again"
    for name in sorted(bad & set(version.codebooks)):
        yield f"the codebook {name} is damaged and no longer used; the next index makes another"
    if version.model in bad:
        yield f"the model {version.model} is damaged and no longer used"
        yield "run sightline train to learn again"
    if version.similar in bad:
        yield f"the model {version.similar} is damaged and no longer used"
        yield "run sightline train --similar to learn again"
    if version.regions in bad:
        yield f"the model {version.regions} is damaged and no longer used"
        yield "run sightline train --regions to learn again"


def _with_sound_scores(home: Home, s: Segment, bad: set[str]) -> Segment:
    """Return a segment without its scores if they or their model are damaged."""
    if s.scores is None:
        return s
    if s.scored_by not in bad and file_problem(home.shards, s.scores) is None:
        return s
    return replace(s, scores=None, scored_by="")


def _model_sound(home: Home, version: Version) -> bool:
    return not any(model_problems(home.models, m) for m in version.models())


def _sound(home: Home, s: Segment) -> bool:
    if any(file_problem(home.shards, f) is not None for f in s.files()):
        return False
    try:
        OpenSegment.open(home.shards, s)
    except StoreError:
        return False
    return True
