"""The store of one collection: its files, and how it is opened.

events.sqlite3      the log, the truth               (events)
catalogue.sqlite3   tables derived from it, the pointer (catalogue)
versions/           what each published version lists (versions)
shards/             immutable array files             (segments, shards)
models/             learned models                     (models)
ivf/                lists of large tables, for faiss  (engines/faiss_files)
identity            its name in engines that hold several stores, if any (identity)
seal.json           checksums of the databases        (seal)
config.toml         the owner's settings, if any
synonyms.toml       the owner's list of words that count as one, if any
tag-words.toml      the list of earlier releases, if any
log/                rotating log, without captions or queries
lock, writers       files for kernel locks; empty when nobody writes
running/            a file for each running command, which names it (locks)
trials.jsonl        results of trials, which a later search need not run again
"""

from __future__ import annotations

from pathlib import Path

from sightline.errors import NoCollection, StoreDamaged, UsageError
from sightline.store import seal
from sightline.store.catalogue import Catalogue
from sightline.store.engines.candidates import Engine
from sightline.store.engines.quantised import Quantised
from sightline.store.identity import identity
from sightline.store.locks import RUNNING
from sightline.store.snapshot import Snapshot
from sightline.store.versions import Version, Versions

_STORE_FILES = frozenset(
    ("seal.json", "config.toml", "log", "lock", "writers", "shards", "versions", "models", "ivf",
     "identity", "synonyms.toml", "tag-words.toml", "exporting", "trials.jsonl", RUNNING)
)  # fmt: skip


class StoreFolder:
    """The folder of one collection's store.

    Attributes
    ----------
    fast : bool, default=False
        Whether readers answer word queries by compiled code and share the version that was opened
        last; a server sets it.
    engine : str, default="flat"
        What answers queries: flat, faiss or milvus://HOST:PORT.
    listed_rows : int, default=1_000_000
        From how many rows on a table should have lists of faiss.
    quantised_bytes : int, default=1_000_000_000
        How much memory `fast` readers may keep of rows rounded to a byte a number.
    starting_words : bool, default=True
        Whether a network answers words that no model has learned.
    working_size : int, default=384
        The side of pictures from which features were computed.
    language : str, default="auto"
        Whose plurals and stop words are folded: a language, auto or none.
    """

    fast = False
    engine = "flat"
    listed_rows = 1_000_000
    quantised_bytes = 1_000_000_000
    starting_words = True
    working_size = 384
    language = "auto"

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.events = folder / "events.sqlite3"
        self.catalogue = folder / "catalogue.sqlite3"
        self.shards = folder / "shards"
        self.models = folder / "models"
        self.ivf = folder / "ivf"
        self.versions = Versions(folder / "versions", self.shards)
        self._opened: Snapshot | None = None
        self._quantised: Quantised | None = None
        self._searcher: tuple[str, Engine | None] = "flat", None

    def searcher(self) -> Engine | None:
        """Return the engine that answers instead of a scan; None for a scan."""
        if self._searcher[0] != self.engine:
            self._searcher = self.engine, _engine_of(self.engine, self.path, self.listed_rows)
        return self._searcher[1]

    def opened(self, number: int) -> Snapshot | None:
        """Return the snapshot of a version, if it is the one that was opened last."""
        last = self._opened
        return last if self.fast and last is not None and last.version == number else None

    def remember(self, snapshot: Snapshot) -> None:
        """Keep a snapshot for later readers; those that already use another are not affected."""
        if self.fast:
            if self._quantised is None:
                self._quantised = Quantised(self.quantised_bytes)
            snapshot.fast, snapshot.quantised = True, self._quantised
            self._opened = snapshot

    def exists(self) -> bool:
        """Return whether anything was ever indexed here."""
        return self.events.exists() and self.catalogue.exists()

    def is_free(self) -> bool:
        """Return whether a store may be created here: the folder has only files of a store."""
        if not self.path.exists():
            return True
        if not self.path.is_dir():
            return False
        names = (path.name for path in self.path.iterdir())
        return all(name in _STORE_FILES or name.startswith(seal.DATABASES) for name in names)

    def reader(self) -> Reader:
        """Open the current version for reading."""
        self.require_indexed()
        return Reader(self)

    def require_indexed(self) -> None:
        """Raise `NoCollection` before the first index; no store is created."""
        if not self.exists():
            raise NoCollection(f"Nothing is indexed in {self.path} yet. Run: sightline index")


def _engine_of(setting: str, folder: Path, listed_rows: int) -> Engine | None:
    """Return the engine of a setting; None for the flat scan."""
    if setting == "flat":
        return None
    if setting == "faiss":
        from sightline.store.engines.faiss_ivf import FaissEngine

        return FaissEngine(folder / "ivf", listed_rows)
    if setting.startswith("milvus"):
        from sightline.store.engines.milvus_engine import MilvusEngine
        from sightline.store.engines.milvus_tables import address_of

        address_of(setting)
        return MilvusEngine(setting, lambda: identity(folder))
    raise UsageError(f"The engine must be flat, faiss or milvus://HOST:PORT. Got {setting!r}.")


def current_version(store_folder: StoreFolder, catalogue: Catalogue) -> Version:
    """Return the version the pointer names; an empty one before the first publish."""
    number = int(catalogue.meta("current") or 0)
    return store_folder.versions.read(number) if number else Version(0)


class Reader:
    """One version and its catalogue, open for reading; close it after use."""

    def __init__(self, store_folder: StoreFolder) -> None:
        self.store_folder = store_folder
        self.catalogue = Catalogue(store_folder.catalogue, write=False)
        try:
            self.snapshot = self._snapshot()
        except BaseException:
            self.catalogue.close()
            raise
        self.snapshot.engine = store_folder.searcher()
        if self.snapshot.engine is not None:
            self.snapshot.engine.begin()
        store_folder.remember(self.snapshot)

    def notice(self) -> str:
        """Return notices about answers that did not come from the engine; "" if there are none."""
        return "" if self.snapshot.engine is None else self.snapshot.engine.notice()

    def _snapshot(self) -> Snapshot:
        # A publish between reading the pointer and opening the files can remove the version; the
        # pointer has moved on by then, so reading it again is enough.
        before, damage = None, None
        for _ in range(5):
            self.catalogue.hold()
            current = self.catalogue.meta("current")
            if damage is not None and current == before:
                break
            if (opened := self.store_folder.opened(int(current or 0))) is not None:
                return opened
            try:
                return Snapshot(
                    self.store_folder.shards, current_version(self.store_folder, self.catalogue)
                )
            except StoreDamaged as e:
                before, damage = current, e
        raise damage or StoreDamaged(
            f"{self.store_folder.path} publishes new versions faster than one can be opened. "
            "Try again."
        )

    def close(self) -> None:
        """Close the catalogue; arrays already returned stay readable."""
        self.catalogue.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
