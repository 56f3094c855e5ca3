"""Mending a store: what is derived is thrown away and made again; the log is never thrown away.

A damaged log is put aside under another name, and every event whose checksum is right goes into a
new one. A damaged catalogue is made again from the log. A version that lists a damaged file loses
the segments that need it; the next `index` reads those pictures again.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sightline.errors import StoreDamaged, StoreError
from sightline.store import seal
from sightline.store.catalogue import Catalogue
from sightline.store.database import connect_sealed, transaction
from sightline.store.durable import make_folder, sync_folder
from sightline.store.events import COLUMNS, Event, EventLog, checked
from sightline.store.home import Home
from sightline.store.locks import Lock
from sightline.store.models import model_problems
from sightline.store.segments import OpenSegment
from sightline.store.verifying import Verified, file_problem, verify
from sightline.store.versions import Segment, Version


def repair(home: Home, say: Callable[[str], None], wait: float = 0.0) -> Verified:
    """Mend what `verify` finds, saying each step; return the state afterwards.

    Pictures whose rows were lost are read again by the next `index`.
    """
    for folder in (home.folder, home.shards, home.versions.folder, home.models):
        make_folder(folder)
    with Lock(home.folder, "store repair", wait):
        before = verify(home) if home.events.exists() or home.catalogue.exists() else None
        damaged = {p.file for p in before.problems} if before else {"catalogue.sqlite3"}
        seal.break_seal(home.folder)
        if "events.sqlite3" in damaged:
            _mend_log(home, say)
        if "catalogue.sqlite3" in damaged or "events.sqlite3" in damaged:
            _put_aside(home.catalogue, say)
        _mend_versions(home, say)
        for stray in before.strays if before else ():
            (home.folder / stray).unlink(missing_ok=True)
            say(f"removed the leftover {stray}")
        seal.lay_seal(home.folder)
        return verify(home)


def _put_aside(path: Path, say: Callable[[str], None]) -> None:
    for tail in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{tail}")
    if path.exists():
        number = 1
        while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
            number += 1
        os.replace(path, aside)
        sync_folder(path.parent)
        say(f"put the damaged {path.name} aside as {aside.name}")


def _mend_log(home: Home, say: Callable[[str], None]) -> None:
    events = _sound_events(home.events)
    _put_aside(home.events, say)
    log = EventLog(home.events, write=True)
    try:
        log.restore(events)
    finally:
        log.checkpoint()
        log.close()
    lost = (events[-1].seq if events else 0) - len(events)
    say(f"kept {len(events)} events of the log" + (f"; {lost} were beyond reading" if lost else ""))


def _sound_events(path: Path) -> list[Event]:
    """Return every event that can be read and whose checksum is right."""
    found: dict[int, Event] = {}
    if not path.exists():
        return []
    if Path(f"{path}-wal").exists():
        # Acknowledged rows may still lie in the log beside the file; an ordinary opening sees them.
        with contextlib.suppress(StoreError):
            EventLog(path, write=True).checkpoint()
    # A damaged tree can hide rows from one way of walking it and show them to another.
    for order in ("ORDER BY seq", "ORDER BY seq DESC", "ORDER BY picture"):
        with contextlib.suppress(sqlite3.Error):
            db = connect_sealed(path)
            for row in db.execute(f"SELECT {COLUMNS} FROM events {order}"):
                with contextlib.suppress(StoreDamaged, ValueError, TypeError):
                    found.setdefault(row[0], checked(row, path))
    return [found[seq] for seq in sorted(found)]


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
    kept = tuple(s for s in version.segments if _sound(home, s))
    lost = version.live - sum(s.live for s in kept)
    model = version.model if _model_sound(home, version) else ""
    if len(kept) == len(version.segments) and model == version.model:
        return version
    mended = replace(version, number=version.number + 1, segments=kept, model=model)
    home.versions.write(mended)
    home.versions.remove([version.number])
    if lost:
        say(f"{lost} pictures lost their place and will be read again")
    if model != version.model:
        say(f"the model {version.model} is damaged and no longer used")
    return mended


def _model_sound(home: Home, version: Version) -> bool:
    return not version.model or not model_problems(home.models, version.model)


def _sound(home: Home, s: Segment) -> bool:
    if any(file_problem(home.shards, f) is not None for f in s.files()):
        return False
    try:
        OpenSegment.open(home.shards, s)
    except StoreError:
        return False
    return True
