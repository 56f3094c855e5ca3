"""Checking a store: every byte that matters is compared with what was written.

Array files and models have checksums in what lists them, versions in themselves, and the databases
in the seal. Without a seal (a writer was killed) the log's row checksums and SQLite's own check
stand in; the next writer to finish seals again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sightline.contracts import Json, Progress
from sightline.errors import NoCollection, StoreBusy, StoreError, StoreFull, StoreReadOnly
from sightline.progress import NoProgress
from sightline.store import seal
from sightline.store.catalogue import Catalogue
from sightline.store.durable import file_sha256
from sightline.store.engines import faiss_files
from sightline.store.events import EventLog
from sightline.store.folder import StoreFolder
from sightline.store.locks import RUNNING
from sightline.store.models import model_problems
from sightline.store.upkeep.permissions import Exposed, exposed, restrict
from sightline.store.versions import FileEntry

# The owner's settings and list of words, the store's name, the text log and the locks are not data.
_SETTINGS = ("config.toml", "synonyms.toml", "tag-words.toml", "identity")
# These errors mean that a database cannot be read now, not that it is damaged.
_NO_DAMAGE = (StoreBusy, StoreFull, StoreReadOnly)
_NOT_DATA = frozenset([*_SETTINGS, "log", "lock", "exporting", "writers", "seal.json", RUNNING])


@dataclass(frozen=True, slots=True)
class StoreProblem:
    """Something that is wrong with a store.

    Attributes
    ----------
    file : str
        Where.
    what : str
        What.
    derived : bool
        Whether the file can be made again from the log and the pictures.
    """

    file: str
    what: str
    derived: bool = True

    def to_dict(self) -> dict[str, Json]:
        """Return the problem as JSON."""
        return {"file": self.file, "what": self.what, "derived": self.derived}


@dataclass(frozen=True, slots=True)
class Verified:
    """The outcome of a check.

    Attributes
    ----------
    problems : tuple of StoreProblem
        Everything that is wrong.
    sealed : bool
        Whether the store had a seal.
    files : int
        How many array files were checked.
    n_bytes : int
        Their size.
    strays : tuple of str
        Files that nothing lists.
    exposed : tuple of Exposed
        What others have permissions for, which is not damage.
    restricted : int
        How many files and folders others had permissions for before this check removed them.
    """

    problems: tuple[StoreProblem, ...]
    sealed: bool
    files: int
    n_bytes: int
    strays: tuple[str, ...] = ()
    exposed: tuple[Exposed, ...] = ()
    restricted: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_dict(self) -> dict[str, Json]:
        """Return the outcome as JSON."""
        return {
            "sound": self.sound, "sealed": self.sealed, "files": self.files, "bytes": self.n_bytes,
            "problems": [p.to_dict() for p in self.problems],
            "leftovers": list[Json](self.strays),
            "permissions": {
                "exposed": [e.to_dict() for e in self.exposed], "restricted": self.restricted,
            },
        }  # fmt: skip


def verify(
    store_folder: StoreFolder, progress: Progress | None = None, *, fix_permissions: bool = False
) -> Verified:
    """Check a store while nobody changes what is published; its data are only read.

    Parameters
    ----------
    store_folder : StoreFolder
        The store.
    progress : Progress, optional
        Is told of each file.
    fix_permissions : bool, default=False
        Whether to remove the permissions of others.

    Returns
    -------
    Verified
        What is wrong, and how much was checked.

    Raises
    ------
    StoreError
        If there is no store, or it cannot be read now.
    """
    progress = progress or NoProgress()
    restricted = restrict(store_folder.path) if fix_permissions and store_folder.exists() else 0
    state = seal.inspect_seal(store_folder.path)
    while state.problems and seal.seal_bytes(store_folder.path) != state.content:
        state = seal.inspect_seal(store_folder.path)  # Somebody judged and sealed again.
    problems = [_seal_problem(p) for p in state.problems]
    if not state.sealed and not store_folder.exists():
        raise StoreError(f"There is no store in {store_folder.path}. Run: sightline index FOLDER")
    problems += [
        StoreProblem("events.sqlite3", p, derived=False) for p in _log_problems(store_folder, state)
    ]
    last_seq = _last_seq(store_folder, state)
    catalogue_problems = _catalogue_problems(store_folder, state, last_seq)
    problems += [StoreProblem("catalogue.sqlite3", p) for p in catalogue_problems]
    entries, models, version_problems = _version_files(store_folder)
    problems += version_problems
    n_bytes = 0
    progress.start("verify", len(entries))
    for entry in entries.values():
        progress.advance()
        problem = file_problem(store_folder.shards, entry)
        n_bytes += entry.size
        if problem is not None:
            problems.append(problem)
    progress.finish()
    problems += [
        StoreProblem(f"ivf/{name}", what) for name, what in faiss_files.problems(store_folder.ivf)
    ]
    strays = tuple(_strays(store_folder, set(entries), models))
    return Verified(
        tuple(problems), state.sealed, len(entries), n_bytes, strays, exposed(store_folder.path),
        restricted,
    )  # fmt: skip


def _seal_problem(text: str) -> StoreProblem:
    name = text.split(" ", 1)[0]
    return StoreProblem(name, text, derived=name != "events.sqlite3")


def _log_problems(store_folder: StoreFolder, state: seal.SealState) -> list[str]:
    if not store_folder.events.exists():
        return ["events.sqlite3 is missing"]
    if state.sealed and not state.problems:
        return []  # No byte changed since it was last written.
    try:
        log = EventLog(store_folder.events, write=False, sealed=state.sealed)
    except _NO_DAMAGE:
        raise
    except StoreError as e:
        return [str(e)]
    try:
        return log.problems()
    finally:
        log.close()


def _last_seq(store_folder: StoreFolder, state: seal.SealState) -> int:
    """Return the last event's number; a log that cannot be read is reported by `_log_problems`."""
    try:
        log = EventLog(store_folder.events, write=False, sealed=state.sealed)
    except _NO_DAMAGE:
        raise
    except StoreError:
        return 1 << 62
    try:
        return log.last_seq()
    except StoreError:
        return 1 << 62
    finally:
        log.close()


def _catalogue_problems(
    store_folder: StoreFolder, state: seal.SealState, last_seq: int
) -> list[str]:
    if not store_folder.catalogue.exists():
        return ["catalogue.sqlite3 is missing"]
    try:
        catalogue = Catalogue(store_folder.catalogue, write=False, sealed=state.sealed)
    except NoCollection:
        return []  # Created but never written: a crash right at the beginning.
    except _NO_DAMAGE:
        raise
    except StoreError as e:
        return [str(e)]
    try:
        messages = catalogue.problems()
        if not messages and int(catalogue.meta("current") or 0) not in [
            0,
            *store_folder.versions.numbers(),
        ]:
            messages.append("the version it names as current is missing")
        applied = catalogue.applied() if not messages else 0
        if applied > last_seq:
            messages.append(f"it was made from {applied} events, but the log has only {last_seq}")
        return messages
    except (StoreError, ValueError) as e:
        return [str(e)]
    finally:
        catalogue.close()


def _version_files(
    store_folder: StoreFolder,
) -> tuple[dict[str, FileEntry], set[str], list[StoreProblem]]:
    """Return the files and models that versions list, and problems of versions and models."""
    entries: dict[str, FileEntry] = {}
    models: set[str] = set()
    problems = []
    for number in store_folder.versions.numbers():
        try:
            version = store_folder.versions.read(number)
        except StoreError as e:
            problems.append(StoreProblem(f"versions/{number:08d}.json", str(e)))
            continue
        entries.update((f.name, f) for f in version.files())
        models |= version.models()
    for model in sorted(models):
        problems += [
            StoreProblem(f"models/{model}", p) for p in model_problems(store_folder.models, model)
        ]
    return entries, models, problems


def file_problem(folder: Path, entry: FileEntry) -> StoreProblem | None:
    """Return what is wrong with an array file; None if it is what was written."""
    path = folder / entry.name
    name = f"shards/{entry.name}"
    try:
        if path.stat().st_size != entry.size:
            return StoreProblem(name, f"has {path.stat().st_size} bytes, {entry.size} were written")
        if file_sha256(path) != entry.sha256:
            return StoreProblem(name, "is not what was written")
    except OSError as e:
        return StoreProblem(name, f"cannot be read: {e.strerror}")
    return None


def _strays(store_folder: StoreFolder, listed: set[str], models: set[str]) -> Iterator[str]:
    """Yield files that nothing lists: left over from a crash, or somebody else's."""
    for name in sorted(os.listdir(store_folder.shards)) if store_folder.shards.is_dir() else []:
        if name not in listed:
            yield f"shards/{name}"
    for name in sorted(os.listdir(store_folder.models)) if store_folder.models.is_dir() else []:
        if name not in models:
            yield f"models/{name}"
    yield from (f"ivf/{name}" for name in faiss_files.strays(store_folder.ivf))
    expected = {*seal.DATABASES, *_NOT_DATA, "shards", "models", "versions", "ivf"}
    for name in sorted(os.listdir(store_folder.path)):
        base = name.removesuffix("-wal").removesuffix("-shm")
        if base not in expected and ".schema-" not in name and ".damaged-" not in name:
            yield name
